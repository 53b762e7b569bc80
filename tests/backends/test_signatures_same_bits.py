"""One result, to the bit: for every layout, alignment and number of threads on any level, and for
what involves no e**x and no product of matrices on every level, too. And it is the right one."""

from __future__ import annotations

import functools
import math
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_names import BACKENDS, LEVELS

from tutor import Buffer, Tensor, use_backend
from tutor.backends import registry, simd_cpp
from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.dtype import TABLE, DType, bfloat16, float16, float32, float64, int64, uint32, uint64
from tutor.testing import cases
from tutor.testing.cases import reduce
from tutor.testing.cases.bounds import UPDATES, WRITTEN, bounds
from tutor.testing.cases.draws import OUT_LAYOUTS, Case, Draw
from tutor.testing.cases.operands import elements, execute, images
from tutor.testing.conformance import agreement, differences

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"
ROUNDING = [row for row in TABLE_OF_KERNELS if row.agree != "exact"]
# Of those that may round, the kernels that give the same bits on every level.
EVERYWHERE = {
    "sum", "prod", "mean", "scan", "scatter_add", "max_pool2d_grad", *UPDATES, "normal",
}  # fmt: skip


@pytest.fixture
def threads():
    before = simd_cpp.num_threads()
    yield simd_cpp.set_num_threads
    simd_cpp.set_num_threads(before)


def written(kernel: str, case: Case, memory: list[bytes]) -> list[list[int]]:
    """The bits of all that the kernel has written."""
    specs = (case.out, *case.ins)
    return [elements(specs[i], memory[i], bits=True) for i in WRITTEN.get(kernel, (0,))]


def compared(kernel: str, dtype: DType, case: Case, threads: Any, rest: bool = True) -> None:
    """Run `case` in every layout, on every level, with one thread and with three."""
    before = images(case)
    expected = execute(registry.table("python_ref")[kernel, dtype], case, before)
    kind, limit = agreement(kernel, dtype)
    limits = functools.cache(functools.partial(bounds, kernel, dtype, case, before))
    found = {}
    for layout in OUT_LAYOUTS if rest else ("contiguous",):
        laid = case.laid(layout, random.Random(0))
        memory = images(laid)
        for level in LEVELS:
            for count in (1, 3):
                threads(count)
                got = execute(registry.table(level)[kernel, dtype], laid, memory)
                found[level, layout, count] = written(kernel, laid, got)
                if (layout, count) == ("contiguous", 1):
                    wrong = differences(kernel, dtype, kind, case, before, expected, got, limits)
                    assert all(error <= limit for error, _ in wrong), f"{kernel} on {level}"
    for (level, layout, count), bits in found.items():
        same = bits == found[level, "contiguous", 1]
        assert same, f"{kernel} {dtype.name} on {level}: {layout}, {count} threads"
    if kernel in EVERYWHERE or kind == "exact":
        for level in LEVELS:
            same = found[level, "contiguous", 1] == found[LEVELS[-1], "contiguous", 1]
            assert same, f"{kernel} {dtype.name}: {level} and {LEVELS[-1]} differ"


@pytest.mark.crossed("dtype")
@pytest.mark.parametrize("dtype", [float16, float32, float64], ids=lambda d: d.name)
@pytest.mark.parametrize("kernel", [row.name for row in ROUNDING])
def test_layout_threads_and_level(kernel: str, dtype: DType, threads: Any) -> None:
    compared(kernel, dtype, cases.large(kernel, dtype, 9_001), threads)


SUMS = [
    ((1031,), 0), ((9, 1031), 1), ((1031, 9), 0), ((513, 70), 0), ((70, 513), 1), ((33, 40), 0),
    ((7, 33, 40), (0, 2)), ((40_000,), 0), ((33_000, 3), 0), ((3, 33_000), 1), ((40, 41, 43), 1),
    ((1100, 260), 0), ((70, 1030), 0), ((40_000, 8), 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [(kernel, dtype) for kernel in ("sum", "prod", "mean")
     for dtype in (float16, float32, float64, int64)
     if dtype in SIGNATURES[kernel].dtypes],
)  # fmt: skip
def test_sums_by_rows_and_by_columns_are_one_tree(kernel: str, dtype: DType, threads: Any) -> None:
    """Transposed, what was walked along memory is walked across it: in the same order."""
    for shape, axis in SUMS:
        domain = "factor" if kernel == "prod" else "small"
        values = Draw(kernel, dtype, 1).values(math.prod(shape), domain)
        case = reduce.reduced(Draw(kernel, dtype, 1), shape, axis, ("contiguous",) * 2, values)
        compared(kernel, dtype, case, threads, rest=math.prod(shape) < 50_000)
        flipped = case.laid("transposed", random.Random(0))
        assert flipped.ins[0].strides != case.ins[0].strides or len(shape) == 1


def test_the_page_says_which_kernels_are_the_same_on_every_level() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    (named,) = re.findall(r"on every level, too: (.+?)\.", text)
    assert set(re.findall(r"`(\w+)`", named)) == EVERYWHERE


# ---- what planted errors have taught -------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
def test_argsort_with_one_outlier_in_each_digit(level: str, dtype: DType) -> None:
    """All keys but one alike in a digit: it must be sorted by all the same."""
    n, size = 64 * dtype.itemsize + 700, dtype.itemsize
    for byte in range(size):
        for place in (0, 1, n // 2, n - 1):
            raw = bytearray((b"\x00" * (size - 1) + b"\x01") * n)
            raw[place * size : (place + 1) * size] = bytes(size)
            raw[place * size + byte] = 1
            spec = Draw("argsort", dtype, 0).spec((n,), [0] * n)
            params = {"axis": 0, "descending": False}
            case = Case(Draw("argsort", dtype, 0).result((n,)), (spec,), params)
            before = images(case)
            memory = bytearray(before[1])
            memory[spec.offset * size : (spec.offset + n) * size] = raw
            before[1] = bytes(memory)
            got = execute(registry.table(level)["argsort", dtype], case, before)
            wanted = execute(registry.table("python_ref")["argsort", dtype], case, before)
            assert elements(case.out, got[0]) == elements(case.out, wanted[0])


@pytest.mark.parametrize("backend", LEVELS)
@pytest.mark.parametrize(
    ("kernel", "per_block"), [("random_bits", 4), ("uniform", 4), ("normal", 2)]
)
def test_a_random_stream_never_repeats(backend: str, kernel: str, per_block: int) -> None:
    """Anywhere in a long stream stand the numbers that the reference has for that block."""
    dtype, count, counter = uint32 if kernel == "random_bits" else float32, 300_000, 5
    long = numbers(backend, kernel, dtype, count, counter)
    for start in (0, 1 << 14, 1 << 16, (1 << 16) + 4, 1 << 17, 1 << 18, count - 8):
        wanted = numbers("python_ref", kernel, dtype, 8, counter + start // per_block)
        if kernel == "normal":
            assert long[start : start + 8] == pytest.approx(wanted, rel=1e-6)
        else:
            assert long[start : start + 8] == wanted
    rows = np.array(long).reshape(-1, 4)
    assert len(np.unique(rows, axis=0)) > 0.999 * len(rows)


def numbers(backend: str, kernel: str, dtype: DType, count: int, counter: int) -> list[Any]:
    d = Draw(kernel, dtype, 0)
    cells = d.cell(11, uint64), d.cell(counter, uint64)
    case = Case(d.result((count,)), cells, {"blocks": 1})
    return elements(
        case.out, execute(registry.table(backend)[kernel, dtype], case, images(case))[0]
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_scan_carries_on_to_the_end(backend: str) -> None:
    n = 20_000
    with use_backend(backend):
        for shape, axis in (((n,), 0), ((2, n), 1), ((n, 3), 0), ((7, n), 1)):
            ones = Tensor.ones(shape, dtype="int64")
            sizes = [-1 if a == axis else 1 for a in range(len(shape))]
            along = Tensor.arange(1, n + 1).reshape(sizes)
            assert ones.cumsum(axis).tolist() == along.expand(shape).tolist()
            assert ones.cumprod(axis).tolist() == ones.tolist()
            first = ones.cast("float32") * 0
            first[(slice(None),) * axis + (0,)] = 5.0
            assert first.cummax(axis).sum().item() == 5.0 * math.prod(shape)
            assert first.cumsum(axis).sum().item() == 5.0 * math.prod(shape)


def nearest(x: int, bits: int) -> int:
    """The integer with at most `bits` significant bits that is next to x; ties to even."""
    unit = Fraction(2) ** max(abs(x).bit_length() - bits, 0)
    return int(round(Fraction(x) / unit) * unit)


@pytest.mark.parametrize("backend", BACKENDS)
def test_integers_round_once(backend: str) -> None:
    """Just beside a tie of the narrow float, where rounding to a wider one first would meet it."""
    rng = random.Random(3)
    values = [rng.getrandbits(rng.randrange(1, 63)) for _ in range(500)]
    for bits in (8, 24, 53):
        for width in range(bits + 2, 63):
            tie = (rng.getrandbits(bits - 1) | 1 << (bits - 1)) * 2 + 1 << (width - bits - 1)
            values += [tie, tie + 1, tie - 1, tie + (tie & -tie) // 2]
    values = [v for v in values if v < 2**63]
    with use_backend(backend):
        for dtype, bits in ((bfloat16, 8), (float32, 24), (float64, 53)):
            found = Tensor([*values, *[-v for v in values]], dtype=int64).cast(dtype).tolist()
            wanted = [float(nearest(v, bits)) for v in values]
            assert found == [*wanted, *[-v for v in wanted]], dtype.name


@pytest.mark.parametrize("backend", BACKENDS)
def test_nan_stays_nan_whatever_its_bits(backend: str) -> None:
    patterns = {
        "float32": ("I", [0x7F800001, 0xFF800001, 0x7FC00000, 0x7FFFFFFF, 0x7F80FFFF, 0xFFFFFFFF]),
        "float64": ("Q", [0x7FF0000000000001, 0xFFF0000000000001, 0x7FF8000000000000, 2**63 - 1]),
        "float16": ("H", [0x7C01, 0xFC01, 0x7E00, 0x7FFF]),
        "bfloat16": ("H", [0x7F81, 0xFF81, 0x7FC0, 0x7FFF]),
    }
    with use_backend(backend):
        for name, (format, bits) in patterns.items():
            raw = np.array(bits * 9, format).tobytes()  # for vectors, and for what is left over
            x = Tensor(Buffer.from_memory(raw, dtype=name))
            for to in (float16, bfloat16, float32, float64):
                z = x.cast(to)
                assert all(v != v for v in z.tolist()), f"{name} to {to.name}"
                assert all(v != v for v in (z + 0).tolist())
            assert x.cast("bool").tolist() == [True] * len(bits) * 9
            assert set(x.cast("int32").tolist()) == {0}
