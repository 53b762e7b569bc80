"""Values that a kernel cannot take, on every backend: the same typed error, with three parts."""

from __future__ import annotations

from typing import Any

import pytest

from tutor.backends import registry
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, bool_, float32, int8, int32, int64
from tutor.errors import DomainError, OutOfRangeError, ShapeError, TutorError
from tutor.testing.cases.draws import Case, Draw
from tutor.testing.cases.operands import execute, images


def refuse(backend: str, kernel: str, dtype: DType, case: Case, error: type[TutorError]) -> None:
    with pytest.raises(error, match=f"kernel {kernel}") as caught:
        execute(registry.lookup(kernel, backend, dtype), case, images(case))
    assert caught.value.found
    assert caught.value.do


# ---- indices -------------------------------------------------------------------------------------

INDEXED: dict[str, tuple[Any, ...]] = {  # kernel: shapes of out, x and the index, and parameters
    "gather": ((2, 4), (3, 4), (2, 4), {"axis": 0}),
    "scatter": ((3, 4), (3, 4), (2, 4), {"axis": 0}),
    "scatter_add": ((3, 4), (3, 4), (2, 4), {"axis": 0}),
    "index_select": ((8, 4), (3, 4), (8,), {"axis": 0}),
    "cross_entropy": ((), (8, 3), (8,), {"scale": 1.0}),
    "cross_entropy_grad": ((8, 3), (8, 3), (8,), {"scale": 1.0}),
}


@pytest.mark.parametrize("bad", [3, -4, 2**62, -(2**63)])
@pytest.mark.parametrize("kernel", INDEXED)
def test_an_index_outside(backend: str, kernel: str, bad: int) -> None:
    d = Draw(kernel, float32, 0)
    out, x, index, params = INDEXED[kernel]
    ins = [d.spec(x), d.spec(index, [0, 1, 2, 0, 1, bad, 0, 0], dtype=int64)]
    if len(d.ins) == 3:
        ins.append(d.spec(index))
    case = Case(d.result(out), tuple(ins), params)
    refuse(backend, kernel, float32, case, OutOfRangeError)


# ---- numbers -------------------------------------------------------------------------------------

# kernel, and what its second operand must not be
UNDEFINED = {
    "pow": -1,
    "floor_divide": 0,
    "remainder": 0,
    "fmod": 0,
    "bitwise_left_shift": -1,
    "bitwise_right_shift": -1,
}


@pytest.mark.parametrize("place", [0, 17, 39])  # in a vector, and behind the last whole one
@pytest.mark.parametrize("kernel", UNDEFINED)
def test_integers_without_a_result(backend: str, kernel: str, place: int) -> None:
    bad = UNDEFINED[kernel]
    for dtype in SIGNATURES[kernel].dtypes:
        if dtype.is_float or bad < dtype.min:
            continue
        d, second = Draw(kernel, dtype, 0), [1] * 40
        second[place] = bad
        for layout in ("contiguous", "sliced"):
            ins = (d.spec((40,), [2] * 40, layout), d.spec((40,), second, layout))
            refuse(backend, kernel, dtype, Case(d.result((40,), layout), ins), DomainError)


@pytest.mark.parametrize("dtype", [int8, int32, int64])
@pytest.mark.parametrize("kernel", UNDEFINED)
def test_one_number_for_all(backend: str, kernel: str, dtype: DType) -> None:
    """The second operand repeated, which a backend may look at once."""
    d = Draw(kernel, dtype, 0)
    repeated = d.spec((40,), [UNDEFINED[kernel]] * 40, "expanded")
    case = Case(d.result((40,)), (d.spec((40,), [2] * 40), repeated))
    refuse(backend, kernel, dtype, case, DomainError)


@pytest.mark.parametrize("kernel", UNDEFINED)
def test_no_elements_no_error(backend: str, kernel: str) -> None:
    d = Draw(kernel, int32, 0)
    one = d.spec((), [UNDEFINED[kernel]])
    none = one._replace(shape=(0,), strides=(0,), values=[])
    case = Case(d.result((0,)), (d.spec((0,), []), none))
    execute(registry.lookup(kernel, backend, int32), case, images(case))


# ---- counts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", [0, 2, 4, 60])
def test_nonzero_fills_out(backend: str, room: int) -> None:
    d = Draw("nonzero", bool_, 0)
    for values in ([True, False, True, True], [False, True] * 3):
        case = Case(d.result((room,)), (d.spec((len(values),), values),))
        refuse(backend, "nonzero", bool_, case, ShapeError)
