"""The six patches of chapter 18 have the faults that the check says they have."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from course.patches import FAULTS, LETTERS, PATCHES
from tutor import OPS, Tensor, no_grad
from tutor.errors import DTypeError, GraphError
from tutor.ops.elementwise import Unary
from tutor.testing import gradcheck

POINTS = [0.125, 0.25, 0.5, 0.875]


@pytest.fixture
def ops() -> Iterator[dict[str, Any]]:
    """The class of each patch; the catalogue is afterwards as it was."""
    before, found = dict(OPS), {}
    for letter, text in PATCHES.items():
        names = {"Unary": Unary, "no_grad": no_grad, "Tensor": Tensor, "DTypeError": DTypeError}
        exec(text, names)
        found[letter] = names["Logit"]
    yield found
    OPS.clear()
    OPS.update(before)


def order(op: Any) -> int:
    """Up to which order its derivatives are right."""
    for orders in (1, 2):
        try:
            gradcheck(lambda x: op(x).apply(), POINTS, orders=orders)
        except GraphError:
            return orders - 1
    return 2


def takes_integers(op: Any) -> bool:
    try:
        op(Tensor([0, 1])).apply()
    except DTypeError:
        return False
    return True


def test_each_letter_has_one_fault_and_one_is_taken(ops: dict[str, Any]) -> None:
    assert sorted(LETTERS) == sorted(PATCHES)
    assert sorted(LETTERS.values()) == sorted(FAULTS)
    of = {fault: ops[letter] for letter, fault in LETTERS.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        orders = {fault: order(op) for fault, op in of.items()}
    assert orders == dict.fromkeys(of, 2) | {"derivative": 0, "once": 1}
    assert {fault for fault, op in of.items() if not takes_integers(op)} == {"integers"}
    assert {fault for fault, op in of.items() if op.saves != ("x",)} == {"saves"}


def test_what_is_saved_too_much_is_not_used() -> None:
    (letter,) = [letter for letter, fault in LETTERS.items() if fault == "saves"]
    assert "out" not in PATCHES[letter].partition("def backward(self, g, x, out):")[2]


def test_only_one_does_what_the_engine_does() -> None:
    (letter,) = [letter for letter, fault in LETTERS.items() if fault == "broadcasting"]
    assert [name for name, text in PATCHES.items() if ".sum(" in text] == [letter]
