"""`python -m tutor chapters update`: a chapter that has changed lies beside one's copy, marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from course import copies, notebooks
from tutor.__main__ import main


def code(text: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": text}


def markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


CELLS = [
    markdown("# 1. Bytes"),
    code("guess = ..."),
    markdown("A byte has eight bits."),
    code("def twice(x): ...", "exercise-01.1"),
    code("check('01.1', twice)", "check-01.1"),
    markdown("The end."),
]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of chapters that a test may change."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "source"
    folder.mkdir()
    monkeypatch.setattr(notebooks, "folder", lambda: folder)
    write(folder, CELLS)
    return folder


def write(folder: Path, cells: list[dict[str, Any]], name: str = "01_bytes.ipynb") -> None:
    about = {"title": "Bytes", "goal": "g", "id": name[:2], "minutes": 5, "builds": "b"}
    notebook = {"cells": cells, "metadata": {"tutor": about}}
    number = notebooks.NAME.fullmatch(name)[1]
    (folder / name).write_text(notebooks.text(notebooks.normalise(notebook, number)))


def read(path: Path) -> list[tuple[str, list[str]]]:
    return [(notebooks.source(c), notebooks.tags(c)) for c in notebooks.read(path)["cells"]]


MINE = Path("my-chapters")


def worked_in() -> bytes:
    """The learner fills in a guess and an answer, adds a cell, and runs all of it."""
    notebook = notebooks.read(MINE / "01_bytes.ipynb")
    notebook["cells"][1]["source"] = "guess = 8"
    notebook["cells"][3]["source"] = "def twice(x):\n    return 2 * x"
    notebook["cells"].append(code("my own notes"))
    (MINE / "01_bytes.ipynb").write_text(json.dumps(notebook))
    return (MINE / "01_bytes.ipynb").read_bytes()


def changed(*edits: tuple[int, dict[str, Any] | None]) -> list[dict[str, Any]]:
    """CELLS with other cells in some places, or none."""
    cells = {place: [cell] for place, cell in enumerate(CELLS)}
    for place, cell in edits:
        cells[place] = [cell] if cell else []
    return [cell for found in cells.values() for cell in found]


def test_nothing_has_changed(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["chapters", "start"]) == 0
    mine = worked_in()
    before = sorted(MINE.iterdir())
    capfd.readouterr()
    assert main(["chapters", "update"]) == 0
    assert capfd.readouterr().out.startswith(
        "nothing has changed since the chapters in my-chapters"
    )
    assert sorted(MINE.iterdir()) == before and (MINE / "01_bytes.ipynb").read_bytes() == mine


def test_what_is_new_is_marked_beside_the_copy(
    source: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    main(["chapters", "start"])
    mine = worked_in()
    cells = changed((2, markdown("A byte has 8 bits.")), (5, None))
    cells[4:4] = [markdown("More."), code("print(2)")]
    write(source, cells)
    capfd.readouterr()
    assert main(["chapters", "update"]) == 0
    out = capfd.readouterr().out
    assert "01_bytes.ipynb has changed (2 new, 1 changed, 1 removed cells)" in out
    assert (MINE / "01_bytes.ipynb").read_bytes() == mine
    assert read(MINE / "01_bytes.new.ipynb") == [
        ("# 1. Bytes", []),
        ("guess = ...", []),
        ("> **Changed**, since you made your copy: the next cell.", ["note"]),
        ("A byte has 8 bits.", ["changed"]),
        ("def twice(x): ...", ["exercise-01.1"]),
        ("> **New**, since you made your copy: the next 2 cells.", ["note"]),
        ("More.", ["new"]),
        ("print(2)", ["new"]),
        ("check('01.1', twice)", ["check-01.1"]),
        ("> **Removed**, since you made your copy: a cell that stood here.", ["note"]),
    ]
    capfd.readouterr()
    assert main(["chapters", "update"]) == 0  # once is enough
    assert capfd.readouterr().out.startswith("nothing has changed")


def test_jupyter_takes_what_lies_beside(source: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="not installed")
    main(["chapters", "start"])
    write(source, changed((0, code("x = 1", "keep")), (5, None)))
    main(["chapters", "update"])
    found = nbformat.read(MINE / "01_bytes.new.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(found)
    assert len({cell["id"] for cell in found["cells"]}) == len(found["cells"])


def test_a_second_change_replaces_what_nobody_has_touched(source: Path) -> None:
    main(["chapters", "start"])
    write(source, changed((2, markdown("two"))))
    main(["chapters", "update"])
    write(source, changed((2, markdown("three"))))
    assert main(["chapters", "update"]) == 0
    names = [path.name for path in sorted(MINE.glob("*.ipynb"))]
    assert names == ["01_bytes.ipynb", "01_bytes.new.ipynb"]
    assert ("three", ["changed"]) in read(MINE / "01_bytes.new.ipynb")


def test_what_lies_beside_is_theirs_once_they_work_in_it(source: Path) -> None:
    main(["chapters", "start"])
    write(source, changed((2, markdown("two"))))
    main(["chapters", "update"])
    (MINE / "01_bytes.new.ipynb").write_text("my work")
    write(source, changed((2, markdown("three"))))
    assert main(["chapters", "update"]) == 0
    assert (MINE / "01_bytes.new.ipynb").read_text() == "my work"
    assert ("three", ["changed"]) in read(MINE / "01_bytes.new2.ipynb")


def test_a_chapter_that_was_added_is_copied(source: Path) -> None:
    main(["chapters", "start"])
    write(source, CELLS, "04b_registry.ipynb")
    assert main(["chapters", "update"]) == 0
    assert read(MINE / "04b_registry.ipynb") == read(source / "04b_registry.ipynb")
    assert copies.record(MINE)["04b"]["file"] == "04b_registry.ipynb"


def test_a_chapter_that_has_a_new_name(source: Path) -> None:
    """It lies beside under that name, and is not taken for one that they never had."""
    main(["chapters", "start"])
    mine = worked_in()
    (source / "01_bytes.ipynb").unlink()
    write(source, changed((2, markdown("two"))), "01_memory.ipynb")
    assert main(["chapters", "update"]) == 0
    assert sorted(path.name for path in MINE.glob("*.ipynb")) == [
        "01_bytes.ipynb",
        "01_memory.new.ipynb",
    ]
    assert (MINE / "01_bytes.ipynb").read_bytes() == mine


def test_a_copy_of_which_no_version_is_known(
    source: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is compared with itself; what a learner fills in is no change."""
    main(["chapters", "start"])
    worked_in()
    (MINE / copies.RECORD).write_text("damaged")
    write(source, changed((5, markdown("The very end."))))
    capfd.readouterr()
    assert main(["chapters", "update"]) == 0
    assert "has changed (1 changed cells)" in capfd.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", '{"01": 3}', '{"01": {"file": 1}}', "\x00"])
def test_a_damaged_record_is_none(text: str, source: Path) -> None:
    main(["chapters", "start"])
    (MINE / copies.RECORD).write_text(text)
    assert copies.record(MINE) == {}
    assert main(["chapters", "update"]) == 0


def test_a_copy_that_is_no_notebook(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["chapters", "start"])
    (MINE / "01_bytes.ipynb").write_text("my poem")
    (MINE / copies.RECORD).unlink()
    write(source, changed((5, None)))
    assert main(["chapters", "update"]) == 0
    assert "01_bytes.ipynb: cannot be compared, for it is no notebook" in capfd.readouterr().out
    assert (MINE / "01_bytes.ipynb").read_text() == "my poem"


def test_metadata_alone_is_no_change(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["chapters", "start"])
    notebook = notebooks.read(source / "01_bytes.ipynb")
    notebook["metadata"]["tutor"]["minutes"] = 60
    (source / "01_bytes.ipynb").write_text(notebooks.text(notebook))
    capfd.readouterr()
    assert main(["chapters", "update"]) == 0
    assert capfd.readouterr().out.startswith("nothing has changed")


def test_without_a_copy(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["chapters", "update"]) == 2
    assert "python -m tutor chapters start my-chapters" in capfd.readouterr().err
    assert main(["chapters", "update", str(source)]) == 2
    assert "that folder has the originals" in capfd.readouterr().err
    Path("file").write_text("mine")
    assert main(["chapters", "update", "file"]) == 2
