"""The ten projects: each first step runs as it is printed and does not pass yet; our solution does,
and answers that are wrong do not. Nothing is downloaded."""

from __future__ import annotations

import contextlib
import io
import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from wrong.projects import WRONG

from course import copies, projects
from course.exercise import Exercise, everything, find
from course.judging import judged
from course.library import ours
from course.roads import PROJECTS, label
from tutor.__main__ import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "chapters/projects.md").read_text("utf-8")
HEAD, *SECTIONS = re.split(r"(?m)^## (?=P\.\d)", PAGE.partition("\n## And then")[0])
IDS = [section.partition(":")[0] for section in SECTIONS]
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)
each = pytest.mark.parametrize("id", IDS)


def entry(id: str) -> Exercise:
    found = find(id)
    assert isinstance(found, Exercise)
    return found


def library() -> dict[str, Any]:
    """All names of our library, with tutor's kernels, and random numbers from the beginning."""
    whole = ours(sorted(path.name[:2] for path in (ROOT / "chapters").glob("*.ipynb"))[-1])
    names = {name: getattr(whole, name) for name in whole.__all__}
    names["borrow_kernels"]()
    names["use_backend"]("tutor")
    random.seed(0)
    return names


@pytest.fixture(scope="module", autouse=True)
def python_again() -> Iterator[None]:
    """Our library is one for all tests of a process: afterwards its kernels are its own again."""
    yield
    library()["use_backend"]("python")


@pytest.fixture(scope="module", params=IDS)
def solved(request: pytest.FixtureRequest) -> tuple[Exercise, dict[str, Any]]:
    """A project, and the names of our solution after it ran: once for all tests of this module."""
    found, names = entry(request.param), library()
    exec(compile(found.solution, f"<solution {found.id}>", "exec"), names)
    return found, names


def test_the_page_has_the_ten_of_them_in_order() -> None:
    known = [e.id for e in everything() if e.id.startswith("P.")]
    assert IDS == known == [f"P.{n}" for n in range(1, 11)]
    assert re.findall(r"(?m)^\| (P\.\d+) \|", HEAD) == IDS
    for section in SECTIONS:
        for part in ("**Why.**", "**The first step.**", "**It works** when", "**Go on**",
                     "**Where people get stuck.**"):  # fmt: skip
            assert section.count(part) == 1, (section[:40], part)


def steps(id: str) -> tuple[str, str]:
    """The code of a project's first step, as the page has it, and what the page says it prints."""
    section = SECTIONS[IDS.index(id)]
    code, said = [[text for kind, text in BLOCK.findall(section) if kind == wanted]
                  for wanted in ("python", "text")]  # fmt: skip
    assert len(code) == len(said) == 1
    return code[0], said[0]


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def alike(one: str, other: str) -> bool:
    """The same words, and numbers that are near: a training is not the same on every machine."""
    if NUMBER.sub("N", one).partition("(")[0] != NUMBER.sub("N", other).partition("(")[0]:
        return False
    pairs = zip(*(NUMBER.findall(text.partition("(")[0]) for text in (one, other)), strict=True)
    return all(abs(float(a) - float(b)) <= 4 + 0.2 * float(b) for a, b in pairs)


@each
def test_the_first_step_runs_and_is_not_enough(
    id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes 10 to 20 lines, seconds, and says what the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    code, said = steps(id)
    assert 5 <= sum(1 for line in code.splitlines() if line.strip()) <= 25
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(BLOCK.findall(HEAD)[0][1] + code, f"<first step of {id}>", "exec"), {})
    out = printed.getvalue().splitlines()
    assert f"{id} wrong: {entry(id).title}" in out
    for line in said.splitlines():
        assert any(alike(line, other) for other in out), (line, out)


def test_our_solution_passes(solved: tuple[Exercise, dict[str, Any]]) -> None:
    found, names = solved
    verdict = judged(found, names[found.answer])
    assert verdict.kind in ("exact", "close", "unsolved"), verdict.text
    assert verdict.passed, verdict.text
    assert found.why_ours and len(found.hints) == 3


def test_wrong_answers_do_not_pass(solved: tuple[Exercise, dict[str, Any]]) -> None:
    found, names = solved
    planted = WRONG[found.id]
    assert len(planted) >= 5
    for why, text in planted.items():
        own = names | {"ours": names[found.answer]}
        exec(compile(text, f"<{found.id} {why}>", "exec"), own)
        verdict = judged(found, own[found.answer])
        assert verdict.kind in ("wrong", "changed", "raised"), f"{found.id} {why}: {verdict.text}"
        assert verdict.error is None, f"{found.id} {why}: {verdict.text}"


@each
def test_what_nobody_has_touched_is_unsolved(id: str) -> None:
    assert judged(entry(id), ...).kind == "unsolved"


def test_they_stand_behind_all_chapters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """begin("P") has the whole library; the copy has the page; the terminal knows the ids."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    assert main(["chapters", "start", "."]) == 0
    assert Path("projects.md").read_bytes() == copies.texts()["projects.md"] == PAGE.encode()
    begin = 'from course import begin\nbegin("P")\nfrom my_tutor import GPT, Conv2d, MultiHead\n'
    Path("p2.py").write_text(begin + entry("P.2").solution)
    capfd.readouterr()
    assert main(["check", "P.2", "p2.py"]) == 0
    assert main(["check", "P.1", "p2.py"]) == 1
    assert "does not define `foresee`" in capfd.readouterr().out
    assert Path("progress.txt").read_text().startswith("P.2 passed")
    begun = subprocess.run(
        [sys.executable, "p2.py"], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert "pieces of your library are yours" in begun.stdout
    assert main(["status"]) == 0
    assert "my_tutor, with all there is" in capfd.readouterr().out
    assert main(["check"]) == 0
    assert re.search(r"(?m)^ +P +1 of 10", capfd.readouterr().out)
    Path("projects.md").unlink()
    assert main(["chapters", "update", "."]) == 0
    assert "projects.md: copied, for you had none" in capfd.readouterr().out


def test_the_projects_stand_behind_part_ii() -> None:
    assert label(PROJECTS) == "P" and label("12") == "12" < PROJECTS < "13" == label("13")


# ---- the rules themselves ------------------------------------------------------------------------


def test_rules_of_melodies() -> None:
    known = projects.melodies(500, seed=3)
    assert all(map(projects.is_melody, known)) and len(set(known)) > 480
    assert projects.melodies(3, seed=3) == known[:3] != projects.melodies(3, seed=4)
    good = known[0]
    for bad in (good[:-1], good + "c", good[:-1] + "d", "z" + good[1:], "b" + good[1:], "c" * 16):
        assert not projects.is_melody(bad), bad
    assert sum(projects.ways(note, 1) for note in projects.NOTES) > 10**6
    assert projects.ways("cc", 16) == 0 and projects.ways("dc", 16) == 1


def test_rules_of_the_king() -> None:
    assert projects.king_moves((0, 0), (7, 7)) == {(0, 1), (1, 0), (1, 1)}
    assert projects.king_moves((0, 0), (0, 2)) == {(1, 0)}
    assert len(projects.king_moves((3, 3), (6, 6))) == 8
    learned, held_out = projects.positions(False), projects.positions(True)
    assert len(held_out) == 722 and len(learned) == 2890
    assert not set(learned) & set(held_out)


def test_rules_of_nim() -> None:
    """What is lost by the formula is what is lost by looking at all moves."""
    lost: dict[projects.Heaps, bool] = {}
    for heaps in sorted(((a, b, c) for a in range(5) for b in range(5) for c in range(5)), key=sum):
        after = [projects.nim_after(heaps, move) for move in projects.nim_moves(heaps)]
        lost[heaps] = not any(lost[then] for then in after)
        assert lost[heaps] == projects.nim_lost(heaps)
        if after and not lost[heaps]:
            move = projects.nim_perfect(heaps, Random(0))
            assert projects.nim_lost(projects.nim_after(heaps, move))


def test_what_is_drawn_is_drawn_from_the_seed() -> None:
    for make in (projects.wave, projects.melodies):
        assert make(20, 1) == make(20, 1) != make(20, 2)
    assert projects.cipher(1) == projects.cipher(1) != projects.cipher(2)
    for seed in (1, 2):
        secret, text = projects.cipher(seed)
        pairs = set(zip(secret, text, strict=True))
        assert len(pairs) == len(dict(pairs)) == len(set(text)) and (" ", " ") in pairs
    wave = projects.wave(20_000, seed=5)
    assert abs(sum(x * x for x in wave) / 20_000 - (0.5 + 0.245 + 0.09)) < 0.02
    sheets, labels = projects.sheets(20, seed=3)
    images, same = projects.drawn(20, seed=3)
    assert labels == same and all(len(sheet) == 1600 for sheet in sheets)
    assert [sum(sheet) for sheet in sheets] == [sum(image) for image in images]
    assert all(map(projects.is_name, projects.known_names()))
    assert not projects.is_name("Xyz") and not projects.is_name(projects.known_names()[0].lower())
    assert math.isclose(projects.NOISE, 0.3)
