"""A forked child is no rank; collectives are called by one thread at a time; and a failure that
nobody waits for is told at the end."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import started

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# What a child does. Its parent goes on, after it has ended as programs do, or while it is there.
CHILDREN = {
    "ends": "pass",
    "raises": "raise ValueError('of a child')",
    "calls": "dist.all_reduce(x)",
    "calls beside": "dist.all_reduce(x, wait=False)",
    "has a handle": "handle.wait()",
    "is told to end": "os.kill(os.getpid(), signal.SIGTERM)",
    "asks": "print('child', dist.rank(), dist.size())",
    "is no first child": "os.waitpid(os.fork(), 0); dist.barrier()",
}
FORKING = """\
import os, signal, sys, warnings
warnings.simplefilter("ignore")  # of a fork beside threads, from Python 3.12 on
import tutor
from tutor import dist
x = tutor.ones(4)
dist.all_reduce(x)
if dist.rank() == 1:
    handle = dist.all_reduce(x, wait=False)  # rank 0 comes to it when the child has ended
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        CHILD
        sys.exit(0)
    print("the child", os.waitpid(child, 0)[1], flush=True)
    handle.wait()
else:
    dist.all_reduce(x)
dist.barrier()
print(x.tolist(), flush=True)
"""
REFUSED = {"calls", "calls beside", "has a handle", "is no first child"}


@needs_fork
@pytest.mark.parametrize("how", CHILDREN)
def test_a_forked_child_is_no_rank(how: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FORKING.replace("CHILD", CHILDREN[how]))
    run = started.run("shared", 2, program)
    assert run.code == 0, run.text
    assert all("[4.0, 4.0, 4.0, 4.0]" in text for text in run.lines.values()), run.text
    said = re.search(r"^the child (\d+)", run.lines[1], re.MULTILINE)
    assert said, run.text
    status = {"ends": 0, "asks": 0, "is told to end": 15}.get(how, 256)
    assert int(said[1]) == status, run.text
    refusal = (
        r"asked: .*program\.py:\d+, on rank 1 of 2\nfound: .* forked off.*\nto do: call it in the"
    )
    assert bool(re.search(refusal, run.lines[1])) is (how in REFUSED), run.text
    assert ("child 1 2" in run.text) is (how == "asks")


@needs_fork
def test_a_child_that_was_forked_before_the_ranks_met(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os\nfrom tutor import dist\n"
        "child = os.fork()\n"
        "if child: print(os.waitpid(child, 0)[1] != 0)\n"
        "dist.barrier()\n"
        "print('met', dist.size())\n"
    )
    run = started.run("shared", 2, program)
    assert run.code == 0, run.text
    for text in run.lines.values():
        assert "found: this process is a child" in text and "True" in text, run.text
        assert text.count("met 2") == 1, run.text


@needs_fork
def test_a_rank_that_ends_is_noticed_although_its_child_goes_on(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, time\nfrom tutor import dist\n"
        "dist.barrier()\n"
        "if dist.rank() == 1:\n"
        "    if os.fork() == 0: time.sleep(30)\n"
        "    os._exit(0)\n"
        "dist.barrier()\n"
    )
    run = started.run("shared", 2, program, TUTOR_DIST_TIMEOUT="600")
    assert run.code == 1 and "rank 1 has ended without a word" in run.lines[0], run.text


@needs_fork
def test_a_child_of_one_rank_works_by_itself(tmp_path: Path) -> None:
    """Also with a thread, which was its parent's."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os, signal, warnings\nwarnings.simplefilter('ignore')\n"
        "import tutor\nfrom tutor import dist\n"
        "x = tutor.ones(2)\n"
        "dist.all_reduce(x, wait=False).wait()\n"
        "child = os.fork()\n"
        "signal.alarm(20)\n"
        "assert dist.all_reduce(x, wait=False).wait().tolist() == [1, 1]\n"
        "if child: print(os.waitpid(child, 0)[1])\n"
    )
    run = started.run("shared", 1, program)
    assert run.lines == {0: "0\n"}, run.text


# Each thread calls `use()`; `rank 0` is 1 there, so what is said comes in another order on each.
THREADS = {
    "at once": (False, "a, b = thread(), thread(); a.start(); b.start(); a.join(); b.join()"),
    "in no order": (False, """a, b = thread(), thread(go.wait)
b.start(); a.start(); a.join(); go.set(); b.join()"""),
    "beside the main thread": (False, "a = thread(); use(); a.start(); use(); a.join()"),
    "main goes on": (False, "use(); a = thread(); a.start(); a.join(); b = thread(go.wait, use);"
                     "b.start(); use(); go.set(); b.join()"),
    "one after another": (True, """for _ in range(3):
    a = thread(); a.start(); a.join()
use()"""),
    "one for each, and main between": (True, """use()
for _ in range(3):
    a = thread(); a.start(); a.join(); use()"""),
    "a thread that is there, and does not call": (True, """a = thread(go.wait); b = thread(use, use)
b.start(); b.join(); use(); go.set()"""),
}  # fmt: skip
THREADING = """\
import sys, threading
import tutor
from tutor import dist
from tutor.errors import DistError
go, errors = threading.Event(), []
def use():
    for _ in range(20):
        x = tutor.ones(3)
        handle = dist.all_reduce(x, wait=False)
        assert dist.all_reduce(tutor.ones(3)).tolist() == [2, 2, 2]
        assert handle.wait().tolist() == [2, 2, 2]
def thread(*work):
    def run():
        try:
            for do in work or [use]:
                do()
            if go.wait in work:
                use()
        except DistError as error:
            errors.append(error)
    return threading.Thread(target=run)
try:
    CASE
except DistError as error:
    errors.append(error)
for error in errors[:1]:
    print("refused", error, flush=True)
print("end", flush=True)
"""
UNORDERED = (
    r"asked: all_reduce #\d+ .*\nfound: thread '.*' of this rank calls it, and .* calls .*\n"
)


@pytest.mark.parametrize("how", THREADS)
def test_threads_call_one_after_another(how: str, tmp_path: Path) -> None:
    is_fine, case = THREADS[how]
    program = tmp_path / "program.py"
    indented = case.replace("\n", "\n    ")
    program.write_text(THREADING.replace("CASE", indented))
    run = started.run("shared", 2, program, TUTOR_DIST_TIMEOUT="20")
    assert all("end" in text for text in run.lines.values()), run.text
    assert "has not come" not in run.text, "nobody waits for the timeout"
    if is_fine:
        assert run.code == 0 and "refused" not in run.text, run.text
    else:
        assert run.text.count("refused asked: all_reduce") == 2, run.text
        asked = UNORDERED + "to do: call all of them from one thread"
        assert any(re.search(asked, text) for text in run.lines.values()), run.text


# rank 1 comes to another call; nobody waits for what rank 0 has started
UNHEARD = """\
import atexit
import tutor
from tutor import dist
x = tutor.ones(3)
dist.barrier()
if dist.rank() == 0:
    handle = dist.all_reduce(x, wait=False)  # the call
    REST
    print("at the end", flush=True)
else:
    try:
        dist.all_reduce(tutor.ones(2))
    except dist.group.DistError:
        pass
"""


@pytest.mark.parametrize(
    ("rest", "times"),
    [
        ("pass", 1),
        ("del handle", 1),
        ("while not handle.done: pass", 1),
        ("dist.all_reduce(x, wait=False)", 1),
        ("handle._done.wait(); raise KeyError('x')", 1),
        ("try: handle.wait()\n    except RuntimeError: pass", 0),
        ("try: dist.barrier()\n    except RuntimeError: pass", 0),
    ],
)
def test_a_failure_that_nobody_waits_for_is_told_at_the_end(
    rest: str, times: int, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(UNHEARD.replace("REST", rest))
    run = started.run("shared", 2, program)
    assert ("at the end" in run.text) is ("raise" not in rest)
    assert run.lines[0].count("which nobody has waited for") == times, run.text
    assert run.code == (1 if times else 0), run.text
    line = 1 + UNHEARD[: UNHEARD.index("# the call")].count("\n")
    place = rf"program\.py:{line}, on rank 0 of 2"
    told = rf"DistError: asked: all_reduce #2 .*{place}\nfound: rank 1 calls"
    assert len(re.findall(told, run.lines[0])) == times, run.text
