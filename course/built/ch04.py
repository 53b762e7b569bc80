"""What the learner has built by the end of chapter 4.

Generated from the chapters' kept cells by `python -m tutor chapters build`. Change the
chapter, never this file.
"""

import math
import operator
import struct
from functools import reduce
from itertools import zip_longest

__all__ = [
    "FORMATS",
    "LIMITS",
    "PYTHON",
    "Add",
    "Buffer",
    "Elementwise",
    "Exp",
    "Expand",
    "Greater",
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
    "Reshape",
    "Select",
    "Sum",
    "Tensor",
    "Transpose",
    "View",
    "alike",
    "as_integer",
    "as_tensors",
    "axes",
    "broadcast_shapes",
    "cast",
    "contiguous",
    "convert",
    "elementwise",
    "exp",
    "expand",
    "flatten",
    "full_key",
    "largest",
    "log",
    "lookup",
    "matmul",
    "mismatch",
    "pack",
    "parts",
    "permute",
    "power",
    "reduce_to",
    "reduction",
    "reshape",
    "run",
    "select",
    "sliced",
    "strides_for",
    "total",
    "transpose",
    "unpack",
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
    """The strides of numbers that lie row by row: the last axis steps by 1."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def flatten(data):
    """Nested lists as one flat list, and their shape."""
    if not isinstance(data, list | tuple):
        return [data], ()
    rows = [flatten(row) for row in data]
    shapes = {shape for _, shape in rows}
    if len(shapes) > 1:
        raise ValueError(f"rows of different shapes: {sorted(shapes)}")
    return [x for row, _ in rows for x in row], (len(data), *(shapes.pop() if shapes else ()))


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
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        first, last = (offset + sum(f(r, 0) for r in reach) for f in (min, max))
        if self.numel() and not 0 <= first <= last < len(data):
            raise IndexError(f"positions {first} to {last} of a Buffer of {len(data)} numbers")

    def numel(self):
        return math.prod(self.shape)

    def is_contiguous(self):
        """Whether the elements lie row by row. An axis of size 1 is never walked."""
        steps = zip(self.shape, self.strides, strides_for(self.shape), strict=True)
        return all(size == 1 or stride == wanted for size, stride, wanted in steps)

    def positions(self):
        """Where the elements stand in the Buffer, the last axis fastest."""
        found = [self.offset]
        for size, stride in zip(self.shape, self.strides, strict=True):
            found = [start + i * stride for start in found for i in range(size)]
        return found

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

    def item(self):
        (value,) = self.values()
        return value

    def tolist(self):
        items = list(self.values())
        for axis in range(len(self.shape) - 1, 0, -1):
            size, rows = self.shape[axis], math.prod(self.shape[:axis])
            items = [items[i * size : (i + 1) * size] for i in range(rows)]
        return items if self.shape else items[0]

    def __repr__(self):
        return f"Tensor({self.tolist()}, {self.buf.dtype})"


def zeros(shape, dtype="float32"):
    buf = Buffer([], dtype)
    buf.raw = bytearray(math.prod(shape) * buf.itemsize)
    return Tensor(buf, shape)


def permute(t, axes):
    """The axes of t in another order. No number moves."""
    return t.over([t.shape[a] for a in axes], [t.strides[a] for a in axes], t.offset)


def transpose(t, a=-2, b=-1):
    """Axes a and b exchanged."""
    axes = list(range(len(t.shape)))
    axes[a], axes[b] = axes[b], axes[a]
    return permute(t, axes)


def contiguous(t):
    """t itself if its numbers lie row by row, else a copy for which they do."""
    return t if t.is_contiguous() else Tensor(Buffer(t.values(), t.buf.dtype), t.shape)


def reshape(t, shape):
    """The same numbers in the same order under another shape; -1 is worked out."""
    if -1 in shape:
        known = -math.prod(shape)
        shape = [t.numel() // known if size == -1 else size for size in shape]
    if math.prod(shape) != t.numel():
        raise ValueError(f"shape {t.shape} holds {t.numel()} numbers, {tuple(shape)} does not")
    t = contiguous(t)
    return t.over(shape, strides_for(shape), t.offset)


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


def lookup(name, dtype):
    """The kernel of that name."""
    return PYTHON[name]


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


def as_tensors(inputs):
    """The inputs as tensors: a Python number takes the dtype of the tensor beside it."""
    dtypes = [x.buf.dtype for x in inputs if hasattr(x, "buf")]
    return [x if hasattr(x, "buf") else Tensor(x, dtype=dtypes[0]) for x in inputs]


def alike(tensors):
    """All of them in one dtype, where they have one; bools are 0 and 1 of the dtype beside them."""
    dtypes = {t.buf.dtype for t in tensors} - {"bool"}
    if len(dtypes) > 1:
        raise TypeError(f"dtypes {sorted(dtypes)} meet: chapter 4b says what comes out")
    dtype = dtypes.pop() if dtypes else "bool"
    return [cast(t, dtype) for t in tensors]


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
