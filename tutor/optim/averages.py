"""Averages of weights: a network averaged over its last steps is often better than that of the last
step.

    average = EMA(model.parameters(), decay=0.999)
    for x, y in batches:
        ...
        optimizer.step()
        average.update()
    with average.swapped():        # here the model has the averages
        evaluate(model)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply
from tutor.core.engine.grad_mode import no_grad
from tutor.dtype import float64, uint64
from tutor.errors import DataError, GraphError
from tutor.methods.tensor import Tensor
from tutor.optim.limits import SHARE
from tutor.optim.optimizer import alike


@spelled
class Average:
    """`Average(parameters)`: the mean of their values at each `update()` (Izmailov et al. 2018,
    "Averaging weights leads to wider optima and better generalization", SWA)

    a <- a + (p - a) / t   at the t-th update

    Its state is in Tensors, so an update may be part of a step under tutor.jit. PyTorch's
    AveragedModel keeps a copy of the model; here the averages are swapped into the model.
    """

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.params = list(parameters) if not isinstance(parameters, Tensor) else []
        if not self.params or not all(isinstance(p, Tensor) for p in self.params):
            raise GraphError(f"{type(self).__name__} over a {type(parameters).__name__}",
                             "it is no list of parameters",
                             "pass get_parameters(model), or a list of Tensors")  # fmt: skip
        self.averages = [p.detach().copy() for p in self.params]
        self.count = Tensor(0, dtype=uint64, device="cpu")

    def share(self) -> Tensor:
        """The weight of the current parameters in the averages, at this update."""
        return 1 / (self.count.cast(float64) + 1)

    @no_grad()
    def update(self) -> None:
        """Update the averages with the current parameters."""
        share = self.share()
        for p, average in zip(self.params, self.averages, strict=True):
            average.add_((p.detach() - average) * share.cast(p.dtype))
        self.count.assign(self.count + 1)

    @no_grad()
    def swap(self) -> None:
        """Swap the parameters and the averages. A second swap undoes it."""
        for p, average in zip(self.params, self.averages, strict=True):
            before = p.detach().copy()
            p.assign(average)
            average.assign(before)

    @contextmanager
    def swapped(self) -> Iterator[None]:
        """A context in which the parameters are the averages."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    def state_dict(self) -> dict[str, Tensor]:
        """The averages, `average.i`, and `count`, the number of updates."""
        return {"count": self.count, **{f"average.{i}": t for i, t in enumerate(self.averages)}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`. DataError, and nothing is changed, for anything else."""
        own = self.state_dict()
        asked = f"to load a state into {type(self).__name__} over {len(self.params)} parameters"
        do = "load what state_dict() over the same model gave"
        checks.state(asked, state, do)
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [n for n, t in own.items() if n in state and not alike(t, state[n])]
        if wrong:
            found = f"missing, too much or of another shape or dtype: {', '.join(wrong)}"
            raise DataError(asked, found, do)
        for name, t in own.items():
            t.assign(state[name])


@spelled
class EMA(Average):
    """`EMA(parameters, decay=0.999)`: an exponential moving average, over about the last
    1 / (1 - decay) updates (Polyak & Juditsky 1992; Tarvainen & Valpola 2017, "Mean teachers are
    better role models")

    a <- d a + (1 - d) p,   d = min(decay, (1 + t) / (10 + t)) at the t-th update with `warm_up`
    """

    def __init__(
        self, parameters: Iterable[Tensor], decay: float = 0.999, warm_up: bool = False
    ) -> None:
        super().__init__(parameters)
        self.decay = SHARE.checked(f"EMA with decay={decay!r}", decay)
        self.warm_up = bool(warm_up)

    def share(self) -> Tensor:
        rest = Tensor(1 - self.decay, dtype=float64, device="cpu")
        if not self.warm_up:
            return rest
        t = self.count.cast(float64) + 1
        return apply("maximum", rest, 9 / (10 + t))
