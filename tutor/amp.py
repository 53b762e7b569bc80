"""Mixed precision: products in 16 bits, weights and sums in 32 (Micikevicius et al. 2018).

    scaler = tutor.amp.GradScaler()
    with tutor.autocast("float16"):
        loss = model(x).cross_entropy(y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

`autocast` is in tutor/core/engine/casting.py, where the Engine uses it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tutor._storage import bounds_checks
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply
from tutor.core.engine.casting import autocast
from tutor.core.engine.grad_mode import no_grad
from tutor.dtype import bool_, float32, int64
from tutor.errors import DataError, DomainError, DTypeError
from tutor.methods.tensor import Tensor
from tutor.optim.limits import Limit, flag
from tutor.optim.optimizer import Optimizer, alike

__all__ = ["GradScaler", "autocast"]

SCALE = Limit("a finite number above 0", 0, math.inf, "both", "65536.0")
GROWTH = Limit("a finite number of 1 or more", 1, math.inf, "most", "2.0")
BACKOFF = Limit("a number above 0 and at most 1", 0, 1, "least", "0.5")


@spelled
class GradScaler:
    """Loss scaling: the loss is multiplied by `scale` before backward, and the gradients are
    divided by it afterwards, so that those below 6e-8, which float16 rounds to 0, survive
    (Micikevicius et al. 2018, "Mixed precision training", section 3.2).

    If a gradient is infinite or nan, `step` changes nothing, and `update` multiplies the scale by
    `backoff_factor`; after `growth_interval` steps without one, by `growth_factor`. All of this
    state is in cells, so it works in a function under tutor.jit. DomainError for factors out of
    range.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        of = "GradScaler with "
        start = SCALE.checked(f"{of}init_scale={init_scale!r}", init_scale)
        self.growth_factor = GROWTH.checked(f"{of}growth_factor={growth_factor!r}", growth_factor)
        asked = f"{of}backoff_factor={backoff_factor!r}"
        self.backoff_factor = BACKOFF.checked(asked, backoff_factor)
        if type(growth_interval) is not int or growth_interval < 1:
            raise DomainError(f"{of}growth_interval={growth_interval!r}", "it counts steps",
                              "use a whole number above 0, 2000 for example")  # fmt: skip
        self.growth_interval, self.enabled = growth_interval, flag(f"{of}enabled", enabled)
        self.cell = Tensor(start, dtype=float32, device="cpu")
        self.good = Tensor(0, dtype=int64, device="cpu")  # steps since the scale was changed
        self.found = Tensor(False, dtype=bool_, device="cpu")  # an infinite gradient, or nan?
        # By the optimizers' ids. tutor.jit finds and compares a dict's items: a step recorded
        # with unscaled gradients is not replayed on scaled ones, nor the other way round.
        self._unscaled: dict[int, bool] = {}

    def get_scale(self) -> float:
        """The current scale; 1 if not enabled."""
        return float(self.cell.item()) if self.enabled else 1.0

    def scale(self, loss: Tensor) -> Tensor:
        """loss * scale, in the loss's dtype: call backward() on it. Pass a loss in float32, as
        autocast gives: float16 ends at 65504, which the scale may exceed."""
        checks.tensor("GradScaler.scale(loss)", loss)
        return loss * self.cell.cast(loss.dtype) if self.enabled else loss

    @staticmethod
    def _checked(asked: str, optimizer: Any) -> None:
        if not isinstance(optimizer, Optimizer):
            raise DTypeError(asked, f"{checks.said(optimizer)} is no optimizer",
                             "give the one that moves what the loss was computed from")  # fmt: skip

    @no_grad()
    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in place; call it before
        clipping. DomainError if that was already done since the last update()."""
        self._checked("GradScaler.unscale_(optimizer)", optimizer)
        if not self.enabled:
            return
        if self._unscaled.get(id(optimizer)):
            raise DomainError("to unscale the gradients of an optimizer",
                              "they are unscaled already",
                              "call it once before step(), and update() after it")  # fmt: skip
        self._unscaled[id(optimizer)] = True
        for p in optimizer.params:
            if p.grad is not None:
                p.grad.mul_((1 / self.cell).cast(p.grad.dtype))
                finite = p.grad.isfinite().all()
                self.found.copy_(apply("bitwise_or", self.found, finite == False))  # noqa: E712

    @no_grad()
    def step(self, optimizer: Optimizer) -> None:
        """`optimizer.step()`, unless a gradient is infinite or nan; unscales first if necessary."""
        self._checked("GradScaler.step(optimizer)", optimizer)
        if not self.enabled:
            return optimizer.step()
        if not self._unscaled.get(id(optimizer)):
            self.unscale_(optimizer)
        if bounds_checks.closed.get() is None:
            return None if self.found.item() else optimizer.step()
        # Recorded: nothing can be read. The step is made, and undone if a gradient was not finite.
        kept = [optimizer.counts, *[p for p in optimizer.params if p.grad is not None]]
        kept += [t for tensors in optimizer.state.values() for t in tensors]
        before = [t.detach().copy() for t in kept]
        optimizer.step()
        for t, old in zip(kept, before, strict=True):
            t.assign(apply("where", self.found, old, t.detach()))

    @no_grad()
    def update(self) -> None:
        """Set the scale for the next step."""
        if not self.enabled:
            return
        good = apply("where", self.found, 0, self.good + 1)
        grows = good >= self.growth_interval
        grown = self.cell * self.growth_factor
        # An infinite scale would make every gradient infinite, and never recover.
        larger = apply("where", apply("bitwise_and", grows, grown.isfinite()), grown, self.cell)
        self.cell.assign(apply("where", self.found, self.cell * self.backoff_factor, larger))
        self.good.assign(apply("where", grows, 0, good))
        self.found.assign(False)
        self._unscaled.clear()

    def state_dict(self) -> dict[str, Any]:
        """`scale` and `good`, the steps since the scale changed: the Tensors in use, not copies."""
        return {"scale": self.cell, "good": self.good} if self.enabled else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load the result of `state_dict`. Anything else raises DataError and changes nothing."""
        own = self.state_dict()
        do = "load what state_dict() of a GradScaler gave"
        checks.state("to load a state into a GradScaler", state, do)
        fits = own.keys() == state.keys() and all(alike(t, state[n]) for n, t in own.items())
        if not fits or (own and not SCALE.allowed(state["scale"].item())):
            found = f"it has {', '.join(map(str, state)) or 'nothing'}"
            raise DataError("to load a state into a GradScaler", found, do)
        for name, t in own.items():
            t.assign(state[name])
