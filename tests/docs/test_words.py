"""What text says about the code is true: the files it names are there, its counts are right."""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from course import notebooks
from course.exercise import Exercise, everything
from tutor import DTYPES
from tutor.backends import simd_cpp
from tutor.backends.signatures import SIGNATURES

ROOT = Path(__file__).parents[2]
FOLDERS = ("tutor", "course", "tests", "docs", "benchmarks", "chapters", "examples")
GENERATED = ("docs/_build", "docs/api", "docs/chapters")  # by `make docs`
LEARNERS = ("my_tutor/",)  # which each learner's own answers make
KINDS = ("py", "pyi", "cpp", "hpp", "c", "md", "ipynb", "txt", "toml", "rst", "css")

# Names in text that are no files of this tree: a reader's own, and files that are made on the way.
OTHERS = {
    "train.py", "logs.py", "my.py", "mine.py", "p1.py", "page.md", "progress.txt", "merges.txt",
    "tinyshakespeare.txt",
    "level_list.hpp",
    "e_log.c",  # of fdlibm
    "llm.c",  # the name of a project
    "loops.c",  # that a cell of chapter 13 writes
    "kernel.c",  # that a cell of chapter 16 writes
    "train.c",  # that tutor/programs/source/trains.py writes
    "numpy_backend/pyproject.toml", "numpy_backend/numpy_backend.py", "try_it.py", "filled.py",
    "asked.py", "add.py",
    "micrograd/engine.py",  # of another project
    "tests/course/wrong/ch95.py",  # of a chapter that the page has its reader write
    "tutor/optim/signum.py",  # of an optimizer, likewise
}  # fmt: skip


def here() -> set[str]:
    """All files and folders of the tree, by their paths from its root."""
    found = {path.name for path in ROOT.iterdir()}
    for folder in (*FOLDERS, ".ci"):
        found |= {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*")}
    return found | set(FOLDERS)


HERE = here()
NAMES = {path.rpartition("/")[2] for path in HERE}
FILE = re.compile(
    rf"(?<![\w.<{{*~$%-])(?:\.\./|[\w-][\w.-]*/)*[\w-]+\.(?:{'|'.join(KINDS)})(?![\w(/])"
)
FOLDER = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})(?:/[\w-]+)*/(?![\w.*<{{])")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are written for people, with their numbers: of Python the comments
    and docstrings, of C++ and CMake the comments, of others all."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.body[0] if node.body and ast.get_docstring(node) else None
                if first is not None:
                    lines = ast.get_docstring(node, clean=False) or ""
                    yield from enumerate(lines.splitlines(), first.lineno)
    elif path.suffix in (".cpp", ".hpp", ".c"):
        for number, line in enumerate(text.splitlines(), 1):
            yield number, line.partition("//")[2]
    elif path.name == "CMakeLists.txt":
        for number, line in enumerate(text.splitlines(), 1):
            yield number, line.partition("# ")[2]
    else:
        yield from enumerate(text.splitlines(), 1)


def wrong(path: Path) -> list[str]:
    """The places in this file that name what is not there."""
    found = []
    for number, line in prose(path):
        line = re.sub(r"\w+://\S+", "", line)
        for match in (*FILE.finditer(line), *FOLDER.finditer(line)):
            name = match[0].rstrip("/")
            if "/" not in name and match[0] == name:
                known = name in NAMES or name in OTHERS
            elif name.startswith("../"):
                known = (path.parent / name).exists()
            else:
                known = name in HERE | OTHERS or any(p.endswith("/" + name) for p in HERE)
            if not known and not name.startswith((*GENERATED, *LEARNERS)):
                found.append(f"{path.relative_to(ROOT)}:{number} names {match[0]}")
    return found


def texts() -> list[Path]:
    folders = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    files = [*ROOT.glob("*.py"), *ROOT.glob("*.md"), ROOT / "Makefile", *folders]
    kinds = (".py", ".cpp", ".hpp", ".c", ".md", ".ipynb", "")
    return sorted(
        path for path in files
        if path.is_file() and (path.suffix in kinds or path.name == "CMakeLists.txt")
        and not path.relative_to(ROOT).as_posix().startswith(GENERATED)
        and "__pycache__" not in path.parts
    )  # fmt: skip


def test_every_file_that_text_names_is_there():
    found = [place for path in texts() for place in wrong(path)]
    assert not found, "\n".join(found)


def test_a_wrong_name_would_be_noticed(tmp_path, monkeypatch):
    lines = {
        "page.md": "see `tutor/methods.py`, [this](../nowhere/x.py), `gone.py` and tests/gone/\n",
        "code.py": '"""See tests/gone.py"""\n# as in kernels/gone.hpp\nx = "fine/gone.py"\n',
        "code.cpp": "// kernels/gone.cpp does it\nauto x = gone.py;\n",
    }
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    counts = []
    for name, text in lines.items():
        (tmp_path / name).write_text(text)
        counts.append(len(wrong(tmp_path / name)))
    assert counts == [4, 2, 1]


# ---- numbers -------------------------------------------------------------------------------------

COUNT_OPS = "import tutor.ops; from tutor import OPS; print(len(OPS))"
WORDS = {
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "twenty-one": 21,
}  # fmt: skip
SAID = re.compile(
    rf"\b(\d+|{'|'.join(WORDS)}) (ops|kernels|dtypes|chapters|notebooks|exercises)\b", re.I
)


@pytest.fixture(scope="module")
def counts():
    # In a process of its own: other tests define ops.
    result = subprocess.run([sys.executable, "-c", COUNT_OPS], cwd=ROOT, capture_output=True,
                            text=True, check=True)  # fmt: skip
    return {
        "ops": int(result.stdout),
        "kernels": len(SIGNATURES),
        "dtypes": len(DTYPES),
        "chapters": len(notebooks.chapters()),
        "notebooks": len(notebooks.chapters()),
        "exercises": sum(isinstance(entry, Exercise) for entry in everything()),
    }


def test_the_readme_does_not_boast():
    """Of what grows it says "more than", and the true number is at most a fifth above that."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    listed = [ROOT / "tests/mutants/plant.py", "--list"]
    bugs = subprocess.run([sys.executable, *listed], cwd=ROOT, capture_output=True, text=True,
                          check=True)  # fmt: skip
    found = {"known bugs": len(re.findall(r"^\S", bugs.stdout, re.MULTILINE))}
    if importlib.util.find_spec("torch") and "avx512" in simd_cpp.levels():
        asked = ["-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "tests/oracle"]
        cases = subprocess.run([sys.executable, *asked], cwd=ROOT, capture_output=True, text=True,
                               check=True)  # fmt: skip
        found["cases"] = int(re.findall(r"(\d+) tests collected", cases.stdout)[0])
    for what, count in found.items():
        said = [int(n.replace(",", "")) for n in re.findall(rf"more than ([\d,]+) {what}", readme)]
        assert len(said) == 1 and said[0] <= count <= 1.2 * said[0], f"{what}: {count}, not {said}"


PAGES = ["README.md", *(f"docs/{name}.md" for name in ("index", "kernels", "dtypes", "chapters"))]


def test_counts_in_text_are_those_of_the_code(counts):
    said = []
    for page in PAGES:
        for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
            for word, what in SAID.findall(line):
                count = int(word) if word.isdigit() else WORDS[word.lower()]
                right = counts[what.lower()]
                said.append(what.lower())
                assert count == right, f"{page}:{number} has {word} {what}: write {right} {what}"
    # Of ops, kernels and exercises no page says how many: adding one should not change the README.
    assert {"dtypes", "chapters", "notebooks"} <= set(said), said
