"""How much a person has to read to follow one training step: it may only become less."""

from __future__ import annotations

import re

import pytest
import trunk
from path import ROOT, Passed, in_a_process_of_its_own, passed

# As it is now. The aim is 450 lines in 32 files for the step, and 25 functions for a + b.
MOST = {"step": Passed(lines=540, functions=176, files=48),
        "add": Passed(lines=163, functions=49, files=21)}  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[str, Passed]:
    return in_a_process_of_its_own()


@pytest.mark.parametrize("name", MOST)
def test_the_readable_path_does_not_grow(name: str, found: dict[str, Passed]) -> None:
    for now, most in zip(found[name], MOST[name], strict=True):
        assert now <= most, f"{name} passes through {found[name]}: more than {MOST[name]}"


def test_what_is_counted_is_what_runs() -> None:
    def other(n: int) -> int:
        if n > 0:
            return n
        return -n

    def run() -> None:
        for n in (1, 2, 3):
            other(n)

    assert passed(run, __file__) == Passed(lines=4, functions=2, files=1)
    assert passed(lambda: [run(), other(-1)], __file__) == Passed(lines=6, functions=3, files=1)
    assert passed(run, "elsewhere") == Passed(0, 0, 0)


def test_the_readme_says_what_was_counted(found: dict[str, Passed]) -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    step, paths = found["step"], [*(ROOT / "tutor").rglob("*.py")]
    assert f"passes through {step.functions} functions, {step.lines} lines" in text
    said = re.search(r"has about ([\d,]+) lines\. .+ Another ([\d,]+) lines stand on it", text)
    assert said is not None
    inside, outside = (int(number.replace(",", "")) for number in said.groups())
    counted = trunk.lines(trunk.files())
    assert (inside, outside) == (round(counted, -2), round(trunk.lines(paths) - counted, -2))
