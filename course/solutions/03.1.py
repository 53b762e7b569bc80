def full_key(key, ndim):
    """The key with an int or a slice for each of ndim axes, and every None: `...` written out."""
    key = key if isinstance(key, tuple) else (key,)
    missing = ndim - sum(k is not None and k is not ... for k in key)
    if missing < 0 or key.count(...) > 1:
        raise IndexError(f"{ndim - missing} indices and {key.count(...)} '...' for {ndim} axes")
    key = key if ... in key else (*key, ...)
    at = key.index(...)
    return (*key[:at], *[slice(None)] * missing, *key[at + 1 :])
