"""A certificate, made offline from one's own progress: `python -m tutor course certificate`.

It says what was passed and what was not, chapter by chapter, and where that is known from. It reads
the progress file and nothing else, and writes one HTML file, which asks nobody for anything.
"""

from __future__ import annotations

import hashlib
import html
import time
from dataclasses import dataclass, field
from pathlib import Path

from course import capstone, record, roads
from course.exercise import Exercise, Question, everything
from tutor.errors import DataError

FILE = "certificate.html"
SORTS = ("exercises", "questions", "challenges")
STYLE = """
body { font: 16px/1.5 Georgia, serif; max-width: 50em; margin: 3em auto; padding: 0 1em; }
h1 { font-weight: normal; } .name { border-bottom: 1px solid; height: 2.5em; max-width: 25em; }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; }
td, th { text-align: left; vertical-align: top; padding: 0.2em 0.6em; border-top: 1px solid #bbb; }
td.count { white-space: nowrap; } p.small { font-size: 0.85em; }
"""


@dataclass
class Row:
    """A chapter: of each sort, (passed, all); the ids that are open, tried or not."""

    label: str
    title: str
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def sort(entry: Exercise | Question) -> str:
    if isinstance(entry, Question):
        return "questions"
    return "challenges" if entry.stretch else "exercises"


def rows(states: dict[str, record.State]) -> list[Row]:
    """A row for each chapter, and one for the projects."""
    titles = {"P": "Projects"}
    for chapter in roads.chapters():
        titles.setdefault(chapter.number[:2], chapter.title)
    found: dict[str, Row] = {}
    for entry in everything():
        number, state = entry.id.partition(".")[0], states.get(entry.id, record.State())
        row = found.setdefault(number, Row(number.lstrip("0") or "0", titles[number]))
        passed, every = row.counts.get(sort(entry), (0, 0))
        row.counts[sort(entry)] = passed + state.passed, every + 1
        if not state.passed:
            (row.tried if state.tries else row.skipped).append(entry.id)
    return list(found.values())


def page(states: dict[str, record.State], source: Path, date: str) -> str:
    """The certificate, as HTML that needs nothing else."""
    table = rows(states)
    counts = [pair for row in table for pair in row.counts.values()]
    passed, every = (sum(column) for column in zip(*counts, strict=True))
    tries, hints = (
        sum(getattr(s, name) for s in states.values()) for name in ("tries", "hints")
    )  # fmt: skip
    lines = [
        f"{id} {states[id].passed} {states[id].tries} {states[id].hints}" for id in sorted(states)
    ]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    mark = "passed" if states.get(capstone.ID, record.State()).passed else "not passed"
    heads = "".join(f"<th>{head}</th>" for head in ("", "chapter", *SORTS, "not passed"))
    body = "\n".join(map(as_html, table))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>tutor: what was passed</title>
<style>{STYLE}</style></head><body>
<h1>tutor, a deep-learning library built by</h1>
<p class="name"></p>
<p><strong>{passed} of {every}</strong> exercises, questions and challenges passed; the capstone
tutor200.py: <strong>{mark}</strong>. {tries} tries did not pass
before, and {hints} hints were read.</p>
<table><tr>{heads}</tr>
{body}
</table>
<p class="small">Made on {date} from {html.escape(source.name)}, on the learner's own machine.
Nobody watched, and nothing was sent anywhere. To verify it, run the notebooks: the checks give
the same verdicts on every machine. Digest of the progress: {digest}</p>
</body></html>
"""


def as_html(row: Row) -> str:
    cells = [f"<td>{row.label}</td><td>{html.escape(row.title)}</td>"]
    for name in SORTS:
        passed, every = row.counts.get(name, (0, 0))
        cells.append(f'<td class="count">{f"{passed} of {every}" if every else ""}</td>')
    words = [f"tried: {', '.join(row.tried)}"] if row.tried else []
    if row.skipped:
        whole = len(row.skipped) == sum(every for _, every in row.counts.values())
        words.append("skipped" if whole else f"skipped: {', '.join(row.skipped)}")
    cells.append(f"<td>{'; '.join(words)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def write(target: str | None) -> int:
    """Write the certificate, and say where it is."""
    states, source, path = record.states(), record.file(), Path(target or FILE)
    if not states:
        raise DataError(
            "a certificate", f"{source} has no progress",
            "pass something first, or go into the folder of your notebooks",
        )  # fmt: skip
    if trouble := record.replace_file(path, page(states, source, time.strftime("%d %B %Y"))):
        raise DataError(f"the file {path}", trouble, "name another file")
    print(f"{path}: from {source}; nothing was sent anywhere")
    return 0
