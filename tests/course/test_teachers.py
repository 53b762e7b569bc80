"""What docs/teachers.md says of the report, of grading and of a workflow is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from course import minutes, notebooks, report, roads
from course.exercise import Exercise, find
from tutor.__main__ import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/teachers.md").read_text("utf-8")
(WORKFLOW,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_limits_that_it_states() -> None:
    assert f"{report.SECONDS:g} seconds (`--seconds`)" in PAGE
    assert f"{report.MEMORY >> 30} GiB (`--memory`)" in PAGE
    kinds = set(re.findall(r"`(\w+)`", PAGE.partition("with the kind of verdict:")[2][:300]))
    assert kinds >= {*report.PASSED, *set(report.RANK) - {""}, "wrong"}


def test_the_table_it_shows_has_the_columns_of_the_report() -> None:
    (head,) = re.findall(r"(?m)^learner +(.*)$", PAGE)
    assert head.split() == [*report.chapters(), "passed", "of"]


def test_how_many_hours_a_week_it_promises() -> None:
    promises = {"I": (12, "two to three hours"), "II": (8, "Two to three hours"),
                "III": (9, "two to three hours")}  # fmt: skip
    for part, (weeks, promise) in promises.items():
        paths = [path for number, path in notebooks.chapters().items()
                 if number != "00b" and roads.part(number) == part]  # fmt: skip
        whole = sum(minutes.of_chapter(notebooks.read(path)).minutes for path in paths)
        assert 2 <= whole / 60 / weeks <= 3 and f"{promise} a week" in PAGE, part


def test_every_week_has_its_chapter() -> None:
    weeks = re.findall(r"(?m)^\| (\d+) \| (.*?) \|", PAGE)
    assert [int(week) for week, _ in weeks] == list(range(1, 31))
    named = {int(number) for _, text in weeks for number in re.findall(r"chapter (\d+)", text)}
    assert named == {*range(17), 18}


def test_the_workflow_s_ids_belong_together() -> None:
    ids = re.findall(r"- id: (\S+)", WORKFLOW)
    assert len(ids) >= 2 and re.findall(r"runners: (\S+)", WORKFLOW) == [",".join(ids)]
    results = re.findall(r'(\S+)_RESULTS: "\$\{\{ steps\.(\S+)\.outputs\.result \}\}"', WORKFLOW)
    assert results == [(id.upper(), id) for id in ids]
    yaml = pytest.importorskip("yaml", reason="not installed")
    steps = yaml.safe_load(WORKFLOW)["jobs"]["run-autograding-tests"]["steps"]
    assert [step["id"] for step in steps if "id" in step] == ids


def test_the_workflow_s_commands_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """They end with 1 on an untouched notebook, and with 0 where the answers stand in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    commands = re.findall(r"command: python -m tutor (.*)", WORKFLOW)
    assert len(commands) >= 2
    notebook = notebooks.read(notebooks.chapters()["05"])
    for expected in (1, 0):
        Path("05_engine.ipynb").write_text(json.dumps(notebook))
        for command in commands:
            assert main(command.split()) == expected, capfd.readouterr()
        for cell in notebooks.code_cells(notebook):
            part, id = notebooks.about(cell) or ("", "")
            entry = find(id) if part == "exercise" else None
            if isinstance(entry, Exercise):
                cell["source"] = entry.solution
