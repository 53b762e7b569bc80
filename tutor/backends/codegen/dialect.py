"""A dialect of C: the spelling of types, numbers and functions for one compiler.

The table of expressions (expressions.py) and the loops around them are written once. The
differences between kinds of C are a Dialect: one small object. `C99` is for the CPU's compiler.
OpenCL C has other names for integers, writes `exp` where C99 has `expf`, and `global` before a
pointer: that is OPENCL, a second object and nothing else. CUDA is a third: it has C's names, and a
few definitions at the head of its sources provide the words of OpenCL C.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from tutor._storage.bits import UNSIGNED, pack, unpack
from tutor.dtype import TABLE, DType, bfloat16, bool_, float16, float32, float64

HALVES = (float16, bfloat16)  # 16 bits in memory, computed as float32


class Dialect(NamedTuple):
    """`head`: the beginning of a source, which defines the names of types and limits used here.
    `function`: the spelling of a C library function for floats and for doubles. `pointer`: the text
    before and after the `*` of a pointer to memory that no other pointer of the function refers to.
    `stored`: dtype -> the type of its numbers in memory. `helpers`: its own text for those of
    helpers.py whose C it does not know. `spelled`: its names for functions that do not follow
    `function`; (name, is it for doubles?)."""

    head: str
    function: tuple[str, str]
    pointer: tuple[str, str]
    stored: Mapping[DType, str]
    helpers: Mapping[str, str] = {}
    spelled: Mapping[tuple[str, bool], str] = {}

    def computed(self, dtype: DType) -> str:
        """The type in which numbers of that dtype are computed."""
        if dtype in HALVES:
            return self.stored[float32]
        return "bool" if dtype is bool_ else self.stored[dtype]

    def unsigned(self, dtype: DType) -> str:
        """The type in which integers of that dtype are computed if they may wrap: in C signed ones
        may not, and narrow ones would become int."""
        return self.stored[BY_NAME["uint64" if dtype.itemsize == 8 else "uint32"]]

    def summed(self, dtype: DType) -> str:
        """The type of the sums in a product."""
        return self.unsigned(dtype) if dtype.is_integer else self.computed(dtype)

    def called(self, name: str, double: bool) -> str:
        """The C library function for floats or doubles: `exp` -> `expf`."""
        return self.spelled.get((name, double)) or self.function[double].format(name)

    def number(self, value: float, dtype: DType) -> str:
        """The number rounded to dtype, as python_ref rounds, in the type used to compute."""
        if dtype is bool_:
            return str(int(value != 0))
        if dtype.is_integer:
            return self.whole(int(value), dtype)
        (rounded,) = unpack(pack([value], dtype), dtype)
        return real(rounded, float32 if dtype in HALVES else dtype)

    def memory(self, value: float, dtype: DType) -> str:
        """The number in its memory format."""
        if dtype not in HALVES:
            return self.number(value, dtype)
        (bits,) = memoryview(pack([value], dtype)).cast("H")
        return f"0x{bits:04x}"

    def whole(self, value: int, dtype: DType) -> str:
        """An integer, wrapped to the range of dtype."""
        bits = 8 * dtype.itemsize
        value %= 2**bits
        value -= 2**bits * (dtype.kind == "int" and value >= 2 ** (bits - 1))
        if value == dtype.min and value < 0:
            return limits(dtype)[0]
        if value == dtype.max:
            return limits(dtype)[1]
        large = "" if abs(value) < 2**31 else "LL"
        return f"{value}{'u' if dtype.kind == 'uint' and value >= 2**31 else ''}{large}"


def real(value: float, dtype: DType) -> str:
    """A float as a C constant, with the fewest digits that distinguish it from its neighbours."""
    suffix = "f" if dtype is float32 else ""
    if value != value:
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if same(float(text), value, dtype):
            break
    return (text if re.search(r"[.e]", text) else text + ".0") + suffix


def same(a: float, b: float, dtype: DType) -> bool:
    return abs(a) <= dtype.max and pack([a], dtype) == pack([b], dtype)


BY_NAME = {dtype.name: dtype for dtype in TABLE}
_BITS = {UNSIGNED[2]: "uint16_t"}
_STORED = {
    dtype: f"{dtype.name}_t" if dtype.is_integer else _BITS.get(UNSIGNED[dtype.itemsize], "")
    for dtype in TABLE
} | {bool_: "uint8_t", float32: "float", float64: "double"}


def limits(dtype: DType) -> tuple[str, str]:
    """The ends of an integer dtype: `INT8_MIN`, `INT8_MAX`."""
    name = dtype.name.upper()
    return f"{name}_MIN" if dtype.kind == "int" else "0", f"{name}_MAX"


C99 = Dialect(
    head="".join(f"#include <{name}.h>\n" for name in ("math", "stdbool", "stdint", "string")),
    function=("{}f", "{}"),
    pointer=("", "restrict "),
    stored=_STORED,
)

_CL = {"int8": "char", "int16": "short", "int32": "int", "int64": "long"}
_ENDS = {"int8": "CHAR", "int16": "SHRT", "int32": "INT", "int64": "LONG"}
_CL_HEAD = "".join(
    f"typedef {kind} {name}_t;\ntypedef u{kind} u{name}_t;\n" for name, kind in _CL.items()
) + "".join(
    f"#define {name.upper()}_{end} {kind}_{end}\n"
    for name, kind in _ENDS.items() for end in ("MIN", "MAX")
)  # fmt: skip
_CL_HEAD += "".join(f"#define U{name.upper()}_MAX U{kind}_MAX\n" for name, kind in _ENDS.items())
# OpenCL's functions are overloaded, and floats get the float version: so `double(...)` expressions
# are computed in float here. backends/opencl/precision.py gives the accuracy.
OPENCL = C99._replace(
    head=f"#pragma OPENCL FP_CONTRACT OFF\n{_CL_HEAD}",
    function=("{}", "{}"),
    pointer=("global ", "restrict "),
    helpers={
        "bits_of": "\nstatic inline uint32_t bits_of(float x) { return as_uint(x); }",
        "float_of": "\nstatic inline float float_of(uint32_t bits) { return as_float(bits); }",
    },
    spelled={
        ("exp", True): "wide_exp",
        ("tanh", False): "even_tanh_float",
        ("tanh", True): "even_tanh_double",
    },
)

_CU = {"int8": "char", "int16": "short", "int32": "int", "int64": "long long"}
_CU_HEAD = "".join(
    f"typedef {'signed ' * (kind == 'char')}{kind} {name}_t;\ntypedef unsigned {kind} u{name}_t;\n"
    for name, kind in _CU.items()
) + "".join(
    f"#define {name.upper()}_MAX {2 ** (bits - 1) - 1}{end}\n"
    f"#define {name.upper()}_MIN (-{name.upper()}_MAX - 1)\n"
    f"#define U{name.upper()}_MAX {2**bits - 1}u{end}\n"
    for name, bits, end in (
        ("int8", 8, ""), ("int16", 16, ""), ("int32", 32, ""), ("int64", 64, "ll"),
    )
)  # fmt: skip
# The words of OpenCL C, defined for CUDA: so handwritten kernels are one text for both. `global` is
# not one of them, since __global__ is a macro that ends in that word: `pointer` is used instead.
# `first_group` is the start of a part of a split launch: backends/cuda/launches.py.
_CU_WORDS = """\
__constant__ unsigned int first_group[2];
#define kernel extern "C" __global__
#define static static __device__
#define local __shared__
#define CLK_LOCAL_MEM_FENCE
#define barrier(fence) __syncthreads()
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
static inline int64_t get_local_id(int d) {
    return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z;
}
static inline int64_t get_group_id(int d) {
    return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y + first_group[0] : blockIdx.z + first_group[1];
}
static inline int64_t get_global_id(int d) {
    return get_local_id(d)
        + get_group_id(d) * (d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z);
}
"""
CUDA = OPENCL._replace(
    head=_CU_HEAD + _CU_WORDS,
    pointer=("", "__restrict__ "),
    helpers={
        "bits_of": "\nstatic inline uint32_t bits_of(float x) { return __float_as_uint(x); }",
        "float_of": "\nstatic inline float float_of(uint32_t b) { return __uint_as_float(b); }",
    },
    spelled={},
)
