"""docs/reading.md: every file of the trunk once, in pieces of half an hour, and a debugger."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import trunk

PAGE = Path(__file__).parents[2] / "docs" / "reading.md"
ROOT = PAGE.parents[1]
HALF_AN_HOUR = 700  # lines that can be read in it, comments included
ROW = re.compile(r"^\| (\d+) \| (.+?) \| .+ \|$", re.MULTILINE)


def pieces() -> list[list[Path]]:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    return [[ROOT / path for path in re.findall(r"`(tutor/.+?\.py)`", files)] for _, files in rows]


def test_every_file_of_the_trunk_is_in_one_piece() -> None:
    found = [path for piece in pieces() for path in piece]
    assert sorted(found) == sorted(ROOT / "tutor" / p.relative_to(trunk.PACKAGE) for p in
                                   trunk.files())  # fmt: skip


def test_a_piece_is_read_in_half_an_hour() -> None:
    assert [len(piece) for piece in pieces() if trunk.lines(piece) > HALF_AN_HOUR] == []


def test_the_trunk_has_as_many_lines_as_the_page_says() -> None:
    (said,) = re.findall(r"about ([\d,]+) lines", PAGE.read_text(encoding="utf-8"))
    assert round(trunk.lines(trunk.files()), -2) == int(said.replace(",", ""))


def test_a_debugger_stops_in_the_engine(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.+?)```", text, re.DOTALL)
    (tmp_path / "add.py").write_text(program)
    (line,) = [line for line in text.splitlines() if " -m pdb " in line]
    words = shlex.split(line)
    settings = dict(word.split("=") for word in words if re.match(r"TUTOR_\w+=", word))
    command = [sys.executable, *words[len(settings) + 1 :]]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT), **settings}, input="q\n",
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    calls = re.findall(r"^[> ] (\S+)\(\d+\)(\S+)\(\)$", done.stdout, re.MULTILINE)
    stack = [f"{Path(path).name}: {function}" for path, function in calls]
    (shown,) = re.findall(r"```text\n(.+?)```", text, re.DOTALL)
    start = stack.index("add.py: <module>")
    assert stack[start : start + 5] == shown.splitlines(), done.stdout + done.stderr
