def assign(t, key, value):
    """t[key] = value, for a number or a tensor that stretches to t[key]."""
    view = t[key]
    value = value if hasattr(value, "buf") else Tensor(value, dtype=t.buf.dtype)
    positions = view.positions()
    if len(set(positions)) < len(positions):
        raise ValueError(f"several elements of the view {view.shape} are one number in memory")
    view.fill(list(expand(value, view.shape).values()))  # all are read before one is written
