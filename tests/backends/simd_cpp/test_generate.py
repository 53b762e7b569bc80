"""What whoever builds tutor is told where signatures.py and the C++ sources do not fit together.

And an extension is known by the sources it was built for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
NATIVE = Path("tutor/backends/simd_cpp")
SIGNATURES = Path("tutor/backends/signatures.py")
ARITHMETIC = NATIVE / "kernels/arithmetic.cpp"
ADD = '    Signature("add", "TTT", ALL, '


class Tree(NamedTuple):
    """A copy of what generate.py reads."""

    root: Path

    def change(self, file: Path, was: str, then: str) -> None:
        text = (self.root / file).read_text(encoding="utf-8")
        assert text.count(was) == 1, f"{was} stands {text.count(was)} times in {file}"
        (self.root / file).write_text(text.replace(was, then), encoding="utf-8")

    def generate(self) -> subprocess.CompletedProcess[str]:
        """As CMakeLists.txt calls it."""
        native, rows = self.root / NATIVE, self.root / "rows"
        rows.mkdir(exist_ok=True)
        sources = sorted(f"kernels/{path.name}" for path in (native / "kernels").glob("*.cpp"))
        return subprocess.run(
            [sys.executable, "-I", "-B", "generate.py", str(rows), *sources],
            cwd=native, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def numbers(self) -> list[str]:
        assert not (done := self.generate()).returncode, done.stderr
        return re.findall(r"= (\d+)u;", (self.root / "rows/sources.hpp").read_text())


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    package = shutil.ignore_patterns("*.so", "__pycache__", "*.json", "*.csv")
    shutil.copytree(ROOT / "tutor", tmp_path / "tutor", ignore=package)
    return Tree(tmp_path)


# file, what stands there, what takes its place; then what is asked, found and to do.
PROBLEMS = {
    "a kernel without a row": (
        SIGNATURES, ADD, '    Signature("twice", "TT", ALL, "exact", "z = 2 x"),\n' + ADD,
        "the kernel twice, a line of", "no file under tutor/backends/simd_cpp/kernels",
        "add KERNEL(twice, ...) to the table of one, as docs/add-a-kernel.md shows",
    ),
    "a row without a kernel": (
        ARITHMETIC, "      KERNEL(add,", "      KERNEL(twice, run<Add, T>),\n      KERNEL(add,",
        "the kernel twice, a row of kernels/arithmetic.cpp", "signatures.py has no line for it",
        "add that line, or take the row away",
    ),
    "two rows of one kernel": (
        ARITHMETIC, "      KERNEL(add,", "      KERNEL(exp, run<Add, T>),\n      KERNEL(add,",
        "one row for the kernel exp", "kernels/arithmetic.cpp and kernels/exponential.cpp",
        "take one of them away",
    ),
    "a form that there is not": (
        SIGNATURES, 'form="pad",', 'form="spiral",',
        "the form 'spiral'", "the forms of kernel.hpp are elementwise, update, scan",
        "use one of these, or add the form to enum class Form",
    ),
    "a dtype that there is not": (
        SIGNATURES, ADD, '    Signature("add", "TTT", (*ALL, "float8"), ',
        "the kernel add for 'float8'", "the dtypes of tutor/dtype.py are bool,",
        "name these in its line of signatures.py",
    ),
    "a letter that stands for no dtype": (
        SIGNATURES, ADD, '    Signature("add", "TXT", ALL, ',
        "the kernel add with operands of types 'TXT'", "no dtype is spelled 'X'",
        "use these, as the head of tutor/backends/signatures.py",
    ),
}  # fmt: skip
# A dtype more than a function has is said by the compiler, which names the file and the row.


@pytest.mark.parametrize("problem", PROBLEMS)
def test_what_does_not_fit_ends_the_build_in_three_parts(problem: str, tree: Tree) -> None:
    file, was, then, *parts = PROBLEMS[problem]
    tree.change(file, was, then)
    done = tree.generate()
    assert done.returncode == 1 and "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["asked", "found", "to do"]
    for line, part in zip(lines, parts, strict=True):
        assert part in line


def test_what_fits_is_generated_and_left_alone_afterwards(tree: Tree) -> None:
    assert not (done := tree.generate()).returncode, done.stderr
    files = sorted((tree.root / "rows").iterdir())
    assert len(files) > 20
    before = [path.stat().st_mtime_ns for path in files]
    assert not tree.generate().returncode
    assert [path.stat().st_mtime_ns for path in files] == before


def test_sources_have_numbers_that_change_with_what_the_border_knows(tree: Tree) -> None:
    stub, signatures = tree.numbers()
    tree.change(SIGNATURES, '"z = x + y; integers wrap, bools or"', '"z = y + x"')
    assert tree.numbers() == [stub, signatures]  # which C++ does not know
    tree.change(SIGNATURES, ADD, '    Signature("add", "TTT", NUMBERS, ')
    other_stub, other = tree.numbers()
    assert other_stub == stub and other != signatures
    tree.change(NATIVE / "_simd.pyi", "def levels()", "def levels_there_are()")
    assert tree.numbers()[0] != stub and tree.numbers()[1] == other
