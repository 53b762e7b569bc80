class Jit:
    """f, which takes tensors and gives one; recorded when it meets something new."""

    def __init__(self, f):
        self.f, self.programs = f, {}

    def __call__(self, *inputs):
        """f(*inputs), by a program where one fits."""
        key = tuple((t.shape, t.buf.dtype) for t in inputs)
        known = self.programs.setdefault(key, [])
        for program in known:
            result = replayed(program, inputs)
            if result is not None:
                return result
        known.append(traced(self.f, *inputs))
        return replayed(known[-1], inputs)
