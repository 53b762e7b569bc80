import math


def lives(kernels, results):
    """{name: (bytes, first kernel, last kernel)} for what has to be in memory."""
    found = {}
    for k, kernel in enumerate(kernels):
        for line in kernel:
            uses = [j for j, other in enumerate(kernels) for o in other if line.name in o.inputs]
            if line.name in results:
                uses.append(len(kernels) - 1)
            last = max(uses, default=k)
            if last > k or line.name in results:
                found[line.name] = (4 * math.prod(line.shape), k, last)
    return found
