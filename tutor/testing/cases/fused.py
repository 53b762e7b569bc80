"""Cases of softmax and the cross entropy, of optimizer steps and of random numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tutor.backends.signatures import SIGNATURES
from tutor.dtype import float64, int64, uint64
from tutor.testing.cases.draws import OUT_LAYOUTS, Case, Draw, Shape, Spec

# ---- softmax and the cross entropy ---------------------------------------------------------------


def logits(d: Draw, shape: Shape, layout: str, poison: float | None = None) -> Spec:
    """Small numbers, or ones so far apart that most exponentials vanish; one is `poison`."""
    spread = d.rng.choice((1, 1, 30))
    values = [spread * x for x in d.values(math.prod(shape), "small")]
    if poison is not None and values:
        values[d.rng.randrange(len(values))] = poison
    return d.spec(shape, values, layout)


def softmax(d: Draw) -> Iterator[Case]:
    def case(
        shape: Shape, axis: int, layouts: tuple[str, ...], poison: float | None = None
    ) -> Case:
        out, x = layouts
        return Case(d.result(shape, out), (logits(d, shape, x, poison),), {"axis": axis})

    for n in range(1, 71):
        yield case((n,), 0, d.any_layouts(1))
        yield case((2, n), d.rng.choice((0, 1, -1)), d.any_layouts(1))
    for layouts in d.layouts(1):
        for axis in (0, 1, -1):
            yield case((3, 10, 5), axis, layouts)
        yield case((5, 37), 1, layouts)
        yield case((37, 5), 0, layouts)
    for shape, axis in (((0,), 0), ((0, 3), 1), ((3, 0, 2), 0), ((1031,), 0), ((2, 300), 1)):
        yield case(shape, axis, d.any_layouts(1))
    for poison in (math.inf, -math.inf, math.nan):
        for n in (1, 2, 9, 40):
            yield case((3, n), 1, d.any_layouts(1), poison)
    yield Case(d.result((9,)), (d.spec((9,), [-math.inf] * 9),), {"axis": 0})


def large_softmax(d: Draw, count: int) -> Case:
    shape = (count // 100, 100)
    return Case(d.result(shape), (logits(d, shape, "contiguous"),), {"axis": -1})


def entropy(
    d: Draw, rows: Shape, classes: int, layouts: tuple[str, ...], poison: float | None = None
) -> Case:
    """A cross entropy or its gradient. The loss comes per row or, now and then, as one sum."""
    x = logits(d, (*rows, classes), layouts[1], poison)
    targets = [d.rng.randrange(classes) for _ in range(math.prod(rows))]
    ins: tuple[Spec, ...] = (x, d.spec(rows, targets, layouts[2], int64))
    if d.kernel == "cross_entropy_grad":
        ins, shape = (*ins, d.spec(rows, "small", layouts[3])), x.shape
    else:
        shape = d.rng.choice((rows, ()))
    result = d.result(shape, layouts[0])
    return Case(result, ins, {"scale": d.rng.choice((1.0, 0.125, 1 / 3, -2.0))})


def cross_entropy(d: Draw) -> Iterator[Case]:
    inputs = len(d.ins)
    for n in range(1, 71):
        yield entropy(d, (d.rng.randrange(5),), n, d.any_layouts(inputs))
        yield entropy(d, (n,), d.rng.randrange(1, 12), d.any_layouts(inputs))
    for layouts in d.layouts(inputs):
        for rows in ((), (7,), (2, 3)):
            yield entropy(d, rows, 10, layouts)
    yield entropy(d, (3,), 500, d.any_layouts(inputs))
    for poison in (math.inf, -math.inf, math.nan):
        for rows in ((1,), (3,)):
            yield entropy(d, rows, 10, d.any_layouts(inputs), poison)


def large_cross_entropy(d: Draw, count: int) -> Case:
    return entropy(d, (count // 10,), 10, ("contiguous",) * (1 + len(d.ins)))


# ---- optimizer steps -----------------------------------------------------------------------------


def step(d: Draw, shape: Shape, layouts: tuple[str, ...], still: bool = False) -> Case:
    """One step. With weight decay, d = g + weight_decay * p must not cancel, since adam divides by
    its size: so g has p's sign; so has m, since lion takes the sign of its sum with g. `still`: no
    gradient and no state, so nothing may move."""
    count, decay = math.prod(shape), d.rng.choice((0.0, 0.01))
    momentum = d.rng.choice((0.0, 0.9))
    p = d.values(count, "small")
    g = [math.copysign(x, y) for x, y in zip(d.values(count, "positive"), p, strict=True)]
    moments = d.values(count, "small"), d.values(count, "positive")
    state = list(moments[: moved(d.kernel) - 2])
    if d.kernel == "lion":
        state = [[math.copysign(x, y) for x, y in zip(state[0], p, strict=True)]]
    elif d.kernel in ("rmsprop", "adagrad"):
        state = [moments[1]]
    if still:
        g, state, decay = [0.0] * count, [[0.0] * count for _ in state], 0.0
    specs = [d.spec(shape, *each) for each in zip((p, g, *state), layouts, strict=True)]
    more: tuple[float, ...] = {
        "sgd": (momentum,), "nesterov": (momentum,), "adam": (0.9, 0.999, 1e-8),
        "adamw": (0.9, 0.999, 1e-8), "rmsprop": (0.99, 1e-8), "adagrad": (0.5, 1e-10),
        "lion": (0.9, 0.99),
    }.get(d.kernel, ())  # fmt: skip
    specs += [d.cell(x, float64) for x in (d.rng.choice((0.1, 0.003)), *more, decay)]
    if "n" in SIGNATURES[d.kernel].types:
        specs.append(d.cell(d.rng.choice((0, 1, 9, 1000, 10**6, 2**64 - 1)), uint64))
    return Case(specs[0], tuple(specs[1:]), exact=still)


def moved(kernel: str) -> int:
    """How many operands have the parameter's shape: the parameter, its gradient and the state."""
    return SIGNATURES[kernel].types.count("T")


MOVED: tuple[Shape, ...] = ((5,), (3, 37), (2, 3, 9))
ODDLY_MOVED: tuple[Shape, ...] = ((), (0,), (3, 0), (1, 1), (1031,))


def optimizer(d: Draw) -> Iterator[Case]:
    """Every operand except the gradient is written, so only the gradient can be expanded."""
    inputs = moved(d.kernel) - 1

    def writable(layouts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple("mixed" if i != 1 and x == "expanded" else x for i, x in enumerate(layouts))

    for n in range(1, 71):
        yield step(d, (n,), writable(d.any_layouts(inputs)))
    for layouts in d.layouts(inputs):
        for shape in MOVED:
            yield step(d, shape, writable(layouts))
    for shape in ODDLY_MOVED:
        yield step(d, shape, writable(d.any_layouts(inputs)))
    yield step(d, (40,), ("contiguous",) * (1 + inputs), still=True)


def large_optimizer(d: Draw, count: int) -> Case:
    return step(d, (count,), ("contiguous",) * moved(d.kernel)).laid("contiguous", d.rng)


# ---- random numbers ------------------------------------------------------------------------------


def numbered(d: Draw, shape: Shape, layout: str = "contiguous") -> Case:
    """Any seed of 64 bits; counters also where their lowest 32 bits overflow."""
    seed = d.rng.choice((0, 1, 2**64 - 1, d.rng.getrandbits(64)))
    counter = d.rng.choice((0, 1, 2**32 - 3, 2**64 - 2, d.rng.getrandbits(63)))
    cells = d.cell(seed, uint64), d.cell(counter, uint64)
    return Case(d.result(shape, layout), cells, {"blocks": d.rng.choice((0, 1, 5, 2**40))})


def random(d: Draw) -> Iterator[Case]:
    for n in range(71):
        yield numbered(d, (n,), d.rng.choice(OUT_LAYOUTS))
    for layout in OUT_LAYOUTS:
        for shape in ((), (5,), (3, 37), (2, 3, 9), (3, 0, 2), (1031,)):
            yield numbered(d, shape, layout)


def large_random(d: Draw, count: int) -> Case:
    return numbered(d, (count // 4,)).laid("contiguous", d.rng)
