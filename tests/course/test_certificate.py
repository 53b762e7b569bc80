"""The certificate says what the progress file says, and needs nothing but itself."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import NoReturn

import pytest

from course import capstone, certificate, record
from course.exercise import everything
from tutor.__main__ import main

PROGRESS = """\
01.1 passed tries=2 hints=1
01.2 open tries=3 hints=0
01.q1 passed tries=0 hints=0
05.s1 passed tries=1 hints=3
a line that is no record
"""


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with progress, and no network."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("a certificate needs no network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    monkeypatch.setattr(socket, "socket", refuse)
    Path("progress.txt").write_text(PROGRESS)


def cells(page: str, title: str) -> list[str]:
    """The cells of a chapter's row, without markup."""
    (row,) = [row for row in re.findall(r"<tr>(.*?)</tr>", page) if f">{title}<" in row]
    return re.findall(r"<td[^>]*>(.*?)</td>", row)


def test_it_says_what_was_passed_and_what_was_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "certificate"]) == 0
    assert "nothing was sent anywhere" in capsys.readouterr().out
    page = Path(certificate.FILE).read_text("utf-8")
    every = len(everything())
    assert f"<strong>3 of {every}</strong>" in page
    assert "tutor200.py: <strong>not passed</strong>" in page
    assert "6 tries did not pass\nbefore, and 4 hints were read" in page
    title = next(row.title for row in certificate.rows({}) if row.label == "1")
    first = cells(page, title)
    assert first[0] == "1" and first[2].startswith("1 of ") and first[3].startswith("1 of ")
    assert first[5].startswith("tried: 01.2; skipped: 01.3, ")
    assert "01.1" not in page and "01.q1," not in first[5]


def test_a_chapter_that_was_left_out_is_skipped_and_no_more() -> None:
    assert main(["course", "certificate", "mine.html"]) == 0
    title = next(row.title for row in certificate.rows({}) if row.label == "12")
    assert cells(Path("mine.html").read_text("utf-8"), title)[5] == "skipped"


def test_the_capstone_and_all_else_passed() -> None:
    states = {entry.id: record.State(passed=True) for entry in everything()}
    page = certificate.page(states | {capstone.ID: record.State(True)}, Path("p.txt"), "today")
    assert "tutor200.py: <strong>passed</strong>" in page
    assert "skipped" not in page and "tried:" not in page
    assert f"{len(states)} of {len(states)}" in page


def test_the_page_asks_nobody_for_anything() -> None:
    page = certificate.page(record.states(), Path("<b>.txt"), "today")
    assert not re.search(r"https?:|<script|src=|href=|@import|url\(", page)
    assert "&lt;b&gt;.txt" in page


def test_other_progress_is_another_digest() -> None:
    def digest(states: dict[str, record.State]) -> str:
        return certificate.page(states, Path("p.txt"), "today").rpartition("progress: ")[2][:16]

    states = record.states()
    more = states | {"01.2": record.State(passed=True, tries=3)}
    assert digest(states) == digest(dict(reversed(states.items()))) != digest(more)


def test_without_progress_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    Path("progress.txt").unlink()
    assert main(["course", "certificate"]) != 0
    assert "has no progress" in "".join(capsys.readouterr())
    assert not Path(certificate.FILE).exists()


def test_what_cannot_be_written_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "certificate", "none/mine.html"]) != 0
    assert "name another file" in "".join(capsys.readouterr())
