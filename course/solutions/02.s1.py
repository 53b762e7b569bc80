def view_strides(shape, strides, new):
    """The strides, as a tuple, that walk the same elements under the shape `new`, or None."""
    runs = []  # (size, stride): axes that one stride can walk, merged
    for size, stride in zip(shape, strides):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * stride:
            size *= runs.pop()[0]
        runs.append((size, stride))
    found = []
    for size in reversed(new):
        if size == 1:
            found.append(0)
            continue
        left, stride = runs.pop()
        if left % size:
            return None
        found.append(stride)
        if left != size:
            runs.append((left // size, stride * size))
    return tuple(reversed(found))
