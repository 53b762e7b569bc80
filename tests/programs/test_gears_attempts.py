"""What is recorded again, how often, and what is said about it: arguments that are never twice the
same, slices that move together, least recent use, and states called by their places."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.nn.functional import cross_entropy
from tutor.programs.gears import BETWEEN, IN_VAIN, LONGEST
from tutor.programs.jit import MOST_TRACES, Jitted

X = Tensor([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def scaled() -> Jitted:
    return tutor.jit(lambda x, by: (x * by + 1).relu())


# ---- recordings in vain --------------------------------------------------------------------------


def test_a_number_that_is_never_the_same_is_not_recorded_for_ever() -> None:
    f, calls = scaled(), 3000
    for i in range(calls):
        assert f(X, i / 7).tolist() == f.function(X, i / 7).tolist()
    counts = f.stats()
    assert counts["recorded"] < IN_VAIN + 13 and counts["replayed"] == 0
    assert counts["eager"] + counts["recorded"] == calls


def test_the_rest_ends_when_a_replay_shows_that_it_pays() -> None:
    f = scaled()
    for i in range(100):
        f(X, float(i))
    resting = f.stats()["recorded"]
    for _ in range(2 * LONGEST):  # it is tried again in the end, and from then on replayed
        f(X, 0.5)
    assert f.stats()["recorded"] == resting + 1 and f.stats()["replayed"] > 500
    for i in range(1000, 1000 + IN_VAIN):  # as if nothing had been
        f(X, float(i))
    assert f.stats()["recorded"] == resting + 1 + IN_VAIN


def test_what_is_known_is_replayed_while_it_rests() -> None:
    f = scaled()
    for i in range(60):
        f(X, float(i))
    before = f.stats()
    for _ in range(BETWEEN + 1):  # in between nobody looks
        f(X, 1.0)  # the first that was recorded
    assert f.stats()["replayed"] > before["replayed"]


def test_strictly_it_does_not_rest() -> None:
    f = tutor.jit(lambda x, by: x * by, strict=True)
    for i in range(20):
        f(X, float(i))
    assert f.stats()["recorded"] == 19


def test_strictly_it_warns_that_it_is_slower() -> None:
    f = tutor.jit(lambda x, by: x * by, strict=True)
    for i in range(IN_VAIN + 1):  # the first runs as ever; from the second on it records
        f(X, float(i))
    with pytest.warns(UserWarning, match="is slower than without jit: 8 recordings"):
        f(X, -1.0)
    assert "as without jit" not in f.explain()


def test_one_warning_names_the_argument() -> None:
    f = scaled()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(200):
            f(X, i / 2)
    (warning,) = caught
    text = str(warning.message)
    assert "scaled.<locals>.<lambda> mostly runs as without jit: 8 recordings" in text
    assert re.search(r"because of this: argument 2 is \d\.\d; it was \d\.\d\. To do: ", text)
    assert warning.filename == __file__
    assert "argument 2 is" in f.explain() and "as without jit: to record" in f.explain()


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (X, Tensor([1.0]), "argument 1 is a Tensor of float32 and shape (1,); it was a Tensor"),
        (X, Tensor([1, 2, 3]), "argument 1 is a Tensor of int64"),
        ([X, 1], [X, 2], "argument 1 is list(a Tensor of float32 and shape (3,), 2)"),
        (np.float32(1), np.float32(2), "argument 1 is float32 2.0; it was float32 1.0"),
        ({"x": 1}, {"y": 1}, "argument 1 is dict(y: 1); it was dict(x: 1)"),
        ([[[[1]]]], [[[[2, 3]]]], "another object, order, layout or mode"),
        (nn.ReLU(), nn.ReLU(), "another object, order, layout or mode"),
    ],
)
def test_it_is_said_which_argument_differs(first: Any, second: Any, said: str) -> None:
    f = tutor.jit(lambda given: X * 2)
    for given in (first, first, second):
        f(given)
    assert said in f.explain()


def test_what_ran_least_recently_goes() -> None:
    world = {"by": 0.0}
    f = tutor.jit(lambda x: x * world["by"])
    f(X)
    for i in range(MOST_TRACES):
        world["by"] = float(i)
        for _ in range(3):  # recorded, and replayed
            f(X)
    world["by"] = 0.0
    f(X)  # the oldest is the latest now
    world["by"] = 100.0
    f(X)
    recorded = f.stats()["recorded"]
    for by, known in ((0.0, True), (1.0, False)):
        world["by"] = by
        f(X)
        assert (f.stats()["recorded"] == recorded) == known


# ---- what is recorded once -----------------------------------------------------------------------


class Pair(NamedTuple):
    x: Tensor
    y: Tensor


@dataclasses.dataclass
class Batch:
    x: Tensor
    y: Tensor
    name: str = "train"
    factor = 2.0

    def scaled(self) -> Tensor:
        return self.x * self.factor


def test_a_language_model_is_recorded_once() -> None:
    tutor.manual_seed(0)
    text, table, head = tutor.randint(0, 11, (300,)), nn.Embedding(11, 8), nn.Linear(8, 11)
    adam = optim.Adam([*table.parameters(), *head.parameters()], lr=0.01)

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        adam.zero_grad()
        loss = cross_entropy(head(table(x)), y)
        loss.backward()
        adam.step()
        return loss

    for i in range(0, 250, 3):
        step(text[i : i + 16], text[i + 1 : i + 17])
    assert step.stats() | {"steps": 0} == {
        "eager": 1, "recorded": 1, "replayed": 82, "refused": 0, "traces": 1, "steps": 0,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Pair, Batch, lambda x, y: {"x": x, "y": y}])
def test_a_batch_is_recorded_once_whatever_it_is_packed_in(kind: Any) -> None:
    f = tutor.jit(lambda b: b["x"] * 2 if isinstance(b, dict) else kind(b.x * 2, b.y))
    for i in range(6):
        found = f(kind(X + i, X))
        x = found if isinstance(found, Tensor) else found.x
        assert x.tolist() == ((X + i) * 2).tolist()
    assert f.stats()["recorded"] == 1 and f.stats()["replayed"] == 4


def test_methods_of_a_batch_are_known_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tutor.jit(lambda b: b.scaled())
    for i in range(6):
        assert f(Batch(X + i, X)).tolist() == ((X + i) * 2).tolist()
    assert f.stats()["recorded"] == 1 and f.stats()["replayed"] == 4
    monkeypatch.setattr(Batch, "factor", 3.0)
    assert f(Batch(X, X)).tolist() == (X * 3).tolist()


def test_a_number_of_numpy_is_a_number() -> None:
    f = scaled()
    for _ in range(5):
        f(X, np.float32(2))
    assert f.stats()["recorded"] == 1 and f.stats()["refused"] == 0


# ---- places --------------------------------------------------------------------------------------


def test_states_are_called_by_their_places_before_and_after_the_passes() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    sgd = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @tutor.jit
    def step(x: Tensor) -> None:
        sgd.zero_grad()
        model(x).sum().backward()
        sgd.step()

    for _ in range(3):
        step(tutor.ones(2, 3))
    for program in (step.recorded, step.program):
        names = set(program.called().values())
        assert {"model.layers[0].weight", "model.layers[2].bias"} <= names
        assert len(names) == len(program.slots)
        assert "model.layers[0].weight 4x3" in str(program)
        assert program.text().startswith("x0: input") or "s0: state" in program.text()
    said = step.explain()
    assert "is sgd.param_groups[0].cells['lr'][0]" in said
    assert f"steps -> {len(step.program)}" in said


def test_a_pass_that_saves_nothing_is_not_named() -> None:
    f = tutor.jit(lambda x: x @ x)
    for _ in range(2):
        f(tutor.ones(2, 2))
    assert "after these passes\nthat is replayed" in f.explain()
