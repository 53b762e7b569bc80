"""Dropout: elements set to 0 at random, by words from a stream of random numbers."""

from __future__ import annotations

import math
from typing import Any

from tutor import random
from tutor._util import checks
from tutor.backends.registry import Operand
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.core.op.catalogue import KINDS
from tutor.dtype import uint64
from tutor.errors import ShapeError


class Dropout(Op):
    """z_i = x_i / (1 - p) where a random word is p * 2**32 or more, else 0

    No mask is saved, only the stream's position: the gradient draws the same words again. It is
    itself a dropout, since z is linear in x. `at` is such a position, seed and counter in a Tensor
    (2,) of uint64; None draws from the process's stream and advances it.
    """

    takes, defaults = ("x",), {"at": None}
    drawn: Any

    def settle(self):
        self.params["p"] = KINDS["p"]("dropout(p=...)", self.params["p"])
        at = self.params["at"]
        if at is None:
            return
        if (checks.tensor("dropout(at=...)", at).shape, at.dtype) != ((2,), uint64):
            raise ShapeError(
                f"dropout(at={at.dtype.name} of shape {at.shape})",
                "that is not where a stream stands",
                "give its seed and its counter: a Tensor (2,) of uint64",
            )

    def forward(self, x, *, p, at):
        here = random.stream().buf if at is None else Buffer.empty(2, uint64)
        stood = Operand(here, (2,), (1,), 0) if at is None else at
        self.drawn = x.over(Buffer.empty(2, uint64), (2,))  # by a kernel: a replay repeats it
        engine.call("copy", uint64, self.drawn, stood)
        if at is not None:  # drawing advances the counter; that of `at` must not change
            engine.call("copy", uint64, Operand(here, (2,), (1,), 0), self.drawn)
        cells = [Operand(here, (), (), i) for i in range(2)]
        out = x.over(Buffer.empty(math.prod(x.shape), x.buf.dtype, x.buf.device), x.shape)
        blocks, threshold = -(-math.prod(x.shape) // 4), math.ceil(p * 2**32)
        engine.call("dropout", x.buf.dtype, out, *cells, x, blocks=blocks, scale=1 / (1 - p),
                    threshold=threshold)  # fmt: skip
        return out

    def backward(self, g):
        return apply("dropout", g, p=self.params["p"], at=self.drawn)
