"""Cases of the elementwise kernels."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator
from typing import Any

from tutor._storage.bits import pack, unpack
from tutor.dtype import TABLE, DType, float32, float64
from tutor.testing.cases.draws import (
    LAYOUTS,
    LEGAL,
    OUT_LAYOUTS,
    Case,
    Draw,
    Shape,
    edges,
    representable,
    specials,
)

SMALL_SHAPES: tuple[Shape, ...] = ((), (1,), (0,), (3, 0, 2), (1, 1, 1), (2, 1, 3))
LAID_SHAPES: tuple[Shape, ...] = ((5,), (3, 37), (2, 3, 9))


def basic(d: Draw) -> Iterator[Case]:
    """Shapes and layouts for any kernel whose operands all have out's shape."""
    inputs = len(d.ins)
    for n in range(1, 71):
        yield alike(d, (n,), d.any_layouts(inputs))
    yield alike(d, (1031,), ("contiguous",) * (inputs + 1))
    yield alike(d, (1031,), ("offset",) * (inputs + 1))
    for layouts in d.layouts(inputs):
        for shape in LAID_SHAPES:
            yield alike(d, shape, layouts)
    for shape in SMALL_SHAPES:
        yield alike(d, shape, d.any_layouts(inputs))
    if d.ins and d.out is d.ins[0]:
        for layout in OUT_LAYOUTS:
            case = alike(d, (3, 19), (layout,) * (inputs + 1))
            yield case._replace(out=case.ins[0], in_place=True)
    known = zip(domains(d), d.ins, strict=True)
    if d.ins:
        rows = itertools.product(*([v for v in specials(t) if allowed(v, o, t)] for o, t in known))
        yield listed(d, list(rows))


SECOND = {
    "pow": "exponent",
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), "divisor"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), "count"),
}


def domains(d: Draw) -> list[str]:
    """One domain for each operand."""
    if d.kernel == "logaddexp":
        return ["tame", "tame"]
    return ["any", SECOND[d.kernel]] if d.kernel in SECOND else ["any"] * len(d.ins)


def allowed(value: Any, domain: str, dtype: DType) -> bool:
    return domain not in LEGAL or LEGAL[domain][0](value, dtype)


def alike(d: Draw, shape: Shape, layouts: tuple[str, ...], **params: Any) -> Case:
    out, *ins = layouts
    drawn = zip(domains(d), ins, d.ins, strict=True)
    return Case(d.result(shape, out), tuple(d.spec(shape, *each) for each in drawn), params)


def listed(d: Draw, rows: list[tuple[Any, ...]]) -> Case:
    """A case with one element per row; a row has one value for each operand."""
    columns = zip(*rows, strict=True)
    ins = (d.spec((len(rows),), values, dtype=t) for values, t in zip(columns, d.ins, strict=True))
    return Case(d.result((len(rows),)), tuple(ins))


def large(d: Draw, count: int) -> Case:
    return alike(d, (count,), ("contiguous",) * (len(d.ins) + 1))


def function(d: Draw) -> Iterator[Case]:
    """Elementwise, and a sweep over the whole range: for 16-bit floats all values."""
    yield from basic(d)
    if d.dtype.is_float:
        yield listed(d, [(x,) for x in sweep(d)])


def sweep(d: Draw) -> list[float]:
    """All exponents, and every edge, zero or pole of a function: at 0 and +-1, at whole and half
    numbers, at multiples of pi/2, at powers of 2 and 10, where e**x and 2**x leave the range, and
    where others round to +-1.
    """
    if d.dtype.itemsize == 2:
        return unpack(struct.pack("=65536H", *range(65536)), d.dtype)
    uniform, far = d.rng.uniform, range(-148, 128) if d.dtype is float32 else range(-1073, 1024, 4)
    found = [uniform(1, 2) * 2.0**e for e in far for _ in range(8)]
    found += [uniform(0, scale) for scale in (0.1, 1, 2, 10, 20, 110, 750, 1e4) for _ in range(250)]
    found += [1 + uniform(-1, 1) * 2.0**-e for e in range(1, 53) for _ in range(8)]
    found += [k * math.pi / 4 + uniform(-1, 1) * 2.0**-20 * (k % 3) for k in range(1, 1000)]
    found += [d.rng.getrandbits(e) * math.pi / 2 for e in range(2, 60) for _ in range(8)]
    found += [2.0**e for e in far] + [10.0**e for e in range(-44, 39)]
    found += [k / 2 for k in range(2200)] + [2.0**e + k / 2 for e in range(20, 55) for k in (-1, 1)]
    ends = [math.log(d.dtype.max), -math.log(d.dtype.smallest_subnormal), math.log(2), 0.5**0.5]
    found += [end * (1 + uniform(-1, 1) * 2.0**-e) for end in ends for e in range(3, 53)]
    return representable([*found, *[-x for x in found]], d.dtype)


def pairs(d: Draw) -> Iterator[Case]:
    """Elementwise with two operands, and pairs of related floats: of similar size, almost equal,
    and near a whole multiple."""
    yield from basic(d)
    if not d.dtype.is_float:
        return
    uniform, found = d.rng.uniform, []
    for size in (2.0 ** uniform(-14, 14) for _ in range(900)):
        x, y = uniform(-size, size), uniform(-size, size)
        whole = d.rng.getrandbits(d.rng.randrange(1, 12)) * y
        found += [(x, y), (x, x * (1 + uniform(-1, 1) * d.dtype.eps * 2)), (whole, y)]
        found += [(whole * (1 + d.rng.choice((-1, 1)) * d.dtype.eps), y), (y / 1024, x)]
    ok, kept = domains(d), []
    for row in found:
        rounded = tuple(unpack(pack(row, d.dtype), d.dtype))
        kept += [rounded] * all(allowed(v, o, d.dtype) for v, o in zip(rounded, ok, strict=True))
    yield listed(d, kept)


def gradient(d: Draw) -> Iterator[Case]:
    """Elementwise, and results close to -1, 0 and 1, where tanh and sigmoid are flat."""
    yield from basic(d)
    uniform = d.rng.uniform
    near = [uniform(0, 1) * 2.0**-e for e in range(8 * d.dtype.itemsize) for _ in range(8)]
    yield listed(d, [(uniform(-4, 4), z) for x in near for z in (x, -x, 1 - x, x - 1)])


def mul_add(d: Draw) -> Iterator[Case]:
    """Elementwise, and y and w that are constant along rows of x, as per-channel numbers are."""
    yield from basic(d)
    for n in (*range(1, 71), 200):
        yield by_rows(d, (n % 4, n), d.any_layouts(3))
    for layout in LAYOUTS:
        yield by_rows(d, (2, 3, 37), ("contiguous", "contiguous", layout, layout))
        yield by_rows(d, (2, 3, 37), (d.rng.choice(OUT_LAYOUTS), layout, "contiguous", "mixed"))
    case = by_rows(d, (5, 19), ("contiguous",) * 4)
    yield case._replace(out=case.ins[0], in_place=True)


def by_rows(d: Draw, shape: Shape, layouts: tuple[str, ...]) -> Case:
    out, x, *others = layouts
    ins = [d.spec(shape, layout=x)]
    for layout in others:
        spec = d.spec(shape[:-1], layout=layout)
        values = [value for value in spec.values or () for _ in range(shape[-1])]
        ins.append(spec._replace(shape=shape, values=values, strides=(*spec.strides, 0)))
    return Case(d.result(shape, out), tuple(ins))


def large_mul_add(d: Draw, count: int) -> Case:
    return by_rows(d, (count // 40, 40), ("contiguous",) * 4)


def shift(d: Draw) -> Iterator[Case]:
    """Elementwise, and every count from zero to beyond the width."""
    yield from basic(d)
    counts = range(8 * d.dtype.itemsize + 3)
    yield listed(d, list(itertools.product(specials(d.dtype), counts)))


def power(d: Draw) -> Iterator[Case]:
    yield from basic(d)
    if not d.dtype.is_float:
        return
    uniform = d.rng.uniform
    found = [(uniform(0, 9), uniform(-9, 9)) for _ in range(1500)]
    found += [(2.0 ** uniform(-14, 14), uniform(-4, 4)) for _ in range(1500)]
    found += [
        (1 + uniform(-1, 1) * 2.0**-e, uniform(-1, 1) * 2.0**e)
        for e in range(1, 15)
        for _ in range(99)
    ]
    found += [(uniform(-9, 9), d.rng.randint(-9, 9)) for _ in range(999)]
    yield listed(d, found)


def cast(d: Draw) -> Iterator[Case]:
    """Every shape to one dtype; the special values and many others to all dtypes."""
    d.out = d.rng.choice(TABLE)
    yield from basic(d)
    known = specials(d.dtype) + (edges(d.dtype) if d.dtype.is_float else [])
    if d.dtype.is_float and d.dtype.itemsize == 2:
        known = sweep(d)
    for d.out in TABLE:
        yield listed(d, [(x,) for x in known])
        yield alike(d, (300,), d.any_layouts(1))
        yield alike(d, (3, 21), d.any_layouts(1))


def large_cast(d: Draw, count: int) -> Case:
    d.out = float64 if d.dtype is float32 else float32
    return large(d, count)


def fill(d: Draw) -> Iterator[Case]:
    for value in specials(d.dtype) + (
        representable(edges(float64), float64) if d.dtype.is_float else []
    ):
        yield alike(d, (d.rng.randrange(40),), d.any_layouts(0), value=value)
    for value in (0, 1):
        yield alike(d, (5,), d.any_layouts(0), value=value)
        for layouts in d.layouts(0):
            yield alike(d, (3, 37), layouts, value=value)
    for shape in SMALL_SHAPES:
        yield alike(d, shape, d.any_layouts(0), value=1)


def large_fill(d: Draw, count: int) -> Case:
    return alike(d, (count,), ("contiguous",), value=1)


def counted(d: Draw, shape: Shape, layout: str) -> Case:
    """Any start and step; also integers that wrap and floats that overflow."""
    whole = d.dtype.is_integer
    start, step = (d.rng.choice(specials(d.dtype)) for _ in range(2))
    if d.rng.random() < 0.7:
        start, step = (d.rng.randint(-9, 9) / d.rng.choice((1, 3, 8)) for _ in range(2))
        start, step = (abs(int(n)) for n in (start, step)) if whole else (start, step)
    parts = 1 if whole else d.rng.choice((1, 1, 2, 3, 10, 70, 2**60))
    return alike(d, shape, (layout,), start=start, step=step, parts=parts)


def arange(d: Draw) -> Iterator[Case]:
    for n in range(1, 71):
        yield counted(d, (n,), *d.any_layouts(0))
    for (layout,) in d.layouts(0):
        for shape in ((5,), (3, 37), (2, 3, 9), *SMALL_SHAPES):
            yield counted(d, shape, layout)
    yield counted(d, (1031,), "contiguous")


def large_arange(d: Draw, count: int) -> Case:
    return alike(d, (count,), ("contiguous",), start=-1, step=3, parts=1)
