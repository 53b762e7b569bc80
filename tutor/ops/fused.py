"""Fused ops: one kernel instead of a chain, where that is measurably faster or more precise.

Each must equal its composed form in tests/ops/test_ops.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tutor._storage.array_like import is_tensor
from tutor._util import checks
from tutor.core.engine import apply
from tutor.core.op import Op
from tutor.dtype import int64
from tutor.errors import DTypeError, ShapeError
from tutor.ops.reduce import Along


class Normalised(Along, abstract=True):
    """One operand, normalised along one axis."""

    saves, promotes, wants_float = ("out",), 0, True
    defaults: ClassVar[Mapping[str, Any]] = {"axis": -1}


class Softmax(Normalised):
    """z = e**x / sum e**x along axis, computed as e**(x - max) so that nothing overflows"""

    kernel = "softmax"

    def backward(self, g, z):
        return z * (g - (g * z).sum(axis=self.params["axis"], keepdims=True))


class LogSoftmax(Normalised):
    """z = x - ln sum e**x along axis"""

    kernel = "log_softmax"

    def backward(self, g, z):
        return g - z.exp() * g.sum(axis=self.params["axis"], keepdims=True)


class CrossEntropy(Op):
    """loss = ln sum_j e**x_j - x_t for each row of logits x and its target class t

    `CrossEntropy(x, t, reduction="mean")`: x (..., classes), t (...) integer; "mean" and "sum" give
    one number, "none" one per row. The gradient is softmax(x), minus 1 at the target.
    Raises OutOfRangeError for a target outside of 0 to classes - 1.
    """

    kernel, takes, saves = "cross_entropy", ("x", "t"), ("x", "t")
    defaults: ClassVar[Mapping[str, Any]] = {"reduction": "mean", "scale": None}

    def settle(self) -> None:
        (x, t), reduction = self.inputs, self.params["reduction"]
        t = t if is_tensor(t) else x.wrap(t)
        if not t.dtype.is_integer:
            raise DTypeError(
                f"cross_entropy with {t.dtype.name} targets",
                "a target is the number of a class",
                "give integer targets, for example .argmax(axis=-1) of one-hot rows",
            )
        scales = {"mean": 1 / max(t.numel(), 1), "sum": 1.0, "none": 1.0}
        checks.one_of("cross_entropy(reduction=...)", reduction, scales)
        if reduction == "mean" and not t.numel():
            raise ShapeError("the mean cross_entropy of no rows", f"logits {x.shape}", "give rows")
        self.params["scale"] = scales[reduction]
        self.inputs = (x if x.dtype.is_float else x.cast("float32"), t.cast(int64))

    def backward(self, g, x, t):
        each = apply("expand", g, shape=t.shape)
        return apply("cross_entropy_grad", x, t, each, scale=self.params["scale"]), None


class CrossEntropyGrad(Op):
    """z = scale * g * (softmax(x) - onehot(t)), row by row: the derivative of CrossEntropy"""

    kernel, takes, saves = "cross_entropy_grad", ("x", "t", "g"), ("x", "t", "g")

    def backward(self, h, x, t, g):
        p = x.softmax(axis=-1)
        scale = self.params["scale"]
        ph = (p * h).sum(axis=-1, keepdims=True)
        gx = p * (h - ph) * g.unsqueeze(-1) * scale
        at_target = h.gather(-1, t.unsqueeze(-1)).squeeze(-1)
        return gx, None, (ph.squeeze(-1) - at_target) * scale
