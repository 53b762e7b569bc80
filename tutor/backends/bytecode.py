"""Bytecode: a chain of elementwise kernels as one text, which the kernel `fused` runs.

    r0 = mul.float32 i0 i1; r1 = relu.float32 r0; o0 = add.float32 r1 i2

Each instruction names its destination, its kernel and its arguments, element by element:

    destination   r0, r1, ...  a register: numbers that never reach memory
                  o0, o1, ...  a result: `out`, and the last `results` - 1 inputs; written once
    kernel.dtype  a kernel of form elementwise without parameters, and the dtype it is looked up
                  for; for a cast the dtype of its result, since it takes any
    arguments     i0, i1, ...  the other inputs; and any register or result written before

The instruction that writes o0 may be a reduction, `o0 = sum.float32 r1`: over `axis` of the shape
that all inputs have. No other instruction reads what it writes.

The first one may be a product of the first inputs, which no other reads, to a register:

    r0 = matmul.float32 i0 i1; r1 = mul.float32 r0 i2; o0 = tanh.float32 r1
    r0 = linear.float32 i0 i1 i2; o0 = add.float32 r0 i3

Then the other inputs and the results have the product's shape, nothing is reduced, and the chain
has no kernel that may refuse a number. The instructions after a product are often called its
epilogue.

The results equal to the bit those of the kernels run one by one, each over all elements, with every
register a Buffer of its own. A result may share its memory with an input of its dtype, element for
element: inputs are read as they were before the call.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tutor._storage.layout import Shape
from tutor.backends.signatures import SIGNATURES, Signature, dtype_of
from tutor.dtype import BY_NAME, DType
from tutor.errors import ArgumentError, DomainError, DTypeError, KernelNotFound, ShapeError

MOST_INSTRUCTIONS = 64  # as in simd_cpp/kernel.hpp; out is one of the operands
MOST_OPERANDS = 32

PRODUCTS = ("matmul", "linear")  # a chain may begin with one; linear has no relu there
DIVIDES = {"pow", "floor_divide", "remainder", "fmod", "bitwise_left_shift", "bitwise_right_shift"}

PLACE = re.compile(r"[rio](0|[1-9][0-9]{0,3})")
FUSED = "kernel fused"


class Instruction(NamedTuple):
    """`dest = kernel.dtype args`."""

    dest: str
    kernel: str
    dtype: DType
    args: tuple[str, ...]

    @property
    def signature(self) -> Signature:
        """The kernel's row in signatures.py."""
        return SIGNATURES[self.kernel]

    @property
    def reduces(self) -> bool:
        return self.signature.form == "reduce"

    @property
    def may_refuse(self) -> bool:
        """May it raise, depending on the numbers?"""
        return self.kernel in DIVIDES and self.dtype.is_integer

    def __str__(self) -> str:
        return f"{self.dest} = {self.kernel}.{self.dtype.name} {' '.join(self.args)}"


def text(instructions: Iterable[Instruction]) -> str:
    """The instructions as the text that `fused` takes and `parse` reads."""
    return "; ".join(map(str, instructions))


@functools.lru_cache(maxsize=1024)
def parse(code: str) -> tuple[Instruction, ...]:
    """The instructions of a text, in order. DTypeError if it is no str, DomainError for an invalid
    instruction, KernelNotFound or DTypeError for a kernel that does not exist, or not for that
    dtype, ArgumentError for a wrong number of arguments."""
    if not isinstance(code, str):
        raise DTypeError(f"{FUSED}, code", type(code).__name__, "give its instructions as a str")
    if not code.isascii():
        raise DomainError(
            f"{FUSED}, code {code!r:.80}",
            "it holds a character beyond ASCII",
            "write names of kernels, dtypes and places, and single spaces between them",
        )
    return tuple([_instruction(line) for line in code.split(";")])


def _instruction(line: str) -> Instruction:
    dest, equals, rest = line.partition("=")
    name, *args = rest.split() or [""]
    kernel, _, dtype = name.partition(".")
    places = (dest.strip(), *args)
    if not equals or not dtype or not all(PLACE.fullmatch(place) for place in places):
        raise DomainError(
            f"{FUSED}, instruction {line.strip()!r:.80}",
            "it is not of the form  destination = kernel.dtype arguments",
            "write one like  r0 = mul.float32 i0 i1  (r: registers, i: inputs, o: results)",
        )
    signature = _row(kernel)
    if dtype not in BY_NAME or BY_NAME[dtype] not in signature.dtypes:
        raise DTypeError(
            f"{FUSED}, {name}",
            f"there is {kernel} of {', '.join(d.name for d in signature.dtypes)} only",
            "name one of those; cast before, if need be",
        )
    wanted = len(signature.types) - 1
    if len(args) != wanted:
        raise ArgumentError(
            f"{FUSED}, instruction {line.strip()!r:.80}",
            f"{kernel} takes {wanted} argument{'s' * (wanted != 1)}, not {len(args)}",
            f"its formula is {signature.formula}",
        )
    return Instruction(places[0], kernel, BY_NAME[dtype], tuple(args))


def fits(signature: Signature) -> bool:
    """May an instruction name that kernel?"""
    return signature.form == "reduce" or (signature.form == "elementwise" and not signature.params)


def _row(kernel: str) -> Signature:
    signature = SIGNATURES.get(kernel)
    if signature is not None and (fits(signature) or kernel in PRODUCTS):
        return signature
    known = [row.name for row in SIGNATURES.values() if fits(row)]
    import difflib  # only errors need it

    near = ", ".join(difflib.get_close_matches(kernel, known))
    raise KernelNotFound(
        f"{FUSED}, kernel {kernel!r:.40}",
        "it is not elementwise without parameters, nor a reduction or a product"
        if signature
        else f"near to it: {near}"
        if near
        else "there is none of that name",
        "use what signatures.py has of the form elementwise, without parameters",
    )


def made(row: Instruction, args: Sequence[DType]) -> DType:
    """The dtype of an instruction's result, given the dtypes of its arguments. DTypeError if it
    does not take them."""
    letters = row.signature.types
    if letters[0] == "*":
        return row.dtype
    for arg, letter, found in zip(row.args, letters[1:], args, strict=True):
        wanted = dtype_of(letter, row.dtype)
        if wanted is not None and found is not wanted:
            raise DTypeError(
                f"{FUSED}, instruction {row!s:.80}",
                f"{arg} is {found.name}, not {wanted.name}",
                "cast it first, or name the kernel for that dtype",
            )
    given = dtype_of(letters[0], row.dtype)
    assert given is not None
    return given


def computing(code: str) -> int:
    """How many instructions compute or choose numbers; the others move them. A product at the start
    does not count."""
    rows = parse(code)[product(code) is not None :]
    return sum(row.signature.work != "moves" for row in rows)


def product(code: str) -> Instruction | None:
    """The product that a chain begins with, or None."""
    first, *_ = parse(code)
    return first if first.kernel in PRODUCTS else None


# ---- whether a call fits together ----------------------------------------------------------------


def check(
    code: str, operands: Sequence[DType], results: int, shape: Shape = (), axis: Shape = ()
) -> list[tuple[Instruction, DType]]:
    """Each instruction with the dtype of its result, for operands of these dtypes (out, then the
    inputs; the last results - 1 of them are written) and this shape.

    DomainError for a name written twice or never, or read before it is written; DTypeError for
    dtypes that do not fit; ArgumentError for too many instructions or operands; ShapeError for the
    largest of no elements; and the errors of `parse`.
    """
    rows = parse(code)
    _check_counts(len(rows), len(operands), results)
    first = len(operands) - results + 1  # of the further results
    known = {f"i{n}": dtype for n, dtype in enumerate(operands[1:first])}
    outs = {f"o{n}": d for n, d in enumerate((operands[0], *operands[first:]))}
    found, reduced = [], ""
    begins = product(code)
    for row in rows:
        for arg in row.args:
            if arg not in known or arg == reduced:
                raise _unknown(row, arg, known)
        dtype = made(row, [known[arg] for arg in row.args])
        if begins or row.kernel in PRODUCTS:
            _check_product(row, row is rows[0])
        if row is begins:
            for arg in row.args:
                known.pop(arg)
        if row.dest[0] != "r":
            _check_result(row, dtype, outs, known)
        if row.reduces:
            reduced = row.dest
            _check_reduction(row, shape, axis)
        known[row.dest] = dtype
        found.append((row, dtype))
    if missing := [name for name in outs if name not in known]:
        raise DomainError(
            f"{FUSED} with {results} results",
            f"nothing is written to {', '.join(missing)}",
            "write each result once",
        )
    if axis and not reduced:
        raise DomainError(
            f"{FUSED} over axis {axis}", "no instruction reduces", "give axis=() for none"
        )
    return found


def explain(code: Any, formats: str, results: float, shape: Shape, axis: Shape) -> None:
    """`check` for C++, after it has refused the code: `formats` are the dtypes' characters."""
    by_format = {dtype.format: dtype for dtype in BY_NAME.values()}
    whole = int(results) if results.is_integer() else 0
    check(code, [by_format[c] for c in formats], whole, shape, axis)


def _check_counts(rows: int, operands: int, results: int) -> None:
    if not isinstance(results, int) or not 1 <= results < max(operands, 2):
        raise DomainError(
            f"{FUSED} with results={results!r:.20}",
            f"there are {operands} operands, out among them",
            "say how many are written: out, and the last ones of the inputs; one is read at least",
        )
    for count, most, what in (
        (rows, MOST_INSTRUCTIONS, "instructions"),
        (operands, MOST_OPERANDS, "operands"),
    ):
        if count > most:
            raise ArgumentError(
                f"{FUSED} of {count} {what}",
                f"at most {most} {what} fit into one call",
                "cut the chain in two: what both need is a result of the first",
            )


def _unknown(row: Instruction, arg: str, known: Iterable[str]) -> DomainError:
    return DomainError(
        f"{FUSED}, instruction {row!s:.80}",
        f"{arg} is {'reduced already' if arg in known else 'not there (yet)'};"
        f" there are {', '.join(known)}",
        "read inputs, and what instructions before this one have written",
    )


def _check_result(row: Instruction, dtype: DType, outs: Any, known: Any) -> None:
    wanted = outs.get(row.dest)
    if wanted is None or row.dest in known:
        raise DomainError(
            f"{FUSED}, instruction {row!s:.80}",
            f"{row.dest} was written before" if wanted else f"{row.dest} is no result",
            f"write each of {', '.join(outs)} once, and all else to registers",
        )
    if wanted is not dtype:
        raise DTypeError(
            f"{FUSED}, instruction {row!s:.80}",
            f"it gives {dtype.name}, but {row.dest} is {wanted.name}",
            "give a result of that dtype, or cast first",
        )


def _check_product(row: Instruction, first: bool) -> None:
    """Check an instruction of a chain that contains a product."""
    asked = f"{FUSED}, instruction {row!s:.80}"
    if row.kernel in PRODUCTS:
        named = tuple([f"i{n}" for n in range(len(row.args))])
        if not first or row.args != named or row.dest[0] != "r":
            raise DomainError(
                asked,
                "a product stands first, of the first inputs in order, and goes to a register",
                f"begin with  r0 = {row.kernel}.{row.dtype.name} {' '.join(named)}",
            )
    elif row.reduces or row.may_refuse:
        raise DomainError(
            asked,
            f"it {'reduces' if row.reduces else 'may refuse a number'}, behind a product",
            "call it by itself, on what the product's chain gives",
        )


def _check_reduction(row: Instruction, shape: Shape, axis: Shape) -> None:
    if row.dest != "o0":
        raise DomainError(
            f"{FUSED}, instruction {row!s:.80}",
            f"what is reduced would go to {row.dest}",
            "reduce to o0, which has a shape of its own",
        )
    if row.signature.work == "chooses" and any(shape[a] == 0 for a in axis):
        raise ShapeError(
            f"{FUSED}, {row.kernel} over axis {axis} of shape {shape}",
            "there is no element to choose",
            "reduce over axes that hold at least one element",
        )


def after_first(chain: Sequence[Instruction], inputs: int) -> list[Instruction]:
    """A chain without its first instruction, as a chain of its own: its i0 is the first one's
    result, and the inputs that the first one did not take follow."""
    first, *rest = chain
    count, found = len(first.args), []
    named = {f"i{n}": f"i{n - count + 1}" for n in range(count, inputs)} | {first.dest: "i0"}
    for row in rest:
        found.append(row._replace(args=tuple([named.get(arg, arg) for arg in row.args])))
        if row.dest == first.dest:  # the register holds something else from here on
            named[row.dest] = row.dest
    return found
