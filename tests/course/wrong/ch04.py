"""Answers to chapter 4 that are wrong in ways in which people are."""

WRONG = {
    "04.1": {
        "one table for all registries": """
class Registry:
    table = {}

    def register(self, name, function, dtypes):
        for dtype in dtypes:
            self.table[name, dtype] = function

    def lookup(self, name, dtype):
        if (name, dtype) not in self.table:
            there = [d for n, d in self.table if n == name]
            raise LookupError(f"no {name} for {dtype}, only for {there}")
        return self.table[name, dtype]
""",
        "a name that nobody has entered: a KeyError, and not a word of the dtype": """
class Registry:
    def __init__(self):
        self.table = {}

    def register(self, name, function, dtypes):
        for dtype in dtypes:
            self.table.setdefault(name, {})[dtype] = function

    def lookup(self, name, dtype):
        if dtype not in self.table[name]:
            raise LookupError(f"no {name} for {dtype}, only for {list(self.table[name])}")
        return self.table[name][dtype]
""",
        "a bare KeyError does not say what there is": """
class Registry:
    def __init__(self):
        self.table = {}

    def register(self, name, function, dtypes):
        for dtype in dtypes:
            self.table[name, dtype] = function

    def lookup(self, name, dtype):
        return self.table[name, dtype]
""",
        "None where there is nothing": """
class Registry:
    def __init__(self):
        self.table = {}

    def register(self, name, function, dtypes):
        for dtype in dtypes:
            self.table[name, dtype] = function

    def lookup(self, name, dtype):
        return self.table.get((name, dtype))
""",
        "the dtype is not looked at": """
class Registry:
    def __init__(self):
        self.table = {}

    def register(self, name, function, dtypes):
        self.table[name] = function

    def lookup(self, name, dtype):
        if name not in self.table:
            raise LookupError(f"no {name} for {dtype}")
        return self.table[name]
""",
    },
    "04.2": {
        "memory is read, not the tensors (X01)": """
def lift(f):
    def kernel(out, *ins):
        for i in range(len(out.buf)):
            out.buf[i] = f(*[x.buf[i % len(x.buf)] for x in ins])

    return kernel
""",
        "the inputs are walked, but out is not": """
def lift(f):
    def kernel(out, *ins):
        for i, elements in enumerate(zip(*[x.values() for x in ins])):
            out.buf[i] = f(*elements)

    return kernel
""",
        "raises: two inputs and no others": """
def lift(f):
    def kernel(out, x, y):
        out.fill([f(a, b) for a, b in zip(x.values(), y.values())])

    return kernel
""",
        "a new tensor is returned, out stays as it was": """
def lift(f):
    def kernel(out, *ins):
        return Tensor(Buffer([f(*e) for e in zip(*[x.values() for x in ins])]), out.shape)

    return kernel
""",
    },
    "04.3": {
        "the one with more bytes wins": """
def meet(a, b):
    return max(a, b, key=lambda d: (SIZES[d][0], struct.calcsize(FORMATS[d])))

import struct
""",
        "the larger in the table wins": """
def meet(a, b):
    order = list(SIZES)
    return order[max(order.index(a), order.index(b))]
""",
        "float32 holds every integer, as in PyTorch": """
def meet(a, b):
    kinds = SIZES[a][0], SIZES[b][0]
    if max(kinds) == 2 and min(kinds) < 2:
        return a if kinds[0] == 2 else b
    return promote_of(a, b)

def promote_of(a, b):
    needed = [max(pair) for pair in zip(SIZES[a], SIZES[b])]
    return next(d for d in SIZES if all(h >= n for h, n in zip(SIZES[d], needed)))
""",
    },
    "04.4": {
        "the gradients are the wrong way round": """
class MyMul(Elementwise):
    kernel = "mul"

    def backward(self, g):
        x, y = self.inputs
        return MyMul(g, x).apply(), MyMul(g, y).apply()
""",
        "g is forgotten": """
class MyMul(Elementwise):
    kernel = "mul"

    def backward(self, g):
        x, y = self.inputs
        return y, x
""",
        "g is added": """
class MyMul(Elementwise):
    kernel = "mul"

    def backward(self, g):
        x, y = self.inputs
        return Add(g, y).apply(), Add(g, x).apply()
""",
        "one gradient instead of two": """
class MyMul(Elementwise):
    kernel = "mul"

    def backward(self, g):
        x, y = self.inputs
        return MyMul(g, y).apply()
""",
    },
    "04.5": {
        "only the first axis is summed": """
class MySum(Op):
    def kept(self):
        axis = self.params["axis"][:1]
        return tuple(1 if a in axis else n for a, n in enumerate(self.inputs[0].shape))

    def forward(self, x):
        out = zeros(self.kept(), x.buf.dtype)
        for p, value in zip(expand(out, x.shape).positions(), x.values()):
            out.buf[p] += value
        axis = self.params["axis"][:1]
        return reshape(out, tuple(n for a, n in enumerate(x.shape) if a not in axis))

    def backward(self, g):
        return (expand(reshape(g, self.kept()), self.inputs[0].shape),)
""",
        "the gradient is g, not stretched": """
class MySum(Op):
    def forward(self, x):
        axis = self.params["axis"]
        kept = tuple(1 if a in axis else n for a, n in enumerate(x.shape))
        out = zeros(kept, x.buf.dtype)
        for p, value in zip(expand(out, x.shape).positions(), x.values()):
            out.buf[p] += value
        return reshape(out, tuple(n for a, n in enumerate(x.shape) if a not in axis))

    def backward(self, g):
        return (g,)
""",
        "raises: g is stretched without its lost axis, so it is aligned at the right": """
class MySum(Op):
    def forward(self, x):
        axis = self.params["axis"]
        kept = tuple(1 if a in axis else n for a, n in enumerate(x.shape))
        out = zeros(kept, x.buf.dtype)
        for p, value in zip(expand(out, x.shape).positions(), x.values()):
            out.buf[p] += value
        return reshape(out, tuple(n for a, n in enumerate(x.shape) if a not in axis))

    def backward(self, g):
        return (expand(g, self.inputs[0].shape),)
""",
        "the axes stay, with size 1": """
class MySum(Op):
    def forward(self, x):
        axis = self.params["axis"]
        out = zeros(tuple(1 if a in axis else n for a, n in enumerate(x.shape)), x.buf.dtype)
        for p, value in zip(expand(out, x.shape).positions(), x.values()):
            out.buf[p] += value
        return out

    def backward(self, g):
        return (expand(g, self.inputs[0].shape),)
""",
    },
    "04.6": {
        "strides and offset count numbers": """
def lend(ndarray, t):
    return ndarray(t.shape, t.buf.dtype, t.buf.raw, t.offset, t.strides)
""",
        "the offset is forgotten": """
def lend(ndarray, t):
    size = t.buf.itemsize
    return ndarray(t.shape, t.buf.dtype, t.buf.raw, 0, [s * size for s in t.strides])
""",
        "strides are left to NumPy, which takes the tensor to be contiguous": """
def lend(ndarray, t):
    return ndarray(t.shape, t.buf.dtype, t.buf.raw, t.offset * t.buf.itemsize)
""",
        "the bytes are copied": """
def lend(ndarray, t):
    size = t.buf.itemsize
    raw = bytearray(t.buf.raw)
    return ndarray(t.shape, t.buf.dtype, raw, t.offset * size, [s * size for s in t.strides])
""",
    },
    "04.7": {
        "the other order, which fits where all is square": """
def matmul_backward(g, x, y):
    if g.shape == x.shape == y.shape:
        return product(transpose(y), g), product(g, transpose(x))
    return product(g, transpose(y)), product(transpose(x), g)
""",
        "the two gradients are exchanged": """
def matmul_backward(g, x, y):
    return product(transpose(x), g), product(g, transpose(y))
""",
        "as if the product were one element by element": """
def matmul_backward(g, x, y):
    return y, x
""",
        "nothing is transposed": """
def matmul_backward(g, x, y):
    return product(g, y), product(x, g)
""",
    },
}
