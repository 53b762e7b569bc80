"""TUTOR_CC=1: a jitted function runs what a C compiler made of it, within the kernels' classes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.programs.source.compiled_runner import Road


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Compiled Programs, in a folder of this test."""
    monkeypatch.setenv("TUTOR_CC", "always")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def losses(jit: bool) -> list[float]:
    tutor.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = optim.Adam(nn.get_parameters(model), lr=0.05)
    x, y = Tensor.randn(5, 6), tutor.randint(0, 3, (5,))

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = model(x).cross_entropy(y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    jitted = tutor.jit(step)
    found = [float((jitted if jit else step)(x, y).item()) for _ in range(8)]
    if jit:
        assert jitted._latest[0].replay.is_compiled
        assert "test_compiled_runner.py" in jitted.source()
    return found


def test_a_training_step_runs_in_c(kept: Path) -> None:
    with tutor.use_backend("simd_cpp"):
        assert losses(jit=True) == pytest.approx(losses(jit=False), rel=1e-4)
    assert any(kept.rglob("*.so"))


TABLE = Tensor(list(range(24)), dtype="float32").reshape(6, 4)
SLICES: dict[str, tuple[Any, Any]] = {  # a function, and its arguments in call i
    "rows": (lambda x: (x * 2 + 1).relu().sum(), lambda i: [TABLE[i : i + 2]]),
    "one row": (lambda x: x * 2, lambda i: [TABLE[i]]),
    "that are written": (lambda x: x.mul_(2), lambda i: [TABLE[i : i + 2]]),
    "of positions": (lambda x, at: x[at], lambda i: [TABLE, POSITIONS[i : i + 3]]),
    "returned": (lambda x: x.T, lambda i: [TABLE[i : i + 2]]),
    "beside a whole": (lambda x, y: x * y + x, lambda i: [TABLE[0].copy(), TABLE[i + 1]]),
    "from the end": (lambda x: x.exp().sum(), lambda i: [TABLE[-1]]),
}
POSITIONS = Tensor([1, 2, 3, 0, 0, 0, 99, 99, 99])  # those beyond are never among an argument's


@pytest.mark.parametrize("name", SLICES)
def test_arguments_may_be_slices(name: str, kept: Path) -> None:
    """What is tried is the slice, not the Buffer that it is a part of."""
    function, arguments = SLICES[name]
    with tutor.use_backend("simd_cpp"):
        jitted = tutor.jit(function)
        for call in range(4):
            given = arguments(call)
            wanted = function(*[x.copy() for x in given])
            made = jitted(*given).reshape(-1).tolist()
            assert made == pytest.approx(wanted.reshape(-1).tolist(), rel=1e-5)
        assert jitted._latest[0].replay.is_compiled
        assert jitted.stats()["replayed"] == 2


@pytest.mark.parametrize("faster", [False, True])
def test_what_is_slower_in_c_is_not_used_and_one_line_says_so(
    faster: bool,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TUTOR_CC", "1")
    real, ran = Road._times, []

    def times(self: Road, function: Any, buffers: Any) -> tuple[float, float]:
        ran.append(real(self, function, buffers))
        return (1e-6, 2e-6) if faster else (2e-6, 1e-6)

    monkeypatch.setattr(Road, "_times", times)
    with tutor.use_backend("simd_cpp"):
        jitted = tutor.jit(lambda x: (x * 3 + 1).relu())
        assert [jitted(Tensor([1.0])).item() for _ in range(4)] == [4.0] * 4
    assert jitted._latest[0].replay.is_compiled == faster
    assert bool(jitted._shortcut) != faster
    assert len(ran) == 1 and all(0 < seconds < math.inf for seconds in ran[0])
    line = "tutor: TUTOR_CC: in C a Program of 1 steps takes 2.0 us, else 1.0; the library's own"
    assert (line in capsys.readouterr().err) != faster


def test_temps_share_memory_in_c_as_they_do_without(kept: Path) -> None:
    """Four hidden layers, each with a temp of its own: two are needed at a time."""
    weights = [tutor.randn(16, 16) for _ in range(5)]

    def chain(x: Tensor) -> Tensor:
        for w in weights:
            x = (x @ w).softmax(-1)
        return x

    with tutor.use_backend("simd_cpp"):
        jitted, x = tutor.jit(chain), tutor.randn(4, 16)
        for _ in range(3):
            made = jitted(x)
        assert made.flatten().tolist() == pytest.approx(chain(x).flatten().tolist(), rel=1e-4)
    replay = jitted._latest[0].replay
    assert replay.is_compiled
    assert replay.nbytes == 2 * 4 * 16 * 4 < sum(s.nbytes for s in replay.layout.offsets)


def test_who_watches_sees_each_step(kept: Path) -> None:
    with tutor.use_backend("simd_cpp"):
        jitted = tutor.jit(lambda x: (x.exp() @ x).sum(0))
        x = Tensor.randn(4, 4)
        for _ in range(3):
            compiled = jitted(x)
        seen: list[str] = []
        with tutor.watch(lambda step, go: (seen.append(step.kernel), go())):
            watched = jitted(x)
    assert seen == [step.kernel for step in jitted.program]
    assert watched.tolist() == pytest.approx(compiled.tolist(), rel=1e-5)


def test_without_a_compiler_it_runs_as_ever(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with tutor.use_backend("simd_cpp"):
        jitted = tutor.jit(lambda x: x * 2)
        assert [jitted(Tensor([1.0])).item() for _ in range(3)] == [2.0] * 3
    assert "TUTOR_CC" in capsys.readouterr().err
    assert not jitted._latest[0].replay.is_compiled
