"""A NameError because a cell above was not run: it is no try, and says which cell it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import two_chapters as small

from course import check, unrun


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    with small.used():
        yield tmp_path


def answer(text: str, name: str) -> Any:
    names: dict[str, Any] = {"__name__": "__main__"}
    small.cell(text, names)
    return names[name]


MISSING = {
    "an import of the first cell": ("96.1", "strides_for", "math.prod(x)", "math", 1, ""),
    "a given cell": ("96.3", "total", "row([1.0])", "row", 2, ""),
    "an exercise above": ("96.3", "total", "strides_for(())", "strides_for", 3,
                          " (of exercise 96.1)"),
    "in a function": ("96.3", "total", "(lambda: row([1.0]))()", "row", 2, ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("id", "name", "text", "wanted", "number", "of"), MISSING.values(), ids=MISSING
)
def test_a_cell_that_was_not_run_is_named(
    id: str, name: str, text: str, wanted: str, number: int, of: str, own: Path
) -> None:
    verdict = check(id, answer(f"def {name}(x):\n    return {text}", name))
    assert verdict.kind == "unrun" and not verdict.passed
    assert verdict.lines[0] == (
        f"`{wanted}` is not there yet: it is made by the {unrun.nth(number)} code cell of the"
        f" chapter{of}, which was not run"
    )
    assert "; it begins: " in verdict.lines[1]
    assert not (own / "progress.txt").exists(), "it is no try"


@pytest.mark.parametrize(
    "text",
    [
        "nowhere",  # made by no cell
        "count",  # made by a cell below
        "total_",  # a typing mistake
        "[x for x in (1,) if y]",
    ],
)
def test_a_wrong_name_is_a_try(text: str, own: Path) -> None:
    verdict = check("96.1", answer(f"def strides_for(x):\n    return {text}", "strides_for"))
    assert verdict.kind == "raised"
    assert "tries=1" in (own / "progress.txt").read_text()


def test_a_variable_that_is_used_before_it_is_set_is_a_try() -> None:
    text = "def total(x):\n    row = row([1.0])\n    return row"
    assert check("96.3", answer(text, "total")).kind == "raised"


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")]
)
def test_numbers_in_words(number: int, text: str) -> None:
    assert unrun.nth(number) == text


# ---- where a cell itself raises ------------------------------------------------------------------


def test_in_a_kernel_a_cell_that_raises_says_so_too(own: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="not installed")
    nbformat = pytest.importorskip("nbformat", reason="not installed")
    root, here = Path(__file__).parents[2], Path(__file__).parent
    cells = [
        f"import sys\nsys.path[:0] = [{str(root)!r}, {str(here)!r}]\nimport two_chapters as small\n"
        "used = small.used()\nused.__enter__()\nfrom course import begin, check\nbegin('96')",
        'check("96.3", total)',
        "nowhere",
        "def f(): return LETTERS\nf()",
        "print('it goes on')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(
        notebook, timeout=60, kernel_name="python3", allow_errors=True,
        resources={"metadata": {"path": str(own)}},
    ).execute()  # fmt: skip
    out = [
        "".join(o.get("text", "") + "".join(o.get("traceback", "")) for o in cell.outputs)
        for cell in notebook.cells
    ]
    assert "`total` is not there yet: it is made by the 10th code cell" in out[1]
    assert "(of exercise 96.3)" in out[1] and "Traceback" not in out[1]
    assert "is not defined" in out[2] and "not there yet" not in out[2]
    assert "`LETTERS` is not there yet" in out[3] and "Traceback" in out[3]
    assert out[4] == "it goes on\n"


def test_outside_of_a_kernel_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    shell = SimpleNamespace(set_custom_exc=lambda *args: seen.append(args))
    module = SimpleNamespace(get_ipython=lambda: None)
    monkeypatch.setitem(unrun.sys.modules, "IPython", module)  # type: ignore[arg-type]
    unrun.watch("96")
    assert seen == []
    module.get_ipython = lambda: shell
    unrun.watch("96")
    assert seen[0][0] == (NameError,)
