"""Walks: the parameters' hooks, and what they do with each gradient.

A plain training loop, `loss = model(x).cross_entropy(y); loss.backward()`, does not say how many
rows there were or when all gradients are computed. So the model's result is watched: when its
gradient arrives, the rows of that call are counted. Each parameter's gradient then goes into its
bucket; the rest is done after the walk (tutor.core.engine.grad_mode.following).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tutor._storage import bounds_checks
from tutor._util.context_settings import Setting
from tutor.core.engine.grad_mode import following
from tutor.distributed.leaves import Sums
from tutor.distributed.ranks import size
from tutor.distributed.reduction import ReductionRound, Result
from tutor.distributed.statistics import BatchStatistics
from tutor.errors import DomainError
from tutor.methods.tensor import Tensor
from tutor.nn.parts import named_tensors

Listener = Callable[[int, Tensor], None]  # gets the index of a parameter and its gradient


class RunningBackward(NamedTuple):
    """A loss.backward() in progress."""

    after: list[Callable[[], object]]  # to run after this walk, which it identifies
    current: ReductionRound
    before: dict[int, Tensor | None]  # each .grad that this walk adds to


class Walks:
    """The parameters of a model, and the gradients that arrive for them."""

    reduces: Setting[bool] = Setting("tutor.distributed.reduces", True)

    def __init__(
        self, params: list[Tensor], buckets: list[list[int]], state: Sequence[Tensor]
    ) -> None:
        self.params, self.buckets = params, buckets
        self.statistics = BatchStatistics(state)
        self.listener: Listener | None = None  # None: of_a_loss, avoiding a reference cycle
        self.walk: RunningBackward | None = None
        self.rows: float | None = None  # seen since the last reduction
        self.apart = False  # whether .grad holds gradients that were not reduced
        self.waited = 0.0
        self.hooks: list[Callable[[Tensor], None]] = []
        self.listen()

    def round(self) -> ReductionRound:
        return ReductionRound(self.params, self.buckets, self.statistics)

    def write(self, before: Sequence[Tensor | None], result: Result | None) -> None:
        """Set each `.grad` to its earlier value plus the gradient in `result`."""
        found = result.gradients if result else [None] * len(before)
        for p, old, new in zip(self.params, before, found, strict=True):
            p._grad = old if new is None else new if old is None else old + new
        self.waited += result.waited if result else 0.0

    def listen(self) -> None:
        """Register the hooks again, last, so that they see the results of users' hooks."""
        if not self.hooks:
            self.hooks = [_Arrived(self, i) for i in range(len(self.params))]
        for p, hook in zip(self.params, self.hooks, strict=True):
            others: list[Any] = getattr(p, "_hooks", [])
            if not others or others[-1] is not hook:
                if hook in others:
                    others.remove(hook)
                p.register_hook(hook)

    # ---- who listens -----------------------------------------------------------------------------

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Ignore gradients in this block."""
        self.listener = _pass
        try:
            yield
        finally:
            self.listener = None

    @contextmanager
    def listening(self, current: ReductionRound | None) -> Iterator[None]:
        """Pass gradients to a round, if there is one, in this block."""
        self.listener = functools.partial(_hand_on, current) if current else _pass
        try:
            yield
        finally:
            self.listener = _pass

    def refuse_apart(self) -> None:
        """DomainError where `.grad` is this rank's own, not a reduced gradient."""
        self.apart = self.apart and any(p._grad is not None for p in self.params)
        if self.apart or not self.reduces.get():
            raise DomainError(
                "DataParallel.backward() " + ("after" if self.apart else "within") + " no_sync()",
                "it reduces the gradients of its own batch, not what .grad has of others",
                "for a batch that is too large for the memory give DataParallel more leaves, or"
                " call loss.backward() there, which adds up",
            )

    # ---- loss.backward() -------------------------------------------------------------------------

    def watch(self, inputs: object, result: object) -> None:
        """Count the rows of this call when its gradient arrives: those of the first Tensor among
        its inputs, positional or named, or inside a list, tuple or dict."""
        if self.listener is not None or size() == 1:
            return
        self.listen()
        rows = next((len(x) for _, x in named_tensors(inputs) if x.ndim), 1)
        for _, z in named_tensors([result]):
            if z.requires_grad:
                z.register_hook(functools.partial(self.count, rows))
                return

    def count(self, rows: int, g: Tensor) -> None:
        """The hook of a call's result."""
        if self.listener is None and following() is not None:
            self.rows = (self.rows or 0.0) + rows

    def of_a_loss(self, i: int, g: Tensor) -> None:
        """Handle a parameter's gradient from loss.backward()."""
        after = following()
        if after is None or size() == 1:  # tutor.grad leaves no .grad
            return
        bounds_checks.opened("to reduce gradients over ranks")
        if not self.reduces.get():
            self.apart = True
            return
        if self.walk is None or self.walk.after is not after:
            self.walk = RunningBackward(after, self.round(), {})
            after.append(functools.partial(self.finish, self.walk))
        old = self.params[i]._grad
        self.walk.before[i] = None if self.apart else old
        if self.apart and old is not None:
            g = old + g
        if self.weight:
            self.walk.current.arrived(i, g * self.weight)

    @property
    def weight(self) -> float:
        """The weight of this rank: the rows it has seen. If the model was called directly, not
        through DataParallel, no rows were counted, and all ranks have equal weight."""
        return 1.0 if self.rows is None else self.rows

    def finish(self, walk: RunningBackward) -> None:
        """Replace the gradients of this rank, which loss.backward() has stored, by those of all."""
        self.walk, walk.current.rows = None, self.weight
        missing: Sums = [None] * len(self.params)
        for i, p in enumerate(self.params):
            if self.apart and self.weight and i not in walk.before and p._grad is not None:
                missing[i] = p._grad * self.weight
        result = walk.current.finish([*missing, *self.statistics.take(self.weight), None])
        before = [
            walk.before.get(i, None if self.apart else p._grad) for i, p in enumerate(self.params)
        ]
        self.apart, self.rows = False, None
        self.write(before, result)


def _pass(i: int, g: Tensor) -> None:
    """The listener that ignores gradients."""


class _Arrived:
    """A parameter's hook, which does not keep the DataParallel alive."""

    def __init__(self, walks: Walks, i: int) -> None:
        self.walks, self.i = weakref.ref(walks), i

    def __call__(self, g: Tensor) -> None:
        found = self.walks()
        if found is not None:
            (found.listener or found.of_a_loss)(self.i, g)


def _hand_on(current: ReductionRound, i: int, g: Tensor) -> None:
    """Pass on a gradient of a leaf, except one that tutor.grad computed on the way, as a checkpoint
    does: that one is only a part of it."""
    if following() is not None:
        current.arrived(i, g)
