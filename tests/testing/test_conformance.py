"""Every backend agrees with python_ref; and what checks that would notice if one did not."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import random
import re
import struct
from pathlib import Path

import pytest
from backend_names import BACKENDS, LEVELS

from tutor._storage.bits import unpack
from tutor.backends import registry, simd_cpp
from tutor.backends.matrix_signatures import MATRICES
from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.dtype import DType, bfloat16, bool_, float16, float32, float64, int8, int32
from tutor.errors import KernelNotFound
from tutor.testing import cases, conformance
from tutor.testing.cases.bounds import WRITTEN, bounds
from tutor.testing.cases.draws import LAYOUTS, Case, Draw
from tutor.testing.cases.operands import elements, execute, images, operand
from tutor.testing.conformance import check

ROWS = [
    pytest.param(row.name, dtype, id=f"{row.name}-{dtype.name}")
    for row in TABLE_OF_KERNELS
    for dtype in row.dtypes
]
KERNELS = [pytest.param(row, id=row.name) for row in TABLE_OF_KERNELS]
REFERENCE = registry.table("python_ref")


@pytest.mark.crossed("dtype")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kernel", "dtype"), ROWS)
def test_agrees(level: str, kernel: str, dtype: DType, measured: Measured) -> None:
    verdict = check(registry.table(level), kernel, dtype)
    assert verdict.ok, verdict.first_failure
    assert verdict.cases > 40
    measured.keep(level, verdict)


# ---- the page that shows it ----------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"


class Measured:
    """What test_agrees has found of the level on the page, in a folder of all the processes that
    share the tests: another one may have found it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        text = PAGE.read_text(encoding="utf-8")
        self.level = f"simd_cpp.{re.findall(r'The level was: ([a-z0-9]+)', text)[0]}"

    def keep(self, level: str, verdict: conformance.Verdict) -> None:
        if level == self.level:
            place = self.folder / f"{verdict.kernel}-{verdict.dtype.name}"
            new = place.with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps(verdict[2:]), encoding="utf-8")
            new.rename(place)

    def verdict(self, kernel: str, dtype: DType) -> conformance.Verdict:
        place = self.folder / f"{kernel}-{dtype.name}"
        if not place.exists():  # where the page is tested alone
            return check(registry.table(self.level), kernel, dtype)
        return conformance.Verdict(kernel, dtype, *json.loads(place.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Measured:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(pytestconfig, "workerinput") else base) / "conformance"
    folder.mkdir(exist_ok=True)
    return Measured(folder)


def errors(cell: str) -> tuple[float, str]:
    """The worst error of a row of the page, and its unit with what is allowed."""
    found = re.match(r"([\d.e+-]+)( of (?:the bound|[\d.]+ ulp))", cell)
    return (float(found[1]), found[2]) if found else (0.0, cell)


@pytest.mark.sweep
@pytest.mark.parametrize("row", KERNELS)
def test_the_page_is_what_is_measured(row, measured: Measured) -> None:
    """docs/conformance.md, line by line: what any machine finds again, and the worst error within a
    hair (the reference's functions are those of the C library)."""
    text = PAGE.read_text(encoding="utf-8")
    if measured.level not in LEVELS:
        pytest.skip("the page was measured on another CPU")
    (fresh,) = conformance.rows(measured.verdict(row.name, dtype) for dtype in row.dtypes)
    found = re.findall(rf"^\| {row.name} \| .+$", text, re.MULTILINE)
    if not found:
        pytest.skip("the page was written before there was this kernel: run make conformance")
    (line,) = found
    shown = line.strip("| ").split(" | ")
    assert [*fresh[:5], fresh[6]] == [*shown[:5], shown[6]], "run make conformance"
    (now, unit), (then, before) = errors(fresh[5]), errors(shown[5])
    assert unit == before
    assert abs(now - then) <= (0.02 if "bound" in unit else 1)


def test_the_totals_of_the_page_are_those_of_its_rows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = [
        line.strip("| ").split(" | ") for line in text.splitlines() if line.endswith("agrees |")
    ]
    table = [*TABLE_OF_KERNELS, *MATRICES.values()]
    pairs, kinds = sum(len(row.dtypes) for row in table), len(table)
    count = sum(int(row[4]) for row in rows)
    assert len(rows) == kinds
    assert f"{pairs} of {pairs} pairs of kernel and dtype agree, on {count} cases." in text
    assert f"up to {cases.LARGE:,} elements" in " ".join(text.split())


# ---- the table of cases --------------------------------------------------------------------------


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


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=lambda d: d.name)
def test_every_16_bit_float_is_drawn(dtype: DType) -> None:
    *_, case = cases.draw("expm1", dtype)
    drawn = set(elements(case.ins[0], images(case)[1], bits=True))
    every = unpack(struct.pack("=65536H", *range(65536)), dtype)
    assert drawn >= {bits for bits, x in enumerate(every) if x == x}


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
            term = operand(spec, bytes(4 * spec.room))
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
    assert "1 of 13" in text
    assert text.splitlines()[-1].endswith("missing")


def test_report_shows_what_is_wrong() -> None:
    text = conformance.report(
        [broken("add", float32, flip_last), broken("sin", float64, lambda *_: 0)]
    )
    head, add, sin, *failure = text.splitlines()
    assert head.split()[:3] == ["kernel", "agreement", "dtypes"]
    assert ("exact" in add, "1 WRONG" in add) == (True, True)
    limit = conformance.agreement("sin", float64)[1]
    assert (f"0 of {limit:g} ulp" in sin, "agrees" in sin) == (True, True)
    assert "add for float32" in "\n".join(failure)


def test_the_report_as_markdown() -> None:
    right, wrong = broken("add", int8, lambda *_: 0), broken("add", float32, flip_last)
    total, _, head, rule, add, *failure = conformance.markdown([right, wrong]).splitlines()
    assert total == (
        f"1 of 2 pairs of kernel and dtype agree, on {right.cases + wrong.cases} cases."
    )
    assert head.count("|") == rule.count("|") == add.count("|") == 8
    assert add.startswith("| add | exact | 2 of 2 | 8 |")
    assert add.endswith("| none allowed | 1 WRONG |")
    assert wrong.first_failure in "\n".join(failure)


# ---- the same bits, however they are computed ----------------------------------------------------


@functools.lru_cache(maxsize=1)  # the levels share the work of drawing
def large(kernel: str, dtype: DType) -> list[tuple[Case, list[bytes]]]:
    """A case for several threads, aligned and unaligned, with the memory of its operands."""
    aligned = cases.large(kernel, dtype, 150_001)
    unaligned = aligned.laid("offset", random.Random(0))
    return [(case, images(case)) for case in (aligned, unaligned)]


@functools.lru_cache(maxsize=1)
def expected(kernel: str, dtype: DType) -> list[bytes] | None:
    """What the reference makes of the first of them, which takes it long: for one dtype."""
    dtypes = SIGNATURES[kernel].dtypes
    if dtype is not (float32 if float32 in dtypes else dtypes[0]):
        return None
    case, before = large(kernel, dtype)[0]
    return execute(REFERENCE[kernel, dtype], case, before)


@functools.lru_cache(maxsize=1)
def allowed(kernel: str, dtype: DType) -> dict[int, list[float]]:
    """How far from it a sum may be."""
    return bounds(kernel, dtype, *large(kernel, dtype)[0])


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


@pytest.mark.crossed("dtype")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kernel", "dtype"), ROWS)
def test_threads_and_alignment_change_no_bit(
    level: str, kernel: str, dtype: DType, threads
) -> None:
    run, right = registry.table(level)[kernel, dtype], expected(kernel, dtype)
    found = []
    for count, (case, before) in itertools.product((1, 3), large(kernel, dtype)):
        threads(count)
        got = execute(run, case, before)
        found.append(results(kernel, case, got))
        if right is not None and len(found) == 1:  # alike, and right
            kind, limit = conformance.agreement(kernel, dtype)
            ask = functools.partial(allowed, kernel, dtype)
            wrong = conformance.differences(kernel, dtype, kind, case, before, right, got, ask)
            assert all(error <= limit for error, _ in wrong)
    assert all(one == found[0] for one in found)


def test_bools_are_zero_or_one(backend: str) -> None:
    case = cases.large("lt", float32, 999)
    after = execute(registry.lookup("lt", backend, float32), case, images(case))
    assert set(elements(case.out, after[0], bits=True)) == {0, 1}
    assert case.out.dtype is bool_
