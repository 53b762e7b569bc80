"""The judge: what the check of an exercise asks of an answer, and what is said where it fails.

A check is a function `check_05_3(judge, answer)`. It calls the answer through the judge, and
compares. The first thing that is not as it should be ends the check, and is the verdict.
"""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, NoReturn

import tutor
from course.compare import Difference, Same, advice, close, equal, legible, short, snapshot, what
from course.guard import SLOWER, Output, TimeUp, limited, quiet
from course.limits import MEMORY
from course.repeat import Call, Calls
from course.verdict import table

FOLDERS = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
FOLDERS += [str(Path(tutor.__file__).parent), str(Path(__file__).parent)]
NOT_THEIRS = ("<frozen", "<ours", *(os.path.join(folder, "") for folder in FOLDERS))
WHOLE = 5.0 * SLOWER  # seconds for a whole check


Mistakes = Mapping[str, Any]  # what it leads to, or a function that works that out


class Stop(BaseException):
    """Ends a check with a verdict. No Exception, so that no `except Exception` keeps it."""

    def __init__(self, kind: str, lines: list[str], cause: BaseException | None = None) -> None:
        super().__init__(kind)
        self.kind, self.lines, self.cause = kind, lines, cause


class Judge:
    """Calls the learner's code and compares what comes back."""

    def __init__(self, seconds: float = 2.0) -> None:
        self.seconds, self.ends = seconds, time.monotonic() + max(WHOLE, seconds)
        self.output = Output()
        self.shown: Any = None
        self.largest = 0.0  # the largest difference that was put down to rounding
        self.compared = 0
        self.called = ""  # the latest call, as one would write it
        self.given = ""  # what it was about, in words
        self.form = ""  # of the tensors that the check hands out, in words
        self.rtol, self.atol = 0.0, 0.0  # what that form asks for at least
        self.calls = Calls()

    # ---- running the learner's code ----------------------------------------------------------

    def call(
        self,
        function: Any,
        *args: Any,
        changes: bool = False,
        again: bool = True,
        given: str = "",
        **kwargs: Any,
    ) -> Any:
        """function(*args, **kwargs), which must return in time, and leave its arguments alone.

        With `changes=True` it may change them; otherwise it is made once more after the next call,
        and must give the same, unless `again=False`. `given` says what the call is about, where it
        fails. `Judge.instance(cls, ...)` is the same call.
        """
        self.function(function, given)
        self.called, self.given = as_written(function, args, kwargs), given
        passed = [*args, *kwargs.values()]
        names = [*(f"argument {number + 1}" for number in range(len(args))), *kwargs]
        before = [] if changes else [snapshot(arg) for arg in passed]
        call = Call(function, args, kwargs, self.called)
        kept = again and not changes and self.calls.begin(call)
        result = self.run(lambda: function(*args, **kwargs))
        for number, was in enumerate(before):
            if snapshot(passed[number]) != was:
                rows = self._about() | {
                    f"{names[number]} now": short(passed[number]),
                    "to do": "leave what was passed as it was: work on a copy, or put it back",
                }
                raise Stop("changed", table(rows))
        if kept and (earlier := self.calls.end(call, result)):
            self._once_more(*earlier, call)
        return result

    instance = call

    def function(self, answer: Any, given: str = "") -> None:
        """It is a function, or anything else that can be called."""
        if not callable(answer):
            self.fail({"got": what(answer), "expected": "a function"}, given)

    def _once_more(self, earlier: Call, said: Any, later: Call) -> None:
        """A call is made again after another one. It must give what it gave before."""
        rows, when = earlier.changed(said), "after"
        if not rows:
            with quiet(Output()):
                rows, when = limited(earlier.once_more, self.seconds), "once more, after"
        if not rows:
            return
        self.called = earlier.words
        given = f"{when} {later.words}" if earlier.words != later.words else "once more"
        why = "look for what all calls share: in the class, a global name, a default, or a cache"
        self.fail(rows | {"to do": why}, given)

    def run(self, function: Callable[[], Any]) -> Any:
        """function(), where that reaches code of the learner: attributes, operators, items."""
        try:
            return self._guarded(function)
        except (Stop, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise Stop("raised", self.explain(error), error) from None

    def raises(
        self,
        errors: type[BaseException] | tuple[type[BaseException], ...],
        function: Any,
        *args: Any,
        match: str = "",
        given: str = "",
        called: str = "",
        **kwargs: Any,
    ) -> None:
        """The call must raise one of these errors, with a message in which `match` is found.

        Capital letters and small ones are the same in it. `called` is how the learner would write
        the call, where that is not `function(*args)`.
        """
        self.called, self.given = called or as_written(function, args, kwargs), given
        self.compared += 1
        names = errors if isinstance(errors, tuple) else (errors,)
        wanted = " or ".join(error.__name__ for error in names)
        try:
            result = self._guarded(lambda: function(*args, **kwargs))
        except errors as error:
            if match and not re.search(match, str(error), re.IGNORECASE):
                rows = {"raised": message(error)}
                rows["expected"] = f"a message in which {match!r} is found"
                self.fail(rows, given)
        except (Stop, KeyboardInterrupt):
            raise
        except BaseException as error:
            rows = {"raised": message(error), "expected": wanted, **place(error)}
            raise Stop("wrong", table({**self._about(given), **rows}), error) from None
        else:
            self.fail({"returned": short(result), "expected": f"it raises {wanted}"}, given)

    def _guarded(self, function: Callable[[], Any]) -> Any:
        left = self.ends - time.monotonic()
        seconds = max(min(self.seconds, left), 0.01)
        try:
            with quiet(self.output):
                return limited(function, seconds)
        except TimeUp:
            rows = self._about()
            rows["found"] = f"no result within {self.seconds:g} seconds"
            if left < self.seconds:
                whole = max(WHOLE, self.seconds)
                rows["found"] = f"no result: the whole check takes more than {whole:g} seconds"
            rows["to do"] = "look for a loop that never ends, or for one with far too many steps"
            raise Stop("timeout", table(rows)) from None

    # ---- comparing ---------------------------------------------------------------------------

    def equal(self, got: Any, expected: Any, *, given: str = "", signs: bool = False) -> None:
        """The same values, types and nesting. nan is nan; with `signs`, -0.0 is not 0.0."""
        self._compare(got, expected, lambda: equal(got, expected, signs), given)

    def close(
        self,
        got: Any,
        expected: Any,
        *,
        given: str = "",
        rtol: float = 1e-6,
        atol: float = 1e-9,
        mistakes: Mistakes | None = None,
    ) -> None:
        """Numbers within atol + rtol * |expected|, in nested lists or in what has `.tolist()`.

        `mistakes` gives what known mistakes lead to, by what they are: the one that was made is
        named.
        """
        rtol, atol = max(rtol, self.rtol), max(atol, self.atol)

        def same(other: Any) -> Difference | Same:
            return close(got, other, rtol, atol)

        self._compare(got, expected, lambda: same(expected), given, lambda: named(same, mistakes))

    def that(self, condition: Any, message: str, *, given: str = "") -> None:
        """The condition must hold; the message says what is wrong where it does not."""
        self.compared += 1
        if not condition:
            self.fail({"found": message}, given)

    def picture(self, picture: Any) -> None:
        """SVG, or what shows itself, to be shown if the verdict is going to be wrong."""
        self.shown = picture

    def fail(self, rows: dict[str, str], given: str = "") -> NoReturn:
        """End the check: wrong, for these reasons."""
        raise Stop("wrong", table({**self._about(given), **rows}))

    def _about(self, given: str = "") -> dict[str, str]:
        """The rows that a verdict begins with: the latest call, and what it was about."""
        rows = {"called": self.called, "given": given or self.given, "tensors": self.form}
        return {label: text for label, text in rows.items() if text}

    def _compare(
        self,
        got: Any,
        expected: Any,
        compare: Callable[[], Difference | Same],
        given: str,
        why: Callable[[], str] | None = None,
    ) -> None:
        self.compared += 1
        found = self.run(compare)
        if isinstance(found, Same):
            self.largest = max(self.largest, found)
            return
        got, expected = _shown(got), _shown(expected)
        if why:  # numbers that need not be exact
            got, expected = legible(got, expected)
        rows = {"got": short(got) + advice(got), "expected": short(expected)}
        nested = isinstance(expected, list | tuple | dict)
        if found.text.startswith("at "):
            rows["first"] = found.text
        elif (nested or type(got) is not type(expected)) and not advice(got):
            rows["differs"] = found.text
        if found.largest is not None and nested:
            rows["largest difference"] = f"{found.largest:.6g}"
        if why and (words := why()):
            rows["that is"] = words
        self.fail(rows, given)

    # ---- what was raised, as far as it is the learner's --------------------------------------

    def explain(self, error: BaseException) -> list[str]:
        return table(self._about() | {"raised": message(error)} | place(error))


def as_written(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A call as one would write it."""
    words = [short(arg, 80) for arg in args]
    words += [f"{name}={short(arg, 80)}" for name, arg in kwargs.items()]
    return f"{name_of(function)}({', '.join(words)})"


def name_of(function: Any) -> str:
    """The name of a function or class, as the learner wrote it."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else short(function, 40)


def message(error: BaseException) -> str:
    """Type and message of an error, whatever its __str__ does."""
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be printed)"
    if isinstance(error, RecursionError):
        text += " (a function that calls itself without end, or too deep?)"
    if isinstance(error, MemoryError):
        text = text or f"it takes more than {MEMORY >> 30} GB of memory"
    text = text if len(text) < 400 else text[:400] + " ..."
    name = type(error).__name__
    name = f"{type(error).__module__}.{name}" if name == "error" else name  # struct.error
    return f"{name}: {text}" if text else name


@dataclass(frozen=True)
class Frame:
    """A place in the learner's code."""

    code: CodeType
    line: int

    @property
    def function(self) -> str:
        return "the file" if self.code.co_name == "<module>" else self.code.co_name

    @property
    def place(self) -> str:
        """The line, and of which function; and of which cell, where a notebook is a file."""
        cell = re.match(r"<(cell \d+ of .+)>", self.code.co_filename)
        function = "the cell" if cell and self.function == "the file" else self.function
        return f"line {self.line} of {function}" + (f", in {cell[1]}" if cell else "")

    @property
    def text(self) -> str:
        found = linecache.getline(self.code.co_filename, self.line).strip()
        return found or "(its text is not at hand)"


def own_frames(trace: TracebackType | None) -> list[Frame]:
    """The frames that are neither ours nor Python's own, outermost first."""
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(NOT_THEIRS):
            found.append(Frame(code, trace.tb_lineno))
        trace = trace.tb_next
    return found


def named(same: Callable[[Any], Difference | Same], mistakes: Mistakes | None) -> str:
    """The known mistake that leads to what an answer gave."""
    for words, outcome in (mistakes or {}).items():
        try:
            if isinstance(same(outcome() if callable(outcome) else outcome), Same):
                return words
        except (ArithmeticError, ValueError):  # of a mistake that leads nowhere here
            continue
    return ""


def place(error: BaseException) -> dict[str, str]:
    """The learner's own line behind an error, as rows of a verdict."""
    frames = own_frames(error.__traceback__)
    if not frames:
        return {}
    last = frames[-1]
    return {"your code": f"{last.place}:\n    {last.text}"}


def _shown(value: Any) -> Any:
    """What stands for a value in a verdict: its nested lists, if it has them."""
    try:
        return value.tolist() if hasattr(value, "tolist") else value
    except Exception:
        return value
