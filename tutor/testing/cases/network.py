"""Cases of norms, attention and dropout, and the sizes of the terms in their sums."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tutor.backends.signatures import SIGNATURES
from tutor.dtype import float32, float64
from tutor.testing.cases import fused
from tutor.testing.cases.draws import OUT_LAYOUTS, Case, Draw, Shape, Spec
from tutor.testing.cases.operands import elements, image

Numbers = Sequence[Any]

# ---- norms ---------------------------------------------------------------------------------------


def normed(d: Draw, x: Shape, layouts: tuple[str, ...]) -> Case:
    """A norm of x, or its gradient, with these layouts (out's, then the inputs')."""
    kernel, results = d.kernel, SIGNATURES[d.kernel].results
    n = x[1:2] if kernel.startswith(("batch", "group")) else x[-1:]
    wholes = 2 if kernel.endswith("_grad") else 1
    ins = []
    for i, (dtype, layout) in enumerate(zip(d.ins, layouts[1:], strict=True)):
        if i > len(d.ins) - results:
            ins.append(d.result(n, layout if layout in OUT_LAYOUTS else "mixed", dtype))
        elif i < wholes:
            ins.append(d.spec(x, "small", layout, dtype))
        else:  # weight, bias; mean and variance of a gradient
            ins.append(d.spec(n, "positive" if i > wholes else "small", layout, dtype))
    params = {"eps": d.rng.choice((1e-5, 0.25))}
    if kernel.startswith("group"):
        params["groups"] = d.rng.choice((1, 2, 3, max(x[1], 1)))
    return Case(d.result(x, layouts[0]), tuple(ins), params)


def norm(d: Draw) -> Iterator[Case]:
    count, channels = len(d.ins), d.kernel.startswith(("batch", "group"))
    for n in range(2, 71):
        shape = (d.rng.randrange(2, 4), d.rng.choice((1, 3)), n) if channels else (3, n)
        yield normed(d, shape, d.any_layouts(count))
    for layouts in d.layouts(count):
        yield normed(d, (3, 5, 4) if channels else (2, 3, 19), layouts)
    for shape in ((5, 35, 1), (0, 2, 3), (3, 0, 2), (2, 3, 0), (70, 2, 2), (2, 2, 70)):
        # else the mean that a batch norm gives is nan: 0 / 0
        if not (d.kernel.startswith("batch") and 0 in (shape[0], shape[2])):
            yield normed(d, shape, d.any_layouts(count))


def large_norm(d: Draw, count: int) -> Case:
    shape = (
        (count // 1000, 10, 100) if d.kernel.startswith(("batch", "group")) else (count // 100, 100)
    )
    return normed(d, shape, ("contiguous",) * (1 + len(d.ins)))


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
    """ln sum e**score for each row: so no weight is above 1."""
    (rows, e), keys, found = q.shape[-2:], k.shape[-2], []
    qs, ks, masks = (elements(x, image(x)) for x in (q, k, mask))  # expanded ones repeat
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


# ---- dropout -------------------------------------------------------------------------------------


def dropped(d: Draw, shape: Shape, layouts: tuple[str, str]) -> Case:
    drawn = fused.numbered(d, shape, layouts[0])
    chance = d.rng.choice((0.0, 0.1, 0.5, 0.9))
    params = {**drawn.params, "scale": 1 / (1 - chance), "threshold": int(chance * 2**32)}
    return drawn._replace(ins=(*drawn.ins, d.spec(shape, "small", layouts[1])), params=params)


def dropout(d: Draw) -> Iterator[Case]:
    for n in range(71):
        out, x = d.any_layouts(1)
        yield dropped(d, (n,), (out, x))
    for out, x in d.layouts(1):
        for shape in ((), (5,), (3, 37), (2, 3, 9), (3, 0, 2), (1031,)):
            yield dropped(d, shape, (out, x))


def large_dropout(d: Draw, count: int) -> Case:
    return dropped(d, (count // 4,), ("contiguous",) * 2).laid("contiguous", d.rng)


# ---- how large their terms are -------------------------------------------------------------------

PARTS = ("layer_norm", "rms_norm", "batch_norm", "group_norm", "attention")
KERNELS = {*PARTS, *(f"{part}_grad" for part in PARTS)}
Terms = dict[int, list[float]]


def factor(kernel: str, case: Case) -> int:
    """c of bounds.py: the number of terms, plus a few for the operations on their sums."""
    shapes = [spec.shape for spec in case.ins]
    if kernel.startswith("attention"):
        q, k, v = shapes[kernel.endswith("grad") :][:3]
        return q[-1] + v[-1] + q[-2] + k[-2] + 40
    x = shapes[0]
    if kernel.startswith("group"):
        return x[2] * (x[0] + x[1]) + 40
    return (math.prod(x) // max(x[1], 1) if kernel.startswith("batch") else sum(x)) + 40


def magnitudes(kernel: str, case: Case, values: list[Any]) -> Terms:
    """S of bounds.py for each element of each result, by the position of its operand; `values` are
    those of the inputs."""
    return (of_attention if kernel.startswith("attention") else of_norm)(kernel, case, values)


def average(x: Numbers) -> float:
    return sum(x) / max(len(x), 1)


def of_attention(kernel: str, case: Case, values: list[Any]) -> Terms:
    """S from the largest values: the error of a weight grows with the size of its score."""

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
    off = 1 + scale * e * q * k + mask  # for a weight of 1
    if not grad:
        return {0: all_of(0, off * v), 5: all_of(5, off)}
    slope = scale * off * largest(g) * n * (v + largest(values[5]))
    return {
        0: all_of(0, keys * slope * k), 8: all_of(8, rows * slope * q),
        9: all_of(9, rows * off * largest(g)),
    }  # fmt: skip


def of_norm(kernel: str, case: Case, values: list[Any]) -> Terms:
    """Row by row, or channel by channel. The error of h = (x - mean) / root is that of mean and x,
    counted by their sizes, which may be large where they cancel; that of 1 / root is `far`. The
    variance has the squared error of the mean: for equal numbers it need not be 0."""
    grad, channels = kernel.endswith("_grad"), kernel.startswith("batch")
    slopes, x, w, *rest = values if grad else [[1.0] * len(values[0]), *values]
    shape, eps = case.ins[grad].shape, case.params["eps"]
    grouped = kernel.startswith("group")
    rows = positions_of_groups(shape, case.params["groups"]) if grouped else positions(
        shape, channels)  # fmt: skip
    n = shape[1] if channels or grouped else shape[-1]
    off = factor(kernel, case) * (float64 if case.out.dtype is float64 else float32).eps / 2
    found = [0.0] * len(x)
    parts: list[list[float]] = [[0.0] * n for _ in range(4)]  # dw, db, mean, var
    for c, at in enumerate(rows):
        # the number of w, dw and db for each number of the row
        places = [c] * len(at) if channels else [*range(len(at))]
        if grouped:
            places = [i // shape[2] % shape[1] for i in at]
        row = [x[i] for i in at]
        mean = 0.0 if kernel.startswith("rms") else average(row)
        var = average([(v - mean) ** 2 for v in row])
        root, common = math.sqrt(var + eps), average([abs(v) for v in row])
        sizes = [abs(v) + common for v in row]
        lost = average([abs(v - mean) * s for v, s in zip(row, sizes, strict=True)])
        lost += off * common**2
        far = 1 + lost / (var + eps)
        h = [(s + abs(v - mean) * far) / root for v, s in zip(row, sizes, strict=True)]
        weight = [abs(w[place]) for place in places]
        a = [abs(slopes[i]) * weight[j] for j, i in enumerate(at)]
        level, tilt = average(a), average([ai * hi for ai, hi in zip(a, h, strict=True)])
        for j, i in enumerate(at):
            place = places[j]
            shift = abs(rest[0][place]) if rest and rest[0] is not None and not grad else 0.0
            through = (a[j] + level + h[j] * tilt) / root * far
            found[i] = through if grad else h[j] * weight[j] + shift
            parts[0][place] += abs(slopes[i]) * h[j]
            parts[1][place] += abs(slopes[i])
        if channels:
            parts[2][c], parts[3][c] = common, lost
    results = parts[:2] if grad else parts[2:] if channels else []
    first = len(case.ins) + 1 - (2 if kernel != "rms_norm_grad" else 1)
    return {0: found, **{first + i: part for i, part in enumerate(results)
                         if first + i <= len(case.ins)}}  # fmt: skip


def positions(shape: Shape, channels: bool) -> list[list[int]]:
    """For each row, or channel, the row-major positions of its numbers."""
    if not channels:
        n = shape[-1]
        return [list(range(r * n, r * n + n)) for r in range(math.prod(shape[:-1]))]
    k, c, m = shape
    return [[(i * c + j) * m + l for i in range(k) for l in range(m)] for j in range(c)]  # noqa: E741


def positions_of_groups(shape: Shape, groups: int) -> list[list[int]]:
    """The same for each group of channels of each example."""
    k, n, m = shape
    width = max(-(-n // groups), 1)
    return [
        [(i * n + c) * m + p for c in range(first, min(first + width, n)) for p in range(m)]
        for i in range(k) for first in range(0, n, width)
    ]  # fmt: skip
