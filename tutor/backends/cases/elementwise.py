"""Cases of the kernels that treat every element alike."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator
from typing import Any

from tutor.backends.cases.draws import (
    OUT_LAYOUTS,
    Case,
    Draw,
    Shape,
    edges,
    representable,
    specials,
)
from tutor.dtype import TABLE, float16, float32, float64

SMALL_SHAPES = ((), (1,), (0,), (3, 0, 2), (1, 1, 1), (2, 1, 3))
LAID_SHAPES = ((5,), (3, 37), (2, 3, 9))


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
    known = [specials(dtype) for dtype in d.ins]
    if "exponent" in domains(d):
        known[1] = [y for y in known[1] if y >= 0]
    if known:
        yield listed(d, list(itertools.product(*known)))


def domains(d: Draw) -> list[str]:
    integer_power = d.kernel == "pow" and d.dtype.is_integer
    return ["any", "exponent"] if integer_power else ["any"] * len(d.ins)


def alike(d: Draw, shape: Shape, layouts: tuple[str, ...], **params: Any) -> Case:
    out, *ins = layouts
    drawn = zip(domains(d), ins, d.ins, strict=True)
    return Case(d.result(shape, out), tuple(d.spec(shape, *each) for each in drawn), params)


def listed(d: Draw, rows: list[tuple[Any, ...]]) -> Case:
    """One element of out for each row: the operands' values side by side."""
    columns = zip(*rows, strict=True)
    ins = (d.spec((len(rows),), values, dtype=t) for values, t in zip(columns, d.ins, strict=True))
    return Case(d.result((len(rows),)), tuple(ins))


def large(d: Draw, count: int) -> Case:
    return alike(d, (count,), ("contiguous",) * (len(d.ins) + 1))


def function(d: Draw) -> Iterator[Case]:
    """Elementwise, and a sweep over the whole range: of float16 every number there is."""
    yield from basic(d)
    yield listed(d, [(x,) for x in sweep(d)])


def sweep(d: Draw) -> list[float]:
    if d.dtype is float16:
        return list(struct.unpack("=65536e", struct.pack("=65536H", *range(65536))))
    uniform, far = d.rng.uniform, range(-148, 128) if d.dtype is float32 else range(-1073, 1024, 4)
    found = [uniform(1, 2) * 2.0**e for e in far for _ in range(8)]
    found += [uniform(0, scale) for scale in (0.1, 1, 2, 10, 20, 110, 750, 1e4) for _ in range(250)]
    found += [1 + uniform(-1, 1) * 2.0**-e for e in range(1, 50) for _ in range(8)]
    found += [k * math.pi / 4 + uniform(-1, 1) * 2.0**-20 * (k % 3) for k in range(1, 1000)]
    return representable([*found, *[-x for x in found]], d.dtype)


def power(d: Draw) -> Iterator[Case]:
    yield from basic(d)
    if not d.dtype.is_float:
        return
    uniform = d.rng.uniform
    pairs = [(uniform(0, 9), uniform(-9, 9)) for _ in range(1500)]
    pairs += [(2.0 ** uniform(-14, 14), uniform(-4, 4)) for _ in range(1500)]
    pairs += [
        (1 + uniform(-1, 1) * 2.0**-e, uniform(-1, 1) * 2.0**e)
        for e in range(1, 15)
        for _ in range(99)
    ]
    pairs += [(uniform(-9, 9), d.rng.randint(-9, 9)) for _ in range(999)]
    yield listed(d, pairs)


def cast(d: Draw) -> Iterator[Case]:
    """Every shape into one dtype, the special values and many others into all of them."""
    d.out = d.rng.choice(TABLE)
    yield from basic(d)
    known = specials(d.dtype) + (edges(d.dtype) if d.dtype.is_float else [])
    if d.dtype is float16:
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
