"""Prose without the habits that make a text read as if it were translated.

What a pattern can find is refused: in README, in the pages of docs/, and in the docstrings and
comments of the library's Python. Where a page quotes one, or has not been rewritten, the number of
hits is stated here; it may only become less.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from test_words import ROOT, prose

VERBS = "asks|calls|catches|has|knows|likes|looks|makes|measures|needs|reads|uses|wants|writes"
HABITS = {
    "'who' without a person": rf"(?:^|[.;:] )Who (?:{VERBS})\b(?!.*\?)",
    "a leading 'Of'": r"(?:^|[.:;] )Of (?:a|an|the|what|much|one|these|those|several|each|all)\b",
    "'anew' for again": r"\banew\b",
    "'foretell' for predict": r"\bforet(?:ell|old)",
    "'as ever' for as usual": r"\bas ever\b",
    "'in place of' for instead of": r"\bin place of\b",
    "'there and back'": r"\bthere and back\b",
    "', too' at the end": r", too[.;:]",
}
GENERATED = ("exhaustive.md", "conformance.md", "onnx.md", "kernels.md", "ops.md")
# docs/pytorch.md: sentences that the comparison with PyTorch quotes; one is in a doctest.
LEFT = {"', too' at the end": 4, "a leading 'Of'": 1}


def texts() -> list[Path]:
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name not in GENERATED]
    return [ROOT / "README.md", *pages, *(ROOT / "tutor").rglob("*.py")]


def habits(text: str) -> list[str]:
    """The habits in one line of prose, once for each time."""
    return [name for name, pattern in HABITS.items() for _ in re.findall(pattern, text)]


def test_no_habit_comes_back() -> None:
    found = Counter[str]()
    places = []
    for path in texts():
        for number, line in prose(path):
            for name in habits(line.strip(" #*/")):
                found[name] += 1
                places.append(f"{path.relative_to(ROOT)}:{number}: {name}")
    assert dict(found) == LEFT, "\n".join(places)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Who asks for the bytes gets a copy.", "'who' without a person"),
        ("Of a gradient the sign alone counts.", "a leading 'Of'"),
        ("the list is made anew", "'anew' for again"),
        ("it is run as ever", "'as ever' for as usual"),
        ("It is told, too.", "', too' at the end"),
    ],
)
def test_each_is_noticed(line: str, name: str) -> None:
    assert name in habits(line)


def test_plain_sentences_have_none() -> None:
    for line in ("The person who asks gets a copy.", "Two rows are equal, too many to print.",
                 "A Buffer does not contain the bytes: it has a memory."):  # fmt: skip
        assert not habits(line)
