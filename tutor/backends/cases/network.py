"""Cases of attention, and how large the terms are that they add up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tutor.backends.cases.draws import OUT_LAYOUTS, Case, Draw, Shape, Spec
from tutor.backends.cases.operands import elements, image

Numbers = Sequence[Any]

# ---- attention -----------------------------------------------------------------------------------


def attended(
    d: Draw, sizes: tuple[Shape, int, int, int, int], layouts: tuple[str, ...], causal: bool
) -> Case:
    """Attention, or its gradient, of (leading axes, queries, keys, width of both, of values)."""
    lead, rows, keys, e, n = sizes
    shapes: dict[str, Shape] = {
        "q": (*lead, rows, e), "k": (*lead, keys, e), "v": (*lead, keys, n),
        "mask": (*lead, rows, keys), "logs": (*lead, rows), "z": (*lead, rows, n),
    }  # fmt: skip
    params: dict[str, Any] = {"scale": d.rng.choice((1.0, 0.5, 0.3)), "causal": causal}
    out, *rest = layouts
    inner = [layout if layout in OUT_LAYOUTS else "mixed" for layout in rest]
    q, k, v = (d.spec(shapes[x], "small", rest[i]) for i, x in enumerate("qkv"))
    mask = d.values(math.prod(shapes["mask"]), "small")
    if mask and d.rng.random() < 0.5:
        mask = [-math.inf if d.rng.random() < 0.3 else x for x in mask]
    masks = d.spec(shapes["mask"], mask, rest[3])
    if d.kernel == "attention":
        logs = d.result(shapes["logs"], inner[4], d.ins[4])
        return Case(d.result(shapes["z"], out), (q, k, v, masks, logs), params)
    g, z = (d.spec(shapes["z"], "small", rest[i]) for i in (4, 5))
    logs = d.spec(shapes["logs"], sums(q, k, masks, **params), inner[6], d.ins[6])
    dk, dv = d.result(shapes["k"], inner[7]), d.result(shapes["v"], inner[8])
    return Case(d.result(shapes["q"], out), (g, q, k, v, masks, z, logs, dk, dv), params)


def sums(q: Spec, k: Spec, mask: Spec, scale: float, causal: bool) -> list[float]:
    """ln sum e**score of each row: so that no weight is above 1."""
    (rows, e), keys, found = q.shape[-2:], k.shape[-2], []
    qs, ks, masks = (elements(x, image(x)) for x in (q, k, mask))  # where some stand for several
    for row in range(math.prod(q.shape[:-1])):
        first = row // max(rows, 1) * keys
        s = [
            scale * sum(qs[row * e + i] * ks[(first + j) * e + i] for i in range(e))
            + masks[row * keys + j]
            for j in range(keys) if not causal or j <= row % rows
        ]  # fmt: skip
        largest = max(s, default=-math.inf)
        total = sum(math.exp(x - largest) for x in s) if largest > -math.inf else 0.0
        found.append(largest + math.log(total) if total else -math.inf)
    return found


def attention(d: Draw) -> Iterator[Case]:
    count = len(d.ins)
    sizes: tuple[Shape, int, int, int, int]
    for n in range(1, 36):
        sizes = ((d.rng.randrange(1, 3),), d.rng.randrange(1, 9), n, d.rng.randrange(1, 9), 3)
        yield attended(d, sizes, d.any_layouts(count), n % 2 == 0)
        sizes = ((), n, d.rng.randrange(1, 9), 2, d.rng.randrange(1, 9))
        yield attended(d, sizes, d.any_layouts(count), n % 3 == 0)
    for layouts in d.layouts(count):
        yield attended(d, ((2, 3), 4, 5, 3, 2), layouts, False)
    for width in (15, 16, 17, 33):
        yield attended(d, ((2,), 5, 6, width, width + 1), d.any_layouts(count), True)
    for sizes in (((0,), 2, 3, 4, 5), ((2,), 0, 3, 2, 2), ((2,), 3, 0, 2, 2), ((1,), 3, 2, 0, 2),
                  ((1,), 2, 3, 2, 0)):  # fmt: skip
        yield attended(d, sizes, d.any_layouts(count), False)


def large_attention(d: Draw, count: int) -> Case:
    sizes = ((count // 8000,), 40, 30, 8, 8)
    return attended(d, sizes, ("contiguous",) * (1 + len(d.ins)), True)


# ---- how large their terms are -------------------------------------------------------------------

KERNELS = {"attention", "attention_grad"}
Terms = dict[int, list[float]]


def factor(kernel: str, case: Case) -> int:
    """c of bounds.py: how many terms there are, and a few for what is done with their sums."""
    q, k, v = [spec.shape for spec in case.ins][kernel.endswith("grad") :][:3]
    return q[-1] + v[-1] + q[-2] + k[-2] + 40


def magnitudes(kernel: str, case: Case, values: list[Any]) -> Terms:
    """The S of bounds.py for each element of each result, by the position of its operand; `values`
    are those of the inputs."""
    return of_attention(kernel, case, values)


def of_attention(kernel: str, case: Case, values: list[Any]) -> Terms:
    """By the largest numbers there are: a weight is off by as much as its score is large."""

    def largest(x: Numbers) -> float:
        return max((abs(v) for v in x if math.isfinite(v)), default=0.0)

    def all_of(i: int, s: float) -> list[float]:
        spec = case.out if i == 0 else case.ins[i - 1]
        return [s] * math.prod(spec.shape)

    grad = kernel.endswith("grad")
    g, (q, k, v, mask) = (values[0] if grad else []), map(largest, values[grad : grad + 4])
    *_, rows, e = case.ins[grad].shape
    keys, n = case.ins[grad + 2].shape[-2:]
    scale = case.params["scale"]
    off = 1 + scale * e * q * k + mask  # of a weight that is 1
    if not grad:
        return {0: all_of(0, off * v), 5: all_of(5, off)}
    slope = scale * off * largest(g) * n * (v + largest(values[5]))
    return {
        0: all_of(0, keys * slope * k), 8: all_of(8, rows * slope * q),
        9: all_of(9, rows * off * largest(g)),
    }  # fmt: skip
