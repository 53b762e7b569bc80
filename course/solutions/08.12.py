def add_(t, change):
    """t += change, in place."""
    lookup("add", t.buf.dtype)(t, t, change)
