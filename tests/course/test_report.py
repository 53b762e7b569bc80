"""`python -m tutor course report`: honest submissions are marked, and the others do no harm."""

from __future__ import annotations

import ast
import contextlib
import csv
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from course import children, grading, notebooks, reach, report, sandbox
from course.exercise import Exercise, everything, find
from course.judging import judged
from course.library.compose import compose
from course.library.parts import parts
from tutor.__main__ import main

APART = sandbox.possible()  # whether this machine lets us have namespaces


def filled(chapter: str, cells: dict[str, str] | None = None) -> str:
    """A chapter with every answer in it, but for those that are given."""
    notebook = notebooks.read(notebooks.chapters()[chapter])
    for cell in notebooks.code_cells(notebook):
        part, id = notebooks.about(cell) or ("", "")
        entry = find(id) if id else None
        if part == "exercise" and isinstance(entry, Exercise):
            cell["source"] = (cells or {}).get(id, entry.solution)
        elif part == "question":
            right = repr(getattr(entry, "right", None))
            cell["source"] = notebooks.source(cell).replace("answer = ...", f"answer = {right}")
    return json.dumps(notebook)


def marked(folder: Path, seconds: float = 120, apart: bool = APART) -> report.Learner:
    return report.marked(folder, seconds, 2 << 30, apart)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The folder of one learner in a class of two."""
    (tmp_path / "class" / "bob").mkdir(parents=True)
    (tmp_path / "class" / "bob" / "secret.py").write_text("found = 'the work of another'")
    (tmp_path / "class" / "ada").mkdir()
    return tmp_path / "class" / "ada"


# ---- honest ones ---------------------------------------------------------------------------------


def test_an_honest_notebook_passes_all(own: Path) -> None:
    (own / "02_mine.ipynb").write_text(filled("02"))
    learner = marked(own)
    ids = {entry.id for entry in everything() if entry.id.startswith("02.") and entry.id[3] != "s"}
    there = {
        about[1]
        for cell in notebooks.code_cells(notebooks.read(notebooks.chapters()["02"]))
        if (about := notebooks.about(cell)) and about[0] != "check"
    }
    assert {id for id in ids & there if not learner.passed(id)} == set()
    assert learner.troubles == [] and len(learner.kinds) > 8


def test_wrong_and_open_answers_are_told_apart(own: Path) -> None:
    wrong = {"02.1": "def strides_for(shape):\n    return shape", "02.2": "1 / 0"}
    (own / "02.ipynb").write_text(filled("02", wrong))
    untouched = notebooks.read(notebooks.chapters()["00"])
    (own / "00.ipynb").write_text(json.dumps(untouched))
    (own / "progress.txt").write_text("00.1 passed tries=0 hints=0\n")  # is not believed
    learner = marked(own)
    assert (learner.kinds["02.1"], learner.kinds["02.2"]) == ("wrong", "raised")
    assert learner.kinds["00.1"] == "unsolved" and learner.passed("02.3")
    assert "ZeroDivisionError" in learner.texts["02.2"]


def test_files_and_the_package_are_marked_too(own: Path) -> None:
    (own / "strides.py").write_text("import math\n" + find("02.1").solution)
    (own / "00.1.py").write_text("reached = -3.95")
    (own / "my_tutor").mkdir()
    (own / "my_tutor" / "__init__.py").write_text("from my_tutor.tensor import *")
    ours, theirs = find("02.1").solution, find("02.2").solution
    text = f"# ---- 02.1, ours until yours passes\n\n{ours}\n\n\n# ---- 02.2, yours\n\n{theirs}"
    (own / "my_tutor" / "tensor.py").write_text(text)
    learner = marked(own)
    passed = {id for id in learner.kinds if learner.passed(id)}
    assert {"02.1", "00.1", "02.2"} <= passed, learner
    assert "02.1" in learner.like_ours  # shorter ones may well be alike


def test_the_better_of_two_answers_counts(own: Path) -> None:
    (own / "a.py").write_text("import math\n" + find("02.1").solution)
    (own / "b.py").write_text("def strides_for(shape):\n    return shape")
    assert marked(own).passed("02.1")


# ---- the others ----------------------------------------------------------------------------------

HARMFUL = {
    "endless": ("def strides_for(shape):\n    while True: pass", "timeout"),
    "endless in C": (
        "import itertools\ndef strides_for(shape):\n    return sum(itertools.count())",
        "raised",
    ),
    "endless at once": ("def strides_for(shape): ...\nwhile True: pass", "raised"),
    "exiting": ("import os\ndef strides_for(shape):\n    os._exit(0)", "raised"),
    "exiting at once": ("import os\ndef strides_for(shape): ...\nos._exit(0)", "raised"),
    "killing who runs it": (
        "import os\ndef strides_for(shape):\n    os.kill(os.getppid(), 9)",
        "raised",
    ),
    "memory": ("def strides_for(shape):\n    return bytearray(8 << 30)", "raised"),
    "a file too large": (
        "def strides_for(shape):\n    open('x', 'wb').write(bytes(40 << 20))",
        "raised",
    ),
    "swallows all": (
        "def strides_for(shape):\n    while True:\n        try: sum(range(100))\n"
        "        except BaseException: pass",
        "raised",
    ),
}


SPEAK = """
import json, os
lines = [json.dumps({{"id": id, "kind": "exact"}}) + "\\n" for id in {ids!r}]
def strides_for(*args):
    for number in range(256):
        for line in lines:
            try: os.write(number, line.encode())
            except OSError: pass
"""
FINDS = """
import json, os, sys
def strides_for(shape):
    frame = sys._getframe()
    while "fifo" not in frame.f_locals:
        frame = frame.f_back
    path = frame.f_locals["fifo"]
"""
CHEATS = {  # text, and what is found of 02.1
    "to all descriptors": (SPEAK, "wrong"),
    "to all, and ends": (SPEAK + "    os._exit(0)", "raised"),
    "to all, at once": (SPEAK + "strides_for()\nos._exit(0)", "raised"),
    "to all, at the end": (SPEAK + "import atexit; atexit.register(strides_for)", "wrong"),
    "to all, from a thread": (
        SPEAK.replace("def strides_for", "def said") + "import threading\ndef strides_for(shape):\n"
        "    threading.Thread(target=lambda: [said() for _ in iter(int, 1)], daemon=True).start()\n"
        "    return shape",
        "wrong",
    ),
    "from a child": (SPEAK + "    if os.fork(): os.wait()\n    return args", "raised"),
    "what it has open": (
        "import os\ndef strides_for(shape):\n    seen = []\n    for number in range(3, 256):\n"
        "        try: seen.append((number, os.fstat(number)))\n        except OSError: pass\n"
        "    if seen: raise ValueError(f'it has {{seen}}')\n    return shape",
        "wrong",
    ),
    "another judge": (
        "import sys\nfrom course.verdict import Verdict\ndef strides_for(shape): ...\n"
        "sys.modules['course.children'].judged = lambda e, a: Verdict(e.id, 'exact')",
        "raised",
    ),
    "all is equal": (
        "import course.judge, course.compare\ndef strides_for(shape): return 7\n"
        "course.judge.equal = lambda *args: course.compare.Same(0)\n"
        "course.judge.Judge.fail = course.judge.Judge.that = lambda *args, **more: None\n"
        "course.judge.callable = lambda f: True\n"
        "course.judge.Judge.run = course.judge.Judge.call = lambda *args, **more: None\n"
        "course.judge.Judge.raises = lambda *args, **more: None\n"
        "course.judge.Judge._compare = lambda self, *args: setattr(self, 'compared', 1)\n",
        "raised",
    ),
    "a verdict of its own, and no more": (  # which no process can tell from the check's own
        FINDS + "    with open(path, 'w') as fifo:\n"
        '        fifo.write(\'{{"id": "02.1", "kind": "exact", "text": ""}}\\n\')\n'
        "    os.kill(os.getpid(), 9)",
        report.UNREAD,
    ),
    "a verdict of its own": (
        FINDS + "    line = json.dumps({{'id': '02.1', 'kind': 'exact', 'text': ''}}).encode()\n"
        "    open(path, 'wb', buffering=0).write(line + b'\\n')\n    return shape",
        "raised",
    ),
    "wherever it looks": (  # root sees all, unless it is apart; it is named then
        "import itertools\nfrom tutor._util.files import Path\ndef strides_for(shape):\n"
        "    for path in Path.home().glob('v*/*'):\n"
        '        path.write_text(\'{{"id": "02.1", "kind": "exact", "text": ""}}\\n\')\n'
        "    return sum(itertools.count())",
        "raised" if APART or os.geteuid() else report.UNREAD,
    ),
}


@pytest.mark.parametrize("why", CHEATS)
def test_no_answer_speaks_in_the_place_of_its_check(own: Path, why: str) -> None:
    text, kind = CHEATS[why]
    ids = [entry.id for entry in everything()]
    (own / "02.1.py").write_text(text.format(ids=ids))
    learner = marked(own)
    assert learner.kinds == {"02.1": kind}, learner


def test_what_a_child_says_is_of_its_own_file_and_no_pass() -> None:
    reading, writing = os.pipe()
    ledger = children.Ledger({"02.1"}, reading)
    line = json.dumps({"id": "02.1", "kind": "exact", "text": ""}).encode() + b"\n"
    other = line.replace(b"02.1", b"02.2")
    os.write(writing, line)  # before it is judged
    for said in (
        {"id": "02.1", "kind": "exact"}, {"id": "02.2", "kind": "wrong"}, {"id": ["02.1"]},
        {"id": "02.1", "judged": True}, {"id": "02.2", "judging": True}, {"trouble": "?"},
        {"at": "x"},
    ):  # fmt: skip
        ledger.take(said)
    assert ledger.found == []
    for written, kind in ((b"", "raised"), (line, "exact"), (other, "raised"), (line * 2, "raised"),
                          (b"{[]\n", "raised")):  # fmt: skip
        ledger.take({"id": "02.1", "judging": True})
        os.write(writing, written)
        ledger.take({"id": "02.1", "judged": True})
        assert ledger.found.pop()["kind"] == kind, written
    os.close(reading)
    os.close(writing)


# A text, and what is said of it.
REACHES = {
    "import os": "line 1 imports os", "from gc import get_objects": "line 1 imports gc",
    "x = 1\nimport numpy.ctypeslib as c": "line 2 uses numpy.ctypeslib",
    "math.__loader__": "line 1 uses .__loader__",
    "import math\nmath.isfinite = bool": "line 2 uses math.isfinite = ...",
    "import math\ngetattr(math, '__lo' + 'ader__')": "line 2 uses getattr(math, ...)",
    "from tutor._util.files import Path": "line 1 uses Path", "x.glob('*')": "line 1 uses .glob",
    "('{0._' + '_globals__}').format(f)": (
        "line 1 uses .format(...) of a text that is not written there"
    ),
    "str.format('x', f)": "line 1 uses .format(...) of a text that is not written there",
    "'{}'.format(1) + memoryview(b'').format": "",
    "import math\nsetattr(math, 'nan', 0)": "line 2 uses setattr(math, ...)",
    "exec('1')": "line 1 uses exec", "def f(): return __builtins__": "line 1 uses __builtins__",
    "import tutor\ntutor.errors.os": "line 2 uses .os",
    "import random\nrandom._os": "line 2 uses ._os",
    "from random import _os": "line 1 uses _os",
    "(lambda: 0).__globals__": "line 1 uses .__globals__",
    "'{0.__globals__}'": "line 1 uses '__globals__'", "from course import check": "",
    "from course import judge": "line 1 imports course", "import help_me": "line 1 imports help_me",
    "import near": "line 1 imports near.py, whose line 1 imports os", "import loop": "",
    "from . import x": "", "def f(:": "", "import array": "",
    "import struct": "line 1 imports struct, which is no text",
}  # fmt: skip


@pytest.mark.parametrize("text", REACHES)
def test_what_reaches_for_the_check_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "near.py").write_text("import os")
    (tmp_path / "loop.py").write_text("import loop")
    (tmp_path / "struct").mkdir()
    found = reach.reaches(text, tmp_path)
    assert found == REACHES[text]


def test_no_check_passes_a_bare_object() -> None:
    """By which the report sees that somebody has changed one."""
    assert [entry.id for entry in everything() if judged(entry, object()).passed] == []


def test_no_solution_reaches_for_the_check(tmp_path: Path) -> None:
    for entry in everything():
        if isinstance(entry, Exercise):
            assert reach.reaches(entry.solution, tmp_path) == "", entry.id
    for text in compose(parts()).texts().values():
        assert reach.reaches(grading._theirs(text), tmp_path) == ""
    notebook = notebooks.code_cells(notebooks.read(notebooks.chapters()["08"]))
    assert grading._of_cells(notebook, tmp_path / "08.ipynb") == ""


SLOW = {"endless in C", "endless at once", "swallows all"}  # until they are ended from outside


@pytest.mark.parametrize("apart", sorted({APART, False}))
def test_harmful_answers_fail_and_end_nothing_else(own: Path, apart: bool) -> None:
    """Each in a file beside an honest one, which passes."""
    for why, (text, kind) in HARMFUL.items():
        if why in SLOW and apart != APART:  # once is enough
            continue
        folder = own / why
        folder.mkdir()
        (folder / "02.1.py").write_text(text)
        (folder / "00.1.py").write_text("reached = -3.95")
        learner = marked(folder, 30, apart)
        assert learner.passed("00.1"), why
        # What swallows all is ended from inside or from outside, whichever comes first.
        wanted = {kind, "timeout"} if why == "swallows all" else {kind}
        assert learner.kinds.get("02.1") in wanted, (why, learner)


def test_a_cell_that_ends_python_ends_no_other(own: Path) -> None:
    stops = {"01.2": "import os\nos.kill(os.getpid(), 9)", "01.3": "import sys\nsys.exit(0)"}
    (own / "01.ipynb").write_text(filled("01", stops))
    learner = marked(own)
    assert (learner.kinds["01.2"], learner.kinds["01.3"]) == ("raised", "raised")
    own_passes = ("01.1", "01.4", "01.q1")  # beside cells that a teacher is to read
    assert {learner.kinds[id] for id in own_passes} == {report.UNREAD}
    assert any("ended Python" in trouble for trouble in learner.troubles)


def test_time_is_limited_for_the_whole(own: Path) -> None:
    for name in "abcdef":
        (own / f"{name}.py").write_text(HARMFUL["endless in C"][0])
    (own / "00.1.py").write_text("reached = -3.95")
    # Each takes 4.5 seconds; a busy machine may take some until it begins with the first file.
    learner = marked(own, seconds=15)
    assert learner.troubles == ["not marked to its end: more than 15 seconds"]
    assert learner.passed("00.1")  # what was found until then is kept


DELETER = """
import os, pathlib, shutil, socket
for target in {targets!r}:
    shutil.rmtree(target, ignore_errors=True)
    try:
        pathlib.Path(target, "evil").write_text("x")
    except OSError:
        pass
try:
    import secret  # not in the copy
except ImportError:
    pass
seen = []
for place in {others!r}:
    try:
        seen += os.listdir(place)
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", {port}), 1).sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
except OSError:
    pass
if "SECRET_TOKEN" in os.environ:
    seen.append("environment")
if seen:
    raise ValueError(f"it sees {{seen}}")
reached = -3.95
"""


def test_it_can_neither_delete_nor_see_nor_call(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With namespaces: no write outside its copy, no other submission, no network."""
    if not APART:  # then the report says so, which the next test looks at
        assert sandbox.run(own, ["x"], seconds=9, memory=1 << 30, apart=True).code == sandbox.FAILED
        return
    calls = []

    class Heard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            calls.append(self.path)

    monkeypatch.setenv("SECRET_TOKEN", "x")
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "thesis.txt").write_text("a year of work")
    server = HTTPServer(("127.0.0.1", 0), Heard)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        harm = DELETER.format(
            targets=[str(kept), str(own.parent), "/tmp/tutor-report-evil"],
            others=[str(own.parent)],
            port=server.server_port,
        )
        (own / "00.1.py").write_text(harm)
        learner = marked(own)
    finally:
        server.shutdown()
        server.server_close()
    assert learner.kinds["00.1"] == report.UNREAD, learner
    assert "00.1.py: line 2 imports os" in learner.texts["00.1"]
    assert (kept / "thesis.txt").read_text() == "a year of work"
    assert sorted(p.name for p in kept.iterdir()) == ["thesis.txt"]
    assert (own.parent / "bob" / "secret.py").exists() and (own / "00.1.py").read_text() == harm
    assert calls == [] and not os.path.exists("/tmp/tutor-report-evil")


@pytest.mark.parametrize("apart", sorted({APART, False}))
def test_a_program_has_its_limits(own: Path, apart: bool) -> None:
    names = ("AS", "CPU", "FSIZE", "CORE", "NOFILE", "NPROC")
    text = f"import resource as r; [r.getrlimit(getattr(r, 'RLIMIT_' + n)) for n in {names!r}]"
    ask = text.replace("; [", "; print([") + ", file=open({pipe}, 'w'))"
    command = [sys.executable, "-I", "-c", ask]
    ended = sandbox.run(own, command, seconds=30, memory=1 << 30, apart=apart)
    *found, (processes, _) = ast.literal_eval(ended.said)
    assert found == [(most, most) for most in (1 << 30, 31, sandbox.LARGEST, 0, 256)]
    beside = 0 if apart else sandbox._processes() + 1000  # others of this user come and go
    assert 0 < processes <= sandbox.PROCESSES + beside
    assert ended.code == 0


def test_a_program_that_says_too_much_is_stopped(own: Path) -> None:
    text = f"open({{pipe}}, 'wb').write(b'x' * {4 * sandbox.MOST})"
    command = [sys.executable, "-I", "-c", text]
    ended = sandbox.run(own, command, seconds=60, memory=1 << 30, apart=False)
    assert sandbox.MOST <= len(ended.said) < sandbox.MOST + (1 << 16) and ended.code is None


STARTS = """
import os, time
if child := os.fork():
    print(child, file=open({pipe}, "w"))
else:
    os.close({pipe})
    time.sleep(600)
"""


def test_what_a_program_has_started_ends_with_it(own: Path) -> None:
    command = [sys.executable, "-I", "-c", STARTS]
    ended = sandbox.run(own, command, seconds=60, memory=1 << 30, apart=False)
    status, until = Path("/proc", ended.said.strip(), "stat"), time.monotonic() + 60
    with contextlib.suppress(FileNotFoundError):  # it is gone, or nobody has buried it yet
        while ") Z" not in status.read_text() and time.monotonic() < until:
            time.sleep(0.01)
        assert ") Z" in status.read_text()


LOOKS = """
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
found = {name: int(status[name], 16) for name in ("CapBnd", "NoNewPrivs")}
room = os.statvfs(".")
found["room"] = room.f_blocks * room.f_frsize
found["processes"] = [name for name in os.listdir("/proc") if name.isdigit()]
print(json.dumps(found), file=open({pipe}, "w"))
"""


def test_a_program_that_is_apart_sees_itself_alone_and_has_no_rights(own: Path) -> None:
    command = [sys.executable, "-I", "-c", LOOKS]
    ended = sandbox.run(own, command, seconds=60, memory=1 << 30, apart=True)
    if not APART:  # it does not run at all
        assert (ended.code, ended.said) == (sandbox.FAILED, "")
        return
    found = json.loads(ended.said)
    processes = found.pop("processes")
    assert found == {"CapBnd": 0, "NoNewPrivs": 1, "room": sandbox.ROOM}
    asked = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true"]
    if shutil.which("unshare") and not subprocess.run(asked, check=False).returncode:
        assert processes == ["1"]  # where it is not permitted, as in some containers, all are seen


def test_links_are_not_followed(own: Path, tmp_path: Path) -> None:
    (tmp_path / "00.1.py").write_text("reached = -3.95")
    (own / "00.1.py").symlink_to(tmp_path / "00.1.py")
    os.mkfifo(own / "02.1.py")  # would be waited for
    (own / "01.4.py").write_text(find("01.4").solution)
    learner = marked(own)
    assert learner.kinds.keys() == {"01.4"} and learner.passed("01.4"), learner
    assert learner.troubles == []


def test_no_more_is_copied_than_there_is_room_for(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room is for the program, too: half of it is left."""
    monkeypatch.setattr(sandbox, "ROOM", 40)
    monkeypatch.setattr(sandbox, "LARGEST", 15)
    (own / "too large").write_bytes(bytes(16))
    (own / "there").symlink_to(tmp_path)
    sandbox._copy(own, tmp_path / "nothing")
    assert list((tmp_path / "nothing").iterdir()) == []
    for name in "abc":
        (own / name).write_bytes(bytes(8))
    sandbox._copy(own, tmp_path / "copy")
    assert [p.stat().st_size for p in (tmp_path / "copy").iterdir()] == [8, 8]  # in any order


def test_who_cannot_be_apart_does_not_fall_back(own: Path) -> None:
    """A program that ends with the code of that case is not run once more with less around it."""
    (own / "x.py").write_text(f"import sys\nsys.exit({sandbox.FAILED})")
    ended = sandbox.run(
        own, [sys.executable, "x.py", "{pipe}"], seconds=20, memory=1 << 30, apart=APART
    )
    assert (ended.code, ended.said, ended.apart) == (sandbox.FAILED, "", APART)


# ---- the table -----------------------------------------------------------------------------------


def test_the_command(
    own: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "00.1.py").write_text("reached = -3.95")
    (own.parent / "=bob()").mkdir()
    (own.parent / "=bob()" / "00.1.py").write_text("reached = 1.0")
    table = own.parents[1] / "all.csv"
    assert main(["course", "report", str(own.parent), "--csv", str(table)]) == 0
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["learner", "00", "01"] and lines[0].split()[-1] != ""
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["=bob()", "0"],
        ["ada", "1"],
        ["bob", "0"],
    ]
    assert any(line.startswith("=bob(): 00.1 wrong: found: ") for line in lines)
    assert APART or report.NOTE in err
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["learner"] for row in rows] == ["'=bob()", "ada", "bob"]
    assert [row["00.1"] for row in rows] == ["wrong", "exact", ""]
    assert [row["passed"] for row in rows] == ["0", "1", "0"]
    monkeypatch.setattr(sandbox, "possible", lambda: False)
    assert main(["course", "report", str(own.parent)]) == 0
    assert report.NOTE in capfd.readouterr().err


def test_misuse(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "report"]) == 2
    assert "a folder of submissions is needed" in capfd.readouterr().err
    assert main(["course", "report", str(own / "none")]) == 2
    assert main(["course", "report", str(own)]) == 2
    assert "it has no folders in it" in capfd.readouterr().err
    (own / "x").mkdir()
    assert main(["course", "report", str(own), "--csv", str(own / "none" / "a.csv")]) == 2
    assert "asked: the table" in capfd.readouterr().err


@pytest.mark.parametrize(
    "line",
    ["", "no JSON", "[]", '{"id": "99.9", "kind": "exact"}', '{"id": "00.1", "kind": "great"}',
     '{"id": ["00.1"], "kind": "exact"}', '{"id": "00.1"}', "\x00"],
)  # fmt: skip
def test_what_the_sandbox_says_may_be_anything(line: str) -> None:
    learner = report.Learner("ada")
    assert not learner.take(line)
    assert learner.kinds == {} and learner.troubles == []
