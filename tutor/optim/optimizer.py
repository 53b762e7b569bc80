"""What all optimizers share: parameters, their state, settings, and the loop of a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from tutor.core.engine import engine
from tutor.dtype import float64, uint64
from tutor.errors import DataError, GraphError
from tutor.ground import border
from tutor.ground.callers import user_line
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor
from tutor.optim.limits import RATE, Limit


@spelled
class Optimizer:
    """`Optimizer(params, lr)`: params are the Tensors to move, lr the learning rate (step size).

    A subclass states `slots` (the names of its state per parameter), `limits` (what its settings
    may be, whenever they are set) and `update`. The state starts at zero. GraphError for params
    that cannot be moved, DomainError for a setting out of its limits.

    `cells[name]` are the cells of a setting, one float64 each, and `count` that of `steps`: what
    `update` hands to a kernel.
    """

    slots: tuple[str, ...] = ()
    limits: Mapping[str, Limit] = {"lr": RATE}
    cells: dict[str, list[Tensor]]

    def __new__(cls, *args: Any, **options: Any) -> Self:
        self = super().__new__(cls)
        self.cells = {}  # before __init__, which sets the settings
        return self

    def __init__(self, params: Iterable[Tensor], lr: float) -> None:
        self.params = self._leaves(params)
        self.lr = lr
        self.count = Tensor(0, dtype=uint64)
        self.state = {name: [p.detach().like(0) for p in self.params] for name in self.slots}

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return int(self.count.buf[0])

    @steps.setter
    def steps(self, count: int) -> None:
        self.count.buf[0] = count

    def __getattr__(self, name: str) -> Any:
        """A setting, as float or tuple of floats: what its cells hold now."""
        if name not in self.limits or name not in self.cells:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        border.opened(f"the setting {name} of an optimizer")
        numbers = tuple([cell.buf[0] for cell in self.cells[name]])
        return numbers if self.limits[name].pair else numbers[0]

    def __setattr__(self, name: str, value: Any) -> None:
        limit = self.limits.get(name)
        if limit is None:
            return super().__setattr__(name, value)
        value = limit.checked(f"{type(self).__name__} with {name}={value!r}", value)
        numbers = value if limit.pair else (value,)
        if name not in self.cells:
            self.cells[name] = [Tensor(x, dtype=float64) for x in numbers]
        for cell, number in zip(self.cells[name], numbers, strict=True):
            cell.buf[0] = number

    def _leaves(self, params: Iterable[Tensor]) -> list[Tensor]:
        """The params as a list of Tensors that an optimizer can move, each of them once."""
        what, do = (
            f"{type(self).__name__} over ",
            "pass get_parameters(model), or a list of Tensors",
        )
        if isinstance(params, (Tensor, str)) or not isinstance(params, Iterable):
            raise GraphError(f"{what}a {type(params).__name__}", "it is no list of parameters", do)
        leaves = list(params)
        for p in leaves:
            if not (isinstance(p, Tensor) and p.requires_grad and p.op is None):
                raise GraphError(f"{what}a {type(p).__name__}", "it is no leaf that requires grad",
                                 f"{do} made with requires_grad=True")  # fmt: skip
        if not leaves:
            raise GraphError(
                f"{what}no parameters", "nothing to move", "pass get_parameters(model)"
            )
        if len({id(p) for p in leaves}) < len(leaves):
            raise GraphError(f"{what}{len(leaves)} parameters", "one of them is there twice: each "
                             "step would move it twice", "give each parameter once, as "
                             "get_parameters(model) does")  # fmt: skip
        return leaves

    def zero_grad(self) -> None:
        """Forget the gradients, so that the next backward() starts from none."""
        for p in self.params:
            p._grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient.

        Where it is interrupted, some have moved and others not; `steps` counts whole steps only,
        and of each that has moved it is known that it changed (its version).
        """
        here = user_line()
        for i, p in enumerate(self.params):
            if p.grad is not None:
                p.buf.touch(here)
                self.update(p, p.grad, *(self.state[name][i] for name in self.slots))
        engine.call("add", uint64, self.count, self.count, self.count.wrap(1, uint64))

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        """Move p in place along its gradient g; `self.count` steps were taken before this one."""
        raise NotImplementedError(f"{type(self).__name__} has no update(self, p, g, ...)")

    def state_dict(self) -> dict[str, Any]:
        """Steps taken and the state per parameter: what an exact continuation needs."""
        named = {f"{n}.{i}": t for n in self.slots for i, t in enumerate(self.state[n])}
        return {"steps": self.steps, **named}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave. DataError, and nothing is changed, if it is not of an
        optimizer of this type over parameters of these shapes and dtypes."""
        own, steps = self.state_dict(), state.get("steps")
        wrong = sorted(own.keys() ^ state.keys())
        wrong += [
            n for n, t in own.items() if n in state and n != "steps" and not alike(t, state[n])
        ]
        if wrong or type(steps) is not int or not 0 <= steps < 2**64:
            raise DataError(
                f"to load a state into {type(self).__name__} over {len(self.params)} parameters",
                f"missing, too much or of another shape or dtype: {', '.join(wrong) or 'steps'}",
                "load what state_dict() of the same optimizer over the same model gave",
            )
        for name, t in own.items():
            if name != "steps":
                t.assign(state[name])
        self.steps = steps


def alike(t: Tensor, other: object) -> bool:
    return isinstance(other, Tensor) and (t.shape, t.dtype) == (other.shape, other.dtype)
