"""make: long steps say that they live, and Jupyter starts wherever it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STEP = ROOT / ".ci" / "step.py"


def start(code, **how):
    """Run a few lines of Python as a step."""
    command = [sys.executable, str(STEP), "the step", sys.executable, "-c", code]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **how}
    return subprocess.Popen(command, text=True, **how)


def step(code):
    with start(code) as process:
        return process.communicate()[0], process.returncode


def test_a_step_says_what_it_is_and_how_it_ended():
    text, code = step("print('noise')")
    assert code == 0
    first, last = text.splitlines()
    assert first == "== the step" and last.startswith("== the step: done after ")


def test_a_step_that_fails_shows_what_it_said_and_fails():
    text, code = step("import sys; print('the reason'); sys.exit(7)")
    assert code == 7
    assert "FAILED" in text and text.rstrip().endswith("the reason")


def test_stages_are_read_from_what_tools_print(monkeypatch):
    monkeypatch.syspath_prepend(str(STEP.parent))
    import step as module

    shown = module.Step("build")
    lines = {
        "Collecting pybind11>=3.0": "fetching pybind11",
        "  Installing build dependencies: started": "fetching what the build needs",
        "  *** Configuring CMake...": "looking at the compiler",
        "  [12/54] Building CXX object x.o": "compiling, 12 of 54 files",
        "  Installing collected packages: tutorgrad": "installing",
        "reading sources... [ 45%] chapters/05_engine": "reading sources, 45%",
        "writing output... [100%] index": "writing output, 100%",
    }
    for line, stage in lines.items():
        shown.see(line)
        assert shown.stage == stage
        shown.see("any other line")
        assert shown.stage == stage


def test_a_terminal_sees_one_line_that_changes():
    pty = pytest.importorskip("pty", reason="terminals are a matter of Unix")
    code = "import time; print('[3/9] Building x', flush=True); time.sleep(1.2)"
    ours, theirs = pty.openpty()
    with start(code, stdout=theirs, stderr=theirs) as process:
        process.wait()
    os.close(theirs)
    text = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "\r\033[K== the step: compiling, 3 of 9 files (" in text
    assert text.count("\n") == 1 and "done after" in text.splitlines()[-1]


def test_ctrl_c_ends_a_step_in_one_line():
    with start("import time; print('Collecting x', flush=True); time.sleep(60)") as process:
        assert process.stdout.readline() == "== the step\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert "Traceback" not in rest and len(rest.splitlines()) == 1


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_jupyter_starts_as_root_and_without_a_screen():
    keep = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}

    def command(**screen):
        make = ["make", "-n", "chapters", "ARGS=--port=9999"]
        keywords = {"cwd": ROOT, "env": {**keep, **screen}, "capture_output": True, "check": True}
        text = subprocess.run(make, text=True, **keywords).stdout
        return next(line for line in text.splitlines() if "jupyter lab" in line), text

    remote, text = command()
    assert "--port=9999" in remote and remote.endswith("00_five_minutes.ipynb")
    assert ("--allow-root" in remote) is (os.geteuid() == 0)
    if sys.platform != "darwin":
        assert "--no-browser" in remote and "ssh -L 8888:localhost:8888" in text
        assert "--no-browser" not in command(DISPLAY=":0")[0]
        assert "--no-browser" not in command(WAYLAND_DISPLAY="wayland-0")[0]


def test_readme_says_how_to_reach_the_chapters_from_elsewhere():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "ssh -L 8888:localhost:8888" in readme and "docker run -p 8888:8888" in readme
