"""Cases of the kernels that add up: reductions and matrix products."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from tutor.dtype import float16
from tutor.testing.cases.draws import Case, Draw, Shape, specials


def poisoned(d: Draw, shape: Shape) -> list[float]:
    values = d.values(math.prod(shape), "small")
    for _ in range(2):
        values[d.rng.randrange(len(values))] = d.rng.choice((math.inf, -math.inf, math.nan))
    return values


# For sums and products: values on which they round, and values on which they do not.
DOMAINS = {"sum": ("small", "whole"), "mean": ("small", "whole"), "prod": ("factor", "two")}


def reduced(
    d: Draw, shape: Shape, axis: int | Shape, layouts: tuple[str, ...], values: Any = None
) -> Case:
    goes = {a % len(shape) for a in (axis if isinstance(axis, tuple) else (axis,))}
    left = tuple(n for a, n in enumerate(shape) if a not in goes)
    domain = d.rng.choice(DOMAINS.get(d.kernel, ("any",)))
    x = d.spec(shape, domain if values is None else values, layouts[1])
    exact = values is None and domain in ("whole", "two") and d.kernel != "mean"
    return Case(d.result(left, layouts[0]), (x,), {"axis": axis}, exact=exact)


Along = tuple[Shape, int | Shape]  # a shape, and the axis or axes to reduce
ODD: tuple[Along, ...] = (((1031,), 0), ((2, 700), 1), ((700, 3), 0), ((40, 41), (0, 1)), ((), ()))
EMPTY: tuple[Along, ...] = (((0,), 0), ((3, 0, 2), 1), ((3, 0), (0, 1)), ((0, 3), 0))
POISONED: tuple[Along, ...] = (((9,), 0), ((50,), 0), ((7, 20), 0), ((7, 20), 1))


def reduction(d: Draw) -> Iterator[Case]:
    for n in range(1, 71):
        yield reduced(d, (n,), 0, d.any_layouts(1))
        yield reduced(d, (2, n), d.rng.choice((0, 1, -1, (0, 1))), d.any_layouts(1))
    axes: tuple[int | Shape, ...] = (0, 1, -1, (0, 1), (0, 2), (1, 2), (2,), (0, 1, 2), ())
    for layouts in d.layouts(1):
        for axis in axes:
            yield reduced(d, (3, 5, 11), axis, layouts)
        yield reduced(d, (37, 3), 0, layouts)
        yield reduced(d, (2, 3, 4, 5), (1, 3), layouts)
    for shape, axis in ODD:
        yield reduced(d, shape, axis, d.any_layouts(1))
    yield reduced(d, (3, 0, 2), 0, d.any_layouts(1))
    if d.kernel in DOMAINS:
        for shape, axis in EMPTY:
            yield reduced(d, shape, axis, d.any_layouts(1))
        for shape, axis in POISONED:
            if d.dtype.is_float:
                yield reduced(d, shape, axis, d.any_layouts(1), poisoned(d, shape))
    else:  # with equal numbers, signed zeros and nan
        for x in itertools.product(specials(d.dtype)[:12], repeat=2):
            yield reduced(d, (2,), 0, d.any_layouts(1), list(x))
        for _ in range(9):
            yield reduced(d, (40,), 0, d.any_layouts(1), [d.rng.choice((0, 1)) for _ in range(40)])


def large(d: Draw, count: int) -> Case:
    return reduced(d, (count,), 0, ("contiguous", "contiguous"))


def product(
    d: Draw, batch: Shape, m: int, k: int, n: int, layouts: tuple[str, ...], domain: str = ""
) -> Case:
    domain = domain or d.rng.choice(("small", "whole"))
    out, first, second = layouts
    x = d.spec((*batch, m, k), poisoned(d, (*batch, m, k)) if domain == "nan" else domain, first)
    y = d.spec((*batch, k, n), "small" if domain == "nan" else domain, second)
    return Case(d.result((*batch, m, n), out), (x, y), exact=domain == "whole")


def matmul(d: Draw) -> Iterator[Case]:
    for m, k, n in itertools.product((1, 2, 5), (0, 1, 3, 8), (1, 4, 7)):
        yield product(d, (), m, k, n, d.any_layouts(2))
    for n in range(1, 40):
        yield product(d, (), d.rng.randrange(1, 20), d.rng.randrange(1, 20), n, d.any_layouts(2))
    for layouts in d.layouts(2):
        yield product(d, (), 7, 13, 19, layouts)
        yield product(d, (2, 3), 4, 5, 6, layouts)
    for m, k, n in (
        (0, 3, 4),
        (3, 4, 0),
        (0, 0, 0),
        (33, 70, 35),
        (3, 600, 5),
        (300, 3, 4),
        (2, 3, 500),
    ):
        yield product(d, (), m, k, n, d.any_layouts(2))
    yield product(d, (0,), 3, 4, 5, d.any_layouts(2))
    if d.dtype.is_float:
        for _ in range(4):
            yield product(d, (), 9, 17, 18, d.any_layouts(2), "nan")


def layer(d: Draw, lead: Shape, k: int, n: int, layouts: tuple[str, ...], domain: str) -> Case:
    """A linear layer of x (*lead, k), with or without a relu."""
    out, first, second, third = layouts
    x = d.spec((*lead, k), poisoned(d, (*lead, k)) if domain == "nan" else domain, first)
    drawn = "small" if domain == "nan" else domain
    ins = (x, d.spec((n, k), drawn, second), d.spec((n,), drawn, third))
    relu = d.rng.choice((False, True))
    return Case(d.result((*lead, n), out), ins, {"relu": relu}, exact=domain == "whole")


def linear(d: Draw) -> Iterator[Case]:
    def case(lead: Shape, k: int, n: int) -> Case:
        return layer(d, lead, k, n, d.any_layouts(3), d.rng.choice(("small", "whole")))

    for m, k, n in itertools.product((1, 2, 5, 30), (0, 1, 8), (1, 4, 7)):
        yield case((m,), k, n)
    for n in range(1, 70):
        yield case((d.rng.randrange(1, 20),), d.rng.randrange(1, 20), n)
    for layouts in d.layouts(3):
        yield layer(d, (7,), 13, 19, layouts, "small")
        yield layer(d, (2, 3), 5, 6, layouts, "whole")
    for lead in ((), (0,), (3, 0), (2, 2, 3)):
        yield case(lead, 9, 17)
    for m, k, n in ((3, 4, 0), (33, 70, 35), (3, 600, 5), (1, 800, 40), (20, 1000, 33)):
        yield case((m,), k, n)  # sums of 600 and more terms are split into blocks
    for _ in range(4):
        yield layer(d, (9,), 17, 18, d.any_layouts(3), "nan")


def large_linear(d: Draw, count: int) -> Case:
    return layer(d, (130,), 67, count // 500, ("contiguous",) * 4, "small")


def large_matmul(d: Draw, count: int) -> Case:
    return product(
        d,
        (),
        130,
        67,
        count // 500,
        ("contiguous",) * 3,
        "whole" if d.dtype is float16 else "small",
    )
