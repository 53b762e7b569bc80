"""Where random numbers begin: a seed that is given, or one of the system's."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from at_once import at_once
from backend_names import BACKENDS

import tutor
from tutor import Buffer, Tensor, random, registry
from tutor.dtype import uint32
from tutor.errors import NumberRangeError

ROOT = str(Path(tutor.__file__).parents[1])


def fresh(code: str) -> list[str]:
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ROOT, "TUTOR_BACKEND": "python"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return result.stdout.split()


def test_every_process_without_a_seed_draws_other_numbers_and_says_how_to_repeat_them() -> None:
    code = "import tutor; x = tutor.rand(1).item(); print(tutor.initial_seed(), x)"
    (a, x), (b, y) = fresh(code), fresh(code)
    assert a != b
    assert x != y
    tutor.manual_seed(int(a))
    assert repr(tutor.rand(1).item()) == x


def test_the_seed_is_there_before_the_first_number() -> None:
    code = "import tutor; s = tutor.initial_seed(); x = tutor.rand(1).item(); "
    code += "tutor.manual_seed(s); print(x == tutor.rand(1).item(), tutor.initial_seed() == s)"
    assert fresh(code) == ["True", "True"]


def test_seed_draws_one_and_returns_it() -> None:
    drawn = random.seed()
    x = Tensor.rand(3).tolist()
    assert tutor.initial_seed() == drawn != random.seed()
    tutor.manual_seed(drawn)
    assert Tensor.rand(3).tolist() == x


def test_state_goes_out_and_in() -> None:
    tutor.manual_seed(5)
    Tensor.rand(10)
    state = random.get_state()
    x = Tensor.rand(3).tolist()
    random.set_state(state)
    assert Tensor.rand(3).tolist() == x
    assert (random.get_state()[0], tutor.initial_seed()) == (5, 5)


@pytest.mark.parametrize("wrong", [-1, 2**64, 1.5, "a", None])
def test_a_seed_is_a_whole_number(wrong: object) -> None:
    tutor.manual_seed(3)
    with pytest.raises(NumberRangeError, match="64 bits"):
        tutor.manual_seed(wrong)  # type: ignore[arg-type]
    assert tutor.initial_seed() == 3


BLOCKS = [registry.table(name)["random_bits", uint32] for name in (*BACKENDS, *BACKENDS)]


def test_threads_on_different_backends_draw_different_numbers() -> None:
    """Each call takes its place in the one stream as if at one instant, whatever kernel it is."""
    drawn: list[tuple[int, ...]] = []
    stream = random.Stream(7)

    def draw(kernel: registry.Kernel) -> None:
        for _ in range(300):
            out = registry.Operand(Buffer.empty(4, uint32), (4,), (1,), 0)
            kernel(out, *stream.cells, blocks=1)
            drawn.append(tuple(out.buf.tolist()))

    at_once([functools.partial(draw, kernel) for kernel in BLOCKS])
    assert len(drawn) == len(set(drawn)) == 300 * len(BLOCKS)
    assert stream.state == (7, len(drawn))


def test_a_seed_gives_the_numbers_that_it_always_gave(backend: str) -> None:
    """Written down once: who has published a seed relies on them."""
    tutor.manual_seed(3)
    uniform = [0.8166549801826477, 0.11682552099227905, 0.656050443649292]
    assert Tensor.rand(5).tolist()[:3] == uniform
    normal = [-0.8702286551028717, -1.787549922017398, -0.19581694037944297]
    assert Tensor.randn(3, dtype="float64").tolist() == pytest.approx(normal, rel=1e-15)
    assert tutor.randint(0, 100, (4,)).tolist() == [6, 50, 5, 91]
    assert random.get_state() == (3, 9)
    assert random.permutation(6, 1, 2) == [4, 0, 3, 2, 1, 5]


def test_a_counter_that_runs_over_begins_anew(backend: str) -> None:
    random.set_state((5, 2**64 - 1))
    Tensor.rand(8)
    assert random.get_state() == (5, 3)
    x = Tensor.rand(4).tolist()
    random.set_state((5, 3))
    assert Tensor.rand(4).tolist() == x


@pytest.mark.parametrize(("draw", "said"), [("tutor.rand(1)", "seed 77"), ("", "")])
def test_tutor_debug_names_the_seed_at_the_end(draw: str, said: str) -> None:
    code = f"import tutor\nif {draw!r}: tutor.manual_seed(77); {draw or 'pass'}"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ROOT, "TUTOR_DEBUG": "1", "TUTOR_BACKEND": "python"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert ("random numbers" in result.stderr) is bool(said)
    assert said in result.stderr


@pytest.mark.parametrize(
    "state", [None, 1, (1,), (1, 2, 3), (1.0, 2), (-1, 0), (2**64, 0), (1, -1), (1, 2**64)]
)
def test_what_is_no_state_is_refused(state):
    before = random.get_state()
    with pytest.raises(NumberRangeError):
        random.set_state(state)
    with pytest.raises(NumberRangeError, match="a state is a pair"):
        random.Stream(7).state = state
    assert random.get_state() == before
