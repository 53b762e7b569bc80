"""tutor.save and tutor.load: what was saved goes on exactly, or an error says why it cannot."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.data import DataLoader
from tutor.errors import DataError, DTypeError, TutorError
from tutor.nn import checkpoint, saving

STATES = [
    {"w": Tensor([1.0, 2.0]), "b": Tensor([3], dtype="int8")},
    {"a": [1, 2.5, True, None, "ü\ud800", (1, (2,)), {}], "b": {"c": {"d": Tensor(1.5)}}},
    {0: "zero", "0": "text", "x.y": Tensor([1.0]), "x": {"y": Tensor([2.0])}},
    [Tensor([1.0]), [Tensor([2.0])]],
    (), {}, 3, "text", 10**40, -0.0, math.inf, Tensor([1.0]), Tensor(True),
]  # fmt: skip


def plain(value):
    """With lists for Tensors, and types that JSON would lose."""
    if isinstance(value, Tensor):
        return "Tensor", value.dtype.name, value.shape, value.tolist()
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("state", STATES, ids=lambda s: repr(s)[:30])
def test_a_state_comes_back_as_it_was(tmp_path, state):
    path = tmp_path / "x.safetensors"
    tutor.save(path, state)
    assert plain(tutor.load(path)) == plain(state)
    tutor.save(str(path), part=state)
    assert plain(tutor.load(str(path))) == plain({"part": state})


def test_other_programs_find_the_tensors_by_their_names(tmp_path):
    path, model = tmp_path / "x.safetensors", nn.Linear(2, 3)
    tutor.save(path, model.state_dict())
    assert checkpoint.load(path)[0].keys() == {"weight", "bias"}
    tutor.save(path, model=model, more=[np.arange(3)])
    tensors = checkpoint.load(path)[0]
    assert tensors.keys() == {"model.weight", "model.bias", "more.0"}
    assert tensors["more.0"].tolist() == [0, 1, 2]
    checkpoint.save(path, {"w": Tensor([1.0])}, {})
    assert plain(tutor.load(path)) == plain({"w": Tensor([1.0])})


def test_a_nan_stays_one(tmp_path):
    tutor.save(tmp_path / "x", loss=math.nan)
    assert math.isnan(tutor.load(tmp_path / "x")["loss"])


class Plain:
    """A model without a base class."""

    def __init__(self):
        self.w = Tensor([1.0, 2.0], requires_grad=True)


def test_each_kind_of_part_is_filled(tmp_path):
    path = tmp_path / "x"

    def parts():
        model = Plain()
        loader = DataLoader(range(10), 3, shuffle=True, seed=4)
        optimizer = optim.SGD([model.w], lr=0.5, momentum=0.9)
        stream = tutor.random.Stream(3, 8)
        return {"model": model, "optimizer": optimizer, "loader": loader, "stream": stream,
                "generator": True}  # fmt: skip

    begun = parts()
    begun["model"].w.grad = Tensor([1.0, -1.0])
    begun["optimizer"].step()
    next(iter(begun["loader"]))
    tutor.manual_seed(11)
    Tensor.rand(9)
    tutor.save(path, **begun, epoch=3)
    at, weights = tutor.random.get_state(), begun["model"].w.tolist()
    tutor.manual_seed(0)
    other = parts()
    found = tutor.load(path, **other)
    assert found["epoch"] == 3
    assert other["model"].w.tolist() == weights != [1.0, 2.0]
    assert other["optimizer"].steps == 1
    assert other["loader"].batch == 1
    assert other["stream"].state == (3, 8)
    assert tutor.random.get_state() == at


def test_where_one_part_does_not_fit_none_is_changed(tmp_path):
    path, model = tmp_path / "x", nn.Linear(2, 3)
    tutor.save(path, model=model, optimizer=optim.Adam(model.parameters()), generator=True)
    other = nn.Linear(2, 3)
    before, at = other.weight.tolist(), tutor.random.get_state()
    Tensor.rand(3)
    at = tutor.random.get_state()
    with pytest.raises(DataError):
        tutor.load(path, generator=True, model=other, optimizer=optim.SGD([other.weight]))
    assert other.weight.tolist() == before != model.weight.tolist()
    assert tutor.random.get_state() == at

    class Half:  # takes a part of a state, and refuses the rest
        count = 1

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state):
            self.count = state["count"]
            if self.count > 1:
                raise ValueError("too many")

    half, two = Half(), Half()
    two.count = 2
    tutor.save(path, half=two)
    with pytest.raises(DataError, match="too many"):
        tutor.load(path, half=half)
    assert half.count == 1


RUN = """
import sys
import tutor
from tutor import Tensor, nn, optim
from tutor.data import DataLoader

def made():
    tutor.manual_seed(7)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    x = Tensor.randn(50, 4)
    y = x[:, :1] * 2 + 1
    loader = DataLoader((x, y), 8, shuffle=True, prefetch=2,
                        transform=lambda x: x + 0.1 * Tensor.randn(*x.shape))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    def step(x, y):
        dropped = model(x) * (Tensor.rand(*y.shape) > 0.1)  # the process's random numbers
        loss = ((dropped - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss
    parts = {"model": model, "optimizer": optimizer, "loader": loader, "generator": True}
    return parts, tutor.jit(step) if "jit" in sys.argv else step

def train(parts, step, losses, until, stop=None):
    while parts["loader"].epoch < until:
        for x, y in parts["loader"]:
            losses.append(step(x, y).item())
            if len(losses) == stop:
                return
parts, step = made()
path, losses = sys.argv[1], []
if "whole" in sys.argv:
    train(parts, step, losses, 2)
elif "begin" in sys.argv:
    train(parts, step, losses, 2, stop=10)  # in the middle of the second epoch
    tutor.save(path, **parts, losses=losses)
else:
    losses = tutor.load(path, **parts)["losses"]
    train(parts, step, losses, 2)
print(len(losses), [x.hex() for x in losses], parts["model"].layers[0].weight.tolist())
"""


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_a_run_that_was_stopped_is_the_run_in_one_go_to_the_bit(tmp_path, mode):
    """Three processes: all of it; up to the middle of an epoch; the rest."""
    said = []
    for part in ("whole", "begin", "rest"):
        command = [sys.executable, "-c", RUN, str(tmp_path / "run"), part, mode]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, run.stderr
        said.append(run.stdout)
    whole, begun, rest = said
    assert begun.startswith("10 ") and whole.startswith("14 ")
    assert rest == whole != begun


# ---- mistakes ------------------------------------------------------------------------------------


def nothing():
    """A function, of which nothing can be saved."""


def deep(levels):
    """[[[...]]]"""
    state = []
    for _ in range(levels):
        state = [state]
    return state


REFUSED = [
    (lambda p: tutor.save(nn.Linear(1, 1).state_dict(), p), DTypeError, "first argument"),
    (lambda p: tutor.load({"a": 1}), DTypeError, "first argument"),
    (lambda p: tutor.save(p), DTypeError, "nothing to save"),
    (lambda p: tutor.save(p, {"a": 1}, b=2), DTypeError, "a state, and parts"),
    (lambda p: tutor.save(p, f=nothing), DTypeError, "to save f"),
    (lambda p: tutor.save(p, a={"b": [object()]}), DTypeError, "to save a.b.0"),
    (lambda p: tutor.save(p, a={(1, 2): 3}), DTypeError, "key"),
    (lambda p: tutor.save(p, a={1.5: 3}), DTypeError, "key"),
    (lambda p: tutor.save(p, a=1j), DTypeError, "to save a"),
    (lambda p: tutor.save(p, a={3}), DTypeError, "to save a"),
    (lambda p: tutor.save(p, b=b"bytes"), DTypeError, "to save b"),
    (lambda p: tutor.save(p, a=deep(100_000)), DataError, "too deep"),
    (lambda p: tutor.load(p.with_name("none")), DataError, "No such file"),
    (lambda p: tutor.load(p, optimizer=optim.SGD(nn.Linear(1, 2).parameters())), DataError,
     "in the file: model, extra"),
    (lambda p: tutor.load(p, model=nn.Linear(2, 2)), DataError, "is"),
    (lambda p: tutor.load(p, extra=[1]), DTypeError, "cannot be filled"),
    (lambda p: tutor.load(p, generator=True), DataError, "generator"),
    (lambda p: tutor.load(p, extra=DataLoader([1])), DataError, ""),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED)
def test_refused(tmp_path, call, kind, words):
    path = tmp_path / "x"
    tutor.save(path, model=nn.Linear(1, 2), extra=[1])
    before = path.read_bytes()
    with pytest.raises(kind, match=words or None) as caught:
        call(path)
    error = caught.value
    assert isinstance(error, TutorError) and error.asked and error.found and error.do
    assert path.read_bytes() == before


@pytest.mark.parametrize("wrong", [None, "", 2.5, b"x", "a\0b", [], {"a": 1}, object(), int])
def test_what_is_no_name_of_a_file_is_refused(wrong):
    for call in (lambda: tutor.save(wrong, a=1), lambda: tutor.load(wrong)):
        with pytest.raises(TutorError) as caught:
            call()
        assert caught.value.asked and caught.value.found and caught.value.do


def test_a_torn_file_and_an_altered_one_are_refused(tmp_path):
    path = tmp_path / "x"
    tutor.save(path, model=nn.Linear(1, 2), at=[1, 2])
    payload = path.read_bytes()
    altered = [payload[:n] for n in range(0, len(payload), 7)]
    altered += [
        payload[:i] + bytes([payload[i] ^ 1]) + payload[i + 1 :] for i in range(len(payload))
    ]
    for wrong in altered:
        path.write_bytes(wrong)
        with pytest.raises(DataError):
            tutor.load(path)


@pytest.mark.parametrize("note", ["", "[", '{"tensor": "none"}', '{"a": 1, "b": 2}', "{}",
                                  '{"dict": 3}', '{"what": 1}', '{"dict": [[1]]}',
                                  "[" * 100_000, "[" * 20_000 + "]" * 20_000],
                         ids=lambda note: note[:20])  # fmt: skip
def test_a_note_that_is_no_state_is_refused(tmp_path, note):
    path = tmp_path / "x"
    checkpoint.save(path, {"w": Tensor([1.0])}, {saving.STATE: note})
    with pytest.raises(DataError, match="no such state"):
        tutor.load(path)
