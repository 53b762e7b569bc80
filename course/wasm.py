"""A tiny assembler of WebAssembly: the fourth layer of chapter 16 where there is no C compiler.

`module(kernel, arrays, numbers, results)` gives the bytes of a module that exports its memory, and
a function `kernel(n, ...)`: then come the byte offsets of the arrays, the numbers, and the byte
offsets of the results. It goes through i = 0 ... n - 1, with one f32 local for each line. add, mul,
neg and relu are instructions; exp, log and pow are double functions, imported from "math".
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from tutor.errors import DomainError

I32, F32, F64 = b"\x7f", b"\x7d", b"\x7c"
GET, SET, BLOCK, LOOP, END, BR, BR_IF, CALL = 0x20, 0x21, 0x02, 0x03, 0x0B, 0x0C, 0x0D, 0x10
LOAD, STORE = b"\x2a\x02\x00", b"\x38\x02\x00"  # f32, aligned to 4 bytes, no offset
PROMOTE, DEMOTE = b"\xbb", b"\xb6"  # to double, and back
PLAIN = {"add": b"\x92", "mul": b"\x94", "neg": b"\x8c"}
IMPORTS = {"exp": 1, "log": 1, "pow": 2}  # and how many operands each has
PAGES = 16  # of 64 KiB


def leb(n: int) -> bytes:
    """An unsigned int in LEB128: seven bits a byte, lowest first, the top bit if more follow."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def many(parts: Sequence[bytes]) -> bytes:
    """A vector: how many, then each."""
    return leb(len(parts)) + b"".join(parts)


def section(number: int, parts: Sequence[bytes]) -> bytes:
    body = many(parts)
    return bytes([number]) + leb(len(body)) + body


def name(text: str) -> bytes:
    return leb(len(text)) + text.encode()


def get(local: int) -> bytes:
    return bytes([GET]) + leb(local)


def put(local: int) -> bytes:
    return bytes([SET]) + leb(local)


def number(n: int) -> bytes:
    """i32.const of a number from 0 to 63."""
    return b"\x41" + bytes([n])


def module(
    kernel: Sequence[Any], arrays: Sequence[str], numbers: Sequence[str], results: Sequence[str]
) -> bytes:
    """The module of one loop over elementwise lines; DomainError for an op that is unknown here."""
    places = {n: 1 + k for k, n in enumerate([*arrays, *numbers])}
    stores = {n: 1 + len(places) + k for k, n in enumerate(results)}
    i = 1 + len(places) + len(stores)
    locals_ = {line.name: i + 1 + k for k, line in enumerate(kernel)}
    step = b"".join(_line(line, places, arrays, locals_, i) for line in kernel)
    for result, at in stores.items():
        step += _address(at, i) + get(locals_[result]) + STORE
    body = bytes([BLOCK, 0x40, LOOP, 0x40]) + get(i) + get(0) + b"\x4e" + bytes([BR_IF, 1]) + step
    body += (
        get(i) + number(1) + b"\x6a" + put(i) + bytes([BR, 0, END, END, END])
    )  # i + 1, and again
    own = many([leb(1) + I32, leb(len(kernel)) + F32]) + body
    taken = [I32, *[I32 if n in arrays else F32 for n in places], *[I32] * len(stores)]
    types = [b"\x60" + many([F64] * count) + many([F64]) for count in IMPORTS.values()]
    types.append(b"\x60" + many(taken) + many([]))
    imports = [name("math") + name(n) + b"\x00" + leb(k) for k, n in enumerate(IMPORTS)]
    exports = [name("kernel") + b"\x00" + leb(len(IMPORTS)), name("memory") + b"\x02\x00"]
    return b"\0asm\1\0\0\0" + b"".join([
        section(1, types), section(2, imports), section(3, [leb(len(IMPORTS))]),
        section(5, [b"\x00" + leb(PAGES)]), section(7, exports),
        section(10, [leb(len(own)) + own]),
    ])  # fmt: skip


def _address(at: int, i: int) -> bytes:
    """Where element i of an array of f32 is: its offset + 4 i."""
    return get(at) + get(i) + number(2) + b"\x74\x6a"


def _line(
    line: Any, places: dict[str, int], arrays: Sequence[str], locals_: dict[str, int], i: int
) -> bytes:
    """One line: its operands on the stack, the op, its local."""

    def operand(n: str) -> bytes:
        if n in locals_:
            return get(locals_[n])
        return _address(places[n], i) + LOAD if n in arrays else get(places[n])

    operands = [operand(n) for n in line.inputs]
    if line.op in PLAIN:
        code = b"".join(operands) + PLAIN[line.op]
    elif line.op in IMPORTS:
        call = bytes([CALL]) + leb(list(IMPORTS).index(line.op))
        code = b"".join(o + PROMOTE for o in operands) + call + DEMOTE
    elif line.op == "relu":  # x < 0 ? 0 : x, by select: nan and -0.0 stay
        (x,) = operands
        zero = b"\x43\0\0\0\0"
        code = zero + x + x + zero + b"\x5d\x1b"
    else:
        there = ", ".join([*PLAIN, *IMPORTS])
        raise DomainError(f"{line.op} in WebAssembly", "it is unknown here", f"use {there} or relu")
    return code + put(locals_[line.name])


def instance(code: bytes) -> Any:
    """What a module exports, in a page: kernel and memory; None where Python is in no page."""
    if sys.platform != "emscripten":
        return None
    js = importlib.import_module("js")
    to_js = importlib.import_module("pyodide.ffi").to_js
    compiled = js.WebAssembly.Module.new(to_js(code))
    given = to_js({"math": js.Math}, dict_converter=js.Object.fromEntries)
    return js.WebAssembly.Instance.new(compiled, given).exports


def call(
    exports: Any, rows: Sequence[Sequence[float]], numbers: Sequence[float], results: int
) -> list[list[float]]:
    """The results of kernel(n, ...) over rows of f32, which are put into its memory."""
    js = importlib.import_module("js")
    n = len(rows[0])
    memory = js.Float32Array.new(exports.memory.buffer)
    for k, row in enumerate(rows):
        for i, value in enumerate(row):
            memory[k * n + i] = value
    places = [4 * n * k for k in range(len(rows) + results)]
    exports.kernel(n, *places[: len(rows)], *numbers, *places[len(rows) :])
    return [[memory[at // 4 + i] for i in range(n)] for at in places[len(rows) :]]
