"""show: the real source, in text and in Jupyter."""

from __future__ import annotations

import inspect
import re
import sys
from html import unescape
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import tutor
from course import show, showing
from course.verdict import Verdict
from tutor import Tensor
from tutor.core.engine import Engine
from tutor.errors import DomainError
from tutor.ops import Add, Mul
from tutor.viz.svg import PALETTE

ROOT = Path(tutor.__file__).parents[1]


def test_show_prints_file_line_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    show(Mul)
    caption, _, text = capsys.readouterr().out.partition("\n")
    assert text == inspect.getsource(Mul)
    path, line = caption.split(":")
    assert (ROOT / path).read_text().splitlines()[int(line) - 1] == "class Mul(Binary):"


def test_names_and_objects_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    show(Engine.order)
    first = capsys.readouterr().out
    show("tutor.core.engine.Engine.order")
    assert capsys.readouterr().out == first
    assert first.splitlines()[1].startswith("def order(self")  # not indented


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ("tutor.errors", '"""Errors are lessons'),
        ("tutor.Tensor.T", "def T(self) -> Self"),
        (Tensor.T, "def T(self) -> Self"),
        (tutor.no_grad, "no_grad"),
        ("tutor.use_backend", "use_backend"),
    ],
)
def test_what_can_be_shown(thing: Any, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(thing)
    assert words in capsys.readouterr().out


def test_several_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    show(Add, Mul)
    out = capsys.readouterr().out
    assert out.index("class Add") < out.index("class Mul")


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ("tutor.core.engine.Engine.no", "has no no"),
        ("nothing.of.this", "no module 'nothing'"),
        ("", "no module"),
        ("..", "no module"),
        (len, "written in C"),
        (int, "written in C"),
        ("math.sqrt", "written in C"),
        (3, "show(int)"),
        (Tensor([1.0]), "show(Tensor)"),
        (None, "show(NoneType)"),
    ],
)
def test_what_has_no_source(thing: Any, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DomainError) as error:
        show(Mul, thing)
    assert words in str(error.value) and error.value.do
    assert capsys.readouterr().out == ""  # nothing by halves


def test_code_that_is_in_no_file() -> None:
    names: dict[str, Any] = {}
    exec("def f(): pass", names)
    with pytest.raises(DomainError, match="not at hand"):
        show(names["f"])


# ---- in Jupyter ----------------------------------------------------------------------------------


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


def test_in_jupyter_it_is_coloured(
    shown: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    show("tutor.errors")
    (data,) = shown
    assert capsys.readouterr().out == ""
    assert "tutor/errors.py:1" in data["text/html"] and "<pre" in data["text/html"]
    code = data["text/html"].partition("<pre")[2].partition(">")[2].removesuffix("</pre></div>")
    assert unescape(re.sub(r"</?span[^>]*>", "", code)) == (ROOT / "tutor/errors.py").read_text()
    assert re.search(r'<span class="k">class</span> TutorError', code)
    assert re.search(r'<span class="c1"># noqa', code)


def luminance(colour: str) -> float:
    """The relative luminance of "#rrggbb", from 0 to 1 (WCAG 2.2)."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize(
    ("theme", "grounds"), [(0, ("#ffffff", "#f3f4f5")), (1, ("#111111", "#29313d"))]
)
def test_its_colours_can_be_read(theme: int, grounds: tuple[str, ...]) -> None:
    for _, name in showing.CLASSES.values():
        colour = PALETTE[name][theme]
        assert f"color:{colour}" in showing.RULES
        for ground in grounds:
            low, high = sorted((luminance(colour), luminance(ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground)


def test_a_verdict_shows_itself_once(
    shown: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = Verdict("05.3", "wrong", "Visit", ["no"], picture="<svg></svg>").show()
    verdict._ipython_display_()  # as the last value of the cell in which check was called
    assert capsys.readouterr().out == "05.3 wrong: Visit\nno\n" and len(shown) == 1
    assert shown[0]["text/html"] == "<svg></svg>"
    verdict._ipython_display_()  # and in a cell of its own
    assert capsys.readouterr().out == "05.3 wrong: Visit\nno\n" and len(shown) == 2


def test_pictures_of_all_kinds(shown: list[dict[str, str]]) -> None:
    class Drawn:
        def _repr_svg_(self) -> str:
            return "<svg>1</svg>"

    for picture in (Drawn(), "<svg>2</svg>", "a < b"):
        Verdict("05.3", "wrong", picture=picture).show()
    texts = [data["text/html"] for data in shown]
    assert texts == ["<svg>1</svg>", "<svg>2</svg>", "<pre>a &lt; b</pre>"]
