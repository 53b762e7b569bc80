"""docs/add-a-backend.md, word for word: its files are written, its package is installed into an
environment that is thrown away, its commands are run there, and print what the page says.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tutor.backends.signatures import SIGNATURES

pytest.importorskip("numpy", reason="the page's backend computes with it")
pytest.importorskip("flit_core", reason="the page's package is built by it")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-backend.md").read_text(encoding="utf-8")
MOST_LINES = 60  # of the two files that make the package

# "In `file`:" and the block that is the file; "In `file`, instead of `text`:" and the block that
# replaces the line that begins with it; what is run; what is then printed.
BLOCK = re.compile(
    r"^(?:In `(?P<file>[^`]+)`(?:, instead of `(?P<old>[^`]+)`)?:\n\n)?"
    r"```(?:\{code-block\} )?(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    file: str | None
    old: str | None
    kind: str
    text: str


BLOCKS = [Block(*found) for found in BLOCK.findall(PAGE)]


def in_order(lines: list[str], output: str) -> str | None:
    """The first of `lines` that does not follow, anywhere, on those before it; None if all do."""
    rest: Iterator[str] = iter(output.splitlines())
    wanted = [" ".join(line.split()) for line in lines if line.strip()]
    return next((w for w in wanted if not any(w == " ".join(r.split()) for r in rest)), None)


def test_the_package_is_short() -> None:
    package = [b for b in BLOCKS if b.file and b.file.startswith("numpy_backend/") and not b.old]
    assert len(package) == 2
    assert sum(block.text.count("\n") for block in package) <= MOST_LINES


def test_it_says_how_many_kernels_there_are() -> None:
    assert f" of the {len(SIGNATURES)} kernels" in PAGE


def test_the_kernels_it_names_are_those_that_a_network_asks_for(place: Path) -> None:
    """All of them; another may come along the way."""
    named = PAGE.partition("\nThey are ")[2].partition("\n\n")[0]
    names = {*re.findall(r"`(\w+)`", named), "relu_grad", "cross_entropy_grad"}
    (script,) = (block.text for block in BLOCKS if block.file == "asked.py")
    (place / "work" / "asked.py").write_text(script, encoding="utf-8")
    asked = set(run(place, "python asked.py").splitlines()[0].split())
    assert names <= asked <= set(SIGNATURES)
    assert len(asked - names) <= 2


def test_lines_that_are_not_printed_are_noticed() -> None:
    assert in_order(["a b", "c"], "x\na   b\ny\nc\n") is None
    assert in_order(["c", "a b"], "x\na   b\ny\nc\n") == "a b"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with an environment beside it, which sees this tree and what is installed."""
    folder = tmp_path_factory.mktemp("page")
    venv.create(folder / "env", symlinks=True)
    here = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env")}))
    others = [path for path in sys.path if path.endswith("site-packages")]
    (here / "paths.pth").write_text("\n".join([str(ROOT), *others]) + "\n")
    (folder / "work").mkdir()
    return folder


def run(place: Path, line: str) -> str:
    """What a command of the page prints, and how it ends."""
    python = place / "env" / "bin" / "python"
    program, *rest = shlex.split(line)
    command = [str(python), *rest]
    if program == "pip":  # of this environment; what the package needs is here already
        command = [sys.executable, "-m", "pip", "--python", str(python), *rest,
                   "--no-build-isolation", "--no-deps", "--force-reinstall"]  # fmt: skip
    else:
        assert program == "python", line
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TUTOR_BACKEND")}
    done = subprocess.run(
        command, cwd=place / "work", env={**variables, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert program != "pip" or done.returncode == 0, done.stdout
    return f"{done.stdout}\nends with {done.returncode}"


def test_the_page_brings_a_backend(place: Path) -> None:
    output, compared = "", 0
    for file, old, kind, text in BLOCKS:
        if file and old:
            path = place / "work" / file
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            at = [i for i, line in enumerate(lines) if line.strip().startswith(old)]
            assert len(at) == 1, old
            lines[at[0]] = text
            path.write_text("".join(lines), encoding="utf-8")
        elif file:
            path = place / "work" / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif kind == "sh":
            output = "\n".join([run(place, line) for line in text.splitlines()])
            if "conformance" in text:  # it ends with 1 where a kernel is wrong
                assert output.endswith(f"ends with {int('WRONG' in output)}"), output
        else:
            assert kind == "text", kind
            missing = in_order(text.splitlines(), output)
            assert missing is None, f"the page says\n{missing}\nand what is printed is\n{output}"
            compared += 1
    assert compared == 5
    chosen = run(place, "python -m tutor doctor")
    assert re.search(r"^backends: .*\bnumpy\b", chosen, re.MULTILINE), chosen


def test_what_is_missing_is_not_replaced(place: Path) -> None:
    """A recorded program is not made of the kernel `fused` where the backend has none; and no
    kernel is another backend's."""
    if not (place / "work" / "numpy_backend").exists():
        pytest.skip("the page was not followed")
    code = (
        "import tutor; from tutor import Tensor\n"
        "with tutor.use_backend('numpy'):\n"
        "    f = tutor.jit(lambda x: (x * 2 + 1).relu())\n"
        "    for _ in range(3): print(f(Tensor([-1.0, 2.0])).tolist())\n"
    )
    (place / "work" / "recorded.py").write_text(code)
    assert run(place, "python recorded.py").count("[0.0, 5.0]") == 3
