"""The base class of ops along one axis."""

from __future__ import annotations

from typing import Any

from tutor._storage.layout import axis_of
from tutor.core.op import Op


class Along(Op, abstract=True):
    """An op along one axis of its first operand. A 0-d operand counts as a row of one, as in
    PyTorch, so it has the axes 0 and -1."""

    def settle(self) -> Any:
        x, *others = self.inputs
        self.params["axis"] = axis_of(self.params["axis"], len(x.shape) or 1)
        if x.shape:
            return None
        rows = [t if t.shape else t.reshape((1,)) for t in self.inputs]
        z = type(self)(*rows, **self.params).apply()
        return z.reshape(()) if not any(t.shape for t in others) else z
