"""Walks: what the hooks of parameters do with gradients that come by.

In a plain training loop, `loss = model(x).cross_entropy(y); loss.backward()`, nobody says how many
rows there were, or when all gradients have come. So what the model returns is watched: when its
gradient comes by, the rows of that call count. Each parameter's gradient then goes into its bucket;
and what is left to do follows the walk (tutor.core.engine.grad_mode.following).
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
from tutor.distributed.reduction import Result, Round
from tutor.distributed.statistics import Statistics
from tutor.errors import DomainError
from tutor.methods.tensor import Tensor
from tutor.nn.parts import named_tensors

Listener = Callable[[int, Tensor], None]  # of the i-th parameter the gradient


class Walk(NamedTuple):
    """A loss.backward() in progress."""

    after: list[Callable[[], object]]  # what is to follow it; it is known by that
    current: Round
    before: dict[int, Tensor | None]  # each .grad that it will add to


class Walks:
    """The parameters of a model, and the gradients that come to them."""

    reduces: Setting[bool] = Setting("tutor.distributed.reduces", True)

    def __init__(
        self, params: list[Tensor], buckets: list[list[int]], state: Sequence[Tensor]
    ) -> None:
        self.params, self.buckets = params, buckets
        self.statistics = Statistics(state)
        self.listener: Listener | None = None  # of_a_loss, which holds no cycle this way
        self.walk: Walk | None = None
        self.rows: float | None = None  # that were seen since the last reduction
        self.apart = False  # whether .grad holds what was not reduced
        self.waited = 0.0
        self.hooks: list[Callable[[Tensor], None]] = []
        self.listen()

    def round(self) -> Round:
        return Round(self.params, self.buckets, self.statistics)

    def write(self, before: Sequence[Tensor | None], result: Result | None) -> None:
        """Each `.grad` as it was, and what is to be added to it."""
        found = result.gradients if result else [None] * len(before)
        for p, old, new in zip(self.params, before, found, strict=True):
            p._grad = old if new is None else new if old is None else old + new
        self.waited += result.waited if result else 0.0

    def listen(self) -> None:
        """Let the own hooks be the last ones: what a user's hook has made of a gradient counts."""
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
        """Let gradients pass."""
        self.listener = _pass
        try:
            yield
        finally:
            self.listener = None

    @contextmanager
    def listening(self, current: Round | None) -> Iterator[None]:
        """Hand gradients to a round, if there is one."""
        self.listener = functools.partial(_hand_on, current) if current else _pass
        try:
            yield
        finally:
            self.listener = _pass

    def refuse_apart(self) -> None:
        """Where `.grad` is this rank's own, it cannot be added to what all have."""
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
        """Let the rows of this call count when its gradient comes by: those of the first Tensor
        that went in, by position or by name, or within a list, tuple or dict."""
        if self.listener is not None or size() == 1:
            return
        self.listen()
        rows = next((len(x) for _, x in named_tensors(inputs) if x.ndim), 1)
        for _, z in named_tensors([result]):
            if z.requires_grad:
                z.register_hook(functools.partial(self.count, rows))
                return

    def count(self, rows: int, g: Tensor) -> None:
        """A hook of what a call returned."""
        if self.listener is None and following() is not None:
            self.rows = (self.rows or 0.0) + rows

    def of_a_loss(self, i: int, g: Tensor) -> None:
        """A gradient of a loss.backward()."""
        after = following()
        if after is None or size() == 1:  # tutor.grad leaves no .grad
            return
        bounds_checks.opened("to reduce gradients over ranks")
        if not self.reduces.get():
            self.apart = True
            return
        if self.walk is None or self.walk.after is not after:
            self.walk = Walk(after, self.round(), {})
            after.append(functools.partial(self.finish, self.walk))
        old = self.params[i]._grad
        self.walk.before[i] = None if self.apart else old
        if self.apart and old is not None:
            g = old + g
        if self.weight:
            self.walk.current.arrived(i, g * self.weight)

    @property
    def weight(self) -> float:
        """What this rank counts: the rows that it has seen; where the model was called past the
        DataParallel, and nobody has counted them, as much as the others."""
        return 1.0 if self.rows is None else self.rows

    def finish(self, walk: Walk) -> None:
        """loss.backward() has stored what this rank has: now what all have."""
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
    """Nobody listens."""


class _Arrived:
    """The hook of a parameter, which does not keep the DataParallel alive."""

    def __init__(self, walks: Walks, i: int) -> None:
        self.walks, self.i = weakref.ref(walks), i

    def __call__(self, g: Tensor) -> None:
        found = self.walks()
        if found is not None:
            (found.listener or found.of_a_loss)(self.i, g)


def _hand_on(current: Round, i: int, g: Tensor) -> None:
    """A gradient of a leaf; not one that tutor.grad has computed on the way, as a checkpoint does:
    that one is a part of it."""
    if following() is not None:
        current.arrived(i, g)
