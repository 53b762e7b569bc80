def named(key, ndim):
    """key as a tuple with an int or a slice for each of ndim axes, and every None."""
    key = key if isinstance(key, tuple) else (key,)
    missing = ndim - sum(k is not None and k is not ... for k in key)
    if missing < 0 or key.count(...) > 1:
        raise IndexError(f"{key} names too much for {ndim} axes")
    key = key if ... in key else (*key, ...)
    at = key.index(...)
    return (*key[:at], *[slice(None)] * missing, *key[at + 1 :])
