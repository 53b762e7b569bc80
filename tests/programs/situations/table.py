"""What a situation is: the table of all, and how one is run with jit and without.

    @situation("class attributes")
    def a_scale_of_the_configuration(jit): ...

A situation builds its objects, calls a jitted function several times with changes in between, and
yields all that it wants compared. `jit` is tutor.jit, or hands back what it is given: then the same
function runs as Python runs it, and what it yields is what is right.
"""

from __future__ import annotations

import importlib
import random
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import RecordError


class Situation(NamedTuple):
    name: str
    kinds: tuple[str, ...]
    function: Callable[[Any], Iterator[Any]]
    needs: str  # a package, or nothing


SITUATIONS: dict[str, Situation] = {}


def situation(*kinds: str, needs: str = "", name: str = "") -> Callable[[Any], Any]:
    """Put the function that stands below into the table, under its own name or another."""

    def put(function: Any) -> Any:
        called = (name or function.__name__).replace("_", " ")
        assert called not in SITUATIONS, f"two situations are called {called}"
        SITUATIONS[called] = Situation(called, kinds, function, needs)
        return function

    return put


def load() -> dict[str, Situation]:
    """All situations, of every file here."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.stem.startswith("__"):
            importlib.import_module(f"{__package__}.{path.stem}")
    return SITUATIONS


# ---- running one ---------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """How jit did: "right", "lies" (another value than Python's) or "raises"; the first place where
    it did so; how many calls were replayed; and what it warned of."""

    verdict: str
    detail: str
    replayed: int
    warned: list[str]


def bits(value: Any) -> Any:
    """A value as a text that differs where a bit, a type, a shape or an order does."""
    if isinstance(value, Tensor):
        t = value.detach().cpu().copy()
        code = zlib.crc32(t.buf.raw.tobytes())
        return f"{type(value).__name__} {t.dtype.name}{t.shape} {t.tolist()} #{code:08x}"
    if isinstance(value, dict):
        parts = ", ".join(f"{bits(k)}: {bits(v)}" for k, v in value.items())
        return f"{type(value).__name__}({parts})"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(bits, value))})"
    return f"{type(value).__name__} {value!r}"


def seen(found: Situation, jit: Callable[[Any], Any], into: list[str]) -> None:
    """Run it; each value goes into the list as it comes."""
    tutor.manual_seed(0)
    random.seed(0)
    for value in found.function(jit):
        into.append(bits(value))


class Counting:
    """A jit, counting the replays of all that it makes. (It keeps none of that alive.)"""

    def __init__(self, jit: Callable[[Any], Any]) -> None:
        self.jit = jit
        self.made: list[weakref.ref[Any]] = []

    def __call__(self, function: Any) -> Any:
        made = self.jit(function)
        if hasattr(made, "stats"):
            self.made.append(weakref.ref(made))
        return made

    def replayed(self) -> int:
        alive = [jitted for ref in self.made if (jitted := ref()) is not None]
        return sum(jitted.stats()["replayed"] for jitted in alive)


class Noting(list[str]):
    """What was seen; and how many calls had been replayed by then."""

    def __init__(self, jit: Counting) -> None:
        self.jit, self.replayed = jit, 0

    def append(self, value: str) -> None:
        super().append(value)
        self.replayed = max(self.replayed, self.jit.replayed())


def outcome(found: Situation, jit: Callable[[Any], Any] = tutor.jit) -> Outcome:
    """The situation as Python runs it, and under jit."""
    counting, right, raised = Counting(jit), list[str](), ""
    ours = Noting(counting)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen(found, lambda function: function, right)
        told = len(caught)
        try:
            seen(found, counting, ours)
        except RecordError as error:
            raised = f"RecordError: {error}"
        except Exception as error:  # whatever it is, the function itself has not raised it
            raised = f"{type(error).__name__}: {error}"
        warned = [str(warning.message) for warning in caught[told:]]
    detail = different(right, ours)
    if detail is None and not raised and len(right) != len(ours):
        detail = f"{len(ours)} values instead of {len(right)}"
    verdict = "lies" if detail else "raises" if raised else "right"
    return Outcome(verdict, detail or raised, ours.replayed, warned)


def different(right: list[str], ours: list[str]) -> str | None:
    for i, (wanted, got) in enumerate(zip(right, ours, strict=False)):
        if wanted != got:
            return f"value {i + 1} is {got}, and should be {wanted}"
    return None


# ---- what many of them begin with ----------------------------------------------------------------


def vec(*numbers: float) -> Tensor:
    """A Tensor of these numbers, else of 1, 2, 3."""
    return Tensor([float(n) for n in numbers or (1, 2, 3)])


def weight(*numbers: float) -> Tensor:
    """The same as a parameter."""
    return vec(*numbers).requires_grad_()


def rows(call: int = 0, count: int = 4) -> Tensor:
    """A batch of rows of three numbers, another one at each call."""
    return Tensor(
        [[float((7 * call + 3 * r + c) % 11) - 5 for c in range(3)] for r in range(count)]
    )


def labels(count: int = 4) -> Tensor:
    return Tensor([i % 2 for i in range(count)])


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def trained(jit: Any, model: Any, optimizer: optim.Optimizer) -> Any:
    """A training step of a classifier, jitted."""

    @jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = model(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def state(model: Any) -> list[Tensor]:
    return list(nn.state_dict(model).values())


def grads(model: Any) -> list[Tensor | None]:
    return [p.grad for p in nn.get_parameters(model)]
