"""What a chapter's text says is so: its claims hold, and every number in it is claimed or excused.

`python tests/course/test_prose.py 05` lists the numbers that no claim of chapter 5 covers.
"""

from __future__ import annotations

import dis
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import prose_text
import pytest
from by_turns import ASKED, turn
from prose import WHEN, Claim
from running import Runs, errors

from course import notebooks, roads
from tutor.data import fetch
from tutor.data.sets import corpus, mnist

HERE = Path(__file__).parent
CHAPTERS = notebooks.chapters()

# Chapters whose numbers are not all claimed yet. Who has claimed them takes the chapter out.
PENDING: set[str] = set()

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


LOADED = {"data.load(": mnist.FILES["train"][0], "data.load_text(": corpus.SHAKESPEARE}


def data_sets(chapter: str) -> list[str]:
    """On which data a chapter's claims must hold: where it loads MNIST or Shakespeare, with these
    ("mnist") and without them ("drawn"): the digits, or the text, are then made."""
    cells = notebooks.code_cells(notebooks.read(CHAPTERS[chapter]))
    text = "\n".join(map(notebooks.source, cells))
    files = [file for call, file in LOADED.items() if call in text]
    kept = [
        fetch.own_copy(f) or (fetch.cache_folder() / f.folder / f.kept).is_file() for f in files
    ]
    return ["mnist", "drawn"] if files and all(kept) else ["drawn"]


def chosen() -> list[tuple[str, str]]:
    """The chapters to run, and with which data. Chapter 8 and those of Part II train for minutes:
    of their runs each commit has another one (see by_turns.py)."""
    every = [(chapter, data) for chapter in CHAPTERS for data in data_sets(chapter)]
    long = [run for run in every if run[0] == "08" or roads.part(run[0]) == "II"]
    if ASKED == "all":
        return every
    now = long[turn(len(long))] if ASKED else None
    return [run for run in every if run not in long or run == now]


RUNS = chosen()


@pytest.mark.crossed("chapter", "data")
@pytest.mark.parametrize(("chapter", "data"), RUNS)
def test_what_the_text_says_is_so(chapter: str, data: str, runs: Runs) -> None:
    claims = prose_text.claims(chapter)
    if not claims:  # then nobody asks
        assert chapter in PENDING
        return
    result = runs.claims(chapter, data)
    assert errors(result) == {}
    answers = zip(claims, result["claims"], strict=True)
    wrong = [f"{claim.quote!r}: {answer}" for claim, answer in answers if answer]
    assert wrong == [], "\n".join(wrong)


@each_chapter
def test_every_number_of_the_text_is_claimed(chapter: str) -> None:
    """It stands in the words of a claim, or in those of NOT_CLAIMS."""
    quotes = [claim.quote for claim in prose_text.claims(chapter)]
    quotes += list(prose_text.not_claims(chapter))
    found = prose_text.uncovered(notebooks.read(CHAPTERS[chapter]), quotes)
    if chapter in PENDING:
        assert found, f"take {chapter} out of PENDING: all its numbers are claimed"
    else:
        assert found == [], f"see `python tests/course/test_prose.py {chapter}`"


@each_chapter
def test_quotes_are_in_the_text(chapter: str) -> None:
    """A claim's in one place only, so that it is clear at which time it is to be asked."""
    texts = [text for _, text in prose_text.texts(notebooks.read(CHAPTERS[chapter]))]
    for claim in prose_text.claims(chapter):
        count = sum(len(prose_text.where(claim.quote, text)) for text in texts)
        assert count == 1, f"{claim.quote!r} is {count} times in chapter {chapter}"
        assert claim.when in WHEN, claim.quote
    for quote, why in prose_text.not_claims(chapter).items():
        assert any(prose_text.where(quote, text) for text in texts), f"not in the text: {quote!r}"
        assert any(prose_text.numbers(quote, [])), f"there is no number in {quote!r}"
        assert why.strip() and "\n\n" not in quote, quote


def asks_nothing(claim: Claim) -> bool:
    """Whether a condition is but a constant."""
    if not isinstance(claim.holds, FunctionType):
        return False
    idle = {"RESUME", "NOP", "CACHE", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
    return {step.opname for step in dis.get_instructions(claim.holds)} <= idle


@each_chapter
def test_no_condition_is_a_constant(chapter: str) -> None:
    assert [claim.quote for claim in prose_text.claims(chapter) if asks_nothing(claim)] == []


def test_pending_chapters_are_chapters() -> None:
    assert {path.stem[2:] for path in (HERE / "prose").glob("ch*.py")} >= PENDING | set(CHAPTERS)


# ---- the machinery itself ------------------------------------------------------------------------


def code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "id": "c", "metadata": {}, "source": text}


def markdown(text: str, id: str = "m") -> dict[str, Any]:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": text}


def chapter_of(*cells: dict[str, Any]) -> notebooks.Notebook:
    return {"cells": list(cells), "metadata": {"tutor": {"minutes": 7}}}


def test_which_numbers_are_found() -> None:
    text = """\
# 5. A heading of 12 words

It takes 3 steps of 0.5, or 1,024; see [a page](https://a.b/77) and 05.1, in chapters 1 to 4 and 7.
Since 1998, `x = 9`, float32, x2, **q1.** and 60 % of 28 x 28; $x_1 = 2.30$, 1e-6. In 5.2 it is 5.2.

1. a list
2. of two

```text
14 times
```

## 5.2 Another

## Further reading

- A book of 300 pages, 1998.
"""
    found = prose_text.uncovered(chapter_of(markdown(text)), [])
    numbers = [number.number for number in found]
    assert numbers == ["3", "0.5", "1,024", "60", "28", "28", "2.30", "1e-6", "5.2"]
    assert found[0].around.startswith("It takes 3 steps of 0.5")


def test_quotes_cover_the_numbers_that_they_have() -> None:
    notebook = chapter_of(markdown("It takes 3 steps\nof 0.5 each."), markdown("Or 3."))
    left = prose_text.uncovered(notebook, ["3 steps of 0.5"])
    assert [number.around for number in left] == ["Or 3."]
    assert prose_text.uncovered(notebook, ["takes 3", "of 0.5", "3."]) == []


def test_questions_claim_nothing() -> None:
    asked = {"cell_type": "code", "metadata": {"tags": ["question-05.q1"]}, "source": ""}
    notebook = chapter_of(markdown("Now 2 of them.\n\n**q1.** Is 7 more than 6?"), asked)
    assert [n.number for n in prose_text.uncovered(notebook, [])] == ["2"]


def test_claims_are_asked_at_their_time() -> None:
    from run_claims import run as ask_all

    notebook = chapter_of(
        code("x = 1\nprint('one')"),
        markdown("x is 1 here,"),
        code("import random\nrandom.seed(0)\nx = 2\nprint('two')"),
        markdown("and then it is 2."),
        code("x = random.random()"),
    )
    one, two = "x is 1 here", "it is 2"
    cases = {
        Claim(one, lambda names: names["x"] == 1 and names["PRINTED"] == "one\n"): "",
        Claim(one, lambda names: names["x"] == 2, when="next"): "",
        Claim(one, lambda names: names["PRINTED"] == "two\n", when="next"): "",
        Claim(two, lambda names: names["PRINTED"] == "two\n"): "",
        Claim(two, lambda names: names["PRINTED"] == "one\ntwo\n", when="end"): "",
        Claim(two, lambda names: bool(names["random"].random())): "",  # disturbs nothing:
        Claim(two, lambda names: names["x"] == 0.8444218515250481, when="end"): "",
        Claim(two, lambda names: names["DATA"] == "drawn" and names["ABOUT"]["minutes"] == 7): "",
        Claim(two, lambda names: names["x"] == 3): "the condition gave False",
        Claim(two, lambda names: names["x"]): "the condition gave 2",
        Claim("it is 3", lambda names: True): "its words are not in the text",
    }
    result = ask_all(notebook, [*cases, Claim(one, lambda names: names["y"] == 1)], "drawn")
    assert errors(result) == {}
    assert result["claims"][:-1] == list(cases.values())
    assert "KeyError: 'y'" in result["claims"][-1]


def test_a_constant_is_no_condition() -> None:
    assert asks_nothing(Claim("x", lambda names: True))
    assert not asks_nothing(Claim("x", lambda names: names["x"] == 1))


if __name__ == "__main__":
    for chapter in sys.argv[1:] or CHAPTERS:
        quotes = [claim.quote for claim in prose_text.claims(chapter)]
        quotes += list(prose_text.not_claims(chapter))
        left = prose_text.uncovered(notebooks.read(CHAPTERS[chapter]), quotes)
        for found in left:
            print(f"{found.cell:<8}{found.number:>10}  {found.around}")
        words = prose_text.comparisons(notebooks.read(CHAPTERS[chapter]), quotes)
        for found in words:
            print(f"{found.cell:<8}{found.number:>10}? {found.around}")
        print(f"chapter {chapter}: {len(left)} numbers that no claim covers (no test passes them),")
        print(f"and {len(words)} comparisons and promises that may be worth one")
