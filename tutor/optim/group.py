"""Groups: parameters that share their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from tutor._storage import bounds_checks
from tutor.dtype import float64
from tutor.errors import DomainError
from tutor.methods.tensor import Tensor
from tutor.optim.limits import Limit

Cells = dict[str, list[Tensor]]


def write(cells: Cells, limits: Mapping[str, Limit], of: str, name: str, value: Any) -> None:
    """Write a setting into its cells, which are created if missing. DomainError if it is out of its
    limit."""
    limit = limits[name]
    checked = limit.checked(f"{of} with {name}={value!r}", value)
    numbers = checked if limit.pair else (checked,)
    if name not in cells:
        cells[name] = [Tensor(x, dtype=float64, device="cpu") for x in numbers]
    for cell, number in zip(cells[name], numbers, strict=True):
        cell.buf[0] = number


def number(cells: Cells, limits: Mapping[str, Limit], name: str) -> Any:
    """The current value of a setting's cells, as float or tuple of floats."""
    bounds_checks.opened(f"the setting {name} of an optimizer")
    numbers = tuple([cell.buf[0] for cell in cells[name]])
    return numbers if limits[name].pair else numbers[0]


class Group(MutableMapping[str, Any]):
    """`optimizer.param_groups[i]`: reads and writes like a dict, `group["lr"] = 0.1`.

    "params" are its Tensors; the other keys are the settings of its optimizer, stored in cells, and
    optionally "name" and "initial_lr" (where schedules note their initial rate). DomainError for a
    setting that the optimizer does not have, or out of its limits.
    """

    def __init__(self, of: str, limits: Mapping[str, Limit], params: list[Tensor]) -> None:
        self.of, self.limits, self.params = of, limits, params
        self.cells: Cells = {}
        self.notes: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name == "params":
            return self.params
        if name in self.cells:
            return number(self.cells, self.limits, name)
        return self.notes[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name in ("name", "initial_lr"):
            self.notes[name] = value
        elif name in self.limits:
            write(self.cells, self.limits, self.of, name, value)
        elif name == "params":
            raise DomainError(f"to put other parameters into a group of {self.of}",
                              "what it keeps for each parameter belongs to those it has",
                              "call add_param_group, or make another optimizer")  # fmt: skip
        else:
            raise DomainError(f"{self.of} with {name!r} in a group", "it has no such setting",
                              f"its settings are {', '.join(self.limits)}")  # fmt: skip

    def __delitem__(self, name: str) -> None:
        raise DomainError(f"to take {name!r} from a group of {self.of}",
                          "every group has all settings", "set it to another number")  # fmt: skip

    def __iter__(self) -> Iterator[str]:
        return iter(("params", *self.cells, *self.notes))

    def __len__(self) -> int:
        return 1 + len(self.cells) + len(self.notes)

    def __repr__(self) -> str:
        settings = {name: self[name] for name in self if name != "params"}
        return f"Group(params: {len(self.params)} Tensors, {str(settings)[1:-1]})"
