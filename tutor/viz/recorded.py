"""The recorded graph: the ops and leaves behind a result, and a listing of them.

A tensor is any object with `.op` (or `._ctx`), None for a leaf; an op is any object with `.inputs`.
No function is recursive: a graph may be deeper than Python's stack.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from tutor.core.op.edges import is_lost
from tutor.errors import DTypeError, GraphError
from tutor.viz import layers
from tutor.viz.svg import short

MOST_OPS, MOST_LINES = 60, 200


def op_of(t: Any) -> Any:
    """The op that made a tensor, or None."""
    op = getattr(t, "op", None)
    return op if op is not None else getattr(t, "_ctx", None)


def name_of(op: Any) -> str:
    """An op's own `name` if it has one, otherwise its class's name."""
    own = getattr(op, "__dict__", {}).get("name")
    return own if isinstance(own, str) and own else type(op).__name__


def shape_of(t: Any) -> tuple[int, ...] | None:
    shape = getattr(t, "shape", None)
    return tuple(shape) if isinstance(shape, (tuple, list)) else None


def value_of(t: Any) -> str | None:
    """A tensor's value, if it has up to four numbers: "[1.0, 2.0]"; for a class of your own also
    its `.data`, if that is a number or a few."""
    if isinstance(t, (int, float)):
        return short(t)
    shape = shape_of(t)
    if shape is None or not is_walked(t):
        data = getattr(t, "data", None)
        if isinstance(data, (list, tuple)) and 0 < len(data) <= 4:
            parts = [short(v, 6) for v in data if isinstance(v, (int, float))]
            return f"[{', '.join(parts)}]" if len(parts) == len(data) else None
        return short(data) if isinstance(data, (int, float)) else None
    if is_one_number(t):
        return short(t.buf[t.offset])
    if math.prod(shape) > 4 or 0 in shape:
        return None
    shown = texts_of(t, 6 if shape else 7)
    for size in reversed(shape):  # add brackets from the last axis to the first
        shown = [f"[{', '.join(shown[i : i + size])}]" for i in range(0, len(shown), size)]
    return shown[0]


def is_walked(t: Any) -> bool:
    """Whether it has a Buffer with its numbers, and the shape, strides and offset to walk it."""
    return all(hasattr(t, name) for name in ("buf", "strides", "offset")) and not is_lost(t)


def _is_missed(t: Any) -> bool:
    """Are its numbers gone, of which there are so few that they would have been shown?"""
    return hasattr(t, "buf") and is_lost(t) and math.prod(t.shape) <= 16


def texts_of(t: Any, room: int) -> list[str]:
    """Each number of such a tensor as text, the last axis fastest."""
    places = itertools.product(*map(range, t.shape))
    steps = (sum(i * s for i, s in zip(place, t.strides, strict=True)) for place in places)
    return [short(t.buf[t.offset + step], room) for step in steps]


def is_one_number(t: Any) -> bool:
    """Whether it is a Python number used as an operand, maybe broadcast to a tensor's shape."""
    if not all(hasattr(t, name) for name in ("buf", "shape", "strides")):
        return isinstance(t, (int, float))
    wants = getattr(t, "requires_grad", False) or op_of(t) is not None
    return not wants and not any(t.strides) and len(t.buf) == 1 and 0 not in t.shape


def rows_of(t: Any) -> list[str]:
    """The rows of a matrix of up to 4 x 4 numbers, aligned in columns; otherwise an empty list."""
    shape = shape_of(t) or ()
    if len(shape) != 2 or not is_walked(t) or is_one_number(t) or 0 in shape or max(shape) > 4:
        return []
    texts, wide = texts_of(t, 6), shape[1]
    shown = [texts[i : i + wide] for i in range(0, len(texts), wide)]
    room = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(map(str.rjust, row, room)) for row in shown]


def block(t: Any) -> str:
    """The text in a box: a small matrix line by line; otherwise the summary."""
    return "\n".join(rows_of(t)) or summary(t)


def summary(t: Any) -> str:
    """The value if it is short, otherwise the shape."""
    value, shape = value_of(t), shape_of(t)
    if value is not None:
        return value
    return f"shape {shape}" if shape is not None else type(t).__name__


class Node:
    """A leaf, or an op with the tensor it made (`tensor`, None if that no longer exists)."""

    def __init__(self, op: Any, tensor: Any) -> None:
        self.op, self.tensor = op, tensor
        self.name = ""  # the caller's name of the tensor
        self.inputs: list[int] = []
        self.left_out = False  # more nodes behind it are not shown

    @property
    def wants_gradient(self) -> bool:
        return bool(getattr(self.tensor, "requires_grad", False))

    def lines(self) -> list[tuple[str, str]]:
        """(words, style) for each line below the heading of its box."""
        t, found = self.tensor, list[tuple[str, str]]()
        value, shape = value_of(t), shape_of(t)
        if rows := rows_of(t):
            found += [(row, "value") for row in rows]
        elif value is not None:
            found.append((value, "value"))
        if shape is not None and not is_one_number(t):
            found.append((f"shape {shape}", "shape"))
        return found or [(type(t).__name__, "shape")]


class Recorded:
    """The nodes behind `y`, the result first; `left_out` counts the ops that are not among the
    MOST_OPS closest to it."""

    def __init__(self, y: Any, names: Mapping[str, Any] | None) -> None:
        if op_of(y) is None and not hasattr(y, "shape") and not hasattr(y, "grad"):
            raise DTypeError(f"the graph of {type(y).__name__}", "it is no tensor",
                             "give the result of a calculation with tensors")  # fmt: skip
        if names is not None and not isinstance(names, Mapping):
            raise DTypeError(f"names={names!r:.40}", f"{type(names).__name__}",
                             'give a dict, for example names={"x": x}')  # fmt: skip
        near, self.left_out = self._near(y)
        called = {id(t): name for name, t in (names or {}).items()}
        self.nodes: list[Node] = []
        self.number: dict[int, int] = {}  # node number by the id of its op, or of its leaf
        waiting = [(y, -1)]
        while waiting:  # depth first, inputs from the first to the last
            t, reader = waiting.pop()
            op = op_of(t)
            key = id(t if op is None else op)
            if op is None and is_one_number(t) and id(t) not in called:
                key = -1 - len(self.nodes)  # one object for equal numbers, yet not a shared tensor
            if key not in self.number:
                self.number[key] = len(self.nodes)
                node = Node(op, t)
                node.left_out = op is not None and key not in near
                self.nodes.append(node)
                if op is not None and not node.left_out:
                    waiting += [(x, self.number[key]) for x in reversed(list(op.inputs))]
            node = self.nodes[self.number[key]]
            node.name = node.name or called.get(id(t), "") or str(getattr(t, "name", "") or "")
            if reader >= 0:
                self.nodes[reader].inputs.append(self.number[key])
        self.edges = [(a, b) for b, node in enumerate(self.nodes) for a in node.inputs]
        if layers.topological(len(self.nodes), self.edges) is None:
            raise GraphError("the graph of a result", "it has a cycle: an op reads what it made",
                             "give each op the tensors that existed before it")  # fmt: skip
        freed = any(getattr(node.op, "saved", ()) is None for node in self.nodes)
        self.notes = [f"{self.left_out:,} more ops behind these are left out"] * bool(self.left_out)
        self.notes += [
            "numbers that backward does not need are gone: compute in `with tutor.keep_graph():`"
        ] * any(_is_missed(node.tensor) for node in self.nodes)
        self.notes += ["backward() has freed this graph: draw it before, or call"
                       " backward(retain_graph=True)"] * freed  # fmt: skip

    @staticmethod
    def _near(y: Any) -> tuple[set[int], int]:
        """The ids of the ops closest to y, and the number of the others."""
        layer, seen = [op for op in (op_of(y),) if op is not None], {id(op_of(y))}
        near: set[int] = set()
        while layer:
            near |= {id(op) for op in layer[: MOST_OPS - len(near)]}
            behind = []
            for op in layer:
                for x in op.inputs:
                    before = op_of(x)
                    if before is not None and id(before) not in seen:
                        seen.add(id(before))
                        behind.append(before)
            layer = behind
        return near, len(seen) - max(len(near), 1)

    # ---- as text ---------------------------------------------------------------------------------

    def line(self, node: Node) -> str:
        """A node as a line of the listing."""
        title = f"{node.name} = " if node.name else ""
        if node.op is not None:
            return f"{title}{name_of(node.op)} -> {summary(node.tensor)}"
        asks = "" if node.name or not node.wants_gradient else "  (requires grad)"
        return f"{title}{summary(node.tensor)}{asks}"

    def tree(self) -> Iterator[str]:
        """The listing: each op with its inputs below; a repeated node is only named."""
        marks: dict[int, int] = {}  # numbers that name the nodes used twice
        uses = [0] * len(self.nodes)
        for a, _ in self.edges:
            uses[a] += 1
        waiting = [(0, "", "")]
        done: set[int] = set()
        while waiting:
            v, stem, branch = waiting.pop()
            node = self.nodes[v]
            words = self.line(node)
            if node.op is not None and uses[v] > 1:
                words += f"  [{marks.setdefault(v, len(marks) + 1)}]"
            again = v in done and bool(node.inputs)
            end = " again, see above" if again else " ..." if node.left_out else ""
            yield stem + branch + words + end
            if again:
                continue
            done.add(v)
            stem += {"": "", "|-- ": "|   ", "`-- ": "    "}[branch]
            branches = ["|-- "] * (len(node.inputs) - 1) + ["`-- "]
            pairs = zip(node.inputs, branches, strict=False)
            waiting += reversed([(a, stem, branch) for a, branch in pairs])

    def text(self) -> str:
        found = list(itertools.islice(self.tree(), MOST_LINES + 1))
        if len(found) > MOST_LINES:
            found[MOST_LINES:] = ["..."]
        return "\n".join([*found, *(f"({note})" for note in self.notes)])
