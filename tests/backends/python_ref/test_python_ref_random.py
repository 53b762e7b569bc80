"""The reference backend's random numbers against the known answers of Philox."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arrays import assert_same, cell, numpy_type, operand, rounded, view
from kernel_inputs import FIRST_BLOCK

from tutor.backends import registry
from tutor.backends.python_ref.random import normal_of, philox
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, uint64

KERNELS = registry.table("python_ref")


@pytest.mark.parametrize(
    ("seed", "counter", "words"),
    [
        (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (2**64 - 1, 2**128 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            0x299F31D0_A4093822,
            0x03707344_13198A2E_85A308D3_243F6A88,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_known_answers(seed: int, counter: int, words: str) -> None:
    """The list kat_vectors that the authors of Philox publish with Random123."""
    assert " ".join(f"{word:08x}" for word in philox(seed, counter)) == words


def draw(
    name: str, dtype: DType, count: int, layout: str = "contiguous", *, seed: int, counter: int
) -> np.ndarray:
    out = operand(np.zeros(count, numpy_type(dtype)), layout, dtype)
    cells = cell(seed, uint64), cell(counter, uint64)
    KERNELS[name, dtype](out, *cells, blocks=7)
    assert view(cells[0]) == seed
    assert view(cells[1]) == (counter + 7) % 2**64
    return view(out)


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, d) for name in FIRST_BLOCK for d in SIGNATURES[name].dtypes]
)
def test_stream(name: str, dtype: DType) -> None:
    wanted = rounded(np.array(FIRST_BLOCK[name][dtype.name]), dtype)
    assert_same(draw(name, dtype, len(wanted), seed=0, counter=0), wanted)
    # A stream can be entered at any block, and is laid down row-major wherever `out` stands.
    stream = draw(name, dtype, 41, "reversed", seed=2**63 + 5, counter=2**64 - 3)
    rest = draw(name, dtype, 40 - 5 * len(wanted), "sliced", seed=2**63 + 5, counter=2)
    assert not np.array_equal(stream[5 * len(wanted) : 40], rest)  # counters have 64 bits
    rest = draw(name, dtype, 41 - 2 * len(wanted), "sliced", seed=2**63 + 5, counter=2**64 - 1)
    assert_same(stream[2 * len(wanted) :], rest)


def test_normal_at_the_ends() -> None:
    """The smallest u and the largest: neither ln 0 nor the root of a negative number."""
    low, high = (0, 0, 0, 0), (2**32 - 1, 2**32 - 1, 0, 0)
    assert normal_of(low) == (math.sqrt(106 * math.log(2)), 0)
    assert normal_of(high) == (0, 0)


@pytest.mark.parametrize("dtype", SIGNATURES["normal"].dtypes)
def test_moments(dtype: DType) -> None:
    x = draw("uniform", dtype, 4000, seed=1, counter=0).astype(float)
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 1 / 2) < 0.02
    assert abs(x.var() - 1 / 12) < 0.005
    z = draw("normal", dtype, 4000, seed=1, counter=0).astype(float)
    assert abs(z.mean()) < 0.05
    assert abs(z.var() - 1) < 0.08
    assert abs((z[::2] * z[1::2]).mean()) < 0.05
