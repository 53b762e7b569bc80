"""Runs the check of every piece that is yours: `python -m pytest my_tutor`."""

from pathlib import Path

import pytest

from course.library.own_tests import pieces, verdict


@pytest.mark.parametrize(("id", "name", "whose"), pieces(Path(__file__).parent))
def test_a_piece_passes(id, name, whose):
    if whose != "yours":
        pytest.skip(f"{name} is ours until yours passes")
    found = verdict(id)
    assert found.passed, found.text
