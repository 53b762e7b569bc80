"""`without=`: an answer that calls what it is to write, in whatever way, is recognised."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from course import check
from course import exercise as exercises
from course.exercise import Judge, exercise

LIBRARY = """
def select(t, key):
    return t[key]


def flatten(x):
    return [select(x, i) for i in range(len(x))]
"""

FORBIDDEN = {
    "it calls it": "def pick(t, key): return select(t, key)",
    "as an attribute": "import lib\ndef pick(t, key): return lib.select(t, key)",
    "a function inside": "def pick(t, key):\n def f(): return select(t, key)\n return f()",
    "a comprehension": "def pick(t, key): return [select(t, k) for k in [key]][0]",
    "a lambda": "pick = lambda t, key: select(t, key)",
    "by another name": "other = select\ndef pick(t, key): return other(t, key)",
    "a helper of the same cell": "def f(*a): return select(*a)\ndef pick(t, key): return f(t, key)",
    "a helper of the helper": "def g(*a): return select(*a)\ndef f(*a): return g(*a)\n"
    "def pick(t, key): return f(t, key)",
    "the library": "def pick(t, key):\n import tutor\n return t[key]",
    "out of the library": "def pick(t, key):\n from tutor.ops import Sum\n return t[key]",
    "a module by another name": "import tutor.nn as n\ndef pick(t, key): return n and t[key]",
    "a class": "class pick:\n def __new__(cls, t, key): return select(t, key)",
    "a static method": "class pick:\n @staticmethod\n def f(*a): return select(*a)\n"
    " def __new__(cls, t, key): return cls.f(t, key)",
    "a property": "class pick:\n @property\n def f(s): return select\n"
    " def __new__(cls, t, key): return cls.f.fget(0)(t, key)",
}
ALLOWED = {
    "it writes it": "def pick(t, key): return t[key]",
    "its own name": "def pick(t, key, n=1): return pick(t, key, 0) if n else t[key]",
    "a word in a text": "def pick(t, key):\n 'No select, no tutor.'\n return t[key]",
    "a variable of that name": "def pick(t, key):\n select = t[key]\n return select",
    "what calls it for its own purposes": "def pick(t, key): return flatten(t)[key]",
    "a cell in which it is used elsewhere": "def other(): return select\n"
    "def pick(t, key): return t[key]",
}


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    exercises.everything()
    monkeypatch.setattr(exercises, "CATALOGUE", dict(exercises.CATALOGUE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    names = {"answer": "pick", "minutes": 1, "hints": ("", "", ""), "solution": ""}

    @exercise("98.1", "Pick", **names, without=("select", "tutor"))  # type: ignore[arg-type]
    def check_98_1(judge: Judge, pick: Any) -> None:
        """pick(t, key) is t[key]"""
        judge.equal(judge.call(pick, [1, 2], 1), 2)

    yield
    linecache.clearcache()


def pick(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "answers"}
    exec(compile(LIBRARY, "<given>", "exec"), names)
    exec(compile(text.replace("import lib\n", "import types\nlib = types.SimpleNamespace("
                              "select=select)\n"), "<cell>", "exec"), names)  # fmt: skip
    return names["pick"]


@pytest.mark.parametrize("text", FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_is_forbidden_is_recognised(text: str) -> None:
    verdict = check("98.1", pick(text))
    assert verdict.kind == "wrong", verdict.text
    name = "tutor" if "tutor" in text else "select"
    assert f"`{name}`" in verdict.text and "to do:" in verdict.text


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED)
def test_what_is_allowed_passes(text: str) -> None:
    assert check("98.1", pick(text)).kind == "exact"


def test_the_function_that_uses_it_is_named() -> None:
    text = check("98.1", pick(FORBIDDEN["a helper of the same cell"])).text
    assert "found: it calls `select`, which is what this exercise is to write" in text
    assert "where: in `f`" in text
