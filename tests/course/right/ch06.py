"""Right answers to the exercises of chapter 6, written otherwise than ours."""

RIGHT = {
    "06.1": {
        "by dict(...)": """
flags = dict(h=False, g=True, f=False, e=True, d=False, c=True, b=False, a=True)
""",
    },
    "06.2": {
        "detached in each place": """
def fit_line(w, batches):
    total, smooth, history = 0.0, 0.0, []
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        w.fill([w.item() - 0.02 * w.grad.item()])
        w.grad = None
        total = loss.detach() + total
        smooth = loss.detach() * 0.1 + smooth * 0.9
        history.append(loss.detach())
    return total / len(history), smooth, history
""",
        "computed from the history at the end": """
def fit_line(w, batches):
    history = []
    for x, y in batches:
        error = w * x - y
        loss = error * error
        loss.backward()
        with no_grad():
            w.fill([(w - w.grad * 0.02).item()])
        w.grad = None
        history.append(loss.item())
    smooth = 0.0
    for loss in history:
        smooth = loss * 0.1 + smooth * 0.9
    return sum(history) / len(history), smooth, history
""",
    },
    "06.3": {
        "a new name": """
def block(x, w):
    h = x * w
    square = h * h
    positive = h.relu()
    return (square + positive).sum()
""",
        "relu by a mask": """
def block(x, w):
    h = x * w
    return (h * h).sum() + (h * (h > 0)).sum()
""",
    },
    "06.4": {
        "with a helper": """
def hvp(f, x, v):
    def gradient(y, again):
        x.grad = None
        y.backward(create_graph=again)
        found = x.grad
        x.grad = None
        return found

    return gradient((gradient(f(x), True) * v).sum(), False)
""",
    },
    "06.5": {
        "number by number, and the slope from the result": """
import math


class Swish(Op):
    def forward(self, x):
        out = zeros(x.shape, x.buf.dtype)
        out.fill([v / (1 + math.exp(-v)) for v in x.values()])
        return out

    def backward(self, g):
        x = self.inputs[0]
        s = ((x * -1).exp() + 1) ** -1.0
        y = x * s
        return [g * (y + s * (1 - y))]
""",
        "what forward found is kept in the object": """
class Swish(Op):
    def forward(self, x):
        self.gate = 1 / ((-x).exp() + 1)
        return x * self.gate

    def backward(self, g):
        x = self.inputs[0]
        gate = 1 / ((-x).exp() + 1)
        return [g * gate * (x * (1 - gate) + 1)]
""",
        "number by number, in the dtype of x": """
import math


class Swish(Op):
    def forward(self, x):
        numbers = [v / (1 + math.exp(-v)) for v in x.values()]
        return Tensor(Buffer(numbers, x.buf.dtype), x.shape)

    def backward(self, g):
        (x,) = self.inputs
        s = ((-x).exp() + 1) ** -1.0
        return (g * s * (1 + x * (1 - s)),)
""",
    },
    "06.6": {
        "a class": """
class no_grad:
    def __enter__(self):
        self.before = engine.recording
        engine.recording = False

    def __exit__(self, *error):
        engine.recording = self.before
""",
    },
    "06.7": {
        "a Tensor of one's own": """
def detach(t):
    return Tensor(t.buf, t.shape, t.strides, t.offset)
""",
        "recording switched off around a view": """
def detach(t):
    d = t.over(tuple(t.shape), tuple(t.strides), t.offset)
    d.op, d.requires_grad = None, False
    return d
""",
    },
    "06.8": {
        "versions by position, and a list of what has changed": """
class Watchful(Engine):
    def run(self, op):
        out = super().run(op)
        op.versions = {i: version(x.buf) for i, x in enumerate(op.inputs)}
        return out

    def changed(self, root):
        found = []
        for t in self.order(root):
            for i, x in enumerate(t.op.inputs if t.op else []):
                if version(x.buf) > t.op.versions[i]:
                    found.append(type(t.op).__name__)
        return found

    def backward(self, root, create_graph=False):
        names = self.changed(root)
        if names:
            raise ValueError("changed after use by " + ", ".join(names))
        Engine.backward(self, root, create_graph=create_graph)
""",
    },
    "06.9": {
        "hooks in a list": """
def register_hook(t, hook):
    if t.op is None:
        raise ValueError("t is a leaf")
    op = t.op
    if not hasattr(op, "hooks"):
        op.hooks, op.plain = [], op.backward

        def listening(g):
            for each in op.hooks:
                other = each(g)
                if other is not None:
                    g = other
            return op.plain(g)

        op.backward = listening
    op.hooks.append(hook)
""",
    },
    "06.s1": {
        "the op itself is emptied": """
class Freeing(Engine):
    def backward(self, root, create_graph=False, retain_graph=False):
        ops = [t.op for t in self.order(root) if t.op is not None]
        if any(getattr(op, "gone", False) for op in ops):
            raise ValueError("a second walk")
        super().backward(root, create_graph)
        if create_graph or retain_graph:
            return
        for op in ops:
            op.gone, op.inputs = True, []
""",
    },
    "06.s2": {
        "leaves of its own": """
def recomputed(f, *inputs):
    class Block(Op):
        def forward(self, *xs):
            with no_grad():
                return f(*xs)

        def backward(self, g):
            copies = []
            for x in self.inputs:
                copy = Tensor(x.buf, x.shape, x.strides, x.offset, requires_grad=x.requires_grad)
                copies.append(copy)
            was = engine.recording
            engine.recording = True
            y = f(*copies)
            out = (y * g).sum()
            engine.recording = was
            out.backward()
            return [copy.grad for copy in copies]

    return Block(*inputs).apply()
""",
    },
}
