"""Operands between guards, at any byte and of any length; and between pages that cannot be touched.

For every kernel a row says of which shapes its operands are for a length n. Their values are drawn
once for each dtype, and a shorter operand takes the first of them.

    python guarded.py LEVEL     every kernel on pages: this process dies of what reaches too far
"""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tutor._storage.bits import pack
from tutor._storage.layout import contiguous_strides
from tutor._storage.memory import Memory
from tutor.backends import simd_cpp
from tutor.backends.registry import Kernel, Operand, Table
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import TABLE, DType, bfloat16, float16, float32, float64
from tutor.testing.cases import recurrent
from tutor.testing.cases.bounds import WRITTEN
from tutor.testing.cases.draws import Draw
from tutor.testing.cases.elementwise import domains
from tutor.testing.cases.operands import BufferMemory

LENGTHS = range(131)
MOST = 8 * (len(LENGTHS) + 4)  # elements of any operand

Shape = tuple[int, ...]


class Form(NamedTuple):
    """The shapes for a length n, out's first; the parameters; the inputs' domains."""

    shapes: Callable[[int], tuple[Shape, ...]]
    params: dict[str, Any]
    domains: tuple[str, ...]
    least: int = 0  # the shortest length there is


AXIS = {"axis": 0}
STEPS = {"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1}
CONV = STEPS | {"groups": 1}
POOL = STEPS | {"size_h": 2, "size_w": 3, "stride_w": 2}
SMALL = ("small", "small")
EPS = {"eps": 1e-3}
HEAD = {"scale": 0.5, "causal": False}
RATES = ("part",) * 6  # the settings of an optimizer, cells


def lines(n: int) -> tuple[Shape, ...]:
    """Out and one input, which is a row, three rows or three columns."""
    return (((n,),) * 2, ((3, n),) * 2, ((n, 3),) * 2)[n % 3]


def products(n: int) -> tuple[Shape, ...]:
    """Out and both factors; n is the inner length, the number of columns, or of rows."""
    return (
        ((2, 3), (2, n), (n, 3)), ((2, n), (2, 3), (3, n)), ((n, 2), (n, 3), (3, 2))
    )[n % 3]  # fmt: skip


def layers(n: int) -> tuple[Shape, ...]:
    """The same of a linear layer, whose second factor lies the other way round, and its bias."""
    z, x, (k, columns) = products(n)
    return z, x, (columns, k), (columns,)


def channels(n: int) -> Shape:
    """x of a batch norm; n is how many channels stand side by side, or numbers of each."""
    return (2, n, 1) if n % 2 else (2, 2, n)


def heads(n: int) -> tuple[tuple[Shape, ...], Shape]:
    """q, k, v, mask and logs, and the result; n is how many queries, keys, or numbers of each."""
    rows, keys, width = ((n, 3, 2), (3, n, 2), (2, 3, n))[n % 3]
    return ((rows, width), (keys, width), (keys, width), (rows, keys), (rows,)), (rows, width)


def losses(n: int) -> tuple[Shape, ...]:
    return (3,), (3, n), (3,)


FORMS = {
    "fill": Form(lambda n: ((n,),), {"value": 1}, ()),
    "arange": Form(lambda n: ((n,),), {"start": 1, "step": 2, "parts": 1}, ()),
    **dict.fromkeys(("sum", "mean", "prod"), Form(lambda n: ((), (n,)), AXIS, ("factor",))),
    **dict.fromkeys(
        ("max", "min", "argmax", "argmin"), Form(lambda n: ((), (n,)), AXIS, ("any",), 1)
    ),
    "scan": Form(lambda n: (lines(n)[0],) * 3, AXIS, ("decay", "small")),
    "cummax": Form(lines, AXIS, ("any",)),
    "argsort": Form(lines, AXIS | {"descending": False}, ("any",)),
    "matmul": Form(products, {}, ("small", "small")),
    "linear": Form(layers, {"relu": True}, ("small", "small", "small")),
    "conv2d": Form(lambda n: ((1, 2, 2, n), (1, 2, 3, n + 2), (2, 2, 2, 3)), CONV, SMALL, 1),
    "conv2d_weight": Form(
        lambda n: ((2, 1, 2, 3), (1, 1, 3, n + 2), (1, 2, 2, n)), CONV, SMALL, 1
    ),
    "max_pool2d": Form(lambda n: ((1, 1, 1, n), (1, 1, 2, 2 * n + 1)), POOL, ("any",), 1),
    "max_pool2d_grad": Form(
        lambda n: ((1, 1, 2, 2 * n + 1), (1, 1, 2, 2 * n + 1), (1, 1, 1, n), (1, 1, 1, n)),
        POOL, ("sign", "sign", "small"), 1,
    ),
    "pad": Form(lambda n: ((n + 3,), (n,)), {"before": (1,), "value": 1}, ("any",)),
    "cat": Form(lambda n: ((n + 5,), (n,), (5,)), AXIS, ("any", "any")),
    "gather": Form(lambda n: ((n,), (n + 4,), (n,)), AXIS, ("any", "position")),
    "scatter": Form(lambda n: ((n + 4,), (n + 4,), (n,), (n,)), AXIS, ("any", "position", "any")),
    "scatter_add": Form(
        lambda n: ((n + 4,), (n + 4,), (n,), (n,)), AXIS, ("small", "position", "small")
    ),
    "nonzero": Form(lambda n: ((), (n,)), {}, ("any",)),  # as many elements as are true: see below
    "index_select": Form(lambda n: ((3, n), (4, n), (3,)), AXIS, ("any", "position")),
    **dict.fromkeys(("softmax", "log_softmax"), Form(lines, AXIS, ("small",), 1)),
    "cross_entropy": Form(losses, {"scale": 0.5}, ("small", "index"), 4),
    "cross_entropy_grad": Form(
        lambda n: ((3, n), *losses(n)[1:], (3,)), {"scale": 0.5}, ("small", "index", "small"), 4
    ),
    "layer_norm": Form(lambda n: ((2, n), (2, n), (n,), (n,)), EPS, ("small",) * 3, 1),
    "layer_norm_grad": Form(
        lambda n: ((2, n), (2, n), (2, n), (n,), (n,), (n,)), EPS, ("small",) * 5, 1
    ),
    "rms_norm": Form(lambda n: ((2, n), (2, n), (n,)), EPS, ("small",) * 2, 1),
    "rms_norm_grad": Form(
        lambda n: ((2, n), (2, n), (2, n), (n,), (n,)), EPS, ("small",) * 4, 1
    ),
    "batch_norm": Form(
        lambda n: (channels(n), channels(n), *[channels(n)[1:2]] * 4), EPS, ("small",) * 5, 1
    ),
    "batch_norm_grad": Form(
        lambda n: (*[channels(n)] * 3, *[channels(n)[1:2]] * 5),
        EPS, ("small",) * 4 + ("positive",) + ("small",) * 2, 1,
    ),
    "group_norm": Form(
        lambda n: ((1, n, 3), (1, n, 3), (n,), (n,)), {**EPS, "groups": 2}, ("small",) * 3, 1
    ),
    "group_norm_grad": Form(
        lambda n: (*[(1, n, 3)] * 3, *[(n,)] * 3), {**EPS, "groups": 2}, ("small",) * 5, 1
    ),
    "attention": Form(
        lambda n: (heads(n)[1], *heads(n)[0]), HEAD, ("small",) * 5, 1
    ),
    "attention_grad": Form(
        lambda n: (heads(n)[0][0], heads(n)[1], *heads(n)[0][:4], heads(n)[1], heads(n)[0][4],
                   *heads(n)[0][1:3]), HEAD, ("small",) * 6 + ("positive",) + ("small",) * 2, 1,
    ),
    **{
        kernel: Form(
            lambda n, kernel=kernel: recurrent.shapes(
                kernel, (1, n, 1) if n % 2 else (2, 2, n % 17)
            ),
            {"relu": False} if "rnn" in kernel else {},
            ("part",) * (len(SIGNATURES[kernel].types) - 1),
        )
        for kernel in recurrent.KERNELS
    },
    "descend": Form(lambda n: ((n,),) * 2 + ((),) * 2, {}, ("small", *RATES[:2])),
    **dict.fromkeys(
        ("sgd", "nesterov"),
        Form(lambda n: ((n,),) * 3 + ((),) * 3, {}, ("small", "small", *RATES[:3])),
    ),
    "rmsprop": Form(lambda n: ((n,),) * 3 + ((),) * 4, {}, ("small", "positive", *RATES[:4])),
    "adagrad": Form(
        lambda n: ((n,),) * 3 + ((),) * 5, {}, ("small", "positive", *RATES[:4], "index")
    ),
    "lion": Form(lambda n: ((n,),) * 3 + ((),) * 4, {}, ("part", "part", *RATES[:4])),
    **dict.fromkeys(
        ("adam", "adamw"),
        Form(
            lambda n: ((n,),) * 4 + ((),) * 6,
            {},
            ("small", "small", "positive", *RATES[:5], "index"),
        ),
    ),
    "fused": Form(lambda n: ((n,),) * 3, {"results": 1, "axis": ()}, ("any", "any")),
    **dict.fromkeys(
        ("random_bits", "uniform", "normal"),
        Form(lambda n: ((n,), (), ()), {"blocks": 5}, ("index", "index")),
    ),
    "dropout": Form(
        lambda n: ((n,), (), (), (n,)), {"blocks": 5, "scale": 2.0, "threshold": 2**31},
        ("index", "index", "small"),
    ),
}  # fmt: skip


class Call(NamedTuple):
    """One call: of each operand, out's first, dtype, shape and the bytes of its elements."""

    operands: list[tuple[DType, Shape, bytes]]
    params: dict[str, Any]
    written: tuple[int, ...]


def calls(kernel: str, dtype: DType, lengths: range = LENGTHS) -> Iterator[tuple[int, Call]]:
    """The calls of one row of signatures.py, and the length of each."""
    d = Draw(kernel, dtype, 0)
    if kernel == "cast":
        d.out = TABLE[(TABLE.index(dtype) + 4) % len(TABLE)]
    form = FORMS.get(kernel) or Form(lambda n: ((n,),) * (1 + len(d.ins)), {}, tuple(domains(d)))
    ins = [d.ins[min(i, len(d.ins) - 1)] for i in range(len(form.domains))]  # cat has any number
    drawn = [
        [i % 4 for i in range(MOST)]
        if domain == "index"
        else [i % 8 - 4 for i in range(MOST)]
        if domain == "position"
        else d.values(MOST, domain, t)
        for domain, t in zip(form.domains, ins, strict=True)
    ]
    pools = [pack(values, t) for values, t in zip(drawn, ins, strict=True)]
    old = pack(d.values(MOST, "small", d.out), d.out)  # what an optimizer finds in out
    for n in lengths:
        if n < form.least:
            continue
        out, *shapes = form.shapes(n)
        if kernel == "nonzero":
            out = (sum(drawn[0][:n]),)
        operands = [
            (t, shape, pool[: math.prod(shape) * t.itemsize])
            for t, shape, pool in zip([d.out, *ins], (out, *shapes), [old, *pools], strict=True)
        ]
        params = form.params
        if kernel == "fused":
            code = "r0 = maximum.T i0 i1; r1 = le.T i0 r0; o0 = where.T r1 r0 i0"
            params = params | {"code": code.replace("T", dtype.name)}
        yield n, Call(operands, params, WRITTEN.get(kernel, (0,)))


# ---- guards in the same memory -------------------------------------------------------------------

# Signalling nan, which nobody's arithmetic makes; of integers a pattern.
NANS = {float16: 0x7D25, bfloat16: 0x7FA5, float32: 0x7FA5A5A5, float64: 0x7FF4A5A5A5A5A5A5}
GUARDS = {
    t: (NANS[t].to_bytes(t.itemsize, "little") if t in NANS else b"\xa5" * t.itemsize)
    * (128 // t.itemsize)
    for t in TABLE
}  # 128 bytes: twice the widest register


def between(call: Call, start: list[int], kernel: Kernel) -> list[bytes]:
    """The elements of every operand after the call, where operand i starts `start[i]` bytes behind
    a multiple of 64. AssertionError if anything around them has changed."""
    operands = []
    for (dtype, shape, elements), at in zip(call.operands, start, strict=True):
        guard, size = GUARDS[dtype], dtype.itemsize
        image = guard[: 64 + at] + elements + guard
        block = BufferMemory(Memory(len(image) // size, size, dtype.format), dtype)
        block.raw[:] = image
        operands.append(Operand(block, shape, contiguous_strides(shape), (64 + at) // size))
    kernel(*operands, **call.params)
    found = []
    for x, (dtype, _, elements), at in zip(operands, call.operands, start, strict=True):
        raw, guard, end = bytes(x.buf.raw), GUARDS[dtype], 64 + at + len(elements)
        assert raw[: 64 + at] == guard[: 64 + at], f"written in front, at byte {at}"
        assert raw[end:] == guard, f"written behind, at byte {at}"
        found.append(raw[64 + at : end])
    return found


def check(kernel: str, dtype: DType, table: Table, lengths: range, every_offset: bool) -> int:
    """Each length at one byte offset for each operand, or at all of them; how many calls it took.

    The offset of a length is 29 times as large, modulo 64: 64 lengths in a row have all of them.
    """
    count, run = 0, table[kernel, dtype]
    for n, call in calls(kernel, dtype, lengths):
        sizes = [t.itemsize for t, _, _ in call.operands]
        wanted = between(call, [0] * len(sizes), run)
        for i, (_, _, elements) in enumerate(call.operands):
            assert i in call.written or wanted[i] == elements, f"input {i} was written, length {n}"
        for first in range(0, 64, min(sizes)) if every_offset else (29 * n % 64,):
            start = [(first + 24 * i) % 64 // size * size for i, size in enumerate(sizes)]
            count += 1
            assert between(call, start, run) == wanted, f"length {n} at bytes {start}"
    return count


# ---- pages that cannot be touched ----------------------------------------------------------------

PAGE = mmap.PAGESIZE
ROOM = 2 * PAGE


class Island:
    """Two pages of memory between two that nobody may read or write."""

    def __init__(self) -> None:
        self.pages = mmap.mmap(-1, PAGE + ROOM + PAGE)
        self.raw = memoryview(self.pages)[PAGE : PAGE + ROOM]
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.pages)) + PAGE
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (self.address - PAGE, self.address + ROOM):
            if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def operand(self, dtype: DType, shape: Shape, elements: bytes, at_end: bool) -> Operand:
        """The elements right at the end of the memory, or at its start."""
        at = ROOM - len(elements) if at_end else 0
        self.raw[at : at + len(elements)] = elements
        lent = Memory.borrow(self.raw, ROOM // dtype.itemsize, dtype.itemsize, dtype.format)
        return Operand(
            BufferMemory(lent, dtype), shape, contiguous_strides(shape), at // dtype.itemsize
        )


def on_pages(level: str) -> int:
    """Every kernel of a level, for one dtype of each size, on such pages; how many calls."""
    table, islands, count = simd_cpp.table(level), [Island() for _ in range(10)], 0
    for kernel, signature in SIGNATURES.items():
        by_size = {dtype.itemsize: dtype for dtype in signature.dtypes}
        for dtype in by_size.values():
            for _, call in calls(kernel, dtype):
                for at_end in (False, True):
                    operands = [
                        island.operand(*x, at_end)
                        for island, x in zip(islands, call.operands, strict=False)
                    ]
                    table[kernel, dtype](*operands, **call.params)
                    count += 1
    return count


if __name__ == "__main__":
    print(on_pages(sys.argv[1]))
