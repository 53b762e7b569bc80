"""Wrong answers to the exercises of chapter 6, each a mistake that one makes."""

from wrong import edit

WRONG = {
    "06.1": {
        "a bool thought to be differentiable": edit('"d": False', '"d": True'),
        "no_grad thought to be contagious": edit('"g": True', '"g": False'),
        "detach thought to be temporary": edit('"h": False', '"h": True'),
        "a wish thought to be the default": edit('"b": False', '"b": True'),
        "no_grad thought to hide results only": edit('"f": False', '"f": True'),
        "through a bool no gradient can pass": edit('"e": True', '"e": False'),
        "numbers for answers": """
flags = dict(a=1, b=0, c=1, d=0, e=1, f=0, g=1, h=0)
""",
        "a list": """
flags = [True, False, True, False, True, False, True, False]
""",
    },
    "06.2": {
        "only the list was repaired": edit(
            "total = number + total",
            "total = loss + total",
            "smooth = number * 0.1 + smooth * 0.9",
            "smooth = loss * 0.1 + smooth * 0.9",
        ),
        "only the sum was repaired": edit(
            "smooth = number * 0.1 + smooth * 0.9",
            "smooth = loss * 0.1 + smooth * 0.9",
            "history.append(number)",
            "history.append(loss)",
        ),
        "the smoothed loss was overlooked": edit(
            "smooth = number * 0.1 + smooth * 0.9", "smooth = loss * 0.1 + smooth * 0.9"
        ),
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
        "the gradient forgotten together with the graph": edit("        w.grad = None\n", ""),
        "w becomes a result of the steps": edit(
            "w.fill([w.item() - 0.02 * w.grad.item()])\n        w.grad = None",
            "w = (w - w.grad * 0.02).detach()\n        w.requires_grad = True",
        ),
        "the last loss instead of the mean": edit("total / len(history)", "number"),
        "the sum instead of the mean": edit("total / len(history)", "total"),
        "the smoothing the wrong way round": edit(
            "number * 0.1 + smooth * 0.9", "number * 0.9 + smooth * 0.1"
        ),
        "returns after the first batch": edit(
            "    return total / len(history)", "        return total / len(history)"
        ),
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
        "raises: detached before the walk": edit(
            "loss = (w * x - y) ** 2", "loss = ((w * x - y) ** 2).detach()"
        ),
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
        "computed where nothing is recorded": """
def block(x, w):
    h = x * w
    with no_grad():
        positive = h.relu()
    return (h * h + positive).sum()
""",
        "relu for both": edit("    h = x * w\n", "    h = (x * w).relu()\n"),
        "relu left out": edit("h.relu()", "h"),
        "the square detached": edit("(h * h +", "(h.detach() * h.detach() +"),
        "half of the square's gradient": edit("(h * h +", "(h * h.detach() +"),
        "no sum": edit(".sum()", ""),
        "x changed instead of h": """
def block(x, w):
    h = x * w
    out = (h * h + h.relu()).sum()
    x.fill([max(value, 0.0) for value in x.values()])
    return out
""",
    },
    "06.4": {
        "the first gradient still in x.grad": edit("g, x.grad = x.grad, None", "g = x.grad"),
        "raises: no graph of the first walk": edit("create_graph=True", ""),
        "v forgotten": edit("(g * v).sum()", "g.sum()"),
        "times v afterwards": edit(
            "(g * v).sum()", "g.sum()", "return product", "return product * v"
        ),
        "v in the second place only: the gradient itself": edit("return product", "return g"),
        "the gradient times v": edit("return product", "return g * v"),
        "the product is left in x.grad": edit("product, x.grad = x.grad, None", "product = x.grad"),
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
        "x moved along v": """
def hvp(f, x, v):
    x.fill([a + b for a, b in zip(x.values(), v.values())])
    x.grad = None
    f(x).backward()
    return x.grad
""",
        "numbers instead of a tensor": edit("return product", "return product.tolist()"),
    },
    "06.5": {
        "a term is missing": edit("(g * (s + x * s * (1 - s)),)", "(g * s,)"),
        "the incoming gradient is forgotten": edit(
            "(g * (s + x * s * (1 - s)),)", "(s + x * s * (1 - s),)"
        ),
        "x is forgotten": edit("s + x * s * (1 - s)", "s + s * (1 - s)"),
        "the sign of the second term": edit("s + x * s * (1 - s)", "s - x * s * (1 - s)"),
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
        "in place": """
class Swish(Op):
    def forward(self, x):
        x.fill([v / (1 + math.exp(-v)) for v in x.values()])
        return x.over(x.shape, x.strides, x.offset)
    def backward(self, g):
        (x,) = self.inputs
        s = 1 / ((-x).exp() + 1)
        return (g * (s + x * s * (1 - s)),)
""",
        "no tuple": edit("(g * (s + x * s * (1 - s)),)", "g * (s + x * s * (1 - s))"),
        "a function": """
def Swish(x):
    return x / ((x * -1).exp() + 1)
""",
        "one's own recording": """
class Swish(Op):
    def forward(self, x):
        return x * (1 / ((-x).exp() + 1))
    def apply(self):
        (x,) = self.inputs
        return x * (1 / ((-x).exp() + 1))
    def backward(self, g):
        (x,) = self.inputs
        s = 1 / ((-x).exp() + 1)
        return (g * (s + x * s * (1 - s)),)
""",
        "raises: s is kept in the class, by forward": edit(
            "        return x / ((-x).exp() + 1)",
            "        Swish.s = 1 / ((-x).exp() + 1)\n        return x * Swish.s",
            "        s = 1 / ((-x).exp() + 1)\n",
            "        s = Swish.s\n",
        ),
        "float64 whatever x is": edit(
            "        return x / ((-x).exp() + 1)",
            "        out = [v / (math.exp(-v) + 1) for v in x.values()]\n"
            "        return Tensor(Buffer(out, 'float64'), x.shape)",
            "class Swish(Op):",
            "import math\n\n\nclass Swish(Op):",
        ),
        "rows of memory, whatever walk x takes": edit(
            "        return x / ((-x).exp() + 1)",
            "        out = [v / (math.exp(-v) + 1) for v in x.buf.read(0, "
            "x.numel())]\n"
            "        return Tensor(Buffer(out, x.buf.dtype), x.shape)",
            "class Swish(Op):",
            "import math\n\n\nclass Swish(Op):",
        ),
    },
    "06.6": {
        "off for good": edit("        engine.recording = before", "        pass"),
        "always on afterwards": edit("engine.recording = before", "engine.recording = True"),
        "errors leave it off": """
from contextlib import contextmanager

@contextmanager
def no_grad():
    before, engine.recording = engine.recording, False
    yield
    engine.recording = before
""",
        "errors are swallowed": edit(
            "    finally:\n", "    except ZeroDivisionError:\n        pass\n    finally:\n"
        ),
        "on instead of off": edit("= engine.recording, False", "= engine.recording, True"),
        "nothing is switched": edit(
            "before, engine.recording = engine.recording, False", "before = engine.recording"
        ),
        "turned over": edit(
            "= engine.recording, False", "= engine.recording, not engine.recording"
        ),
        "another name": edit(
            "before, engine.recording = engine.recording, False",
            "before, recording = engine.recording, False",
        ),
        "one memory for all blocks": """
class no_grad:
    before = True
    def __enter__(self):
        no_grad.before, engine.recording = engine.recording, False
    def __exit__(self, *error):
        engine.recording = no_grad.before
        no_grad.before = False
""",
        "raises: no context manager": """
def no_grad():
    before, engine.recording = engine.recording, False
    yield
    engine.recording = before
""",
    },
    "06.7": {
        "t itself, changed": """
def detach(t):
    t.op, t.requires_grad = None, False
    return t
""",
        "t itself": """
def detach(t):
    return t
""",
        "a copy": """
def detach(t):
    copy = zeros(t.shape, t.buf.dtype)
    copy.fill(list(t.values()))
    return copy
""",
        "strides as if contiguous": edit("t.strides", "strides_for(t.shape)"),
        "offset 0": edit("t.offset", "0"),
        "the wish is kept": edit(
            "return t.over(t.shape, t.strides, t.offset)",
            "d = t.over(t.shape, t.strides, t.offset)\n    d.requires_grad = t.requires_grad\n"
            "    return d",
        ),
        "the op is kept": edit(
            "return t.over(t.shape, t.strides, t.offset)",
            "d = t.over(t.shape, t.strides, t.offset)\n    d.op = t.op\n    return d",
        ),
        "a result of an op": """
def detach(t):
    return t.reshape(*t.shape)
""",
        "no return": edit("return t.over", "t.over"),
        "flat": edit("t.over(t.shape, t.strides, t.offset)", "Tensor(t.buf)"),
    },
    "06.8": {
        "only root's own op": edit("for t in self.order(root):", "for t in [root]:"),
        "only the first input": edit(
            "op.versions = [version(x.buf) for x in op.inputs]",
            "op.versions = [version(x.buf) for x in op.inputs[:1]]",
            "t.op.versions != [version(x.buf) for x in t.op.inputs]",
            "t.op.versions != [version(x.buf) for x in t.op.inputs[:1]]",
        ),
        "only the last input": edit(
            "op.versions = [version(x.buf) for x in op.inputs]",
            "op.versions = [version(x.buf) for x in op.inputs[-1:]]",
            "t.op.versions != [version(x.buf) for x in t.op.inputs]",
            "t.op.versions != [version(x.buf) for x in t.op.inputs[-1:]]",
        ),
        "the output is watched": edit(
            "op.versions = [version(x.buf) for x in op.inputs]",
            "op.versions = version(out.buf)",
            "t.op.versions != [version(x.buf) for x in t.op.inputs]",
            "t.op.versions != version(t.buf)",
        ),
        "raises: any change ever is refused": edit(
            "t.op.versions != [version(x.buf) for x in t.op.inputs]",
            "any(version(x.buf) > 1 for x in t.op.inputs)",
        ),
        "looks after the walk": """
class Watchful(Engine):
    def run(self, op):
        out = super().run(op)
        op.versions = [version(x.buf) for x in op.inputs]
        return out
    def backward(self, root, create_graph=False):
        super().backward(root, create_graph)
        for t in self.order(root):
            if t.op and t.op.versions != [version(x.buf) for x in t.op.inputs]:
                raise ValueError(f"an input of {type(t.op).__name__} was changed after it was used")
""",
        "no name": edit("an input of {type(t.op).__name__}", "an input"),
        "another error": edit("raise ValueError", "raise RuntimeError"),
        "it only says so": edit("raise ValueError(", "print("),
        "it does not walk": edit("        super().backward(root, create_graph)", ""),
        "create_graph is lost": edit(
            "super().backward(root, create_graph)", "super().backward(root)"
        ),
        "returns after the first op": edit(
            "                raise", "                return\n                raise"
        ),
        "the numbers compared": """
class Watchful(Engine):
    def run(self, op):
        out = super().run(op)
        op.versions = [x.tolist() for x in op.inputs]
        return out
    def backward(self, root, create_graph=False):
        for t in self.order(root):
            if t.op and t.op.versions != [x.tolist() for x in t.op.inputs]:
                raise ValueError(f"an input of {type(t.op).__name__} was changed after it was used")
        super().backward(root, create_graph)
""",
        "run forgets the result": edit("        return out", "        return None"),
    },
    "06.9": {
        "what it returns is lost": """
def register_hook(t, hook):
    if t.op is None:
        raise ValueError("a leaf has no op to listen to")
    backward = t.op.backward
    def heard(g):
        hook(g)
        return backward(g)
    t.op.backward = heard
""",
        "raises: None goes on, too": edit("g if changed is None else changed", "changed"),
        "the backward of before is lost": edit(
            "return backward(g if changed is None else changed)",
            "return type(t.op).backward(t.op, g if changed is None else changed)",
        ),
        "shown after, not before": """
def register_hook(t, hook):
    if t.op is None:
        raise ValueError("a leaf has no op to listen to")
    backward = t.op.backward
    def heard(g):
        shares = backward(g)
        changed = hook(shares[0])
        return shares if changed is None else (changed, *shares[1:])
    t.op.backward = heard
""",
        "for the whole class": edit(
            "t.op.backward = heard", "type(t.op).backward = lambda op, g: heard(g)"
        ),
        "raises: called at once": edit(
            "    t.op.backward = heard", "    hook(t.grad)\n    t.op.backward = heard"
        ),
        "called twice": edit("changed = hook(g)", "hook(g)\n        changed = hook(g)"),
        "added instead of exchanged": edit(
            "g if changed is None else changed", "g if changed is None else g + changed"
        ),
        "leaves are let through": edit(
            'raise ValueError("a leaf has no op to listen to: its gradient is in .grad after'
            ' the walk")',
            "return",
        ),
        "the name of the op's class is asked": edit("if t.op is None:", "if not t.requires_grad:"),
    },
    "06.s1": {
        "nothing is freed": edit("if not (retain_graph or create_graph):", "if False:"),
        "retain_graph is ignored": edit(
            "if not (retain_graph or create_graph):", "if not create_graph:"
        ),
        "raises: create_graph frees, too": edit(
            "if not (retain_graph or create_graph):", "if not retain_graph:"
        ),
        "results become leaves": edit("t.op = Freed()", "t.op = None"),
        "only the root is freed": edit("for t in passed:", "for t in passed[:1]:"),
        "freed, and the wish as well": edit(
            "t.op = Freed()", "t.op, t.requires_grad = Freed(), False"
        ),
        "freed before the walk": """
class Freeing(Engine):
    def backward(self, root, create_graph=False, retain_graph=False):
        passed = [t for t in self.order(root) if t.op]
        if not (retain_graph or create_graph):
            for t in passed:
                t.op = None
        super().backward(root, create_graph)
""",
    },
    "06.s2": {
        "just f": """
def recomputed(f, *inputs):
    return f(*inputs)
""",
        "without a history": """
def recomputed(f, *inputs):
    with no_grad():
        return f(*inputs)
""",
        "the incoming gradient is forgotten": edit(
            '(self.params["f"](*inputs) * g).sum()', 'self.params["f"](*inputs).sum()'
        ),
        "recording is left on": edit(
            "        finally:\n            engine.recording = before",
            "        finally:\n            pass",
        ),
        "the inputs themselves, so leaves get it twice": edit(
            "        inputs = [x.detach() for x in self.inputs]\n", "        inputs = self.inputs\n"
        ),
        "raises: recording is not switched on": edit(
            "before, engine.recording = engine.recording, True", "before = engine.recording"
        ),
        "raises: only the first gradient": edit(
            "return tuple(x.grad for x in inputs)",
            "return (inputs[0].grad, *[None] * (len(inputs) - 1))",
        ),
    },
}
