"""The table from a kernel's name to its expression for one element, once for all dialects.

An expression is C with placeholders: the operands (`x`, `y`, and other letters where NAMES says
so), `T` for the type of the computation, `U` for the unsigned one, `BITS` for the width of U, and
`exp`, `floor`, ... for the C library functions in the width of T. A kernel has one variant for each
kind of dtype: float, int, uint, bool. Each names the type of its computation:

    own(...)      the dtype itself; 16-bit floats are widened to float and rounded once
    wraps(...)    unsigned integers, which wrap: signed ones may not, in C
    double(...)   a function of doubles, also for floats, whose result is rounded to float; if it is
                  `exact`, quotients and remainders of 16-bit floats are too far from a tie for the
                  second rounding to matter (Figueroa 1995, "When is double rounding innocuous?")

How far they may differ from python_ref is defined in signatures.py: `exact` kernels give the same
bits, `ulp(n)` kernels use the C library's functions. `exp`, `log`, `sin`, `cos` and `pow` are
called in the width of T, where the error of every current C library is below one unit in the last
place; the others are called in double, which leaves one rounding error.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from tutor.backends.codegen.dialect import HALVES, Dialect, limits
from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.dtype import DType, bool_, float64


class Variant(NamedTuple):
    text: str
    computed: str  # "own", "wraps" or "double"


def own(text: str) -> Variant:
    return Variant(text, "own")


def wraps(text: str) -> Variant:
    return Variant(text, "wraps")


def double(text: str) -> Variant:
    return Variant(text, "double")


Variants = dict[str, Variant]  # kind of dtype -> variant


def floats(variant: Variant) -> Variants:
    return {"float": variant}


def integers(variant: Variant) -> Variants:
    return {"int": variant, "uint": variant}


def everything(variant: Variant) -> Variants:
    return dict.fromkeys(("float", "int", "uint", "bool"), variant)


# C does not define x / y where it overflows: the lowest integer by -1 wraps here. Division by 0 was
# refused before the step; if another thread writes a 0 meanwhile, the process must not crash.
_DOWN = "(x % y != 0 && (x % y < 0) != (y < 0))"  # C truncates, Python rounds down
_FLOOR = f"y == 0 ? 0 : y == -1 ? (T)(0 - (U)x) : (T)(x / y - {_DOWN})"
_MODULO = f"y == 0 || y == -1 ? 0 : (T)(x % y + ({_DOWN} ? y : 0))"

# fmt: off
EXPRESSIONS: dict[str, Variants] = {
    # ---- one operand
    "neg": floats(own("-x")) | integers(wraps("0 - x")),
    "abs": floats(own("fabs(x)")) | {"int": own("x < 0 ? (T)(0 - (U)x) : x"), "uint": own("x")},
    "relu": floats(own("x <= 0 ? 0 : x")) | integers(own("x <= 0 ? 0 : x")),  # nan is not <= 0
    "sqrt": floats(own("sqrt(x)")),
    "sign": floats(own("x != x ? x : (T)((x > 0) - (x < 0))"))
        | integers(own("(x > 0) - (x < 0)")),
    "floor": floats(own("floor(x)")),
    "ceil": floats(own("ceil(x)")),
    "round": floats(own("rint(x)")),  # ties to even, the processor's default
    "trunc": floats(own("trunc(x)")),
    "bitwise_not": integers(own("~x")) | {"bool": own("!x")},
    "exp": floats(own("exp(x)")),
    "exp2": floats(double("exp2(x)")),
    "expm1": floats(double("expm1(x)")),
    "log": floats(own("log(x)")),
    "log2": floats(double("log2(x)")),
    "log10": floats(double("log10(x)")),
    "log1p": floats(double("log1p(x)")),
    "sin": floats(own("sin(x)")),
    "cos": floats(own("cos(x)")),
    "tan": floats(double("tan(x)")),
    "asin": floats(double("asin(x)")),
    "acos": floats(double("acos(x)")),
    "atan": floats(double("atan(x)")),
    "sinh": floats(double("sinh(x)")),
    "cosh": floats(double("cosh(x)")),
    "tanh": floats(double("tanh(x)")),
    "asinh": floats(double("asinh(x)")),
    "acosh": floats(double("acosh(x)")),
    "atanh": floats(double("atanh(x)")),
    "erf": floats(double("erf(x)")),
    "sigmoid": floats(own("x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x))")),
    "gelu": floats(double("gelu(x)")),
    "gelu_tanh": floats(double("gelu_tanh(x)")),
    "softplus": floats(double("softplus(x)")),
    "silu": floats(double("silu(x)")),
    "mish": floats(double("mish(x)")),
    # ---- two or three operands
    "add": floats(own("x + y")) | integers(wraps("x + y")) | {"bool": own("x | y")},
    "sub": floats(own("x - y")) | integers(wraps("x - y")),
    "mul": floats(own("x * y")) | integers(wraps("x * y")) | {"bool": own("x & y")},
    "div": floats(own("x / y")),
    "pow": floats(own("pow(x, y)")) | integers(own("whole_power(x, y)")),
    "floor_divide": floats(double("floor_divide(x, y)"))
        | {"int": own(_FLOOR), "uint": own("y == 0 ? 0 : x / y")},
    "remainder": floats(double("modulo(x, y)"))
        | {"int": own(_MODULO), "uint": own("y == 0 ? 0 : x % y")},
    "fmod": floats(own("fmod(x, y)"))
        | {"int": own("y == 0 || y == -1 ? 0 : x % y"), "uint": own("y == 0 ? 0 : x % y")},
    "hypot": floats(double("hypot(x, y)")),
    "atan2": floats(double("atan2(x, y)")),
    "logaddexp": floats(double("log_add_exp(x, y)")),
    "copysign": floats(own("copysign(x, y)")),
    "relu_grad": floats(own("z > 0 ? g : 0")),
    "tanh_grad": floats(double("tanh_grad(g, z)")),
    "sigmoid_grad": floats(double("sigmoid_grad(g, z)")),
    "gelu_grad": floats(double("gelu_grad(g, x)")),
    "gelu_tanh_grad": floats(double("gelu_tanh_grad(g, x)")),
    "softplus_grad": floats(double("softplus_grad(g, x)")),
    "silu_grad": floats(double("silu_grad(g, x)")),
    "mish_grad": floats(double("mish_grad(g, x)")),
    "bitwise_and": {**integers(own("x & y")), "bool": own("x & y")},
    "bitwise_or": {**integers(own("x | y")), "bool": own("x | y")},
    "bitwise_xor": {**integers(own("x ^ y")), "bool": own("x ^ y")},
    "bitwise_left_shift": integers(wraps("y < BITS ? x << y : 0")),
    "bitwise_right_shift": {"int": own("x >> (y < BITS ? y : BITS - 1)"),
                            "uint": own("y < BITS ? x >> y : 0")},
    # equal numbers differ at most in the sign of a zero; if x is neither larger, smaller nor equal,
    # one is nan, and so is the sum
    "maximum": floats(own("x > y ? x : x < y ? y : x == y && x != 0 ? x : x + y"))
        | integers(own("x > y ? x : y")) | {"bool": own("x | y")},
    "minimum": floats(own("x < y ? x : x > y ? y : x == y && x != 0 ? x : -(-x - y)"))
        | integers(own("x < y ? x : y")) | {"bool": own("x & y")},
    "mul_add": floats(own("x * y + w")),
    "where": everything(own("c ? x : y")),
}
# fmt: on


def in_c(formula: str) -> str:
    """A formula of signatures.py that is Python, in C: `0 if x <= y else x - y` is
    `x <= y ? 0 : x - y`. Comparisons and sums are written alike."""
    found = ast.parse(formula, mode="eval").body
    if not isinstance(found, ast.IfExp):
        return formula
    condition, then, other = map(ast.unparse, (found.test, found.body, found.orelse))
    return f"{condition} ? {then} : {in_c(other)}"


# What has no line above is what its line in signatures.py says. (Sums of signed integers need one:
# they wrap.)
EXPRESSIONS |= {
    row.name: dict.fromkeys((d.kind for d in row.dtypes), own(in_c(row.expression)))
    for row in TABLE_OF_KERNELS
    if row.form == "elementwise" and not row.params and row.name not in (*EXPRESSIONS, "cast")
}

MOVES = ("copy", "where")  # they copy 16-bit floats without conversion
NAMES = {
    "where": "cxy", "mul_add": "xyw",
    **dict.fromkeys(("relu_grad", "tanh_grad", "sigmoid_grad"), "gz"),
    **dict.fromkeys(("gelu_grad", "gelu_tanh_grad"), "gx"),
    **dict.fromkeys(("softplus_grad", "silu_grad", "mish_grad"), "gx"),
}  # fmt: skip
FUNCTIONS = {
    "fabs", "sqrt", "floor", "ceil", "rint", "trunc", "exp", "log", "sin", "cos", "pow", "fmod",
    "copysign",
}  # fmt: skip
REFUSED = {  # invalid second operands of integers; "< 0" for signed ones only
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), "== 0"),
    **dict.fromkeys(("pow", "bitwise_left_shift", "bitwise_right_shift"), "< 0"),
}


def refused(kernel: str, dtype: DType) -> str | None:
    """The condition for an invalid second operand: `== 0`, `< 0`, or None."""
    condition = REFUSED.get(kernel) if dtype.is_integer else None
    return None if condition == "< 0" and dtype.kind == "uint" else condition


def expression(kernel: str, dtype: DType, args: Sequence[str], c: Dialect) -> str:
    """The kernel's value for one element, in the type in which out's dtype is computed.

    `args` are names or other short expressions, each in the type in which its dtype is computed.
    """
    text, computed = EXPRESSIONS[kernel][dtype.kind]
    names = NAMES.get(kernel, "xy")
    unsigned, own_type = c.unsigned(dtype), c.computed(dtype)
    if computed == "wraps" and unsigned != own_type:
        args = [f"({unsigned}){arg}" for arg in args]
    wide = 64 if dtype.itemsize == 8 else 32 if computed == "wraps" else 8 * dtype.itemsize
    words = {"T": own_type, "U": unsigned, "BITS": str(wide)}
    words |= dict(zip(names, args, strict=False))
    words |= {name: c.called(name, dtype is float64) for name in FUNCTIONS}
    words |= {name: to for (name, of_double), to in c.spelled.items()
              if of_double is (dtype is float64)}  # fmt: skip
    found = re.sub(r"[A-Za-z_]\w*", lambda word: words.get(word[0], word[0]), text)
    if computed == "double" and dtype is not float64:
        return f"({own_type}){found}"
    if computed == "wraps" and unsigned != own_type:
        return f"({own_type})({found})"
    return found


def operands(kernel: str) -> str:
    """The letters of the operands in the expression."""
    return NAMES.get(kernel, "xy")[: len(SIGNATURES[kernel].types) - 1]


# ---- casts: a table of two dtypes ----------------------------------------------------------------


def cast(to: DType, of: DType, x: str, c: Dialect) -> str:
    """x converted from one dtype to another, both in the types used to compute. Floats to integers
    saturate, and nan gives 0; integers wrap; any nonzero number is true."""
    if to is of:
        return x
    target = c.computed(to)
    if to is bool_:
        return f"{x} != 0"
    if to.is_integer and of.is_float:
        low, high = limits(to)
        end = f"0x1p{8 * to.itemsize - (to.kind == 'int')}{'' if of is float64 else 'f'}"
        return f"{x} >= {end} ? {high} : {x} <= {low} ? {low} : {x} == {x} ? ({target}){x} : 0"
    if to in HALVES and of is float64:
        return f"round_to_odd({x})"
    if to in HALVES and of.is_integer and of.itemsize >= 4:
        name = "odd_from_int64" if of.kind == "int" else "odd_from_uint64"
        return f"{name}({x})"
    if c.computed(of) == target:  # a float, the type used for 16 bits
        return x
    return f"({target}){x}"


def uses(kernel: str, dtype: DType, letter: str) -> int:
    """How often an operand occurs in the expression."""
    return len(re.findall(rf"\b{letter}\b", EXPRESSIONS[kernel][dtype.kind].text))


# ---- memory --------------------------------------------------------------------------------------


def loaded(dtype: DType, place: str) -> str:
    """The number at a place in memory, in the type used to compute."""
    if dtype is bool_:  # foreign memory may hold bytes other than 0 and 1
        return f"({place} != 0)"
    return f"from_{dtype.name}({place})" if dtype in HALVES else place


def stored(dtype: DType, value: str) -> str:
    """A computed value in its memory format: rounded, if it has 16 bits."""
    return f"to_{dtype.name}({value})" if dtype in HALVES else value


def rounded(dtype: DType, value: str) -> str:
    """The value as it would be read back from memory."""
    return f"from_{dtype.name}(to_{dtype.name}({value}))" if dtype in HALVES else value
