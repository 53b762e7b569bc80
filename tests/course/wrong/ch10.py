"""Planted wrong answers to the exercises of chapter 10."""

from wrong import edit

WRONG = {
    "10.1": {
        "a border at two sides only": edit(
            "h + 2 * border, w + 2 * border", "h + border, w + border"
        ),
        "raises: the border only on one side": edit(
            "h + 2 * border, w + 2 * border", "h + border, w + 2 * border"
        ),
        "the picture in the corner": edit(
            "(..., slice(border, border + h), slice(border, border + w))",
            "(..., slice(h), slice(w))",
        ),
        "off by one": edit(
            "(..., slice(border, border + h), slice(border, border + w))",
            "(..., slice(border - 1, border - 1 + h), slice(border - 1, border - 1 + w))",
        ),
        "raises: rows and columns exchanged": edit("*others, h, w", "*others, w, h"),
        "always float32": edit("2 * border), x.buf.dtype)", "2 * border))"),
        "only the last axis": edit(
            "h + 2 * border, w", "h, w", "slice(border, border + h)", "slice(h)"
        ),
        "raises: the gradient with its border": edit(
            "return (g[..., border : border + h, border : border + w],)", "return (g,)"
        ),
        "the gradient of the corner": edit(
            "g[..., border : border + h, border : border + w]", "g[..., :h, :w]"
        ),
        "the gradient of the inner part, once more cut": edit(
            "g[..., border : border + h, border : border + w]",
            "Pad(g[..., border + 1 : border + h, border : border + w], border=1).apply()"
            "[..., :h, 1 : w + 1]",
        ),
        "number by number": edit(
            'lookup("cast", x.buf.dtype)(inside, x)', "inside.fill(x.values())"
        ),
        "numbers in place of zeros": edit(
            "inside = select", "out.fill([1] * out.numel())\n        inside = select"
        ),
        "the border is that of the Pad made last": edit(
            '        border = self.params["border"]\n        *others, h, w = x.shape',
            '        border = Pad.border = self.params["border"]\n        *others, h, w = x.shape',
            '        border = self.params["border"]\n        h, w',
            "        border = Pad.border\n        h, w",
        ),
        "x itself where there is no border": edit(
            "        *others, h, w = x.shape\n",
            "        if border == 0:\n            return x\n        *others, h, w = x.shape\n",
        ),
    },
    "10.2": {
        "one window too few": edit("len(picture) - size + 1", "len(picture) - size"),
        "raises: one window too many": edit("len(picture) - size + 1", "len(picture) - size + 2"),
        "as many columns as rows": edit("len(picture[0]) - size", "len(picture) - size"),
        "the filter turned": edit("weights[i][j]", "weights[size - 1 - i][size - 1 - j]"),
        "rows and columns of the filter exchanged": edit("weights[i][j]", "weights[j][i]"),
        "rows and columns of the picture exchanged": edit(
            "picture[top + i][left + j]", "picture[top + j][left + i]"
        ),
        "the sum goes on from place to place": edit(
            "            total = 0.0\n", "", "row = []", "row, total = [], 0.0"
        ),
        "only the last product": edit("total += ", "total = "),
        "the mean": edit("row.append(total)", "row.append(total / size**2)"),
        "one row is all": edit("    return found", "        return found"),
        "nothing below 0": edit("row.append(total)", "row.append(max(total, 0.0))"),
        "the filter turned by half a turn": edit(
            "weights[i][j]", "weights[size - 1 - i][size - 1 - j]"
        ),
    },
    "10.3": {
        "raises: windows beyond the edge": edit("(h - size) // step + 1", "h // step"),
        "one too few": edit("(h - size) // step + 1", "(h - size) // step"),
        "the step is forgotten in the strides": edit("down * step, right * step", "down, right"),
        "the step within the window": edit(
            "down * step, right * step, down, right", "down, right, down * step, right * step"
        ),
        "rows and columns of the window exchanged": edit(
            "right * step, down, right)", "right * step, right, down)"
        ),
        "the offset is forgotten": edit(", t.offset)", ", 0)"),
        "strides of numbers that lie row by row": edit(
            "picture, channel, down, right = t.strides",
            "picture, channel, down, right = c * h * w, h * w, w, 1",
        ),
        "a copy": edit(
            "return t.over",
            "view = t.over",
            "right), t.offset)",
            "right), t.offset)\n    return Tensor(view.tolist(), dtype=t.buf.dtype)",
        ),
        "too large a window gives nothing": edit(
            'raise ValueError(f"windows of {size} x {size} do not fit into pictures of {h} x {w}")',
            "return t.over((n, c, 0, 0, size, size), (0, 0, 0, 0, 0, 0), 0)",
        ),
        "only the height is looked at": edit("size > min(h, w)", "size > h"),
        "raises: pictures are square": edit("(w - size) // step + 1", "(h - size) // step + 1"),
        "the step is always 1": edit(
            "    n, c, h, w = t.shape", "    step = 1\n    n, c, h, w = t.shape"
        ),
    },
    "10.4": {
        "always a copy": edit("    if t.is_contiguous():\n        return t\n", ""),
        "t itself, always": "def contiguous(t):\n    return t",
        "through Python, as in chapter 2": """
def contiguous(t):
    return t if t.is_contiguous() else Tensor(Buffer(t.values(), t.buf.dtype), t.shape)
""",
        "everything becomes float32": edit("zeros(t.shape, t.buf.dtype)", "zeros(t.shape)"),
        "nothing is copied": edit('    lookup("cast", t.buf.dtype)(out, t)\n', ""),
        "the other way round": edit("(out, t)", "(t, out)"),
        "bytes in the order of the memory": """
def contiguous(t):
    if t.is_contiguous():
        return t
    out = zeros(t.shape, t.buf.dtype)
    lookup("cast", t.buf.dtype)(out, t.over(t.shape, out.strides, 0))
    return out
""",
        "only the strides are changed": """
def contiguous(t):
    return t if t.is_contiguous() else t.over(t.shape, strides_for(t.shape), 0)
""",
        "one long row": edit("return out", "return out.over((t.numel(),), (1,), 0)"),
    },
    "10.5": {
        "all windows at once": edit(
            """        for i in range(size):
            for j in range(size):
                add_(places[..., i, j], x[..., i, j])
""",
            "        add_(places, x)\n",
        ),
        "only the first position": edit("for j in range(size)", "for j in range(1)"),
        "the last position is left out": edit("for i in range(size)", "for i in range(size - 1)"),
        "i and j exchanged": edit("x[..., i, j]", "x[..., j, i]"),
        "what came last, in place of the sum": edit(
            "add_(places[..., i, j], x[..., i, j])", "places[..., i, j].fill(x[..., i, j].values())"
        ),
        "the step is forgotten": edit(
            "slide(out, size, step)", "slide(out, size)[:, :, : x.shape[2], : x.shape[3]]"
        ),
        "the first two axes of the window": edit(
            "places[..., i, j], x[..., i, j]", "places[..., i, j], x[..., 0, 0]"
        ),
        "return in the loop": edit("        return out\n", "            return out\n"),
        "x is changed": edit(
            "add_(places[..., i, j], x[..., i, j])",
            "add_(places[..., i, j], x[..., i, j])\n"
            "                add_(x[..., i, j], x[..., i, j])",
        ),
        "the mean": edit(
            "        return out\n",
            "        return out * (1 / size**2)\n",
        ),
        "raises: always float32": edit('self.params["shape"], x.buf.dtype', 'self.params["shape"]'),
    },
    "10.6": {
        "the bias along the columns": edit(
            "each @ self.w + self.b",
            "each @ self.w",
            ".permute(0, 3, 1, 2)",
            ".permute(0, 3, 1, 2) + self.b",
        ),
        "reshape in place of permute": edit(
            "z.reshape(n, h, w, self.b.shape[0]).permute(0, 3, 1, 2)",
            "z.reshape(n, self.b.shape[0], h, w)",
        ),
        "no bias": edit(" + self.b", ""),
        "no padding": edit("pad(x, self.padding)", "x"),
        "padding off by one": edit("pad(x, self.padding)", "pad(x, self.padding + 1)"),
        "channels last in the window": edit(
            "permute(0, 2, 3, 1, 4, 5)", "permute(0, 2, 3, 4, 5, 1)"
        ),
        "rows and columns of the window exchanged": edit(
            "permute(0, 2, 3, 1, 4, 5)", "permute(0, 2, 3, 1, 5, 4)"
        ),
        "windows are not put in rows": edit(
            "seen.permute(0, 2, 3, 1, 4, 5).reshape", "seen.reshape"
        ),
        "rows and columns of the map exchanged": edit("permute(0, 3, 1, 2)", "permute(0, 3, 2, 1)"),
        "the weights are not watched": edit(
            "outputs), requires_grad=True)\n        self.b", "outputs))\n        self.b"
        ),
        "the bias is not watched": edit("[0.0] * outputs, requires_grad=True", "[0.0] * outputs"),
        "weights for one channel only": edit(
            "he(inputs * size * size, outputs)", "he(size * size, outputs)"
        ),
        "weights the other way round": edit(
            "he(inputs * size * size, outputs)", "he(outputs, inputs * size * size)"
        ),
        "all weights are 0": edit(
            "he(inputs * size * size, outputs)", "[[0.0] * outputs] * (inputs * size * size)"
        ),
        "Glorot's weights": edit("Tensor(he(", "Tensor(glorot("),
        "biases at random": edit("Tensor([0.0] * outputs", "Tensor([random.random()] * outputs"),
        "the pictures are cut off from the graph": edit(
            "pad(x, self.padding)", "pad(x.detach(), self.padding)"
        ),
        "one bias for all": edit("[0.0] * outputs", "[0.0]", "self.b.shape[0]", "self.w.shape[1]"),
        "a relu too many": edit("self.w + self.b", "self.w + self.b\n        z = z.relu()"),
        "raises: the sizes belong to the class": edit(
            "self.size, self.padding = size, padding", "Conv2d.size, Conv2d.padding = size, padding"
        ),
        "weights that are all above 0": edit(
            "Tensor(he(inputs * size * size, outputs), requires_grad=True)",
            "Tensor([[abs(v) for v in row] for row in he(inputs * size * size, "
            "outputs)], requires_grad=True)",
        ),
        "raises: w is found in the class": edit(
            "        self.w = Tensor(he",
            "        self.w = Conv2d.last = Tensor(he",
            "each @ self.w + self.b",
            "each @ Conv2d.last + self.b",
        ),
    },
    "10.7": {
        "border and turned exchanged": 'causes = {"A": 3, "B": 1, "C": 4, "D": 2}',
        "bias and layout exchanged": 'causes = {"A": 4, "B": 2, "C": 3, "D": 1}',
        "one of those that are not there": 'causes = {"A": 5, "B": 1, "C": 3, "D": 2}',
        "the windows are too far apart": 'causes = {"A": 4, "B": 1, "C": 6, "D": 2}',
        "in the order of the list": 'causes = {"A": 1, "B": 2, "C": 3, "D": 4}',
        "words": 'causes = {"A": "turned", "B": "bias", "C": "border", "D": "layout"}',
        "a list": "causes = [4, 1, 3, 2]",
        "three of four": 'causes = {"A": 4, "B": 1, "C": 3}',
    },
    "10.8": {
        "a and b exchanged": edit("for t in (condition, a, b)]", "for t in (condition, b, a)]"),
        "any condition will do": edit('condition.buf.dtype != "bool"', "False"),
        "the message does not help": edit(
            'f"where(condition, a, b) got a condition of {condition.buf.dtype}: "\n'
            '                "it has to be bool, and it comes first, as in where(x > 0, a, b)"',
            '"wrong type"',
        ),
        "by arithmetic": edit(
            'lookup("where", a.buf.dtype)(out, *[expand(t, shape) for t in (condition, a, b)])',
            "c = cast(expand(condition, shape), a.buf.dtype)\n"
            "        out = c * expand(a, shape) + (1 - c) * expand(b, shape)",
        ),
        "raises: the shape of a": edit(
            "shape = broadcast_shapes(condition.shape, broadcast_shapes(a.shape, b.shape))",
            "shape = a.shape",
        ),
        "the dtype of a": edit("a, b = alike((a, b))", "b = cast(b, a.buf.dtype)"),
        "gradients exchanged": edit(
            "(condition, g, nothing).apply(), Where(condition, nothing, g)",
            "(condition, nothing, g).apply(), Where(condition, g, nothing)",
        ),
        "both get everything": edit(
            "Where(condition, g, nothing).apply(), Where(condition, nothing, g).apply()", "g, g"
        ),
        "a gets everything": edit("Where(condition, g, nothing).apply()", "g"),
        "b gets nothing": edit("Where(condition, nothing, g).apply()", "nothing"),
        "raises: the gradients begin with the condition's": edit(
            "None, Where(condition, g, nothing).apply(), Where(condition, nothing, g).apply()",
            "Where(condition, g, nothing).apply(), Where(condition, nothing, g).apply(), None",
        ),
        "the condition is that of the Where made last": edit(
            "        a, b = alike((a, b))",
            "        Where.condition = condition\n        a, b = alike((a, b))",
            "condition, nothing = self.inputs[0], zeros(g.shape, g.buf.dtype)",
            "condition, nothing = Where.condition, zeros(g.shape, g.buf.dtype)",
        ),
    },
    "10.9": {
        "equals get it all": edit("            left = where(smaller, left, 0.0)\n", ""),
        "the last of equals": edit(
            "for i in range(size):\n        for j in range(size):",
            "for i in reversed(range(size)):\n        for j in reversed(range(size)):",
        ),
        "column by column": edit(
            "numbers[..., i, j]", "numbers[..., j, i]", "places[..., i, j]", "places[..., j, i]"
        ),
        "the smaller ones get it": edit(
            "where(smaller, 0.0, left)",
            "where(smaller, left, 0.0)",
            "left = where(smaller, left, 0.0)",
            "left = where(smaller, 0.0, left)",
        ),
        "everybody gets it": edit("where(smaller, 0.0, left)", "g"),
        "only the first place": edit("for j in range(size)", "for j in range(1)"),
        "1 in place of g": edit(
            "where(smaller, 0.0, left)", "where(smaller, 0.0, left * 0.0 + 1.0)"
        ),
        "shared among all": edit("where(smaller, 0.0, left)", "g * (1 / size**2)"),
        "windows overlap": edit(
            "slide(x, size, size), slide(out, size, size)",
            "[slide(t, size)[:, :, : z.shape[2], : z.shape[3]] for t in (x, out)]",
        ),
        "i and j exchanged at the end": edit("places[..., i, j]", "places[..., j, i]"),
        "larger than 0 is enough": edit(
            "z > numbers[..., i, j]", "Tensor(0.0) > numbers[..., i, j]"
        ),
        "g is changed": edit("    return out", "    add_(g, g)\n    return out"),
        "shaped like z": edit("return out", "return g"),
        "all equals take it": edit("            left = where(smaller, left, 0.0)\n", ""),
    },
    "10.10": {
        "too many numbers": edit(
            "Conv2d(8, 24, 5)", "Conv2d(8, 96, 5)", "Linear(384, 10)", "Linear(96 * 16, 10)"
        ),
        "the dense network": """
def reader():
    return Sequential(lambda pixels: pixels * (1 / 255), Flatten(), MLP(784, 128, 10))
""",
        "numbers in a closure": """
def reader():
    w = Tensor(glorot(784, 60), requires_grad=True)
    b = Tensor([0.0] * 60)
    last = Linear(60, 10)
    return Sequential(Flatten(), lambda x: (x * (1 / 255) @ w + b).relu(), last)
""",
        "numbers that nobody watches": """
def reader():
    first = Linear(784, 60)
    first.w.requires_grad = first.b.requires_grad = False
    return Sequential(Flatten(), lambda x: x * (1 / 255), first, Tensor.relu, Linear(60, 10))
""",
        "numbers made anew at each call": """
def reader():
    def wide(x):
        random.seed(0)
        return (x * (1 / 255)) @ Tensor(glorot(784, 60), requires_grad=True)

    return Sequential(Flatten(), wide, Tensor.relu, Linear(60, 10))
""",
        "nine scores": edit("Linear(384, 10)", "Linear(384, 9)"),
        "raises: the sizes do not fit": edit("Linear(384, 10)", "Linear(400, 10)"),
        "raises: no Flatten": edit("        Flatten(),\n", ""),
        "the bytes are not divided": edit("pixels * (1 / 255)", "pixels * 25.5"),
        "the same network each time": """
kept = []


def reader():
    if not kept:
        kept.append(Sequential(lambda x: x * (1 / 255), MaxPool2d(2), Flatten(), Linear(196, 10)))
    return kept[0]
""",
        "a layer that is not called": edit(
            "        Flatten(),",
            "        lambda x: x,\n        Flatten(),",
            "Conv2d(8, 24, 5)",
            "(lambda layer: lambda x: layer(x.detach()))(Conv2d(8, 24, 5))",
        ),
        "raises: softmax at the end, and one picture only": edit(
            "Linear(384, 10)", "lambda x: x.reshape(1, -1), Linear(384, 10)"
        ),
        "raises: a network, not a function that makes one": """
reader = Sequential(lambda x: x * (1 / 255), MaxPool2d(2), Flatten(), Linear(196, 10))
""",
        "no parameters": """
def reader():
    layers = [Flatten(), Linear(784, 10)]
    return lambda pixels: layers[1](layers[0](pixels) * (1 / 255))
""",
        "filters that are all 0": """
def reader():
    first = Conv2d(1, 8, 5)
    first.w.fill([0.0] * 200)
    return Sequential(lambda x: x * (1 / 255), first, MaxPool2d(2), Tensor.relu, Flatten(),
                      Linear(1152, 10))
""",
        "probabilities in place of scores": """
def reader():
    def probabilities(x):
        e = (x - x.detach().max(1).reshape(-1, 1)).exp()
        return e / e.sum(1).reshape(-1, 1)

    return Sequential(
        lambda pixels: pixels * (1 / 255),
        Conv2d(1, 8, 5),
        MaxPool2d(2),
        Tensor.relu,
        Conv2d(8, 24, 5),
        MaxPool2d(2),
        Tensor.relu,
        Flatten(),
        Linear(384, 10),
        probabilities,
    )
""",
    },
    "10.11": {
        "a number": "trained = 0.9926",
        "not trained": "trained = reader()",
        "the dense network": "trained = dense",
        "the dense network in a coat": """
class Coat(Module):
    def __init__(self):
        self.inside = lambda x: dense(x)

    def __call__(self, x):
        return self.inside(x)


deep = dense
trained = Coat()
trained.hidden = [deep]
""",
        "the test labels by heart": """
class ByHeart(Module):
    def __init__(self):
        self.at, self.b = 0, Tensor([0.0] * 10, requires_grad=True)

    def __call__(self, x):
        said = [test_labels[(self.at + i) % len(test_labels)] for i in range(x.shape[0])]
        self.at += x.shape[0]
        return Tensor([[float(k == label) for k in range(10)] for label in said]) + self.b


trained = ByHeart()
""",
        "always the same digit": """
class Always(Module):
    def __init__(self):
        self.b = Tensor([0.0] * 9 + [1.0], requires_grad=True)

    def __call__(self, x):
        return self.b.reshape(1, 10).expand(x.shape[0], 10) + 0.0


trained = Always()
""",
        "raises: the function that makes it": "trained = reader",
        "the list of its parameters": "trained = model.parameters()",
    },
    "10.s1": {
        "the filter is not turned": edit("w[:, :, ::-1, ::-1]", "w"),
        "turned one way only": edit("w[:, :, ::-1, ::-1]", "w[:, :, ::-1, :]"),
        "inputs and outputs exchanged": edit(
            "w[:, :, ::-1, ::-1].permute(0, 2, 3, 1).reshape(outputs * size * size, inputs)",
            "w[:, :, ::-1, ::-1].reshape(outputs * size * size, inputs)",
        ),
        "a border that is too small": edit("pad(g, size - 1)", "pad(g, size // 2)"),
        "channels last": edit(".permute(0, 3, 1, 2)", ""),
        "rows and columns exchanged": edit("permute(0, 2, 3, 1)", "permute(0, 3, 2, 1)"),
    },
    "10.s2": {
        "the sum over all channels": edit("sum((4, 5))", "sum((1, 4, 5))"),
        "the bias along the columns": edit("self.b.reshape(-1, 1, 1)", "self.b"),
        "one filter for all": edit(
            "self.w.T.reshape(-1, 1, 1, self.size, self.size)",
            "self.w.T.reshape(-1, 1, 1, self.size, self.size)[:1]",
        ),
        "weights in the wrong order": edit("self.w.T.reshape", "self.w.reshape"),
        "no padding": edit("pad(x, self.padding)", "x"),
        "the largest in place of the sum": edit("sum((4, 5))", "max((4, 5))"),
        "the size belongs to the class": edit(
            "self.size, self.padding = size, padding",
            "Depthwise.size, self.padding = size, padding",
        ),
    },
}
