"""Fused ops: one kernel in place of a chain, where that is measurably faster or more precise.

Each has its composed form in tests/ops/test_ops.py, which it must equal.
"""

from __future__ import annotations

from typing import Any

from tutor.core.engine import apply
from tutor.core.op import Op, Shape
from tutor.dtype import DType, int64
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.ground.literals import is_tensor
from tutor.ops.along import Along


class Normalised(Along, abstract=True):
    """One operand, normalised along one axis."""

    saves, promotes, wants_float = ("out",), 0, True

    def __init__(self, x: Any, *, axis: int = -1) -> None:
        super().__init__(x, axis=axis)

    def infer(self, x: Any, *, axis: int) -> tuple[Shape, DType]:
        return x.shape, x.buf.dtype


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


def check_targets(x: Any, t: Any) -> None:
    """Logits (..., classes) and integer targets (...)."""
    if not t.dtype.is_integer:
        raise DTypeError(
            f"cross_entropy with {t.dtype.name} targets",
            "a target is the number of a class",
            "give integer targets, for example .argmax(axis=-1) of one-hot rows",
        )
    if not x.shape or t.shape != x.shape[:-1]:
        raise ShapeError(
            f"cross_entropy of logits {x.shape} with targets {t.shape}",
            "there must be one target for each row of logits",
            f"logits (..., classes) go with targets {x.shape[:-1]}; reshape one of them",
        )


class CrossEntropy(Op):
    """loss = ln sum_j e**x_j - x_t for each row of logits x and its target class t

    `CrossEntropy(x, t, reduction="mean")`: x (..., classes), t (...) integer; "mean" and "sum" give
    one number, "none" one per row. The gradient is softmax(x) with 1 taken off at the target.
    Raises OutOfRangeError for a target outside of 0 to classes - 1.
    """

    kernel, saves = "cross_entropy", ("x", "t")

    def __init__(self, x: Any, t: Any, *, reduction: str = "mean") -> None:
        t = t if is_tensor(t) else x.wrap(t)
        x = x if x.dtype.is_float else x.cast("float32")
        check_targets(x, t)
        scales = {"mean": 1 / max(t.numel(), 1), "sum": 1.0, "none": 1.0}
        if reduction not in scales:
            raise DomainError(
                f"cross_entropy(reduction={reduction!r})",
                "no such reduction",
                "use 'mean', 'sum' or 'none'",
            )
        if reduction == "mean" and not t.numel():
            raise ShapeError("the mean cross_entropy of no rows", f"logits {x.shape}", "give rows")
        super().__init__(x, t.cast(int64), reduction=reduction, scale=scales[reduction])

    def infer(self, x, t, *, reduction, scale):
        return (t.shape if reduction == "none" else ()), x.buf.dtype

    def backward(self, g, x, t):
        each = apply("expand", g, shape=t.shape)
        return apply("cross_entropy_grad", x, t, each, scale=self.params["scale"]), None


class CrossEntropyGrad(Op):
    """z = scale * g * (softmax(x) - onehot(t)), row by row: the derivative of CrossEntropy"""

    kernel, saves = "cross_entropy_grad", ("x", "t", "g")

    def infer(self, x, t, g, *, scale):
        return x.shape, x.buf.dtype

    def backward(self, h, x, t, g):
        p = x.softmax(axis=-1)
        scale = self.params["scale"]
        ph = (p * h).sum(axis=-1, keepdims=True)
        gx = p * (h - ph) * g.unsqueeze(-1) * scale
        at_target = h.gather(-1, t.unsqueeze(-1)).squeeze(-1)
        return gx, None, (ph.squeeze(-1) - at_target) * scale
