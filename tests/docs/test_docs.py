"""What the README, the site and the docstrings show is true: it is run, on every backend."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from run_page import blocks

import tutor
from tutor.backends import registry
from tutor.backends.matrix_signatures import MATRICES
from tutor.backends.signatures import SIGNATURES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUNNABLE = [page for page in PAGES if blocks(page.read_text(encoding="utf-8"))]
BACKENDS = [b for b in ("python_ref", "simd_cpp") if b in registry.backends()]


def name(page):
    return page.relative_to(ROOT).as_posix()


def test_the_pages_that_must_show_code_do():
    assert {"README.md", "docs/add-an-op.md", "docs/add-a-kernel.md"} <= set(map(name, RUNNABLE))


@pytest.mark.crossed("backend")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("page", RUNNABLE, ids=name)
def test_page(page, backend, tmp_path):
    """Each page in a process of its own: it must not need what another page has imported, nor
    leave the ops and backends that it defines to other tests."""
    result = subprocess.run(
        [sys.executable, "-W", "error", str(Path(__file__).with_name("run_page.py")), str(page)],
        env={**os.environ, "TUTOR_BACKEND": backend, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_a_page_s_false_claim_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n<!-- no-run -->\n```python\n1 / 0\n```\n"
                    "```python\nassert x == 2\n```\n")  # fmt: skip
    runner = Path(__file__).with_name("run_page.py")
    result = subprocess.run(
        [sys.executable, str(runner), str(page)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert f'"{page}", line 10' in result.stderr
    assert "AssertionError" in result.stderr


def docstring_examples():
    """Every docstring in tutor that has an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for info in pkgutil.walk_packages(tutor.__path__, "tutor."):
        if info.name.endswith("__main__") or info.name.endswith("._simd"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if error.name not in ("einops", "pyopencl"):  # those of extras
                raise
            continue
        yield from (test for test in finder.find(module) if test.examples)


EXAMPLES = list(docstring_examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda test: test.name)
def test_docstring(example):
    failures: list[str] = []
    doctest.DocTestRunner().run(example, out=failures.append)
    assert not failures, "".join(failures)


def test_the_boxes_have_examples():
    assert {"tutor.core.buffer", "tutor.core.tensor"} <= {test.name for test in EXAMPLES}


def test_readme_lists_every_environment_variable():
    sources = [*ROOT.glob("train_mnist.py"), *(ROOT / "course").rglob("*.py")]
    sources += [*(ROOT / "tutor").rglob("*.py"), *(ROOT / "tutor").rglob("*.cpp")]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    read = set(re.findall(r"[\"'](TUTOR_[A-Z_]+)[\"']", text))
    assert "TUTOR_BACKEND" in read
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(TUTOR_[A-Z_]+)`", readme, re.MULTILINE))
    assert read <= listed, f"not in the README's table: {sorted(read - listed)}"
    assert listed <= read, f"in the README's table, but nothing reads it: {sorted(listed - read)}"


def test_the_table_of_agreement_is_of_these_kernels():
    """docs/conformance.md is written by `make conformance`; a new kernel asks for it anew."""
    page = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.endswith("agrees |")]
    kernels = [*SIGNATURES.values(), *MATRICES.values()]
    assert [row[0].removeprefix("| ") for row in rows] == [s.name for s in kernels]
    assert [row[1] for row in rows] == [s.agree for s in kernels]
    assert "WRONG" not in page


def test_each_row_of_what_cannot_be_recorded_is_tried():
    page = (ROOT / "docs" / "jit.md").read_text(encoding="utf-8")
    section = page.partition("\n## What cannot be recorded\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("| `")]
    cells = [re.findall(r"`([^`]+)`", line.split(" | ")[0]) for line in table]
    tried = re.findall(r'^    "([^"]+)": \(', section, re.MULTILINE)
    assert len(table) > 10
    assert [row for rows in cells for row in rows] == tried
