"""The table of cases: for every kernel of signatures.py, on which operands backends must agree.

`CASES` maps a kernel's name to two functions. The first yields its cases: every layout on either
side, no element and one, lengths up to 70 (vectors and what is left behind them), 0-d, in place,
and whatever is particular to the kernel. The second makes one case that is large enough for a
backend to share it out among threads.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

from tutor.backends.draws import OUT_LAYOUTS, Case, Draw, Shape, edges, representable, specials
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import TABLE, DType, bool_, float16, float32, float64, int64
from tutor.errors import KernelNotFound

SMALL_SHAPES = ((), (1,), (0,), (3, 0, 2), (1, 1, 1), (2, 1, 3))
LAID_SHAPES = ((5,), (3, 37), (2, 3, 9))
LARGE = 70_001  # elements; more than the largest piece of work that a thread of simd_cpp takes


def draw(kernel: str, dtype: DType, seed: int = 0) -> Iterator[Case]:
    """The cases of one row of signatures.py. KernelNotFound for a kernel that has no entry.

    python_ref is slow, so it meets the large case only where most work is done: in float32.
    """
    if kernel not in CASES:
        raise KernelNotFound(
            f"conformance cases for kernel {kernel!r}",
            f"tutor/backends/cases.py has cases for {', '.join(CASES)}",
            "add a line to CASES that says how its operands are drawn",
        )
    cases, large = CASES[kernel]
    d = Draw(kernel, dtype, seed)
    yield from cases(d)
    if dtype is float32 or SIGNATURES[kernel].dtypes == (dtype,):
        yield large(d, LARGE)


# ---- elementwise ---------------------------------------------------------------------------------


def elementwise(d: Draw) -> Iterator[Case]:
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


def large_elementwise(d: Draw, count: int) -> Case:
    return alike(d, (count,), ("contiguous",) * (len(d.ins) + 1))


def function(d: Draw) -> Iterator[Case]:
    """Elementwise, and a sweep over the whole range: of float16 every number there is."""
    yield from elementwise(d)
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
    yield from elementwise(d)
    if not d.dtype.is_float:
        return
    uniform = d.rng.uniform
    pairs = [(uniform(0, 9), uniform(-9, 9)) for _ in range(1500)]
    pairs += [(2.0 ** uniform(-14, 14), uniform(-4, 4)) for _ in range(1500)]
    pairs += [(1 + uniform(-1, 1) * 2.0**-e, uniform(-1, 1) * 2.0**e) for e in range(1, 15) for _ in range(99)]
    pairs += [(uniform(-9, 9), d.rng.randint(-9, 9)) for _ in range(999)]
    yield listed(d, pairs)


def cast(d: Draw) -> Iterator[Case]:
    """Every shape into one dtype, the special values and many others into all of them."""
    d.out = d.rng.choice(TABLE)
    yield from elementwise(d)
    known = specials(d.dtype) + (edges(d.dtype) if d.dtype.is_float else [])
    if d.dtype is float16:
        known = sweep(d)
    for d.out in TABLE:
        yield listed(d, [(x,) for x in known])
        yield alike(d, (300,), d.any_layouts(1))
        yield alike(d, (3, 21), d.any_layouts(1))


def large_cast(d: Draw, count: int) -> Case:
    d.out = float64 if d.dtype is float32 else float32
    return large_elementwise(d, count)


def fill(d: Draw) -> Iterator[Case]:
    for value in specials(d.dtype) + (representable(edges(float64), float64) if d.dtype.is_float else []):
        yield alike(d, (d.rng.randrange(40),), d.any_layouts(0), value=value)
    for value in (0, 1):
        yield alike(d, (5,), d.any_layouts(0), value=value)
        for layouts in d.layouts(0):
            yield alike(d, (3, 37), layouts, value=value)
    for shape in SMALL_SHAPES:
        yield alike(d, shape, d.any_layouts(0), value=1)


def large_fill(d: Draw, count: int) -> Case:
    return alike(d, (count,), ("contiguous",), value=1)


# ---- reductions and products ---------------------------------------------------------------------


def numbers(d: Draw) -> dict[str, Any]:
    """Values to add up: harmless ones, ones whose sum is exact, and now and then inf or nan."""
    domain = d.rng.choice(("small", "whole"))
    return {"values": domain, "exact": domain == "whole"}


def poisoned(d: Draw, shape: Shape) -> list[float]:
    values = d.values(math.prod(shape), "small")
    for _ in range(2):
        values[d.rng.randrange(len(values))] = d.rng.choice((math.inf, -math.inf, math.nan))
    return values


def reduced(d: Draw, shape: Shape, axis: int | tuple[int, ...], layouts: tuple[str, str], values: Any = None) -> Case:
    goes = {a % len(shape) for a in (axis if isinstance(axis, tuple) else (axis,))}
    left = tuple(n for a, n in enumerate(shape) if a not in goes)
    rounds = d.kernel in ("sum", "mean")
    domain = d.rng.choice(("small", "whole")) if rounds else "any"
    x = d.spec(shape, domain if values is None else values, layouts[1])
    exact = values is None and domain == "whole" and d.kernel == "sum"
    return Case(d.result(left, layouts[0]), (x,), {"axis": axis}, exact=exact)


def reduction(d: Draw) -> Iterator[Case]:
    for n in range(1, 71):
        yield reduced(d, (n,), 0, d.any_layouts(1))
        yield reduced(d, (2, n), d.rng.choice((0, 1, -1, (0, 1))), d.any_layouts(1))
    axes: tuple[Any, ...] = (0, 1, -1, (0, 1), (0, 2), (1, 2), (2,), (0, 1, 2), ())
    for layouts in d.layouts(1):
        for axis in axes:
            yield reduced(d, (3, 5, 11), axis, layouts)
        yield reduced(d, (37, 3), 0, layouts)
        yield reduced(d, (2, 3, 4, 5), (1, 3), layouts)
    for shape, axis in (((1031,), 0), ((2, 700), 1), ((700, 3), 0), ((40, 41), (0, 1)), ((), ())):
        yield reduced(d, shape, axis, d.any_layouts(1))
    yield reduced(d, (3, 0, 2), 0, d.any_layouts(1))
    if d.kernel in ("sum", "mean"):
        for shape, axis in (((0,), 0), ((3, 0, 2), 1), ((3, 0), (0, 1)), ((0, 3), 0)):
            yield reduced(d, shape, axis, d.any_layouts(1))
        for shape, axis in (((9,), 0), ((50,), 0), ((7, 20), 0), ((7, 20), 1)):
            if d.dtype.is_float:
                yield reduced(d, shape, axis, d.any_layouts(1), poisoned(d, shape))
    else:  # where equal numbers, signed zeros and nan meet
        for x in itertools.product(specials(d.dtype)[:12], repeat=2):
            yield reduced(d, (2,), 0, d.any_layouts(1), list(x))
        for _ in range(9):
            yield reduced(d, (40,), 0, d.any_layouts(1), [d.rng.choice((0, 1)) for _ in range(40)])


def large_reduction(d: Draw, count: int) -> Case:
    return reduced(d, (count,), 0, ("contiguous", "contiguous"))


def product(d: Draw, batch: Shape, m: int, k: int, n: int, layouts: tuple[str, ...], domain: str = "") -> Case:
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
    for m, k, n in ((0, 3, 4), (3, 4, 0), (0, 0, 0), (33, 70, 35), (3, 600, 5), (300, 3, 4), (2, 3, 500)):
        yield product(d, (), m, k, n, d.any_layouts(2))
    yield product(d, (0,), 3, 4, 5, d.any_layouts(2))
    if d.dtype.is_float:
        for _ in range(4):
            yield product(d, (), 9, 17, 18, d.any_layouts(2), "nan")


def large_matmul(d: Draw, count: int) -> Case:
    return product(d, (), 130, 67, count // 500, ("contiguous",) * 3, "whole" if d.dtype is float16 else "small")


# ---- moving and indexing -------------------------------------------------------------------------


def padded(d: Draw, shape: Shape, room: tuple[tuple[int, int], ...], layouts: tuple[str, ...]) -> Case:
    to = tuple(n + before + after for n, (before, after) in zip(shape, room, strict=True))
    params = {"before": tuple(before for before, _ in room), "value": d.rng.choice(specials(d.dtype))}
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


def joined(d: Draw, shape: Shape, axis: int, sizes: tuple[int, ...], layouts: tuple[str, ...]) -> Case:
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


def indices(d: Draw, shape: Shape, size: int, layout: str) -> Any:
    return d.spec(shape, [d.rng.randrange(size) for _ in range(math.prod(shape))], layout, int64)


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
    beside = tuple(d.rng.randint(m // 2, m) for m in shape)  # src may be smaller beside the axis
    of = replaced(beside, axis, n)
    domain = d.rng.choice(("small", "whole"))
    x, src = d.spec(shape, domain, layouts[1]), d.spec(of, domain, layouts[3])
    index = indices(d, of, shape[axis], layouts[2])
    exact = domain == "whole"
    return Case(d.result(shape, layouts[0]), (x, index, src), {"axis": axis}, exact=exact)


def scatter_add(d: Draw) -> Iterator[Case]:
    for layouts in d.layouts(3):
        for shape, axis in INDEXED:
            yield scattered(d, shape, axis, d.rng.choice((0, 1, 4, 20)), layouts)
    yield scattered(d, (3, 0), 0, 5, d.any_layouts(3))
    yield scattered(d, (4,), 0, 999, d.any_layouts(3))


def large_scatter_add(d: Draw, count: int) -> Case:
    return scattered(d, (50, 70), 0, count // 70, ("contiguous",) * 4)


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
