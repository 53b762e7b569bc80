class Registry:
    """Functions, found by a name and a dtype."""

    def __init__(self):
        self.table = {}

    def register(self, name, function, dtypes):
        """Enter the function under that name for these dtypes."""
        for dtype in dtypes:
            self.table[name, dtype] = function

    def lookup(self, name, dtype):
        """The function of that name for that dtype; LookupError if there is none."""
        if (name, dtype) not in self.table:
            there = ", ".join(d for n, d in self.table if n == name) or "no dtype at all"
            raise LookupError(f"no {name!r} for {dtype}; it is there for {there}")
        return self.table[name, dtype]
