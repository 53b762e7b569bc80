"""Cases of the kernels that move elements or select them by index."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tutor.dtype import int64
from tutor.testing.cases.draws import OUT_LAYOUTS, Case, Draw, Shape, Spec, specials


def padded(
    d: Draw, shape: Shape, room: tuple[tuple[int, int], ...], layouts: tuple[str, ...]
) -> Case:
    to = tuple(n + before + after for n, (before, after) in zip(shape, room, strict=True))
    params = {
        "before": tuple(before for before, _ in room),
        "value": d.rng.choice(specials(d.dtype)),
    }
    return Case(d.result(to, layouts[0]), (d.spec(shape, layout=layouts[1]),), params)


def pad(d: Draw) -> Iterator[Case]:
    for layouts in d.layouts(1):
        yield padded(d, (3, 17), ((1, 2), (0, 3)), layouts)
        yield padded(d, (2, 3, 5), ((0, 0), (2, 1), (4, 0)), layouts)
    for shape in ((), (0,), (1,), (70,), (2, 0), (4, 1, 5)):
        for _ in range(4):
            room = tuple((d.rng.randrange(4), d.rng.randrange(4)) for _ in shape)
            yield padded(d, shape, room, d.any_layouts(1))


def large_pad(d: Draw, count: int) -> Case:
    return padded(d, (count // 100, 95), ((2, 1), (2, 3)), ("contiguous",) * 2)


def joined(
    d: Draw, shape: Shape, axis: int, sizes: tuple[int, ...], layouts: tuple[str, ...]
) -> Case:
    def with_size(n: int) -> Shape:
        return tuple(n if a == axis % len(shape) else m for a, m in enumerate(shape))

    out, *rest = layouts
    ins = [d.spec(with_size(n), layout=layout) for n, layout in zip(sizes, rest, strict=True)]
    return Case(d.result(with_size(sum(sizes)), out), tuple(ins), {"axis": axis})


def cat(d: Draw) -> Iterator[Case]:
    for sizes in ((3,), (3, 4), (1, 0, 5), (2, 7, 1, 3)):
        for layouts in d.layouts(len(sizes)):
            yield joined(d, (3, 4, 5), d.rng.randrange(-3, 3), sizes, layouts)
            yield joined(d, (0,), 0, sizes, layouts)
    yield joined(d, (0, 3), 1, (2, 3), d.any_layouts(2))
    yield joined(d, (2, 3), 0, (0, 0), d.any_layouts(2))
    yield joined(d, (2,), 0, (1,) * 20, d.any_layouts(20))  # more operands than most kernels have


def large_cat(d: Draw, count: int) -> Case:
    return joined(d, (3, 0), 1, (count // 4, count // 12), ("contiguous",) * 3)


def indices(d: Draw, shape: Shape, size: int, layout: str) -> Spec:
    """Positions, in half of the cases counted from either end."""
    low = d.rng.choice((0, -size))
    return d.spec(
        shape, [d.rng.randrange(low, size) for _ in range(math.prod(shape))], layout, int64
    )


def replaced(shape: Shape, axis: int, n: int) -> Shape:
    return tuple(n if a == axis % len(shape) else m for a, m in enumerate(shape))


INDEXED = (((7,), 0), ((3, 9), 0), ((3, 9), 1), ((2, 5, 3), 1), ((2, 5, 3), -1), ((4, 1, 33), 0))


def gathered(d: Draw, shape: Shape, axis: int, n: int, layouts: tuple[str, ...]) -> Case:
    to = replaced(shape, axis, n)
    index = indices(d, to, shape[axis], layouts[2])
    return Case(d.result(to, layouts[0]), (d.spec(shape, layout=layouts[1]), index), {"axis": axis})


def gather(d: Draw) -> Iterator[Case]:
    for layouts in d.layouts(2):
        for shape, axis in INDEXED:
            yield gathered(d, shape, axis, d.rng.choice((0, 1, 4, 20)), layouts)
    yield gathered(d, (3, 0), 0, 5, d.any_layouts(2))
    yield gathered(d, (4,), 0, 999, d.any_layouts(2))


def large_gather(d: Draw, count: int) -> Case:
    return gathered(d, (50, 7), 0, count // 7, ("contiguous",) * 3)


def scattered(d: Draw, shape: Shape, axis: int, n: int, layouts: tuple[str, ...]) -> Case:
    beside = tuple(d.rng.randint(m // 2, m) for m in shape)  # src may be smaller on the other axes
    of = replaced(beside, axis, n)
    domain = d.rng.choice(("small", "whole") if d.kernel == "scatter_add" else ("any",))
    x, src = d.spec(shape, domain, layouts[1]), d.spec(of, domain, layouts[3])
    index = indices(d, of, shape[axis], layouts[2])
    exact = domain == "whole"
    return Case(d.result(shape, layouts[0]), (x, index, src), {"axis": axis}, exact=exact)


def scatter(d: Draw) -> Iterator[Case]:
    for layouts in d.layouts(3):
        for shape, axis in INDEXED:
            yield scattered(d, shape, axis, d.rng.choice((0, 1, 4, 20)), layouts)
    yield scattered(d, (3, 0), 0, 5, d.any_layouts(3))
    yield scattered(d, (4,), 0, 999, d.any_layouts(3))
    for layout in OUT_LAYOUTS:
        for shape, axis in INDEXED:
            case = scattered(d, shape, axis, 5, (layout, layout, *d.any_layouts(1)))
            yield case._replace(out=case.ins[0], in_place=True)


def large_scatter(d: Draw, count: int) -> Case:
    return scattered(d, (50, 70), 0, count // 70, ("contiguous",) * 4)


def true(d: Draw, shape: Shape, layouts: tuple[str, ...], chance: float) -> Case:
    """The positions of true elements, a share of about `chance`."""
    values = [d.rng.random() < chance for _ in range(math.prod(shape))]
    if "expanded" in layouts:  # several indices share one element
        values = values[:1] * len(values)
    return Case(d.result((sum(values),), layouts[0]), (d.spec(shape, values, layouts[1]),))


WIDE: tuple[Shape, ...] = ((5,), (3, 37), (2, 3, 9), (4, 1, 33), (260,))
ODD: tuple[Shape, ...] = ((), (0,), (3, 0, 2), (1, 1), (1031,), (70, 70))


def nonzero(d: Draw) -> Iterator[Case]:
    for n in range(1, 71):
        yield true(d, (n,), d.any_layouts(1), d.rng.random())
    for layouts in d.layouts(1):
        for shape in WIDE:
            for chance in (0, 0.1, 0.5, 0.9, 1):
                yield true(d, shape, layouts, chance)
    for shape in ODD:
        for chance in (0, 0.5, 1):
            yield true(d, shape, d.any_layouts(1), chance)


def large_nonzero(d: Draw, count: int) -> Case:
    return true(d, (count,), ("contiguous",) * 2, 0.5)


def selected(d: Draw, shape: Shape, axis: int, n: int, layouts: tuple[str, ...]) -> Case:
    index = indices(d, (n,), shape[axis], layouts[2])
    x = d.spec(shape, layout=layouts[1])
    return Case(d.result(replaced(shape, axis, n), layouts[0]), (x, index), {"axis": axis})


def index_select(d: Draw) -> Iterator[Case]:
    for layouts in d.layouts(2):
        for shape, axis in INDEXED:
            yield selected(d, shape, axis, d.rng.choice((0, 1, 4, 20)), layouts)
    yield selected(d, (3, 0), 0, 5, d.any_layouts(2))


def large_index_select(d: Draw, count: int) -> Case:
    return selected(d, (50, 70), 0, count // 70, ("contiguous",) * 3)
