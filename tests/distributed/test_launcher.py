"""python -m tutor ranks: what it starts, what it prints, and the code that it ends with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import started

from tutor.__main__ import main
from tutor.distributed.launcher import MOST, Launcher
from tutor.errors import DomainError

PRINTING = """\
import os, sys
print("first", *sys.argv[1:])
print("second\\n\\nthird")
print("to stderr", file=sys.stderr)
sys.stdout.write("no end")
sys.stdout.flush()
assert sys.stdin.read() == ""
"""


def launch(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tutor", "ranks", *map(str, words)],
        env=started.environment(**variables),
        capture_output=True,
        text=True,
        timeout=started.LIMIT,
        check=False,
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PRINTING)
    return path


def test_each_line_has_its_rank_in_front(program: Path) -> None:
    done = launch(2, program, "--epochs", "3", "-v", "--timeout", "4")
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        lines = [x for x in done.stdout.splitlines() if x.startswith(f"[rank {rank}] ")]
        words = ["first --epochs 3 -v --timeout 4", "second", "", "third", "no end"]
        assert lines == [f"[rank {rank}] {text}" for text in words]
    assert sorted(done.stderr.splitlines()) == ["[rank 0] to stderr", "[rank 1] to stderr"]
    assert len(done.stdout.splitlines()) == 10


TELLING = """\
import os, subprocess, sys
from tutor import dist
from tutor.distributed.ranks import group
inner = "from tutor import dist; print(dist.rank(), dist.size())"
child = subprocess.run([sys.executable, "-c", inner], capture_output=True, text=True)
print(dist.rank(), dist.size(), group().timeout, os.environ["TUTOR_NUM_THREADS"], child.stdout)
"""


def test_what_a_rank_is_told(program: Path) -> None:
    """And what a rank starts itself is none."""
    program.write_text(TELLING)
    done = launch("--timeout", 7, 2, program, TUTOR_NUM_THREADS="3")
    assert "[rank 0] 0 2 7.0 3 0 1" in done.stdout, done.stdout + done.stderr
    assert "[rank 1] 1 2 7.0 3 0 1" in done.stdout, done.stdout + done.stderr


def test_the_threads_are_shared_out(program: Path) -> None:
    program.write_text("import os; print(os.environ['TUTOR_NUM_THREADS'])")
    environment = {n: v for n, v in started.environment().items() if n != "TUTOR_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-m", "tutor", "ranks", "2", str(program)],
        env=environment, capture_output=True, text=True, timeout=started.LIMIT, check=True,
    )  # fmt: skip
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    assert done.stdout.splitlines().count(f"[rank 0] {share}") == 1


def test_a_module_is_a_program_too(program: Path) -> None:
    done = launch(1, "-m", "program", "x", PYTHONPATH=f"{started.ROOT}:{program.parent}")
    assert "[rank 0] first x" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("sys.exit(0)", 0, ""),
        ("sys.exit(3)", 3, "rank 1 has ended with exit code 3: all ranks end"),
        ("os.kill(os.getpid(), 9)", 137, "rank 1 was ended by SIGKILL: all ranks end"),
        ("raise OSError('x')", 1, "rank 1 has ended with exit code 1: all ranks end"),
    ],
)
def test_the_code_is_that_of_the_rank_that_failed(
    program: Path, end: str, code: int, said: str
) -> None:
    """The others, which would go on for a minute, are ended."""
    program.write_text(
        "import os, sys, time\nfrom tutor import dist\n"
        f"if dist.rank() == 1: {end}\n"
        f"if {code}: time.sleep(60)\n"
    )
    done = launch(2, program)
    assert done.returncode == code, done.stdout + done.stderr
    assert (said in done.stderr.splitlines()) == bool(said), done.stderr


def test_a_program_that_is_not_there() -> None:
    done = launch(2, "no_such_program.py")
    assert done.returncode == 2
    assert "[rank 1] " in done.stderr and "no_such_program.py" in done.stderr


@pytest.mark.parametrize("words", [["0", "x.py"], [str(MOST + 1), "x.py"], ["2"]])
def test_what_cannot_be_launched(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranks", *words]) == 2
    assert "to do: " in capsys.readouterr().err


def test_where_the_system_has_not_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("select.poll")
    with pytest.raises(DomainError, match="use MPI"):
        Launcher(2, ["x.py"])


# ---- init ----------------------------------------------------------------------------------------


def said_by_init(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"from tutor import dist\n{code}"],
        env=started.environment(**variables),
        capture_output=True,
        text=True,
        timeout=started.LIMIT,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "variables", "said"),
    [
        ("dist.init('nccl')", {}, "transport 'nccl'"),
        ("dist.init()", {"TUTOR_DIST": "smoke"}, "transport 'smoke'"),
        ("dist.init('shared')", {}, "python -m tutor ranks 4 program.py"),
        ("dist.init(timeout=0)", {}, "no number of seconds above 0"),
        ("dist.init(timeout='soon')", {}, "no number of seconds above 0"),
        ("dist.rank()", {"TUTOR_DIST_TIMEOUT": "nan"}, "no number of seconds above 0"),
        ("dist.rank(); dist.init('mpi')", {}, "call it once, before all else"),
        ("dist.init(); dist.init(timeout=3)", {}, "call it once, before all else"),
        ("dist.init('alone', timeout=5); dist.init(); print('fine')", {}, "fine"),
    ],
)
def test_init(code: str, variables: dict[str, str], said: str) -> None:
    assert said in said_by_init(code, **variables)


def test_what_mpiexec_has_launched_is_known(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    program = tmp_path / "program.py"
    program.write_text(
        "from tutor import dist\nfrom tutor.distributed.ranks import group\n"
        "print(dist.rank(), dist.size(), group().transport.name, flush=True)\n"
    )
    run = started.run("mpi", 2, program)
    assert run.lines == {0: "0 2 mpi\n", 1: "1 2 mpi\n"}, run.text


def test_an_mpi_that_the_program_has_started_stays_its_own(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit\nfrom mpi4py import MPI\n"
        "from tutor import Tensor, dist\n"
        "atexit.register(lambda: print(MPI.Is_finalized(), flush=True))\n"
        "x = dist.all_reduce(Tensor([MPI.COMM_WORLD.rank]))\n"
        "print(x.tolist(), MPI.COMM_WORLD.allreduce(1), flush=True)\n"
    )
    run = started.run("mpi", 2, program)
    assert run.code == 0, run.text
    assert run.lines == {0: "[1] 2\nFalse\n", 1: "[1] 2\nFalse\n"}, run.text
