"""Cases of recurrent layers and their gradients, and the sizes of the terms in their sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from tutor.backends.signatures import SIGNATURES
from tutor.testing.cases.draws import OUT_LAYOUTS, Case, Draw, Shape

# For each kernel its operands, beginning with out, and which of `shapes` it reads and writes.
OPERANDS = {
    "rnn": "states wx u start",
    "rnn_grad": "wx states u states start",
    "lstm": "states wx u start gates",
    "lstm_grad": "wx states u start states gates start",
    "gru": "states wx u bias start gates",
    "gru_grad": "wx states u start states gates wx start",
}
KERNELS = {*OPERANDS}
DOMAINS = {"wx": "small", "bias": "small", "start": "decay", "states": "decay", "gates": "part"}
Sizes = tuple[int, int, int]  # places, sequences, units
Terms = dict[int, list[float]]


def shapes(kernel: str, sizes: Sizes, kept: int | None = None) -> tuple[Shape, ...]:
    """The shapes of the operands, out's first; `kept`: places that the gates have room for."""
    (places, n, h), cell = sizes, kernel.removesuffix("_grad")
    gates: Shape = {"rnn": (), "lstm": (4,), "gru": (3,)}[cell]
    several: Shape = (2,) if cell == "lstm" else ()
    of = {
        "wx": (places, n, *gates, h), "u": (*gates, h, h), "bias": (*gates, h),
        "start": (*several, n, h), "states": (*several, places, n, h),
        "gates": (places if kept is None else kept, n, 4, h),
    }  # fmt: skip
    return tuple([of[name] for name in OPERANDS[kernel].split()])


def walked(d: Draw, sizes: Sizes, layouts: tuple[str, ...], kept: int | None = None) -> Case:
    """A layer of that many places, sequences and units, with these layouts (out's first)."""
    out, *given = shapes(d.kernel, sizes, kept)
    names = OPERANDS[d.kernel].split()[1:]
    read = len(given) + 1 - SIGNATURES[d.kernel].results
    ins = []
    for i, (name, shape, layout) in enumerate(zip(names, given, layouts[1:], strict=True)):
        if i >= read:
            ins.append(d.result(shape, layout if layout in OUT_LAYOUTS else "mixed"))
        elif name == "u":  # so small that no place outgrows the one before
            drawn = [v / shape[-1] for v in d.values(math.prod(shape), "small")]
            ins.append(d.spec(shape, drawn, layout))
        else:
            ins.append(d.spec(shape, DOMAINS[name], layout))
    relu = d.rng.random() < 0.5
    return Case(d.result(out, layouts[0]), tuple(ins), {"relu": relu} if "rnn" in d.kernel else {})


def layer(d: Draw) -> Iterator[Case]:
    count = len(d.ins)
    for h in range(1, 36):
        yield walked(d, (d.rng.randrange(1, 4), d.rng.randrange(1, 4), h), d.any_layouts(count))
    for n in range(4, 32, 3):
        yield walked(d, (2, n, d.rng.randrange(1, 4)), d.any_layouts(count))
    for layouts in d.layouts(count):
        yield walked(d, (3, 2, 5), layouts)
    for sizes in ((0, 2, 3), (2, 0, 3), (2, 3, 0)):
        yield walked(d, sizes, d.any_layouts(count))
    for kept in (0, 1) if d.kernel in ("lstm", "gru") else ():
        yield walked(d, (3, 2, 5), d.any_layouts(count), kept)


def large_layer(d: Draw, count: int) -> Case:
    return walked(d, (3, max(count // 2000, 2), 40), ("contiguous",) * (1 + len(d.ins)))


# ---- how large their terms are -------------------------------------------------------------------


def factor(case: Case) -> int:
    """c of bounds.py: the terms of a sum, and a few for the operations on it."""
    return 4 * case.out.shape[-1] + 40


def largest(x: Any) -> float:
    return max(map(abs, x or ()), default=0.0)


def magnitudes(kernel: str, case: Case, values: list[Any]) -> Terms:
    """S from the largest values, place by place: an error of a place is multiplied on the way to
    the next one by at most the slopes between them, which are counted by their sizes."""
    names = OPERANDS[kernel].split()
    found: dict[str, float] = {}
    for name, x in zip(names[1:], values, strict=True):
        found[name] = max(found.get(name, 0.0), largest(x))
    found["g"], units = largest(values[0]), case.out.shape[-1]
    places = case.ins[0].shape[1 if kernel == "lstm_grad" else 0]
    terms = SIZES[kernel](found, units, places, bool(case.params.get("relu")))
    outs = {0: case.out, **{i: s for i, s in enumerate(case.ins, 1) if s.values is None}}
    return {i: spread(names[i], spec.shape, terms, places) for i, spec in outs.items()}


def spread(
    name: str, shape: Shape, terms: dict[str, list[list[float]]], places: int
) -> list[float]:
    """S of each element, from lists of what S is at each place, one for each part (h, and c)."""
    if name == "gates":
        at = [min(i, places - 1) if i < shape[0] - 1 else places - 1 for i in range(shape[0])]
        return [terms[name][0][t] for t in at for _ in range(math.prod(shape[1:]))]
    each = math.prod(shape) // max(sum(map(len, terms[name])), 1)
    return [s for part in terms[name] for s in part for _ in range(each)]


def of_rnn(found: dict[str, float], h: int, places: int, relu: bool) -> Any:
    by, size, off, terms = h * found["u"], found["start"], 0.0, []
    for _ in range(places):
        a = found["wx"] + by * size
        off, size = a + by * off + (not relu), a if relu else 1.0
        terms.append(off)
    return {"states": [terms]}


def of_lstm(found: dict[str, float], h: int, places: int, _: bool) -> Any:
    by, size, c = h * found["u"], found["start"], found["start"]
    off = off_c = 0.0
    hs: list[float] = []
    cs: list[float] = []
    gates: list[float] = []
    for _place in range(places):
        a = found["wx"] + by * size + by * off  # the error of a gate's sum
        gate = a / 4 + 1
        off_c, c = off_c + c * gate + gate + a + 1 + c + 1, c + 1
        off, size = gate + off_c + 1, 1.0
        hs.append(off)
        cs.append(off_c)
        gates.append(a + 1)
    return {"states": [hs, cs], "gates": [gates]}


def of_gru(found: dict[str, float], h: int, places: int, _: bool) -> Any:
    by, size, off = h * found["u"], found["start"], 0.0
    terms, gates = [], []
    for _place in range(places):
        a = found["bias"] + by * size
        sums = a + by * off
        gate = (found["wx"] + sums) / 4 + 1
        new = found["wx"] + a + a * gate + sums + 1
        off, size = off + new + (size + 1) * gate + size + 1, max(size, 1.0)
        terms.append(off)
        gates.append(gate + sums + new)
    return {"states": [terms], "gates": [gates]}


def of_rnn_grad(found: dict[str, float], h: int, places: int, _: bool) -> Any:
    by, past, terms = h * found["u"], 0.0, []
    for _place in range(places):
        da = (found["g"] + past) * (1 + found["states"] ** 2)
        past = by * da
        terms.append(da)
    return {"wx": [terms[::-1]], "start": [[past]]}


def of_lstm_grad(found: dict[str, float], h: int, places: int, _: bool) -> Any:
    by, past, dc, terms = 4 * h * found["u"], 0.0, 0.0, []
    before = 1 + max(found["states"], found["start"])
    for _place in range(places):
        dh = found["g"] + past
        dc = dc + found["g"] + 2 * dh
        terms.append(2 * (dc * before + dh))
        past = by * terms[-1]
    return {"wx": [terms[::-1]], "start": [[past], [dc]]}


def of_gru_grad(found: dict[str, float], h: int, places: int, _: bool) -> Any:
    by, past, terms = 3 * h * found["u"], 0.0, []
    before = 1 + max(found["states"], found["start"])
    for _place in range(places):
        dh = found["g"] + past
        terms.append(8 * dh * before)
        past = dh + by * terms[-1]
    return {"wx": [terms[::-1]], "start": [[past]]}


SIZES: dict[str, Callable[..., Any]] = {
    "rnn": of_rnn, "rnn_grad": of_rnn_grad, "lstm": of_lstm, "lstm_grad": of_lstm_grad,
    "gru": of_gru, "gru_grad": of_gru_grad,
}  # fmt: skip
