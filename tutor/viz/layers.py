"""The layout of a graph's boxes: in layers, from left to right, with few crossings.

The usual three steps (Sugiyama, Tagawa and Toda 1981): assign each box to a layer, order the boxes
of each layer, then choose heights. No function is recursive or depends on what a box is.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise

Edge = tuple[int, int]
SWEEPS = 8


def topological(size: int, edges: Sequence[Edge]) -> list[int] | None:
    """The numbers 0 .. size-1, each after all that have an edge to it; None if there is a cycle."""
    after: list[list[int]] = [[] for _ in range(size)]
    waiting = [0] * size
    for a, b in edges:
        after[a].append(b)
        waiting[b] += 1
    order = [v for v in range(size) if not waiting[v]]
    for v in order:  # it grows during the loop
        for w in after[v]:
            waiting[w] -= 1
            if not waiting[w]:
                order.append(w)
    return order if len(order) == size else None


def layers_of(size: int, edges: Sequence[Edge]) -> list[int]:
    """The layer of each box: one after its last input; a box without inputs is just before its
    first reader."""
    layer = [0] * size
    inputs: list[list[int]] = [[] for _ in range(size)]
    readers: list[list[int]] = [[] for _ in range(size)]
    for a, b in edges:
        inputs[b].append(a)
        readers[a].append(b)
    for v in topological(size, edges) or ():
        layer[v] = max((layer[a] + 1 for a in inputs[v]), default=0)
    for v in range(size):
        if not inputs[v] and readers[v]:
            layer[v] = min(layer[b] for b in readers[v]) - 1
    return layer


class Box:
    """A box in its layer, or a bend of an edge that crosses this layer (with a small `height`)."""

    def __init__(self, layer: int, height: float, weight: float = 1.0) -> None:
        self.layer, self.height, self.weight = layer, height, weight
        self.before: list[Box] = []
        self.after: list[Box] = []
        self.y = 0.0  # of the centre


def arrange(
    sizes: Sequence[tuple[float, float]], edges: Sequence[Edge], across: float, down: float
) -> tuple[list[tuple[float, float]], list[list[tuple[float, float]]], float, float]:
    """For boxes of `sizes` (width, height): the centre of each, the points that each edge passes
    (without its end points), and the total width and height.

    `across` and `down` are the gaps between layers, and between boxes of one layer.
    """
    layer = layers_of(len(sizes), edges)
    fed = {b for _, b in edges}  # leaves, the other boxes, make room and do not push
    places = [Box(k, h, 1.0 if v in fed else 0.001)
              for v, (k, (_, h)) in enumerate(zip(layer, sizes, strict=True))]  # fmt: skip
    columns: list[list[Box]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for place in places:
        columns[place.layer].append(place)
    bends: dict[Hashable, Box] = {}
    passed: list[list[Box]] = []
    for a, b in edges:  # edges from one box share their bends
        through = []
        for k in range(layer[a] + 1, layer[b]):
            if (a, k) not in bends:
                bends[a, k] = Box(k, 6.0)
                columns[k].append(bends[a, k])
            through.append(bends[a, k])
        passed.append(through)
        for p, q in pairwise([places[a], *through, places[b]]):
            p.after.append(q)
            q.before.append(p)

    for sweep in range(SWEEPS):  # order: each at the mean place of its neighbours
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            _spread(column, down)
            column.sort(key=lambda p: _mean(p.before if forward else p.after, p.y))
            _spread(column, down)
    for sweep in range(SWEEPS):  # heights: the same, but keeping the order
        forward = sweep % 2 == 1
        for column in columns if forward else reversed(columns):
            _settle(column, [_mean(p.before if forward else p.after, p.y) for p in column], down)
    top = min((p.y - p.height / 2 for column in columns for p in column), default=0.0)
    low = max((p.y + p.height / 2 for column in columns for p in column), default=0.0)

    middles, x = [], 0.0
    for k in range(len(columns)):
        wide = max((sizes[v][0] for v in range(len(sizes)) if layer[v] == k), default=0.0)
        middles.append(x + wide / 2)
        x += wide + across
    where = [(middles[k], p.y - top) for k, p in zip(layer, places, strict=True)]
    routes = [[(middles[p.layer], p.y - top) for p in through] for through in passed]
    return where, routes, max(x - across, 0.0), low - top


def _mean(places: Sequence[Box], default: float) -> float:
    if not places:
        return default
    return sum(p.y * p.weight for p in places) / sum(p.weight for p in places)


def _spread(column: list[Box], gap: float) -> None:
    """Stack the column around 0, in its order."""
    y = -(sum(p.height for p in column) + gap * (len(column) - 1)) / 2
    for p in column:
        p.y = y + p.height / 2
        y += p.height + gap


def _settle(column: list[Box], wanted: Sequence[float], gap: float) -> None:
    """Move each as close to its wanted height as the order and the gaps allow.

    Overlapping items form a block at the mean of its members' wishes; blocks that touch are merged
    (pool adjacent violators, which is exact for squared distances).
    """
    blocks: list[tuple[float, float, int]] = []  # wanted place of its first member, weight, members
    starts, y = [], 0.0
    for p in column:  # each one's distance below the first, if stacked tightly
        starts.append(y + p.height / 2)
        y += p.height + gap
    for p, wish, start in zip(column, wanted, starts, strict=True):
        mean, weight, count = wish - start, p.weight, 1
        while blocks and blocks[-1][0] > mean:
            other, heavy, members = blocks.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + members
        blocks.append((mean, weight, count))
    shifts = [mean for mean, _, count in blocks for _ in range(count)]
    for p, start, shift in zip(column, starts, shifts, strict=True):
        p.y = start + shift
