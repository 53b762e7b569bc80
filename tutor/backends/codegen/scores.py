"""One line of scores as statements: softmax, its logarithm, cross entropy and its gradient.

The largest score is subtracted first, so that no exponential overflows. A dialect decides how the
line lies in memory, and in which type its exponentials are added: C in double, rounded once; a
device, which may have no doubles, in the type of the scores. Both are within the class `sum`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tutor.backends.codegen.loops import Lines, block


class Line(NamedTuple):
    """A line: `x(j)` is its score number j, `put(j, value)` the statement that writes a result;
    `kind` is the type of the scores, `wide` that of their sum, `exp` the function for a score."""

    x: Callable[[str], str]
    put: Callable[[str, str], str]
    size: str
    kind: str
    wide: str
    exp: str

    def each(self, statement: str) -> Lines:
        """The statement for each j."""
        return block(f"for (int64_t j = 0; j < {self.size}; j++)", [statement])

    @property
    def power(self) -> str:
        """The exponential of score j."""
        return f"{self.exp}({self.x('j')} - largest)"

    @property
    def inverse(self) -> str:
        return f"const {self.kind} inverse = ({self.kind})(1 / sum);"


def sums(line: Line) -> list[Lines]:
    """Find the largest score, and the sum of all exponentials."""
    x = line.x("j")
    return [
        [f"{line.kind} largest = {line.x('0')};"],
        line.each(f"if ({x} > largest) largest = {x};"),
        [f"{line.wide} sum = 0;"],
        line.each(f"sum += {line.power};"),
    ]


def softmax(line: Line, logs: bool) -> list[Lines]:
    """e**(x - max) / sum e**(x - max), or its logarithm: x - max - ln sum e**(x - max)"""
    if logs:
        head = f"const {line.kind} log_sum = ({line.kind})log(sum);"
        return [*sums(line), [head], line.each(line.put("j", f"{line.x('j')} - largest - log_sum"))]
    return [*sums(line), [line.inverse], line.each(line.put("j", f"{line.power} * inverse"))]


def loss(line: Line) -> str:
    """ln sum_j e**x_j - x_target, after `sums`"""
    return f"largest - {line.x('target')} + log(sum)"


def slope(line: Line, scale: str, g: str) -> list[Lines]:
    """scale * g * (softmax(x)_j - [j = target])"""
    factor = f"const {line.kind} factor = ({line.kind}){scale} * {g};"
    value = f"factor * ({line.power} * inverse - (j == target))"
    return [*sums(line), [line.inverse], [factor], line.each(line.put("j", value))]
