def shares(make, source):
    """Whether the Buffer `make(source)` changes when `source` does."""
    buffer, old = make(source), source[0]
    before = buffer[0]
    source[0] = 1.0 if old != 1.0 else 2.0
    changed = buffer[0] != before
    source[0] = old
    return changed
