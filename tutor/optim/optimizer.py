"""The base of all optimizers: groups of parameters, their state, settings, the loop of a step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeVar, overload

from tutor._util import checks
from tutor._util.callers import user_line
from tutor._util.keyword_aliases import spelled
from tutor.backends.devices import IN_USE
from tutor.core.engine import engine
from tutor.core.engine.grad_mode import recording
from tutor.dtype import uint64
from tutor.errors import DataError, GraphError
from tutor.methods.tensor import Tensor
from tutor.nn.parameter import Parameter
from tutor.optim.group import Cells, Group, number, write
from tutor.optim.limits import RATE, Limit

T = TypeVar("T")
Params = Iterable[Tensor] | Iterable[Mapping[str, Any]]
GIVE = "pass get_parameters(model), or a list of Tensors"


@spelled
class Optimizer:
    """`Optimizer(params, lr)`: params are the Tensors to move, lr the learning rate (step size).

    params may also be groups with their own settings: `[{"params": weights, "lr": 0.01},
    {"params": biases, "weight_decay": 0}]`; settings that a group omits have the common values.
    `param_groups` are these groups, which read and write like dicts. `model.named_parameters()` is
    accepted as well: a group's "param_names" are then these names. A parameter without a gradient,
    as a frozen one, stays where it is.

    A subclass defines `slots` (the names of its state per parameter), `limits` (the values allowed
    for its settings, at any time) and `update`. The state starts at zero, unless `start` says
    otherwise. GraphError for params that cannot be moved, DomainError for a setting out of its
    limits.

    `cells[name]` are the cells of a setting, one float64 each: those of the first group, and within
    `update` those of the group whose parameter moves. `count` is the cell of `steps`, and within
    `update` that parameter's number of moves, which skips steps in which it had no gradient.
    """

    slots: tuple[str, ...] = ()
    limits: Mapping[str, Limit] = {"lr": RATE}
    maximize: bool = False  # go up, along the gradient, instead of down
    cells: Cells
    common: Cells  # for settings that a group omits
    param_groups: list[Group]

    def __new__(cls, *args: Any, **options: Any) -> Self:
        self = super().__new__(cls)
        self.cells = self.common = {}  # before __init__, which sets the settings
        self.param_groups = []
        return self

    def __init__(self, params: Params, lr: float) -> None:
        self.lr = lr
        listed: Any = params
        if isinstance(params, Iterable) and not isinstance(params, (Tensor, str, Mapping)):
            listed = list(params)
        has_groups = isinstance(listed, list) and listed and isinstance(listed[0], Mapping)
        if not isinstance(listed, list):
            raise self._no_list(listed)
        for given in listed if has_groups else [{"params": listed}]:
            self.param_groups.append(self._group(given))
        self.cells = self.param_groups[0].cells
        self.slots = self.kept()
        self.params = [p for group in self.param_groups for p in group.params]
        self._count_from([0] * (1 + len(self.params)))
        self.state = {name: [self.start(name, p) for p in self.params] for name in self.slots}

    def kept(self) -> tuple[str, ...]:
        """The slots that are needed, given the settings of all groups."""
        return self.slots

    def narrow(self, name: str, example: str) -> None:
        """From here on a setting must stay 0, since its state is not kept. `example` names an
        optimizer that does keep it."""
        words = f"0: it was made without {name}, and has kept no velocity"
        only = Limit(words, 0, 0, "", f"another one: {example}")
        self.limits = {**self.limits, name: only}
        for group in self.param_groups:
            group.limits = self.limits

    def start(self, name: str, p: Tensor) -> Tensor:
        """The initial value of a slot of p: zeros, of p's shape and dtype."""
        return p.detach().like(0)

    def _count_from(self, numbers: list[int]) -> None:
        """Create the counts, first that of steps, then those of the parameters. They are adjacent
        in memory, so that a step adds to all of them at once."""
        self.counts = Tensor(numbers, dtype=uint64, device="cpu")
        over, buf = self.counts.over, self.counts.buf
        self._each_count = tuple([over(buf, (), (), i) for i in range(len(numbers))])
        self.count = self._each_count[0]

    # ---- settings --------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """The number of steps taken. Setting it sets the count of each parameter."""
        return int(self.counts.buf[0])

    @steps.setter
    def steps(self, count: int) -> None:
        for i in range(len(self._each_count)):
            self.counts.buf[i] = count

    def __getattr__(self, name: str) -> Any:
        """The current value of a setting's cells, as float or tuple of floats; with several groups,
        that of the first."""
        if name not in self.limits or name not in self.cells:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return number(self.cells, self.limits, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a setting in all groups; the first time, only in groups without their own."""
        if name not in self.limits:
            return super().__setattr__(name, value)
        first = name not in self.common
        write(self.common, self.limits, type(self).__name__, name, value)
        for group in self.param_groups:
            if not (first and name in group.cells):
                group[name] = value

    def numbers(self, name: str, like: Tensor) -> list[Tensor]:
        """The cells of a setting in the dtype of `like`: operands for an `update` of Tensors."""
        return [cell.cast(like.dtype) for cell in self.cells[name]]

    def rests(self, name: str, like: Tensor) -> list[Tensor]:
        """1 - x of a setting's cells, computed in float64, since 0.999 would lose three digits."""
        return [(1 - cell).cast(like.dtype) for cell in self.cells[name]]

    @property
    def defaults(self) -> dict[str, Any]:
        """The settings that a group has unless it says otherwise."""
        return {name: number(self.common, self.limits, name) for name in self.common}

    # ---- parameters ------------------------------------------------------------------------------

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add parameters, `{"params": tensors, "lr": 0.1}`: they move from now on. Settings that
        the group omits have the values last set for all."""
        group = self._group(param_group)
        self.param_groups.append(group)
        self.params.extend(group.params)
        self._count_from([*self.counts.tolist(), *[0] * len(group.params)])
        for name, tensors in self.state.items():
            tensors.extend(self.start(name, p) for p in group.params)

    def _group(self, given: Any) -> Group:
        """A group from `given`, with all its settings. Nothing else is changed."""
        of = type(self).__name__
        if not isinstance(given, Mapping) or "params" not in given:
            raise GraphError(
                f"{of} over a group that is {given!r:.60}",
                "it is no dict with 'params'",
                'write {"params": tensors, "lr": 0.01}, all of them as such dicts',
            )
        names, params = unnamed(given["params"])
        group = Group(of, self.limits, self._leaves([params] if is_leaf(params) else params))
        if names:
            group.notes["param_names"] = names
        for name in given:
            if name != "params":
                group[name] = given[name]
        for name, cells in self.common.items():
            if name not in group.cells:
                group.cells[name] = [cell.copy() for cell in cells]
        return group

    def _leaves(self, params: Any) -> list[Tensor]:
        """The params as a list of distinct Tensors that an optimizer can move; else GraphError."""
        what = f"{type(self).__name__} over "
        if isinstance(params, (Tensor, str)) or not isinstance(params, Iterable):
            raise self._no_list(params)
        leaves = list(params)
        if not leaves:
            raise GraphError(
                f"{what}no parameters", "nothing to move", "pass get_parameters(model)"
            )
        for p in leaves:
            if not is_leaf(p):
                raise GraphError(f"{what}a {type(p).__name__}", "it is no leaf that requires grad",
                                 f"{GIVE} made with requires_grad=True")  # fmt: skip
        before = [p for group in self.param_groups for p in group.params]
        if len({id(p) for p in (*before, *leaves)}) < len(before) + len(leaves):
            count = len(before) + len(leaves)
            raise GraphError(f"{what}{count} parameters", "one of them is there twice: each "
                             "step would move it twice", "give each parameter once, as "
                             "get_parameters(model) does")  # fmt: skip
        return leaves

    def _no_list(self, params: Any) -> GraphError:
        what = f"{type(self).__name__} over a {type(params).__name__}"
        return GraphError(what, "it is no list of parameters", GIVE)

    # ---- a step ----------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients, so that the next backward() starts without any; or, with
        set_to_none=False, overwrite them with 0."""
        for p in self.params:
            if set_to_none:
                p._grad = None
            elif p._grad is not None:
                p._grad.zero_()

    @overload
    def step(self) -> None: ...
    @overload
    def step(self, closure: Callable[[], T]) -> T: ...
    def step(self, closure: Callable[[], T] | None = None) -> T | None:
        """Move every parameter that has a gradient. `closure`, if given, is called first to compute
        the loss and the gradients, and its result is returned.

        If it is interrupted, some parameters have moved and others not; `steps` counts complete
        steps only, and the version of each moved parameter shows that it changed.
        """
        here = user_line()
        if closure is not None:
            checks.function(f"{type(self).__name__}.step(closure)", closure)
        loss = None if closure is None else recording.during(True, closure)
        recording.during(False, self._move, here)
        return loss

    def _move(self, here: tuple[str, int] | None) -> None:
        i, state, own, counts = 0, self.state, vars(self), self._each_count
        still = [0]  # the indices of the counts that do not advance
        if IN_USE:
            self._follow()
        try:
            for group in self.param_groups:
                self.cells = group.cells
                for p in group.params:
                    if p.grad is not None:
                        own["count"] = counts[i + 1]
                        p.buf.touch(here)
                        g = -p.grad if self.maximize else p.grad
                        self.update(p, g, *[state[name][i] for name in self.slots])
                    else:
                        still.append(i + 1)
                    i += 1
        finally:
            self.cells, self.count = self.param_groups[0].cells, counts[0]
        self._go_on([*still, i + 1])

    def _go_on(self, still: list[int]) -> None:
        """Add 1 to the count of steps, and to all counts between those that do not advance."""
        one, buf = self.counts.wrap(1, uint64), self.counts.buf
        for before, end in itertools.pairwise(still):
            start = before + (before > 0)
            if start < end:
                stretch = self.counts.over(buf, (end - start,), (1,), start)
                ones = self.counts.over(one.buf, (end - start,), (0,))
                engine.call("add", uint64, stretch, stretch, ones)

    def _follow(self) -> None:
        """Move the state to the parameters' device, if they changed it. (A single number for a
        parameter of several is a cell, and stays on the host.)"""
        for tensors in self.state.values():
            for p, t in zip(self.params, tensors, strict=True):
                if p.buf.device != t.buf.device and (t.shape or not p.shape):
                    t.buf = t.to(device=p.buf.device).buf

    def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
        """Move p in place along its gradient g; `self.count` steps were taken before this one. No
        graph is recorded."""
        raise NotImplementedError(f"{type(self).__name__} has no update(self, p, g, ...)")

    # ---- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Steps taken, the state per parameter, `slot.i`, the settings, `groups.i.name.k`, and
        `count.i` of each parameter that had no gradient in some step: enough for an exact
        continuation. All except `steps` are the Tensors in use, not copies."""
        named = {f"{n}.{i}": t for n in self.slots for i, t in enumerate(self.state[n])}
        steps, *counts = self.counts.tolist()
        others = [i for i, count in enumerate(counts) if count != steps]
        named |= {f"count.{i}": self._each_count[i + 1] for i in others}
        return {"steps": self.steps, **named, **{name: t for name, (t, _) in self._set().items()}}

    def _set(self) -> dict[str, tuple[Tensor, Limit]]:
        """All cells by name, each with its limit."""
        return {
            f"groups.{i}.{name}.{k}": (cell, group.limits[name])
            for i, group in enumerate(self.param_groups)
            for name, cells in group.cells.items()
            for k, cell in enumerate(cells)
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`; without settings in it, these stay. DataError, and nothing is
        changed, unless it is from an optimizer of this type over parameters of these shapes and
        dtypes, in the same groups."""
        asked = f"to load a state into {type(self).__name__} over {len(self.params)} parameters"
        do = "load what state_dict() of the same optimizer over the same model gave"
        checks.state(asked, state, do)
        own, steps, cells = Optimizer.state_dict(self), state.get("steps"), self._set()
        counts = {f"count.{i}": t for i, t in enumerate(self._each_count[1:])}
        own = {n: t for n, t in {**counts, **own}.items() if n not in counts or n in state}
        if not any(name in cells for name in state):
            own = {name: t for name, t in own.items() if name not in cells}
        wrong = sorted(own.keys() ^ state.keys())
        for name in own.keys() & state.keys() - {"steps"}:
            fits = alike(own[name], state[name])
            if not fits or (name in cells and not cells[name][1].allowed(state[name].item())):
                wrong.append(name)
        if wrong or type(steps) is not int or not 0 <= steps < 2**64:
            found = f"missing, too much or of another shape or dtype: {', '.join(wrong) or 'steps'}"
            raise DataError(asked, found, do)
        self.steps = steps
        for name, t in own.items():
            if name != "steps":
                t.assign(state[name])


def unnamed(params: Any) -> tuple[list[str], Any]:
    """The names and the Tensors of `named_parameters()`; no names for anything else."""
    if isinstance(params, (Tensor, str, Mapping)) or not isinstance(params, Iterable):
        return [], params
    listed: list[Any] = list(params)
    if not all(isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str) for p in listed):
        return [], listed
    return [name for name, _ in listed], [p for _, p in listed]


def is_leaf(p: object) -> bool:
    """Can it be moved: is it a leaf that requires a gradient, or a parameter that may again?"""
    if not isinstance(p, Tensor) or p.op is not None:
        return False
    return p.requires_grad or (isinstance(p, Parameter) and p.dtype.is_float)


def alike(t: Tensor, other: object) -> bool:
    return isinstance(other, Tensor) and (t.shape, t.dtype) == (other.shape, other.dtype)
