"""What the learner has built by the end of chapter 8.

Generated from the chapters' kept cells by `python -m tutor chapters build`. Change the
chapter, never this file.
"""

import copy
import math
import operator
import random
import struct
from contextlib import contextmanager
from functools import reduce
from itertools import pairwise, zip_longest

__all__ = [
    "FORMATS",
    "KERNELS",
    "LIMITS",
    "MLP",
    "NOT_FOR_ALL",
    "NUMBERS",
    "PYTHON",
    "REGISTRY",
    "SGD",
    "SIZES",
    "Adam",
    "AdamW",
    "Add",
    "Buffer",
    "Checkpoint",
    "CrossEntropy",
    "Elementwise",
    "Engine",
    "Exp",
    "Expand",
    "Greater",
    "Linear",
    "Log",
    "MatMul",
    "Max",
    "Mul",
    "Neg",
    "Op",
    "Place",
    "Pow",
    "ReLU",
    "Reduce",
    "Registry",
    "Reshape",
    "Select",
    "Sum",
    "Swish",
    "Tensor",
    "Transpose",
    "View",
    "accuracy",
    "add_",
    "alike",
    "as_integer",
    "as_tensors",
    "axes",
    "batches",
    "beside",
    "borrow_kernels",
    "borrowed",
    "broadcast_shapes",
    "cast",
    "clip",
    "collect",
    "contiguous",
    "convert",
    "cross_entropy",
    "detach",
    "elementwise",
    "engine",
    "exp",
    "expand",
    "fit",
    "flatten",
    "full_key",
    "glorot",
    "gradcheck",
    "hvp",
    "largest",
    "lend",
    "log",
    "log_softmax",
    "lookup",
    "matmul",
    "mismatch",
    "mse",
    "nest",
    "no_grad",
    "pack",
    "parts",
    "permute",
    "positions",
    "power",
    "promote",
    "reach",
    "read_idx",
    "record",
    "reduce_to",
    "reduction",
    "register",
    "register_hook",
    "register_python",
    "reshape",
    "row_by_row",
    "rows",
    "run",
    "select",
    "sliced",
    "softmaxed",
    "strides_for",
    "topological",
    "total",
    "train",
    "transpose",
    "unpack",
    "use_backend",
    "zeros",
]


# ---- chapter 1: bytes

FORMATS = {
    "bool": "?", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I",
    "int32": "i", "uint64": "Q", "int64": "q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


def unpack(raw, dtype):
    """The numbers of some bytes, as a tuple."""
    return struct.unpack(f"{len(raw) // struct.calcsize(FORMATS[dtype])}{FORMATS[dtype]}", raw)


class Buffer:
    """A row of numbers of one dtype, kept as bytes."""

    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.itemsize = dtype, struct.calcsize(FORMATS[dtype])
        self.raw = bytearray(pack(numbers, dtype))

    def __len__(self):
        return len(self.raw) // self.itemsize

    def place(self, start, count):
        """Where in `raw` these numbers are; IndexError where they are not."""
        if not 0 <= start <= start + count <= len(self):
            raise IndexError(f"{count} from position {start} on, of {len(self)} numbers")
        return slice(start * self.itemsize, (start + count) * self.itemsize)

    def read(self, start, count):
        """`count` numbers, from position `start` on."""
        return unpack(self.raw[self.place(start, count)], self.dtype)

    def write(self, start, numbers):
        """Put `numbers` at position `start` and behind it."""
        self.raw[self.place(start, len(numbers))] = pack(numbers, self.dtype)

    def __getitem__(self, i):
        return self.read(i + len(self) if i < 0 else i, 1)[0]

    def __setitem__(self, i, value):
        self.write(i + len(self) if i < 0 else i, [value])


def as_integer(value, dtype):
    """`value` as an integer dtype holds it: an int wraps, a float is cut and stays in range."""
    bits = 8 * struct.calcsize(FORMATS[dtype])
    lowest = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    highest = lowest + 2**bits - 1
    if isinstance(value, int):
        return (value - lowest) % 2**bits + lowest
    if math.isnan(value):
        return 0
    return int(min(max(value, lowest), highest))


LIMITS = {"float16": 2**16 - 2**4, "float32": 2**128 - 2**103, "float64": 2**1024 - 2**970}


def convert(value, dtype):
    """`value`, an int or a float, as any of the twelve dtypes holds it, but for rounding."""
    if dtype == "bool":
        return bool(value)
    if dtype not in LIMITS:
        return as_integer(value, dtype)
    if abs(value) >= LIMITS[dtype]:  # from there on, the nearest float is infinity
        return math.inf if value > 0 else -math.inf
    return value


def pack(numbers, dtype):
    """The bytes of some numbers; those that do not fit the dtype are converted."""
    layout = f"{len(numbers)}{FORMATS[dtype]}"
    try:
        return struct.pack(layout, *numbers)
    except (struct.error, OverflowError):
        return struct.pack(layout, *[convert(x, dtype) for x in numbers])


# ---- chapter 2: shape, strides, offset


def strides_for(shape):
    """The strides of numbers that lie row by row, as a tuple."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def positions(shape, strides, offset):
    """Where the elements stand, row by row, as a list."""
    found = [offset]
    for size, stride in zip(shape, strides, strict=True):
        found = [start + i * stride for start in found for i in range(size)]
    return found


def reach(shape, strides, offset):
    """(first, last): the lowest and the highest position that any index reads."""
    first = last = offset
    for size, stride in zip(shape, strides, strict=True):
        way = (size - 1) * stride
        first, last = first + min(way, 0), last + max(way, 0)
    return first, last


def row_by_row(shape, strides):
    """Whether walking row by row, the last axis fastest, visits neighbours in memory: a bool."""
    steps = zip(shape, strides, strides_for(shape), strict=True)
    return all(size == 1 or stride == wanted for size, stride, wanted in steps)


def flatten(data):
    """Nested lists as one flat list, and their shape, as a tuple."""
    if not isinstance(data, list | tuple):
        return [data], ()
    rows = [flatten(row) for row in data]
    shapes = {shape for _, shape in rows}
    if len(shapes) > 1:
        raise ValueError(f"rows of different shapes: {sorted(shapes)}")
    inner = shapes.pop() if shapes else ()
    return [x for row, _ in rows for x in row], (len(data), *inner)


def nest(items, shape):
    """The items, which lie row by row, as nested lists of this shape."""
    items = list(items)
    for axis in range(len(shape) - 1, 0, -1):
        size, rows = shape[axis], math.prod(shape[:axis])
        items = [items[i * size : (i + 1) * size] for i in range(rows)]
    return items if shape else items[0]


class Tensor:
    """A Buffer plus walking instructions: shape, strides and offset."""

    def __init__(
        self, data, shape=None, strides=None, offset=0, dtype="float32", requires_grad=False
    ):
        if not hasattr(data, "raw"):  # no Buffer: a number, or nested lists
            numbers, shape = flatten(data)
            data = Buffer(numbers, dtype)
        self.buf, self.offset = data, offset
        self.shape = (len(data),) if shape is None else tuple(shape)
        self.strides = strides_for(self.shape) if strides is None else tuple(strides)
        self.requires_grad, self.grad, self.op = requires_grad, None, None
        if len(self.strides) != len(self.shape):
            raise ValueError(f"strides {self.strides} for the shape {self.shape}")
        if self.numel():
            first, last = reach(self.shape, self.strides, offset)
            if first < 0 or last >= len(data):
                raise IndexError(f"positions {first} to {last} of a Buffer of {len(data)} numbers")

    def values(self):
        """All elements, row by row."""
        if self.is_contiguous():
            return self.buf.read(self.offset, self.numel())
        cells = self.buf.read(0, len(self.buf))
        return [cells[p] for p in self.positions()]

    def fill(self, numbers):
        """Put `numbers` where the elements stand, row by row."""
        if self.is_contiguous():
            self.buf.write(self.offset, numbers)
        else:
            for p, x in zip(self.positions(), numbers, strict=True):
                self.buf[p] = x

    def over(self, shape, strides, offset):
        """The same Buffer, walked in another way."""
        return Tensor(self.buf, shape, strides, offset)

    def numel(self):
        return math.prod(self.shape)

    def is_contiguous(self):
        return row_by_row(self.shape, self.strides)

    def positions(self):
        return positions(self.shape, self.strides, self.offset)

    def item(self):
        (value,) = self.values()
        return value

    def tolist(self):
        return nest(self.values(), self.shape)

    def __repr__(self):
        return f"Tensor({self.tolist()}, {self.buf.dtype})"


def permute(t, axes):
    """The axes of t in another order. No number moves."""
    return t.over([t.shape[a] for a in axes], [t.strides[a] for a in axes], t.offset)


def transpose(t, a=-2, b=-1):
    """Axes a and b exchanged."""
    axes = list(range(len(t.shape)))
    axes[a], axes[b] = axes[b], axes[a]
    return permute(t, axes)


def zeros(shape, dtype="float32"):
    """Zeros of this shape, made without a list of them."""
    buf = Buffer([], dtype)
    buf.raw = bytearray(math.prod(shape) * buf.itemsize)
    return Tensor(buf, shape)


def contiguous(t):
    """t itself if its numbers lie row by row, else a copy of the same dtype for which they do."""
    return t if t.is_contiguous() else Tensor(Buffer(t.values(), t.buf.dtype), t.shape)


def reshape(t, shape):
    """The same numbers in the same order under another shape; -1 is worked out."""
    sizes = list(shape)
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)  # of all the others
        sizes[sizes.index(-1)] = t.numel() // known if known else 0
    if -1 in sizes or math.prod(sizes) != t.numel():
        raise ValueError(f"shape {t.shape} holds {t.numel()} numbers, {tuple(shape)} does not")
    t = contiguous(t)
    return t.over(sizes, strides_for(sizes), t.offset)


# ---- chapter 3: indexing and broadcasting


def sliced(size, stride, s):
    """What a slice does to one axis: its new size and stride, and how far the offset moves."""
    steps = range(*s.indices(size))
    moved = stride * steps.start if steps else 0
    return len(steps), stride * steps.step, moved


def full_key(key, ndim):
    """The key with an int or a slice for each of ndim axes, and every None: `...` written out."""
    key = key if isinstance(key, tuple) else (key,)
    missing = ndim - sum(k is not None and k is not ... for k in key)
    if missing < 0 or key.count(...) > 1:
        raise IndexError(f"{ndim - missing} indices and {key.count(...)} '...' for {ndim} axes")
    key = key if ... in key else (*key, ...)
    at = key.index(...)
    return (*key[:at], *[slice(None)] * missing, *key[at + 1 :])


def select(t, key):
    """t[key] for ints, slices, None and ...: a view, no number moves."""
    shape, strides, offset, axis = [], [], t.offset, 0
    for k in full_key(key, len(t.shape)):
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        size, stride = t.shape[axis], t.strides[axis]
        if isinstance(k, slice):
            count, step, moved = sliced(size, stride, k)
            shape.append(count)
            strides.append(step)
            offset += moved
        elif -size <= k < size:
            offset += k % size * stride
        else:
            raise IndexError(f"index {k} on axis {axis}, which has size {size}")
        axis += 1
    return t.over(shape, strides, offset)


Tensor.__getitem__ = select


def mismatch(a, b):
    """What is wrong with broadcasting shapes a and b, in words; None if nothing is."""
    for i, (m, n) in enumerate(zip_longest(reversed(a), reversed(b), fillvalue=1)):
        if m != n and 1 not in (m, n):
            where = f"axis {-1 - i} has sizes {m} and {n}, which must be equal or 1"
            return f"shapes {tuple(a)} and {tuple(b)} do not fit: {where}"
    return None


def broadcast_shapes(a, b):
    """The shape that both stretch to: aligned at the right, sizes equal or one of them 1."""
    if wrong := mismatch(a, b):
        raise ValueError(wrong)
    pairs = zip_longest(reversed(a), reversed(b), fillvalue=1)
    shape = [n if m == 1 else m for m, n in pairs]
    return tuple(reversed(shape))


def expand(t, shape):
    """t stretched to `shape`: the same number is read again and again, by a stride of 0."""
    if broadcast_shapes(t.shape, shape) != tuple(shape):
        raise ValueError(f"shape {t.shape} does not stretch to {tuple(shape)}")
    new = [0] * (len(shape) - len(t.shape))
    kept = [0 if size == 1 else s for size, s in zip(t.shape, t.strides, strict=True)]
    return t.over(shape, new + kept, t.offset)


def reduce_to(g, shape):
    """The sums of g over what was stretched: a new Tensor of `shape`."""
    out = zeros(shape, g.buf.dtype)
    for p, x in zip(expand(out, g.shape).positions(), g.values(), strict=True):
        out.buf[p] += x
    return out


# ---- chapter 4: ops


def elementwise(f):
    """The kernel that puts f of the inputs' elements into each element of out."""

    def kernel(out, *ins):
        out.fill(list(map(f, *[x.values() for x in ins])))

    return kernel


def exp(x):
    """e ** x; what is too large is infinite"""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x):
    """ln x; minus infinity at 0, nan below"""
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def power(x, y):
    """x ** y; infinite where it is too large, and 0 ** -1; nan where it is not real"""
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf if x > 0 or y % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


PYTHON = {  # the kernels in plain Python, by name
    "add": elementwise(operator.add),
    "mul": elementwise(operator.mul),
    "neg": elementwise(operator.neg),
    "gt": elementwise(operator.gt),
    "relu": elementwise(lambda x: max(x, 0)),
    "exp": elementwise(exp),
    "log": elementwise(log),
    "pow": elementwise(power),
    "cast": elementwise(lambda x: x),
}


def run(op):
    """Execute an Op."""
    return op.forward(*op.inputs)


class Op:
    """One operation, forward and backward: `Add(x, y).apply()` is `x + y`."""

    gives = None  # the output's dtype, where it is not the inputs'
    execute = staticmethod(run)

    def __init__(self, *inputs, **params):
        self.inputs, self.params = as_tensors(inputs), params

    def apply(self):
        return Op.execute(self)

    def forward(self, *inputs):
        shape, inputs = self.prepare(*inputs)
        dtype = inputs[0].buf.dtype
        out = zeros(shape, self.gives or dtype)
        lookup(self.kernel, dtype)(out, *inputs, **self.params)
        return out


def cast(t, dtype):
    """t in another dtype."""
    if t.buf.dtype == dtype:
        return t
    out = zeros(t.shape, dtype)
    lookup("cast", t.buf.dtype)(out, t)
    return out


class Elementwise(Op):
    """The inputs are brought to one dtype and stretched to one shape; so is the output."""

    def prepare(self, *inputs):
        shape = reduce(broadcast_shapes, [x.shape for x in inputs])
        return shape, [expand(x, shape) for x in alike(inputs)]


class Add(Elementwise):
    """z = x + y"""

    kernel = "add"

    def backward(self, g):
        return g, g


Tensor.__add__ = Tensor.__radd__ = lambda x, y: Add(x, y).apply()


class Mul(Elementwise):
    """z = x * y"""

    kernel = "mul"

    def backward(self, g):
        """The gradients of x and of y, given g, the gradient of z."""
        x, y = self.inputs
        return Mul(g, y).apply(), Mul(g, x).apply()


Tensor.__mul__ = Tensor.__rmul__ = lambda x, y: Mul(x, y).apply()


class Neg(Elementwise):
    """z = -x"""

    kernel = "neg"

    def backward(self, g):
        return (-g,)


class Pow(Elementwise):
    """z = x ** y"""

    kernel = "pow"

    def backward(self, g):
        x, y = self.inputs
        return g * y * x ** (y - 1), g * x**y * x.log() if y.requires_grad else None


Tensor.__neg__ = lambda x: Neg(x).apply()
Tensor.__pow__ = lambda x, y: Pow(x, y).apply()
Tensor.__rpow__ = lambda x, y: Pow(y, x).apply()

Tensor.__sub__ = lambda x, y: x + -y
Tensor.__rsub__ = lambda x, y: -x + y
Tensor.__truediv__ = lambda x, y: x * y**-1.0
Tensor.__rtruediv__ = lambda x, y: x**-1.0 * y


class Exp(Elementwise):
    """z = e ** x"""

    kernel = "exp"

    def backward(self, g):
        return (g * self.inputs[0].exp(),)


class Log(Elementwise):
    """z = ln x"""

    kernel = "log"

    def backward(self, g):
        return (g / self.inputs[0],)


class ReLU(Elementwise):
    """z = x where x > 0, else 0"""

    kernel = "relu"

    def backward(self, g):
        return (g * (self.inputs[0] > 0),)


class Greater(Elementwise):
    """z = x > y"""

    kernel, gives = "gt", "bool"


Tensor.exp = lambda x: Exp(x).apply()
Tensor.log = lambda x: Log(x).apply()
Tensor.relu = lambda x: ReLU(x).apply()
Tensor.__gt__ = lambda x, y: Greater(x, y).apply()


class View(Op):
    """No kernel: another way to walk the same Buffer."""

    def forward(self, x):
        return self.walk(x, **self.params)


class Transpose(View):
    """z = x with two axes exchanged"""

    walk = staticmethod(transpose)

    def backward(self, g):
        return (g.transpose(**self.params),)


class Reshape(View):
    """z = x under another shape"""

    walk = staticmethod(reshape)

    def backward(self, g):
        return (g.reshape(*self.inputs[0].shape),)


class Expand(View):
    """z = x, stretched"""

    walk = staticmethod(expand)

    def backward(self, g):
        return (g,)  # the Engine sums over what was stretched


Tensor.transpose = lambda x, a=-2, b=-1: Transpose(x, a=a, b=b).apply()
Tensor.reshape = lambda x, *shape: Reshape(x, shape=shape).apply()
Tensor.expand = lambda x, *shape: Expand(x, shape=shape).apply()
Tensor.T = property(Tensor.transpose)


class Select(View):
    """z = x[key]"""

    walk = staticmethod(select)

    def backward(self, g):
        return (Place(g, key=self.params["key"], shape=self.inputs[0].shape).apply(),)


class Place(Op):
    """z[key] = x in a z of zeros"""

    def forward(self, x):
        out = zeros(self.params["shape"], x.buf.dtype)
        select(out, self.params["key"]).fill(x.values())
        return out

    def backward(self, g):
        return (g[self.params["key"]],)


Tensor.__getitem__ = lambda x, key: Select(x, key=key).apply()


def parts(numbers, count):
    """The numbers in `count` parts of equal length."""
    n = len(numbers) // max(count, 1)
    return [numbers[i * n : i * n + n] for i in range(count)]


def reduction(f):
    """The kernel that puts f of each list of elements along `axis` into out."""

    def kernel(out, x, axis):
        kept = [a for a in range(len(x.shape)) if a not in axis]
        numbers = permute(x, [*kept, *axis]).values()
        out.fill([f(part) for part in parts(numbers, out.numel())])

    return kernel


def total(numbers):
    """The sum: of ints exact, of floats rounded once; infinite or nan where plain addition is"""
    if all(isinstance(x, int) for x in numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return sum(numbers)


def largest(numbers):
    """The largest of them; nan if there is one."""
    return math.nan if any(x != x for x in numbers) else max(numbers)


PYTHON["sum"] = reduction(total)
PYTHON["max"] = reduction(largest)


class Reduce(Op):
    """The axes in `axis` go."""

    def prepare(self, x):
        shape = [n for a, n in enumerate(x.shape) if a not in self.params["axis"]]
        return shape, [cast(x, "int64") if x.buf.dtype == "bool" else x]  # how many are true


def axes(t, axis):
    """axis=None, an int or a tuple, as a tuple of axes counted from the front."""
    if axis is None:
        return tuple(range(len(t.shape)))
    axis = axis if isinstance(axis, tuple) else (axis,)
    return tuple(range(len(t.shape))[a] for a in axis)


class Sum(Reduce):
    """z = the sum over axis"""

    kernel = "sum"

    def backward(self, g):
        """g, with the axes that went put back at size 1, and stretched over x's shape."""
        shape = self.inputs[0].shape
        kept = [1 if a in self.params["axis"] else n for a, n in enumerate(shape)]
        return (g.reshape(*kept).expand(*shape),)


Tensor.sum = lambda x, axis=None: Sum(x, axis=axes(x, axis)).apply()


class Max(Reduce):
    """z = the largest over axis; equals share the gradient"""

    kernel = "max"

    def stretched(self, g):
        """g over the input's shape again: the way back of a sum."""
        return Sum(*self.inputs, **self.params).backward(g)[0]

    def backward(self, g):
        (x,) = self.inputs
        below = cast(self.stretched(x.max(**self.params)) > x, x.buf.dtype)
        winner = 1.0 - below
        return (self.stretched(g) * winner / self.stretched(winner.sum(**self.params)),)


Tensor.max = lambda x, axis=None: Max(x, axis=axes(x, axis)).apply()


def matmul(out, x, y):
    """out_ij = sum_k x_ik * y_kj"""
    rows, columns = parts(x.values(), x.shape[0]), parts(transpose(y).values(), y.shape[1])
    out.fill([sum(map(operator.mul, row, column)) for row in rows for column in columns])


PYTHON["matmul"] = matmul


class MatMul(Op):
    """z_ij = sum_k x_ik * y_kj"""

    kernel = "matmul"

    def prepare(self, x, y):
        """The shape of the product, and the inputs in one dtype; ValueError if they do not fit."""
        if len(x.shape) != 2 or len(y.shape) != 2 or x.shape[1] != y.shape[0]:
            raise ValueError(f"matmul of shapes {x.shape} and {y.shape}: not (m, k) and (k, n)")
        return (x.shape[0], y.shape[1]), alike((x, y))

    def backward(self, g):
        """The gradients of x and of y; None for one that is not required."""
        x, y = self.inputs
        gx = MatMul(g, y.T).apply() if x.requires_grad else None
        gy = MatMul(x.T, g).apply() if y.requires_grad else None
        return gx, gy


Tensor.__matmul__ = lambda x, y: MatMul(x, y).apply()


# ---- chapter 4b: the registry and backends


class Registry:
    """Kernels, found by a name, a backend and a dtype."""

    def __init__(self):
        self.kernels = {}  # (name, backend, dtype) -> kernel
        self.backend = "python"  # the one in use

    def register(self, name, kernel, backend="python", dtypes=FORMATS):
        """Enter the kernel under that name, for these dtypes, on that backend."""
        for dtype in dtypes:
            self.kernels[name, backend, dtype] = kernel

    def lookup(self, name, dtype):
        """The kernel of that name for that dtype on the backend in use; LookupError if none."""
        key = name, self.backend, dtype
        if key not in self.kernels:
            there = ", ".join(f"{d} on {b}" for n, b, d in self.kernels if n == name)
            asked = f"no kernel {name!r} for {dtype} on {self.backend}"
            raise LookupError(f"{asked}; there is {there or 'none of that name'}")
        return self.kernels[key]


REGISTRY = Registry()
KERNELS = REGISTRY.kernels  # (name, backend, dtype) -> kernel


def register(name, kernel, backend="python", dtypes=FORMATS):
    """Enter the kernel of that name for these dtypes on that backend."""
    REGISTRY.register(name, kernel, backend, dtypes)


def lookup(name, dtype):
    """The kernel of that name for that dtype, on the backend in use."""
    return REGISTRY.lookup(name, dtype)


def use_backend(backend):
    """From here on, kernels are looked up there."""
    REGISTRY.backend = backend


NUMBERS = [dtype for dtype in FORMATS if dtype != "bool"]
NOT_FOR_ALL = {"neg": NUMBERS, "exp": LIMITS, "log": LIMITS, "pow": LIMITS}  # LIMITS has the floats


def register_python():
    """Enter the kernels in Python, each for the dtypes for which it has a meaning."""
    for name, kernel in PYTHON.items():
        register(name, kernel, dtypes=NOT_FOR_ALL.get(name, FORMATS))


register_python()

# Kind, signed or not, bits for the magnitude. (float64 has 53; it must do for all that meets it.)
SIZES = {
    "bool": (0, 0, 1), "uint8": (1, 0, 8), "int8": (1, 1, 7), "uint16": (1, 0, 16),
    "int16": (1, 1, 15), "uint32": (1, 0, 32), "int32": (1, 1, 31), "uint64": (1, 0, 64),
    "int64": (1, 1, 63), "float16": (2, 1, 11), "float32": (2, 1, 24), "float64": (2, 1, 64),
}  # fmt: skip


def promote(a, b):
    """The first dtype that holds all numbers of both."""
    needed = [max(pair) for pair in zip(SIZES[a], SIZES[b], strict=True)]
    for dtype, sizes in SIZES.items():
        if all(has >= need for has, need in zip(sizes, needed, strict=True)):
            return dtype


def beside(number, dtype):
    """The tensor's dtype, unless that is of a kind too poor for the number; then its own."""
    own = "float32"
    if isinstance(number, bool):
        own = "bool"
    elif isinstance(number, int):
        own = "int64"
    return dtype if SIZES[dtype][0] >= SIZES[own][0] else own


def as_tensors(inputs):
    """The inputs as tensors: a Python number gets one dtype with the tensors beside it."""
    tensors = [x for x in inputs if hasattr(x, "buf")]
    numbers = [x for x in inputs if not hasattr(x, "buf")]
    if not numbers:
        return tensors
    dtype = beside(numbers[0], tensors[0].buf.dtype)
    return [cast(x, dtype) if hasattr(x, "buf") else Tensor(x, dtype=dtype) for x in inputs]


def alike(tensors):
    """All of them in the dtype that holds the numbers of each."""
    dtype = tensors[0].buf.dtype
    for t in tensors[1:]:
        dtype = promote(dtype, t.buf.dtype)
    return [cast(t, dtype) for t in tensors]


def lend(ndarray, t):
    """An array over the same bytes as t, walked in the same way."""
    size = t.buf.itemsize
    strides = tuple(s * size for s in t.strides)
    return ndarray(t.shape, t.buf.dtype, t.buf.raw, t.offset * size, strides)


# ---- chapter 5: engine: 60 lines of autograd


def record(op):
    """Run the op; let its result remember it where somebody may ask for a gradient."""
    out = run(op)
    if out.buf.dtype in LIMITS and any(x.requires_grad for x in op.inputs):
        out.op, out.requires_grad = op, True
    return out


def topological(root):
    """All tensors behind root that require grad, each before those it was made from."""
    order, seen = [], set()
    waiting = [(root, False)]
    while waiting:
        t, inputs_done = waiting.pop()
        if inputs_done:
            order.append(t)
        elif id(t) not in seen:
            seen.add(id(t))
            waiting.append((t, True))  # comes back when all behind it is listed
            if t.op:
                waiting += [(x, False) for x in t.op.inputs if x.requires_grad]
    return order[::-1]


def fit(g, x):
    """Undo broadcasting: where x was stretched, its gradient is the sum over the copies."""
    if g.shape != x.shape:
        new = len(g.shape) - len(x.shape)  # axes that x does not have
        sizes = [1] * new + list(x.shape)
        copied = [a for a, size in enumerate(sizes) if size == 1 and g.shape[a] != 1]
        g = g.sum(tuple(copied)).reshape(*x.shape)
    return cast(g, x.buf.dtype)


def collect(arrived, x, share):
    """Add a share of the gradient to what has arrived at x so far."""
    if x.requires_grad:
        share = fit(share, x)
        arrived[id(x)] = arrived[id(x)] + share if id(x) in arrived else share


class Engine:
    """Runs ops, keeps the graph, walks it backward."""

    recording = True

    def run(self, op):
        """Execute the op, and record it unless recording is switched off."""
        return record(op) if self.recording else run(op)

    def order(self, root):
        """All tensors of the graph behind root, each before those it was made from."""
        return topological(root)

    def backward(self, root, create_graph=False):
        """Add d root / d leaf to the grad of every leaf behind root."""
        if not root.requires_grad:
            raise ValueError("backward from a tensor that does not require grad")
        if root.numel() != 1:
            raise ValueError(f"backward from shape {root.shape}: sum() it first")
        before, self.recording = self.recording, create_graph
        try:
            arrived = {id(root): zeros(root.shape, root.buf.dtype) + 1}
            for t in self.order(root):
                g = arrived.pop(id(t))
                if t.op is None:
                    t.grad = g if t.grad is None else t.grad + g
                    continue
                for x, share in zip(t.op.inputs, t.op.backward(g), strict=True):
                    collect(arrived, x, share)
        finally:
            self.recording = before


engine = Engine()
Op.execute = staticmethod(engine.run)
Tensor.backward = lambda t, create_graph=False: engine.backward(t, create_graph)


def gradcheck(f, *inputs, eps=1e-6):
    """The largest difference between the engine's gradient of f(*inputs) and a measured slope."""
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    worst = 0.0
    for t in inputs:
        for p, g in zip(t.positions(), t.grad.values(), strict=True):
            here = t.buf[p]
            t.buf[p] = here + eps
            above = f(*inputs).item()
            t.buf[p] = here - eps
            below = f(*inputs).item()
            t.buf[p] = here
            slope = (above - below) / (2 * eps)
            worst = max(worst, abs(slope - g))
    return worst


# ---- chapter 6: what backward promises


@contextmanager
def no_grad():
    """A block in which nothing is recorded."""
    before, engine.recording = engine.recording, False
    try:
        yield
    finally:
        engine.recording = before


def detach(t):
    """The same numbers in the same memory, without their history."""
    return t.over(t.shape, t.strides, t.offset)


Tensor.detach = detach


def register_hook(t, hook):
    """Show t's whole gradient to hook(g) as the walk passes; what it returns goes on instead."""
    if t.op is None:
        raise ValueError("a leaf has no op to listen to: its gradient is in .grad after the walk")
    backward = t.op.backward

    def heard(g):
        changed = hook(g)
        return backward(g if changed is None else changed)

    t.op.backward = heard


def hvp(f, x, v):
    """The Hessian of f at x, times v."""
    x.grad = None
    f(x).backward(create_graph=True)
    g, x.grad = x.grad, None
    (g * v).sum().backward()
    product, x.grad = x.grad, None
    return product


class Swish(Op):
    """z = x / (1 + e ** -x)"""

    def forward(self, x):
        return x / ((-x).exp() + 1)

    def backward(self, g):
        (x,) = self.inputs
        s = 1 / ((-x).exp() + 1)
        return (g * (s + x * s * (1 - s)),)


# ---- chapter 7: from scores to a loss


def log_softmax(x):
    """x - ln sum e**x, for each row."""
    x = x - x.detach().max(1).reshape(-1, 1)
    return x - x.exp().sum(1).reshape(-1, 1).log()


def cross_entropy(logits, labels):
    """The mean over all rows of -ln of the probability given to the right class."""
    n, classes = logits.shape
    right = [[float(c == label) for c in range(classes)] for label in labels]
    return (log_softmax(logits) * Tensor(right)).sum() * (-1 / n)


class CrossEntropy(Op):
    """z = the mean over all rows of -ln softmax(x)[label]"""

    def forward(self, x):
        return cross_entropy(x, self.params["labels"])

    def backward(self, g):
        (x,) = self.inputs
        n, classes = x.shape
        right = [[float(c == label) for c in range(classes)] for label in self.params["labels"]]
        return ((log_softmax(x).exp() - Tensor(right)) * g * (1 / n),)


def glorot(inputs, outputs):
    """Weights to begin with: inputs rows of outputs numbers."""
    a = math.sqrt(6 / (inputs + outputs))
    return [[random.uniform(-a, a) for _ in range(outputs)] for _ in range(inputs)]


class Linear:
    """z = x w + b"""

    def __init__(self, inputs, outputs):
        self.w = Tensor(glorot(inputs, outputs), requires_grad=True)
        self.b = Tensor([0.0] * outputs, requires_grad=True)

    def __call__(self, x):
        return x @ self.w + self.b


class MLP:
    """Linear layers with relu between them."""

    def __init__(self, *sizes):
        self.layers = [Linear(m, n) for m, n in pairwise(sizes)]

    def __call__(self, x):
        *hidden, last = self.layers
        for layer in hidden:
            x = layer(x).relu()
        return last(x)

    def parameters(self):
        return [p for layer in self.layers for p in (layer.w, layer.b)]


def softmaxed(logits):
    """Whether all rows are probabilities already."""
    return all(min(row) >= 0 and abs(sum(row) - 1) < 1e-5 for row in logits.tolist())


def mse(predictions, targets):
    """The mean of (prediction - target)**2; ValueError unless the shapes are the same."""
    if predictions.shape != targets.shape:
        raise ValueError(
            f"predictions {predictions.shape} and targets {targets.shape} differ in shape: "
            f"reshape one of them, as targets.reshape{predictions.shape}"
        )
    d = predictions - targets
    return (d * d).sum() * (1 / d.numel())


# ---- chapter 8: training MNIST


def train(model, optimizer, batches):
    """One pass over all batches (x, labels); the loss of each step."""
    losses = []
    for x, labels in batches:
        loss = cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def accuracy(model, images, labels):
    """The share of images whose largest score is at their label."""
    with no_grad():
        scores = model(images).tolist()
    right = 0
    for row, label in zip(scores, labels, strict=True):
        right += row.index(max(row)) == label
    return right / len(labels)


def borrowed(kernel):
    """One of tutor's kernels for our tensors: the same bytes, walked by the same instructions."""
    from tutor import Buffer as TheirBuffer
    from tutor.backends.registry import Operand

    def call(*tensors, **params):
        walks = []
        for t in tensors:
            memory = TheirBuffer.from_memory(t.buf.raw, dtype=t.buf.dtype, copy=False)
            walks.append(Operand(memory, t.shape, t.strides, t.offset))
        kernel(*walks, **params)

    return call


def borrow_kernels():
    """Register tutor's kernels beside ours, as the backend "tutor"."""
    from tutor import dtype as dtypes
    from tutor.backends import registry

    theirs = registry.table(registry.current())
    for name, _, dtype in list(KERNELS):
        kernel = theirs.get((name, dtypes.of(dtype)))
        if kernel is not None:
            register(name, borrowed(kernel), "tutor", [dtype])


def rows(t, indices):
    """The rows of t at these indices, copied into a new tensor."""
    t = contiguous(t)
    out = zeros((len(indices), *t.shape[1:]), t.buf.dtype)
    size = t.buf.itemsize * math.prod(t.shape[1:])  # the bytes of one row
    first = t.buf.itemsize * t.offset
    pieces = []
    for i in indices:
        start = first + i * size
        pieces.append(t.buf.raw[start : start + size])
    out.buf.raw[:] = b"".join(pieces)
    return out


def batches(images, labels, size):
    """All images and labels, shuffled, `size` at a time."""
    order = random.sample(range(len(labels)), len(labels))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield rows(images, chosen), [labels[i] for i in chosen]


def add_(t, change):
    """t += change, in place."""
    lookup("add", t.buf.dtype)(t, t, change)


class SGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = self.v[i] * self.momentum + p.grad
                add_(p, self.v[i] * -self.lr)
                p.grad = None


class Adam:
    """m and v are running means of grad and grad**2; p -= lr * m / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 0
        self.m = [p.detach() * 0 for p in parameters]
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.m[i] = self.m[i] * b1 + p.grad * (1 - b1)
                self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)
                m, v = self.m[i] / (1 - b1**self.t), self.v[i] / (1 - b2**self.t)
                add_(p, m / (v**0.5 + self.eps) * -self.lr)
                p.grad = None


class AdamW(Adam):
    """Adam, and weights that shrink by lr * decay at each step."""

    def __init__(self, parameters, lr=0.001, decay=0.01):
        super().__init__(parameters, lr)
        self.decay = decay

    def step(self):
        with no_grad():
            for p in self.parameters:
                add_(p, p * (-self.lr * self.decay))
        super().step()


class Checkpoint:
    """All that the next step depends on, as it is now."""

    def __init__(self, optimizer):
        self.random, self.parts = random.getstate(), copy.deepcopy(vars(optimizer))

    def restore(self, optimizer):
        random.setstate(self.random)
        for name, part in self.parts.items():
            if isinstance(part, list):
                for t, kept in zip(getattr(optimizer, name), part, strict=True):
                    t.buf.raw[:] = kept.buf.raw
            else:
                setattr(optimizer, name, part)


def clip(parameters, limit):
    """Shorten the gradients to `limit` in all; how long they were."""
    moving = [p for p in parameters if p.grad is not None]
    length = math.sqrt(sum((p.grad * p.grad).sum().item() for p in moving))
    if length > limit:
        for p in moving:
            p.grad = p.grad * (limit / length)
    return length


def read_idx(payload):
    """The numbers of an IDX file of unsigned bytes, as a tensor."""
    count = payload[3]  # of axes
    shape = struct.unpack_from(f">{count}I", payload, 4)  # > for the highest byte first
    t = zeros(shape, "uint8")
    t.buf.raw[:] = payload[4 + 4 * count :]
    return t
