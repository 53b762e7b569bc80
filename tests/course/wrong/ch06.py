"""Wrong answers to the exercises of chapter 6, each a mistake that one makes."""

WRONG = {
    "06.1": {
        "a bool thought to be differentiable": """
flags = dict(a=True, b=False, c=True, d=True, e=True, f=False, g=True, h=False)
""",
        "no_grad thought to be contagious": """
flags = dict(a=True, b=False, c=True, d=False, e=True, f=False, g=False, h=False)
""",
        "detach thought to be temporary": """
flags = dict(a=True, b=False, c=True, d=False, e=True, f=False, g=True, h=True)
""",
        "numbers for answers": """
flags = dict(a=1, b=0, c=1, d=0, e=1, f=0, g=1, h=0)
""",
        "a list": """
flags = [True, False, True, False, True, False, True, False]
""",
    },
    "06.2": {
        "only the list was repaired": """
def fit_line(w, batches):
    total, smooth, history = 0.0, 0.0, []
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        w.fill([w.item() - 0.02 * w.grad.item()])
        w.grad = None
        total = loss + total
        smooth = loss * 0.1 + smooth * 0.9
        history.append(loss.item())
    return total / len(history), smooth, history
""",
        "the smoothed loss was overlooked": """
def fit_line(w, batches):
    total, smooth, history = 0.0, 0.0, []
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        w.fill([w.item() - 0.02 * w.grad.item()])
        w.grad = None
        total = loss.item() + total
        smooth = loss * 0.1 + smooth * 0.9
        history.append(loss.item())
    return total / len(history), smooth, history
""",
        "detached only at the end": """
def fit_line(w, batches):
    total, smooth, history = 0.0, 0.0, []
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        w.fill([w.item() - 0.02 * w.grad.item()])
        w.grad = None
        total = loss + total
        smooth = loss * 0.1 + smooth * 0.9
        history.append(loss)
    return (total / len(history)).item(), smooth.item(), [loss.item() for loss in history]
""",
        "the gradient forgotten together with the graph": """
def fit_line(w, batches):
    total, smooth, history = 0.0, 0.0, []
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        w.fill([w.item() - 0.02 * w.grad.item()])
        number = loss.item()
        total = number + total
        smooth = number * 0.1 + smooth * 0.9
        history.append(number)
    return total / len(history), smooth, history
""",
        "no list of losses": """
def fit_line(w, batches):
    total, smooth, n = 0.0, 0.0, 0
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        w.fill([w.item() - 0.02 * w.grad.item()])
        w.grad = None
        total, n = total + loss.item(), n + 1
        smooth = loss.item() * 0.1 + smooth * 0.9
    return total / n, smooth
""",
        "raises: detached before the walk": """
def fit_line(w, batches):
    total, smooth, history = 0.0, 0.0, []
    for x, y in batches:
        loss = ((w * x - y) ** 2).over((), (), 0)
        loss.backward()
        w.fill([w.item() - 0.02 * w.grad.item()])
        w.grad = None
        total = loss + total
        smooth = loss * 0.1 + smooth * 0.9
        history.append(loss)
    return total / len(history), smooth, history
""",
    },
    "06.3": {
        "relu earlier, still in place: the value changes": """
def block(x, w):
    h = x * w
    h.fill([max(value, 0.0) for value in h.values()])
    square = h * h
    return (square + h).sum()
""",
        "in place on a detached tensor: the same memory": """
def block(x, w):
    h = x * w
    square = h * h
    h.detach().fill([max(value, 0.0) for value in h.values()])
    return (square + h).sum()
""",
        "a copy without its history": """
def block(x, w):
    h = x * w
    square = h * h
    positive = Tensor([max(value, 0.0) for value in h.values()], dtype="float64")
    return (square + positive).sum()
""",
        "relu for both": """
def block(x, w):
    h = (x * w).relu()
    return (h * h + h).sum()
""",
    },
    "06.4": {
        "the first gradient still in x.grad": """
def hvp(f, x, v):
    f(x).backward(create_graph=True)
    (x.grad * v).sum().backward()
    return x.grad
""",
        "raises: no graph of the first walk": """
def hvp(f, x, v):
    x.grad = None
    f(x).backward()
    g, x.grad = x.grad, None
    (g * v).sum().backward()
    return x.grad
""",
        "v forgotten": """
def hvp(f, x, v):
    x.grad = None
    f(x).backward(create_graph=True)
    g, x.grad = x.grad, None
    g.sum().backward()
    return x.grad
""",
        "times v afterwards": """
def hvp(f, x, v):
    x.grad = None
    f(x).backward(create_graph=True)
    g, x.grad = x.grad, None
    g.sum().backward()
    return x.grad * v
""",
        "measured by small steps": """
def hvp(f, x, v):
    def gradient(numbers):
        t = Tensor(numbers, dtype="float64", requires_grad=True)
        f(t).backward()
        return t.grad
    ahead = gradient([a + 1e-5 * b for a, b in zip(x.values(), v.values())])
    behind = gradient([a - 1e-5 * b for a, b in zip(x.values(), v.values())])
    return (ahead - behind) * 5e4
""",
        "the old gradient added in": """
def hvp(f, x, v):
    f(x).backward(create_graph=True)
    g, x.grad = x.grad, None
    (g * v).sum().backward()
    product, x.grad = x.grad, None
    return g
""",
    },
    "06.5": {
        "a term is missing": """
class Swish(Op):
    def forward(self, x):
        return x / ((x * -1).exp() + 1)
    def backward(self, g):
        (x,) = self.inputs
        return (g / ((x * -1).exp() + 1),)
""",
        "the incoming gradient is forgotten": """
class Swish(Op):
    def forward(self, x):
        return x / ((x * -1).exp() + 1)
    def backward(self, g):
        (x,) = self.inputs
        s = 1 / ((x * -1).exp() + 1)
        return (s + x * s * (s * -1 + 1),)
""",
        "always float32": """
class Swish(Op):
    def forward(self, x):
        out = zeros(x.shape)
        out.fill([v / (1 + math.exp(-v)) for v in x.values()])
        return out
    def backward(self, g):
        (x,) = self.inputs
        s = 1 / ((x * -1).exp() + 1)
        return (g * (s + x * s * (1 - s)),)
""",
        "backward with plain numbers": """
class Swish(Op):
    def forward(self, x):
        return x / ((x * -1).exp() + 1)
    def backward(self, g):
        (x,) = self.inputs
        slopes = []
        for v in x.values():
            s = 1 / (1 + math.exp(-v))
            slopes.append(s + v * s * (1 - s))
        return (g * Tensor(Buffer(slopes, "float64"), x.shape),)
""",
        "the sign in the exponent": """
class Swish(Op):
    def forward(self, x):
        return x / (x.exp() + 1)
    def backward(self, g):
        (x,) = self.inputs
        s = 1 / (x.exp() + 1)
        return (g * (s - x * s * (s * -1 + 1)),)
""",
        "no tuple": """
class Swish(Op):
    def forward(self, x):
        return x / ((x * -1).exp() + 1)
    def backward(self, g):
        (x,) = self.inputs
        s = 1 / ((x * -1).exp() + 1)
        return g * (s + x * s * (s * -1 + 1))
""",
        "a function": """
def Swish(x):
    return x / ((x * -1).exp() + 1)
""",
    },
}
