"""Right answers to the exercises of chapter 10, written otherwise than ours."""

RIGHT = {
    "10.1": {
        "by an addition, and negative indices": """
class Pad(Op):
    def forward(self, x):
        k = self.params["border"]
        shape = list(x.shape)
        shape[-1] += 2 * k
        shape[-2] += 2 * k
        z = zeros(tuple(shape), x.buf.dtype)
        inner = z[..., k:-k, k:-k]
        lookup("add", x.buf.dtype)(inner, inner, x)
        return z

    def backward(self, g):
        k = self.params["border"]
        return [g[..., k:-k, k:-k]]
""",
    },
    "10.2": {
        "comprehensions": """
def filtered(picture, weights):
    n = len(weights)
    high, wide = len(picture) - n + 1, len(picture[0]) - n + 1

    def at(y, x):
        inside = [row[x : x + n] for row in picture[y : y + n]]
        return sum(p * w for a, b in zip(inside, weights) for p, w in zip(a, b))

    return [[at(y, x) for x in range(wide)] for y in range(high)]
""",
    },
    "10.3": {
        "a Tensor made by hand": """
def slide(t, size, step=1):
    places = []
    for length in t.shape[2:]:
        if size > length:
            raise ValueError("no window fits")
        places.append(len(range(0, length - size + 1, step)))
    strides = list(t.strides) + list(t.strides[2:])
    strides[2], strides[3] = strides[2] * step, strides[3] * step
    return Tensor(t.buf, (*t.shape[:2], *places, size, size), strides, t.offset)
""",
    },
    "10.4": {
        "by an addition of nothing": """
def contiguous(t):
    if row_by_row(t.shape, t.strides):
        return t
    copy = zeros(t.shape, t.buf.dtype)
    lookup("add", t.buf.dtype)(copy, copy, t)
    return copy
""",
    },
    "10.5": {
        "kernels and slices, without slide": """
class Overlap(Op):
    def forward(self, x):
        p = self.params
        size, step, out = p["size"], p["step"], zeros(p["shape"], x.buf.dtype)
        high, wide = x.shape[2:4]
        add = lookup("add", x.buf.dtype)
        for k in range(size * size):
            i, j = divmod(k, size)
            rows_there = slice(i, i + step * (high - 1) + 1, step)
            columns_there = slice(j, j + step * (wide - 1) + 1, step)
            part = select(out, (slice(None), slice(None), rows_there, columns_there))
            add(part, part, select(x, (..., i, j)))
        return out

    def backward(self, g):
        return (windows(g, self.params["size"], self.params["step"]),)
""",
    },
    "10.6": {
        "windows as columns, and the bias shaped": """
class Conv2d:
    def __init__(self, inputs, outputs, size, padding=0):
        self.outputs, self.window, self.border = outputs, size, padding
        start = he(inputs * size**2, outputs)
        self.w = Tensor(start, requires_grad=True)
        self.b = zeros((outputs,))
        self.b.requires_grad = True

    def __call__(self, x):
        x = Pad(x, border=self.border).apply() if self.border > 0 else x
        w = windows(x, self.window, 1)
        n, h, wide = w.shape[0], w.shape[2], w.shape[3]
        columns = w.permute(1, 4, 5, 0, 2, 3).reshape(-1, n * h * wide)
        maps = (self.w.T @ columns).reshape(self.outputs, n, h, wide).transpose(0, 1)
        return maps + self.b.reshape(-1, 1, 1)
""",
        "the windows times the weights, with the filters in front": """
class Conv2d:
    def __init__(self, inputs, outputs, size, padding=0):
        self.inputs, self.outputs, self.size, self.padding = inputs, outputs, size, padding
        self.w = Tensor(he(inputs * size * size, outputs), requires_grad=True)
        self.b = zeros((outputs,))
        self.b.requires_grad = True

    def __call__(self, x):
        x = pad(x, self.padding) if self.padding else x
        seen = windows(x, self.size)
        n, c, h, w = seen.shape[:4]
        rows = seen.permute(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * self.size * self.size)
        maps = (rows @ self.w).reshape(n, h * w, self.outputs) + self.b
        return maps.permute(0, 2, 1).reshape(n, self.outputs, h, w)
""",
    },
    "10.8": {
        "expand first": """
class Where(Op):
    def forward(self, condition, a, b):
        kind = condition.buf.dtype
        if kind != "bool":
            raise TypeError("the first has to be bool: where(x > 0, a, b)")
        a, b = alike([a, b])
        shape = condition.shape
        for t in (a, b):
            shape = broadcast_shapes(shape, t.shape)
        condition, a, b = expand(condition, shape), expand(a, shape), expand(b, shape)
        z = zeros(shape, a.buf.dtype)
        lookup("where", a.buf.dtype)(z, condition, a, b)
        return z

    def backward(self, g):
        chosen = cast(self.inputs[0], g.buf.dtype)
        return None, g * chosen, g * (1.0 - chosen)
""",
        "the condition is kept in the object": """
class Where(Op):
    def forward(self, condition, a, b):
        if condition.buf.dtype != "bool":
            raise TypeError("bool comes first: where(condition, a, b), as in where(x > 0, a, b)")
        self.truth = condition
        a, b = alike((a, b))
        shape = broadcast_shapes(broadcast_shapes(condition.shape, a.shape), b.shape)
        out = zeros(shape, a.buf.dtype)
        lookup("where", a.buf.dtype)(
            out, expand(condition, shape), expand(a, shape), expand(b, shape)
        )
        return out

    def backward(self, g):
        none = zeros(g.shape, g.buf.dtype)
        return [None, Where(self.truth, g, none).apply(), Where(self.truth, none, g).apply()]
""",
    },
    "10.9": {
        "loops over numbers": """
def to_largest(g, x, z, size):
    numbers, given = x.tolist(), g.tolist()
    out = zeros(x.shape, g.buf.dtype)
    found = nest([0.0] * x.numel(), x.shape)
    for n in range(z.shape[0]):
        for c in range(z.shape[1]):
            for y in range(z.shape[2]):
                for k in range(z.shape[3]):
                    best = None
                    for i in range(y * size, y * size + size):
                        for j in range(k * size, k * size + size):
                            here = numbers[n][c][i][j]
                            if best is None or here > best[0]:
                                best = here, i, j
                    found[n][c][best[1]][best[2]] = given[n][c][y][k]
    out.fill(flatten(found)[0])
    return out
""",
        "who has taken it is remembered": """
def to_largest(g, x, z, size):
    result = zeros(x.shape, g.buf.dtype)
    taken = zeros(z.shape, g.buf.dtype)
    for i in range(size):
        for j in range(size):
            h, w = z.shape[2] * size, z.shape[3] * size
            key = (..., slice(i, h, size), slice(j, w, size))
            largest = 1.0 - cast(z > x[key], g.buf.dtype)
            mine = largest * (1.0 - taken)
            lookup("add", g.buf.dtype)(result[key], result[key], mine * g)
            taken = taken + mine
    return result
""",
    },
    "10.10": {
        "a Module": """
class Small(Module):
    def __init__(self):
        self.one, self.two = Conv2d(1, 6, 3, 1), Conv2d(6, 12, 3, padding=1)
        self.pool, self.last = MaxPool2d(4), Linear(12 * 7 * 7, 10)

    def __call__(self, x):
        x = self.one(x / 255.0).relu()
        x = self.pool(self.two(x).relu())
        return self.last(x.reshape(x.shape[0], -1))


def reader():
    return Small()
""",
        "with chapter 9's layers": """
def reader():
    layers = [lambda x: x * (1 / 255), Conv2d(1, 4, 5), BatchNorm(4), Tensor.relu, MaxPool2d(3)]
    layers += [Residual(Conv2d(4, 4, 3, padding=1), Tensor.relu), Flatten(), Dropout(0.1)]
    return Sequential(*layers, Linear(256, 10))
""",
    },
    "10.11": {
        "a plain object around it": """
class Kept:
    def __init__(self, network):
        self.network = network

    def __call__(self, pictures):
        return self.network(pictures)


trained = Kept(model)
""",
    },
    "10.s1": {
        "one weight at a time": """
def way_back(g, w):
    outputs, inputs, size = w.shape[0], w.shape[1], w.shape[2]
    n, high, wide = g.shape[0], g.shape[2], g.shape[3]
    wider = pad(g, size - 1)
    total = None
    for i in range(size):
        for j in range(size):
            top, left = size - 1 - i, size - 1 - j
            part = wider[:, :, top : top + high + size - 1, left : left + wide + size - 1]
            flat = part.permute(0, 2, 3, 1).reshape(-1, outputs) @ w[:, :, i, j]
            total = flat if total is None else total + flat
    return total.reshape(n, high + size - 1, wide + size - 1, inputs).permute(0, 3, 1, 2)
""",
    },
    "10.s2": {
        "a layer of its own for each channel": """
class Depthwise:
    def __init__(self, channels, size, padding=0):
        self.size, self.padding = size, padding
        self.w = Tensor(he(size**2, channels), requires_grad=True)
        self.b = Tensor([0.0] * channels, requires_grad=True)

    def __call__(self, x):
        seen = windows(pad(x, self.padding), self.size).permute(0, 2, 3, 1, 4, 5)
        n, h, w, c, size, _ = seen.shape
        products = seen.reshape(n, h, w, c, size * size) * self.w.T
        return (products.sum(4) + self.b).permute(0, 3, 1, 2)
""",
    },
}
