"""docs/add-a-kernel.md, word for word: its lines go into a copy of the tree, where one level of the
backend is then built; the suite's rows for the new op and its kernel must pass there.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from backend_names import LEVELS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "add-a-kernel.md"
PLACES = 5  # files that an elementwise op with its kernel may take

# "In `file`, above `text`:", and the block that goes there, above the line that begins with it.
BLOCK = re.compile(
    r"^In `([^`]+)`, above `([^`]+)`:\n\n```\{code-block\} \w+\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

# What must hold of the library with the new op and kernel in it. (-k chooses among them.)
TESTS = (
    "ops testing/test_conformance.py backends/python_ref/test_python_ref.py"
    " backends/test_signatures_same_bits.py"
    " functions/test_functions.py methods/test_methods.py exhaustive programs/source/test_source.py"
    " oracle/test_oracle.py test_imports.py test_names.py test_cpp_shape.py docs/test_words.py"
    " docs/test_reference.py docs/test_op_index.py docs/test_docs.py"
)
CHOICE = (
    "fdim or test_every_kernel or has_every_row or test_every_method or test_every_elementwise"
    " or nothing_else or python_ref_has or every_file or counts or every_public_name or tensor.md"
    " or test_every_differentiable or elementwise_kernel_has_an_expression or Fdim"
)


class Step(NamedTuple):
    file: str
    above: str
    lines: str


def steps(page: str) -> list[Step]:
    return [Step(*found) for found in BLOCK.findall(page)]


def taken(step: Step, text: str) -> str:
    """The file's text with the step's lines in it."""
    lines = text.splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if line.strip().startswith(step.above)]
    assert len(found) == 1, f"{step.file} has {len(found)} lines that begin with {step.above}"
    return "".join([*lines[: found[0]], step.lines, *lines[found[0] :]])


def test_five_places_are_named_in_order() -> None:
    found = steps(PAGE.read_text(encoding="utf-8"))
    files = list(dict.fromkeys(step.file for step in found))
    assert 4 <= len(files) <= PLACES
    for step in found:
        taken(step, (ROOT / step.file).read_text(encoding="utf-8"))
    headings = re.findall(r"^## (\d)\.", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [str(i + 1) for i in range(len(files))]


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Any]:
    """A copy of the tree with an interpreter of its own: that of the planted bugs."""
    if not LEVELS:
        pytest.skip("the extension was not built")
    pytest.importorskip("pybind11")
    for package in ("pythran", "cmake"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"could not import {package!r}: it takes part in the build")
    sys.path.append(str(ROOT / "tests" / "mutants"))
    try:
        yield importlib.import_module("plant").Field(ROOT, tmp_path)
    finally:
        sys.path.pop()


@pytest.mark.sweep
@pytest.mark.by_turns("additions")
def test_the_page_adds_an_op_and_its_kernel(field: Any) -> None:
    for step in steps(PAGE.read_text(encoding="utf-8")):
        path = field.tree / step.file
        path.write_text(taken(step, path.read_text(encoding="utf-8")), encoding="utf-8")
    field.extend(native=True)
    assert field.failing(TESTS, CHOICE) is None
    said = field.run(
        field.python, "-c",
        "import tutor; from tutor import Tensor; x = Tensor([3.0, 5.0], requires_grad=True)\n"
        "z = tutor.fdim(x, 4.0); z.sum().backward(); print(z.tolist(), x.grad.tolist())\n"
        "print(tutor.registry.current())",
    )  # fmt: skip
    assert said.stdout.splitlines() == ["[0.0, 1.0] [0.0, 1.0]", "simd_cpp"]
