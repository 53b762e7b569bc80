"""Does a backend agree with python_ref? Every kernel, every dtype, every layout.

    python -m tutor conformance simd_cpp --level avx2

Each case (tutor/testing/cases) is run by python_ref's kernel and by the one under test, on memory
that is the same to the bit. Then every operand's whole memory is compared: results by the class of
agreement that signatures.py states, everything else (the inputs, and the memory around and between
the elements of the result) to the bit.

exact   equal to the bit; any nan equals any other. Integers must be so in every class.
ulp(n)  at most n units in the last place away, counted on the ladder of all numbers of the dtype;
        nan, infinities and the sign of zero as in `exact`.
sum     equal where every order of adding gives the same sum (values that are small integers);
        else within the bound of cases/bounds.py; the worst error is reported as a fraction of it.
residual  for kernels on matrices: tutor/testing/matrices.py, a fraction of its bound.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tutor._storage.bits import UNSIGNED
from tutor.backends import registry
from tutor.backends.registry import Table
from tutor.backends.signatures import SIGNATURES, signature_of
from tutor.dtype import DType
from tutor.errors import KernelNotFound
from tutor.testing import cases
from tutor.testing.cases.bounds import ROUNDOFF, bounds, written
from tutor.testing.cases.draws import Case, Spec
from tutor.testing.cases.operands import elements, execute, images, through

Bounds = Callable[[], dict[int, list[float]]]  # the allowed error of sums: cases/bounds.py
BOUNDED = ("sum", "residual")  # classes whose error is a fraction of a bound


class Verdict(NamedTuple):
    """The outcome for one row of signatures.py and one dtype."""

    kernel: str
    dtype: DType
    cases: int  # 0: the table has no such row
    worst: float  # units in the last place, or for sums the fraction of the bound
    limit: float
    ok: bool
    first_failure: str
    layouts: tuple[str, ...]


def run(table: Table, kernels: Iterable[str] | None = None, seed: int = 0) -> list[Verdict]:
    """Compare `table` with python_ref on the cases of all kernels, or of the named ones."""
    names = list(SIGNATURES if kernels is None else kernels)
    must_be_listed(names)
    return [check(table, name, dtype, seed) for name in names for dtype in SIGNATURES[name].dtypes]


def must_be_listed(names: Iterable[str]) -> None:
    for name in names:
        if name not in SIGNATURES:
            raise KernelNotFound(
                f"conformance of kernel {name!r}",
                f"signatures.py lists {', '.join(SIGNATURES)}",
                "name one of those",
            )


def check(table: Table, kernel: str, dtype: DType, seed: int = 0) -> Verdict:
    """Compare one row. A device's table has `room(count, dtype)`, which gives memory there, and
    `looser`, the rows (kernel, dtype) of class ulp for which the device promises less."""
    kind, limit = agreement(kernel, dtype)
    room = getattr(table, "room", None)
    limit = max(limit, getattr(table, "looser", {}).get((kernel, dtype), 0.0))
    if (kernel, dtype) not in table:
        return Verdict(kernel, dtype, 0, 0, limit, True, "the table has no such row", ())
    count, worst, first, layouts = 0, 0.0, "", set()
    for number, (case, before, expected) in enumerate(prepared(kernel, dtype, seed)):
        count += 1
        allowed = functools.partial(_allowed, kernel, dtype, seed, number)
        layouts |= {spec.layout for spec in (case.out, *case.ins)}
        try:
            got = execute(through(kernel, dtype, table[kernel, dtype]), case, before, room)
        except Exception as error:  # any kind: the reference did not raise
            first = first or f"raised {type(error).__name__}: {error}{signed(kernel, dtype, case)}"
            continue
        for off, say in differences(kernel, dtype, kind, case, before, expected, got, allowed):
            worst = max(worst, off)
            if off > limit and not first:
                first = say(off, kind, limit) + signed(kernel, dtype, case)
    return Verdict(kernel, dtype, count, worst, limit, not first, first, tuple(layouts))


def agreement(kernel: str, dtype: DType) -> tuple[str, float]:
    """The class of agreement and the largest error it allows. Integers are always exact."""
    agree = signature_of(kernel).agree
    if not dtype.is_float or agree == "exact":
        return "exact", 0.0
    return (agree, 1.0) if agree in BOUNDED else ("ulp", float(agree[4:-1]))


@functools.lru_cache(maxsize=2)  # the levels of a backend share the reference's work
def prepared(kernel: str, dtype: DType, seed: int) -> list[tuple[Case, list[bytes], list[bytes]]]:
    """Each case with the memory of its operands before and after python_ref's kernel."""
    reference, found = registry.table("python_ref")[kernel, dtype], []
    for case in cases.draw(kernel, dtype, seed):
        before = images(case)
        found.append((case, before, execute(through(kernel, dtype, reference), case, before)))
    return found


@functools.lru_cache(maxsize=1000)  # more than the cases of a row, for the same reason
def _allowed(kernel: str, dtype: DType, seed: int, number: int) -> dict[int, list[float]]:
    """The bounds of the prepared case with this number."""
    case, before, _ = prepared(kernel, dtype, seed)[number]
    return bounds(kernel, dtype, case, before)


# ---- comparing -----------------------------------------------------------------------------------


def differences(
    kernel: str,
    dtype: DType,
    kind: str,
    case: Case,
    before: list[bytes],
    expected: list[bytes],
    got: list[bytes],
    allowed: Bounds | None = None,
) -> Iterator[tuple[float, Any]]:
    """The error of each element that is not equal to the bit, with a function that describes it.
    Callers that repeat a case pass `allowed`; otherwise its bounds are computed each time."""
    to_write, limits = written(kernel, case), None
    for i, spec in enumerate((case.out, *case.ins)):
        if got[i] == expected[i]:
            continue
        name = f"input {i}" if i else "out"
        if i not in to_write:
            yield math.inf, lambda *_, name=name: f"{name} was changed, and it is only to be read"
            continue
        if (item := strayed(spec, before[i], got[i])) is not None:
            yield math.inf, functools.partial(astray, name, item)
        if kind == "sum" and not case.exact and limits is None:
            limits = allowed() if allowed else bounds(kernel, dtype, case, before)
        limit = limits.get(i, limits[0]) if limits else None
        right, others = (elements(spec, m, bits=True) for m in (expected[i], got[i]))
        unlike = [n for n, (a, b) in enumerate(zip(right, others, strict=True)) if a != b]
        xs, ys = (elements(spec, m) for m in (expected[i], got[i])) if unlike else ((), ())
        for n in unlike:
            x, y = xs[n], ys[n]
            if kind == "sum":
                error = fraction(x, y, dtype, None if limit is None else limit[n])
            elif spec.dtype.is_float:
                error = ulps(x, y, right[n], others[n], 8 * spec.dtype.itemsize)
            else:
                error = math.inf
            yield error, functools.partial(words, case, before, spec, name, n, x, y)


def ulps(x: float, y: float, x_bits: int, y_bits: int, width: int) -> float:
    """The distance from x to y in numbers of the dtype; infinite if one of them is special."""
    if math.isnan(x) or math.isnan(y):
        return 0.0 if math.isnan(x) and math.isnan(y) else math.inf
    if (
        math.isinf(x) or math.isinf(y) or x == y == 0
    ):  # with other bits: of another sign, or different numbers
        return math.inf
    sign = 1 << (width - 1)
    place, other = ((sign - bits) if bits & sign else bits for bits in (x_bits, y_bits))
    return float(abs(place - other))


def fraction(x: float, y: float, dtype: DType, allowed: float | None) -> float:
    """|x - y| as a fraction of the allowed error; None allows none."""
    if x == y or (math.isnan(x) and math.isnan(y)):
        return 0.0
    if allowed is None or not math.isfinite(x) or not math.isfinite(y):
        return math.inf
    return abs(x - y) / (allowed + 2 * ROUNDOFF[dtype] * abs(x))


def strayed(spec: Spec, before: bytes, got: bytes) -> int | None:
    """The first item of memory that changed although no element is there."""
    size, at = spec.dtype.itemsize, spec.positions()
    if isinstance(at, range):  # then two pieces surround them, mostly unchanged
        low, high = size * at.start, size * at.stop
        if before[:low] == got[:low] and before[high:] == got[high:]:
            return None
    bits = UNSIGNED[size]
    pairs = zip(memoryview(before).cast(bits), memoryview(got).cast(bits), strict=True)
    changed = {item for item, (a, b) in enumerate(pairs) if a != b}
    return min(changed - set(at), default=None)


# ---- words ---------------------------------------------------------------------------------------


def signed(kernel: str, dtype: DType, case: Case) -> str:
    """The failed call, in one line."""
    ins = [f"{x.dtype.name} {x.shape} {x.layout}" for x in case.ins]
    params = [f"{name}={value!r}" for name, value in case.params.items()]
    out = f"{case.out.dtype.name} {case.out.shape} {case.out.layout}"
    place = ", in place" if case.in_place else ""
    return f"\n    {kernel} for {dtype.name}: {'; '.join(ins + params)} -> {out}{place}"


def astray(name: str, item: int, *_: Any) -> str:
    return f"{name}'s memory was written where it has no element: item {item}"


def words(
    case: Case, before: list[bytes], spec: Spec, name: str, n: int, x: Any, y: Any,
    error: float, kind: str, limit: float,
) -> str:  # fmt: skip
    """Where the first wrong element is, its inputs, and its expected value."""
    index: list[int] = []
    rest = n
    for size in reversed(spec.shape):
        rest, here = divmod(rest, size)
        index.insert(0, here)
    beside = [
        f"input {k} has {elements(x, memory)[n]!r} there, "
        for k, (x, memory) in enumerate(zip(case.ins, before[1:], strict=True), 1)
        if x.shape == spec.shape
    ]
    unit = (
        "" if kind == "exact" else " of the bound" if kind == "sum" else f" ulp, allowed {limit:g}"
    )
    far = f" (off by {error:.4g}{unit})" if unit else ""
    return f"{name}{index}: {''.join(beside)}expected {x!r}, got {y!r}{far}"


# ---- the two tables ------------------------------------------------------------------------------

HEAD = ("kernel", "agreement", "dtypes", "layouts", "cases", "worst error", "verdict")


def rows(verdicts: Iterable[Verdict]) -> Iterator[tuple[str, ...]]:
    """The columns of HEAD for each kernel."""
    by_kernel: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_kernel.setdefault(verdict.kernel, []).append(verdict)
    for kernel, found in by_kernel.items():
        there = [v for v in found if v.cases]
        wrong = sum(not v.ok for v in there)
        yield (
            kernel,
            signature_of(kernel).agree,
            f"{len(there)} of {len(found)}",
            str(len({layout for v in there for layout in v.layouts})),
            str(sum(v.cases for v in there)),
            worst(there),
            "missing" if not there else f"{wrong} WRONG" if wrong else "agrees",
        )


def report(verdicts: Sequence[Verdict]) -> str:
    """A printable table, one line per kernel, and the first failure of each row that disagrees."""
    table = [HEAD, *rows(verdicts)]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(n) if HEAD[i] in ("dtypes", "layouts", "cases") else cell.ljust(n)
            for i, (cell, n) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in table
    ]
    return "\n".join([*lines, *(f"\n{v.first_failure}" for v in verdicts if not v.ok)])


def markdown(verdicts: Sequence[Verdict]) -> str:
    """The same table for a document, with the totals in front of it."""
    count, there = sum(v.cases for v in verdicts), [v for v in verdicts if v.cases]
    agree = sum(v.ok for v in there)
    table = [HEAD, ["---"] * len(HEAD), *rows(verdicts)]
    lines = [f"| {' | '.join(row)} |" for row in table]
    lines += [f"\n```text\n{v.first_failure}\n```" for v in verdicts if not v.ok]
    total = f"{agree} of {len(there)} pairs of kernel and dtype agree, on {count} cases."
    return "\n".join([total, "", *lines, ""])


def worst(verdicts: list[Verdict]) -> str:
    """The largest error among the dtypes of one kernel, in the unit of its class, and where."""
    if not any(v.limit for v in verdicts):
        return "none allowed"
    found = max((v for v in verdicts if v.limit), key=lambda v: v.worst)
    kind, limit = agreement(found.kernel, found.dtype)[0], found.limit
    error = (
        f"{found.worst:.2f} of the bound"
        if kind in BOUNDED
        else f"{found.worst:g} of {limit:g} ulp"
    )
    return f"{error} ({found.dtype.name})" if found.worst else error
