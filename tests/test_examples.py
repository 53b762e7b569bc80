"""Every file in examples/ runs; `make examples` sees whether each reaches what it says."""

from __future__ import annotations

import ast
import functools
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tutor import training

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


class Example(NamedTuple):
    """How it is tried in a moment, what it leaves in its folder, and what `make examples` asks of
    the number that its main() gives: at least, or at most."""

    quickly: str
    files: str
    least: float = float("-inf")
    most: float = float("inf")


TIMES = ("seconds", "ids_per_second")  # what a log has of the clock
QUICK = "--data digits --limit"  # without MNIST, and without the time
TABLE = {
    "autoencoder": Example(
        f"{QUICK} 500 --steps 10", "plane.svg walk.svg beside.svg curves.svg log.jsonl", most=0.75
    ),
    "diffusion": Example(
        f"{QUICK} 256 --steps 20 --each 1", "film.svg digits.svg curves.svg log.jsonl", least=0.75
    ),
    "dqn_cartpole": Example("--rounds 2", "game.svg curves.svg log.jsonl", least=475),
    "gpt": Example(
        "--epochs 1 --length 20000 --width 32 --block 32 --layers 1",
        "gpt.safetensors curves.svg unexpected.svg log.jsonl",
        most=0.15,
    ),
    "gpt2": Example("--count 3", "made_up.safetensors", most=1e-4),
    "linear_regression": Example("--steps 200", "line.svg", most=1e-5),
    "mnist_cnn": Example(
        f"{QUICK} 640 --steps 10",
        "mistakes.svg filters.svg curves.svg log.jsonl checkpoint.safetensors",
        least=0.994,
    ),
    "names_lstm": Example(
        "--epochs 1 --names 600 --width 16", "beliefs.svg curves.svg log.jsonl", least=0.92
    ),
    "two_moons": Example("--epochs 2", "moons.svg curves.svg log.jsonl", least=0.97),
}


def run(name: str, out: Path, *options: str, typed: str = "") -> str:
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=out, capture_output=True, text=True,
        input=typed, timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_basic_operations_print_what_is_written_down(tmp_path: Path) -> None:
    path = ROOT / "examples" / "basic_operations.py"
    assert run(path.stem, tmp_path) == path.with_suffix(".out").read_text()


def test_each_example_is_in_the_table() -> None:
    assert {path.stem for path in EXAMPLES} == {*TABLE, "basic_operations"}


Quickly = Callable[[str], Path]


@pytest.fixture(scope="module")
def quickly(tmp_path_factory: pytest.TempPathFactory) -> Quickly:
    """The folder of an example that was tried in a moment, as a user runs it: once for all."""

    @functools.cache
    def tried(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        said = run(name, folder, *TABLE[name].quickly.split(), "--out", str(folder / "out"))
        assert said.strip()
        return folder / "out"

    return tried


@pytest.mark.parametrize("name", TABLE)
def test_an_example_runs_and_draws(name: str, quickly: Quickly) -> None:
    out, files = quickly(name), TABLE[name].files.split()
    assert {p.name for p in out.iterdir()} == set(files)
    for file in files:
        assert (out / file).stat().st_size > 100
        assert not file.endswith(".svg") or "<svg" in (out / file).read_text()


@pytest.mark.sweep
@pytest.mark.parametrize("name", TABLE)
def test_an_example_that_knows_of_no_device_runs_on_one(
    name: str, device: str, quickly: Quickly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUTOR_DEVICE says where what is made from nothing goes, and all else is where its operands
    are. It learns what it learns on the CPU, up to the rounding of some steps."""
    here = quickly(name)
    monkeypatch.setenv("TUTOR_DEVICE", device)
    said = run(name, tmp_path, *TABLE[name].quickly.split(), "--out", str(tmp_path))
    assert said.strip() and {p.name for p in tmp_path.iterdir()} == {*TABLE[name].files.split()}
    noted = [
        [{k: v for k, v in epoch.items() if k not in TIMES} for epoch in epochs(out)]
        for out in (tmp_path, here)
    ]
    assert noted[0] == [pytest.approx(epoch, rel=0.05) for epoch in noted[1]]


def epochs(out: Path) -> list[dict[str, Any]]:
    """What an example has noted of them, if it does."""
    log = out / "log.jsonl"
    return training.read_log(log) if log.exists() else []


def test_the_basic_operations_print_the_same_on_a_device(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUTOR_DEVICE", device)
    test_the_basic_operations_print_what_is_written_down(tmp_path)


@pytest.mark.parametrize("name", TABLE)
def test_an_example_says_how_it_is_run_and_what_comes_out(name: str) -> None:
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text())
    told = ast.get_docstring(tree) or ""
    assert f"python examples/{name}.py" in told.splitlines()[0]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert any(f.name == "main" and f.returns is not None for f in functions)


@pytest.mark.parametrize("name", TABLE)
def test_an_example_is_on_the_page_that_lists_them(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` (.*)\|$", (ROOT / "docs/examples.md").read_text(), re.M)
    assert all(cell.strip() for cell in row.split("|")[1:])


def test_the_network_for_mnist_goes_on_where_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go(folder: str, *options: str) -> tuple[float, list[float]]:
        out = str(tmp_path / folder)
        few = ["mnist_cnn.py", "--data", "digits", "--limit", "256", "--steps", "6", "--out"]
        monkeypatch.setattr(sys, "argv", [*few, out, *options])
        result = runpy.run_path(str(ROOT / "examples" / "mnist_cnn.py"))["main"]()
        return result, [epoch["loss"] for epoch in training.read_log(Path(out, "log.jsonl"))]

    evaluate, calls = training.evaluate, []

    def interrupted(*args: Any) -> float:
        calls.append(args)
        if len(calls) == 2:  # the second epoch is nearly over
            raise KeyboardInterrupt
        return evaluate(*args)

    whole = go("whole")
    monkeypatch.setattr(training, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        go("parts")
    monkeypatch.setattr(training, "evaluate", evaluate)
    assert go("parts", "--resume") == whole


def test_the_gpt_goes_on_where_it_was_stopped_and_with_what_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ROOT / "examples" / "gpt.py"
    small = "--epochs 2 --length 9000 --bpe 300 --width 16 --block 16 --heads 2 --layers 1"

    def result(out: str, *options: str) -> float:
        monkeypatch.setattr(sys, "argv", [str(path), *options, "--out", str(tmp_path / out)])
        return float(runpy.run_path(str(path))["main"]())

    whole = result("whole", *small.split(), "--dropout", "0.1")
    with monkeypatch.context() as patched:
        batches = training.Run.batches

        def stopped(run: training.Run, loader: Any) -> Iterator[Any]:
            if run.history:
                raise KeyboardInterrupt
            yield from batches(run, loader)

        patched.setattr(training.Run, "batches", stopped)
        with pytest.raises(KeyboardInterrupt):
            result("parts", *small.split(), "--dropout", "0.1")
    assert result("parts", "--resume") == whole
    said = run("gpt", tmp_path, "--chat", "--out", str(tmp_path / "parts"), typed="The dog\n\n")
    assert "The dog" in said.partition("An empty line ends this.")[2]
    assert "epoch" not in said  # it was trained before
