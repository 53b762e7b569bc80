"""A deep-learning library in two hundred lines: bytes, tensors, ops, an engine, a network."""

import math
import random
import struct
from functools import reduce
from itertools import pairwise, zip_longest

from course.lent import kernels

TABLE = kernels()  # (name, dtype) -> kernel(out, *inputs, **params)
FORMATS = {"bool": "?", "uint8": "B", "int32": "i", "float32": "f", "float64": "d"}


class Buffer:
    """A row of numbers of one dtype, as bytes."""

    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.itemsize = dtype, struct.calcsize(FORMATS[dtype])
        self.raw = bytearray(struct.pack(f"{len(numbers)}{FORMATS[dtype]}", *numbers))

    def numbers(self):
        return memoryview(self.raw).cast(FORMATS[self.dtype])


def strides_for(shape):
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def positions(shape, strides, offset):
    """Where the elements are, row by row."""
    found = [offset]
    for size, stride in zip(shape, strides, strict=True):
        found = [start + i * stride for start in found for i in range(size)]
    return found


def flatten(data):
    """Nested lists as one list, and their shape."""
    if not isinstance(data, list | tuple):
        return [data], ()
    rows = [flatten(row) for row in data]
    shapes = {shape for _, shape in rows} or {()}
    if len(shapes) > 1:
        raise ValueError(f"rows of different shapes: {shapes}")
    return [x for row, _ in rows for x in row], (len(data), *shapes.pop())


def nest(items, shape):
    """One list as nested lists of this shape."""
    if not shape:
        return items[0]
    step = math.prod(shape[1:])
    return [nest(items[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


class Tensor:
    """A Buffer, and how it is walked: shape, strides, offset."""

    def __init__(
        self, data, shape=None, strides=None, offset=0, dtype="float32", requires_grad=False
    ):
        if not hasattr(data, "raw"):
            data, shape = flatten(data)
            data = Buffer(data, dtype)
        self.buf, self.shape, self.offset = data, tuple(shape), offset
        self.strides = strides_for(self.shape) if strides is None else tuple(strides)
        self.requires_grad, self.grad, self.op = requires_grad, None, None

    def values(self):
        walk = positions(self.shape, self.strides, self.offset)
        return list(map(self.buf.numbers().__getitem__, walk))

    def fill(self, numbers):
        for p, x in zip(positions(self.shape, self.strides, self.offset), numbers, strict=True):
            self.buf.numbers()[p] = x


def zeros(shape, dtype="float32"):
    buf = Buffer([], dtype)
    buf.raw = bytearray(math.prod(shape) * buf.itemsize)
    return Tensor(buf, shape)


def permute(t, axes):
    return t.over([t.shape[a] for a in axes], [t.strides[a] for a in axes], t.offset)


def reshape(t, shape):
    """The same numbers under another shape; -1 is worked out."""
    sizes = [t.numel() // (-math.prod(shape) or 1) if n == -1 else n for n in shape]
    if min(sizes, default=0) < 0 or math.prod(sizes) != t.numel():
        raise ValueError(f"shape {t.shape} holds {t.numel()} numbers, {tuple(shape)} does not")
    if t.strides != strides_for(t.shape):
        t = Tensor(Buffer(t.values(), t.buf.dtype), t.shape)
    return t.over(sizes, strides_for(sizes), t.offset)


def broadcast_shapes(a, b):
    pairs = list(zip_longest(reversed(a), reversed(b), fillvalue=1))
    if any(m != n and 1 not in (m, n) for m, n in pairs):
        raise ValueError(f"shapes {tuple(a)} and {tuple(b)} do not fit")
    return tuple(n if m == 1 else m for m, n in reversed(pairs))


def expand(t, shape):
    if broadcast_shapes(t.shape, shape) != tuple(shape):
        raise ValueError(f"shape {t.shape} does not stretch to {tuple(shape)}")
    kept = [0 if size == 1 else s for size, s in zip(t.shape, t.strides, strict=True)]
    return t.over(shape, [0] * (len(shape) - len(kept)) + kept, t.offset)


class Op:
    """One operation: forward, and by its slopes the gradients of its inputs."""

    def __init__(self, *inputs, **params):
        self.inputs = [
            x if hasattr(x, "buf") else Tensor(x, dtype=inputs[0].buf.dtype) for x in inputs
        ]
        self.params = params

    def apply(self):
        return record(self)

    def forward(self, *inputs):
        shape = reduce(broadcast_shapes, [x.shape for x in inputs])
        return self.into(shape, *[expand(x, shape) for x in inputs])

    def into(self, shape, *inputs):
        out = zeros(shape, inputs[0].buf.dtype)
        TABLE[self.kernel, out.buf.dtype](out, *inputs, **self.params)
        return out

    def backward(self, g):
        return self.slopes(g, *self.inputs, **self.params)


def op(kernel, slopes, *methods, **members):
    """A class of ops, and the methods of Tensor that run it."""
    made = type(kernel, (Op,), {"kernel": kernel, "slopes": staticmethod(slopes), **members})
    for name in methods:
        setattr(Tensor, name, lambda *inputs: made(*inputs).apply())
    return made


def spread(g, x, axis):
    """The gradient of a sum: g, over the shape of x."""
    kept = [1 if a in axis else n for a, n in enumerate(x.shape)]
    return (Expand(g.reshape(*kept), shape=x.shape).apply(),)


Add = op("add", lambda g, x, y: (g, g), "__add__", "__radd__")
Mul = op("mul", lambda g, x, y: (g * y, g * x), "__mul__", "__rmul__")
Pow = op("pow", lambda g, x, y: (g * y * x ** (y + -1), None), "__pow__")
Exp = op("exp", lambda g, x: (g * x.exp(),), "exp")
Log = op("log", lambda g, x: (g * x**-1,), "log")
Step = op("relu_grad", lambda h, g, x: (Step(h, x).apply(), None))
ReLU = op("relu", lambda g, x: (Step(g, x).apply(),), "relu")
MatMul = op(
    "matmul",
    lambda g, x, y: (g @ y.T if x.requires_grad else None, x.T @ g if y.requires_grad else None),
    "__matmul__",
    forward=lambda op, x, y: op.into((x.shape[0], y.shape[1]), x, y),
)
Sum = op(
    "sum",
    spread,
    forward=lambda op, x: op.into(
        [n for a, n in enumerate(x.shape) if a not in op.params["axis"]], x
    ),
)
Transpose = op("", lambda g, x: (g.T,), forward=lambda op, x: permute(x, [1, 0]))
Reshape = op(
    "",
    lambda g, x, shape: (g.reshape(*x.shape),),
    forward=lambda op, x: reshape(x, op.params["shape"]),
)
Expand = op(
    "",
    lambda g, x, shape: (g,),  # the engine undoes it
    forward=lambda op, x: expand(x, op.params["shape"]),
)
Tensor.sum = lambda x, axis=None: Sum(
    x, axis=(axis,) if isinstance(axis, int) else axis or tuple(range(len(x.shape)))
).apply()
Tensor.reshape = lambda x, *shape: Reshape(x, shape=shape).apply()
Tensor.over = lambda t, *walk: Tensor(t.buf, *walk)
Tensor.numel = lambda t: math.prod(t.shape)
Tensor.tolist = lambda t: nest(t.values(), t.shape)
Tensor.backward = lambda t, create_graph=False: engine.backward(t, create_graph)
Tensor.T = property(lambda x: Transpose(x).apply())


def record(op):
    """Run the op; its result remembers it, where somebody may ask for a gradient."""
    out = op.forward(*op.inputs)
    wanted = engine.recording and "float" in out.buf.dtype
    if wanted and any(x.requires_grad for x in op.inputs):
        out.op, out.requires_grad = op, True
    return out


def topological(root):
    """All tensors behind root that require grad, each before those it was made from."""
    order, seen, waiting = [], set(), [(root, False)]
    while waiting:
        t, done = waiting.pop()
        if done:
            order.append(t)
        elif id(t) not in seen:
            seen.add(id(t))
            behind = t.op.inputs if t.op else ()
            waiting += [(t, True), *((x, False) for x in behind if x.requires_grad)]
    return order[::-1]


def fit(g, x):
    """Undo broadcasting: the sum over the copies."""
    sizes = [1] * (len(g.shape) - len(x.shape)) + list(x.shape)
    copied = tuple(a for a, n in enumerate(g.shape) if n != sizes[a])
    return g if g.shape == x.shape else g.sum(copied).reshape(*x.shape)


class Engine:
    """Runs ops, keeps the graph, walks it backward."""

    recording = True

    def backward(self, root, create_graph=False):
        self.recording = create_graph
        arrived = {id(root): zeros(root.shape, root.buf.dtype) + 1}
        for t in topological(root):
            g = arrived.pop(id(t))
            if t.op is None:
                t.grad = g if t.grad is None else t.grad + g
            for x, share in zip(t.op.inputs, t.op.backward(g)) if t.op else ():
                if x.requires_grad:
                    share = fit(share, x)
                    arrived[id(x)] = arrived[id(x)] + share if id(x) in arrived else share
        self.recording = True


engine = Engine()


def log_softmax(x):
    x = x + Tensor([[-max(row)] for row in x.tolist()], dtype=x.buf.dtype)
    return x + x.exp().sum(1).reshape(-1, 1).log() * -1


def cross_entropy(logits, labels):
    n, classes = logits.shape
    right = [[float(c == label) for c in range(classes)] for label in labels]
    return (log_softmax(logits) * Tensor(right, dtype=logits.buf.dtype)).sum() * (-1 / n)


def glorot(inputs, outputs):
    a = math.sqrt(6 / (inputs + outputs))
    return [[random.uniform(-a, a) for _ in range(outputs)] for _ in range(inputs)]


class Linear:
    def __init__(self, inputs, outputs):
        self.w = Tensor(glorot(inputs, outputs), requires_grad=True)
        self.b = Tensor([0.0] * outputs, requires_grad=True)

    def __call__(self, x):
        return x @ self.w + self.b


class MLP:
    def __init__(self, *sizes):
        self.layers = [Linear(m, n) for m, n in pairwise(sizes)]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)

    def parameters(self):
        return [p for layer in self.layers for p in (layer.w, layer.b)]


class SGD:
    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [zeros(p.shape, p.buf.dtype) for p in parameters]

    def step(self):
        for i, p in enumerate(self.parameters):
            self.v[i] = self.v[i] * self.momentum + p.grad
            TABLE["add", p.buf.dtype](p, p, self.v[i] * -self.lr)
            p.grad = None


def learn(images, labels):
    """Learn from pictures of 784 bytes; gives a function that reads others."""

    def batch(images, chosen):
        x, pixels = zeros((len(chosen), 784)), Buffer([], "uint8")
        pixels.raw = bytearray(b"".join(images[784 * i : 784 * i + 784] for i in chosen))
        TABLE["cast", "uint8"](x, Tensor(pixels, x.shape))
        return x * (1 / 255)

    def read(images):
        rows = model(batch(images, range(len(images) // 784))).tolist()
        return [row.index(max(row)) for row in rows]

    model = MLP(784, 128, 10)
    for lr in (0.1, 0.08, 0.06, 0.04, 0.02):
        optimizer = SGD(model.parameters(), lr, momentum=0.9)
        order = random.sample(range(len(labels)), len(labels))
        for chosen in (order[i : i + 64] for i in range(0, len(order), 64)):
            cross_entropy(model(batch(images, chosen)), [labels[i] for i in chosen]).backward()
            optimizer.step()
    return read
