"""The registry: which kernel does an op's work."""

from .buffer import FORMATS


# ---- 04.1, yours


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


# ---- chapter 4b, given

REGISTRY = Registry()
KERNELS = REGISTRY.kernels  # (name, backend, dtype) -> kernel


def register(name, kernel, backend="python", dtypes=FORMATS):
    """Enter the kernel of that name for these dtypes on that backend."""
    REGISTRY.register(name, kernel, backend, dtypes)


def lookup(name, dtype):
    """The kernel of that name for that dtype, on the backend in use."""
    return REGISTRY.lookup(name, dtype)


def use_backend(backend):
    """From here on, kernels are looked up there."""
    REGISTRY.backend = backend


# ---- chapter 4b, given, part 2

# Kind, signed or not, bits for the magnitude. (float64 has 53; it must do for all that meets it.)
SIZES = {
    "bool": (0, 0, 1), "uint8": (1, 0, 8), "int8": (1, 1, 7), "uint16": (1, 0, 16),
    "int16": (1, 1, 15), "uint32": (1, 0, 32), "int32": (1, 1, 31), "uint64": (1, 0, 64),
    "int64": (1, 1, 63), "float16": (2, 1, 11), "float32": (2, 1, 24), "float64": (2, 1, 64),
}  # fmt: skip


# ---- 04.3, yours


def promote(a, b):
    """The first dtype that holds all numbers of both."""
    needed = [max(pair) for pair in zip(SIZES[a], SIZES[b], strict=True)]
    for dtype, sizes in SIZES.items():
        if all(has >= need for has, need in zip(sizes, needed, strict=True)):
            return dtype


# ---- 04.11, yours


def beside(number, dtype):
    """The tensor's dtype, unless that is of a kind too poor for the number; then its own."""
    own = "float32"
    if isinstance(number, bool):
        own = "bool"
    elif isinstance(number, int):
        own = "int64"
    return dtype if SIZES[dtype][0] >= SIZES[own][0] else own
