"""Graphs: the graph behind the results of a recorded call, as data, and how a replay rebuilds it.

    y = jitted(x)               # replayed
    (y * 2).sum().backward()    # reaches x, and the parameters that the function reads

The recorded call builds a graph like any other. It is written down here: each Op's class and
parameters, its input Tensors, and the Tensors it saved. The Program of the call outputs the saved
Tensors along with the results, and each replay rebuilds the graph over them (`RecordedGraph.link`).

Consecutive Ops behind the same results, with one way out, become one node, whose backward is
recorded as well (backward.py). Other Ops are rebuilt as they were. Either way the Engine walks
the graph that it would have walked: gradients are added up in the same order, and saved Tensors are
freed or stale in the same cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any
from weakref import ref

from tutor.core.buffer import Buffer
from tutor.core.engine import engine
from tutor.core.engine.forward import serials
from tutor.core.op import Op, state_of
from tutor.core.op.edges import is_lost, operand
from tutor.dtype import DType
from tutor.errors import GraphError, RecordError
from tutor.methods.tensor import Tensor
from tutor.programs.backward import GraphPart, GraphTensor, Improve, Kept, Number
from tutor.programs.kinds import PLAIN
from tutor.programs.program import Program, copied
from tutor.programs.record import Recorder


def unlike(found: str, do: str) -> RecordError:
    """The error for a graph that a replay cannot rebuild; the function then runs each time."""
    return RecordError("to replay a call whose result has a graph", found, do)


class RecordedGraph:
    """`link(made)` puts the graph behind the results among `made`, the Tensors a call returns."""

    def __init__(
        self, tensors: list[GraphTensor], parts: list[GraphPart], twice: dict[int, int]
    ) -> None:
        self.parts = parts
        self.count = parts[-1].span[-1] + 1  # of Ops
        known = sorted(set[int]().union(*[part.known for part in parts]))
        self.none = [None] * len(tensors)
        self.made = [(i, t.made) for i in known if (t := tensors[i]).made is not None]
        self.others = [(i, tensors[i]) for i in known if tensors[i].made is None]
        self.twice = twice  # results that are the same Tensor: the later one -> the first one

    @property
    def programs(self) -> list[Program]:
        """The Programs of the backward that have been recorded so far."""
        return [again.program for part in self.parts for again in part.programs.values()]

    def linked(self, rebuild: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
        """`rebuild`, which assembles the result, over Tensors with their graph."""

        def rebuilt(made: Sequence[Any]) -> Any:
            found = list(made)
            self.link(found)
            return rebuild(found)

        return rebuilt

    def link(self, made: list[Any]) -> None:
        for later, first in self.twice.items():
            made[later] = made[first]
        here: list[Any] = self.none.copy()
        for i, at in self.made:
            here[i] = made[at]
        for i, t in self.others:
            here[i] = t.bare()
        taken = list(islice(serials, self.count))
        for part in self.parts:
            node = part.node(here, taken)
            for i in part.out:
                here[i].op, here[i].requires_grad = node, True
            node.result = ref(here[part.first])


# ---- writing one down ----------------------------------------------------------------------------


@contextmanager
def crossings(tensors: Iterable[Any]) -> Iterator[list[RecordError]]:
    """A context that collects a RecordError for each backward() in it that continues into the
    graphs behind these Tensors."""
    found: list[RecordError] = []
    ops = {t.op for t in tensors if t.op is not None}

    def cross(g: Any) -> None:
        found.append(unlike("backward() in it goes on behind what it was given, which has a graph",
                            "hand over x.detach(), or call backward() outside"))  # fmt: skip

    for op in ops:
        op.hooks = op.hooks or []
        op.hooks.append(cross)
    try:
        yield found
    finally:
        for op in ops:
            op.hooks.remove(cross)


def is_live(t: Any, began: int) -> bool:
    """Was t made by an Op of this call, through which a gradient can still come?"""
    if t.op is None or t.op.serial < began:
        return False
    try:
        engine.order(t.op)
    except GraphError:  # backward() has freed it, or a saved Tensor was changed
        return False
    return True


def plain(t: Any, began: int) -> Any:
    """A result without the graph that this call built."""
    return t if t.op is None or t.op.serial < began else t.detach()


def ended(results: Sequence[Any], began: int) -> list[tuple[int, Op]]:
    """The results through which no gradient can come any more, because this call has run backward()
    or changed a saved Tensor; each with the Op that refuses the gradient."""
    found = []
    for i, t in enumerate(results):
        if t.op is not None and t.op.serial >= began:
            unseen, seen = [t.op], set[Op]()
            while unseen:
                op = unseen.pop()
                if op.saved is None or op.states != tuple(map(state_of, op.saved)):
                    found.append((i, _left(op)))
                    break
                seen.add(op)
                unseen += {edge for edge in op.edges if isinstance(edge, Op)} - seen
    return found


def _left(op: Op) -> Op:
    """A stub of a freed or stale Op, enough for the Engine to refuse it: no inputs, no numbers."""
    left = type(op).__new__(type(op))
    left.edges, left.held, left.params, left.saved, left.states = (), (), {}, None, ()
    left.shape, left.dtype, left.device = op.shape, op.dtype, op.device
    left.needs, left.serial, left.result, left.kept, left.hooks = (), op.serial, None, None, None
    if op.saved is not None:
        saved, states = [], []
        for t, before in zip(op.saved, op.states, strict=True):
            hollow = Tensor.over(Buffer.empty(0, t.buf.dtype, t.buf.device), *state_of(t)[2:])
            hollow.buf.changed_at = t.buf.changed_at
            saved.append(hollow)
            now, moved = state_of(hollow), t.buf is not before[0]
            state = now if state_of(t) == before else (None if moved else now[0], -1, *now[2:])
            states.append(state)
        left.saved, left.states = tuple(saved), tuple(states)
    return left


def behind(
    ended: list[tuple[int, Op]], rebuild: Callable[[Sequence[Any]], Any]
) -> Callable[[Sequence[Any]], Any]:
    """`rebuild`, with the stubs of the freed or stale Ops behind the `ended` results."""
    if not ended:
        return rebuild

    def rebuilt(made: Sequence[Any]) -> Any:
        for i, op in ended:
            made[i].op, made[i].requires_grad = op, True
        return rebuild(made)

    return rebuilt


def graph_of(
    results: Sequence[Any], began: int, note: Recorder, known: Sequence[Any],
    is_known: Callable[[Any], Any], handed_out: list[Any], improve: Improve,
) -> RecordedGraph | None:  # fmt: skip
    """The graph behind the `results` of a call that `began` at that serial, or None if there is no
    graph. `known` are the Tensors that each call finds. Appends those that it needs to
    `handed_out`, which begins with the results. RecordError if a replay cannot rebuild it."""
    first: dict[int, int] = {}
    twice = {i: first[id(t)] for i, t in enumerate(results) if first.setdefault(id(t), i) != i}
    ends = [t for i, t in enumerate(results) if i not in twice and is_live(t, began)]
    if not ends:
        return None
    behind = [{op for op in engine.order(t.op) if op.serial >= began} for t in ends]
    ops = sorted(set[Op]().union(*behind), key=lambda op: op.serial)
    number = {op: i for i, op in enumerate(ops)}
    table = _Table(number, note, is_known, handed_out, results)
    table.makers = {t.op: t for t in known if isinstance(t, Tensor) and t.op is not None}
    kept_ops = [table.op(op) for op in ops]
    last = {table.of(t) for t in ends}
    for op in kept_ops:
        for i in {*op.read, *op.wanting}:
            if i in op.read or table.tensors[i].op not in number:
                table.use(i)
    held = table.held()
    labels = [frozenset([r for r, found in enumerate(behind) if op in found]) for op in ops]
    spans = _spans(kept_ops, held, labels, {held[i].maker for i in last})
    return RecordedGraph(held, [GraphPart(kept_ops, held, span, improve) for span in spans], twice)


def _spans(
    ops: list[Kept], held: list[GraphTensor], labels: list[frozenset[int]], ends: set[int | None]
) -> list[range]:
    """The ranges of Ops that become one node each, oldest first: all Ops behind the same results,
    if the last is the only way out and no other Op was created in between."""
    groups: dict[frozenset[int], list[int]] = {}
    for i, label in enumerate(labels):
        groups.setdefault(label, []).append(i)
    out = set(ends)
    for i, op in enumerate(ops):
        makers = (held[x].maker for x in op.inputs)
        out.update(m for m in makers if m is not None and labels[m] != labels[i])
    spans = []
    for group in groups.values():
        span = range(group[0], group[-1] + 1)
        one = len(span) == len(group) and out.isdisjoint(group[:-1])
        if one and all(ops[i].is_ours for i in group):
            spans.append(span)
        else:
            spans += [range(i, i + 1) for i in group]
    return sorted(spans, key=lambda span: span[0])


class _Table:
    """The Tensors of a graph by number, while the graph is written down."""

    def __init__(self, number: dict[Op, int], note: Recorder, is_known: Callable[[Any], Any],
                 handed_out: list[Any], results: Sequence[Any]) -> None:  # fmt: skip
        self.number, self.note, self.is_known, self.handed_out = number, note, is_known, handed_out
        self.tensors: list[Any] = []
        self.at: dict[int, int] = {}  # by the id of the Tensor
        there = [*results, *handed_out[len(results) :]]
        self.made = {id(t): i for i, t in reversed(list(enumerate(there)))}
        self.results = {id(t.buf) for t in there}
        self.constants: dict[int, Buffer] = {}  # by the number
        self.makers: dict[Any, Any] = {}  # the Tensor to which an edge leads

    def of(self, t: Any) -> int:
        """The number of t."""
        if id(t) not in self.at:
            self.at[id(t)] = len(self.tensors)
            self.tensors.append(t)
        return self.at[id(t)]

    def op(self, op: Op) -> Kept:
        if op.hooks or (op.kept and op.kept() is not None):
            raise unlike(f"a hook on a Tensor within, or its retain_grad(): of {type(op).__name__}",
                         "return the Tensor, and ask for that outside")  # fmt: skip
        own = getattr(op, "__dict__", {})
        for edge in op.edges:
            if edge not in self.makers:
                self.makers[edge] = operand(edge, op)
        inputs = tuple([self.of(self.makers[edge]) for edge in op.edges])
        saved = tuple(map(self.of, op.saved or ()))
        params, attributes = self.taken(op, dict(op.params)), self.taken(op, dict(own))
        names = getattr(op, "saves", ())
        made = op.shape, op.dtype, op.device
        return Kept(type(op), inputs, op.needs, made, saved, names, params, attributes)

    def taken(self, op: Op, value: Any) -> Any:
        """A parameter or attribute, with a Number for each Tensor in it."""
        if isinstance(value, Tensor):
            return Number(self.of(value))
        if type(value) in (tuple, list):
            return type(value)([self.taken(op, v) for v in value])
        if type(value) is dict:
            return {k: self.taken(op, v) for k, v in value.items()}
        if isinstance(value, (*PLAIN, DType, slice, range, type(...))):
            return value
        raise unlike(f"{type(op).__name__} keeps a {type(value).__name__} for its backward",
                     "keep Tensors, numbers and texts in ctx")  # fmt: skip

    def use(self, i: int) -> None:
        """Make Tensor i available in each call."""
        t = self.tensors[i]
        if id(t) in self.made or i in self.constants:
            return
        slots, buf = self.note.slots, t.buf
        if is_lost(t):
            raise unlike(f"a gradient goes on behind a Tensor of shape {t.shape} that nobody has",
                         "hand it over as an argument")  # fmt: skip
        slot = slots.get(id(buf))
        if (slot is None or slot.role == "constant") and id(buf) not in self.results:
            self.constants[i] = copied(buf)
            return
        inside = t.op in self.number
        there = slot is not None and slot.role in ("input", "state")
        if t.requires_grad and not inside and there and self.is_known(t) is None:
            raise unlike(f"a Tensor of shape {t.shape} requires a gradient, and is another one at "
                         "each call", "hand it over as an argument")  # fmt: skip
        self.made[id(t)] = len(self.handed_out)
        self.handed_out.append(t.detach() if inside else t)

    def held(self) -> list[GraphTensor]:
        empty = {(t.buf.dtype, t.buf.device): None for t in self.tensors}
        without = {key: Buffer.empty(0, *key) for key in empty}
        return [
            GraphTensor(self.made.get(id(t)), self.constants.get(i), (t.shape, t.strides, t.offset),
                 without[t.buf.dtype, t.buf.device], self.number.get(t.op))
            for i, t in enumerate(self.tensors)
        ]  # fmt: skip
