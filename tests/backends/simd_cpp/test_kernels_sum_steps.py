"""The steps towards a fast sum: each computes the same but for rounding, in any layout."""

from __future__ import annotations

import numpy as np
import pytest
from backend_names import LEVELS as BACKENDS

from tutor import Tensor, float32
from tutor.backends import simd_cpp
from tutor.backends.registry import table

LEVELS = [name.removeprefix("simd_cpp.") for name in BACKENDS]
STEPS = ("naive", "unrolled", "simd", "accumulators", "tree", "threaded")
ROUNDOFF = 2.0**-24
BRANCH = 64 * 512  # of sum.threaded

# The shape of x, the axes that go, and x as the kernel is given it.
LAYOUTS = {
    "one number": ((), (), lambda x: x),
    "no number": ((0,), (0,), lambda x: x),
    "no number each": ((3, 0), (1,), lambda x: x),
    "no sum": ((0, 3), (1,), lambda x: x),
    "a row": ((515,), (0,), lambda x: x),
    "two branches and some": ((2 * BRANCH + 700,), (0,), lambda x: x),
    "five branches": ((5 * BRANCH,), (0,), lambda x: x),
    "rows": ((7, 70), (1,), lambda x: x),
    "columns": ((70, 7), (0,), lambda x: x),
    "transposed": ((7, 70), (0,), lambda x: x.T),
    "every other number, backwards": ((5, 133), (1,), lambda x: x[:, ::-2]),
    "around the middle axis": ((9, 5, 11), (0, 2), lambda x: x),
}


def close(got: np.ndarray, expected: np.ndarray, x: np.ndarray, axes: tuple[int, ...]) -> bool:
    """Within the bound of signatures.py's class `sum`: see tutor/testing/cases/bounds.py."""
    terms = int(np.prod([x.shape[a] for a in axes]))
    sizes = np.abs(x.astype("d")).sum(axes)
    return bool(
        (np.abs(got.astype("d") - expected) <= (terms + 2) * ROUNDOFF * sizes + 1e-45).all()
    )


@pytest.mark.parametrize("level", LEVELS)
def test_all_steps_are_there(level: str) -> None:
    found = [name for name in simd_cpp.variants(level) if name.startswith("sum.")]
    assert sorted(found) == sorted(f"sum.{step}" for step in STEPS)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_step_gives_the_sum(level: str, step: str, layout: str) -> None:
    shape, axes, view = LAYOUTS[layout]
    numbers = np.random.default_rng(0).standard_normal(shape).astype("f")
    x, seen = view(Tensor(numbers)), view(numbers)
    rest = tuple(n for d, n in enumerate(seen.shape) if d not in axes)
    out, expected = Tensor(np.full(rest, 7, "f")), Tensor(np.full(rest, 7, "f"))
    simd_cpp.variants(level)[f"sum.{step}"](out, x, axis=axes)
    table("python_ref")["sum", float32](expected, x, axis=axes)
    assert close(out.numpy(), expected.numpy(), seen, axes)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", ["tree", "threaded"])
@pytest.mark.parametrize("n", [1, 31, 512, 513, 5000, BRANCH + 1, 7 * BRANCH + 77])
def test_the_last_steps_are_the_kernel_in_use_to_the_bit(level: str, step: str, n: int) -> None:
    x = Tensor(np.random.default_rng(n).standard_normal(n).astype("f"))
    sums = [Tensor(np.zeros((), "f")) for _ in range(2)]
    simd_cpp.variants(level)[f"sum.{step}"](sums[0], x, axis=0)
    simd_cpp.table(level)["sum", float32](sums[1], x, axis=0)
    assert sums[0].numpy().tobytes() == sums[1].numpy().tobytes()
