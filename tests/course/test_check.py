"""check, hint, solution: whatever the answer does, there is a verdict and never a traceback."""

from __future__ import annotations

import contextlib
import functools
import io
import math
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from course import check, guard, hint, limits, progress, solution
from course import exercise as exercises
from course.compare import short
from course.exercise import Judge, exercise, question
from course.judge import Stop
from course.verdict import KINDS, Verdict
from tutor import Tensor
from tutor.errors import DataError, DomainError


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Exercises of our own, and a progress file of our own."""
    exercises.everything()  # a chapter enters its exercises once only: not into the copy
    monkeypatch.setattr(exercises, "CATALOGUE", dict(exercises.CATALOGUE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    hints = ("gently", "nearer", "nearly the code")
    declare: Any = functools.partial(exercise, minutes=1, hints=hints, seconds=0.3)

    @declare("98.1", "Reversed", answer="back", solution="def back(x): return x[::-1]")
    def check_98_1(judge: Judge, back: Any) -> None:
        """back(list) is the list from back to front."""
        for given in ([], [1, 2], [1.0, 2.0, math.nan]):
            judge.equal(judge.call(back, given), given[::-1])

    @declare("98.2", "A counter", answer="Counter", solution="")
    def check_98_2(judge: Judge, counter: Any) -> None:
        """Counter(n).up() adds 1 to .n."""
        judge.picture("<svg/>")
        one = judge.instance(counter, 3)
        judge.run(lambda: one.up())
        judge.equal(judge.run(lambda: one.n), 4, given="n after up()")

    @declare("98.3", "A third", answer="third", solution="third = 1 / 3")
    def check_98_3(judge: Judge, third: Any) -> None:
        """third is 1 / 3, in a list of lists"""
        judge.close(third, [[1 / 3]], rtol=1e-6)

    @declare("98.4", "Too trusting", answer="pair", solution="def pair(): return 1, 2")
    def check_98_4(judge: Judge, pair: Any) -> None:
        """Takes apart what it has not looked at."""
        first, _ = judge.call(pair)
        judge.equal(first + 0, 1)

    @declare("98.5", "Refuses", answer="refuses", solution="")
    def check_98_5(judge: Judge, refuses: Any) -> None:
        """refuses(n) raises ValueError for n < 0, and names it"""
        judge.raises(ValueError, refuses, -7, match="-7")

    @declare("98.6", "Each is one", answer="ones", solution="ones = [1]")
    def check_98_6(judge: Judge, ones: Any) -> None:
        """Compares nothing if there is nothing."""
        for one in ones:
            judge.equal(one, 1)

    @declare("98.s1", "More of it", answer="twice", solution="def twice(x): return 2 * x")
    def check_98_s1(judge: Judge, twice: Any) -> None:
        """twice(x) is x + x"""
        judge.equal(judge.call(twice, 3), 6)

    tempting = {"a": "1 is what stands first, but it is counted from 0"}
    question(
        "98.q1", "?", choices={"a": "1", "b": "2"}, right="b", why="it is 2", tempting=tempting
    )
    question("98.q2", "?", right=12, why="it is 12", tempting={11: "one less: the last counts"})
    question("98.q3", "?", right=0.1, why="it is 0.1")
    question("98.q4", "?", right=(1, 2), why="it is 1, 2")
    return tmp_path


def in_thread(function: Callable[[], Any]) -> Any:
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


@pytest.fixture(params=["main thread", "another thread", "no SIGALRM"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """How check is called; it is to make no difference."""
    if request.param == "no SIGALRM":
        monkeypatch.delattr(signal, "SIGALRM", raising=False)
    return in_thread if request.param == "another thread" else lambda function: function()


# ---- answers of all kinds ------------------------------------------------------------------------

ANSWERS = {
    "right": ("exact", "def back(x): return x[::-1]"),
    "right, and talks": ("exact", "def back(x):\n print('x' * 99)\n return x[::-1]"),
    "right, with a lambda": ("exact", "back = lambda x: [*reversed(x)]"),
    "the stub": ("unsolved", "def back(x):\n '''Doc.'''\n ..."),
    "pass": ("unsolved", "def back(x): pass"),
    "dots": ("unsolved", "back = ..."),
    "dots inside": ("unsolved", "back = [1, (2, ...)]"),
    "an empty class": ("unsolved", "class back:\n '''Doc.'''"),
    "None": ("wrong", "back = None"),
    "a number": ("wrong", "back = 3"),
    "text": ("wrong", "back = 'back'"),
    "nan": ("wrong", "back = lambda x: float('nan')"),
    "gives None": ("wrong", "def back(x): x.copy()"),
    "gives a generator": ("wrong", "def back(x):\n yield 1"),
    "gives a tuple": ("wrong", "def back(x): return tuple(x[::-1])"),
    "gives whole numbers": ("wrong", "def back(x): return [int(i) for i in x[1::-1]]"),
    "gives itself": ("wrong", "def back(x): return back"),
    "a list in itself": ("wrong", "def back(x):\n l = []\n l.append(l)\n return l"),
    "raises": ("raised", "def back(x): raise ValueError('no')"),
    "raises on purpose": ("raised", "class E(BaseException): pass\ndef back(x): raise E"),
    "a message that raises": (
        "raised",
        "class E(Exception):\n def __str__(s): raise E\ndef back(x): raise E",
    ),
    "leaves Python": ("raised", "def back(x): raise SystemExit(3)"),
    "ends Python": ("raised", "import os\ndef back(x): os._exit(0)"),
    "ends Python, imported inside": ("raised", "def back(x):\n from os import _exit\n _exit(0)"),
    "ends Python, by another name": ("raised", "from os import _exit as e\ndef back(x): e(0)"),
    "ends Python, in C": ("raised", "import posix\ndef back(x): posix._exit(0)"),
    "ends Python, and catches": (
        "raised",
        "import os\ndef back(x):\n try: os._exit(0)\n except Exception: return x[::-1]",
    ),
    "aborts": ("raised", "import os\ndef back(x): os.abort()"),
    "becomes another program": ("raised", "import os\ndef back(x): os.execv('/bin/true', ['x'])"),
    "takes all memory": ("raised", "def back(x): return [0] * 10**9"),
    "no parameter": ("raised", "def back(): return []"),
    "no end to it": ("raised", "def back(x): return back(x) + []"),
    "a name that is missing": ("raised", "def back(x): return y"),
    "the function was called too early": ("wrong", "back = (lambda x: x)([3])"),
    "changes its input": ("changed", "def back(x):\n x.append(1)\n return x[-2::-1]"),
    "reverses in place": ("changed", "def back(x):\n x.reverse()\n return x"),
    "never returns": ("timeout", "def back(x):\n while True: pass"),
    "sleeps": ("timeout", "import time\ndef back(x): time.sleep(60)"),
    "prints for ever": ("timeout", "def back(x):\n while True: print('x' * 1000)"),
    "never returns, and catches": (
        "timeout",
        "def back(x):\n while True:\n  try:\n   while True: pass\n  except Exception: pass",
    ),
    "an input() that nobody answers": ("raised", "def back(x): return input()"),
    "an object whose __repr__ raises": (
        "wrong",
        "class A:\n def __repr__(s): raise ValueError\ndef back(x): return A()",
    ),
    "an object whose __repr__ has no end": (
        "wrong",
        "class A:\n def __repr__(s): return repr(s)\ndef back(x): return A()",
    ),
    "an object whose __repr__ never returns": (
        "timeout",
        "class A:\n def __repr__(s):\n  while True: pass\ndef back(x): return A()",
    ),
    "a __repr__ that is a number": (
        "wrong",
        "class A:\n __repr__ = lambda s: 3\ndef back(x): return A()",
    ),
    "an object that equals everything": (
        "wrong",
        "class A:\n __eq__ = lambda s, o: True\ndef back(x): return A()",
    ),
    "a list that equals everything": (
        "wrong",
        "class A(list):\n __eq__ = lambda s, o: True\ndef back(x): return A([9])",
    ),
    "an object whose __class__ raises": (
        "raised",
        "class A:\n @property\n def __class__(s): raise ValueError\nback = A()",
    ),
    "attributes of every name": (
        "wrong",
        "class A:\n def __getattr__(s, name): return s\n def __call__(s, *a): return s\nback = A()",
    ),
    "an object whose __call__ raises": (
        "raised",
        "class A:\n def __call__(s, x): raise KeyError(x)\nback = A()",
    ),
}


def made(text: str, name: str) -> Any:
    names: dict[str, Any] = {"__name__": "answers"}
    exec(compile(text, "<the answer>", "exec"), names)
    return names[name]


@pytest.mark.parametrize(("kind", "text"), ANSWERS.values(), ids=ANSWERS)
def test_every_answer_gets_a_verdict(
    kind: str, text: str, way: Any, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    began = threading.active_count()
    verdict = way(lambda: check("98.1", made(text, "back")))
    assert verdict.kind == kind, verdict.text
    assert verdict.passed == (kind in ("exact", "close")) == bool(verdict)
    printed = capsys.readouterr()
    assert printed.out == verdict.text + "\n" and printed.err == ""
    assert "Traceback" not in verdict.text and "course" not in verdict.text
    assert len(verdict.text) < 3000
    sleeping = "sleep" in text or "input" in text  # a thread in C code cannot be woken
    assert sleeping or threading.active_count() <= began


def test_what_is_held_is_let_go_again() -> None:
    before = os._exit, os.abort, resource.getrlimit(resource.RLIMIT_AS)
    check("98.1", made(ANSWERS["ends Python"][1], "back"))
    in_thread(lambda: check("98.1", made(ANSWERS["sleeps"][1], "back")))
    check("98.1", made(ANSWERS["takes all memory"][1], "back"))
    threads = [threading.Thread(target=check, args=("98.q2", n)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (os._exit, os.abort, resource.getrlimit(resource.RLIMIT_AS)) == before


def test_what_is_held_twice_is_let_go_at_the_end() -> None:
    original = os._exit
    with limits.held():
        with limits.held():
            assert limits.ends_python(original) == "_exit"
        with pytest.raises(limits.EndsPython, match=r"os\._exit\(3\) ends Python"):
            os._exit(3)
    assert os._exit is original and limits.ends_python(original) == "_exit"
    assert limits.ends_python(print) == ""


def test_a_pass_opens_the_solution_and_ends_the_counting(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("98.1", made("def back(x): return x[::-1]", "back")).passed
    again = check("98.1", made("def back(x): return x", "back"))
    assert not again.passed and 'solution("98.1") is open' in again.text
    assert "98.1 passed tries=0 hints=0\n" in (own / "progress.txt").read_text()
    capsys.readouterr()
    solution("98.1")
    assert "opens after" not in (out := capsys.readouterr().out) and "return x[::-1]" in out


def test_who_leaves_first_takes_nothing_back() -> None:
    """Two threads are held; the one that is through first leaves the other held."""
    original, inside, leave = os._exit, threading.Event(), threading.Event()

    def other() -> None:
        with limits.held():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    with limits.held():
        pass
    still = os._exit is not original and limits.Held.count == 1
    leave.set()
    thread.join()
    assert still
    assert os._exit is original and limits.Held.count == 0


def test_no_time_limit_strikes_while_something_is_let_go(way: Any, monkeypatch: Any) -> None:
    """The outer limit is up while the inner one ends; what lets go takes its time here."""

    def busy(seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass

    class Slow:
        lock = threading.Lock()

        def __enter__(self) -> None:
            busy(0.01)
            self.lock.acquire()

        def __exit__(self, *error: object) -> None:
            self.lock.release()

    def nested() -> bool:
        with contextlib.suppress(guard.TimeUp):
            guard.limited(lambda: guard.limited(lambda: busy(0.05), 0.02), 0.015)
        return True

    before = os._exit, resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.setattr(limits, "LOCK", Slow())
    monkeypatch.setattr(guard, "PATIENCE", 600)  # a thread on a busy machine is waited for
    for _ in range(20):
        assert way(nested)
        assert limits.Held.count == 0
        assert (os._exit, resource.getrlimit(resource.RLIMIT_AS)) == before


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux only")
def test_memory_is_limited_within_a_check_and_nothing_else() -> None:
    seen: list[int] = []

    def back(x: list[int]) -> list[int]:
        seen.append(resource.getrlimit(resource.RLIMIT_AS)[0])
        return x[::-1]

    assert check("98.1", back).passed
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    assert 0 < seen[0] - pages * resource.getpagesize() <= limits.MEMORY + (64 << 20)
    text = check("98.1", made(ANSWERS["takes all memory"][1], "back")).text
    assert "MemoryError: it takes more than 2 GB of memory" in text


CATCHES_ALL = "def back(x):\n while True:\n  try:\n   while True: pass\n  except: pass"


def test_even_a_bare_except_is_ended() -> None:
    assert check("98.1", made(CATCHES_ALL, "back")).kind == "timeout"


COUNTERS = {
    "right": (
        "exact",
        "class Counter:\n def __init__(s, n): s.n = n\n def up(s): s.n += 1",
    ),
    "stubs": (
        "unsolved",
        "class Counter:\n '''D'''\n def __init__(s, n): ...\n def up(s): '''U'''",
    ),
    "no __init__": ("raised", "class Counter:\n def up(s): s.n = 4"),
    "__init__ raises": ("raised", "class Counter:\n def __init__(s, n): s.m = s.n"),
    "__init__ gives a value": ("raised", "class Counter:\n def __init__(s, n): return 3"),
    "no up": ("raised", "class Counter:\n def __init__(s, n): s.n = n"),
    "counts wrongly": (
        "wrong",
        "class Counter:\n def __init__(s, n): s.n = n\n def up(s): s.n += 2",
    ),
    "a property that never returns": (
        "timeout",
        "class Counter:\n def __init__(s, n): pass\n def up(s): pass\n"
        " @property\n def n(s):\n  while True: pass",
    ),
    "an instance": ("wrong", "class C:\n def up(s): return 1\nCounter = C()"),
}


@pytest.mark.parametrize(("kind", "text"), COUNTERS.values(), ids=COUNTERS)
def test_classes(kind: str, text: str, way: Any) -> None:
    verdict = way(lambda: check("98.2", made(text, "Counter")))
    assert verdict.kind == kind, verdict.text
    assert (verdict.picture == "<svg/>") == (kind == "wrong")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ([[1 / 3]], "exact"),
        (((0.33333334,),), "close"),
        ([[(1 / 3) * (1 + 0.99e-6)]], "close"),  # the limit is rtol, no more and no less
        ([[(1 / 3) * (1 - 0.99e-6)]], "close"),
        ([[(1 / 3) * (1 + 1.01e-6)]], "wrong"),
        ([[(1 / 3) * (1 - 1.01e-6)]], "wrong"),
        ([[0.333]], "wrong"),
        ([[math.nan]], "wrong"),
        ([["0.33"]], "wrong"),
        ([[True]], "wrong"),
        ([[1, 2]], "wrong"),
        (1 / 3, "wrong"),
        (None, "wrong"),
        ({0: 1 / 3}, "wrong"),
    ],
)
def test_close(answer: Any, kind: str) -> None:
    assert check("98.3", answer).kind == kind


LIMITS: list[dict[str, float]] = [{}, {"rtol": 1e-3}, {"atol": 0.5}, {"rtol": 0, "atol": 0.1}]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("expected", [0.0, 1.0, -40.0, 1e6, 1e-12])
def test_close_is_within_the_sum_of_both_limits(expected: float, limits: dict[str, float]) -> None:
    """|got - expected| <= atol + rtol * |expected|: what lies 1 % nearer passes, what lies 1 %
    beyond it does not, on either side and with the limits that hold where none are given."""
    limit = limits.get("atol", 1e-9) + limits.get("rtol", 1e-6) * abs(expected)

    def kind(away: float) -> str:
        judge = Judge()
        try:
            judge.close([expected + away], [expected], **limits)
        except Stop as stop:
            return stop.kind
        return "close"

    assert [kind(side * 0.99 * limit) for side in (1, -1)] == ["close", "close"]
    assert [kind(side * 1.01 * limit) for side in (1, -1)] == ["wrong", "wrong"]


# ---- what is said --------------------------------------------------------------------------------


def test_a_wrong_answer_is_told_the_first_failing_input() -> None:
    text = check("98.1", made("def back(x): return sorted(x)", "back")).text
    assert text.splitlines() == [
        "98.1 wrong: Reversed",
        "called:             back([1, 2])",
        "got:                [1, 2]",
        "expected:           [2, 1]",
        "first:              at [0]: 1 instead of 2",
        "largest difference: 1",
        'hint("98.1") gives hint 1 of 3; solution("98.1") opens after 2 more tries',
    ]


def test_an_error_is_shown_with_the_learner_s_own_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def help(x):\n    return x / 0\n\n\ndef back(x):\n    return help(1)\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    text = check("98.1", names["back"]).text
    assert text.splitlines()[1:-1] == [
        "called:    back([])",
        "raised:    ZeroDivisionError: division by zero",
        "your code: line 2 of help:",
        "               return x / 0",
    ]


ABOUT = {  # an answer, and what its verdict says after `called` and `given`
    "raised": ("def f(x): return x / 0", "raised:"),
    "timeout": ("def f(x):\n while True: pass", "found:"),
    "changed": ("def f(x): x.append(1)", "argument 1 now:"),
    "wrong": ("def f(x): return 2", "found:"),
}


@pytest.mark.parametrize(("kind", "text", "then"), [(k, *row) for k, row in ABOUT.items()])
def test_a_verdict_says_what_the_failing_call_was_about(kind: str, text: str, then: str) -> None:
    judge = Judge(seconds=0.2)
    x = [1] if kind == "changed" else 1
    with pytest.raises(Stop) as stop:
        judge.that(judge.call(made(text, "f"), x, given="the first graph") == 1, "it is not 1")
    assert stop.value.kind == kind
    labels = [line.split(":")[0] + ":" for line in stop.value.lines[:3]]
    assert labels == ["called:", "given:", then] and "the first graph" in stop.value.lines[1]
    judge.run(lambda: judge.call(made("def f(x): return x", "f"), 1))
    assert judge.given == "", "what was said of one call is not said of the next"


def test_a_message_may_be_written_with_capital_letters() -> None:
    judge = Judge()
    refuses = made("def f(i): raise IndexError(f'Axis {i}')", "f")
    judge.raises(IndexError, refuses, 1, match="axis 1")
    with pytest.raises(Stop):
        judge.raises(IndexError, refuses, 2, match="axis 1")


def test_what_was_given_by_keyword_is_left_alone_too() -> None:
    judge, given = Judge(), [1]
    change = made("def f(x, y): y.append(2)", "f")
    with pytest.raises(Stop) as stop:
        judge.call(change, 0, y=given)
    assert stop.value.kind == "changed" and "y now:  [1, 2]" in stop.value.lines
    judge.call(change, 0, y=given, changes=True)
    assert given == [1, 2, 2]


def test_a_changed_argument_is_named() -> None:
    text = check("98.1", made(ANSWERS["reverses in place"][1], "back")).text
    assert "called:         back([1, 2])" in text and "argument 1 now: [2, 1]" in text


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("print(x)", "called:   back([])\ngot:      None (is there a `return`?)\nexpected: []"),
        ("return x[1:]", "expected: [2, 1]\ndiffers:  1 item instead of 2"),
        ("return ()", "expected: []\ndiffers:  () (a tuple) instead of [] (a list)"),
    ],
)
def test_what_is_said_is_said_once(source: str, lines: str) -> None:
    assert f"{lines}\nhint" in check("98.1", made(f"def back(x): {source}", "back")).text


def test_what_is_no_function_is_not_called() -> None:
    lines = ["got:      '3' (a str)", "expected: a function"]
    assert check("98.1", "3").lines[:-1] == lines


def test_an_answer_that_still_has_dots_is_told_so() -> None:
    assert "write `third`" in check("98.3", ...).text
    assert "in place of each ... in `third`" in check("98.3", [[...]]).text
    assert check("98.q1", ...).lines == ['put "a" or "b" in place of the dots']
    assert check("98.q2", ...).lines == ["put your answer in place of the dots"]


def test_a_wrong_choice_is_named_with_its_text() -> None:
    assert check("98.q1", "A").lines[0] == "it is not a) 1"
    assert check("98.q4", (2, 1)).lines[0] == "it is not (2, 1)"
    assert check("98.q4", "1, 2").lines[0] == "it is not '1, 2' (a str), but a tuple"


def test_an_error_named_error_is_named_with_its_module() -> None:
    text = check("98.1", made("import struct\ndef back(x): struct.pack('i', 2**40)", "back")).text
    assert "raised:    struct.error: 'i' format requires" in text


def test_a_call_is_shown_as_the_learner_would_write_it() -> None:
    with pytest.raises(Stop) as stop:
        Judge().raises(IndexError, [].__len__, called="b[4]", given="b of 4 numbers")
    assert stop.value.lines == [
        "called:   b[4]",
        "given:    b of 4 numbers",
        "returned: 0",
        "expected: it raises IndexError",
    ]


def test_what_was_printed_is_a_note_only() -> None:
    verdict = check("98.1", made(ANSWERS["right, and talks"][1], "back"))
    assert verdict.passed and "note: it printed 'xxx" in verdict.text


def test_what_an_answer_has_to_raise() -> None:
    def refuses(error: Exception) -> Verdict:
        def inner(n: int) -> None:
            raise error

        return check("98.5", inner)

    assert refuses(ValueError("-7 is negative")).kind == "exact"
    assert "a message in which '-7' is found" in refuses(ValueError("no")).text
    assert refuses(TypeError("-7")).kind == "wrong"
    assert "it raises ValueError" in check("98.5", lambda n: n).text


def test_an_answer_that_the_check_did_not_expect() -> None:
    verdict = check("98.4", lambda: 3)
    assert verdict.kind == "wrong" and isinstance(verdict.error, TypeError)
    assert "could not be examined" in verdict.text and "Traceback" not in verdict.text


def test_an_answer_with_nothing_in_it() -> None:
    assert check("98.6", [1, 1]).kind == "exact"
    verdict = check("98.6", [])
    assert verdict.kind == "wrong" and "nothing to compare" in verdict.text


def test_a_list_is_no_tensor() -> None:
    judge = Judge()
    judge.equal(Tensor([1.0]), Tensor([1.0]))
    for got, expected in (([1.0], Tensor([1.0])), (Tensor([1.0]), [1.0]), ([1], array("b", [1]))):
        with pytest.raises(Stop):
            judge.equal(got, expected)
    judge.close([1.0], Tensor([1.0]))


def test_addresses_are_left_out_of_what_is_shown() -> None:
    class A:
        pass

    assert short([A(), {"a": A()}]) == "[<A object>, {'a': <A object>}]"


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("98.11", "near to it"),
        ("98.9", "98.6"),
        ("1.2", "near to it: 01.2"),
        ("", "there is none"),
        ("5.3", "there is none"),
    ],
)
def test_an_unknown_id(id: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = check(id, 3)
    assert verdict.kind == "unknown" and not verdict.passed and words in verdict.text
    hint(id)
    solution(id)
    assert words in capsys.readouterr().out


def test_an_id_in_the_wrong_place() -> None:
    assert "the id comes first" in check(check, "98.1").text  # type: ignore[arg-type]
    assert check(None, None).kind == "unknown"  # type: ignore[arg-type]


def test_a_check_within_a_check_keeps_the_outer_limit() -> None:
    def back(x: list[int]) -> list[int]:
        check("98.3", [[1 / 3]])
        while True:
            time.sleep(0.01)

    verdict = check("98.1", back)  # which ends by the outer limit alone
    assert verdict.kind == "timeout" and "no result within 0.3 seconds" in verdict.text


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no alarms")
def test_an_alarm_of_somebody_else_still_rings() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        check("98.1", made(ANSWERS["never returns"][1], "back"))
        time.sleep(0.3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung == [1]


def test_a_stub_with_more_in_it_is_recognised_by_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    stub = "def back(x):\n    result = []\n    # your lines\n    return result\n"
    cls = "class Counter:\n  def __init__(s, n): s.n = n\n  def up(s): ...\n"
    texts = {"98.1": stub, "98.2": cls}
    monkeypatch.setattr("course.notebooks.stub", texts.__getitem__)
    assert check("98.1", made(stub, "back")).kind == "unsolved"
    assert check("98.1", made(stub.replace("[]", "[3]"), "back")).kind == "wrong"
    assert check("98.2", made(cls, "Counter")).kind == "unsolved"
    assert check("98.2", made(cls.replace("s.n = n", "s.n = n + 1"), "Counter")).kind == "exact"


# ---- questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "answer", "kind"),
    [
        *(("98.q1", answer, "exact") for answer in ("b", " B) ", "b.")),
        *(("98.q1", answer, "wrong") for answer in ("a", "c", "", 2, None, ["b"], check)),
        *(("98.q2", answer, "exact") for answer in (12, 12.0)),
        *(("98.q2", answer, "wrong") for answer in (12.1, "12", True, None, math.nan, [12])),
        *(("98.q3", answer, "exact") for answer in (0.1, 0.3 - 0.2)),
        ("98.q3", 0.11, "wrong"),
        *(("98.q4", answer, "exact") for answer in ((1, 2), [1, 2])),
        *(("98.q4", answer, "wrong") for answer in ((1,), 1, "1, 2")),
        *((f"98.q{number}", ..., "unsolved") for number in (1, 2, 3, 4)),
    ],
)
def test_questions(id: str, answer: Any, kind: str) -> None:
    verdict = check(id, answer)
    assert verdict.kind == kind
    words = {
        "exact": "it is",
        "wrong": "(it is not|is none of|is not a number)",
        "unsolved": "dots",
    }
    assert re.search(words[kind], verdict.lines[0])


@pytest.mark.parametrize(
    ("id", "answer", "words"),
    [
        ("98.q1", "a", "stands first"),
        ("98.q1", " A) ", "stands first"),
        ("98.q2", 11.0, "one less"),
        ("98.q2", 10, ""),
        ("98.q2", "11", ""),
        ("98.q3", 11, ""),
    ],
)
def test_a_wrong_answer_is_told_why_it_is_tempting(id: str, answer: Any, words: str) -> None:
    verdict = check(id, answer)
    assert verdict.kind == "wrong" and words in verdict.text
    assert len(verdict.lines) == (3 if words else 2)


@pytest.mark.parametrize(("answer", "words"), [("b", "it is right"), ("x", "none of the choices")])
def test_what_is_tempting_is_a_wrong_answer(answer: str, words: str) -> None:
    with pytest.raises(DomainError, match=words):
        question("98.q9", "?", choices={"a": "", "b": ""}, right="b", why="", tempting={answer: ""})


def test_a_nasty_answer_to_a_question() -> None:
    class Nasty(int):
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no")

        __hash__ = int.__hash__

    assert check("98.q2", Nasty(12)).kind == "wrong"


# ---- hints and solutions -------------------------------------------------------------------------


def test_hints_come_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(4):
        hint("98.1")
    assert capsys.readouterr().out.splitlines() == [
        "98.1, hint 1 of 3: gently",
        "98.1, hint 2 of 3: nearer",
        "98.1, hint 3 of 3: nearly the code",
        "98.1, hint 3 of 3: nearly the code",
        "This was the last one.",
    ]
    hint("98.q1")
    assert "no hints" in capsys.readouterr().out


def test_the_solution_opens_after_three_tries_that_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for left in ("3 more tries", "2 more tries", "1 more try"):
        capsys.readouterr()
        solution("98.1")
        assert left in (out := capsys.readouterr().out) and "def back" not in out
        check("98.1", ...)  # no try
        check("98.1", None)
    capsys.readouterr()
    solution("98.1")
    assert capsys.readouterr().out == "def back(x): return x[::-1]\n"


def test_the_solution_opens_after_a_pass(capsys: pytest.CaptureFixture[str]) -> None:
    check("98.1", lambda x: x[::-1])
    check("98.q1", "b")
    check("98.1", None)  # what is passed stays passed
    capsys.readouterr()
    solution("98.1")
    solution("98.q1")
    assert capsys.readouterr().out == "def back(x): return x[::-1]\n98.q1: 'b'. it is 2\n"


# ---- progress ------------------------------------------------------------------------------------


def test_progress_is_one_line_each(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check("98.1", None)
    check("98.1", lambda x: x[::-1])
    hint("98.3")
    check("98.q1", "b")
    assert (own / "progress.txt").read_text().splitlines() == [
        "98.1 passed tries=1 hints=0",
        "98.3 open tries=0 hints=1",
        "98.q1 passed tries=0 hints=0",
    ]
    capsys.readouterr()
    progress()
    check("98.s1", lambda x: x + x)
    progress()
    out = capsys.readouterr().out
    assert re.search(r"98 +1 of 6 +1 of 4 +0 of 1 +1\n", out), "challenges are counted apart"
    assert re.search(r"98 +1 of 6 +1 of 4 +1 of 1 +1\n", out)


def test_lines_that_are_not_understood_are_kept(own: Path) -> None:
    file = own / "progress.txt"
    mine = b"# mine\n98.1 open tries=2 hints=1\n\n98.1 OPEN?\n\xff\xfe\n98.2 open tries=x hints=0\n"
    file.write_bytes(mine)
    check("98.1", lambda x: x[::-1])
    assert file.read_bytes() == mine.replace(b"98.1 open tries=2", b"98.1 passed tries=2")


def test_progress_that_cannot_be_saved_is_a_note(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (own, own / "missing" / "progress.txt", Path("/dev/null")):
        monkeypatch.setenv("TUTOR_PROGRESS", str(place))
        for _ in range(2):
            verdict = check("98.1", lambda x: x[::-1])
            assert verdict.passed and any("not saved" in note for note in verdict.notes)
        capsys.readouterr()
        solution("98.1")  # it is remembered for as long as Python runs
        assert "def back" in capsys.readouterr().out
    assert Path("/dev/null").is_char_device() and list(own.iterdir()) == []


def test_a_folder_that_is_gone(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "gone").mkdir()
    monkeypatch.chdir(own / "gone")
    (own / "gone").rmdir()
    verdict = check("98.1", lambda x: x[::-1])
    assert verdict.passed and any("not saved" in note for note in verdict.notes)


def test_what_could_not_be_saved_is_saved_later(own: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TUTOR_PROGRESS", str(own / "missing" / "progress.txt"))
    check("98.1", None)
    (own / "missing").mkdir()
    check("98.1", None)
    assert (own / "missing" / "progress.txt").read_text() == "98.1 open tries=2 hints=0\n"


def test_a_link_stays_a_link(own: Path) -> None:
    (own / "progress.txt").symlink_to(own / "elsewhere.txt")
    check("98.1", None)
    assert (own / "progress.txt").is_symlink() and "98.1" in (own / "elsewhere.txt").read_text()


def test_checks_from_many_threads_lose_nothing(own: Path) -> None:
    threads = [threading.Thread(target=check, args=("98.q1", "a")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (own / "progress.txt").read_text() == "98.q1 open tries=8 hints=0\n"


# ---- declarations --------------------------------------------------------------------------------


def test_ids_are_never_used_twice() -> None:
    with pytest.raises(DomainError, match="never used twice"):
        question("98.1", "?", right=1, why="")
    with pytest.raises(DomainError, match="never used twice"):
        question("98.q1", "another", right=1, why="")
    with pytest.raises(DomainError, match="never used twice"):
        exercise("98.1", "", answer="", minutes=1, hints=(), solution="")(lambda judge, x: None)


@pytest.mark.parametrize("id", ["9.1", "98.0", "98.q", "98.s", "98.01", "098.1", "98-1", "98.s0"])
def test_ids_have_one_form(id: str) -> None:
    with pytest.raises(DomainError, match="of that form"):
        exercise(id, "", answer="", minutes=1, hints=(), solution="")(lambda judge, x: None)


def test_ids_are_sorted_by_chapter_then_by_sort() -> None:
    ids = ["98.q2", "98.q10", "98.s1", "98.10", "98.2", "97.q1"]
    assert sorted(ids, key=exercises.order) == [
        *("97.q1", "98.2", "98.10", "98.s1", "98.q2", "98.q10")
    ]


def test_a_solution_stands_in_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "98.7.py").write_text("\nseven = 7\n\n")
    monkeypatch.setattr(exercises, "solutions", lambda: tmp_path)
    for number in (7, 8):
        exercise(f"98.{number}", "", answer="", minutes=1, hints=())(lambda judge, x: None)
    seven, eight = exercises.find("98.7"), exercises.find("98.8")
    assert isinstance(seven, exercises.Exercise) and seven.solution == "seven = 7"
    with pytest.raises(DataError, match=r"98\.8\.py: No such file"):
        assert isinstance(eight, exercises.Exercise) and eight.solution


def test_a_right_choice_that_is_none() -> None:
    with pytest.raises(DomainError, match="name one of them"):
        question("98.q9", "?", choices={"a": ""}, right="b", why="")


def test_all_kinds_of_verdict_are_met_here() -> None:
    met = {kind for table in (ANSWERS, COUNTERS) for kind, _ in table.values()}
    assert met | {"close", "unrun", "earlier", "unknown"} == set(KINDS)


# ---- a session without pytest --------------------------------------------------------------------


def test_in_a_script(tmp_path: Path) -> None:
    code = "from course import check\n"
    code += "print(repr(check('00.1', -3.95)), check('00.1', 0.0).passed)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("Verdict('00.1', 'exact') False\n") and not done.stderr
