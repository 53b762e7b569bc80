"""Rules and numbers that are written in several languages: all copies say the same."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tutor
from tutor._storage.bits import pack
from tutor.backends import registry
from tutor.backends.codegen import elements
from tutor.backends.codegen.dialect import C99, CUDA, OPENCL, Dialect
from tutor.backends.codegen.helpers import HELPERS
from tutor.backends.codegen.updates import UPDATES
from tutor.backends.python_ref import activations
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES
from tutor.core.buffer import Buffer
from tutor.dtype import TABLE, bfloat16, bool_, float16, float32, float64, uint64
from tutor.ops import gelu
from tutor.testing.cases.operands import through

TUTOR = Path(tutor.__file__).parent
NATIVE = TUTOR / "backends" / "simd_cpp"
EXHAUSTIVE = Path(__file__).parent / "exhaustive" / "expected.cpp"

# ---- gelu ----------------------------------------------------------------------------------------

LONG = re.compile(r"\b\d\.\d{12,}\b")  # a constant that nobody writes from memory
ROOT, DENSITY = "0.7071067811865475244", "0.39894228040143267794"  # sqrt(1/2), 1 / sqrt(2 pi)


def constants(text: str) -> set[float]:
    return {float(number) for number in LONG.findall(text)}


def test_the_constants_of_gelu_are_the_same_everywhere() -> None:
    """Its definition in python_ref, of which the text for C, OpenCL and CUDA is made; its op; and
    C++, where gelu.hpp has two by name and gelu.cpp the others."""
    line, curve = activations.LINE, activations.CURVE
    assert line == 2 * math.sqrt(2 / math.pi) and curve == pytest.approx(0.044715 * line, rel=1e-15)
    assert line == gelu.LINE and pytest.approx(curve, rel=1e-15) == gelu.CURVE
    header = (NATIVE / "math" / "gelu.hpp").read_text(encoding="utf-8")
    named = dict(re.findall(r"constexpr double (LINE|CURVE) = ([\d.]+);", header))
    assert {name: float(value) for name, value in named.items()} == {"LINE": line, "CURVE": curve}
    by_erf, by_tanh = {float(ROOT), float(DENSITY)}, {line, curve}
    assert constants((NATIVE / "kernels" / "gelu.cpp").read_text(encoding="utf-8")) == by_erf
    names = ("probability", "gelu", "gelu_grad", "bent", "gelu_tanh", "gelu_tanh_grad")
    assert constants("".join(HELPERS[name] for name in names)) == by_erf | by_tanh
    assert by_erf | by_tanh <= constants(EXHAUSTIVE.read_text(encoding="utf-8"))
    assert float(ROOT) == math.sqrt(0.5) and float(DENSITY) == 1 / math.sqrt(2 * math.pi)


# ---- optimizers ----------------------------------------------------------------------------------

CELLS = {"lr": 0.05, "momentum": 0.9, "beta1": 0.9, "beta2": 0.98, "eps": 1e-3, "alpha": 0.95,
         "weight_decay": 0.1, "lr_decay": 0.02, "count": 3}  # fmt: skip
FUNCTIONS = {"sqrt": math.sqrt, "pow": math.pow, "sign": lambda x: (x > 0) - (x < 0)}


def operands_of(kernel: str) -> list[str]:
    """The names of the inputs, from the formula in signatures.py."""
    found = re.search(r"ins = \(([^)]*)\)", SIGNATURES[kernel].formula)
    assert found
    return found[1].split(", ")


def as_stated(kernel: str, given: dict[str, float]) -> dict[str, float]:
    """The formula in signatures.py, computed."""
    known: dict[str, Any] = dict(given)
    for part in SIGNATURES[kernel].formula.partition(", with p = out")[0].split("; "):
        name, formula = re.split(r" (?:<-|=) ", part)
        known[name] = eval(formula, FUNCTIONS, known)
    return {name: known[name] for name in UPDATES[kernel][0]}


def as_text(kernel: str, given: dict[str, float]) -> dict[str, float]:
    """The statements of which C, OpenCL and CUDA are made, computed."""
    letters, _, _ = UPDATES[kernel]
    cells = [name for name in operands_of(kernel) if name not in letters]
    known: dict[str, Any] = {name.upper(): given[name] for name in cells}
    shared = elements.settings(kernel, [name.upper() for name in cells])
    places = [f"at_{letter}" for letter in letters]
    known |= {f"at_{letter}": given[letter] for letter in letters}
    lines = [f"{name} = {value};" for name, value in shared]
    for line in [*lines, *elements.update(kernel, float64, places, C99)]:
        plain = re.sub(r"^(const )?(double )?", "", line.removesuffix(";")).replace("(double)", "")
        name, value = plain.split(" = ")
        if " ? " in value:  # of lion: its sign
            condition, _, rest = value.partition(" ? ")
            value = "sign(u)" if condition == "u > 0" and rest == "1 : u < 0 ? -1 : u" else value
        known[name] = eval(value, FUNCTIONS, known)
    return {letter: known[f"at_{letter}"] for letter in letters}


def as_kernel(backend: str) -> Callable[[str, dict[str, float]], dict[str, float]]:
    def computed(kernel: str, given: dict[str, float]) -> dict[str, float]:
        names = ["p", *operands_of(kernel)]
        types = SIGNATURES[kernel].types
        dtypes = [uint64 if letter == "n" else float64 for letter in types]
        cells = [Buffer([given[name]], dtype=dtype)
                 for name, dtype in zip(names, dtypes, strict=True)]  # fmt: skip
        run = through(kernel, float64, registry.table(backend)[kernel, float64])
        run(*[Operand(cell, (), (), 0) for cell in cells])
        after = {name: float(cell[0]) for name, cell in zip(names, cells, strict=True)}
        return {letter: after[letter] for letter in UPDATES[kernel][0]}

    return computed


def test_the_rules_of_optimizers_are_those_of_the_table() -> None:
    """In float64, for two signs of the gradient: the text for C, OpenCL and CUDA, Python, C++."""
    rng = random.Random(0)
    others = [as_text, as_kernel("python_ref")]
    if "simd_cpp" in registry.backends():
        others.append(as_kernel("simd_cpp"))
    assert set(UPDATES) == {row.name for row in SIGNATURES.values() if row.form == "update"}
    for kernel, (letters, _, _) in UPDATES.items():
        for _ in range(4):
            given = CELLS | {letter: rng.uniform(-2, 2) for letter in letters}
            given |= {letter: abs(given[letter]) for letter in letters if letter in "sv"}
            wanted = as_stated(kernel, given)
            for other in others:
                assert other(kernel, given) == pytest.approx(wanted, rel=1e-13), kernel


# ---- dtypes --------------------------------------------------------------------------------------

SIZES = {"char": 1, "signed char": 1, "unsigned char": 1, "uchar": 1, "short": 2, "ushort": 2,
         "unsigned short": 2, "int": 4, "uint": 4, "unsigned int": 4, "long": 8, "ulong": 8,
         "long long": 8, "unsigned long long": 8, "float": 4, "double": 8}  # fmt: skip


def test_c_plus_plus_has_the_dtypes_in_the_order_of_the_table() -> None:
    text = (NATIVE / "kernel.hpp").read_text(encoding="utf-8")
    rows = re.findall(r"ROW\((\w+), +(\w+), +'(.)'\)", text)
    assert [(name.lower(), letter) for name, _, letter in rows] == [
        (dtype.name, dtype.format) for dtype in TABLE
    ]
    whole = {kind: dtype for (_, kind, _), dtype in zip(rows, TABLE, strict=True)}
    named = {kind: whole[kind] for kind in whole if re.fullmatch(r"u?int\d+_t|float|double", kind)}
    assert len(named) == 10
    assert all(C99.stored[dtype] == kind for kind, dtype in named.items())


@pytest.mark.parametrize("c", [OPENCL, CUDA], ids=["OPENCL", "CUDA"])
def test_a_dialect_has_types_of_the_size_and_the_range_of_each_dtype(c: Dialect) -> None:
    """C99's are those of <stdint.h>, by whose names the others call theirs."""
    named = {name: kind for kind, name in re.findall(r"typedef ([a-z ]+) (\w+);", c.head)}
    for dtype in TABLE:
        kind = c.stored[dtype]
        assert SIZES[named.get(kind, kind)] == dtype.itemsize, dtype
        assert (kind in ("float", "double")) == (dtype in (float32, float64))
        if dtype.is_integer:
            assert (named[kind][0] == "u") == (dtype.kind == "uint")
            assert kind == f"{dtype.name}_t" == C99.stored[dtype]
    assert c.stored[bool_] == "uint8_t" and c.computed(bool_) == "bool"
    assert all(c.computed(dtype) == "float" for dtype in (float16, bfloat16, float32))


def test_a_number_has_the_bytes_of_its_dtype_as_an_argument() -> None:
    """`struct`'s letters, and the ctypes of a CUDA launch: the sizes of all dtypes, and the bytes
    of a 1 of all but bools and 16-bit floats."""
    import ctypes
    import struct

    from tutor.backends.cuda.launches import CELLS as CTYPES
    from tutor.backends.opencl.launch import scalar

    for dtype in TABLE:
        letter = scalar(dtype)
        assert struct.calcsize(letter) == ctypes.sizeof(CTYPES[letter]) == dtype.itemsize
        if dtype not in (float16, bfloat16, bool_):
            assert struct.pack(letter, 1) == pack([1], dtype)
            assert bytes(CTYPES[letter](1)) == pack([1], dtype)
