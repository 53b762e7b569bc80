class Registry:
    """Kernels, found by a name, a backend and a dtype."""

    def __init__(self):
        self.kernels = {}  # (name, backend, dtype) -> kernel
        self.backend = "python"  # the one in use

    def register(self, name, kernel, backend="python", dtypes=FORMATS):
        """Enter the kernel under that name, for these dtypes, on that backend."""
        for dtype in dtypes:
            self.kernels[name, backend, dtype] = kernel

    def lookup(self, name, dtype):
        """The kernel of that name for that dtype on the backend in use; LookupError if none."""
        key = name, self.backend, dtype
        if key not in self.kernels:
            there = ", ".join(f"{d} on {b}" for n, b, d in self.kernels if n == name)
            asked = f"no kernel {name!r} for {dtype} on {self.backend}"
            raise LookupError(f"{asked}; there is {there or 'none of that name'}")
        return self.kernels[key]
