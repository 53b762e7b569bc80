"""The hunt of chapter 18: how places are written, and that PyTorch has its places."""

from __future__ import annotations

import ast
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from course.exercise import solutions
from course.giants import GIANTS, place, verdict

NUMBERS = {"micrograd": "18.3", "tinygrad": "18.4", "PyTorch": "18.5", "JAX": "18.6"}
NAMES = {  # of PyTorch, in the lines that are asked for
    "Buffer": "StorageImpl", "Tensor": "TensorImpl", "Op": "Node", "Registry": "Dispatcher",
    "Engine": "Engine", "fit": "reduce_grad",
}  # fmt: skip


def answers(name: str) -> dict[str, str | None]:
    """Our answers, from the solution."""
    text = (solutions() / f"{NUMBERS[name]}.py").read_text("utf-8")
    found: dict[str, str | None] = ast.literal_eval(text.partition(" = ")[2])
    return found


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("a/b.py:12", ("a/b.py", 12)),
        (" ./a/b.py:12 ", ("a/b.py", 12)),
        ("a\\b.py:12", ("a/b.py", 12)),
        (("a/b.py", 12), ("a/b.py", 12)),
        (["a/b.py", 12], ("a/b.py", 12)),
        ("https://github.com/o/n/blob/v1.0/a/b.py#L12", ("a/b.py", 12)),
        ("https://github.com/o/n/blob/v1.0/a/b.py#L12-L14", ("a/b.py", 12)),
        ("a/b.py", None), ("12", None), (12, None), (None, None), (("a/b.py", "12"), None),
        (("a/b.py", True), None), ("a/b.py:", None), ("a/b.py:x", None), ((), None),
    ],
)  # fmt: skip
def test_how_a_place_may_be_written(answer: object, expected: object) -> None:
    assert place(answer) == expected


@pytest.mark.parametrize("name", GIANTS)
def test_a_verdict_says_what_is_wrong(name: str) -> None:
    giant = GIANTS[name]
    assert set(giant.right) == set(giant.files)
    for item, answer in answers(name).items():
        assert verdict(giant, item, answer) == ""
        if answer is None:
            assert "needs none" in verdict(giant, item, "a/b.py:1")
            continue
        path, _, line = answer.partition(":")
        assert "in another line" in verdict(giant, item, f"{path}:{int(line) + 1000}")
        assert "it is not in line" in verdict(giant, item, f"x/{answer}")
        assert "is no place" in verdict(giant, item, path)


def test_no_answer_stands_in_the_module() -> None:
    text = (Path(__file__).parents[2] / "course/giants.py").read_text("utf-8")
    for name in GIANTS:
        for answer in filter(None, answers(name).values()):
            assert answer not in text and answer.partition(":")[0] not in text


def test_pytorch_s_lines_are_there() -> None:
    """Looked at where that version is installed: the wheel has the headers."""
    try:
        found = version("torch").partition("+")[0]
    except PackageNotFoundError:
        pytest.skip("PyTorch is not installed")
    if f"torch=={found}" not in GIANTS["PyTorch"].get:
        pytest.skip(f"PyTorch {found} is installed, which is another version")
    torch = pytest.importorskip("torch")
    assert torch.version.git_version == GIANTS["PyTorch"].version
    include = Path(torch.__file__).parent / "include"
    for item, answer in answers("PyTorch").items():
        path, _, line = (answer or "").partition(":")
        file = include / path.removeprefix("aten/src/")
        text = file.read_text("utf-8").splitlines()[int(line) - 1]
        assert re.search(rf"\b{NAMES[item]}\b", text), f"{item}: {answer}"
