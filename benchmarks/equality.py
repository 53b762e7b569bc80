"""Results are compared before anything is timed: a program that may be wrong can be as fast as you
like, and the most common mistake of a benchmark is that the two sides do not do the same work.

Compared is the largest difference, as a fraction of the largest number in the rival's result. NumPy
computes it, or PyTorch where there is no NumPy, never tutor: nobody judges his own case.
"""

from __future__ import annotations

from typing import Any

from benchmarks import libraries
from tutor import Tensor
from tutor.dtype import bfloat16

# Results of different libraries are sums in different orders and functions within some ulp. 1e-5 of
# the largest number is far above what that makes, and far below what any mistake makes.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}


class ResultsDifferError(Exception):
    """Two libraries were asked for the same and gave something else."""


def tolerance(result: Any) -> float:
    """What is allowed for a result of this dtype; integers must be equal."""
    if isinstance(result, (list, tuple)):
        return max(tolerance(r) for r in result)
    if isinstance(result, Tensor):
        return TOLERANCE.get(result.dtype.name, 0.0)
    return TOLERANCE["float64"] if isinstance(result, float) else 0.0


def error(ours: Any, theirs: Any) -> float:
    """max |ours - theirs| / max |theirs|; 0 for equal nan and infinities, inf for other shapes."""
    if isinstance(ours, (list, tuple)):
        return max(error(a, b) for a, b in zip(ours, theirs, strict=True))
    xp, a, b = libraries.numpy or libraries.torch, _doubles(ours), _doubles(theirs)
    if tuple(a.shape) != tuple(b.shape):
        return float("inf")
    if 0 in a.shape:
        return 0.0
    same = (a == b) | (xp.isnan(a) & xp.isnan(b))
    difference = abs(xp.where(same, 0.0, a) - xp.where(same, 0.0, b)).max()
    scale = xp.where(xp.isfinite(b), abs(b), 0.0).max()
    ratio = float(difference / scale) if scale else float(difference)
    return ratio if ratio == ratio else float("inf")


def _doubles(x: Any) -> Any:
    """x as an array of float64 in the library that judges."""
    if libraries.torch is not None and isinstance(x, libraries.torch.Tensor):
        x = x.detach().double()
        return x if libraries.numpy is None else x.numpy()
    if isinstance(x, Tensor):
        x = x.detach()
        x = x.cast("float32") if x.dtype is bfloat16 else x
        if libraries.numpy is None:
            return libraries.torch.from_dlpack(x).double()
        x = x.numpy()
    if libraries.numpy is None:
        return libraries.torch.as_tensor(x).double()
    return libraries.numpy.asarray(x, dtype="float64")


def check(results: dict[str, Any], allowed: float | None = None) -> float:
    """The largest error of tutor's result against any other's. ResultsDifferError if too large.

    `allowed` is for work whose rounding errors add up over many steps.
    """
    ours = results["tutor"]  # which another way of tutor's own must give to the bit
    if allowed is None:
        allowed = tolerance(ours)
    worst = 0.0
    for name, theirs in results.items():
        if name != "tutor":
            found, limit = error(ours, theirs), 0.0 if name in libraries.ALSO else allowed
            if not found <= limit:
                raise ResultsDifferError(
                    f"tutor and {name} differ by {found:.2g}, allowed {limit:.2g}"
                )
            worst = max(worst, found)
    return worst
