"""Theirs beside ours, once an answer has passed: what differs, and why ours is as it is."""

from __future__ import annotations

import difflib
import html
from typing import Any

from course.exercise import Exercise
from course.library import saving
from course.library.answers import taken
from course.verdict import display_html, in_jupyter

PASSED: dict[str, str] = {}  # what passed since Python was started, by id

COLUMN = "flex: 1 1 20em; min-width: 0"
CODE = "line-height: 1.35; overflow-x: auto; margin: 0.3em 0"
MARKED = "background: rgba(128, 128, 128, 0.22); display: inline-block; min-width: 100%"


def remember(entry: Exercise, answer: Any) -> str:
    """Keep the text of an answer that passed; "" where it is not at hand."""
    found = taken(answer, entry.answer, set())
    if found.text:
        PASSED[entry.id] = found.text
    return found.text


def theirs(entry: Exercise) -> str:
    """The answer of theirs that passed last, or that stands in their library; "" if none."""
    if text := PASSED.get(entry.id):
        return text
    own = saving.shelf().piece(entry.id)
    return own.text.strip("\n") if own else ""


def as_text(entry: Exercise) -> str:
    """Ours; if there is one of theirs, that above it."""
    own = theirs(entry)
    parts = [f"# yours\n{own}\n\n\n# ours\n" if own else "", entry.solution, "\n"]
    if entry.why_ours:
        parts.append(f"\n{entry.why_ours}\n")
    return "".join(parts)


def as_html(entry: Exercise, folded: bool) -> str:
    """Both in columns, with what only one of them has marked; "" where there is none of theirs."""
    own = theirs(entry)
    if not own:
        return ""
    one, other = own.splitlines(), entry.solution.splitlines()
    blocks = difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    same = [set(range(b.a, b.a + b.size)) for b in blocks]
    also = [set(range(b.b, b.b + b.size)) for b in blocks]
    columns = "".join(
        f'<div style="{COLUMN}"><b>{title}</b>'
        f'<pre style="{CODE}">{_marked(lines, kept)}</pre></div>'
        for title, lines, kept in (
            ("yours", one, set().union(*same)),
            ("ours", other, set().union(*also)),
        )
    )
    why = f"<p>{html.escape(entry.why_ours)}</p>" if entry.why_ours else ""
    body = f'<div style="display: flex; flex-wrap: wrap; gap: 1em">{columns}</div>{why}'
    if not folded:
        return body
    return f"<details><summary>yours beside ours</summary>{body}</details>"


def _marked(lines: list[str], same: set[int]) -> str:
    """Lines as HTML, those that the other one has not marked."""
    found = []
    for number, line in enumerate(lines):
        text = html.escape(line)
        found.append(text if number in same else f'<span style="{MARKED}">{text or " "}</span>')
    return "\n".join(found)


def show(entry: Exercise) -> None:
    """Show both: in Jupyter side by side, else one above the other."""
    markup = as_html(entry, folded=False) if in_jupyter() else ""
    if markup:
        display_html(markup, as_text(entry))
    else:
        print(as_text(entry), end="")
