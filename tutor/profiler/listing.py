"""The instructions of a kernel's inner loop, and the source line of each.

    print(tutor.listing("add", "float32", level="avx512"))

The instructions are those that a call would run: objdump reads them from the extension
(machine_code.py). An extension that is installed knows nothing of lines, which would make it twice
as large. So listings.txt has the loops of some kernels with their lines, as `make listings` found
them by compiling with -g1. It serves for the lines wherever the instructions are the same, and for
all of it where there is no objdump, or no extension.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tutor import dtype as dtypes
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike
from tutor.backends import registry, simd_cpp
from tutor.errors import KernelNotFound
from tutor.profiler import machine_code

STORED = Path(__file__).with_name("listings.txt")
SOURCES = Path(simd_cpp.__file__).parent


class CodeLine(NamedTuple):
    """An instruction; the file that it comes from, and the text of the line there, if known."""

    instruction: str
    file: str = ""
    source: str = ""


@dataclass(frozen=True)
class Listing:
    """The inner loop of a kernel. Jumps name the line of the loop that they lead to, or `out`."""

    kernel: str
    dtype: str
    level: str
    lines: tuple[CodeLine, ...]
    origin: str  # where instructions and lines come from, in one sentence

    def __str__(self) -> str:
        """A line for each instruction, and its source line where that is another one."""
        rows = [f"{self.kernel} {self.dtype} {self.level}: {self.origin}"]
        width = max(len(line.instruction) for line in self.lines)
        before = ("", "")
        for number, (instruction, *place) in enumerate(self.lines, 1):
            said = "  ".join(place) if tuple(place) != before else ""
            rows.append(f"{number:3}  {instruction:<{width}}  {said}".rstrip())
            before = (place[0], place[1])
        return "\n".join(rows)


@spelled
def listing(kernel: str, dtype: DTypeLike = "float32", level: str | None = None) -> Listing:
    """The instructions of a kernel's inner loop, and the source line of each where it is known.

    kernel: as in the table of kernels, or a step on the way to one ("matmul.ikj").
    level: "avx2", "avx512" ...; None means the one in use.

    KernelNotFound if this kernel's machine code can be had neither from the extension, with
    objdump, nor from the listings that are stored.
    """
    wanted, known = dtypes.of(dtype).name, stored()
    if level is None and _is_built():
        level = simd_cpp.level()
    key = (kernel, wanted, "avx2" if level is None else level)
    for name, text in zip(("kernel", "level"), (kernel, key[2]), strict=True):
        if not isinstance(text, str):
            raise KernelNotFound(f"listing({name}=...)", checks.said(text), "give a name")
    why = machine_code.why_not() or _absent(key)
    if not why:
        return _read(key, known.get(key))
    if key not in known:
        raise KernelNotFound(
            f"the machine code of the kernel {kernel!r} for {wanted}, level {key[2]!r}",
            f"{why}, and there is no stored listing of it",
            f"choose one of the stored: {', '.join(map(' '.join, known))}",
        )
    return known[key]


def _is_built() -> bool:
    return "simd_cpp" in registry.backends()


def _kernels(level: str) -> dict[tuple[str, str], registry.Kernel]:
    """The kernels of a level, and the steps on the way to some, by name and dtype."""
    table = {(name, dtype.name): kernel for (name, dtype), kernel in simd_cpp.table(level).items()}
    return table | {(name, "float32"): kernel for name, kernel in simd_cpp.variants(level).items()}


def _absent(key: tuple[str, str, str]) -> str:
    """Why the extension does not have the kernel; "" if it does."""
    kernel, dtype, level = key
    if not _is_built():
        return "the extension was not built"
    if level not in simd_cpp.levels():
        return f"this build on this CPU has the levels {', '.join(simd_cpp.levels())}"
    if (kernel, dtype) not in _kernels(level):
        return "the extension has no such kernel"
    return ""


def _read(key: tuple[str, str, str], known: Listing | None) -> Listing:
    """What objdump finds, with the lines of the stored listing if the instructions are its own."""
    kernel: registry.Kernel = _kernels(key[2])[key[:2]]
    loop = machine_code.loop_of(kernel)
    if not loop:
        raise KernelNotFound(
            f"the inner loop of the kernel {key[0]!r} for {key[1]}, level {key[2]!r}",
            "none of its loops computes: they move memory, or call a function for each register",
            "ask for another level or kernel",
        )
    lines = read_lines(loop)
    if any(line.file for line in lines):
        return Listing(*key, lines, "read by objdump, with the lines that this build knows")
    if known and [line.instruction for line in known.lines] == [line.instruction for line in lines]:
        return Listing(*key, known.lines, "read by objdump, the source lines from a stored listing")
    return Listing(*key, lines, "read by objdump, without source lines: this build knows none")


def read_lines(loop: list[machine_code.Code]) -> tuple[CodeLine, ...]:
    """The loop as it is shown, with the text of its source lines where those are known."""
    return tuple(
        CodeLine(text, *_source(code.line))
        for text, code in zip(machine_code.plain(loop), loop, strict=True)
    )


def _source(line: tuple[str, int] | None) -> tuple[str, str]:
    if line is None or not (SOURCES / line[0]).is_file():
        return "", ""
    rows = (SOURCES / line[0]).read_text(encoding="utf-8").splitlines()
    return line[0], rows[line[1] - 1].strip() if line[1] <= len(rows) else ""


# ---- the stored ones -----------------------------------------------------------------------------


def stored() -> dict[tuple[str, str, str], Listing]:
    """The listings that come with the library, by kernel, dtype and level."""
    about, *blocks = STORED.read_text(encoding="utf-8").strip().split("\n\n")
    found = {}
    for head, *rows in (block.splitlines() for block in blocks):
        kernel, dtype, level = head.split()
        lines = tuple(CodeLine(*row.split("\t")) for row in rows)
        found[kernel, dtype, level] = Listing(kernel, dtype, level, lines, about)
    return found


def text_of(listings: Iterable[Listing], about: str) -> str:
    """What `stored` reads."""
    blocks = [
        "\n".join([f"{one.kernel} {one.dtype} {one.level}", *map("\t".join, one.lines)])
        for one in listings
    ]
    return "\n\n".join(itertools.chain([about], blocks)) + "\n"
