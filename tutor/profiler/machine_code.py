"""The machine code of a kernel: where it lies in the extension, and its loops, read by objdump.

An installed extension has no symbols. But a kernel in Python points to its row of the C++ table
(border/call.hpp, kernel.hpp), the row to its functions, and the file's table of frames says where
each function of the file begins. So this reads the very code that a call would run.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import re
import struct
import subprocess
import sys
from collections.abc import Container, Iterator
from shutil import which
from typing import Any, NamedTuple

from tutor.backends import simd_cpp

FRAMES = 0x6474E550  # PT_GNU_EH_FRAME, the header that leads to the table of frames
MOST = 100  # functions that one kernel's code is looked for in: those that it calls, and so on
HERE = "tutor/backends/simd_cpp/"  # lines of other files (xsimd's, the compiler's) are not shown

CODE = re.compile(r"^ *([0-9a-f]+):\t(.*?)\s*$")
FRAME = re.compile(r"^(?:inlined by )?(/\S+):(\d+)(?: \(.*\))?$")
TARGET = re.compile(r"\b(j\w+|call)\s+([0-9a-f]+)\b.*")
ADDRESS = re.compile(r"\[rip\+0x[0-9a-f]+\]\s+# ([0-9a-f]+).*")
NOTHING = r"(?:\w+ )*nop\b"  # between instructions, to begin a loop at a round address
ARITHMETIC = (
    r"^v?(fn?m(add|sub)\d*|add|sub|mul|div|sqrt|min|max|cmp\w*|andn?|or|xor|round|rndscale)"
)
PACKED, SINGLE = re.compile(ARITHMETIC + "p[sdh]$"), re.compile(ARITHMETIC + "s[sdh]$")
INTEGERS = re.compile(r"^v?p(add|sub|mul|min|max|and|or|xor|cmp|s[lr][la]|abs|ternlog)\w+$")


class TableRow(ctypes.Structure):
    """The beginning of `struct Row` in kernel.hpp, and what there is to call in it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_uint8),
        ("form", ctypes.c_int),
        ("types", ctypes.c_char_p),
        ("params", ctypes.c_char_p),
        ("run", ctypes.c_void_p),
        ("work", ctypes.POINTER(ctypes.c_void_p)),  # the inner loop comes first in it
        ("reducer", ctypes.POINTER(ctypes.c_void_p)),  # three ints, clear, add_row, ...
    )


class Code(NamedTuple):
    """An instruction: its address, its text, and the line of ours that it comes from, if known."""

    address: int
    text: str
    line: tuple[str, int] | None = None

    @property
    def target(self) -> int | None:
        """Where a jump or a call leads to."""
        found = TARGET.match(self.text)
        return int(found[2], 16) if found else None


def why_not() -> str:
    """Why there is no machine code to be read here; "" where there is."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return "machine code is read on Linux on x86-64 only"
    return "" if which("objdump") else "there is no objdump"


def loop_of(kernel: Any) -> list[Code]:
    """The innermost loop of the kernel that computes the most at a time."""
    file = str(sys.modules[simd_cpp.NAME].__file__)
    starts, base = functions_of(file), _base(file)
    functions = dict(itertools.pairwise([*starts, starts[-1]]))
    waiting = [pointer - base for pointer in _entries(kernel)]
    seen: list[int] = []
    found: list[list[Code]] = []
    while waiting and len(seen) < MOST:
        at = waiting.pop(0)
        if at in seen or at not in functions:
            continue
        seen.append(at)
        codes = disassembled(file, at, functions[at])
        found += loops(codes, kernel.dtype)
        for place in [place for code in codes for place in _leads_to(code)]:
            waiting += [place] if place in functions else _listed_at(base, place, functions)
    return max(found, key=lambda loop: _worth(loop, kernel.dtype), default=[])


def computing(loop: list[Code], dtype: str) -> tuple[int, int]:
    """How many of its instructions compute with a whole register, and with one number."""
    names = [code.text.split()[0] for code in loop]
    kinds = (PACKED, SINGLE) if dtype.startswith("float") else (INTEGERS, SINGLE)
    packed, single = (sum(bool(kind.match(name)) for name in names) for kind in kinds)
    return packed, single


def _worth(loop: list[Code], dtype: str) -> tuple[float, float]:
    """By this, the largest of several loops is the one that the kernel is about: that with most
    arithmetic, and where less than half of a loop is arithmetic, that with the largest share."""
    packed, single = (
        count if 2 * count >= len(loop) else count / len(loop) for count in computing(loop, dtype)
    )
    return packed, single


def loops(codes: list[Code], dtype: str) -> list[list[Code]]:
    """The innermost loops that compute: from where a jump backward leads to, up to that jump."""
    place = {code.address: number for number, code in enumerate(codes)}
    spans = [
        (place[code.target or 0], number)
        for number, code in enumerate(codes)
        if code.text.startswith("j") and place.get(code.target or 0, number + 1) <= number
    ]
    bodies = {(a, b): _without_exits(codes[a : b + 1]) for a, b in spans}
    real = [
        (a, b)
        for (a, b), body in bodies.items()
        if body[0] is codes[a] and any(computing(body, dtype))
    ]
    return [
        bodies[first, last]
        for first, last in real
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in real)
    ]


def _without_exits(codes: list[Code]) -> list[Code]:
    """Those from which the last one, the jump back, can be reached: the others leave the loop."""
    kept = {codes[-1].address}
    while True:
        before = len(kept)
        for code, after in zip(codes[-2::-1], codes[:0:-1], strict=True):
            ends = code.text.split()[0] in ("ret", "jmp")
            if code.target in kept or (after.address in kept and not ends):
                kept.add(code.address)
        if len(kept) == before:
            return [code for code in codes if code.address in kept]


def disassembled(
    file: str, start: int = 0, end: int | None = None, section: str | None = None
) -> list[Code]:
    """The instructions of the file, of one section or between two addresses."""
    command = ["objdump", "-dl", "--inlines", "--no-show-raw-insn", "-M", "intel", file]
    command += [] if end is None else [f"--start-address={start}", f"--stop-address={end}"]
    command += [] if section is None else ["-j", section]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(_parsed(run.stdout))


def _parsed(text: str) -> Iterator[Code]:
    """Before an instruction stand the lines that it comes from, the innermost call first, if they
    differ from those of the instruction before."""
    line, fresh = None, True
    for row in text.splitlines():
        frame, code = FRAME.match(row), CODE.match(row)
        if frame:
            if fresh:
                line, fresh = None, False
            if line is None and HERE in frame[1]:
                line = frame[1].rpartition(HERE)[2], int(frame[2])
        elif code:
            fresh = True
            if re.match(NOTHING, code[2]):
                continue
            yield Code(int(code[1], 16), code[2], line)


def functions_of(file: str) -> list[int]:
    """Where the functions of a shared object begin, in order, by its table of frames."""
    with open(file, "rb") as opened:
        content = opened.read()
    (headers,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for header in range(headers, headers + size * count, size):
        kind, _, offset, address = struct.unpack_from("<IIQQ", content, header)
        if kind == FRAMES:
            (entries,) = struct.unpack_from("<I", content, offset + 8)
            table = struct.unpack_from(f"<{2 * entries}i", content, offset + 12)
            return [address + start for start in table[::2]]
    return []


def _entries(kernel: Any) -> list[int]:
    """The addresses of its functions: those on elements first, and the whole kernel if it has none
    of those."""
    (pointer,) = struct.unpack_from("P", ctypes.string_at(id(kernel), 32), 24)  # object, call, row
    row = TableRow.from_address(pointer)
    if row.work:
        return [row.work[0] or 0]
    if row.reducer:
        return [row.reducer[number] or 0 for number in range(3, 7)]
    return [row.run]


def _base(file: str) -> int:
    """Where the file begins in this process."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(int(row.split("-")[0], 16) for row in maps if _is_of(row, file))


def _is_of(row: str, file: str) -> bool:
    return row.split(maxsplit=5)[-1].rstrip("\n") == os.path.realpath(file)


def _leads_to(code: Code) -> Iterator[int]:
    """The functions that it calls, or whose address it takes."""
    if code.target is not None:
        yield code.target
    taken = ADDRESS.search(code.text)
    if taken and code.text.startswith("lea"):
        yield int(taken[1], 16)


def _listed_at(base: int, place: int, functions: Container[int]) -> list[int]:
    """The functions in the table that begins at an address of the file, as it is in memory."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        return []
    try:
        content = os.pread(memory, 8 * MOST, base + place)
    except OSError:
        return []
    finally:
        os.close(memory)
    pointers = [
        pointer - base for (pointer,) in struct.iter_unpack("Q", content[: len(content) & ~7])
    ]
    return list(itertools.takewhile(lambda pointer: pointer in functions, pointers))


def plain(loop: list[Code]) -> list[str]:
    """The text of each instruction without addresses: a jump names the line it leads to."""
    place: dict[Any, int] = {code.address: number for number, code in enumerate(loop, 1)}
    texts = []
    for code in loop:
        text = ADDRESS.sub("[a constant]", code.text)
        name = text.split()[0]
        if code.target is not None:
            text = f"{name} {place[code.target]}" if code.target in place else f"{name} out"
        texts.append(" ".join(text.split()))
    return texts
