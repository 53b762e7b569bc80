def select(t, key):
    """t[key] for ints, slices, None and ...: a view, no number moves."""
    shape, strides, offset, axis = [], [], t.offset, 0
    for k in full_key(key, len(t.shape)):
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        size, stride = t.shape[axis], t.strides[axis]
        if isinstance(k, slice):
            count, step, moved = sliced(size, stride, k)
            shape.append(count)
            strides.append(step)
            offset += moved
        elif -size <= k < size:
            offset += k % size * stride
        else:
            raise IndexError(f"index {k} on axis {axis}, which has size {size}")
        axis += 1
    return t.over(shape, strides, offset)
