def reduction(f):
    """The kernel that puts f of each list of elements along `axis` into out."""

    def kernel(out, x, axis):
        kept = [a for a in range(len(x.shape)) if a not in axis]
        numbers = permute(x, [*kept, *axis]).values()
        out.fill([f(part) for part in parts(numbers, out.numel())])

    return kernel
