"""Bounds checks, made before memory is exported, printed, saved or computed with.

A Tensor's attributes can be assigned: `t.shape = (4096,)` is an ordinary line of Python. So no code
that reads memory trusts them. Every exit from the library (`numpy`, DLPack, `item`, `tolist`, text,
pickle, and every kernel of python_ref) calls `check` first; the kernels of simd_cpp make the same
check in C++ (simd_cpp/border/operand.cpp). A Tensor that passes reaches only elements inside its
memory, and that memory contains numbers of the dtype it claims.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from operator import attrgetter
from typing import Any

from tutor._storage import device_memory, layout
from tutor._storage.array_like import is_tensor
from tutor._storage.memory import held, kept, set_before_bytes
from tutor._util.hooks import Hook
from tutor.dtype import DType
from tutor.errors import DTypeError, OutOfRangeError, ShapeError

WALK = attrgetter("buf", "shape", "strides", "offset")
REMEDY = (
    "leave buf, shape, strides and offset as they were made; to walk a Buffer in another way,"
    " write Tensor(buf, shape, strides, offset)"
)


def raw(buf: Any, asked: str, reading: bool = False) -> memoryview:
    """The bytes of a Buffer, checked against its length and dtype: DTypeError or OutOfRangeError.
    `reading`: the caller only looks at them and does not keep them."""
    memory, dtype = kept(buf, asked, reading), getattr(buf, "dtype", None)
    if not isinstance(dtype, DType):
        raise DTypeError(asked, f"a Buffer whose dtype is {dtype!r:.60}", REMEDY)
    if dtype.format != memory.format:
        found = f"a Buffer of {dtype.name}, whose memory is of format {memory.format!r}"
        raise DTypeError(asked, found, REMEDY)
    bytes_: memoryview = memory.raw
    plain = isinstance(bytes_, memoryview) and bytes_.format == "B" and bytes_.c_contiguous
    if not plain or bytes_.nbytes != memory.count * dtype.itemsize:
        found = f"a Buffer of {memory.count} {dtype.name}, whose memory is {bytes_!r:.60}"
        raise OutOfRangeError(asked, found, REMEDY)
    return bytes_


def overlap(a: Any, b: Any) -> bool:
    """Do two Buffers share any byte?"""
    if a is b or a.memory is b.memory:
        return True
    if hasattr(a.memory, "read") or hasattr(b.memory, "read"):
        return False  # on a device, or a promise of bytes that no other Buffer shares
    try:
        first, second = (kept(x, "where a Buffer's bytes are").address for x in (a, b))
    except TypeError:  # in plain Python, read-only memory has no known address: perhaps
        return True
    meet: bool = first < second + b.nbytes and second < first + a.nbytes
    return meet


def is_here(x: Any) -> bool:
    """Is a Tensor's memory on the host, or missing? Callers that need the bytes report missing
    memory."""
    return getattr(getattr(getattr(x, "buf", None), "memory", None), "device", "cpu") == "cpu"


def writer(buf: Any, asked: str) -> Callable[[bytes, int], None]:
    """A function `write(bytes, start)` into a Buffer on any device; checked as in `raw`."""
    memory, dtype = held(buf, asked), getattr(buf, "dtype", None)
    if not device_memory.is_elsewhere(memory):
        bytes_ = raw(buf, asked)
        return lambda payload, at: bytes_.__setitem__(slice(at, at + len(payload)), payload)
    if not isinstance(dtype, DType) or dtype.format != memory.format:
        found = f"a Buffer of {dtype!r:.60}, whose memory is of format {memory.format!r}"
        raise DTypeError(asked, found, REMEDY)
    return partial(device_memory.asked, memory.device, memory.write)


# ---- hook: who is asked before a read ------------------------------------------------------------

# While a context is being recorded, no number may pass from memory to Python or back, since a
# replay would not repeat it. This is then the function that raises the error.
closed: ContextVar[Callable[[str], None] | None] = ContextVar("tutor.closed", default=None)


def opened(asked: str) -> None:
    """Raise an error about what is `asked` if this context is being recorded."""
    refuse = closed.get()
    if refuse is not None:
        refuse(asked)


set_before_bytes(opened)


class BeforeRead(Hook):
    """Asked, beside `closed`, before a graph is read in order to record its walk."""

    graph: Callable[[Any], None] = staticmethod(lambda root: None)


before_read = BeforeRead()  # answered by tutor/programs/backward.py; its recorder sets `closed`


# ---- checks --------------------------------------------------------------------------------------


def numbers(buf: Any, asked: str, reading: bool = True) -> memoryview:
    """`raw`, for numbers that pass to or from Python now."""
    memory = raw(buf, asked, reading)
    opened(asked)
    return memory


def read(x: Any, asked: str, reading: bool = True) -> memoryview:
    """`check`, for numbers that pass to Python now."""
    memory = check(x, asked, reading)
    opened(asked)
    return memory


def check(x: Any, asked: str, reading: bool = False) -> memoryview:
    """The bytes of x's Buffer, if x stays within them. DTypeError unless x has `buf`, `shape`,
    `strides` and `offset` of the right types; ShapeError or OutOfRangeError otherwise."""
    memory = raw(_buf(x, asked), asked, reading)
    _check_walk(x, asked, memory.nbytes // x.buf.dtype.itemsize)
    return memory


def fits(x: Any, asked: str) -> None:
    """Like `check`, without the bytes: a promise of memory is checked but not fulfilled."""
    memory: Any = getattr(_buf(x, asked), "memory", None)
    if hasattr(memory, "read") and x.buf.dtype.format == memory.format:
        _check_walk(x, asked, memory.count)
    else:
        check(x, asked)


def _buf(x: Any, asked: str) -> Any:
    try:
        return WALK(x)[0]
    except AttributeError:
        found = f"an object of type {type(x).__name__}"
        raise DTypeError(asked, found, "give a Tensor, or what has all that it has") from None


def _check_walk(x: Any, asked: str, count: int) -> None:
    """Raise unless x has a valid layout that stays within a Buffer of `count` numbers."""
    shape, strides, offset = x.shape, x.strides, x.offset
    if not (isinstance(shape, tuple) and isinstance(strides, tuple)):
        kinds = f"{type(shape).__name__} and {type(strides).__name__}"
        raise DTypeError(asked, f"shape and strides are of types {kinds}, not tuples", REMEDY)
    for number in (*shape, *strides, offset):
        if not isinstance(number, int):
            raise DTypeError(asked, f"{number!r:.60} among shape, strides and offset", REMEDY)
    if len(shape) != len(strides) or len(shape) > layout.MAX_DIMS:
        found = f"{len(shape)} sizes and {len(strides)} strides"
        raise ShapeError(asked, found, f"one stride per axis, and at most {layout.MAX_DIMS} axes")
    if min(shape, default=0) < 0 or layout.is_beyond_count(shape):
        found = f"shape {shape}, with a negative size or too many elements to count"
        raise ShapeError(asked, found, "give sizes of 0 or more, of less than 2**60 elements")
    if 0 not in shape:
        low, high = layout.reach(shape, strides, offset)
        if low < 0 or high >= count:
            raise OutOfRangeError(
                asked,
                f"shape {shape} with strides {strides} from offset {offset} reaches from element"
                f" {low} to {high} of a Buffer of {count}",
                REMEDY,
            )


def told(x: Any, name: str) -> Any:
    """An attribute of a Tensor's Buffer, or the error for something else in the Buffer's place."""
    try:
        return getattr(x.buf, name)
    except AttributeError:
        check(x, f"the {name} of a Tensor")
        raise


def check_all(inputs: Any, asked: str) -> None:
    """`fits` for each Tensor among the inputs of an op that has just failed: a possible cause."""
    for i, x in enumerate(inputs):
        if is_tensor(x):
            fits(x, f"{asked}, input {i + 1}")


def check_writable(x: Any, asked: str) -> None:
    """`fits`; in addition every element of x must have its own place in memory."""
    fits(x, asked)
    layout.check_writable(x.shape, x.strides)


def steps(x: Any) -> layout.Shape:
    """The strides, for another library. An axis of size 0 or 1 may have any stride, as it is never
    used: a huge one, which could overflow in that library, becomes 0."""
    count = len(x.buf)
    return tuple(s if -count <= s <= count else 0 for s in x.strides)


def guarded(name: str, kernel: Callable[..., None]) -> Callable[..., None]:
    """The kernel, preceded by a check that every operand stays within its memory."""

    @wraps(kernel)
    def run(out: Any, *ins: Any, **params: Any) -> None:
        for i, x in enumerate((out, *ins)):
            check(x, f"kernel {name}, {f'input {i}' if i else 'out'}")
        kernel(out, *ins, **params)

    return run
