"""check, hint, solution and progress: what a learner calls."""

from __future__ import annotations

from typing import Any

from course import beside, record
from course.compare import kind, short
from course.exercise import Exercise, Question, everything, find, near
from course.judging import judged
from course.library.blame import blamed
from course.library.session import passed
from course.unrun import missing
from course.verdict import Verdict, in_jupyter, table

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
        chapters.setdefault(entry.id.partition(".")[0], []).append(entry)
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
