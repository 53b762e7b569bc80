"""C from a Program: what it says, and that each kernel computes what it computes elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from compiled_cases import (
    chain,
    chosen,
    compiles,
    failures,
    small,
    whole,
)

from tutor._storage.bits import pack, unpack
from tutor.backends import registry
from tutor.backends.codegen.dialect import OPENCL, real
from tutor.backends.codegen.expressions import EXPRESSIONS, expression
from tutor.backends.codegen.loops import summed
from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.backends.step import Step, emit
from tutor.dtype import (
    TABLE,
    DType,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint64,
)
from tutor.programs.program import Program, Slot
from tutor.programs.source import compiler
from tutor.programs.source.function import CompiledProgram
from tutor.programs.source.text import WRITERS, functions_of, source
from tutor.programs.source.verify import Memories
from tutor.testing.cases.bounds import UPDATES

GOLDEN = Path(__file__).parent / "source.txt"
pytestmark = pytest.mark.usefixtures("second_road")


def test_the_source_is_what_a_person_wants_to_read() -> None:
    text = source(small())
    if os.environ.get("TUTOR_WRITE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
    assert max(map(len, text.splitlines())) <= 100


def test_a_source_is_a_function_of_the_program_alone() -> None:
    assert source(small()) == source(small())


def test_a_chain_is_one_loop() -> None:
    text = source(
        chain("r0 = mul.float32 i0 i1; o1 = gt.float32 r0 i1; r0 = exp.float32 r0; "
              "o0 = where.float32 o1 r0 i0", 2)
    )  # fmt: skip
    assert text.count("for (") == 2
    assert (
        """
            const float i0 = x0[i * 7 + j];
            const float i1 = x1[j];
            const float r0 = i0 * i1;
            const bool o1 = r0 > i1;
            const float r0_2 = expf(r0);
            const float o0 = o1 ? r0_2 : i0;
            y0[i * 7 + j] = o0;
            y1[i * 7 + j] = o1;
"""
        in text
    )


def test_a_chain_may_end_in_a_sum() -> None:
    text = source(chain("r0 = mul.float32 i0 i1; o0 = sum.float32 r0"))
    assert (
        """
            const float r0 = x0[c + k * 7] * x1[c];
            lane[k][c] += r0;
"""
        in text
    )


@compiles
def test_a_chain_that_may_refuse_is_left_to_the_library() -> None:
    """What it refuses is known in its midst, when results may be written already."""
    x, y = Slot("input", 4, int32), Slot("output", 4, int32)
    params = {"code": "r0 = sub.int32 i0 i0; o0 = fmod.int32 i0 r0", "results": 1, "axis": ()}
    program = Program([Step("fused", int32, whole(y, 4), (whole(x, 4),), params)])
    assert functions_of(program) == [None]


# ---- every kernel --------------------------------------------------------------------------------


def test_what_is_not_written_out_is_known() -> None:
    library = {name for name in SIGNATURES if name not in WRITERS}
    assert library == {"argsort", "attention", "attention_grad", "batch_norm", "batch_norm_grad",
                       "conv2d", "conv2d_weight", "cummax", "dropout", "group_norm",
                       "group_norm_grad", "gru", "gru_grad", "layer_norm", "layer_norm_grad",
                       "lstm", "lstm_grad", "max_pool2d", "max_pool2d_grad", "nonzero", "normal",
                       "random_bits", "rms_norm", "rms_norm_grad", "rnn", "rnn_grad", "scan",
                       "uniform"}  # fmt: skip


def test_every_elementwise_kernel_has_an_expression_for_each_of_its_dtypes() -> None:
    for row in TABLE_OF_KERNELS:
        if row.form == "elementwise" and not row.params and row.name != "cast":
            assert {d.kind for d in row.dtypes} == set(EXPRESSIONS[row.name]), row.name


DTYPES = [pytest.param(dtype, id=dtype.name) for dtype in TABLE]


@pytest.mark.crossed("dtype")
@compiles
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_agrees_over_special_values(dtype: DType) -> None:
    """All kernels of one dtype in one source, each on the lists of values that conformance has."""
    rows = [row for row in TABLE_OF_KERNELS if dtype in row.dtypes and row.name in WRITERS]
    wrong = failures([case for row in rows for case in chosen(row.name, dtype, 1)])
    assert not wrong, wrong[0]


@compiles
@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=lambda d: d.name)
def test_what_is_computed_in_double_is_rounded_to_16_bits_once(dtype: DType) -> None:
    """By way of float, the least above a tie would become the tie."""
    z = Slot("output", 3, dtype)
    start = 1 + dtype.eps / 2 + 2.0**-40
    params = {"start": start, "step": 1, "parts": 1}
    program = Program([Step("arange", dtype, whole(z, 3), (), params)])
    memory = Memories(program.slots)
    CompiledProgram(program, compiler.load(source(program)))(memory.addresses)
    assert unpack(memory.blocks[z].raw.tobytes(), dtype)[0] == 1 + dtype.eps


@compiles
@pytest.mark.parametrize("dtype", [int32, int64, uint64], ids=lambda d: d.name)
def test_integers_become_bfloat16_by_one_rounding(dtype: DType) -> None:
    """Those just beside a tie, whose lowest bits a float would lose; a double, too, of 64 bits."""
    top = 8 * dtype.itemsize - 2
    ties = [2**top + (2 * n + 1) * 2 ** (top - 8) for n in range(4)]
    values = [tie + d for tie in ties for d in (-1, 0, 1)]
    values += [-v for v in values] if dtype.kind == "int" else []
    x, z = Slot("input", len(values), dtype), Slot("output", len(values), bfloat16)
    program = Program([Step("cast", dtype, whole(z, len(values)), (whole(x, len(values)),))])
    here, there = Memories(program.slots), Memories(program.slots)
    for memory in (here, there):
        memory.fill({x: pack(values, dtype)})
    CompiledProgram(program, compiler.load(source(program)))(here.addresses)
    emit(there.over(program.steps[0]), registry.table("python_ref")["cast", dtype])
    assert here.images([z]) == there.images([z])


FORMS = ("add", "where", "cast", "sum", "prod", "mean", "max", "argmin", "matmul", "linear",
         "softmax", "log_softmax", "cross_entropy", "cross_entropy_grad", "cat", "pad", "gather",
         "index_select", "scatter", "scatter_add", *UPDATES, "fill", "arange",
         "relu", "pow", "floor_divide", "fused")  # fmt: skip


@pytest.mark.sweep
@compiles
@pytest.mark.parametrize("kernel", FORMS)
def test_every_form_agrees_over_layouts(kernel: str) -> None:
    dtypes = [d for d in (float32, bfloat16, int32) if d in SIGNATURES[kernel].dtypes]
    wrong = failures([case for dtype in dtypes for case in chosen(kernel, dtype, 16)])
    assert not wrong, wrong[0]


# ---- details -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.1, float32, "0.1f"), (1, float32, "1.0f"), (-0.0, float64, "-0.0"),
        (1e300, float64, "1e+300"), (1 / 3, float64, "0.3333333333333333"),
        (3.4028234663852886e38, float32, "3.402823466e+38f"), (1e-45, float32, "1e-45f"),
        (float("inf"), float32, "INFINITY"), (float("-inf"), float64, "-INFINITY"),
        (float("nan"), float64, "NAN"),
    ],
)  # fmt: skip
def test_constants_have_as_few_digits_as_they_need(value: float, dtype: DType, text: str) -> None:
    assert real(value, dtype) == text


def test_an_index_is_as_short_as_it_can_be() -> None:
    assert summed([("i", 128), ("j", 1), ("k", 0)], 3) == "i * 128 + j + 3"
    assert summed([("i", -4), ("j", -1)], 11) == "-i * 4 - j + 11"
    assert summed([("i", 0)]) == "0"
    assert summed([], 7) == "7"


def test_another_dialect_is_another_small_object() -> None:
    text = source(small(), OPENCL)
    assert "exp(" in text
    assert "expf(" not in text
    assert "global float *restrict t0" in text
    assert "#include" not in text
    assert expression("log", float64, ["x"], OPENCL) == "log(x)"  # where C99 has logf for floats
    assert expression("neg", int8, ["x"], OPENCL) == "(int8_t)(0 - (uint32_t)x)"
