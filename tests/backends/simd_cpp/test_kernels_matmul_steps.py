"""The steps towards a fast matrix product: each computes the same, in any layout."""

import itertools

import numpy as np
import pytest
from backend_names import LEVELS as BACKENDS

from tutor import Tensor
from tutor.backends import simd_cpp
from tutor.dtype import float16, float32, float64

LEVELS = [name.removeprefix("simd_cpp.") for name in BACKENDS]
STEPS = ("naive", "ikj", "tiled", "lanes", "packed", "threaded")


@pytest.mark.parametrize("level", LEVELS)
def test_all_steps_are_there(level):
    found = [name for name in simd_cpp.variants(level) if name.startswith("matmul.")]
    assert sorted(found) == sorted(f"matmul.{step}" for step in STEPS)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("lead", [(), (3,)])
@pytest.mark.parametrize("backward", [False, True])  # columns side by side, or not
@pytest.mark.parametrize(
    ("m", "k", "n"),
    # the last one: blocks of B beside and below each other, and rows and columns left over
    [(1, 1, 1), (65, 70, 67), (5, 0, 3), (0, 4, 2), (130, 300, 129), (7, 67, 531)],
)
def test_a_step_gives_the_product(level, step, lead, backward, m, k, n):
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (*lead, k, m)).astype("f")  # whole numbers: exact in any order
    b = rng.integers(-4, 5, (*lead, k, n)).astype("f")
    y = Tensor(b[..., ::-1].copy())[..., ::-1] if backward else Tensor(b)
    x = Tensor(a).transpose()
    out = Tensor(np.full((*lead, m, n), 7, "f"))
    simd_cpp.variants(level)[f"matmul.{step}"](out, x, y)
    assert np.array_equal(out.numpy(), a.swapaxes(-1, -2) @ b)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    # one row, one column; a last vector that sticks out, with k in one block and in several
    [(1, 800, 300), (1, 20, 37), (70, 90, 1), (37, 41, 43), (20, 800, 17), (9, 5, 8), (300, 3, 2)],
)
def test_bits_do_not_depend_on_the_layout(level, dtype, m, k, n):
    rng, kernel = np.random.default_rng(0), simd_cpp.table(level)["matmul", dtype]
    a, b = (rng.standard_normal(shape).astype(dtype.format) for shape in ((m, k), (k, n)))

    def laid_out(x, by_columns):
        return Tensor(x.T.copy()).transpose() if by_columns else Tensor(x)

    def product(x, y, by_columns=(False, False, False)):
        out = laid_out(np.full((x.shape[0], y.shape[1]), 7, dtype.format), by_columns[0])
        kernel(out, laid_out(x, by_columns[1]), laid_out(y, by_columns[2]))
        return out.numpy()

    z = product(a, b)
    assert np.allclose(z, a.astype("d") @ b, rtol=0, atol=1e-4 if dtype is float32 else 1e-11)
    for layouts in itertools.product((False, True), repeat=3):
        assert np.array_equal(product(a, b, layouts), z)
        assert np.array_equal(product(a[-1:], b, layouts), z[-1:])  # a row alone
        assert np.array_equal(product(a, b[:, -1:], layouts), z[:, -1:])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [float16, float32, float64], ids=lambda d: d.name)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    # tiles beside each other and below each other; more rows, and columns, than one tile may have
    [(300, 40, 700), (3000, 40, 40), (4200, 3, 5), (7, 3, 1100), (200, 800, 300)],
)
def test_every_tile_of_a_layer_has_its_own_part_of_the_bias(level, dtype, relu, m, k, n):
    rng, kernel = np.random.default_rng(0), simd_cpp.table(level)["linear", dtype]
    x, w = (rng.integers(-1, 2, shape).astype(dtype.format) for shape in ((m, k), (n, k)))
    b = rng.integers(-100, 101, n).astype(dtype.format)  # sums are exact, also in float16
    for transposed in (False, True):
        out = Tensor(np.full((n, m) if transposed else (m, n), 7, dtype.format))
        kernel(out.T if transposed else out, Tensor(x), Tensor(w), Tensor(b), relu=relu)
        expected = x.astype("d") @ w.T + b
        expected = np.maximum(expected, 0) if relu else expected
        assert np.array_equal(out.numpy(), expected.T if transposed else expected)


@pytest.mark.parametrize("level", LEVELS)
def test_bits_do_not_depend_on_the_number_of_threads(level):
    """Nor on the tiles, which one thread alone makes larger than several do."""
    rng, kernel = np.random.default_rng(0), simd_cpp.table(level)["matmul", float32]
    before = simd_cpp.num_threads()
    # k in one block and in two; higher than wide, and wider than high; a last tile that is narrower
    for m, k, n in ((300, 200, 700), (530, 400, 270), (290, 512, 600)):
        a, b = (rng.standard_normal(shape).astype("f") for shape in ((m, k), (k, n)))
        found = []
        for threads in (1, 2, 3):
            simd_cpp.set_num_threads(threads)
            try:
                out = Tensor(np.full((m, n), 7, "f"))
                kernel(out, Tensor(a), Tensor(b))
            finally:
                simd_cpp.set_num_threads(before)
            found.append(out.numpy())
        assert np.allclose(found[0], a.astype("d") @ b, rtol=0, atol=1e-4)
        assert all(np.array_equal(z.view("i"), found[0].view("i")) for z in found)
