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
    "IN_USE",
    "KERNELS",
    "LIMITS",
    "MLP",
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
    "Reshape",
    "Select",
    "Sum",
    "Tensor",
    "Transpose",
    "View",
    "accuracy",
    "add_",
    "alike",
    "axes",
    "batches",
    "borrow_kernels",
    "borrowed",
    "broadcast_shapes",
    "cast",
    "clip",
    "contiguous",
    "convert",
    "cross_entropy",
    "elementwise",
    "engine",
    "exp",
    "expand",
    "fit",
    "flatten",
    "full_key",
    "glorot",
    "gradcheck",
    "largest",
    "log",
    "log_softmax",
    "lookup",
    "matmul",
    "mse",
    "no_grad",
    "parts",
    "permute",
    "power",
    "promote",
    "read_idx",
    "reduction",
    "register",
    "reshape",
    "rows",
    "run",
    "select",
    "softmaxed",
    "strides_for",
    "total",
    "train",
    "transpose",
    "use_backend",
    "zeros",
]


# ---- chapter 1: bytes

FORMATS = {
    "bool": "?", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I",
    "int32": "i", "uint64": "Q", "int64": "q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


class Buffer:
    """A row of numbers of one dtype, kept as bytes."""

    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.itemsize = dtype, struct.calcsize(FORMATS[dtype])
        self.raw = bytearray(len(numbers) * self.itemsize)
        self.write(0, numbers)

    def __len__(self):
        return len(self.raw) // self.itemsize

    def __getitem__(self, i):
        return self.read(i + len(self) if i < 0 else i, 1)[0]

    def __setitem__(self, i, value):
        self.write(i + len(self) if i < 0 else i, [value])

    def read(self, start, count):
        """`count` numbers, from position `start` on."""
        return struct.unpack_from(*self.place(start, count))

    def write(self, start, numbers):
        """Put `numbers` at position `start` and behind it."""
        place = self.place(start, len(numbers))
        try:
            struct.pack_into(*place, *numbers)
        except (struct.error, OverflowError):  # not all of them are numbers of this dtype
            struct.pack_into(*place, *[convert(x, self.dtype) for x in numbers])

    def place(self, start, count):
        """What struct must be told to find these positions; IndexError where there are none."""
        if not 0 <= start <= start + count <= len(self):
            raise IndexError(f"{count} from position {start} on, of {len(self)} numbers")
        return f"{count}{FORMATS[self.dtype]}", self.raw, start * self.itemsize


LIMITS = {"float16": 2**16 - 2**4, "float32": 2**128 - 2**103, "float64": 2**1024 - 2**970}


def convert(value, dtype):
    """`value` as dtype holds it: integers wrap; a float cut to an integer stays in range."""
    if dtype == "bool":
        return bool(value)
    if dtype in LIMITS:  # from there on, the nearest float is infinity
        end = math.inf if value > 0 else -math.inf
        return end if abs(value) >= LIMITS[dtype] else value
    bits = 8 * struct.calcsize(FORMATS[dtype])
    lowest = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    if isinstance(value, float):
        return 0 if math.isnan(value) else int(min(max(value, lowest), lowest + 2**bits - 1))
    return (value - lowest) % 2**bits + lowest


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
            steps = range(*k.indices(size))
            shape.append(len(steps))
            strides.append(stride * steps.step)
            offset += stride * steps.start if steps else 0
        elif -size <= k < size:
            offset += stride * (k % size)
        else:
            raise IndexError(f"index {k} on axis {axis}, which has size {size}")
        axis += 1
    return t.over(shape, strides, offset)


Tensor.__getitem__ = select


def broadcast_shapes(a, b):
    """The shape that both stretch to: aligned at the right, sizes equal or one of them 1."""
    shape = []
    for m, n in zip_longest(reversed(a), reversed(b), fillvalue=1):
        if m != n and 1 not in (m, n):
            where = f"axis {-1 - len(shape)} has sizes {m} and {n}, which must be equal or 1"
            raise ValueError(f"shapes {tuple(a)} and {tuple(b)} do not fit: {where}")
        shape.append(n if m == 1 else m)
    return tuple(reversed(shape))


def expand(t, shape):
    """t stretched to `shape`: the same number is read again and again, by a stride of 0."""
    if broadcast_shapes(t.shape, shape) != tuple(shape):
        raise ValueError(f"shape {t.shape} does not stretch to {tuple(shape)}")
    new = [0] * (len(shape) - len(t.shape))
    kept = [0 if size == 1 else s for size, s in zip(t.shape, t.strides, strict=True)]
    return t.over(shape, new + kept, t.offset)


# ---- chapter 4: ops and the registry

KERNELS = {}  # (name, backend, dtype) -> function
IN_USE = ["python"]  # the backend; a list, so that use_backend can change it


def register(name, function, backend="python", dtypes=FORMATS):
    """Enter the kernel of that name for these dtypes on that backend."""
    for dtype in dtypes:
        KERNELS[name, backend, dtype] = function


def use_backend(backend):
    """From here on, kernels are looked up there."""
    IN_USE[0] = backend


def lookup(name, dtype):
    """The kernel of that name for that dtype, on the backend in use."""
    (backend,) = IN_USE
    if (name, backend, dtype) not in KERNELS:
        there = ", ".join(f"{d} on {b}" for n, b, d in KERNELS if n == name) or "nothing"
        raise LookupError(f"no kernel {name!r} for {dtype} on {backend}; there is {there}")
    return KERNELS[name, backend, dtype]


def elementwise(f):
    """The kernel that puts f of the inputs' elements into each element of out."""
    return lambda out, *ins: out.fill(list(map(f, *[x.values() for x in ins])))


def exp(x):
    """e ** x; what is too large is infinite"""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x):
    """ln x; minus infinity at 0, nan below"""
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def power(x, y):
    """x ** y; infinite where it is too large, and 0 ** -1; nan where it is not real"""
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf if x > 0 or y % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


register("add", elementwise(operator.add))
register("mul", elementwise(operator.mul))
register("gt", elementwise(operator.gt))
register("neg", elementwise(operator.neg), dtypes=list(FORMATS)[1:])  # all but bool
register("relu", elementwise(lambda x: max(x, 0)))
register("exp", elementwise(exp), dtypes=LIMITS)  # the floats
register("log", elementwise(log), dtypes=LIMITS)
register("pow", elementwise(power), dtypes=LIMITS)
register("cast", elementwise(lambda x: x))

# Kind, signed or not, bits for the magnitude; float64 is to hold every integer.
SIZES = {
    "bool": (0, 0, 1), "uint8": (1, 0, 8), "int8": (1, 1, 7), "uint16": (1, 0, 16),
    "int16": (1, 1, 15), "uint32": (1, 0, 32), "int32": (1, 1, 31), "uint64": (1, 0, 64),
    "int64": (1, 1, 63), "float16": (2, 1, 11), "float32": (2, 1, 24), "float64": (2, 1, 64),
}  # fmt: skip


def promote(a, b):
    """The first dtype that holds all numbers of both."""
    needed = [max(pair) for pair in zip(SIZES[a], SIZES[b], strict=True)]
    return next(d for d in SIZES if all(map(operator.ge, SIZES[d], needed)))


def cast(t, dtype):
    """t in another dtype."""
    if t.buf.dtype == dtype:
        return t
    out = zeros(t.shape, dtype)
    lookup("cast", t.buf.dtype)(out, t)
    return out


def alike(tensors):
    """All of them in the dtype that holds the numbers of each."""
    dtype = reduce(promote, [t.buf.dtype for t in tensors])
    return [cast(t, dtype) for t in tensors]


def run(op):
    """Execute an Op."""
    return op.forward(*op.inputs)


class Op:
    """One operation, forward and backward: `Add(x, y).apply()` is `x + y`."""

    gives = None  # the output's dtype, where it is not the inputs'
    execute = staticmethod(run)

    def __init__(self, *inputs, **params):
        like = next(x.buf.dtype for x in inputs if hasattr(x, "buf"))
        numbers = [x for x in inputs if not hasattr(x, "buf")]
        if numbers:  # a Python number beside a tensor: one dtype for both
            like = self.beside(numbers[0], like)
            inputs = [cast(x, like) if hasattr(x, "buf") else Tensor(x, dtype=like) for x in inputs]
        self.inputs, self.params = list(inputs), params

    @staticmethod
    def beside(x, dtype):
        """The tensor's dtype, unless that is of a kind too poor for the number x; then x's own."""
        own = "bool" if isinstance(x, bool) else "int64" if isinstance(x, int) else "float32"
        return dtype if SIZES[dtype][0] >= SIZES[own][0] else own

    def apply(self):
        return Op.execute(self)

    def forward(self, *inputs):
        shape, inputs = self.prepare(*inputs)
        dtype = inputs[0].buf.dtype
        out = zeros(shape, self.gives or dtype)
        lookup(self.kernel, dtype)(out, *inputs, **self.params)
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
        x, y = self.inputs
        return g * y, g * x


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


def parts(numbers, count):
    """The numbers in `count` parts of equal length."""
    n = len(numbers) // max(count, 1)
    return [numbers[i * n : i * n + n] for i in range(count)]


def reduction(f):
    """The kernel that puts f of each list of elements along `axis` into out."""

    def kernel(out, x, axis):
        kept = [a for a in range(len(x.shape)) if a not in axis]
        out.fill([f(part) for part in parts(permute(x, [*kept, *axis]).values(), out.numel())])

    return kernel


def total(numbers):
    """The sum of floats, rounded once; infinite or nan where plain addition is"""
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return sum(numbers)


def largest(numbers):
    """The largest of them; nan if there is one."""
    return math.nan if any(x != x for x in numbers) else max(numbers)


register("sum", reduction(sum))
register("sum", reduction(total), dtypes=LIMITS)
register("max", reduction(largest))


class Reduce(Op):
    """The axes in `axis` go."""

    def prepare(self, x):
        kept = [n for a, n in enumerate(x.shape) if a not in self.params["axis"]]
        return kept, [cast(x, "int64") if x.buf.dtype == "bool" else x]  # how many are true

    def stretched(self, g):
        """What was reduced, stretched over the input's shape again."""
        shape = self.inputs[0].shape
        kept = [1 if a in self.params["axis"] else n for a, n in enumerate(shape)]
        return g.reshape(*kept).expand(*shape)


class Sum(Reduce):
    """z = the sum over axis"""

    kernel = "sum"

    def backward(self, g):
        return (self.stretched(g),)


def axes(t, axis):
    """axis=None, an int or a tuple, as a tuple of axes counted from the front."""
    axis = range(len(t.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(range(len(t.shape))[a] for a in axis)


Tensor.sum = lambda x, axis=None: Sum(x, axis=axes(x, axis)).apply()


class Max(Reduce):
    """z = the largest over axis; equals share the gradient"""

    kernel = "max"

    def backward(self, g):
        (x,) = self.inputs
        winner = (self.stretched(x.max(**self.params)) > x) * -1.0 + 1.0
        return (self.stretched(g) * winner / self.stretched(winner.sum(**self.params)),)


Tensor.max = lambda x, axis=None: Max(x, axis=axes(x, axis)).apply()


class View(Op):
    """No kernel: another way to walk the same Buffer."""

    def forward(self, x):
        return self.walk(x, **self.params)


class Transpose(View):
    walk = staticmethod(transpose)

    def backward(self, g):
        return (g.transpose(**self.params),)


class Reshape(View):
    walk = staticmethod(reshape)

    def backward(self, g):
        return (g.reshape(*self.inputs[0].shape),)


class Expand(View):
    walk = staticmethod(expand)

    def backward(self, g):
        return (g,)  # the Engine sums over what was stretched


Tensor.transpose = lambda x, a=-2, b=-1: Transpose(x, a=a, b=b).apply()
Tensor.reshape = lambda x, *shape: Reshape(x, shape=shape).apply()
Tensor.expand = lambda x, *shape: Expand(x, shape=shape).apply()
Tensor.T = property(Tensor.transpose)


class Select(View):
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


def matmul(out, x, y):
    """out_ij = sum_k x_ik * y_kj"""
    rows, columns = parts(x.values(), x.shape[0]), parts(transpose(y).values(), y.shape[1])
    out.fill([sum(map(operator.mul, row, column)) for row in rows for column in columns])


register("matmul", matmul)


class MatMul(Op):
    """z_ij = sum_k x_ik * y_kj"""

    kernel = "matmul"

    def prepare(self, x, y):
        if len(x.shape) != 2 or len(y.shape) != 2 or x.shape[1] != y.shape[0]:
            raise ValueError(f"matmul of shapes {x.shape} and {y.shape}: not (m, k) and (k, n)")
        return (x.shape[0], y.shape[1]), alike((x, y))

    def backward(self, g):
        x, y = self.inputs
        return g @ y.T if x.requires_grad else None, x.T @ g if y.requires_grad else None


Tensor.__matmul__ = lambda x, y: MatMul(x, y).apply()


# ---- chapter 5: engine: 60 lines of autograd


def fit(g, x):
    """Undo broadcasting: where x was stretched, its gradient is the sum over the copies."""
    if g.shape == x.shape:
        return cast(g, x.buf.dtype)
    sizes = [1] * (len(g.shape) - len(x.shape)) + list(x.shape)
    copies = tuple(a for a, n in enumerate(sizes) if n == 1 and g.shape[a] != 1)
    return cast(g.sum(copies).reshape(*x.shape), x.buf.dtype)


class Engine:
    """Runs Ops, keeps the graph, walks it backward."""

    recording = True

    def run(self, op):
        out = run(op)
        if self.recording and out.buf.dtype in LIMITS and any(x.requires_grad for x in op.inputs):
            out.op, out.requires_grad = op, True
        return out

    @contextmanager
    def mode(self, recording):
        """Record, or do not, for as long as the block lasts."""
        before, self.recording = self.recording, recording
        try:
            yield
        finally:
            self.recording = before

    def order(self, root):
        """All tensors of the graph behind root, each before those it was made from."""
        order, seen, stack = [], set(), [(root, False)]
        while stack:
            t, inputs_done = stack.pop()
            if inputs_done:
                order.append(t)
            elif id(t) not in seen:
                seen.add(id(t))
                stack.append((t, True))
                stack += [(x, False) for x in (t.op.inputs if t.op else ()) if x.requires_grad]
        return order[::-1]

    def backward(self, root, create_graph=False):
        """Add d root / d leaf to the grad of every leaf."""
        if not root.requires_grad:
            raise ValueError("backward from a tensor that does not require grad")
        if root.numel() != 1:
            raise ValueError(f"backward from shape {root.shape}: sum() it first")
        with self.mode(create_graph):
            grads = {id(root): zeros(root.shape, root.buf.dtype) + 1}
            for t in self.order(root):
                g = grads.pop(id(t))
                if t.op is None:
                    t.grad = g if t.grad is None else t.grad + g
                    continue
                for x, gx in zip(t.op.inputs, t.op.backward(g), strict=True):
                    if x.requires_grad:
                        gx = fit(gx, x)
                        grads[id(x)] = grads[id(x)] + gx if id(x) in grads else gx


engine = Engine()
Op.execute = staticmethod(engine.run)
Tensor.backward = lambda t, create_graph=False: engine.backward(t, create_graph)


def gradcheck(f, *inputs, eps=1e-6):
    """The largest difference between the Engine's gradient of f(*inputs) and a measured slope."""
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
            worst = max(worst, abs((above - below) / (2 * eps) - g))
    return worst


# ---- chapter 6: what backward promises


def no_grad():
    """A block in which nothing is recorded."""
    return engine.mode(recording=False)


Tensor.detach = lambda t: t.over(t.shape, t.strides, t.offset)


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
