"""How much a person has to read to follow one training step: it may only become less."""

from __future__ import annotations

import pytest
from path import Passed, in_a_process_of_its_own, passed

# As it is now. The aim is 450 lines in 32 files for the step, and 25 functions for a + b.
MOST = {"step": Passed(lines=521, functions=174, files=52),
        "add": Passed(lines=158, functions=52, files=22)}  # fmt: skip


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
