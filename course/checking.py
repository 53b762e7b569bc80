"""check, hint, solution and progress: what a learner calls."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any

from course import beside, forbidden, record, stubs
from course.compare import advice, kind, plain, short, what
from course.exercise import Exercise, Question, everything, find, near
from course.guard import Output, TimeUp, limited, quiet
from course.judge import WHOLE, Judge, Stop, message, own_frames
from course.library import saving, session
from course.library.blame import blamed
from course.unrun import missing
from course.verdict import Verdict, in_jupyter, table
from tutor.errors import TutorError

FAILED = ("wrong", "raised", "timeout", "changed")
TRIES = 3  # failing ones, after which the solution opens


def check(id: str, answer: Any = ...) -> Verdict:
    """Mark an answer to an exercise or a question; print the verdict and return it.

    Passes as `exact` or, right to rounding, as `close`. Does not pass as `wrong`, `unsolved`,
    `raised`, `timeout`, `changed`; as `unrun` where a cell above was not run, as `earlier` where it
    is right and an earlier piece of the learner's library breaks it, and as `unknown` where there
    is no such id.
    """
    entry = find(id)
    if entry is None:
        return Verdict(short(id, 40), "unknown", "there is no such exercise", _unknown(id)).show()
    verdict = judged(entry, answer)
    if verdict.passed:
        verdict.lines += passed(entry, answer, verdict.notes)
        if isinstance(entry, Exercise) and beside.remember(entry, answer):
            verdict.folded = beside.as_html(entry, folded=True)
            if not in_jupyter():
                verdict.lines.append(f'solution("{entry.id}") shows ours beside it')
    elif isinstance(entry, Exercise) and (why := missing(entry, verdict.cause)):
        verdict.kind, verdict.lines, verdict.picture = "unrun", why, None
    elif isinstance(entry, Exercise) and verdict.kind in FAILED and (why := blamed(entry, answer)):
        verdict.kind, verdict.lines, verdict.picture = "earlier", why, None
    elif verdict.kind != "unsolved":
        if trouble := record.tried(entry.id, False):
            verdict.notes.append(trouble)
        verdict.lines.extend(_help(entry))
    return verdict.show()


def passed(entry: Exercise | Question, answer: Any, notes: list[str]) -> list[str]:
    """Note that an answer passed, and save it if it is a piece of the library: what to say of it.

    What went wrong with that is added to `notes`.
    """
    if trouble := record.tried(entry.id, True):
        notes.append(trouble)
    if isinstance(entry, Question):
        return []
    session.PASSED[entry.id] = answer
    try:
        return saving.save(entry.id, answer)
    except (TutorError, OSError) as error:
        notes.append(f"it is not saved in your library: {error}")
        return []


def judged(entry: Exercise | Question, answer: Any) -> Verdict:
    """The verdict alone: nothing is printed, nothing is written to the progress file."""
    if isinstance(entry, Question):
        return _asked(entry, answer)
    judge = Judge(entry.seconds)
    verdict = Verdict(entry.id, "exact", entry.title)
    whole = max(WHOLE, entry.seconds)
    if session.is_ours(answer, entry.id):
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


def _help(entry: Exercise | Question) -> list[str]:
    """What can be done after a try that failed."""
    state = record.state(entry.id)
    offers = []
    if isinstance(entry, Exercise) and state.hints < len(entry.hints):
        offers.append(f'hint("{entry.id}") gives hint {state.hints + 1} of {len(entry.hints)}')
    left = TRIES - state.tries
    opened = state.passed or left <= 0
    after = "is open" if opened else f"opens after {left} more {'try' if left == 1 else 'tries'}"
    offers.append(f'solution("{entry.id}") {after}')
    return ["; ".join(offers)]


def _unknown(id: Any) -> list[str]:
    if not isinstance(id, str):
        found = f'{kind(id)} in its place: the id comes first, as check("05.3", answer)'
        return table({"asked": "an id", "found": found})
    rows = {"asked": f"the exercise {id!r}", "found": "there is none of that id"}
    if ids := near(id):
        rows["near to it"] = ", ".join(ids)
    return table(rows | {"to do": "`python -m tutor check --list` lists all of them"})


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


# ---- hints, solutions, progress ------------------------------------------------------------------


def hint(id: str) -> None:
    """Print the next hint: the first call gives the first one."""
    entry = find(id)
    if entry is None:
        print("\n".join(_unknown(id)))
    elif isinstance(entry, Question):
        print(f"{id} is a question and has no hints; the chapter's text has the answer")
    else:
        shown, count = record.state(id).hints, len(entry.hints)
        number = min(shown + 1, count)
        print(f"{id}, hint {number} of {count}: {entry.hints[number - 1]}")
        if shown >= count:
            print("This was the last one.")
        if trouble := record.hinted(id, number):
            print(f"note: {trouble}")


def solution(id: str) -> None:
    """Print the solution: after a pass, or after three tries that failed."""
    entry = find(id)
    if entry is None:
        print("\n".join(_unknown(id)))
        return
    state = record.state(id)
    if not state.passed and state.tries < TRIES:
        left = TRIES - state.tries
        tries = "1 more try" if left == 1 else f"{left} more tries"
        print(f"{id}: the solution opens after a pass, or after {tries}")
        if isinstance(entry, Exercise):
            print(f'hint("{id}") helps until then')
    elif isinstance(entry, Question):
        print(f"{id}: {entry.right!r}. {entry.why}")
    else:
        beside.show(entry)


def progress() -> None:
    """Print, chapter by chapter, what has been passed and how many tries it took."""
    states = record.states()
    chapters: dict[str, list[Exercise | Question]] = {}
    for entry in everything():
        chapters.setdefault(entry.id[:2], []).append(entry)
    print("chapter  exercises  questions  challenges  tries that failed")
    for chapter, entries in chapters.items():
        done = {entry.id: states.get(entry.id, record.State()) for entry in entries}
        exercises = [entry for entry in entries if isinstance(entry, Exercise)]
        sorts = {
            "exercises": [entry.id for entry in exercises if not entry.stretch],
            "questions": [entry.id for entry in entries if isinstance(entry, Question)],
            "challenges": [entry.id for entry in exercises if entry.stretch],
        }
        line = f"{chapter:>7}"
        for label, ids in sorts.items():
            count = f"{sum(done[id].passed for id in ids)} of {len(ids)}" if ids else "-"
            line += f"  {count:>{len(label)}}"
        print(f"{line}  {sum(state.tries for state in done.values()):>17}")
