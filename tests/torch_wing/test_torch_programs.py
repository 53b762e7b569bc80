"""Programs as people write them for PyTorch: with other imports alone, tutor.torch gives its
losses."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import both

HERE = Path(__file__).parent / "programs"
PROGRAMS = sorted(p.stem for p in HERE.glob("*.py"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_losses_of_pytorch(name: str) -> None:
    both.check((HERE / f"{name}.py").read_text(), name, 2e-4)


def test_there_are_twenty_six() -> None:
    assert len(PROGRAMS) == 26
