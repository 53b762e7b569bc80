"""Ops: what can be calculated, forward and backward."""

from functools import reduce

from .registry import beside, lookup, promote
from .tensor import Tensor, broadcast_shapes, expand, reshape, select, transpose, zeros


# ---- chapter 4, given


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


# ---- 04.4, yours


class Mul(Elementwise):
    """z = x * y"""

    kernel = "mul"

    def backward(self, g):
        """The gradients of x and of y, given g, the gradient of z."""
        x, y = self.inputs
        return Mul(g, y).apply(), Mul(g, x).apply()


# ---- chapter 4, given, part 2

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


# ---- chapter 4, given, part 3


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


# ---- 04.5, yours


class Sum(Reduce):
    """z = the sum over axis"""

    kernel = "sum"

    def backward(self, g):
        """g, with the axes that went put back at size 1, and stretched over x's shape."""
        shape = self.inputs[0].shape
        kept = [1 if a in self.params["axis"] else n for a, n in enumerate(shape)]
        return (g.reshape(*kept).expand(*shape),)


# ---- chapter 4, given, part 4

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


# ---- 04.7, yours


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


# ---- chapter 4, given, part 5

Tensor.__matmul__ = lambda x, y: MatMul(x, y).apply()


# ---- chapter 4b, given


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


# ---- 06.5, yours


class Swish(Op):
    """z = x / (1 + e ** -x)"""

    def forward(self, x):
        return x / ((-x).exp() + 1)

    def backward(self, g):
        (x,) = self.inputs
        s = 1 / ((-x).exp() + 1)
        return (g * (s + x * s * (1 - s)),)
