"""The graph that autograd recorded, as a picture and as text.

    >>> from tutor import Tensor, keep_graph
    >>> x = Tensor([3.0], requires_grad=True)
    >>> with keep_graph():
    ...     y = (x + 2) * 3
    >>> print(graph(y, names={"x": x, "y": y}))
    y = Mul -> [15.0]
    |-- Add -> [5.0]
    |   |-- x = [3.0]
    |   `-- 2.0
    `-- 3.0

Without `keep_graph` only the numbers that backward needs, or that you still have, are there to be
shown: the Add would have its shape alone.

Classes of your own can be drawn as well: see tutor/viz/recorded.py for what they need.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from tutor.core.op import Op
from tutor.viz import layers, svg
from tutor.viz.gradients import visits
from tutor.viz.recorded import Node, Recorded, block, name_of, op_of
from tutor.viz.svg import Picture, fit, number, rect, text, width_of

MARGIN, ACROSS, DOWN, WIDEST = 24, 44, 18, 230
LEGEND = (("blue wash", "leaf that wants a gradient"), ("wash", "constant"),
          ("amber wash", "op, and what it made"))  # fmt: skip


# ---- as a picture --------------------------------------------------------------------------------


def graded(gradient: str) -> list[str]:
    """The lines of a gradient in a box: a matrix goes below its heading."""
    return ["grad", *gradient.split("\n")] if "\n" in gradient else [f"grad {gradient}"]


class GraphDrawing:
    """The boxes and arrows of a graph; each box has room for a gradient of the size `room`."""

    def __init__(
        self, recorded: Recorded, room: Mapping[int, str] | None = None, across: float = ACROSS
    ) -> None:
        self.nodes, self.room, self.across = recorded.nodes, room or {}, across
        sizes = [self._size(v) for v in range(len(self.nodes))]
        self.sizes = sizes
        where, routes, wide, tall = layers.arrange(sizes, recorded.edges, across, DOWN)
        self.middle = [(MARGIN + x, MARGIN + y) for x, y in where]
        self.width, self.height = wide + 2 * MARGIN, tall + 2 * MARGIN
        self.routes: dict[
            tuple[int, int], list[tuple[float, float]]
        ] = {}  # by (op, its n-th input)
        at = iter(routes)
        for b, node in enumerate(self.nodes):
            self._route(b, node, [next(at) for _ in node.inputs])

    def _head(self, node: Node) -> str:
        if node.op is None:
            return fit(node.name, WIDEST, 13)
        title = "…" if node.left_out else name_of(node.op)
        return fit(f"{title} → {node.name}" if node.name else title, WIDEST, 13)

    def _lines(self, v: int) -> list[tuple[str, str]]:
        gradient = [(line, "grad") for line in graded(self.room[v])] if v in self.room else []
        lines = [("", "shape")] if self.nodes[v].left_out else self.nodes[v].lines()
        return [(fit(words, WIDEST, 12, mono=True), style) for words, style in lines + gradient]

    def _size(self, v: int) -> tuple[float, float]:
        head, lines = self._head(self.nodes[v]), self._lines(v)
        wide = max([width_of(head, 13) * 1.08] + [width_of(t, 12, mono=True) for t, _ in lines])
        return max(wide + 22, 54), 26 * bool(head) + 17 * len(lines) + 10

    def _route(self, b: int, node: Node, bends: list[list[tuple[float, float]]]) -> None:
        """The points of each edge into box b; edges from above end above the others."""
        (x1, y1), (w, h) = self.middle[b], self.sizes[b]
        count = len(node.inputs)
        starts = [bend[-1][1] + MARGIN if bend else self.middle[a][1]
                  for a, bend in zip(node.inputs, bends, strict=True)]  # fmt: skip
        ranks = sorted(range(count), key=lambda n: starts[n])
        for rank, n in enumerate(ranks):
            x0, y0 = self.middle[node.inputs[n]]
            x0 += self.sizes[node.inputs[n]][0] / 2
            port = y1 + (rank - (count - 1) / 2) * min(16, (h - 14) / max(count - 1, 1))
            passed = [(x + MARGIN, y + MARGIN) for x, y in bends[n]]
            self.routes[b, n] = [(x0, y0), *passed, (x1 - w / 2, port)]

    def edge(
        self, b: int, n: int, stroke: str = "soft", width: float = 1.5, back: bool = False
    ) -> str:
        """The arrow from the n-th input to op b, or `back` from the op to that input."""
        start, *between, end = self.routes[b, n]
        d = "M" + " ".join(map(number, start))
        for (xa, ya), (xb, yb) in itertools.pairwise([start, *between, (end[0] - 5, end[1])]):
            bend = (xb - xa) / 2
            d += "C" + " ".join(map(number, (xa + bend, ya, xb - bend, yb, xb, yb)))
        return svg.arrow(d, start if back else end, (-1 if back else 1, 0), stroke, width)

    def box(self, v: int, gradients: bool = True) -> str:
        """The box of node v; without `gradients` their space stays empty."""
        node, (x, y), (w, h) = self.nodes[v], self.middle[v], self.sizes[v]
        left, top = x - w / 2, y - h / 2
        head, is_op = self._head(node), node.op is not None
        fill = "paper" if is_op else "blue wash" if node.wants_gradient else "wash"
        edge = "ink" if v == 0 else "amber" if is_op else "blue" if node.wants_gradient else "line"
        round_ = 11 if is_op else 3
        parts = [rect(left, top, w, h, fill, rx=round_)]
        if is_op:
            low = top + 27
            d = (f"M{number(left)} {number(low)}v-16a11 11 0 0 1 11 -11h{number(w - 22)}"
                 f"a11 11 0 0 1 11 11v16Z")  # fmt: skip
            parts.append(svg.tag("path", d=d, fill="amber wash"))
        parts.append(rect(left, top, w, h, "none", rx=round_, stroke=edge,
                          stroke_width=2.25 if v == 0 else 1.25))  # fmt: skip
        if head:
            parts.append(text(x, top + 18, head, 13, anchor="middle", weight=600))
        line = top + (30 if head else 4)
        for words, style in self._lines(v):
            line += 17
            if words and (gradients or style != "grad"):
                size = 11 if style == "shape" else 12
                fill = {"shape": "soft", "value": "ink", "grad": "orange"}[style]
                parts.append(text(x, line - 4, words, size, fill, "middle", mono=True,
                                  weight=600 if style == "grad" else None))  # fmt: skip
        return "".join(parts)

    def all(self, gradients: bool = True) -> str:
        """Every arrow, then every box."""
        arrows = [self.edge(b, n) for b, n in self.routes]
        return "".join(arrows + [self.box(v, gradients) for v in range(len(self.nodes))])


def gradients_of(y: Any, recorded: Recorded) -> dict[int, str]:
    """The gradient at each node, as text: from a separate walk, or from the `.grad` that a class of
    your own stores."""
    if op_of(y) is None or not hasattr(op_of(y), "saved"):
        kept = {v: getattr(node.tensor, "grad", None) for v, node in enumerate(recorded.nodes)}
        return {v: block(g) for v, g in kept.items() if g is not None}
    total: dict[int, Any] = {}
    for visit in visits(y):
        if id(visit.op) in recorded.number:
            total[recorded.number[id(visit.op)]] = visit.gradient
        for edge, g in visit.shares:
            if not isinstance(edge, Op) and id(edge) in recorded.number:
                v = recorded.number[id(edge)]
                total[v] = total[v] + g if v in total else g
    return {v: block(g) for v, g in total.items()}


def graph(y: Any, grads: bool = False, names: Mapping[str, Any] | None = None) -> Picture:
    """The graph that `y.backward()` would walk: leaves at the left, the result at the right.

    A rounded box is an op with the tensor it made; anything used twice is drawn once. With `grads`
    each box also shows the gradient of y (of y.sum(), if y holds several numbers). `names` labels
    your tensors: {"x": x, "loss": loss}.

    Of more than 60 ops only those closest to y are drawn. Raises DTypeError for anything but a
    tensor, GraphError for a graph with a cycle, or, with grads, one that cannot be walked.
    """
    recorded = Recorded(y, names)
    drawing = GraphDrawing(recorded, gradients_of(y, recorded) if grads else None)
    ops = sum(node.op is not None and not node.left_out for node in recorded.nodes)
    x, low = float(MARGIN), drawing.height + 2
    parts = [drawing.all()]
    for fill, words in LEGEND:
        if f'fill="{svg.color(fill)}"' not in parts[0]:
            continue
        if x > MARGIN and x + width_of(words, 11) + 20 > max(drawing.width, 330):
            x, low = float(MARGIN), low + 19
        parts.append(rect(x, low - 10, 12, 12, fill, stroke="line", rx=3))
        parts.append(text(x + 18, low, words, 11, "soft"))
        x += 18 + width_of(words, 11) + 16
    for note in recorded.notes:
        low += 19
        parts.append(text(MARGIN, low, note, 12, "orange"))
    wide = max([drawing.width, 330] + [width_of(note, 12) + 2 * MARGIN for note in recorded.notes])
    title = f"graph of {ops} op{'s' * (ops != 1)}"
    wide, tall = math.ceil(wide), math.ceil(low + 18)
    return Picture("".join(parts), wide, tall, title, words=recorded.text())
