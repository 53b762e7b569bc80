"""docs/torch.md: its table of operations is that of tests/torch_wing/torch_sweep.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import torch_sweep as sweep

PAGE = Path(__file__).parents[2] / "docs" / "torch.md"


def test_the_page_has_the_table_of_differences() -> None:
    table = PAGE.read_text().partition("| operation | what differs |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\S+)` \| (.+) \|$", table, re.MULTILINE))
    assert rows == sweep.DIFFERENT
