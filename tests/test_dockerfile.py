"""The Dockerfile: what its lines name is there. .ci/dockerfile.py, which can run them, is tried on
the parts that need neither root nor a network."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dockerfile", ROOT / ".ci" / "dockerfile.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUNNER = script()
STAGES = RUNNER.parsed(TEXT)
PATTERNS = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
BY_NAME = {stage.name: stage for stage in STAGES}


def lines(word: str) -> list[str]:
    return [line.rest for stage in STAGES for line in stage.lines if line.word == word]


def test_the_stages() -> None:
    assert list(BY_NAME) == ["build", "test", "chapters", "train"]
    for stage in STAGES:
        assert stage.base in BY_NAME or RUNNER.IMAGE.fullmatch(stage.base)
    names = [stage.name for stage in RUNNER.needed(STAGES, "train")]
    assert names == ["build", "train"]
    assert [stage.name for stage in RUNNER.needed(STAGES, "test")] == ["build", "test"]


@pytest.mark.parametrize("stage", ["chapters", "train"])
def test_what_is_run_comes_from_the_wheel_and_has_no_compiler(stage: str) -> None:
    text = str(BY_NAME[stage].lines)
    assert "--from=build /wheels" in text and "pip install" in text
    assert "apt-get" not in text and "COPY . ." not in text
    assert any(line.word == "USER" for line in BY_NAME[stage].lines)


def test_what_is_copied_is_there_and_not_left_out() -> None:
    for rest in lines("COPY"):
        *sources, _ = rest.split()
        if sources[0].startswith("--from="):
            assert sources[0].removeprefix("--from=") in BY_NAME
            continue
        for name in sources:
            assert (ROOT / name).exists()
            assert name == "." or not RUNNER.ignored(name, PATTERNS)


def test_the_context_is_the_tree_without_what_is_made_in_it() -> None:
    files = set(RUNNER.context(PATTERNS))
    needed = {"pyproject.toml", "build_backend.py", "LICENSE", "README.md", "Makefile",
              ".ci/step.py", "tutor/backends/simd_cpp/CMakeLists.txt", "tutor/__init__.py",
              "chapters/08_training_mnist.ipynb", "tests/test_tiny.py"}  # fmt: skip
    assert needed <= files
    made = (".git/", ".venv", "build/", "dist/", "runs/")
    assert not [name for name in files if name.startswith(made) or name.endswith((".so", ".pyc"))]


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        (".git/config", True), ("build/x/y.o", True), (".venv-thread/bin/pip", True),
        ("tutor/__pycache__/a.pyc", True), ("tutor/backends/simd_cpp/_simd.so", True),
        ("tests/.pytest_cache", False), (".mypy_cache/3.11", True), ("tutor/memory.py", False),
        ("docs/api.rst", False), ("docs/_build/html", True), ("build_backend.py", False),
    ],
)  # fmt: skip
def test_what_dockerignore_leaves_out(path: str, left_out: bool) -> None:
    """As Docker reads it: a pattern is for paths from the root, unless it begins with **/."""
    assert RUNNER.ignored(path, PATTERNS) is left_out


def test_what_is_installed_and_run_is_there() -> None:
    for extra in re.findall(r"\$1\[(\w+)\]", TEXT):
        assert extra in EXTRAS
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = [json.loads(rest) for rest in lines("CMD")]
    targets = re.findall(r"RUN make ([\w-]+)", TEXT)
    targets += [command[1] for command in commands if command[0] == "make"]
    assert targets == ["setup-env", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    assert ["python", "train_mnist.py"] in commands
    from tutor.__main__ import parser

    for line in re.findall(r"RUN python -m tutor (.+)", TEXT):
        parser().parse_args(line.split())


def test_an_instruction_that_the_script_does_not_know_is_refused() -> None:
    with pytest.raises(SystemExit, match="no such instruction"):
        RUNNER.parsed(f"{TEXT}\nADD https://example.org /x\n")
    with pytest.raises(SystemExit, match="name one of those"):
        RUNNER.needed(STAGES, "nix")


def test_what_the_head_says_to_build_is_there() -> None:
    head = TEXT.partition("\nFROM")[0]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"docker build --target (\w+)", head + readme)
    assert {"chapters", "test"} == set(targets) <= set(BY_NAME)
