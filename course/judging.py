"""The verdict on an answer: nothing is printed, nothing is written."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any

from course import forbidden, stubs
from course.compare import advice, kind, plain, short, what
from course.exercise import Exercise, Question
from course.guard import SLOWER, Output, TimeUp, limited, quiet
from course.judge import WHOLE, Judge, Stop, message, own_frames
from course.standing import is_ours
from course.verdict import Verdict, table


def judged(entry: Exercise | Question, answer: Any) -> Verdict:
    """The verdict alone: nothing is printed, nothing is written to the progress file."""
    if isinstance(entry, Question):
        return _asked(entry, answer)
    judge = Judge(entry.seconds * SLOWER)
    verdict = Verdict(entry.id, "exact", entry.title)
    whole = max(WHOLE, judge.seconds)
    if is_ours(answer, entry.id):
        verdict.kind = "unsolved"
        verdict.lines = ["this is ours, which went on in your place: run your own cell again"]
        return verdict
    try:
        with quiet(judge.output):
            if limited(lambda: stubs.unsolved(entry, answer), whole):
                verdict.kind, verdict.lines = "unsolved", _unsolved(entry, answer)
                return verdict
            forbidden.refuse(entry, answer)
            if lines := forbidden.leaves(answer):
                raise Stop("raised", lines)
            limited(lambda: entry.check(judge, answer), whole)
    except Stop as stop:
        verdict.kind, verdict.lines, verdict.cause = stop.kind, stop.lines, stop.cause
        verdict.picture = judge.shown if stop.kind == "wrong" else None
    except TimeUp:
        rows = {"called": judge.called} if judge.called else {}
        rows["found"] = f"the check took more than {whole:g} seconds with this answer"
        verdict.kind, verdict.lines = "timeout", table(rows)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _escaped(verdict, judge, error, entry)
    else:
        count = f"{judge.compared} comparisons" if judge.compared != 1 else "1 comparison"
        verdict.lines = [f"{count}; all is as it should be"]
        if judge.largest:
            verdict.kind = "close"
            verdict.lines = [f"near enough: the largest difference is {judge.largest:.3g}"]
        if not judge.compared:  # a loop over an empty answer, for instance
            _escaped(verdict, judge, ValueError("there was nothing to compare"), entry)
    if printed := judge.output.text.strip():
        lines = printed.splitlines()
        more = f" (and {len(lines) - 1} lines more)" if len(lines) > 1 else ""
        verdict.notes.append(f"it printed {short(lines[0], 60)}{more}")
    return verdict


def _escaped(verdict: Verdict, judge: Judge, error: BaseException, entry: Exercise) -> None:
    """An error that left the check: raised by the learner's code, or because of what it gave."""
    check = getattr(entry.check, "__code__", None)  # which need not be in tutor: a teacher's own
    if [frame for frame in own_frames(error.__traceback__) if frame.code is not check]:
        verdict.kind, verdict.lines, verdict.cause = "raised", judge.explain(error), error
        return
    verdict.kind, verdict.error = "wrong", error
    rows = {"called": judge.called} if judge.called else {}
    rows["found"] = f"the answer could not be examined: {message(error)}"
    rows["to do"] = "look at the type of what it gives; the text says what is expected"
    verdict.lines = table(rows)


def _unsolved(entry: Exercise | Question, answer: Any) -> list[str]:
    if isinstance(entry, Question):
        letters = " or ".join(f'"{letter}"' for letter in entry.choices)
        return [f"put {letters or 'your answer'} in place of the dots"]
    to_do = f"write `{entry.answer}` in the cell above"
    if isinstance(answer, list | tuple | dict):
        to_do = f"put an answer in place of each ... in `{entry.answer}`"
    return [entry.task, f'{to_do}; hint("{entry.id}") helps']


# ---- questions -----------------------------------------------------------------------------------


def _asked(entry: Question, answer: Any) -> Verdict:
    verdict = Verdict(entry.id, "exact", lines=[entry.why])
    if answer is Ellipsis:
        verdict.kind, verdict.lines = "unsolved", _unsolved(entry, answer)
        return verdict
    try:
        with quiet(Output()):
            right, found = limited(lambda: _right(entry, answer), 2.0)
    except TimeUp:
        right, found = False, "it takes too long to look at"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        right, found = False, f"the answer could not be examined: {message(error)}"
    if not right:
        verdict.kind, verdict.lines = "wrong", [found, *_tempting(entry, answer)]
    return verdict


def _tempting(entry: Question, answer: Any) -> list[str]:
    """Why one may have thought so, for a wrong answer that is known to be given."""

    def words() -> list[str]:
        asked = {wrong: replace(entry, right=wrong) for wrong in entry.tempting}
        return [entry.tempting[wrong] for wrong in asked if _right(asked[wrong], answer)[0]]

    with contextlib.suppress(Exception, TimeUp), quiet(Output()):
        return limited(words, 2.0)[:1]  # type: ignore[no-any-return]
    return []


def _right(entry: Question, answer: Any) -> tuple[bool, str]:
    """Whether an answer is right, and what to say if it is not."""
    if entry.choices:
        letters = ", ".join(repr(letter) for letter in entry.choices)
        chosen = answer.strip().lower().strip(".()") if type(answer) is str else None
        if chosen not in entry.choices:
            return False, f"{what(answer)} is none of the choices {letters}"
        return chosen == entry.right, f"it is not {chosen}) {entry.choices[chosen]}"
    answer, right = plain(answer), entry.right
    if isinstance(right, int | float) and not isinstance(right, bool):
        if not isinstance(answer, int | float) or isinstance(answer, bool):
            return False, f"{what(answer)} is not a number"
        near_enough = math.isclose(answer, right, rel_tol=1e-6) if type(right) is float else None
        return answer == right or bool(near_enough), f"it is not {short(answer, 60)}"
    if isinstance(right, list | tuple):
        if type(answer) not in (list, tuple):
            return False, f"it is not {what(answer)}, but {kind(right)}{advice(answer)}"
        return list(answer) == list(right), f"it is not {short(answer, 60)}"
    same = type(answer) is type(right) and bool(right == answer)
    return same, f"it is not {short(answer, 60)}{advice(answer)}"
