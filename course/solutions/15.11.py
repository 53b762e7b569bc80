class Arena:
    """Memory that is taken piece by piece, and given back all at once."""

    def __init__(self, memory):
        self.memory, self.used = memory, 0

    def take(self, nbytes):
        """The next bytes, from a multiple of 64 on; MemoryError where they do not fit."""
        start = -(-self.used // 64) * 64
        if start + nbytes > len(self.memory):
            raise MemoryError(f"{nbytes} bytes, of {len(self.memory) - start} that are left")
        self.used = start + nbytes
        return self.memory[start : self.used]

    def mark(self):
        """Where it is now, for reset."""
        return self.used

    def reset(self, mark):
        """Give back all that was taken since the mark."""
        if mark > self.used:
            raise ValueError("this mark lies behind what is taken: it was given back before")
        self.used = mark
