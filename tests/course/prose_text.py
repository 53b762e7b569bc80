"""Where a chapter's text has numbers, and which of them no claim covers."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from prose import Claim

from course import notebooks
from course.exercise import everything

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?!\d)")
# What is no number of the text: each is blanked out before NUMBER is looked for.
NOT_NUMBERS = [
    re.compile(r"(?s)```.*?```"),
    re.compile(r"(?s)``.+?``|`[^`]+`"),
    re.compile(r"(?ms)^#+ Further reading.*?(?=^#|\Z)"),  # other people's pages and minutes
    re.compile(r"(?m)^#.*$"),
    re.compile(r"\]\([^)]*\)|https?://\S+"),
    re.compile(r"</?[a-zA-Z][^>]*>|&#?\w+;"),
    re.compile(r"(?m)^\s*\d+[.)] "),  # the numbers of a list
    re.compile(r"_\{?\d+\}?"),  # the indices of a formula
    re.compile(r"\b(19[5-9]|20[0-3])\d\b"),  # years
    re.compile(r"(?i)\bchapters?\s+\d+b?((,|\s+and|\s+to|\s+or|-)\s*\d+b?)*\b"),
]
COMPARISON = re.compile(  # what a text may promise without a digit
    r"(?i)\b(twice|half|double[sd]?|times as|as many|more than|less than|exactly|every time"
    r"|(?:fast|slow|small|larg|long|short|bett|bigg)er|you (?:will )?see)\b"
)
SECTION = r"(?i)\b(?:of|in|from|see|section|and|to)\s+({})(?![\d.]*\d)"


@dataclass(frozen=True)
class Found:
    """A number in the text of a cell."""

    cell: str
    number: str
    around: str  # the line it stands in


def texts(notebook: notebooks.Notebook) -> Iterator[tuple[notebooks.Cell, str]]:
    """The chapter's text, cell by cell; without the questions, which claim nothing."""
    cells = notebook["cells"]
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        if cell["cell_type"] != "markdown" or "roads" in notebooks.tags(cell):  # is generated
            continue
        text = notebooks.source(cell)
        about = notebooks.about(following) if following else None
        if about and about[0] == "question":
            start = text.rfind(f"**{about[1].partition('.')[2]}.**")
            text = text[: max(start, 0)]
        yield cell, text


def where(quote: str, text: str) -> list[tuple[int, int]]:
    """From where to where a quote stands in a text, whatever its line breaks."""
    pattern = r"\s+".join(map(re.escape, quote.split()))
    return [match.span() for match in re.finditer(pattern, text)] if pattern else []


def numbers(text: str, sections: list[str]) -> Iterator[re.Match[str]]:
    """The numbers in the text of a cell."""
    patterns = [*NOT_NUMBERS, _ids()]
    if sections:
        patterns.append(re.compile(SECTION.format("|".join(map(re.escape, sections)))))
    yield from NUMBER.finditer(_without(patterns, text))


def _without(patterns: list[re.Pattern[str]], text: str) -> str:
    """The text with blanks in place of what these match, so that all else stays where it is."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


@functools.cache
def _ids() -> re.Pattern[str]:
    ids = "|".join(re.escape(entry.id) for entry in everything())
    return re.compile(rf"(?<![\w.])(?:{ids})(?![\d])(?!\.\d)")


def claims(chapter: str) -> list[Claim]:
    found: list[Claim] = import_module(f"prose.ch{chapter}").CLAIMS
    return found


def not_claims(chapter: str) -> dict[str, str]:
    found: dict[str, str] = import_module(f"prose.ch{chapter}").NOT_CLAIMS
    return found


def uncovered(notebook: notebooks.Notebook, quotes: list[str]) -> list[Found]:
    """The numbers of a chapter's text that stand in none of the quotes."""
    whole = "\n\n".join(text for _, text in texts(notebook))
    sections = re.findall(r"(?m)^#+ (\d+\.\d+) ", whole)
    return _outside(notebook, quotes, lambda text: numbers(text, sections))


def comparisons(notebook: notebooks.Notebook, quotes: list[str]) -> list[Found]:
    """Words that compare or promise, and stand in none of the quotes: may be worth a claim."""
    return _outside(notebook, quotes, lambda text: COMPARISON.finditer(_without(NOT_NUMBERS, text)))


def _outside(
    notebook: notebooks.Notebook,
    quotes: list[str],
    look: Callable[[str], Iterator[re.Match[str]]],
) -> list[Found]:
    """What `look` finds in the text of each cell, unless it is inside one of the quotes."""
    found = []
    for cell, text in texts(notebook):
        spans = [span for quote in quotes for span in where(quote, text)]
        for match in look(text):
            if not any(start <= match.start() and match.end() <= end for start, end in spans):
                begin = text.rfind("\n", 0, match.start()) + 1
                line = text[begin:].partition("\n")[0]
                found.append(Found(cell.get("id", ""), match[0], line))
    return found
