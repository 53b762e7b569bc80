"""Chapter 0, five minutes: one exercise, three questions."""

from __future__ import annotations

from typing import Any

from course.compare import what
from course.exercise import Judge, exercise, question

TARGET = -4.0


@exercise(
    "00.1",
    "Another target",
    answer="reached",
    minutes=2,
    hints=(
        "Only one number in the loop knows about the target: look at the loss.",
        "Copy the loop, put -4.0 where 3.0 is, and keep what x is after the last step.",
        "Write `(here - -4.0) ** 2`, and after the loop `reached = x`.",
    ),
)
def check_00_1(judge: Judge, reached: Any) -> None:
    """`reached` is where x arrives if the target is -4."""
    found = f"`reached` is {what(reached)}, and x is a float, a number with a point"
    judge.that(isinstance(reached, float) and reached == reached, found)
    judge.that(reached < 0, f"x is at {reached:.3f}, on the wrong side of 0")
    judge.that(abs(reached - TARGET) < 0.1, f"x is at {reached:.3f}, which is not near -4")


question(
    "00.q1",
    "The gradient is +2. Which way must x move to make the loss smaller?",
    choices={"a": "up", "b": "down", "c": "it depends on the loss"},
    right="b",
    why="a positive gradient says that the loss grows with x, so x must shrink",
)
question(
    "00.q2",
    "loss = (x - 3) ** 2. At which x is the gradient 0?",
    right=3,
    why="there the loss is smallest, and flat: a small step changes nothing to speak of",
)
question(
    "00.q3",
    "What happens with 1.1 in place of 0.1?",
    choices={
        "a": "it arrives sooner",
        "b": "it arrives later",
        "c": "each step lands further away than the last",
    },
    right="c",
    why="each step goes past 3 and lands on the other side, 1.2 times as far away",
)
