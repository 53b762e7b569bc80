"""Any shape, any layout, any values: every level agrees with python_ref by the kernel's class."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from backend_names import LEVELS
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tutor._storage.bits import pack, unpack
from tutor._storage.layout import axes_of
from tutor.backends import registry
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import TABLE, DType, bool_, float32
from tutor.testing import conformance
from tutor.testing.cases import CASES, elementwise, reduce, scan
from tutor.testing.cases.draws import LAYOUTS, OUT_LAYOUTS, Case, Draw, Spec, specials
from tutor.testing.cases.elementwise import allowed, domains
from tutor.testing.cases.operands import execute, images

KERNELS = [
    name
    for name, (small, _) in CASES.items()
    if small is reduce.reduction or small.__module__ in (elementwise.__name__, scan.__name__)
    if set(SIGNATURES[name].params) <= {"axis", "descending", "value"}  # which are drawn below
]
POSITIONS = ("max", "min", "argmax", "argmin")  # have no result where there is nothing
ROUNDED = {"sum": 4.0, "mean": 4.0, "prod": 1.25, "scan": 1.25}  # magnitudes that cannot overflow


def numbers(dtype: DType, largest: float | None = None) -> st.SearchStrategy[Any]:
    """What the dtype can hold: the special values, small integers, anything."""
    if dtype is bool_:
        return st.booleans()
    if dtype.is_integer:
        return st.sampled_from(specials(dtype)) | st.integers(int(dtype.min), int(dtype.max))
    if largest is not None:
        return st.floats(-largest, largest, width=16)
    width = 8 * dtype.itemsize if dtype.format != "E" else 32
    return st.sampled_from(specials(dtype)) | st.floats(width=width)  # type: ignore[arg-type]


@st.composite
def operands(
    draw: st.DrawFn, dtype: DType, shape: tuple[int, ...], domain: str, largest: float | None
) -> Spec:
    """A few values over and over, in any layout."""
    number = numbers(dtype, largest).filter(lambda v: allowed(v, domain, dtype))
    pool = draw(st.lists(number, min_size=1, max_size=9))
    pool = unpack(pack(pool, dtype), dtype)
    values = list(itertools.islice(itertools.cycle(pool), math.prod(shape)))
    layout = draw(st.sampled_from(LAYOUTS))
    return Spec.laid(dtype, shape, values, layout, random.Random(draw(st.integers(0, 99))))


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, DType, Case]:
    kernel = draw(st.sampled_from(KERNELS))
    dtype = draw(st.sampled_from(SIGNATURES[kernel].dtypes))
    d, names, params = Draw(kernel, dtype, 0), SIGNATURES[kernel].params, {}
    reduces, scans = CASES[kernel][0] is reduce.reduction, "axis" in names
    sizes = st.integers(1 if kernel in POSITIONS else 0, 7)
    shape = tuple(draw(st.lists(sizes, min_size=scans and not reduces, max_size=5)))
    while math.prod(shape) > 400:
        shape = shape[1:]
    left = shape
    if reduces:
        picked = draw(st.sets(st.integers(0, len(shape) - 1)) if shape else st.just(set()))
        params["axis"] = tuple(sorted(picked))
        left = tuple(n for a, n in enumerate(shape) if a not in axes_of(params["axis"], len(shape)))
    elif scans:
        params["axis"] = draw(st.integers(-len(shape), len(shape) - 1))
    if "descending" in names:
        params["descending"] = draw(st.booleans())
    if "value" in names:
        params["value"] = draw(numbers(dtype))
    if kernel == "cast":
        d.out = draw(st.sampled_from(TABLE))
    ins = tuple(
        draw(operands(t, shape, domain, ROUNDED.get(kernel)))
        for t, domain in zip(d.ins, domains(d), strict=True)
    )
    layout = draw(st.sampled_from(OUT_LAYOUTS))
    return kernel, dtype, Case(d.result(left, layout), ins, params)


def assert_agree(backend: str, kernel: str, dtype: DType, case: Case) -> None:
    kind, limit = conformance.agreement(kernel, dtype)
    before = images(case)
    expected = execute(registry.table("python_ref")[kernel, dtype], case, before)
    got = execute(registry.table(backend)[kernel, dtype], case, before)
    for error, say in conformance.differences(kernel, dtype, kind, case, before, expected, got):
        text = say(error, kind, limit) + conformance.signed(kernel, dtype, case)
        assert error <= limit, f"{backend}: {text}"


NONE = Draw("add", float32, 0)


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
@settings(max_examples=1000)
@given(calls())
@example(("add", float32, Case(NONE.result((3, 0)), (NONE.spec((3, 0)), NONE.spec((3, 0))))))
def test_every_level_agrees(call: tuple[str, DType, Case]) -> None:
    for level in LEVELS:
        assert_agree(level, *call)


def test_most_kernels_are_tried() -> None:
    assert len(KERNELS) > 65
    assert {"add", "cast", "fill", "sum", "argmin", "scan", "argsort"} <= set(KERNELS)
