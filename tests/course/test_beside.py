"""After a pass, the learner's answer stands beside ours."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import two_chapters as small

from course import beside, check, solution
from course.exercise import Exercise, find

MINE = """
def strides_for(shape):
    strides, step = [], 1
    for size in shape[::-1]:  # from the back: 3 < 4
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
"""
OURS = 'def strides_for(shape):\n    """The strides of numbers that lie row by row."""\n'
WHY = "Ours goes from the back, since the last axis steps by 1."


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    monkeypatch.setattr(beside, "PASSED", {})
    with small.used():
        yield tmp_path


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What a kernel would have been given to show."""
    found: list[dict[str, str]] = []
    package, display = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=1)  # type: ignore[attr-defined]
    display.display = lambda data, raw: found.append(data)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return found


def passes(text: str = MINE) -> str:
    names = {"__name__": "__main__"}
    small.cell(text, names)
    return check("96.1", names["strides_for"]).text


def test_as_text_the_solution_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert 'solution("96.1") shows ours beside it' in passes()
    capsys.readouterr()
    solution("96.1")
    out = capsys.readouterr().out
    assert out.startswith(f"# yours\n{MINE.strip()}\n\n\n# ours\n{OURS}") and out.endswith(
        f"\n{WHY}\n"
    )


def test_in_jupyter_they_stand_folded_under_the_verdict(shown: list[dict[str, str]]) -> None:
    assert "shows ours" not in passes()
    (data,) = shown
    markup = data["text/html"]
    assert markup.startswith("<details><summary>yours beside ours</summary>") and WHY in markup
    one, other = re.findall(r"<pre[^>]*>(.*?)</pre>", markup, re.S)
    plain = [unescape(re.sub(r"</?span[^>]*>", "", column)) for column in (one, other)]
    assert plain[0].strip() == MINE.strip() and plain[1].startswith(OURS)
    marked = [re.findall(r"<span[^>]*>(.*?)</span>", column) for column in (one, other)]
    assert [unescape(line).strip() for line in marked[0]] == [
        "for size in shape[::-1]:  # from the back: 3 < 4"
    ]
    assert [unescape(line).strip()[:3] for line in marked[1]] == ['"""', "for"]


def test_in_jupyter_the_solution_is_not_folded(shown: list[dict[str, str]]) -> None:
    passes()
    solution("96.1")
    assert "<details>" not in shown[1]["text/html"] and "ours" in shown[1]["text/html"]


def test_nothing_is_shown_before_a_pass(
    shown: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"__name__": "__main__"}
    small.cell(MINE.replace("1\n", "2\n", 1), names)
    check("96.1", names["strides_for"])
    solution("96.1")
    assert shown == [] and "reversed(strides)" not in capsys.readouterr().out


def test_in_another_session_theirs_is_what_stands_in_the_library(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passes()
    monkeypatch.setattr(beside, "PASSED", {})
    capsys.readouterr()
    solution("96.1")
    assert "# from the back: 3 < 4" in capsys.readouterr().out


def test_theirs_is_what_passed_last(capsys: pytest.CaptureFixture[str]) -> None:
    passes()
    passes(MINE.replace("from the back", "the second one"))
    capsys.readouterr()
    solution("96.1")
    assert "the second one" in capsys.readouterr().out


def test_without_an_answer_of_theirs_there_is_only_ours(capsys: pytest.CaptureFixture[str]) -> None:
    entry = find("96.3")
    assert isinstance(entry, Exercise)
    assert beside.as_html(entry, folded=True) == ""
    assert beside.as_text(entry) == f"{entry.solution}\n"
