import copy
import random


class Checkpoint:
    """All that the next step depends on, as it is now."""

    def __init__(self, optimizer):
        self.random, self.parts = random.getstate(), copy.deepcopy(vars(optimizer))

    def restore(self, optimizer):
        random.setstate(self.random)
        for name, part in self.parts.items():
            if isinstance(part, list):
                for t, kept in zip(getattr(optimizer, name), part, strict=True):
                    t.buf.raw[:] = kept.buf.raw
            else:
                setattr(optimizer, name, part)
