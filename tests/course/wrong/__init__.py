"""Wrong answers to the exercises, chapter by chapter: {id: {why it is wrong: answer}}.

An answer is the text of a cell, or, where it differs by a few words from the solution, an `edit` of
that: `edit("text of the solution", "what stands there instead")`, with any number of such pairs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """A solution with some of its words exchanged."""

    pairs: tuple[tuple[str, str], ...]

    def of(self, solution: str) -> str:
        """The solution, edited. Each text must be found in it exactly once."""
        for old, new in self.pairs:
            count = solution.count(old)
            assert count == 1, f"{old!r} is found {count} times in the solution:\n{solution}"
            solution = solution.replace(old, new)
        return solution


def edit(*words: str) -> Edit:
    """`edit("old", "new", "another old", "another new")`: the solution with these exchanged."""
    assert words and len(words) % 2 == 0, "texts come in pairs: the old one, the new one"
    return Edit(tuple(zip(words[::2], words[1::2], strict=True)))


def text(answer: str | Edit, solution: str) -> str:
    """The text of a planted answer."""
    return answer.of(solution) if isinstance(answer, Edit) else answer
