def register_hook(t, hook):
    """Show t's whole gradient to hook(g) as the walk passes; what it returns goes on instead."""
    if t.op is None:
        raise ValueError("a leaf has no op to listen to: its gradient is in .grad after the walk")
    backward = t.op.backward

    def heard(g):
        changed = hook(g)
        return backward(g if changed is None else changed)

    t.op.backward = heard
