"""The rules that are written in letters: tutor/backends/shape_rules.py, and rules.cpp beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tutor
from tutor.backends.shape_rules import FORMS, LETTERS, Letters
from tutor.backends.signatures import SIGNATURES
from tutor.errors import ShapeError

RULES = Path(tutor.__file__).parent / "backends" / "simd_cpp" / "engine" / "rules.cpp"
COPY = SIGNATURES["copy"]


def shape(text: str, *shapes: Any) -> Any:
    """What the rule gives for these shapes, or how they misfit."""
    try:
        return Letters(text)(COPY, "f", shapes, {})
    except ShapeError as error:
        return error.found


def test_cpp_has_the_same_texts() -> None:
    found = re.findall(r'constexpr Letters (\w+)\(\s*((?:"[^"]*"\s*)+)\)', RULES.read_text())
    assert {name: "".join(re.findall('"([^"]*)"', texts)) for name, texts in found} == LETTERS


def test_every_text_is_read_to_its_end_and_says_each_size_that_it_returns() -> None:
    for form, text in LETTERS.items():
        rule = Letters(text)
        named = [letter for _, _, letters in rule.operands for letter in letters]
        assert {*rule.result[2]} <= {*named} and form in FORMS
        shown = ", ".join(rule.texts[:-1]) + " ->" + rule.texts[-1]
        assert shown == text, "a part of it is no operand"


LINEAR, MATMUL = LETTERS["linear"], LETTERS["mat_mul"]


@pytest.mark.parametrize(("text", "shapes", "wanted"), [
    (LINEAR, [(3,), (5, 3), (5,)], (5,)),
    (LINEAR, [(7, 2, 3), (5, 3), (5,)], (7, 2, 5)),
    (LINEAR, [(7, 2, 3), (5, 3)], (7, 2, 5)),
    (LINEAR, [(0, 3), (5, 3), (5,)], (0, 5)),
    (LINEAR, [(), (5, 3)], "x is a number"),
    (LINEAR, [(2, 3), (1, 5, 3)], "weight has shape (1, 5, 3)"),
    (LINEAR, [(2, 3), (5, 4)], "k is 3 in x and 4 in weight"),
    (LINEAR, [(2, 3), (5, 3), (4,)], "n is 5 in weight and 4 in bias"),
    (LINEAR, [(2, 1), (5, 3)], "k is 1 in x and 3 in weight"),  # a letter is never stretched
    (MATMUL, [(2, 3), (3, 4)], (2, 4)),
    (MATMUL, [(6, 1, 2, 3), (7, 3, 4)], (6, 7, 2, 4)),
    (MATMUL, [(2, 3), (4, 3)], "k is 3 in x and 4 in y"),
    (MATMUL, [(3,), (3, 4)], "x has shape (3,)"),
    (MATMUL, [(2, 2, 3), (3, 3, 4)], "axis -1 (from the right) has sizes 2 against 3"),
    (LETTERS["cross_entropy"], [(8, 2, 10), (8, 2)], (8, 2)),
    (LETTERS["cross_entropy"], [(10,), ()], ()),
    (LETTERS["cross_entropy"], [(8, 10), (1,)], "the leading axes differ"),
    (LETTERS["cross_entropy"], [(8, 10), (8, 1)], "the leading axes differ"),
    (LETTERS["channel_norm"], [(4, 6, 9), (6,), (6,), (6,), (6,)], (4, 6, 9)),
    (LETTERS["channel_norm"], [(6, 9), (6,)], "x has shape (6, 9)"),
    (LETTERS["norm_grad"], [(4, 6), (4, 6), (6,), (6,)], (4, 6)),
    (LETTERS["norm_grad"], [(4, 6), (3, 6), (6,), (6,)], "the leading axes differ"),
])  # fmt: skip
def test_a_rule_in_letters(text: str, shapes: list[Any], wanted: Any) -> None:
    assert shape(text, *shapes) == wanted


def test_what_to_do_names_the_operands_that_were_given() -> None:
    with pytest.raises(ShapeError) as caught:
        tutor.Tensor.ones(2, 3) @ tutor.Tensor.ones(2, 3)
    assert caught.value.asked == "matmul of shapes (2, 3) and (2, 3)"
    assert "x (*, m, k), y (*, k, n), where a letter" in caught.value.do
