"""Golden messages: one-line mistakes, and what tutor says to each.

tests/messages.txt has them as a person would see them; `python tests/test_messages.py` writes it
anew from the lines that are in it. Read what has changed before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tutor
from tutor import Tensor

GOLDEN = Path(__file__).with_name("messages.txt")
INTRO, *BLOCKS = GOLDEN.read_text().rstrip().split("\n\n>>> ")


def said(line: str) -> str:
    """The line, the type of error it raises, and the message."""
    try:
        exec(line, {"tutor": tutor, "Tensor": Tensor})
    except tutor.errors.TutorError as error:
        return f"{line}\n{type(error).__name__}\n{error}"
    return f"{line}\nnothing was raised"


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0])
def test_message(block):
    assert said(block.partition("\n")[0]) == block
    assert [line.partition(":")[0] for line in block.splitlines()[2:]] == [
        "asked", "found", "to do",
    ]  # fmt: skip


if __name__ == "__main__":
    again = [said(block.partition("\n")[0]) for block in BLOCKS]
    GOLDEN.write_text("\n\n>>> ".join([INTRO, *again]) + "\n")
