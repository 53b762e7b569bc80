"""Every backend agrees with python_ref; and what checks that would notice if one did not."""

from __future__ import annotations

import functools
import itertools
import math
import random

import pytest
from backend_names import BACKENDS, LEVELS

from tutor.backends import cases, conformance, registry, simd_cpp
from tutor.backends.cases.bounds import WRITTEN
from tutor.backends.cases.draws import LAYOUTS, Case, Draw
from tutor.backends.cases.operands import elements, execute, images, operand
from tutor.backends.conformance import check
from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.dtype import DType, bool_, float32, float64, int8, int32, int64
from tutor.errors import KernelNotFound, OutOfRangeError

ROWS = [
    pytest.param(row.name, dtype, id=f"{row.name}-{dtype.name}")
    for row in TABLE_OF_KERNELS
    for dtype in row.dtypes
]
KERNELS = [pytest.param(row, id=row.name) for row in TABLE_OF_KERNELS]
REFERENCE = registry.table("python_ref")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kernel", "dtype"), ROWS)
def test_agrees(level: str, kernel: str, dtype: DType) -> None:
    verdict = check(registry.table(level), kernel, dtype)
    assert verdict.ok, verdict.first_failure
    assert verdict.cases > 40


@pytest.mark.parametrize("name", BACKENDS)
def test_has_every_row(name: str) -> None:
    wanted = {(row.name, dtype) for row in TABLE_OF_KERNELS for dtype in row.dtypes}
    assert set(registry.table(name)) == wanted


def test_every_kernel_has_cases() -> None:
    assert set(cases.CASES) == set(SIGNATURES)


def test_a_kernel_without_cases_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(cases.CASES, "add")
    with pytest.raises(KernelNotFound, match="cases for kernel 'add'"):
        next(cases.draw("add", float32))


@pytest.mark.parametrize("row", KERNELS)
def test_every_layout_is_drawn(row) -> None:
    drawn = list(cases.draw(row.name, row.dtypes[-1]))
    outs = {case.out.layout for case in drawn}
    ins = {spec.layout for case in drawn for spec in case.ins}
    assert outs == set(LAYOUTS) - {"expanded"}
    assert ins == (set(LAYOUTS) if row.types[1:] else set())


def test_the_same_seed_draws_the_same_cases() -> None:
    def memory(seed: int) -> list[list[bytes]]:
        return [images(case) for case in cases.draw("matmul", float32, seed)]

    assert memory(3) == memory(3)
    assert memory(3) != memory(4)


# ---- the harness notices what is wrong -----------------------------------------------------------


def broken(kernel: str, dtype: DType, change) -> conformance.Verdict:
    """The verdict on python_ref with one kernel whose operands `change` spoils after the call."""

    def run(out, *ins, **params) -> None:
        REFERENCE[kernel, dtype](out, *ins, **params)
        change(out, *ins)

    verdict = check({(kernel, dtype): run}, kernel, dtype)
    assert verdict.cases
    return verdict


def test_a_sound_kernel_passes() -> None:
    assert broken("add", float32, lambda *_: None).ok


def last(out) -> int:
    """Where the last element of out stands; -1 if there is none."""
    if 0 in out.shape:
        return -1
    return out.offset + sum((n - 1) * s for n, s in zip(out.shape, out.strides, strict=True))


def flip(x, item: int) -> None:
    """Change the lowest bit of an item of x's memory."""
    x.buf.raw[item * x.buf.dtype.itemsize] ^= 1


def flip_last(out, *_) -> None:
    if last(out) >= 0:
        flip(out, last(out))


@pytest.mark.parametrize(("kernel", "dtype"), [("add", float32), ("mul", float64), ("sub", int8)])
def test_one_unit_off_is_found(kernel: str, dtype: DType) -> None:
    verdict = broken(kernel, dtype, flip_last)
    assert not verdict.ok
    assert f"{kernel} for {dtype.name}" in verdict.first_failure
    assert "expected" in verdict.first_failure


def test_one_unit_is_allowed_where_it_is_declared() -> None:
    def move(out, *_) -> None:
        at = last(out)
        if at >= 0 and 0.5 < out.buf.raw.cast("f")[at] < 2:
            flip(out, at)

    verdict = broken("exp", float32, move)
    assert verdict.ok, verdict.first_failure
    assert verdict.worst == 1


def test_a_lost_nan_is_found() -> None:
    def relu(out, x) -> None:
        REFERENCE["relu", float32](out, x)
        cells, (spec, *_) = out.buf.raw.cast("f"), out.shape or (1,)
        for i in range(spec if len(out.shape) == 1 else 0):
            at = out.offset + i * out.strides[0]
            if cells[at] != cells[at]:
                cells[at] = 0.0

    verdict = check({("relu", float32): relu}, "relu", float32)
    assert not verdict.ok
    assert "expected nan, got 0.0" in verdict.first_failure


def test_a_lost_sign_of_zero_is_found() -> None:
    def negate(out, x) -> None:
        REFERENCE["sub", float32](out, out._replace(buf=zeros(out)), x)

    def zeros(out):
        spec = Draw("neg", float32, 0).spec((len(out.buf.raw) // 4,), "whole")
        return operand(spec._replace(values=None), bytes(len(out.buf.raw) + 36)).buf

    verdict = check({("neg", float32): negate}, "neg", float32)
    assert not verdict.ok
    assert "expected -0.0, got 0.0" in verdict.first_failure


@pytest.mark.parametrize("by", [-1, 1])
def test_writing_outside_is_found(by: int) -> None:
    def stray(out, *_) -> None:
        low = out.offset + sum(
            min(0, (n - 1) * s) for n, s in zip(out.shape, out.strides, strict=True)
        )
        high = out.offset + sum(
            max(0, (n - 1) * s) for n, s in zip(out.shape, out.strides, strict=True)
        )
        if 0 not in out.shape and low + by >= 0:
            flip(out, low - 1 if by < 0 else high + 1)

    verdict = broken("add", int32, stray)
    assert not verdict.ok
    assert "written where it has no element" in verdict.first_failure


def test_writing_between_elements_is_found() -> None:
    def stray(out, *_) -> None:
        if out.shape and out.shape[-1] > 1 and min(map(abs, out.strides)) == 2:
            flip(out, out.offset + out.strides[-1] // 2)

    assert "written where it has no element" in broken("add", int32, stray).first_failure


def test_changing_an_input_is_found() -> None:
    def spoil(out, x, *_) -> None:
        if last(x) >= 0 and x.buf is not out.buf:
            flip(x, last(x))

    assert "input 1 was changed" in broken("maximum", int32, spoil).first_failure


def test_an_exception_is_found() -> None:
    def fail(*_) -> None:
        raise RuntimeError("no kernel today")

    assert "RuntimeError: no kernel today" in broken("abs", int32, fail).first_failure


def test_a_term_that_is_left_out_is_found() -> None:
    def drop(out, x, *, axis) -> None:
        if x.shape and x.shape[0] > 60 and axis == 0:
            x = x._replace(shape=(x.shape[0] - 1, *x.shape[1:]))
        REFERENCE["sum", float32](out, x, axis=axis)

    verdict = check({("sum", float32): drop}, "sum", float32)
    assert not verdict.ok


def test_rounding_of_sums_is_allowed() -> None:
    """Adding one after another in float32 is no worse than the bound says."""

    def add_up(out, x, y) -> None:
        wide, narrow = REFERENCE["matmul", float32], REFERENCE["add", float32]
        wide(
            out,
            x._replace(shape=(*x.shape[:-1], 0)),
            y._replace(shape=(*y.shape[:-2], 0, y.shape[-1])),
        )
        for k in range(x.shape[-1]):
            spec = Draw("matmul", float32, 0).result(out.shape)
            term = operand(spec, bytes(4 * spec.count))
            column = x._replace(shape=(*x.shape[:-1], 1), offset=x.offset + k * x.strides[-1])
            row = y._replace(
                shape=(*y.shape[:-2], 1, y.shape[-1]), offset=y.offset + k * y.strides[-2]
            )
            wide(term, column, row)
            narrow(out, out, term)

    verdict = check({("matmul", float32): add_up}, "matmul", float32)
    assert verdict.ok, verdict.first_failure
    assert 0 < verdict.worst < 1


def test_missing_rows_are_reported() -> None:
    verdicts = conformance.run({("add", float32): REFERENCE["add", float32]}, ["add", "sub"])
    assert [v.dtype for v in verdicts if v.cases] == [float32]
    text = conformance.report(verdicts)
    assert "1 of 12" in text
    assert text.splitlines()[-1].endswith("missing")


def test_report_shows_what_is_wrong() -> None:
    text = conformance.report(
        [broken("add", float32, flip_last), broken("sin", float64, lambda *_: 0)]
    )
    assert "1 WRONG" in text
    assert "0 ulp, allowed 2" in text


# ---- the same bits, however they are computed ----------------------------------------------------


@functools.lru_cache(maxsize=1)  # the levels share the work of drawing
def large(kernel: str, dtype: DType) -> list[tuple[Case, list[bytes]]]:
    """A case for several threads, aligned and unaligned, with the memory of its operands."""
    aligned = cases.large(kernel, dtype, 200_003)
    unaligned = aligned.laid("offset", random.Random(0))
    return [(case, images(case)) for case in (aligned, unaligned)]


def results(kernel: str, case: Case, memory: list[bytes]) -> list[bytes]:
    """The elements of what the kernel has written, of contiguous operands."""
    found = []
    for i in WRITTEN.get(kernel, (0,)):
        spec = (case.out, *case.ins)[i]
        size, count = spec.dtype.itemsize, math.prod(spec.shape)
        found.append(memory[i][spec.offset * size : (spec.offset + count) * size])
    return found


@pytest.fixture
def threads():
    before = simd_cpp.num_threads()
    yield simd_cpp.set_num_threads
    simd_cpp.set_num_threads(before)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kernel", "dtype"), ROWS)
def test_threads_and_alignment_change_no_bit(
    level: str, kernel: str, dtype: DType, threads
) -> None:
    run = registry.table(level)[kernel, dtype]
    found = []
    for count, (case, before) in itertools.product((1, 2, 3), large(kernel, dtype)):
        threads(count)
        found.append(results(kernel, case, execute(run, case, before)))
    assert all(one == found[0] for one in found)


# ---- values that no kernel can take --------------------------------------------------------------


def test_an_index_outside_is_an_error(backend: str) -> None:
    d = Draw("gather", float32, 0)
    x, out = d.spec((3, 4)), d.result((2, 4))
    src = d.spec((2, 4))
    for bad in (3, -1, 2**62):
        index = d.spec((2, 4), [0, 1, 2, 0, 1, bad, 0, 0], dtype=int64)
        for kernel, case in (
            ("gather", Case(out, (x, index), {"axis": 0})),
            ("scatter_add", Case(d.result((3, 4)), (x, index, src), {"axis": 0})),
            ("index_select", Case(out, (x, d.spec((2,), [0, bad], dtype=int64)), {"axis": 0})),
            (
                "cross_entropy",
                Case(
                    d.result(()),
                    (x, d.spec((3,), [0, bad if bad != 3 else 4, 1], dtype=int64)),
                    {"scale": 1.0},
                ),
            ),
        ):
            with pytest.raises(OutOfRangeError, match=f"kernel {kernel}"):
                execute(registry.lookup(kernel, backend, float32), case, images(case))


@pytest.mark.parametrize("dtype", [int8, int32, int64])
def test_a_negative_integer_power_is_an_error(backend: str, dtype: DType) -> None:
    d = Draw("pow", dtype, 0)
    case = Case(d.result((40,)), (d.spec((40,), [2] * 40), d.spec((40,), [1] * 39 + [-1])))
    with pytest.raises(ValueError, match="kernel pow"):
        execute(registry.lookup("pow", backend, dtype), case, images(case))


def test_bools_are_zero_or_one(backend: str) -> None:
    case = cases.large("lt", float32, 999)
    after = execute(registry.lookup("lt", backend, float32), case, images(case))
    assert set(elements(case.out, after[0], bits=True)) == {0, 1}
    assert case.out.dtype is bool_
