"""The collectives: communication in which all ranks take part.

    with 3 ranks that have          a0        a1        a2
    broadcast(a, root=1)            a1        a1        a1
    all_reduce(a)                   s         s         s           s = (a0 + a1) + a2
    reduce_scatter(a)               s[0:k]    s[k:2k]   s[2k:3k]    a third of the rows for each
    all_gather(a)                   stack([a0, a1, a2]) on each of them
    barrier()                       returns when all ranks have called it

`broadcast` and `all_reduce` write into the Tensor or Buffer they are given, outside any graph, as
`p.buf.data` does. All collectives copy memory directly; no number becomes a Python object.

Large tensors are sent in pieces. Each rank receives an n-th part of every rank's piece, adds these
parts, and sends the sum to all: so each rank sends 2 (n - 1) / n times its data, whatever n is. For
a small tensor every rank receives all numbers and adds them itself: one exchange, not two.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Literal, TypeVar, overload

from tutor._storage import bounds_checks
from tutor._util.callers import user_line
from tutor.core.buffer import Buffer
from tutor.core.tensor import TensorBase
from tutor.distributed import ranks, sums
from tutor.distributed.group import Group, Handle
from tutor.distributed.note import Note
from tutor.distributed.transport import SMALL, split
from tutor.dtype import DType
from tutor.errors import DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor

X = TypeVar("X", bound=Tensor | Buffer)
R = TypeVar("R")
Op = Literal["sum", "mean", "max"]
Order = Literal["tree", "line"]


class CollectiveOperand:
    """A contiguous Tensor or Buffer: its memory, and the shape and dtype for its note."""

    __slots__ = ("dtype", "shape", "view", "x")
    shape: tuple[int, ...]
    dtype: DType

    def __init__(self, call: str, x: Any, writes: bool) -> None:
        asked = f"dist.{call}()"
        buf = x if isinstance(x, Buffer) else getattr(x, "buf", None)
        if isinstance(buf, Buffer) and buf.device != "cpu":
            do = 'give x.to("cpu"), and bring the result back'
            raise DomainError(asked, f"x is on {buf.device!r}; ranks exchange host memory", do)
        if isinstance(x, Buffer):
            memory, start, self.shape = bounds_checks.numbers(x, asked, not writes), 0, (len(x),)
            self.dtype = x.dtype
        elif isinstance(x, TensorBase):
            memory, start, self.shape = (
                bounds_checks.read(x, asked, not writes),
                x.offset,
                tuple(x.shape),
            )
            self.dtype = x.buf.dtype
            if not x.is_contiguous():
                raise ShapeError(
                    f"{asked} of a Tensor of shape {x.shape}",
                    f"its strides are {x.strides}: its numbers do not stand in a row",
                    "give x.contiguous(), which is a copy where x is not so",
                )
        else:
            raise DTypeError(asked, type(x).__name__, "give a Tensor or a Buffer")
        if writes and memory.readonly:
            found = "its memory is read-only: a constant's, or another library's"
            raise DomainError(f"{asked}, which writes into x", found, "give it a .copy()")
        start *= self.dtype.itemsize
        self.x = x
        self.view = memory[start : start + prod(self.shape) * self.dtype.itemsize]

    def note(self, call: str, how: str = "") -> Note:
        return Note(call, self.shape, self.dtype.name, how, *user_line())

    def touch(self) -> None:
        """Mark the numbers as changed: values that a graph has saved of them are out of date."""
        (self.x if isinstance(self.x, Buffer) else self.x.buf).touch()


@overload
def broadcast(x: X, root: int = 0) -> X: ...
@overload
def broadcast(x: X, root: int = 0, *, wait: Literal[True]) -> X: ...
@overload
def broadcast(x: X, root: int = 0, *, wait: Literal[False]) -> Handle[X]: ...
def broadcast(x: X, root: int = 0, *, wait: bool = True) -> X | Handle[X]:
    """Copy x of rank `root` into x of every rank; returns x.

    x: a contiguous Tensor or Buffer of any dtype, of one shape on all ranks. `wait=False`: a Handle
    at once. Raises DistError if the ranks do not agree, OutOfRangeError for an invalid root.
    """
    group, given = ranks.group(), CollectiveOperand("broadcast", x, True)
    if not isinstance(root, int) or not 0 <= root < group.size:
        asked, do = f"dist.broadcast(root={root!r:.40})", "give one of those"
        raise OutOfRangeError(asked, f"the ranks are 0 to {group.size - 1}", do)

    given.touch()

    def move() -> X:
        for piece in pieces(group, given):
            group.transport.broadcast(piece, root, group.timeout)
        return x

    return run(group, given.note("broadcast", f"root {root}"), move, wait)


@overload
def all_reduce(x: X, op: Op = "sum", *, order: Order = "tree") -> X: ...
@overload
def all_reduce(x: X, op: Op = "sum", *, order: Order = "tree", wait: Literal[True]) -> X: ...
@overload
def all_reduce(
    x: X, op: Op = "sum", *, order: Order = "tree", wait: Literal[False]
) -> Handle[X]: ...
def all_reduce(x: X, op: Op = "sum", *, order: Order = "tree", wait: bool = True) -> X | Handle[X]:
    """Put the sum, mean or maximum of all ranks' x into x, same bits on every rank; returns x.

    x: a contiguous Tensor or Buffer of any dtype (floats for a mean), with one shape on all ranks.
    Each addition is that of x + y, rounded to x's dtype, in a fixed order: "tree" adds neighbours,
    ((x0 + x1) + (x2 + x3)) + ..., "line" adds from the left. `wait=False`: a Handle at once. Raises
    DistError if the ranks do not agree, DTypeError for a mean of integers, DomainError for an
    unknown op or order.
    """
    group, given = ranks.group(), CollectiveOperand("all_reduce", x, True)
    check_op("all_reduce", given.dtype, op, order)

    given.touch()

    def move() -> X:
        for piece in pieces(group, given):
            _reduce_piece(group, piece, given.dtype, op, order)
        return x

    return run(group, given.note("all_reduce", f"{op}, {order}"), move, wait)


def _reduce_piece(group: Group, piece: memoryview, dtype: DType, op: str, order: str) -> None:
    transport, size = group.transport, group.size
    if piece.nbytes <= SMALL:
        rows = split(memoryview(bytearray(size * piece.nbytes)), size, 1)
        transport.gather(piece, rows, group.timeout)
        sums.combined(rows, piece, dtype, op, order)
        return
    parts = split(piece, size, dtype.itemsize)
    rows = transport.deal(parts, group.timeout)
    sums.combined(rows, parts[group.rank], dtype, op, order)
    transport.gather(parts[group.rank], parts, group.timeout)


@overload
def reduce_scatter(x: X, op: Op = "sum", *, order: Order = "tree") -> X: ...
@overload
def reduce_scatter(x: X, op: Op = "sum", *, order: Order = "tree", wait: Literal[True]) -> X: ...
@overload
def reduce_scatter(
    x: X, op: Op = "sum", *, order: Order = "tree", wait: Literal[False]
) -> Handle[X]: ...
def reduce_scatter(
    x: X, op: Op = "sum", *, order: Order = "tree", wait: bool = True
) -> X | Handle[X]:
    """This rank's rows of the sum, mean or maximum of all ranks' x: a new Tensor or Buffer.

    x (n * k, ...) on n ranks gives (k, ...): rank r gets rows r * k to (r + 1) * k of the result of
    all_reduce, to the bit. x is not changed. Raises the errors of all_reduce, and ShapeError if n
    does not divide the first axis.
    """
    group, given = ranks.group(), CollectiveOperand("reduce_scatter", x, False)
    check_op("reduce_scatter", given.dtype, op, order)
    if not given.shape or given.shape[0] % group.size:
        raise ShapeError(
            f"dist.reduce_scatter() of shape {given.shape} for {group.size} rank(s)",
            "its first axis cannot be cut into equal parts, one for each rank",
            "pad it until it can, or use all_reduce",
        )
    shape = (given.shape[0] // group.size, *given.shape[1:])

    def move() -> X:
        result, out = made(x, given.dtype, shape)
        parts = split(given.view, group.size, given.dtype.itemsize)
        step = max(1, group.transport.piece // group.size // 64) * 64
        for start in range(0, out.nbytes, step):
            cut = slice(start, start + step)
            rows = group.transport.deal([part[cut] for part in parts], group.timeout)
            sums.combined(rows, out[cut], given.dtype, op, order)
        return result

    return run(group, given.note("reduce_scatter", f"{op}, {order}"), move, wait)


@overload
def all_gather(x: X) -> X: ...
@overload
def all_gather(x: X, *, wait: Literal[True]) -> X: ...
@overload
def all_gather(x: X, *, wait: Literal[False]) -> Handle[X]: ...
def all_gather(x: X, *, wait: bool = True) -> X | Handle[X]:
    """All ranks' x, in the order of ranks: x (...) on n ranks gives a new Tensor (n, ...).

    x: a contiguous Tensor or Buffer of any dtype, with one shape on all ranks; Buffers of k numbers
    give a Buffer of n * k. Raises DistError if the ranks do not agree.
    """
    group, given = ranks.group(), CollectiveOperand("all_gather", x, False)

    def move() -> X:
        result, out = made(x, given.dtype, (group.size, *given.shape))
        places = split(out, group.size, given.dtype.itemsize)
        step = group.transport.piece
        for start in range(0, given.view.nbytes, step):
            cut = slice(start, start + step)
            mine = [place[cut] for place in places]
            group.transport.gather(given.view[cut], mine, group.timeout)
        return result

    return run(group, given.note("all_gather"), move, wait)


def barrier() -> None:
    """Return when all ranks have called it. Raises DistError if one does not."""
    bounds_checks.opened("dist.barrier()")
    group = ranks.group()
    group.call(Note("barrier", None, "", "", *user_line()), lambda: None)


# ---- what they have in common --------------------------------------------------------------------


def run(group: Group, note: Note, move: Callable[[], R], wait: bool) -> R | Handle[R]:
    return group.call(note, move) if wait else group.start(note, move)


def pieces(group: Group, given: CollectiveOperand) -> list[memoryview]:
    """The parts of x that are moved in one call; an empty Tensor has no parts."""
    view, step = given.view, group.transport.piece
    return [view[start : start + step] for start in range(0, view.nbytes, step)]


def made(x: X, dtype: DType, shape: tuple[int, ...]) -> tuple[X, memoryview]:
    """A new Tensor or Buffer, as x is, and its bytes."""
    buf = Buffer.empty(prod(shape), dtype)
    result: Any = buf if isinstance(x, Buffer) else Tensor.over(buf, shape)
    return result, buf.raw


def check_op(call: str, dtype: DType, op: str, order: str) -> None:
    for name, given, known in (("op", op, sums.KERNELS), ("order", order, sums.ORDERS)):
        if given not in [*known]:
            found = f"there is {', '.join(map(repr, known))}"
            raise DomainError(f"dist.{call}({name}={given!r:.40})", found, "give one of those")
    if op == "mean" and not dtype.is_float:
        do = "cast it to a float first, or ask for the sum"
        raise DTypeError(f"dist.{call}() with op 'mean'", f"{dtype.name}: means are of floats", do)
