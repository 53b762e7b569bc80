"""The scalar engine of chapter 0b: a file of its own, on which nothing else is built."""

from __future__ import annotations

import ast
import math
import random
from typing import Any

from course.library import ours
from course.library.compose import compose
from course.library.parts import parts

SCALAR = {"Value", "tanh", "order", "backward", "neuron", "step"}


def test_it_stands_alone() -> None:
    """Neither does the rest of our library use its names, nor does it use theirs."""
    everything = parts()
    inside = {name for part in everything if part.file == "scalar" for name in part.defines}
    assert inside == SCALAR
    for part in everything:
        others = part.file != "scalar"
        assert not (others and inside & set(part.defines)), f"{part.key} defines a name of scalar"
    text = compose(parts(upto="00b")).texts()["scalar"]
    imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import)]
    assert [alias.name for node in imported for alias in node.names] == ["math"]
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(ast.parse(text)))


def test_it_is_about_sixty_lines() -> None:
    text = compose(parts(upto="00b")).texts()["scalar"]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert 45 <= len(lines) <= 70


def test_its_gradients_are_what_trying_gives() -> None:
    lib = ours("00b")
    rng = random.Random(0)

    def loss(numbers: list[float]) -> tuple[Any, tuple[Any, ...]]:
        a, b, c = (lib.Value(number) for number in numbers)
        d = lib.tanh(a * b + c)
        e = d * d - 3 * a
        made = lib.neuron([a, e, b], [d, 2.0]) * d + e
        return made, (a, b, c)

    for _ in range(20):
        numbers = [rng.uniform(-1, 1) for _ in range(3)]
        result, leaves = loss(numbers)
        lib.backward(result)
        for place, leaf in enumerate(leaves):
            moved = [list(numbers), list(numbers)]
            moved[0][place] += 1e-6
            moved[1][place] -= 1e-6
            up, down = (loss(one)[0].data for one in moved)
            assert math.isclose(leaf.grad, (up - down) / 2e-6, rel_tol=1e-5, abs_tol=1e-7)
