"""The ten programs of tests/ported, run by tutor.torch with no line changed but the imports."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")  # pip install "tutorgrad[bench]"
pytest.importorskip("scipy")

import both

HERE = Path(__file__).parents[1] / "ported"
PROGRAMS = sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith("test_"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_numbers_of_pytorch(name: str) -> None:
    both.check((HERE / f"{name}.py").read_text(), name, 2e-3)


def test_there_are_ten() -> None:
    assert len(PROGRAMS) == 10
