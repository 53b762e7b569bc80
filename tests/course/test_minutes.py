"""How long chapters take, where one can stop, and the roads through them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from course import minutes, notebooks, roads
from course.exercise import Exercise, find
from tutor.__main__ import main

CHAPTERS = notebooks.chapters()

# Chapters that still announce what they were once guessed to take, without places to stop or roads.
# Who has run `python -m tutor chapters build`, and set both, takes the chapter out.
PENDING: set[str] = set()

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


def notebook(chapter: str) -> notebooks.Notebook:
    return notebooks.read(CHAPTERS[chapter])


def faults(chapter: str) -> list[str]:
    """What is wrong with a chapter's minutes, stops and roads."""
    about = notebook(chapter)["metadata"]["tutor"]
    found = minutes.badly_cut(notebook(chapter))
    if about["minutes"] != minutes.announced(notebook(chapter)):
        found.append(minutes.report(chapter, notebook(chapter)))
    known = roads.ROADS[roads.part(chapter)]
    if not about.get("roads") or not set(about["roads"]) <= set(known):
        found.append(f"its roads are {about.get('roads')}, of {list(known)}")
    if chapter == "00":
        cells = [cell for cell in notebook(chapter)["cells"] if "roads" in notebooks.tags(cell)]
        tables = [notebooks.source(cell) for cell in cells]
        if len(tables) != 1 or (not PENDING & set(CHAPTERS) and tables != [roads.markdown()]):
            found.append("a text cell with the tag `roads` has the table of roads as it is now")
    return found


@each_chapter
def test_a_chapter_announces_what_it_takes(chapter: str) -> None:
    """Within a tenth of what the formula counts; with places to stop, and on a road."""
    if chapter in PENDING:
        assert faults(chapter), f"take {chapter} out of PENDING: nothing is wrong with it"
    else:
        assert faults(chapter) == [], "run `python -m tutor chapters build`, and set stops"


@each_chapter
def test_an_exercise_s_heading_announces_its_minutes(chapter: str) -> None:
    for cell in notebook(chapter)["cells"]:
        text = notebooks.source(cell) if cell["cell_type"] == "markdown" else ""
        for id, said in re.findall(r"(?m)^#+ .*?(\d\d\.\d+).*\((\d+) minutes?\)", text):
            entry = find(id)
            assert isinstance(entry, Exercise), id
            assert entry.minutes == int(said), f"{id} is declared with {entry.minutes} minutes"


def test_the_whole_takes_what_it_took() -> None:
    """About 26 hours, by somebody who did everything in chapters 0 to 8."""
    first = [chapter for chapter in CHAPTERS if roads.part(chapter) == "I"]
    whole = sum(minutes.of_chapter(notebook(chapter)).minutes for chapter in first)
    assert 24 * 60 < whole < 38 * 60, whole  # they have grown since, and 0b was added


def test_what_the_roads_are_made_of() -> None:
    names = {road for parts in roads.ROADS.values() for road in parts}
    on = {road: [c.number for c in roads.chapters() if road in c.roads] for road in names}
    done = set(CHAPTERS) - PENDING
    assert {"00", "00b"} & done <= set(on["two hours"])
    assert {"01", "02", "05", "06", "08"} & done <= set(on["weekend"])
    assert set(CHAPTERS) - {"00b"} <= set(on["everything"])
    assert set(on["two evenings"]) <= {"12"} and set(on["second weekend"]) <= {"09", "11", "12"}
    assert {"09", "11", "12"} & done <= set(on["second weekend"])
    assert {"13"} & done <= set(on["one evening"]) <= set(on["third weekend"])
    if not PENDING & set(CHAPTERS):
        two = sum(chapter.minutes for chapter in roads.chapters() if "two hours" in chapter.roads)
        assert two <= 120, "the road of two hours is longer"


# ---- the formula itself --------------------------------------------------------------------------


def cell(text: str, *tags: str, kind: str = "code") -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {"tags": list(tags)}, "source": text}


def told(words: int, *tags: str) -> dict[str, Any]:
    return cell("word " * words, *tags, kind="markdown")


CELLS: dict[str, tuple[dict[str, Any], float]] = {
    "text": (told(300), 2.0),
    "a drawing": (cell("two words <svg>" + "a b " * 500 + "</svg>", kind="markdown"), 2 / 150),
    "the roads": (told(300, "roads"), 0.0),
    "code": (cell("x = 1\n\ny = 2\nz = 3"), 3 / 5 + 1 / 4),
    "a prediction": (cell("guess = ..."), 1 / 5 + 1 / 4 + 2),
    "a question": (cell('answer = ...\ncheck("05.q1", answer)', "question-05.q1"), 2.0),
    "a check": (cell('check("05.1", by_hand)', "check-05.1"), 0.0),
    "an exercise": (cell("by_hand = ...", "exercise-05.1"), 1 / 5 + 1 / 4 + find("05.1").minutes),
    "a challenge": (cell("def next_up(x): ...", "exercise-01.s1"), 1 / 5 + 1 / 4),
    "raw text": (cell("no", kind="raw"), 0.0),
}


@pytest.mark.parametrize(("what", "expected"), CELLS.values(), ids=CELLS)
def test_what_a_cell_takes(what: dict[str, Any], expected: float) -> None:
    assert minutes.of_cell(what).minutes == pytest.approx(expected)


def chapter_of(*cells: dict[str, Any], announced: Any = None) -> notebooks.Notebook:
    return {"cells": list(cells), "metadata": {"tutor": {"minutes": announced}}}


@pytest.mark.parametrize(
    ("says", "expected"),
    [(100, 100), (91, 91), (109, 109), (111, 100), (89, 100), (None, 100), ("100", 100)],
)
def test_what_is_announced_stays_where_it_is_near(says: Any, expected: int) -> None:
    assert minutes.announced(chapter_of(told(150 * 100), announced=says)) == expected


def test_minutes_are_counted_to_five() -> None:
    assert minutes.announced(chapter_of(told(150 * 43))) == 45
    assert minutes.announced(chapter_of()) == 5


def test_places_to_stop() -> None:
    parts = [told(150 * 34), told(150, "stop"), told(150 * 30, "stop"), told(150 * 10)]
    assert minutes.stretches(chapter_of(*parts)) == [35, 30, 10]
    assert minutes.badly_cut(chapter_of(*parts)) == []
    assert minutes.badly_cut(chapter_of(told(150 * 44))) == []
    (fault,) = minutes.badly_cut(chapter_of(told(150 * 50)))
    assert fault == "50 minutes at the end without a stop, more than 45"
    late, early = chapter_of(told(150 * 50, "stop")), chapter_of(told(150 * 10, "stop"))
    assert minutes.badly_cut(late) == ["50 minutes before stop 1, which should be 25 to 45"]
    assert minutes.badly_cut(early) == ["10 minutes before stop 1, which should be 25 to 45"]


# ---- roads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "label"), [("00", "0"), ("00b", "0b"), ("04", "4"), ("04b", "4b"), ("10", "10")]
)
def test_labels(number: str, label: str) -> None:
    assert roads.label(number) == label


def test_parts() -> None:
    chapters = ("00", "00b", "04b", "08", "09", "10", "12", "13")
    assert [roads.part(chapter) for chapter in chapters] == [*["I"] * 4, *["II"] * 3, "III"]


@pytest.mark.parametrize(
    ("count", "text"), [(5, "5 min"), (60, "1 h"), (65, "1 h 05"), (1560, "26 h")]
)
def test_times(count: int, text: str) -> None:
    assert roads.time(count) == text


def test_roads_sum_their_chapters(monkeypatch: pytest.MonkeyPatch) -> None:
    on = [
        ("00", 20, ("two hours", "weekend")),
        ("04b", 100, ("weekend",)),
        ("12", 240, ("two evenings", "everything")),
        ("13", 295, ("one evening", "everything")),
    ]
    found = [
        roads.Chapter(number, Path(number), "t", "g", minutes, tuple(names))
        for number, minutes, names in on
    ]
    monkeypatch.setattr(roads, "chapters", lambda: found)
    nothing = ("", "0 min")
    assert [row[3:] for row in roads.rows()] == [
        ("0", "20 min"), ("0, 4b", "2 h"), nothing, ("12", "4 h"), nothing, ("12", "4 h"),
        ("13", "4 h 55"), nothing, ("13", "4 h 55"),
    ]  # fmt: skip
    assert "| I | weekend | " in roads.markdown() and "| 0, 4b | 2 h |" in roads.markdown()


def test_building_fills_in_minutes_and_roads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a chapter lies on a road; the table sums what has just been counted."""
    cells = [told(150 * 20), told(3, "roads")]
    for number, on in (("00", ["two hours"]), ("01", [])):
        about = {"title": "t", "goal": "g", "minutes": 1, "roads": on}
        whole = {"cells": cells, "metadata": {"tutor": about}}
        (tmp_path / f"{number}_x.ipynb").write_text(json.dumps(whole))
    monkeypatch.setattr(notebooks, "folder", lambda: tmp_path)
    assert main(["chapters", "build"]) == 0
    first, second = (notebooks.read(tmp_path / f"{number}_x.ipynb") for number in ("00", "01"))
    assert first["metadata"]["tutor"]["minutes"] == 20
    assert second["metadata"]["tutor"]["minutes"] == 1
    table = notebooks.source(first["cells"][1])
    assert "| two hours | " in table and "| 0 | 20 min |" in table
    capsys.readouterr()
    assert main(["chapters", "build", "--check"]) == 0
    assert main(["chapters", "minutes"]) == 0
    out = capsys.readouterr().out
    assert "00: 20 minutes are counted, 20 announced" in out
    assert "    from stop to stop: 20" in out


def test_a_table_of_roads_is_no_claim() -> None:
    import prose_text

    assert list(prose_text.texts(chapter_of(cell("It takes 3 h", "roads", kind="markdown")))) == []


def test_the_longest_chapter_is_as_long_as_the_pages_say() -> None:
    root = Path(__file__).parents[2]
    assert f"({minutes.LONGEST} minutes)" in (root / "docs/chapters.md").read_text("utf-8")
    page = (root / "docs/add-a-chapter.md").read_text("utf-8")
    assert f"announces {minutes.LONGEST} minutes at most" in page
    longest = max(chapter.minutes for chapter in roads.chapters())
    assert longest <= minutes.LONGEST < longest + 30, "no chapter comes near the limit"
