"""The C that chapter 16 generates, run in Python: one statement a line, exactly as C rounds.

`float name = expression;` and `name[i] = expression;`, of +, -, *, /, one `a < b ? x : y`, and the
functions exp, log, pow and sqrt, which are double. An operation of two floats gives a float; as
soon as one side is a double, it is done in double, and rounded where it is stored.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import struct
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from typing import Any

from tutor.errors import DomainError

STATEMENT = re.compile(r"\s*(?:(?:const\s+)?(float)\s+(\w+)|(\w+)\[i\])\s*=\s*(.+?)\s*;\s*")
SINGLE = re.compile(r"(?<![\w.])(\d+\.?\d*(?:[eE][+-]?\d+)?)[fF]\b")


def single(value: float) -> float:
    """The float32 nearest to a number."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


class Number:
    """A number of C: a float, or a double."""

    def __init__(self, value: float, double: bool = False) -> None:
        self.double = double
        self.value = float(value) if double else single(value)


def _wrong(found: str, to_do: str) -> DomainError:
    return DomainError("a statement in C", found, to_do)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _log(x: float) -> float:
    if x > 0 or x != x:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def _pow(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf if x > 0 or y % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


def _sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


FUNCTIONS: dict[str, tuple[Callable[..., float], int]] = {
    "exp": (_exp, 1), "log": (_log, 1), "pow": (_pow, 2), "sqrt": (_sqrt, 1),
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt, ast.Gt: operator.gt, ast.LtE: operator.le, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: _divided,
}  # fmt: skip


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    """What an expression gives."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return Number(value, double=True)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise _wrong(f"{name} has no value here", "arrays are read as name[i]")
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            x = _value(inner, names)
            return Number(-x.value, x.double)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op):
            a, b = _value(left, names), _value(node.right, names)
            return Number(ARITHMETIC[type(op)](a.value, b.value), a.double or b.double)
        case ast.Call(func=ast.Name(id=name), args=args) if name in FUNCTIONS:
            function, count = FUNCTIONS[name]
            if len(args) != count:
                raise _wrong(f"{name} with {len(args)} arguments", f"it takes {count}")
            return Number(function(*[_value(arg, names).value for arg in args]), double=True)
        case ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right])):
            holds = COMPARE[type(op)](_value(left, names).value, _value(right, names).value)
            one, other = _value(node.body, names), _value(node.orelse, names)
            return Number((one if holds else other).value, one.double or other.double)
    words = ast.unparse(node)
    raise _wrong(f"{words} is not known here", "use + - * /, exp, log, pow, sqrt and a < b ? x : y")


def _parsed(text: str) -> ast.expr:
    """An expression of C, as Python reads it."""
    plain = SINGLE.sub(r"single_\1", text)
    if "single_" in plain:
        raise _wrong(f"{text}: a literal with f", "numbers come in by the names of the inputs")
    if "?" in text:
        found = re.fullmatch(r"\(?([^?]+)\?([^:?]+):([^:?]+?)\)?", text)
        if not found:
            raise _wrong(text, "one a < b ? x : y in a statement")
        text = f"({found[2]}) if ({found[1]}) else ({found[3]})"
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise _wrong(text, "write one expression, as C has them") from None


def run_statements(
    statements: Sequence[str],
    arrays: Mapping[str, Sequence[float]],
    numbers: Mapping[str, float],
    outputs: Mapping[str, MutableSequence[float]],
) -> None:
    """for (i = 0; i < n; i++) { statements }, over arrays and outputs of float, and float numbers.

    DomainError where a statement is not C, or uses what is not there.
    """
    rows: list[tuple[str, str, ast.expr]] = []
    for statement in statements:
        found = STATEMENT.fullmatch(statement)
        if not found:
            raise _wrong(repr(statement), "write `float a = b[i] + c;` or `a_out[i] = a;`")
        body = re.sub(r"\b(\w+)\[i\]", r"at_\1", found[4])
        rows.append((found[2] or "", found[3] or "", _parsed(body)))
    for i in range(max(map(len, outputs.values()), default=0)):
        names: dict[str, Any] = {name: Number(value) for name, value in numbers.items()}
        names |= {f"at_{name}": Number(array[i]) for name, array in arrays.items()}
        for variable, place, expression in rows:
            value = _value(expression, names)
            if variable and variable in names:
                raise _wrong(f"float {variable} a second time", "a variable is declared once")
            if variable:
                names[variable] = Number(value.value)
            elif place in outputs:
                outputs[place][i] = single(value.value)
            else:
                raise _wrong(f"{place}[i] = ...", f"results are {', '.join(outputs)}")
