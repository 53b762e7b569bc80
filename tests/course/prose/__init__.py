"""What the chapters' texts claim, by chapter, each claim with the condition under which it holds.

`tests/course/prose/ch05.py` has two names:

    CLAIMS = [
        Claim("`b` is visited twice", lambda names: ...),
        Claim("Right five times", lambda names: names["PRINTED"].count("naive") == 5),
    ]
    NOT_CLAIMS = {"with a = 2, b = -3, c = 10": "the input, which the next cell sets"}

A quote stands in the text word for word; line breaks count as spaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

WHEN = ("there", "next", "end")


@dataclass(frozen=True)
class Claim:
    """Words of a chapter's text, and a condition: True where what they say is so.

    The condition is asked while the chapter runs with all its solutions. It is given the names of
    the chapter, and under "PRINTED", "DATA" and "ABOUT" what was printed, "mnist" or "drawn", and
    the chapter's metadata. `when` says at which time it is asked:

    - "there": where the text stands. All cells above have run; PRINTED is of those right above.
    - "next": when the cells right below the text have run, too; PRINTED is of those.
    - "end": when the whole chapter has run; PRINTED is of all of it.
    """

    quote: str
    holds: Callable[[dict[str, Any]], bool]
    when: str = "there"
