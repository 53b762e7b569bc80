"""The steps towards a fast matrix product: each computes the same, in any layout."""

import numpy as np
import pytest
from backend_names import LEVELS as BACKENDS

from tutor import Tensor
from tutor.backends import simd_cpp

LEVELS = [name.removeprefix("simd_cpp.") for name in BACKENDS]
STEPS = ("naive", "ikj", "tiled", "packed", "threaded")


@pytest.mark.parametrize("level", LEVELS)
def test_all_steps_are_there(level):
    assert sorted(simd_cpp.variants(level)) == sorted(f"matmul.{step}" for step in STEPS)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("lead", [(), (3,)])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (65, 70, 67), (5, 0, 3), (0, 4, 2), (130, 300, 129)]
)
def test_a_step_gives_the_product(level, step, lead, m, k, n):
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (*lead, k, m)).astype("f")  # whole numbers: exact in any order
    b = rng.integers(-4, 5, (*lead, k, n)).astype("f")
    x, y = Tensor(a).transpose(), Tensor(b[..., ::-1].copy())[..., ::-1]
    out = Tensor(np.full((*lead, m, n), 7, "f"))
    simd_cpp.variants(level)[f"matmul.{step}"](out, x, y)
    assert np.array_equal(out.numpy(), a.swapaxes(-1, -2) @ b)
