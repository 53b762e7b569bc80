import math


def traffic(kernels, lines, results):
    """How many numbers all kernels read from memory and write to it."""
    sizes = {line.name: math.prod(line.shape) for line in lines}
    count = 0
    for kernel in kernels:
        made = {line.name for line in kernel}
        read = {name for line in kernel for name in line.inputs} - made
        elsewhere = {n for k in kernels if k is not kernel for line in k for n in line.inputs}
        written = made & (elsewhere | set(results))
        count += sum(sizes[name] for name in read | written)
    return count
