def lift(f):
    """The kernel that puts f of the inputs' elements into each element of out."""

    def kernel(out, *ins):
        out.fill([f(*elements) for elements in zip(*[x.values() for x in ins], strict=True)])

    return kernel
