class CacheModel:
    """A cache of `size` bytes: lines of `line` bytes, in sets of `ways` lines each."""

    def __init__(self, size, line=64, ways=8):
        self.line, self.ways, self.hits, self.misses = line, ways, 0, 0
        self.sets = [{} for _ in range(size // (line * ways))]

    def touch(self, address):
        """Whether the byte at this address is there; afterwards it is."""
        number = address // self.line
        lines = self.sets[number % len(self.sets)]  # the least recently used comes first
        hit = number in lines
        if hit:
            del lines[number]
            self.hits += 1
        else:
            self.misses += 1
            if len(lines) == self.ways:
                del lines[next(iter(lines))]
        lines[number] = True
        return hit
