"""The engine: what was calculated, walked backward."""

from contextlib import contextmanager

from .buffer import LIMITS
from .ops import Op, cast, run
from .tensor import Tensor, zeros


# ---- 05.7, yours


def record(op):
    """Run the op; let its result remember it where somebody may ask for a gradient."""
    out = run(op)
    if out.buf.dtype in LIMITS and any(x.requires_grad for x in op.inputs):
        out.op, out.requires_grad = op, True
    return out


# ---- 05.5, yours


def topological(root):
    """All tensors behind root that require grad, each before those it was made from."""
    order, seen = [], set()
    waiting = [(root, False)]
    while waiting:
        t, inputs_done = waiting.pop()
        if inputs_done:
            order.append(t)
        elif id(t) not in seen:
            seen.add(id(t))
            waiting.append((t, True))  # comes back when all behind it is listed
            if t.op:
                waiting += [(x, False) for x in t.op.inputs if x.requires_grad]
    return order[::-1]


# ---- 05.8, yours


def fit(g, x):
    """Undo broadcasting: where x was stretched, its gradient is the sum over the copies."""
    if g.shape != x.shape:
        new = len(g.shape) - len(x.shape)  # axes that x does not have
        sizes = [1] * new + list(x.shape)
        copied = [a for a, size in enumerate(sizes) if size == 1 and g.shape[a] != 1]
        g = g.sum(tuple(copied)).reshape(*x.shape)
    return cast(g, x.buf.dtype)


# ---- 05.9, yours


def collect(arrived, x, share):
    """Add a share of the gradient to what has arrived at x so far."""
    if x.requires_grad:
        share = fit(share, x)
        arrived[id(x)] = arrived[id(x)] + share if id(x) in arrived else share


# ---- 05.10, yours


class Engine:
    """Runs ops, keeps the graph, walks it backward."""

    recording = True

    def run(self, op):
        """Execute the op, and record it unless recording is switched off."""
        return record(op) if self.recording else run(op)

    def order(self, root):
        """All tensors of the graph behind root, each before those it was made from."""
        return topological(root)

    def backward(self, root, create_graph=False):
        """Add d root / d leaf to the grad of every leaf behind root."""
        if not root.requires_grad:
            raise ValueError("backward from a tensor that does not require grad")
        if root.numel() != 1:
            raise ValueError(f"backward from shape {root.shape}: sum() it first")
        before, self.recording = self.recording, create_graph
        try:
            arrived = {id(root): zeros(root.shape, root.buf.dtype) + 1}
            for t in self.order(root):
                g = arrived.pop(id(t))
                if t.op is None:
                    t.grad = g if t.grad is None else t.grad + g
                    continue
                for x, share in zip(t.op.inputs, t.op.backward(g), strict=True):
                    collect(arrived, x, share)
        finally:
            self.recording = before


# ---- chapter 5, given

engine = Engine()
Op.execute = staticmethod(engine.run)
Tensor.backward = lambda t, create_graph=False: engine.backward(t, create_graph)


# ---- 05.6, yours


def gradcheck(f, *inputs, eps=1e-6):
    """The largest difference between the engine's gradient of f(*inputs) and a measured slope."""
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
            slope = (above - below) / (2 * eps)
            worst = max(worst, abs(slope - g))
    return worst


# ---- 06.6, yours


@contextmanager
def no_grad():
    """A block in which nothing is recorded."""
    before, engine.recording = engine.recording, False
    try:
        yield
    finally:
        engine.recording = before


# ---- 06.9, yours


def register_hook(t, hook):
    """Show t's whole gradient to hook(g) as the walk passes; what it returns goes on instead."""
    if t.op is None:
        raise ValueError("a leaf has no op to listen to: its gradient is in .grad after the walk")
    backward = t.op.backward

    def heard(g):
        changed = hook(g)
        return backward(g if changed is None else changed)

    t.op.backward = heard


# ---- 06.4, yours


def hvp(f, x, v):
    """The Hessian of f at x, times v."""
    x.grad = None
    f(x).backward(create_graph=True)
    g, x.grad = x.grad, None
    (g * v).sum().backward()
    product, x.grad = x.grad, None
    return product
