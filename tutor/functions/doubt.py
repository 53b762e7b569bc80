"""Does the derivative of a user's own op agree with its function?

The library's own ops are compared in its tests. An op that you write, as an Op or a Function, is
compared when its `backward` is first called: at that call's inputs, cut to at most 4 numbers along
each axis, in float64, moved a little so that they lie on no kink, and along one direction, with the
gradient's signs. That takes six forwards and one backward on that many numbers, once per class;
after that, its `backward` is what you wrote. A RuntimeWarning reports a difference of more than a
hundredth.

An inconclusive comparison gives no warning: the op cannot run on such inputs, gives another result
each time (noise, a count), has no float64 result or no finite one, or is not smooth there. The
comparison waits for a call that is neither recorded (`tutor.jit`), deferred (`tutor.lazy`) nor
watched. Its random numbers come from a stream of its own. `gradcheck = False` in a class, for an
estimator that differs on purpose, or `Op.gradcheck = False` for all classes, switches it off.
"""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from contextvars import ContextVar, copy_context
from typing import Any

from tutor._storage import bounds_checks
from tutor._util.callers import user_line
from tutor.backends.step import mode, watchers
from tutor.core.engine.casting import casting
from tutor.core.engine.grad_mode import recording
from tutor.core.op import Op
from tutor.core.op.catalogue import on_op
from tutor.core.op.edges import is_lost
from tutor.errors import GraphError
from tutor.functions.gradients import grad
from tutor.methods.tensor import Tensor
from tutor.random import Stream, drawing_from

SIDE, MOST = 4, 4096  # numbers along an axis; in all inputs, if they cannot be cut
STEP = 1e-4  # large enough to tolerate a float32 inside the op, as is ALIKE
ALIKE, SMOOTH = 1e-2, 1e-3

# True while an op is compared, so that comparisons do not nest; one for each thread and task.
busy: ContextVar[bool] = ContextVar("tutor.doubt", default=False)


def doubted(cls: type[Op]) -> None:
    """Have the first call of `cls.backward` compared, unless the class is the library's own."""
    if cls.__module__.partition(".")[0] == "tutor" or not cls.differentiable:
        return
    formula = getattr(cls.backward, "formula", cls.backward)  # a base class's may still be waiting

    @functools.wraps(formula)
    def backward(self: Op, g: Any, /, *saved: Any) -> Any:
        if cls.__dict__.get("backward") is backward:
            cls.backward = formula  # type: ignore[method-assign]
            done = not cls.gradcheck
            try:
                done = done or looked_at(self)
            except Warning:  # raised as an error: it has been reported
                done = True
                raise
            finally:
                if not done:  # postponed or interrupted
                    cls.backward = backward  # type: ignore[method-assign]
        return formula(self, g, *saved)

    backward.formula = formula  # type: ignore[attr-defined]
    cls.backward = backward  # type: ignore[method-assign]


def looked_at(op: Op) -> bool:
    """Compare `op`'s class, and warn of a difference. False if it has to wait for another call."""
    if busy.get() or bounds_checks.closed.get() or mode.get() is not None or watchers():
        return False
    found = copy_context().run(_apart, op)
    if found is not None:
        numeric, analytic = found
        error = GraphError(
            f"the first backward of {type(op).__name__}, compared with its forward in float64",
            f"along one direction it says {analytic:.6g}, the difference quotient {numeric:.6g}",
            "compare it with its formula, by tutor.testing.gradcheck; where it differs on purpose,"
            " as straight through a rounding, write gradcheck = False into the class",
        )
        warnings.warn_explicit(str(error), RuntimeWarning, *user_line())
    return True


def _apart(op: Op) -> tuple[float, float] | None:
    """Difference quotient and derivative if they differ, else None."""
    busy.set(True)
    recording.variable.set(True)
    casting.variable.set(None)
    for side in (SIDE, None):  # if cut sizes fail, the whole is tried
        count = sum(x.numel() for x in op.inputs)
        if side is None and count > MOST:
            break
        with contextlib.suppress(Exception):  # it cannot run on these: inconclusive
            return drawing_from(Stream(0), _slopes, op, side)
    return None


def _slopes(op: Op, side: int | None) -> tuple[float, float] | None:
    import random  # imported here, so that `import tutor` stays fast

    rng = random.Random(0)
    xs = [_beside(x, side, rng) for x in op.inputs]
    for x, needed in zip(xs, op.needs, strict=True):
        x.requires_grad = bool(needed)

    def run(by: float, ds: list[Any]) -> Any:
        moved = [x if d is None else x.detach() + d * by for x, d in zip(xs, ds, strict=True)]
        return Op.execute(type(op)(*moved, **op.params))

    still: list[Any] = [None] * len(xs)
    z = run(0, still)
    if z.dtype.name != "float64":
        return None
    w = _drawn(z.shape, rng)
    wanted = [i for i, x in enumerate(xs) if x.requires_grad]
    found = grad(z, [xs[i] for i in wanted], w, allow_unused=True)
    ds, analytic = list(still), 0.0
    for i, g in zip(wanted, found, strict=True):
        if g is not None:  # None is deliberate: no gradient flows there
            lot = _drawn(g.shape, rng)  # with g's signs where g is not 0, so that nothing cancels
            along = lot.abs() * g.sign() + lot * (g == 0).cast("float64")
            ds[i] = along * xs[i].detach().abs()  # 0 is never crossed
            analytic += (g * ds[i]).sum().item()

    def s(by: float) -> float:
        number: float = (run(by, ds).detach() * w).sum().item()
        return number

    here = (z.detach() * w).sum().item()
    near, far = ((s(h) - s(-h)) / (2 * h) for h in (STEP, 2 * STEP))
    floor = 1e-7 * (1 + abs(here))
    known = (here == s(0) and all(map(math.isfinite, (near, far, analytic)))
             and abs(near - far) <= SMOOTH * max(abs(near), analytic) + floor)  # fmt: skip
    if not known or abs(near - analytic) <= ALIKE * max(abs(near), analytic) + floor:
        return None
    return near, analytic


def _beside(x: Any, side: int | None, rng: Any) -> Any:
    """A leaf with some of x's numbers: floats in float64, each moved by up to a hundredth. If
    nobody has kept x's numbers, others."""
    if is_lost(x):
        shape = tuple([n if side is None else min(n, side) for n in x.shape])
        return _drawn(shape, rng).abs() if x.dtype.is_float else Tensor.zeros(shape, dtype=x.dtype)
    cut = x.detach().cpu()[(slice(0, side),) * x.ndim]
    if not cut.dtype.is_float:
        return cut.copy()
    cut = cut.cast("float64")
    size = cut.abs()
    return cut + _drawn(cut.shape, rng) * 0.01 * (size + (size == 0).cast("float64"))


def _drawn(shape: tuple[int, ...], rng: Any) -> Any:
    numbers = [rng.choice((-1, 1)) * rng.uniform(0.5, 1) for _ in range(math.prod(shape))]
    return Tensor(numbers, dtype="float64", device="cpu").reshape(shape)


on_op.provide(made=doubted)
