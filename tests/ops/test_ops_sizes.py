"""Sizes that no memory holds are refused at once; what fills memory does not loop in Python."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tutor
import tutor.nn.functional as functional
from tutor import Tensor
from tutor.errors import NumberRangeError, OutOfMemoryError, ShapeError, TutorError

pytestmark = pytest.mark.usefixtures("backend")

ONE = Tensor([[1.0]])
WIDE = ONE.expand(2**30, 2**31)  # a view of one number
ABSURD: dict[str, Callable[[], Any]] = {
    "arange": lambda: Tensor.arange(10**18),
    "arange, float": lambda: Tensor.arange(0.0, 1e300),
    "arange, 2**53 and more": lambda: Tensor.arange(0.0, 2.0**60),
    "arange, tiny step": lambda: Tensor.arange(0, 1, 1e-320),
    "arange, larger than any float": lambda: Tensor.arange(-1e308, 1e308, 1e-308),
    "linspace": lambda: Tensor.linspace(0, 1, 2**60),
    "linspace, integers": lambda: Tensor.linspace(0, 2**60, 2**60 + 1, dtype="int64"),
    "linspace, a number of 400 digits": lambda: Tensor.linspace(0, 1, 10**400),
    "eye": lambda: Tensor.eye(2**40),
    "eye, one row": lambda: Tensor.eye(1, 2**60),
    "one_hot": lambda: Tensor([1, 2]).one_hot(2**50),
    "one_hot of the largest": lambda: Tensor([2**50]).one_hot(),
    "repeat": lambda: Tensor([1, 2]).repeat(2**50),
    "repeat of one": lambda: Tensor([1]).repeat(2**50),
    "repeat, one for each": lambda: Tensor([1, 2]).repeat([2**50, 1]),
    "tile": lambda: Tensor([1, 2]).tile(2**50),
    "tile of one": lambda: Tensor([1]).tile(2**50),
    "full": lambda: Tensor.full((2**40, 2**40), 1),
    "zeros": lambda: Tensor.zeros(2**60),
    "zeros_like": lambda: Tensor.zeros_like(WIDE),
    "rand": lambda: Tensor.rand(2**60),
    "randn": lambda: Tensor.randn(2**31, 2**31),
    "glorot_uniform": lambda: Tensor.glorot_uniform(2**30, 2**30),
    "pad": lambda: ONE.pad(((2**50, 0), (0, 0))),
    "pad, edge": lambda: ONE.pad(((2**50, 0), (0, 0)), mode="edge"),
    "pad, reflect": lambda: Tensor([1, 2]).pad(((0, 2**50),), mode="reflect"),
    "tril": lambda: WIDE.tril(),
    "triu": lambda: WIDE.triu(),
    "meshgrid": lambda: tutor.meshgrid(WIDE[0], WIDE[0])[0].copy(),
    "expand and copy": lambda: WIDE.copy(),
    "expand and reshape": lambda: Tensor([1.0, 2.0]).unsqueeze(1).expand(2, 2**60).reshape(-1),
    "add": lambda: WIDE + 1,
    "cast": lambda: WIDE.cast("int64"),
    "where": lambda: tutor.where(WIDE > 0, 1, 2),
    "cat": lambda: tutor.cat([WIDE, WIDE]),
    "stack": lambda: tutor.stack([WIDE, WIDE]),
    "matmul": lambda: ONE.expand(2**40, 1) @ ONE.expand(1, 2**40),
    "outer": lambda: WIDE[0].outer(WIDE[:, 0]),
    "unfold": lambda: WIDE[0].unfold(0, 2**20).copy(),
    "cumsum": lambda: WIDE.cumsum(0),
    "cumprod": lambda: WIDE.cumprod(0),
    "sort": lambda: WIDE.sort(),
    "softmax": lambda: WIDE.softmax(),
    "gather": lambda: Tensor([1.0]).gather(0, Tensor([0]).expand(2**60)),
    "index_select": lambda: Tensor([1.0]).index_select(0, Tensor([0]).expand(2**60)),
    "scatter": lambda: WIDE.scatter(0, [[0]], 1.0),
    "roll": lambda: WIDE.roll(1, 0),
    "adaptive_avg_pool": lambda: functional.adaptive_avg_pool1d(Tensor.ones(1, 1, 2), 2**60),
    "conv2d, padded": lambda: functional.conv2d(
        Tensor.ones(1, 1, 2, 2), ONE[None, None], padding=2**40
    ),
    "Buffer": lambda: tutor.Buffer.empty(10**30, tutor.int8),
    "range": lambda: Tensor(range(10**18)),
    "range of more than a size can be": lambda: Tensor(range(10**30)),
    "range in a list": lambda: Tensor([range(10**18)]),
    "range added": lambda: Tensor([1.0]) + range(10**18),
    "range as a shape": lambda: Tensor.zeros(range(10**18)),
    "range as a shape of views": lambda: ONE.reshape(range(10**18)),
    "range as an index": lambda: Tensor([1.0])[range(10**18)],
    "range to memory": lambda: tutor.Buffer(range(10**18)),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_sizes_are_refused_at_once(name: str) -> None:
    began = time.process_time()
    with pytest.raises((OutOfMemoryError, ShapeError)) as caught:
        ABSURD[name]()
    assert all((caught.value.asked, caught.value.found, caught.value.do))
    assert time.process_time() - began < 1


LINEAR: dict[str, Callable[[int], Any]] = {
    "arange": lambda n: Tensor.arange(n),
    "arange, float": lambda n: Tensor.arange(0.0, n / 2, 0.5),
    "arange, bool": lambda n: Tensor.arange(n, dtype="bool"),
    "linspace": lambda n: Tensor.linspace(0, 1, n),
    "eye": lambda n: Tensor.eye(1, n),
    "one_hot": lambda n: Tensor([1]).one_hot(n),
    "repeat": lambda n: Tensor([1, 2]).repeat(n),
    "repeat, one for each": lambda n: Tensor([1, 2]).repeat([1, n]),
    "tile": lambda n: Tensor([1, 2]).tile(n),
    "pad, reflect": lambda n: Tensor([1, 2]).pad(((0, n),), mode="reflect"),
    "adaptive_avg_pool": lambda n: functional.adaptive_avg_pool1d(Tensor.ones(1, 1, 2), n),
    "tril": lambda n: Tensor.ones(2, n).tril(),
    "zeros": lambda n: Tensor.zeros(n),
    "rand": lambda n: Tensor.rand(n),
}


@pytest.mark.parametrize("name", LINEAR)
def test_no_loop_over_elements_outside_of_kernels(name: str) -> None:
    """As many lines of Python run for many elements as for few, but for those of python_ref."""
    lines = 0

    def count(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal lines
        if "/tutor/" not in frame.f_code.co_filename:
            return None
        caller: FrameType | None = frame
        while caller is not None:  # and what python_ref calls
            if "python_ref" in caller.f_code.co_filename:
                return None
            caller = caller.f_back
        lines += event == "line"
        return count

    def traced(n: int) -> int:
        nonlocal lines
        lines = 0
        gc.disable()  # what others have left behind is not to be counted
        sys.settrace(count)
        try:
            LINEAR[name](n)
        finally:
            sys.settrace(before)
            gc.enable()
        return lines

    before = sys.gettrace()
    for n in (30, 3000):  # what is made once: layouts are remembered by their shape
        LINEAR[name](n)
    assert traced(3000) <= traced(30) + 20


# ---- arange and linspace -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [
        (5,), (2, 9), (9, 2), (9, 2, -2), (0, 10, 3), (-7, 7, 5), (0.0, 1.0, 0.1), (1, 0, -0.3),
        (0.5, 4), (0,), (-3,), (2**53, 2**53 + 5), (2**62, 2**62 + 9, 4), (-1.5, 1.5, 1e-1),
(2**62, -(2**62), -(2**61)),
    ],
)  # fmt: skip
def test_arange_is_numpys(bounds: tuple[Any, ...]) -> None:
    found = Tensor.arange(*bounds, dtype="float64" if float in map(type, bounds) else None)
    if found.dtype.is_float:  # of which NumPy computes the step anew, from the first two
        np.testing.assert_allclose(found.numpy(), np.arange(*bounds), rtol=1e-15, atol=1e-14)
        start, step = bounds[0], (*bounds, 1)[2]
        assert found.tolist() == [start + step * i for i in range(found.numel())]
    else:
        np.testing.assert_array_equal(found.numpy(), np.arange(*bounds))


def test_arange_counts_exactly_beyond_what_floats_can() -> None:
    big = 2**62 + 1
    assert Tensor.arange(big, big + 3).tolist() == [big, big + 1, big + 2]
    assert Tensor.arange(big, big + 3, dtype="float64").tolist() == [float(2**62)] * 3
    odd = 2**53 + 1  # rounded first, the start would be another one
    assert Tensor.arange(odd, odd + 3, dtype="float64").tolist() == [2**53, 2**53 + 2, 2**53 + 4]
    assert Tensor.arange(2**64 - 2, 2**64, dtype="uint64").tolist() == [2**64 - 2, 2**64 - 1]
    assert Tensor.arange(3, dtype="bool").tolist() == [False, True, True]
    assert Tensor.arange(0.0, 4.0, dtype="int8").tolist() == [0, 1, 2, 3]
    assert Tensor.arange(3.0, requires_grad=True).requires_grad


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_linspace_is_numpys_and_ends_where_it_should(dtype: str) -> None:
    for start, stop, n in (
        (0, 1, 11),
        (-3.5, 2.25, 7),
        (1, 1, 4),
        (5, -5, 3),
        (0, 1, 1),
        (2, 3, 0),
    ):
        found = Tensor.linspace(start, stop, n, dtype=dtype)
        wide = np.linspace(start, stop, n)
        assert found.tolist() == pytest.approx(wide.tolist(), rel=4 * found.dtype.eps)
        if n > 1:
            assert found[-1].item() == Tensor(stop, dtype=dtype).item()
    assert Tensor.linspace(0, 4, 5, dtype="int64").tolist() == [0, 1, 2, 3, 4]
    assert Tensor.linspace(0, 1, 4, endpoint=False).tolist() == [0.0, 0.25, 0.5, 0.75]
    whole = Tensor.linspace(-1.7e308, 1.7e308, 5, dtype="float64").tolist()
    assert whole == pytest.approx([-1.7e308, -8.5e307, 0.0, 8.5e307, 1.7e308])


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (lambda: Tensor.arange(float("inf")), ShapeError),
        (lambda: Tensor.arange(float("nan")), ShapeError),
        (lambda: Tensor.arange(0, 5, float("nan")), ShapeError),
        (lambda: Tensor.arange(0, 5, float("inf")), ShapeError),
        (lambda: Tensor.arange(-float("inf"), 5), ShapeError),
        (lambda: Tensor.arange(10**400), ShapeError),
        (lambda: Tensor.arange(0, 5, 0.0), ShapeError),
        (lambda: Tensor.arange(300, dtype="uint8"), NumberRangeError),
        (lambda: Tensor.arange(-1, 3, dtype="uint8"), NumberRangeError),
        (lambda: Tensor.arange(0.0, 2.0, 0.5, dtype="int64"), NumberRangeError),
        (lambda: Tensor.linspace(0, 1, 3, dtype="int64"), NumberRangeError),
        (lambda: Tensor.linspace(0, 1, -1), ShapeError),
    ],
)
def test_bounds_that_name_nothing(refused: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        refused()


def test_filled_tensors_own_their_memory() -> None:
    for t in (Tensor([1]).tile(3), Tensor([1]).repeat(3), Tensor([[1]]).repeat(3, axis=1)):
        t[...] = Tensor.arange(3).reshape(t.shape)  # as no view of one number can
        assert t.flatten().tolist() == [0, 1, 2]


@pytest.mark.parametrize("k", [-3, -1, 0, 2, 5])
def test_eye_and_one_hot_are_numpys(k: int) -> None:
    for n, m in ((3, 4), (4, 3), (0, 2), (1, 1)):
        np.testing.assert_array_equal(Tensor.eye(n, m, k).numpy(), np.eye(n, m, k))
    t = Tensor([[2, 0], [1, 1]])
    np.testing.assert_array_equal(t.one_hot(4).numpy(), np.eye(4, dtype="int64")[t.numpy()])


@pytest.mark.parametrize("repeats", [0, 1, 3, [2, 0, 1], [0, 0, 0], [0, 2, 0]])
def test_repeat_is_numpys(repeats: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(Tensor(x).repeat(repeats, 1).numpy(), x.repeat(repeats, 1))
    np.testing.assert_array_equal(Tensor(x[0]).repeat(repeats).numpy(), x[0].repeat(repeats))


X = Tensor([[1, 2], [3, 4]])
REFUSED = {  # as NumPy refuses them
    "bools as widths": lambda: X.pad(((True, False), (False, True))),
    "a set of widths": lambda: X.pad({(1, 0), (0, 1)}),
    "a mode, nothing to pad": lambda: X.pad(((0, 0), (0, 0)), mode="mirror"),
    "a value for a mode that has none": lambda: X.pad(((1, 0), (0, 0)), 3, "edge"),
    "a negative width": lambda: X.pad(((-1, 0), (0, 0)), mode="edge"),
    "a matrix of shifts": lambda: X.roll(Tensor([[1]]), 0),
    "a matrix of repeats": lambda: X.repeat(Tensor([[1], [2]]), 0),
    "a fraction of a shift": lambda: X.roll(1.5),
    "too many repeats": lambda: X.repeat([1, 2, 3], 0),
    "another reduction": lambda: X.scatter(0, [[0]], 1, reduce="prod"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses(name: str) -> None:
    with pytest.raises(TutorError) as caught:
        REFUSED[name]()
    assert caught.value.asked and caught.value.found and caught.value.do
