"""The loops of a kernel, in machine code made up for it, and in the extension itself."""

from __future__ import annotations

import os
import sys

import pytest

from tutor.backends import registry, simd_cpp
from tutor.profiler import machine_code
from tutor.profiler.machine_code import Code, loop_of, loops, plain

OBJDUMP = """
/home/me/tutor/backends/simd_cpp/kernels/elementwise.hpp:144
  10:	mov    rax,QWORD PTR [rdi]
/usr/include/xsimd.hpp:7
inlined by /home/me/tutor/backends/simd_cpp/kernels/arithmetic.cpp:60 (operator())
inlined by /home/me/tutor/backends/simd_cpp/kernels/elementwise.hpp:98 (apply<Add>)
  14:	vaddps ymm0,ymm1,YMMWORD PTR [rip+0x20]        # 40 <table>
  18:	cs nop WORD PTR [rax+rax*1+0x0]
  20:	jne    14 <add+0x4>
"""


def code(text: str) -> list[Code]:
    """Instructions four bytes apart, from address 0 on."""
    return [Code(4 * number, row.strip()) for number, row in enumerate(text.strip().splitlines())]


def texts(loop: list[Code]) -> list[str]:
    return plain(loop)


def test_what_objdump_prints() -> None:
    codes = list(machine_code._parsed(OBJDUMP))
    assert [(each.address, each.line) for each in codes] == [
        (16, ("kernels/elementwise.hpp", 144)),
        (20, ("kernels/arithmetic.cpp", 60)),
        (32, ("kernels/arithmetic.cpp", 60)),
    ]
    assert plain(codes) == [
        "mov rax,QWORD PTR [rdi]",
        "vaddps ymm0,ymm1,YMMWORD PTR [a constant]",
        "jne 2",
    ]


def test_of_two_loops_the_inner_one() -> None:
    (found,) = loops(
        code("xor eax,eax\n vmulps a\n vaddps b\n jne 4\n add rdi,1\n jne 0"), "float32"
    )
    assert texts(found) == ["vmulps a", "vaddps b", "jne 1"]


def test_a_loop_that_only_moves_does_not_hide_the_one_that_computes() -> None:
    """Inside of the loop that adds is one that copies."""
    (found,) = loops(code("vaddps a\n vmovups b\n jne 4\n jne 0"), "float32")
    assert texts(found) == ["vaddps a", "vmovups b", "jne 2", "jne 1"]
    assert not loops(code("vmovups b\n jne 0"), "float32")


def test_a_way_out_is_no_part_of_the_loop() -> None:
    (found,) = loops(code("cmp a,b\n jl 10\n pop rbx\n ret\n vaddps a\n jne 0"), "float32")
    assert texts(found) == ["cmp a,b", "jl 3", "vaddps a", "jne 1"]


def test_a_jump_back_to_what_ends_is_no_loop() -> None:
    assert not loops(code("vaddps a\n ret\n vaddps b\n jmp 0"), "float32")


@pytest.mark.parametrize(
    ("text", "dtype", "count"),
    [
        ("vfmadd231ps a", "float32", (1, 0)),
        ("vfnmadd231pd a", "float64", (1, 0)),
        ("vmulss a", "float32", (0, 1)),
        ("addps a", "float32", (1, 0)),
        ("vmovups a", "float32", (0, 0)),
        ("vpaddd a", "int32", (1, 0)),
        ("vpaddd a", "float32", (0, 0)),  # an address
        ("vpermt2ps a", "float32", (0, 0)),
    ],
)
def test_what_computes(text: str, dtype: str, count: tuple[int, int]) -> None:
    assert machine_code.computing(code(text), dtype) == count


def test_the_loop_with_most_arithmetic_is_the_kernels() -> None:
    def worth(adds: int, moves: int) -> tuple[float, float]:
        return machine_code._worth(code("vaddps a\n" * adds + "vmovups b\n" * moves), "float32")

    assert worth(28, 24) > worth(14, 8)  # the larger micro-kernel, though a smaller share
    assert worth(2, 4) > worth(100, 300)  # much is moved there


# ---- the extension -------------------------------------------------------------------------------

LEVELS = simd_cpp.levels() if "simd_cpp" in registry.backends() else []
WIDE = [level for level in LEVELS if level in ("avx2", "avx512")]


def kernel(name: str, dtype: str, level: str) -> registry.Kernel:
    found: registry.Kernel = sys.modules[simd_cpp.NAME].kernels(level)[name, dtype]
    return found


@pytest.mark.skipif(bool(machine_code.why_not()), reason="there is no objdump")
@pytest.mark.parametrize("level", WIDE)
@pytest.mark.parametrize(
    ("name", "dtype", "instruction"),
    [
        ("add", "float32", "vaddps"),
        ("add", "float64", "vaddpd"),
        ("add", "int32", "vpaddd"),
        ("sub", "float32", "vsubps"),
        ("mul", "float32", "vmulps"),
        ("mul", "float16", "vmulps"),  # in tiles of float32
        ("sum", "float32", "vaddps"),
        ("matmul", "float32", "vfmadd"),
    ],
)
def test_a_kernels_loop_has_its_instruction(
    name: str, dtype: str, instruction: str, level: str
) -> None:
    loop = loop_of(kernel(name, dtype, level))
    register = {"avx2": "ymm", "avx512": "zmm"}[level]
    assert [row for row in plain(loop) if row.startswith(instruction) and register in row]
    assert plain(loop)[-1].startswith("j") and plain(loop)[-1].endswith(" 1")


@pytest.mark.skipif(bool(machine_code.why_not()), reason="there is no objdump")
@pytest.mark.parametrize("level", WIDE)
def test_the_micro_kernel_is_found_through_its_table(level: str) -> None:
    """It is called by an address from a table, which lies among the constants."""
    packed, _ = machine_code.computing(loop_of(kernel("matmul", "float32", level)), "float32")
    assert packed >= 12


@pytest.mark.skipif(bool(machine_code.why_not()), reason="there is no objdump")
@pytest.mark.skipif(not WIDE, reason="there is no objdump")
def test_the_first_step_multiplies_one_by_one_and_the_second_in_lanes() -> None:
    naive, ikj = (
        machine_code.computing(loop_of(kernel(f"matmul.{step}", "float32", WIDE[0])), "float32")
        for step in ("naive", "ikj")
    )
    assert naive == (0, 2) and ikj[0] >= 2 and ikj[1] == 0


@pytest.mark.skipif(not LEVELS or bool(machine_code.why_not()), reason="there is no objdump")
def test_functions_begin_where_the_file_says() -> None:
    file = str(sys.modules[simd_cpp.NAME].__file__)
    starts = machine_code.functions_of(file)
    assert starts == sorted(starts) and len(starts) > 1000
    assert starts[0] > 0 and starts[-1] < os.path.getsize(file)


def test_a_table_is_read_as_far_as_it_names_functions() -> None:
    if machine_code.why_not():
        pytest.skip("there is no objdump")
    import ctypes

    base = 0x1000
    table = (ctypes.c_uint64 * 4)(base + 16, base + 32, base + 7, base + 16)
    place = ctypes.addressof(table) - base
    assert machine_code._listed_at(base, place, {16, 32}) == [16, 32]
    assert machine_code._listed_at(0, 8, {16}) == []  # no memory is there
