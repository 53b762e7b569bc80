"""Edges: what a recorded Op remembers of its operands, and the base class of Op.

    y = (x + 1) * 2
    y.op.edges                  (the Add, Tensor(2.)): no numbers of x + 1
    y.op.inputs[0].shape        of a Tensor, whose numbers are there while somebody else has them

An edge leads to what made an operand: its Op; the Tensor itself if that is a leaf which requires a
gradient, since `.grad` is stored there; or a Constant. Each has `shape`, `dtype` and `device`, so
backward needs no more than the edges and the values that the Op `saves`. All other memory is freed
as soon as the caller drops it. `inputs` finds the operands again, as far as they still exist; under
`keep_graph()` all of them do.

The C++ extension replaces Edges by a type that shows Python's cycle collector less of a long graph,
yet lets it find the same cycles: simd_cpp/engine/edges.cpp explains how.
"""

from __future__ import annotations

import functools
import math
import weakref
from typing import Any, NoReturn

from tutor._util import error_messages, twins
from tutor._util.context_settings import Setting, Within
from tutor.core.buffer import Buffer
from tutor.core.tensor import TensorBase
from tutor.dtype import DType, float32


class Edges:
    """The operands of an Op while it runs; once it is recorded, its edges in the graph."""

    __slots__ = ("edges",)
    edges: tuple[Any, ...]


if twins.extension:
    Edges = twins.extension.Edges  # type: ignore[misc]  # its twin in C++


class Constant:
    """The edge to a Tensor that requires no gradient: what is known of it without its numbers."""

    __slots__ = ("device", "dtype", "result", "shape")
    shape: tuple[int, ...]
    dtype: DType
    device: str
    result: weakref.ref[Any]  # the Tensor, while somebody has it


def edge_to(x: Any) -> Any:
    """The edge to an operand: what made it. A single number is kept as it is."""
    if x.op is not None:
        return x.op
    if x.requires_grad or len(x.buf) == 1:
        return x
    edge = Constant()
    edge.shape, edge.dtype, edge.device = x.shape, x.buf.dtype, x.buf.device
    edge.result = weakref.ref(x)
    return edge


def saved_as_wanted(op: Any, saved: tuple[Any, ...], needs: tuple[bool, ...]) -> tuple[Any, ...]:
    """The saved values, without the numbers of those that no gradient wants: `Op.saved_for`."""
    if not op.save_wants:
        return saved
    wants = zip(saved, op.save_wants, strict=True)
    return tuple([x if i < 0 or needs[i] else nothing() for x, i in wants])


@functools.cache
def nothing() -> Any:
    """What is saved in the place of a value that no gradient wants: a Tensor without numbers."""
    return TensorBase.public.over(Buffer.empty(0, float32), (0,))


# ---- the operands again --------------------------------------------------------------------------

keeping = Setting("tutor.core.op.edges", False)
_found = keeping.variable.get


def is_kept() -> bool:
    """Does an Op that is recorded here and now keep all its operands?"""
    found = _found()
    return found is True or (found is not False and keeping.get())


def keep_graph() -> Within[bool]:
    """`with keep_graph():` or `@keep_graph()`: graphs recorded in it keep every operand, so that
    `op.inputs` has all numbers, to look at or to draw. That takes the memory of all of them."""
    return Within(keeping, True)


def inputs_of(op: Any) -> tuple[Any, ...]:
    """The operands of a recorded Op: Tensors, some perhaps without their numbers."""
    found: tuple[Any, ...] = op.held
    return found or tuple([operand(edge, op) for edge in op.edges])


def operand(edge: Any, reader: Any = None) -> Any:
    """The Tensor to which an edge leads: that Tensor if anybody has it, else one without numbers.
    `reader` is the Op whose edge it is."""
    if isinstance(edge, TensorBase):
        return edge
    constant = isinstance(edge, Constant)
    x = edge.result and edge.result()
    if x is not None and (constant or x.op is edge):
        return x
    for x in getattr(reader, "saved", None) or ():
        if x.op is edge:
            return x
    x = lost(edge) if constant or -1 not in edge.save_positions else own_result(edge)
    if not constant:
        x.op, x.requires_grad = edge, True
    return x


def own_result(op: Any) -> Any:
    """The result that an Op has saved, as a new Tensor; without numbers if that is freed."""
    saved = zip(op.save_positions, op.saved or (), strict=False)
    found = [x.alias() for position, x in saved if position < 0]
    return found[0] if found else lost(op)


def lost(edge: Any) -> Any:
    """A Tensor of the edge's shape, dtype and device, whose numbers nobody has kept."""
    memory = Lost(math.prod(edge.shape), edge.dtype, edge.device)
    return TensorBase.public.over(Buffer.over(memory, edge.dtype), edge.shape)


def is_lost(x: Any) -> bool:
    """Has nobody kept the numbers of this Tensor?"""
    return isinstance(getattr(x.buf, "memory", None), Lost)


class Lost:
    """In the place of a Buffer's memory (tutor/_storage/memory.py): a caller that reads it gets an
    error."""

    __slots__ = ("count", "device", "format")

    def __init__(self, count: int, dtype: DType, device: str) -> None:
        self.count, self.format, self.device = count, dtype.format, device

    def keep(self) -> NoReturn:
        raise error_messages.not_kept(self.count)
