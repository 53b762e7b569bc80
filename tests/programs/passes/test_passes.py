"""All passes on random Programs: the same bits before and after, whatever is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given as sampled
from hypothesis import settings
from hypothesis import strategies as st
from random_steps import programs
from small import given, run

from tutor.programs.passes import PASSES, improved
from tutor.programs.program import Program


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=300)
@sampled(what=programs())
def test_a_pass_changes_no_bit_and_is_done_at_once(name: str, what: Program) -> None:
    numbers = given(what)
    made = PASSES[name](what)
    assert run(made, numbers) == run(what, numbers)
    assert PASSES[name](made).text() == made.text()


@settings(max_examples=500)
@sampled(what=programs(), wanted=st.none() | st.sets(st.sampled_from(sorted(PASSES))))
def test_passes_together_change_no_bit(what: Program, wanted: set[str] | None) -> None:
    numbers = given(what)
    assert run(improved(what, wanted), numbers) == run(what, numbers)
