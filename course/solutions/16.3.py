def fuse(lines):
    """The lines as kernels, lists of lines, such that there are few of them."""
    kernels, place = [], {}
    for line in lines:
        if line.op in FREE:
            continue
        first = 0
        for other in lines:
            if other.name in line.inputs and other.name in place:
                joins = together(other, line)
                first = max(first, place[other.name] + (0 if joins else 1))
        at = len(kernels)
        if line.rows is not None:
            fits = [k for k in range(first, at) if kernels[k][0].rows == line.rows]
            at = min(fits, default=at)
        if at == len(kernels):
            kernels.append([])
        kernels[at].append(line)
        place[line.name] = at
    return kernels
