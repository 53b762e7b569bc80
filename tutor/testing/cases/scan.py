"""Cases of the kernels that work along one axis: scans and sorting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tutor.testing.cases.draws import Case, Draw, Shape, specials

Along = tuple[Shape, int]  # a shape, and the axis to work along
SHAPES: tuple[Along, ...] = (((3, 5, 11), 0), ((3, 5, 11), 1), ((3, 5, 11), -1), ((37, 3), 0),
                             ((3, 37), 1))  # fmt: skip
ODD_SHAPES: tuple[Along, ...] = (
    ((0,), 0), ((3, 0, 2), 1), ((3, 0, 2), 0), ((1, 1), 0), ((1031,), 0), ((2, 700), 1),
    ((700, 3), 0), ((40, 41), 0), ((40, 41), 1),
)  # fmt: skip

POISONED: tuple[Along, ...] = (((9,), 0), ((70,), 0), ((7, 20), 0), ((7, 20), 1))


def along(d: Draw, shape: Shape, axis: int, layouts: tuple[str, ...], values: Any = "any") -> Case:
    """One call of cummax or argsort."""
    params: dict[str, Any] = {"axis": axis}
    if d.kernel == "argsort":
        params["descending"] = d.rng.choice((False, True))
    return Case(d.result(shape, layouts[0]), (d.spec(shape, values, layouts[1]),), params)


def recurrent(
    d: Draw, shape: Shape, axis: int, layouts: tuple[str, ...], poison: float | None = None
) -> Case:
    """One call of scan: numbers that round, or numbers for which every z is a small integer."""
    exact, count = poison is None and d.rng.random() < 0.5, math.prod(shape)
    x, y = (
        d.values(count, domain) for domain in (("sign", "whole") if exact else ("decay", "small"))
    )
    if poison is not None:
        d.rng.choice((x, y))[d.rng.randrange(count)] = poison
    ins = (d.spec(shape, x, layouts[1]), d.spec(shape, y, layouts[2]))
    return Case(d.result(shape, layouts[0]), ins, {"axis": axis}, exact=exact)


def scan(d: Draw) -> Iterator[Case]:
    for n in range(1, 71):
        yield recurrent(d, (n,), 0, d.any_layouts(2))
        yield recurrent(d, (2, n), d.rng.choice((0, 1, -1)), d.any_layouts(2))
    for layouts in d.layouts(2):
        for shape, axis in SHAPES:
            yield recurrent(d, shape, axis, layouts)
    for shape, axis in ODD_SHAPES:
        yield recurrent(d, shape, axis, d.any_layouts(2))
    for poison in (math.inf, -math.inf, math.nan) if d.dtype.is_float else ():
        for shape, axis in POISONED:
            yield recurrent(d, shape, axis, d.any_layouts(2), poison)


def ordered(d: Draw) -> Iterator[Case]:
    """cummax and argsort: any values, a few different values, and values with odd comparisons."""
    odd = [v for v in specials(d.dtype) if v == 0 or v - v != 0]
    for n in range(1, 71):
        yield along(d, (n,), 0, d.any_layouts(1))
        yield along(d, (n,), 0, d.any_layouts(1), [d.rng.choice((0, 1)) for _ in range(n)])
        yield along(d, (n,), 0, d.any_layouts(1), [d.rng.choice(odd) for _ in range(n)])
        yield along(d, (2, n), d.rng.choice((0, 1, -1)), d.any_layouts(1))
    for layouts in d.layouts(1):
        for shape, axis in SHAPES:
            yield along(d, shape, axis, layouts)
    for shape, axis in ODD_SHAPES:
        yield along(d, shape, axis, d.any_layouts(1))
    known = specials(d.dtype)
    for _ in range(4):
        values = d.rng.choices(known, k=1031)
        yield along(d, (1031,), 0, d.any_layouts(1), values)
        yield along(d, (1031,), 0, d.any_layouts(1), sorted(values, key=lambda v: (v != v, v)))


def large_scan(d: Draw, count: int) -> Case:
    return recurrent(d, (count // 100, 100), 1, ("contiguous",) * 3)


def large_ordered(d: Draw, count: int) -> Case:
    return along(d, (count // 100, 100), 1, ("contiguous",) * 2)
