"""Every chapter: its form, what it gives and asks, that it runs, that its checks can be trusted."""

from __future__ import annotations

import ast
import functools
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from by_turns import ASKED, turn
from running import Runs, errors

import tutor
from course import minutes, notebooks
from course.exercise import Exercise, Question, everything, solutions
from course.library import ours, parts, saving
from course.roads import label

ROOT = Path(tutor.__file__).parents[1]
CHAPTERS = notebooks.chapters()
BUGS = {f"X{number:02}" for number in range(1, 28)}

# What each chapter has to cover: ids of the project's list of requirements. A range such
# as 000-07..11 stands for all of its rows.
ROWS = {
    "00": "",
    "01": "000-03..04 000-45 001-01..02 001-10..11 001-30 001-39 002-06",
    "02": "000-07..11 000-44 000-54 001-34 002-04 002-07 002-09 002-11 002-40 002-53 004-29..30"
    " 004-40 004-72",
    "03": "000-06 000-50 000-59 001-15 001-37 002-05 002-10 002-39 004-39",
    "04": "000-05 000-19 000-21..22 000-57 000-63 001-16 001-35 002-12..15 002-21 002-31 004-20"
    " 004-22 004-24 004-36..38 004-67",
    "05": "000-01 000-18 000-20 000-47 000-55 001-36 002-02..03 002-08 002-17..20 002-37 002-47"
    " 004-03..04 004-31..32 004-41 004-75",
    "06": "000-23 001-38 001-47 002-41..44 002-52 004-06 004-57 004-59",
    "07": "000-53 002-16 002-24 004-50..51",
    "08": "000-61 001-48 002-22..23 002-25..28 004-08 004-53..54 004-68",
    "09": "002-26..29",
    "10": "004-52 004-69",
    "11": "004-12",
    "12": "004-70",
    "13": "000-32 000-35 000-37 000-39 001-22 003-20 003-22..23 003-31",
    "14": "000-51 000-60 003-04..05 003-07..08 003-18..19 003-21..22 003-35..36",
    "15": "000-17 002-34 003-01 003-10 003-14..16 003-23..26 003-32..34 004-58",
    "16": "002-32 002-46 004-09 004-15 004-19 004-26 004-34 004-45 004-56",
    "18": "000-65 002-01 002-48..50 002-54 004-60..61",
}

COMING = {"17"}  # chapters that are still to be written, between others

ALL = [entry for entry in everything() if isinstance(entry, Exercise)]
EXERCISES = [entry for entry in ALL if not entry.id.startswith("P.")]  # projects have no cells
QUESTIONS = [entry for entry in everything() if isinstance(entry, Question)]
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)
each_exercise = pytest.mark.parametrize("entry", EXERCISES, ids=lambda entry: entry.id)
each_question = pytest.mark.parametrize("entry", QUESTIONS, ids=lambda entry: entry.id)


def in_a_kernel(asked: str) -> list[str]:
    """The chapters to run in a kernel: every third one, beginning with another for each commit."""
    return list(CHAPTERS) if asked == "all" else list(CHAPTERS)[turn(3, asked) :: 3]


@functools.cache
def notebook(chapter: str) -> notebooks.Notebook:
    return notebooks.read(CHAPTERS[chapter])


def about(chapter: str) -> dict[str, Any]:
    return notebook(chapter)["metadata"]["tutor"]


def ids(chapter: str, part: str) -> list[str]:
    """The ids of a chapter's cells of one sort: exercise, check or question."""
    found = map(notebooks.about, notebooks.code_cells(notebook(chapter)))
    return [pair[1] for pair in found if pair and pair[0] == part]


def prose(chapter: str) -> str:
    cells = [cell for cell in notebook(chapter)["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join(map(notebooks.source, cells))


# ---- running them --------------------------------------------------------------------------------


def verdicts(result: dict[str, Any]) -> dict[str, str]:
    """What was said about each exercise and question: {"05.3": "unsolved"}."""
    said = "\n".join(cell["output"] for cell in result["cells"])
    return dict(re.findall(r"(?m)^(\d\d\.[qs]?\d+) ([a-z]+)(?=:|$)", said))


def runs_through(chapter: str, mode: str, runs: Runs) -> None:
    result = runs.run(chapter, mode)
    raised = errors(result)
    assert not raised, "\n".join(f"{id}: {error}" for id, error in raised.items())
    asked = ids(chapter, "check") + ids(chapter, "question")
    said = verdicts(result)
    assert sorted(said) == sorted(asked)
    allowed = {"exact", "close"} if mode == "solved" else {"unsolved"}
    assert {id: kind for id, kind in said.items() if kind not in allowed} == {}


@each_chapter
def test_a_chapter_runs_from_top_to_bottom(chapter: str, runs: Runs) -> None:
    """Nothing is solved: the run that proofs are made in, too."""
    runs_through(chapter, "unsolved", runs)


@each_chapter
def test_a_chapter_runs_when_it_is_solved(chapter: str, runs: Runs) -> None:
    runs_through(chapter, "solved", runs)


@pytest.mark.parametrize("chapter", in_a_kernel(ASKED))
def test_a_chapter_runs_in_a_kernel(chapter: str, runs: Runs) -> None:
    """Solved, too."""
    runs_through(chapter, "kernel", runs)


def test_every_chapter_has_its_turn_in_a_kernel() -> None:
    assert {chapter for i in range(40) for chapter in in_a_kernel(str(i))} == set(CHAPTERS)
    assert in_a_kernel("all") == list(CHAPTERS)


# ---- the proofs of an exercise -------------------------------------------------------------------


def proofs(entry: Exercise, runs: Runs) -> dict[str, dict[str, Any]]:
    (chapter,) = [number for number in CHAPTERS if entry.id in ids(number, "exercise")]
    return runs.proofs(chapter, entry.id)


@each_exercise
def test_the_stub_is_unsolved(entry: Exercise, runs: Runs) -> None:
    stub = proofs(entry, runs)["stub"]
    assert stub["kind"] == "unsolved", stub["text"]


@each_exercise
def test_the_solution_passes(entry: Exercise, runs: Runs) -> None:
    solution = proofs(entry, runs)["solution"]
    assert solution["passed"], solution["text"]


@each_exercise
def test_planted_wrong_answers_do_not_pass(entry: Exercise, runs: Runs) -> None:
    """They are wrong, not broken: one that raises says so first, as "raises: no return"."""
    wrong = {w: p for w, p in proofs(entry, runs).items() if w not in ("stub", "solution")}
    assert len(wrong) >= 2, "plant two wrong answers at least, in tests/course/wrong"
    for why, proof in wrong.items():
        assert proof["kind"] != "broken" and "examined" not in proof, proof
        allowed = {"wrong", "changed", "timeout"} | (
            {"raised"} if why.startswith("raises") else set()
        )
        assert proof["kind"] in allowed, f"{why}: {proof['text']}"


@each_exercise
def test_hints_are_not_the_solution(entry: Exercise) -> None:
    assert len(entry.hints) == 3 and all(hint.strip() for hint in entry.hints)
    assert len(set(entry.hints)) == 3
    for hint in entry.hints:
        assert entry.solution.strip() not in hint
    assert entry.task and entry.title and 0 < entry.minutes <= 20


@each_question
def test_a_question_takes_the_right_answer_only(entry: Question) -> None:
    from course.judging import judged

    assert judged(entry, entry.right).passed
    assert judged(entry, ...).kind == "unsolved"
    wrong = [letter for letter in entry.choices if letter != entry.right] or ["?", None, 1e99, [7]]
    assert [answer for answer in wrong if judged(entry, answer).kind != "wrong"] == []
    assert entry.why.strip() and entry.text.strip()


# ---- what belongs together -----------------------------------------------------------------------


@each_chapter
def test_exercises_and_notebook_agree(chapter: str) -> None:
    """Chapters 04 and 04b share ids, a module of exercises, and one of wrong answers."""
    number = chapter[:2]
    together = [other for other in CHAPTERS if other.startswith(number)]
    declared = [entry.id for entry in EXERCISES if entry.id.startswith(f"{number}.")]
    asked = [entry.id for entry in QUESTIONS if entry.id.startswith(f"{number}.")]
    for part, wanted in (("exercise", declared), ("check", declared), ("question", asked)):
        found = [id for other in together for id in ids(other, part)]
        assert sorted(found) == sorted(wanted)
    assert sorted(ids(chapter, "exercise")) == sorted(ids(chapter, "check"))
    wrong = import_module(f"wrong.ch{number}").WRONG
    assert sorted(wrong) == sorted(declared)


def test_every_exercise_has_its_chapter() -> None:
    modules = {path.stem[2:] for path in (ROOT / "course/exercises").glob("ch*.py")}
    assert modules == {chapter[:2] for chapter in CHAPTERS} | {"p"}
    for entry in everything():
        check, own = getattr(entry, "check", None), entry.id.partition(".")[0].lower()
        assert check is None or check.__module__.endswith(f"ch{own}"), entry.id


@each_chapter
def test_cells_of_an_exercise_are_what_they_say(chapter: str) -> None:
    """The stub defines the name; the check cell comes after it, and passes that name on."""
    places: dict[str, int] = {}
    for place, cell in enumerate(notebook(chapter)["cells"]):
        part = notebooks.about(cell)
        assert part is None or cell["cell_type"] == "code", cell["id"]
        if part is None or part[0] == "question":
            continue
        entry = next(entry for entry in EXERCISES if entry.id == part[1])
        text = notebooks.source(cell)
        places["-".join(part)] = place
        if part[0] == "check":
            assert f'check("{entry.id}", {entry.answer})' in text
            assert places[f"exercise-{entry.id}"] < place
        else:
            names = {getattr(node, "name", "") for node in ast.walk(ast.parse(text))}
            names |= {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
            assert entry.answer in names


@each_exercise
def test_a_solution_is_a_file_that_defines_the_answer(entry: Exercise) -> None:
    assert entry.text is None, "it stands in course/solutions"
    tree = ast.parse(entry.solution)
    names = {getattr(node, "name", "") for node in tree.body}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert entry.answer in names


def test_every_solution_has_its_exercise() -> None:
    files = {path.name for path in solutions().iterdir() if path.suffix == ".py"}
    assert files == {f"{entry.id}.py" for entry in ALL} | {"tutor200.py"}  # the capstone


def compared(text: str) -> set[str]:
    """The chapters after which a source asks for our library: those in ours(5)."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    asked = [c.args[0] for c in calls if isinstance(c.func, ast.Name) and c.func.id == "ours"]
    return {parts.key(node.value) for node in asked if isinstance(node, ast.Constant)}


@each_chapter
def test_a_chapter_needs_nothing_that_comes_later(chapter: str) -> None:
    checks = (ROOT / f"course/exercises/ch{chapter[:2]}.py").read_text()
    last = max(other for other in CHAPTERS if other.startswith(chapter[:2]))
    assert all(number <= last for number in compared(checks))
    assert f"exercises.ch{chapter[:2]}" not in checks and "learn.exercises" not in checks


# ---- what a chapter adds to the library ----------------------------------------------------------

# All but the preface.
each_of_library = pytest.mark.parametrize(
    "chapter", [c for c in CHAPTERS if c != "00"]
)  # a preface


@each_of_library
def test_a_chapter_begins_with_the_library_and_goes_on_with_it(chapter: str) -> None:
    cells = notebooks.code_cells(notebook(chapter))
    assert f'begin("{chapter}")\nfrom my_tutor import *' in notebooks.source(cells[0])
    texts, tags = list(map(notebooks.source, cells)), list(map(notebooks.tags, cells))
    for piece in [part for part in saving.everything() if part.chapter == chapter and part.answer]:
        (checked,) = [n for n, found in enumerate(tags) if f"check-{piece.key}" in found]
        assert texts[checked + 1] == f'go_on("{piece.key}")', piece.key
        (entry,) = [entry for entry in EXERCISES if entry.id == piece.key]
        assert entry.answer == piece.answer
        assert entry.why_ours.strip(), f"{entry.id}: say what differs in ours, and why"
    assert not any(notebooks.kept(cell) == "" for cell in cells), "say which file: keep-tensor"
    assert "Ours, for what follows" not in prose(chapter)


@each_of_library
def test_our_library_after_a_chapter_stands_alone(chapter: str) -> None:
    library = ours(chapter)
    added = [part for part in saving.everything() if part.chapter == chapter]
    for name in [name for part in added for name in part.defines]:
        assert hasattr(library, name)


@each_of_library
def test_a_chapter_asks_enough(chapter: str) -> None:
    """Wrong answers of the kinds learners give, challenges, and why a wrong choice is tempting."""
    wrong = import_module(f"wrong.ch{chapter[:2]}").WRONG
    here = ids(chapter, "exercise")
    few = {id: len(wrong[id]) for id in here if len(wrong[id]) < (3 if ".s" in id else 5)}
    assert few == {}, "plant five wrong answers an exercise, three a challenge"
    if chapter not in ("00", "00b"):
        assert len([id for id in here if ".s" in id]) == 2
    for entry in QUESTIONS:
        if entry.id in ids(chapter, "question"):
            missing = set(entry.choices) - {entry.right} - set(entry.tempting)
            assert not missing, f"{entry.id}: why may one take {sorted(missing)}?"


# ---- the form of a chapter -----------------------------------------------------------------------


@each_chapter
def test_a_chapter_is_in_the_stored_form(chapter: str) -> None:
    path = CHAPTERS[chapter]
    assert path.read_text("utf-8") == notebooks.stored(path), "run `python -m tutor chapters build`"
    assert notebooks.NAME.fullmatch(path.name)[1] == chapter


@each_chapter
def test_metadata_is_complete(chapter: str) -> None:
    data = about(chapter)
    wanted = {"bugs", "builds", "goal", "id", "minutes", "rows", "title"}
    assert wanted <= set(data) <= wanted | {"roads"}
    assert data["id"] == chapter
    assert all(data[name].strip() for name in ("title", "goal", "builds"))
    assert 0 < data["minutes"] <= minutes.LONGEST
    assert set(data["bugs"]) <= BUGS


def rows(text: str) -> set[str]:
    """The rows that a line of ROWS stands for."""
    found = set()
    for part in text.split():
        source, _, span = part.partition("-")
        first, _, last = span.partition("..")
        found |= {f"{source}-{n:02}" for n in range(int(first), int(last or first) + 1)}
    return found


def test_rows_are_read_rightly() -> None:
    assert rows("000-09..11 002-04") == {"000-09", "000-10", "000-11", "002-04"}
    counts = [0, 10, 18, 9, 21, 21, 11, 5, 12, 4, 2, 1, 1, 9, 12, 15, 9, 8]
    assert [len(rows(text)) for text in ROWS.values()] == counts


@each_chapter
def test_the_rows_of_the_plan_are_covered(chapter: str) -> None:
    covered = {row for number in CHAPTERS for row in about(number).get("rows", [])}
    assert sorted(rows(ROWS.get(chapter, "")) - covered) == []
    assert all(re.fullmatch(r"00[0-4]-\d\d", row) for row in about(chapter)["rows"])


def test_no_chapter_is_left_out() -> None:
    plain = [chapter for chapter in CHAPTERS if chapter.isdigit()]
    every = [f"{number:02}" for number in range(int(plain[-1]) + 1)]
    assert plain == [number for number in every if number in plain]
    assert set(every) - set(plain) <= COMING
    assert {chapter[:2] for chapter in CHAPTERS} == set(plain)  # 04b comes after a 04


@each_chapter
def test_a_chapter_has_its_parts(chapter: str) -> None:
    text, code = prose(chapter), notebooks.code_cells(notebook(chapter))
    assert text.startswith(f"# {label(chapter)}. {about(chapter)['title']}\n")
    assert any(re.search(r"(?m)^guess\w* = \.\.\.", notebooks.source(cell)) for cell in code)
    assert 3 <= len(ids(chapter, "question")) <= 6
    assert re.search(r"(?m)^##+ What the real one does more", text)
    assert any(re.search(r"\bshow\(", notebooks.source(cell)) for cell in code)
    reading = re.split(r"(?m)^##+ Further reading.*$", text)
    assert len(reading) == 2, "one heading `Further reading`"
    assert len(re.findall(r"(?m)^[-*] ", reading[1])) == 3, "three pointers"
    asked = [id for id in ids(chapter, "exercise") if ".s" not in id]
    if chapter.startswith("00"):
        assert asked
    else:
        assert 3 <= len(asked) <= 16
        together = [other for other in CHAPTERS if other.startswith(chapter[:2])]
        assert any(about(other)["bugs"] for other in together)
        assert any(re.search(r"(?mi)^##+ .*bug hunt", prose(other)) for other in together)
