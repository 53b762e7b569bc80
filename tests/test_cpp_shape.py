"""The shape of the C++ code: how long a file and a function may be, as for Python in
test_imports.py. The sources are laid out by clang-format, so a function ends at the first line that
is a brace as far to the right as its first line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path
    for folder in ("tutor", "tests")
    for path in (ROOT / folder).rglob("*.[ch]pp")
    if "build" not in path.parts
)
FILE, FUNCTION = 350, 60  # lines, at most

# What may stand around a function, and what opens a block that is no function.
AROUND = re.compile(r"(inline )?namespace\b|extern \"C\" \{")
TYPE = re.compile(r"(template .*> )?(struct|class|union|enum)\b[^()]*\{$")


class Function(NamedTuple):
    header: str  # the first line that names it
    line: int
    length: int


def functions(text: str) -> list[Function]:
    """Every function of a file, from the line its header begins on to its closing brace."""
    found, begin, inside = [], 0, ""  # `inside`: how far the brace of the open function is indented
    lines = text.splitlines()
    for i, line in enumerate(lines):
        code = line.split("//")[0].rstrip()
        if inside:
            if re.fullmatch(inside + r"\}[;,)}]*", code):
                first = next(n for n in lines[begin : i + 1] if not n.lstrip().startswith("temp"))
                found.append(Function(first.strip(), begin + 1, i - begin + 1))
                inside, begin = "", i + 1
        elif code.endswith("{"):
            header = " ".join(part.strip() for part in lines[begin : i + 1])
            if not AROUND.match(header) and not TYPE.match(header) and "(" in header:
                in_a_table = lines[begin].lstrip().startswith("{")
                indent = re.match(r" *", lines[i if in_a_table else begin])
                assert indent is not None
                inside = indent[0] or "(?! )"
            else:
                begin = i + 1
        elif not code or code.endswith((";", "}", "},", ":", "\\")) or code.startswith("#"):
            begin = i + 1
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_over_350_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_function_is_over_60_lines(path: Path) -> None:
    long = [function for function in functions(path.read_text()) if function.length > FUNCTION]
    assert not long, "\n".join(
        f"{path.relative_to(ROOT)}:{function.line}: {function.length} lines: {function.header}"
        for function in long
    )
