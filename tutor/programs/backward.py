"""The backward of a replayed call: one node of the graph, and a Program of its own.

A GraphPart represents several Ops of a recorded graph (graphs.py). When its gradient arrives, the
Ops are rebuilt over the Tensors saved in this call, and the Engine walks them: `GraphPart.walk`.
The first walk is recorded, as a call is (record.py). After that the Program runs, without Ops:
`BackwardReplay.run`. If something else records the walk (another jit, say), the Ops are always
walked. For derivatives of derivatives the Ops replace the node for good (`unfold`).

The gradients of one Tensor are returned one by one, as the Ops return them, because the Engine adds
them up in that order: (a + b) + c is not a + (b + c).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tutor._storage import bounds_checks
from tutor._storage.layout import reach
from tutor._storage.memory import held
from tutor.backends.step import WATCHES, mode
from tutor.core.buffer import Buffer
from tutor.core.engine import engine
from tutor.core.op import Op, state_of
from tutor.core.op.edges import edge_to, operand
from tutor.errors import RecordError
from tutor.methods.tensor import Tensor
from tutor.programs.call import BufferWindow, Key, modes, windows, within
from tutor.programs.program import Program, Slot
from tutor.programs.record import Recorder, recorder
from tutor.programs.source.compiled_runner import Road
from tutor.random import redirected

Improve = Callable[[Program], Program]
Gradients = list[Any]  # a Tensor or None for each edge
MOST = 8  # Programs per GraphPart


class Number(int):
    """A placeholder for a Tensor: its number in the graph."""


class GraphTensor(NamedTuple):
    """A Tensor of a graph: the call's output number `made`, or a view of a `constant`. If it is
    neither, nothing reads its numbers: it has the layout `walk`, over no memory."""

    made: int | None
    constant: Buffer | None
    walk: tuple[Any, ...]  # shape, strides, offset
    empty: Buffer  # without numbers, of its dtype and on its device
    maker: int | None  # the number of the Op that made it

    def bare(self) -> Any:
        """This Tensor, if the call did not return it."""
        return Tensor.over(self.empty if self.constant is None else self.constant, *self.walk)


class Kept(NamedTuple):
    """An Op of a graph, as data: Tensors are numbers."""

    kind: type[Op]
    inputs: tuple[int, ...]
    needs: tuple[bool, ...]
    made: tuple[Any, ...]  # shape, dtype and device of its result
    saved: tuple[int, ...]
    saves: tuple[str, ...]  # their names
    params: Any
    attributes: Any  # those beyond the slots of an Op

    def again(self, here: Any, serial: int) -> Op:
        """A new Op of this kind, over the Tensors in `here`."""
        op: Op = self.kind.__new__(self.kind)
        op.edges = tuple([edge_to(here[i]) for i in self.inputs])
        op.saved = tuple([here[i] for i in self.saved])
        op.states = tuple(map(state_of, op.saved))
        begin(op, self.needs, self.made, serial)
        op.params = _put(self.params, here)
        for name, value in self.attributes.items():
            setattr(op, name, _put(value, here))
        return op

    @property
    def read(self) -> dict[int, str]:
        """The Tensors whose numbers its backward reads, with their names."""
        names = dict(zip(self.saved, self.saves, strict=True))
        return dict.fromkeys(_numbers((self.params, self.attributes)), "result") | names

    @property
    def wanting(self) -> set[int]:
        """The inputs that need a gradient."""
        return {i for i, needed in zip(self.inputs, self.needs, strict=True) if needed}

    @property
    def is_ours(self) -> bool:
        """Is its backward the library's, and thus the same each time?"""
        return self.kind.__module__.startswith("tutor.")


def begin(op: Op, needs: tuple[bool, ...], made: tuple[Any, ...], serial: int) -> None:
    """Fill in what a recorded Op has besides its edges and saved values."""
    op.needs, op.serial, op.held = needs, serial, ()
    op.shape, op.dtype, op.device = made
    op.result = op.kept = op.hooks = None


def _put(value: Any, here: Any) -> Any:
    """The value, with each Number replaced by its Tensor."""
    if type(value) is Number:
        return here[value]
    if type(value) in (tuple, list):
        return type(value)([_put(v, here) for v in value])
    return {k: _put(v, here) for k, v in value.items()} if type(value) is dict else value


def _numbers(value: Any) -> list[int]:
    if type(value) is Number:
        return [value]
    inner = value.values() if type(value) is dict else value
    return [i for v in inner for i in _numbers(v)] if type(value) in (tuple, list, dict) else []


class _Here(dict[int, Any]):
    """The Tensors of a graph by index; any that nothing has put here is created without memory."""

    def __init__(self, tensors: list[GraphTensor]) -> None:
        self.tensors = tensors

    def __missing__(self, i: int) -> Any:
        t = self[i] = self.tensors[i].bare()
        return t


class GraphPart:
    """Consecutive Ops of a graph that become one node of it; a single Op stays as it is."""

    def __init__(
        self, ops: Sequence[Kept], tensors: list[GraphTensor], span: range, improve: Improve
    ) -> None:
        self.span, self.tensors, self.improve = span, tensors, improve
        self.ops = [ops[i] for i in span]
        self.made: dict[int, list[int]] = {i: [] for i in span}  # by each Op
        for i, t in enumerate(tensors):
            if t.maker in self.made:
                self.made[t.maker].append(i)
        self.out = self.made[span[-1]]
        results = [i for i in self.out if tensors[i].made is not None]
        self.first = min(results or self.out, key=lambda i: tensors[i].made or 0)
        # The Tensors that get gradients, in the order of arrival: for each Op, the last one first.
        self.wanting = [
            [i for i, needed in zip(op.inputs, op.needs, strict=True)
             if needed and tensors[i].maker not in self.made]
            for op in reversed(self.ops)
        ]  # fmt: skip
        self.edges = [i for wanting in self.wanting for i in wanting]
        self.read = {i: f"{name} of {op.kind.__name__}"
                     for op in reversed(self.ops) for i, name in op.read.items()}  # fmt: skip
        whole = len(span) == 1
        self.known = {*self.edges, *self.read, *self.out, *(self.ops[0].inputs if whole else ())}
        self.stretches: list[tuple[int, int, int]] | None = None
        self.programs: dict[Key, BackwardReplay] = {}
        self.recordable = True

    def node(self, here: Any, serials: Sequence[int]) -> Op:
        """The node, over the Tensors in `here`; `serials` are those of the graph's Ops."""
        if len(self.span) == 1:
            return self.ops[0].again(here, serials[self.span[0]])
        node = Replayed(*[edge_to(here[i]) for i in self.edges])
        node.part, node.serials, node.saves = self, serials, tuple(self.read.values())
        node.saved = tuple([here[i] for i in self.read])
        node.states = tuple(map(state_of, node.saved))
        begin(node, (True,) * len(self.edges), self.ops[-1].made, serials[self.span[-1]])
        return node

    # ---- with its Ops ----------------------------------------------------------------------------

    def again(self, node: Replayed, here: dict[int, Any]) -> list[Op]:
        """The Ops of the node, newest first, built over the Tensors in `here`."""
        here.update(zip(self.edges, map(operand, node.edges), strict=True))
        for i, t in zip(self.read, node.saved or (), strict=True):
            here[i] = t.alias() if self.tensors[i].maker in self.made else t
        states = dict(zip(self.read, node.states, strict=True))
        made: list[Op] = []
        for number, kept in zip(self.span, self.ops, strict=True):
            op = kept.again(here, node.serials[number])
            op.states = tuple([states[i] for i in kept.saved])
            for i in self.made[number]:
                here[i].op, here[i].requires_grad = op, True
            made.append(op)
        made[-1].hooks, made[-1].kept = node.hooks, node.kept
        return made[::-1]

    def walk(self, node: Replayed, g: Any) -> Gradients:
        """The gradients for the edges, computed by the Ops."""
        here = _Here(self.tensors)
        made = self.again(node, here)
        walk = engine.walk(here[self.out[0]], made, g, False, False, None)
        found = {op: shares for op, _, shares in walk}
        gradients: Gradients = []
        for op, wanting in zip(made, self.wanting, strict=True):
            shares = found.get(op, [])
            for i in wanting:
                node = here[i].op or here[i]
                place = next((n for n, (edge, _) in enumerate(shares) if edge is node), None)
                gradients.append(None if place is None else shares[place][1])
                shares = shares if place is None else shares[place + 1 :]
        return gradients

    # ---- as a Program ----------------------------------------------------------------------------

    def record(self, key: Key, node: Replayed, g: Any, saved: Sequence[Any]) -> Gradients:
        """Like `walk`, and record it: later gradients of this kind run the Program."""
        given = self.given(g, saved)
        for buf, _, _ in given:
            held(buf, "to record a backward")  # pending steps are not part of the backward
        note, asked = Recorder(given, ()), list[str]()  # numbers read in Python rule out a replay
        try:
            gradients: Gradients = note.run(lambda: self.walk(node, g), asked.append)
        except RecordError:
            self.recordable = False
            return self.walk(node, g)
        slots = [note.slots[id(buf)] for buf, _, _ in given]
        made = [None if gx is None else (note.slot_of(gx.buf), gx) for gx in gradients]
        program = note.program()
        if asked or any(w.buf in slots for step in program for w in step.writes):
            self.recordable = False
            return gradients
        results = [None if m is None else (m[0], m[1].shape, m[1].strides,
                                           m[1].offset - note.starts.get(id(m[1].buf), 0))
                   for m in made]  # fmt: skip
        self.programs[key] = BackwardReplay(program, self.improve(program), slots, results)
        while len(self.programs) > MOST:
            self.programs.pop(next(iter(self.programs)))
        return gradients

    def given(self, g: Any, saved: Sequence[Any]) -> list[tuple[Buffer, int, int]]:
        """The memory that the backward reads: Buffers, with a stretch (start, count) of each. The
        gradient's is first; those of the saved Tensors follow in a fixed order."""
        if self.stretches is None:
            self.stretches = _stretches(saved)
        (window,) = windows((g,))
        found = [(saved[i], start, count) for i, start, count in self.stretches]
        return [(g.buf, window.start, window.size)] + [
            (t.buf, t.offset + start, count) for t, start, count in found
        ]


def _stretches(saved: Sequence[Any]) -> list[tuple[int, int, int]]:
    """For each Buffer: the first Tensor in it, and the stretch that all its Tensors reach: its
    start relative to that Tensor's offset, and its length."""
    found: dict[int, tuple[int, int, int]] = {}
    for i, t in enumerate(saved):
        low, high = (
            reach(t.shape, t.strides, t.offset) if 0 not in t.shape else (t.offset, t.offset)
        )
        first, start, end = found.get(id(t.buf), (i, low, high))
        found[id(t.buf)] = first, min(start, low), max(end, high)
    return [(i, low - saved[i].offset, high + 1 - low) for i, low, high in found.values()]


class BackwardReplay:
    """The Program of a backward, and its results: for each edge None, or a layout over a slot."""

    def __init__(
        self, recorded: Program, program: Program, given: list[Slot], results: list[Any]
    ) -> None:
        self.recorded, self.program = recorded, program
        self.replay = Road(program)
        at = self.replay.at
        self.inputs = [(at[slot], i) for i, slot in enumerate(given) if slot in at]
        number = {slot: i for i, slot in enumerate(given)}
        self.results = [  # the number of an input, or -1 and the place of a new Buffer
            None if r is None else (number.get(r[0], -1), at.get(r[0], -1), *r[1:]) for r in results
        ]

    def run(self, given: list[tuple[Buffer, int, int]]) -> Gradients:
        """The gradients, computed from these stretches of Buffers."""
        buffers: list[Any] = [None] * len(self.replay.slots)
        for at, i in self.inputs:
            buf, start, count = given[i]
            buffers[at] = buf if count == len(buf) else BufferWindow(start, count, 0).over(buf)
        self.replay.make_outputs(buffers)
        self.replay.run(buffers)
        gradients: Gradients = []
        for result in self.results:
            if result is None:
                gradients.append(None)
                continue
            number, at, shape, strides, offset = result
            buf, start = (buffers[at], 0) if number < 0 else given[number][:2]
            gradients.append(Tensor.over(buf, shape, strides, offset + start))
        return gradients


class Replayed(Op, abstract=True):
    """The node of a GraphPart, over the Tensors of one call."""

    part: GraphPart
    serials: Sequence[int]
    saves: tuple[str, ...]  # type: ignore[misc]
    whole: Op | None = None  # the newest of its Ops, once unfolded

    def backward(self, g: Any, /, *saved: Any) -> Any:
        part = self.part
        given = part.given(g, saved)
        (own, start, count), *others = given
        if not part.recordable or _is_followed() or [b for b, _, _ in others if b is own]:
            return tuple(part.walk(self, g))
        key = (modes(), g.shape, g.strides, g.offset - start, count, g.buf.dtype, g.buf.device)
        program = part.programs.get(key)
        return tuple(program.run(given) if program else part.record(key, self, g, saved))


def unfold(root: Any) -> None:
    """Replace all Replayed nodes behind `root` by their Ops. The walk itself is to have a graph, so
    the Tensors that each Op has saved are led to these Ops as well."""
    root.op = _whole(root.op)
    unseen, seen = [root.op], set[Any]()
    while unseen:
        op = unseen.pop()
        if not isinstance(op, Op) or op in seen:
            continue
        seen.add(op)
        op.edges = tuple(map(_whole, op.edges))
        for t in op.saved or ():
            t.op = _whole(t.op)
        unseen.extend(op.edges)


def _whole(edge: Any) -> Any:
    """The newest Op of a Replayed node, which its result then leads to; any other edge as it is."""
    if not isinstance(edge, Replayed) or edge.saved is None:
        return edge
    edge.whole = edge.whole or edge.part.again(edge, _Here(edge.part.tensors))[0]
    edge.whole.result = edge.result
    result: Any = edge.result and edge.result()
    if result is not None and result.op is edge:
        result.op = edge.whole
    return edge.whole


bounds_checks.before_read.provide(graph=unfold)


def _is_followed() -> bool:
    """Does something else currently record which steps run, or where numbers come from?"""
    noted = recorder.get() is not None or (WATCHES and mode.get() is not None)
    return bool(noted or within.get() or redirected())
