"""The engine: what was calculated, walked backward."""

from .buffer import LIMITS
from .ops import cast, run
from .tensor import zeros


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
