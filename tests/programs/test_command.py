"""`python -m tutor program`: which functions of a script are shown, when it is stopped, and how."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tutor
from tutor import __main__ as command_line
from tutor.programs import command, jit, passes
from tutor.programs.program import Program

ROOT = Path(tutor.__file__).parents[1]

SCRIPT = """
import sys, tutor
from pathlib import Path
from tutor import Tensor, nn, optim

model = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
sgd = optim.SGD(nn.get_parameters(model), lr=0.1)

@tutor.jit
def step(x, y):
    loss = model(x).cross_entropy(y)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    return loss

@tutor.jit
def middle(x):
    return (x * 2).mean()

@tutor.jit
def evaluate(x):
    return model(x).argmax(axis=1)

print("arguments", sys.argv[1:], __name__)
for epoch in range(2):
    for i in range(5):
        print("batch", epoch, i)
        step(Tensor.ones(8, 6), Tensor([0, 1, 2, 0, 1, 2, 0, 1]))
        middle(Tensor.ones(8))
    for i in range(3):
        evaluate(Tensor.ones(8, 6))
print("the end")
"""


@pytest.fixture
def script(tmp_path):
    """Writes a script, runs the command on it: (its code, what it printed)."""

    def run(text, *arguments, options=()):
        path = tmp_path / "learner.py"
        path.write_text(text, encoding="utf-8")
        return command_line.main(["program", *options, str(path), *arguments])

    return run


def by_itself(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, where it must go well and leave stderr empty."""
    (folder / "learner.py").write_text(text, encoding="utf-8")
    said = subprocess.run(
        [sys.executable, "-m", "tutor", "program", "learner.py"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder, timeout=120, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stderr) == (0, "")
    return said


def shown(out: str) -> list[str]:
    """The functions whose Programs were printed."""
    return re.findall(r"^(\S+), learner\.py:\d+, as it was recorded:$", out, re.MULTILINE)


STEP = re.compile(r"^ *\d+  .*?  ([a-z_0-9]+)[ .].*?(?:\.py:(\d+)|(\")?$)", re.MULTILINE)


def places(out: str) -> set[tuple[int, str]]:
    """(line of the script, kernel) of each step in the tables."""
    found, line = set(), 0
    for kernel, number, _ in STEP.findall(out):
        line = int(number or line)  # a " says: the same as above
        found.add((line, kernel))
    return found


def kernels(out: str) -> list[str]:
    return [found[0] for found in STEP.findall(out)]


def test_all_functions_are_shown_that_are_recorded_before_one_is_called_again(script, capsys):
    before = sys.argv, list(sys.path)
    assert script(SCRIPT, "--lr", "2") == 0
    out = capsys.readouterr().out
    assert "arguments ['--lr', '2'] __main__" in out
    assert shown(out) == ["step", "middle"]
    assert out.count("batch") == 3 and "batch 0 2" in out  # eager, recorded, and no further
    assert "not recorded until then: evaluate\n" in out
    assert (sys.argv, sys.path) == before and not jit.told
    for line, call in ((11, "linear"), (13, "cross_entropy_grad"), (14, "descend")):
        assert (line, call) in places(out), call


@pytest.mark.parametrize("name", ["evaluate", "step"])
def test_one_function_is_waited_for(script, capsys, name):
    assert script(SCRIPT, options=["--function", name]) == 0
    out = capsys.readouterr().out
    assert shown(out) == [name]
    assert ("batch 0 4" in out) == (name == "evaluate")
    assert "batch 0 2" not in out or name == "evaluate"


def test_a_method_is_found_by_either_name(script, capsys):
    text = """
import tutor
class Trainer:
    def __init__(self): self.run = tutor.jit(self.step)
    def step(self, x): return x + 1
t = Trainer()
for i in range(4): t.run(tutor.ones(3))
"""
    for name in ("step", "Trainer.step"):
        assert script(text, options=["--function", name]) == 0
        assert shown(capsys.readouterr().out) == ["Trainer.step"]


def test_a_script_that_ends_before(script, capsys):
    assert script("import tutor\nf = tutor.jit(lambda x: x + 1)\nf(tutor.ones(2))\n") == 2
    assert capsys.readouterr().err.splitlines()[1] == (
        "found: it has ended, and nothing was recorded under tutor.jit"
    )
    assert script("raise SystemExit(3)") == 2
    assert "it ended with 3, and nothing" in capsys.readouterr().err
    assert script(SCRIPT, options=["--function", "other"]) == 2
    said = capsys.readouterr()
    assert "the Program of other in" in said.err and "nothing was recorded" in said.err
    assert "the end" in said.out
    assert script(SCRIPT, options=["--function", "step", "--function", "other"]) == 2
    assert "only step was recorded" in capsys.readouterr().err


def test_a_script_that_fails_says_so_as_python_does(script, capsys):
    assert script("x = 1\nx / 0\n") == 1
    said = capsys.readouterr().err
    assert said.splitlines()[0] == "Traceback (most recent call last):"
    assert "learner.py" in said.splitlines()[1] and "line 2" in said.splitlines()[1]
    assert said.endswith("ZeroDivisionError: division by zero\n")
    assert script(SCRIPT.replace('print("batch", epoch, i)', "i == 2 and 1 / 0")) == 1
    said = capsys.readouterr()
    assert shown(said.out) == ["step", "middle"]
    assert "ZeroDivisionError" in said.err


def test_a_thread_of_the_script_ends_without_a_word(tmp_path):
    text = """
import threading, tutor
f = tutor.jit(lambda x: x * 3)
def work():
    for i in range(10):
        print("call", i)
        f(tutor.ones(4))
t = threading.Thread(target=work); t.start(); t.join()
"""
    said = by_itself(tmp_path, text)
    assert len(re.findall(r"^call \d$", said.stdout, re.MULTILINE)) == 3
    assert shown(said.stdout) == ["<lambda>"]


def test_pictures_are_drawn_before_and_after(script, tmp_path, capsys):
    assert script(SCRIPT, options=["--picture", str(tmp_path / "drawn")]) == 0
    said = capsys.readouterr().out
    files = sorted((tmp_path / "drawn").iterdir())
    assert [f.name for f in files] == [
        "middle-2-recorded.svg", "middle-2-replayed.svg", "step-recorded.svg", "step-replayed.svg",
    ]  # fmt: skip
    before, after = (f.read_text(encoding="utf-8") for f in files[2:])
    assert ">1  relu<" in before and "linear relu" not in before
    assert "linear relu" in after
    assert all(str(f) in next(x for x in said.splitlines() if x.startswith("wrote")) for f in files)


def test_the_picture_of_a_function_without_a_name(script, tmp_path, capsys):
    text = "import tutor\nf = tutor.jit(lambda x: x + 1)\nfor i in range(4): f(tutor.ones(2))\n"
    assert script(text, options=["--picture", str(tmp_path / "drawn")]) == 0
    names = sorted(f.name for f in (tmp_path / "drawn").iterdir())
    assert names == ["lambda-recorded.svg", "lambda-replayed.svg"]


def test_a_file_that_is_not_there(capsys):
    assert command_line.main(["program", "nowhere.py"]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_each_pass_that_changes_something_has_a_line(script, capsys, monkeypatch):
    """With whatever passes there are: here one that drops the last step, twice, and an idle one."""

    def shorter(program: Program) -> Program:
        """Without its last step."""
        return program.with_steps(list(program)[:-1])

    table = {"shorter": shorter, "idle": lambda program: program, "again": shorter}
    monkeypatch.setattr(passes, "PASSES", table)
    monkeypatch.setattr(command, "PASSES", table)
    monkeypatch.setattr(passes, "ORDER", tuple(table))
    calls = jit.jit(lambda x: (x + 1) * 2 - 3)
    monkeypatch.setattr(calls, "passes", ())
    for _ in range(2):
        calls(tutor.ones(4))
    monkeypatch.setattr(calls, "passes", None)
    said = command.report(calls)
    rows = [line.split(maxsplit=5) for line in said.splitlines()]
    assert ["recorded", "3", "108", "12", "128", "Each kernel call of the Python code."] in rows
    assert ["shorter", "2", "72", "8", "128", "Without its last step."] in rows
    assert ["again", "1", "36", "4", "64", "Without its last step."] in rows
    assert "nothing to do here: idle" in said
    assert "3 steps" in said and "1 step " in said


def test_what_is_shown_last_is_what_is_replayed(script, capsys):
    assert script(SCRIPT, options=["--function", "middle"]) == 0
    out = capsys.readouterr().out
    f = jit.jit(lambda x: (x * 2).mean())
    for _ in range(2):
        f(tutor.ones(8))
    recorded, program = (kernels(str(p)) for p in (f.recorded, f.program))
    assert kernels(out)[: len(recorded)] == recorded and recorded != program
    assert kernels(out)[-len(program) :] == program


def test_the_step_of_train_mnist(tmp_path):
    """As a learner would type it; and nothing of it is left in the folder."""
    said = subprocess.run(
        [sys.executable, "-m", "tutor", "program", str(ROOT / "train_mnist.py"), "--data", "digits",
         "--limit", "2000", "--hidden", "16", "--out", str(tmp_path / "run")],
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=300,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert said.stderr == ""
    assert "Training.learn_from, train_mnist.py:" in said.stdout
    lines = (ROOT / "train_mnist.py").read_text(encoding="utf-8").splitlines()
    for kernel, source in (("linear", "self.model("), ("cross_entropy", ".cross_entropy("),
                           ("adam", "self.scaler.step(")):  # fmt: skip
        numbers = {line for line, name in places(said.stdout) if name == kernel}
        assert numbers and all(source in lines[n - 1] for n in numbers), kernel
    assert not list((tmp_path / "run").iterdir())
