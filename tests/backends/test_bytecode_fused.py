"""The kernel `fused`: the bits of a chain are those of its kernels, called one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from backend_names import BACKENDS, LEVELS
from hypothesis import given, settings
from hypothesis import strategies as st

import tutor
from tutor._storage.layout import contiguous_strides
from tutor._storage.memory import Memory
from tutor.backends import bytecode, costs, registry, simd_cpp
from tutor.backends.bytecode import Instruction
from tutor.backends.registry import Operand, Table
from tutor.backends.shape_rules import without
from tutor.backends.signatures import SIGNATURES
from tutor.backends.step import Step, emit
from tutor.dtype import (
    TABLE,
    DType,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
)
from tutor.errors import (
    ArgumentError,
    AxisError,
    DomainError,
    DTypeError,
    KernelNotFound,
    ShapeError,
    TutorError,
)
from tutor.testing.cases import chains
from tutor.testing.cases.draws import Case, Draw
from tutor.testing.cases.operands import Block, elements, execute, images, operand

DTYPES = pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)


@pytest.fixture(params=(1, 2))
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = simd_cpp.num_threads()
    simd_cpp.set_num_threads(request.param)
    yield request.param
    simd_cpp.set_num_threads(before)


# ---- one by one ----------------------------------------------------------------------------------


def blank(dtype: DType, shape: tuple[int, ...]) -> Operand:
    block = Block(Memory(max(math.prod(shape), 1), dtype.itemsize, dtype.format), dtype)
    return Operand(block, shape, contiguous_strides(shape), 0)


def one_by_one(table: Table) -> Any:
    """The kernel `fused`, made of the table's other kernels: each runs over all elements."""

    def run(out: Any, *ins: Any, code: str, results: int, axis: tuple[int, ...]) -> None:
        first = len(ins) + 1 - results
        shape = out.shape if bytecode.product(code) else ins[0].shape
        places = {f"i{n}": x for n, x in enumerate(ins[:first])}
        kept = []
        for row in bytecode.parse(code):
            args = [places[arg] for arg in row.args]
            dtype = bytecode.made(row, [x.buf.dtype for x in args])
            params = {"axis": axis} if row.reduces else {}
            params = {"relu": False} if row.kernel == "linear" else params
            place = blank(dtype, without(shape, axis) if row.reduces else shape)
            key = args[0].buf.dtype if row.kernel == "cast" else row.dtype
            table[row.kernel, key](place, *args, **params)
            places[row.dest] = place
        for n, result in enumerate((out, *ins[first:])):
            kept.append((result, places[f"o{n}"]))
        for result, value in kept:
            table["copy", value.buf.dtype](result, value)

    return run


def outcome(kernel: Any, case: Case, before: list[bytes]) -> list[bytes] | tuple[str, str]:
    try:
        return execute(kernel, case, before)
    except TutorError as error:
        return type(error).__name__, str(error)


def assert_same(table: Table, dtype: DType, case: Case) -> None:
    """Results and all that stands around them, to the bit; any nan equals any other."""
    before = images(case)
    wanted = outcome(one_by_one(table), case, before)
    found = outcome(table["fused", dtype], case, before)
    if wanted == found:
        return
    said = f"{case.params} {[(s.dtype.name, s.shape, s.layout) for s in (case.out, *case.ins)]}"
    assert isinstance(wanted, list), f"{wanted} {found} {said}"
    assert isinstance(found, list), f"{found} {said}"
    for i, spec in enumerate((case.out, *case.ins)):
        pairs = [elements(spec, memory) for memory in (wanted[i], found[i])]
        bits = [elements(spec, memory, bits=True) for memory in (wanted[i], found[i])]
        for at, (x, y, x_bits, y_bits) in enumerate(zip(*pairs, *bits, strict=True)):
            assert x_bits == y_bits or (x != x and y != y), f"operand {i}, {at}: {x} {y} {said}"


REDUCTIONS = ("sum", "prod", "mean", "max", "min", "argmax", "argmin")


def reductions(dtype: DType) -> list[str]:
    """Those whose result for numbers of that dtype is one of that dtype, too."""
    found = []
    for name in REDUCTIONS:
        row = Instruction("o0", name, dtype, ("r0",))
        if dtype in row.signature.dtypes and bytecode.made(row, [dtype]) is dtype:
            found.append(name)
    return found


def drawn(
    seed: int, dtype: DType, shape: tuple[int, ...], axis: tuple[int, ...] | None = None
) -> Case:
    """Any kernels, dtypes, layouts; now and then in place."""
    d = Draw("fused", dtype, seed)
    case = chains.chain(d, shape, (), chains.ALL, axis, reductions(dtype))
    place = case.ins[0]
    if axis is None and place.dtype is dtype and place.layout != "expanded" and seed % 3 == 0:
        case = case._replace(out=place, in_place=True)
    return case


SIZES = (0, 1, 2, 3, 7, 31, 64, 100, 511, 512, 513, 700, 2047, 2048, 2049, 4100, 33000)


@st.composite
def calls(draw: st.DrawFn, most: int) -> tuple[int, DType, tuple[int, ...], Any]:
    shape = tuple(draw(st.lists(st.sampled_from(SIZES), min_size=0, max_size=4)))
    while math.prod(max(n, 1) for n in shape) > most:  # gaps of a layout take room, too
        shape = shape[1:]
    dtype, axis = draw(st.sampled_from(TABLE)), None
    if draw(st.booleans()) and 0 not in shape and reductions(dtype):
        picked = draw(st.sets(st.integers(0, len(shape) - 1)) if shape else st.just(set()))
        axis = tuple(sorted(picked))
    return draw(st.integers(0, 10**6)), dtype, shape, axis


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
@settings(max_examples=300)
@given(calls(5000))
def test_any_chain_has_the_bits_of_its_kernels(call: tuple[Any, ...]) -> None:
    seed, dtype, shape, axis = call
    case = drawn(seed, dtype, shape, axis)
    for level in LEVELS:
        assert_same(registry.table(level), dtype, case)


@settings(max_examples=150)
@given(calls(300))
def test_any_chain_has_the_bits_of_the_reference(call: tuple[Any, ...]) -> None:
    seed, dtype, shape, axis = call
    assert_same(registry.table("python_ref"), dtype, drawn(seed, dtype, shape, axis))


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
@pytest.mark.parametrize("size", [2047, 2048, 2049, 32767, 32768, 32769, 65537, 100_001])
def test_tiles_and_threads_change_no_bit(size: int, threads: int) -> None:
    """On both sides of a tile's end, and of what one thread takes."""
    for level in LEVELS:
        for dtype in (float32, float16, int64):
            assert_same(registry.table(level), dtype, drawn(size, dtype, (size,)))
            for axis, shape in (((0,), (size,)), ((1,), (3, size // 3)), ((0,), (size // 3, 3))):
                assert_same(registry.table(level), dtype, drawn(size, dtype, shape, axis))


ALONG = [  # results side by side: few and many, in strips, of one block and of several chunks
    ((600, 40), (0,)), ((70, 1300), (0,)), ((3, 520, 16), (1,)), ((2, 5, 600), (0, 1)),
    ((33_000, 8), (0,)), ((40, 3, 4, 5), (0, 2)), ((1100, 9), (1,)), ((300, 31), (1,)),
]  # fmt: skip


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
@pytest.mark.parametrize(("shape", "axis"), ALONG, ids=str)
def test_reductions_along_any_axis(
    shape: tuple[int, ...], axis: tuple[int, ...], threads: int
) -> None:
    for level in LEVELS:
        for dtype in (float32, float16, int64):
            for kernel in reductions(dtype):
                d = Draw("fused", dtype, 5)
                layouts = ("contiguous", d.rng.choice(("contiguous", "contiguous", "transposed")))
                case = chains.chain(d, shape, layouts, chains.WHOLE, axis, [kernel], "small")
                assert_same(registry.table(level), dtype, case)


# ---- behind a product ----------------------------------------------------------------------------

BEHIND = tuple(name for name in chains.ALL if name not in bytecode.DIVIDES)


@st.composite
def behind(draw: Any, most: int) -> tuple[DType, Case]:
    """A chain behind a product of any layouts; now and then all lies row by row."""
    batch = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 0)), max_size=2)))
    sides = st.sampled_from([n for n in (0, 1, 3, 5, 14, 15, 16, 17, 33, 90, 520) if n <= most])
    m, k, n = (draw(sides) for _ in range(3))
    while m * max(n, k) * math.prod(batch) > 20_000:
        m = m // 2
    dtype = draw(st.sampled_from([t for t in TABLE if t is not bool_]))
    d = Draw("fused", dtype, draw(st.integers(0, 10**6)))
    layouts = draw(st.sampled_from(((), ("contiguous", *chains.LAYOUTS))))
    return dtype, chains.behind(d, batch, (m, k, n), layouts, BEHIND, "small")


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
@settings(max_examples=300)
@given(behind(520))
def test_any_chain_behind_a_product_has_the_bits_of_its_kernels(call: tuple[DType, Case]) -> None:
    for level in LEVELS:
        assert_same(registry.table(level), *call)


@settings(max_examples=60)
@given(behind(5))
def test_any_chain_behind_a_product_has_the_bits_of_the_reference(
    call: tuple[DType, Case],
) -> None:
    assert_same(registry.table("python_ref"), *call)


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
@pytest.mark.parametrize(
    "sizes", [(15, 1000, 600), (300, 40, 300), (4100, 3, 17), (33, 20, 2100), (257, 385, 513)],
    ids=str,
)  # fmt: skip
def test_panels_tiles_and_threads_change_no_bit(sizes: tuple[int, ...], threads: int) -> None:
    for level in LEVELS:
        for dtype in (float32, float16, float64):
            for seed in range(3):
                d = Draw("fused", dtype, seed)
                case = chains.behind(d, (), sizes, ("contiguous", "contiguous"), BEHIND, "small")
                assert_same(registry.table(level), dtype, case)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_product_and_what_follows_it_by_hand(backend: str) -> None:
    x, y = numbers([1, 2, 3, 4], (2, 2)), numbers([1, 0, 2, -1], (2, 2))
    more = numbers([100, 200, 300, 400], (2, 2))
    code = "r0 = matmul.float32 i0 i1; r1 = relu.float32 r0; o0 = add.float32 r1 i2"
    assert fused(backend, blank(float32, (2, 2)), x, y, more, code=code) == [105, 200, 311, 400]
    b = numbers([0.5, -0.5], (2,))
    code = "r0 = linear.float32 i0 i1 i2; o1 = lt.float32 r0 i3; r0 = neg.float32 r0;"
    code += " o0 = copy.float32 r0"
    less, out = blank(bool_, (2, 2)), blank(float32, (2, 2))
    assert fused(backend, out, x, y, b, x, less, code=code, results=2) == [-1.5, 0.5, -3.5, -1.5]
    assert listed(less) == [False, True, False, True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_result_may_stand_where_something_is_read(backend: str) -> None:
    """Then the product has memory of its own: nothing of what is read is lost."""
    for n in (3, 40):
        x, y = (numbers([i % k for i in range(n * n)], (n, n)) for k in (5, 7))
        z = numbers([i % 3 for i in range(n * n)], (n, n))
        code = "r0 = matmul.float32 i0 i1; o1 = relu.float32 i2; o0 = add.float32 r0 i2"
        plain, mask = blank(float32, (n, n)), blank(float32, (n, n))
        wanted = fused(backend, plain, x, y, z, mask, code=code, results=2)
        for out, other in ((z, mask), (x, mask), (y, mask), (plain, x), (plain, y), (plain, z)):
            memory = {id(w): list(listed(w)) for w in (x, y, z)}
            assert fused(backend, out, x, y, z, other, code=code, results=2) == wanted
            assert listed(other) == [max(value, 0) for value in memory[id(z)]]
            for w in (x, y, z):
                for at, value in enumerate(memory[id(w)]):
                    w.buf.raw.cast("B").cast("f")[at] = value


# ---- by hand -------------------------------------------------------------------------------------


def numbers(values: Sequence[Any], shape: tuple[int, ...], dtype: DType = float32) -> Operand:
    d = Draw("fused", dtype, 0)
    spec = d.spec(shape, list(values))
    return operand(spec, images(Case(spec))[0])


def listed(x: Operand) -> list[Any]:
    from tutor.backends.python_ref.walk import read

    return read(x)


def fused(backend: str, out: Operand, *ins: Operand, **params: Any) -> list[Any]:
    registry.table(backend)["fused", out.buf.dtype](
        out, *ins, **{"results": 1, "axis": ()} | params
    )
    return listed(out)


def fused_again(backend: str, out: Operand, *ins: Operand, **params: Any) -> Operand:
    fused(backend, out, *ins, **params)
    return out


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_chain_by_hand(backend: str) -> None:
    x = numbers([1, 2, -3, 4, -5, 6], (2, 3))
    row = numbers([10, 20, 30], (3,))._replace(shape=(2, 3), strides=(0, 1))
    two = numbers([2], ())._replace(shape=(2, 3), strides=(0, 0))
    code = "r0 = mul.float32 i0 i1; r1 = relu.float32 r0; o0 = add.float32 r1 i2"
    assert fused(backend, blank(float32, (2, 3)), x, two, row, code=code) == [
        12, 24, 30, 18, 20, 42]  # fmt: skip
    code = "r0 = mul.float32 i0 i1; o0 = sum.float32 r0"
    total = blank(float32, (2,))
    assert fused(backend, total, x, two, code=code, axis=(1,)) == [0, 10]
    code = "o1 = gt.float32 i0 i1; r0 = where.float32 o1 i0 i1; o0 = cast.int32 r0"
    mask, whole = blank(bool_, (2, 3)), blank(int32, (2, 3))
    assert fused(backend, whole, x, two, mask, code=code, results=2) == [2, 2, 2, 4, 2, 6]
    assert listed(mask) == [False, False, False, True, False, True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_input_is_read_as_it_was_before(backend: str) -> None:
    """o0 is i0 in memory: what is written early must not be seen by who reads i0 later."""
    for n in (3, 5000):
        x, y = numbers(range(n), (n,)), numbers([2.0] * n, (n,))
        code = "o0 = mul.float32 i0 i1; o1 = add.float32 o0 i0"
        more = blank(float32, (n,))
        fused(backend, x, x, y, more, code=code, results=2)
        assert listed(x) == [2.0 * i for i in range(n)]
        assert listed(more) == [3.0 * i for i in range(n)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_an_instruction_refuses_leaves_all_as_it_was(backend: str) -> None:
    """The error is that of the kernel itself, and the first one that it would have been; nothing
    is written, also where the result stands in place of an input."""
    n = 10_000 if backend in LEVELS else 100
    for bad, code in (
        ("floor_divide", "r0 = add.int32 i0 i1; o0 = floor_divide.int32 r0 i1"),
        ("remainder", "r0 = remainder.int32 i0 i1; o0 = bitwise_left_shift.int32 r0 i2"),
        ("bitwise_left_shift", "r0 = bitwise_left_shift.int32 i0 i2; o0 = fmod.int32 r0 i1"),
        ("pow", "r0 = pow.int32 i0 i2; o0 = add.int32 r0 i1"),
    ):
        x = numbers([*range(n)], (n,), int32)
        zero = numbers([*[3] * (n - 1), 0], (n,), int32)  # at the end
        minus = numbers([-1, *[2] * (n - 1)], (n,), int32)  # at the beginning
        with pytest.raises(DomainError) as error:
            fused(backend, x, x, zero, minus, code=code)
        assert bad in str(error.value)
        with pytest.raises(DomainError) as eager:
            one_by_one(registry.table(backend))(x, x, zero, minus, code=code, results=1, axis=())
        assert str(error.value) == str(eager.value)
        assert listed(x) == [*range(n)]
    fine = numbers([2] * n, (n,), int32)
    code = "r0 = add.int32 i0 i1; o0 = floor_divide.int32 r0 i1"
    assert fused(backend, x, x, fine, code=code) == [(i + 2) // 2 for i in range(n)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_byte_but_zero_is_true(backend: str) -> None:
    mask = numbers([0, 1, 1, 0], (4,), bool_)
    mask.buf.raw[:] = bytes([0, 7, 255, 0]) + mask.buf.raw[4:].tobytes()
    x = numbers([1, 2, 3, 4], (4,), int8)
    code = "r0 = bitwise_not.bool i0; o0 = where.int8 r0 i1 i2"
    assert fused(backend, blank(int8, (4,)), mask, x, x, code=code) == [1, 2, 3, 4]
    code = "r0 = copy.bool i0; o0 = cast.int8 r0"
    assert fused(backend, blank(int8, (4,)), mask, code=code) == [0, 1, 1, 0]
    assert fused(backend, blank(int64, ()), mask, code="o0 = sum.bool i0", axis=(0,)) == [2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_nothing(backend: str) -> None:
    none, code = numbers([], (3, 0)), "r0 = neg.float32 i0; o0 = {}.float32 r0"
    assert fused(backend, blank(float32, (3, 0)), none, code=code.format("relu")) == []
    for axis, wanted in (((1,), [0, 0, 0]), ((0, 1), [0]), ((0,), [])):
        left = blank(float32, without((3, 0), axis))
        assert fused(backend, left, none, code=code.format("sum"), axis=axis) == wanted
    with pytest.raises(ShapeError, match="no element to choose"):
        fused(backend, blank(float32, (3,)), none, code=code.format("max"), axis=(1,))


# ---- what is refused -----------------------------------------------------------------------------

REFUSED: list[tuple[str, type[TutorError], str]] = [
    ("", DomainError, "not of the form"),
    ("r0 = mul", DomainError, "not of the form"),
    ("o0 relu.float32 i0", DomainError, "not of the form"),
    ("o0 = relu i0", DomainError, "not of the form"),
    ("o0 = relu.float32 i0;", DomainError, "not of the form"),
    ("o0 = relu.float32 i00", DomainError, "not of the form"),
    ("o0 = relu.float32 i0\\0", DomainError, "not of the form"),
    ("o0 = relu.float32 x0", DomainError, "not of the form"),
    ("o0 o1 = relu.float32 i0", DomainError, "not of the form"),
    ("o0 = relu.float32\\xa0i0", DomainError, "beyond ASCII"),
    ("o0 = frob.float32 i0", KernelNotFound, "none of that name"),
    ("o0 = addd.float32 i0 i1", KernelNotFound, "near to it: add"),
    ("o0 = softmax.float32 i0", KernelNotFound, "not elementwise without parameters"),
    ("o0 = fill.float32 i0", KernelNotFound, "not elementwise without parameters"),
    ("o0 = fused.float32 i0", KernelNotFound, "not elementwise without parameters"),
    ("o0 = sum.naive.float32 i0", DTypeError, "there is sum of"),
    ("o0 = relu.float23 i0", DTypeError, "there is relu of"),
    ("o0 = sqrt.int8 i0", DTypeError, "there is sqrt of float16, bfloat16"),
    ("o0 = relu.float32 i0 i1", ArgumentError, "relu takes 1 argument, not 2"),
    ("o0 = add.float32 i0", ArgumentError, "add takes 2 arguments, not 1"),
    ("o0 = add.float32 i0 i1 i1 i1 i1", ArgumentError, "add takes 2 arguments, not 5"),
    ("o0 = add.float32", ArgumentError, "not 0"),
    ("o0 = add.float32 i0 r0", DomainError, "r0 is not there"),
    ("o0 = add.float32 i0 o0", DomainError, "o0 is not there"),
    ("o0 = add.float32 i0 i2", DomainError, "i2 is not there"),
    ("o0 = relu.float64 i0", DTypeError, "i0 is float32, not float64"),
    ("o0 = cast.int8 i0", DTypeError, "it gives int8, but o0 is float32"),
    ("r0 = relu.float32 i0", DomainError, "nothing is written to o0"),
    ("o1 = relu.float32 i0", DomainError, "o1 is no result"),
    ("i1 = relu.float32 i0", DomainError, "i1 is no result"),
    ("o0 = relu.float32 i0; o0 = neg.float32 i0", DomainError, "o0 was written before"),
    ("r0 = sum.float32 i0; o0 = relu.float32 r0", DomainError, "reduced would go to r0"),
    ("o0 = sum.float32 i0; r0 = relu.float32 o0", DomainError, "o0 is reduced already"),
    ("r0 = relu.float32 i0; r1 = matmul.float32 i0 i1; o0 = relu.float32 r1", DomainError, "first"),
    ("r0 = matmul.float32 i1 i0; o0 = relu.float32 r0", DomainError, "in order"),
    ("o0 = matmul.float32 i0 i1", DomainError, "a register"),
    ("r0 = matmul.float32 i0 i1; o0 = add.float32 r0 i0", DomainError, "i0 is not there"),
    ("r0 = matmul.float32 i0 i1; o0 = sum.float32 r0", DomainError, "reduces, behind a product"),
    ("r0 = matmul.float32 i0 i1; r1 = cast.int8 r0; r1 = pow.int8 r1 r1; o0 = relu.float32 r0",
        DomainError, "may refuse a number, behind a product"),
    ("r0 = matmul.bool i0 i1; o0 = relu.float32 r0", DTypeError, "there is matmul of"),
    ("r0 = matmul.float64 i0 i1; o0 = cast.float32 r0", DTypeError, "i0 is float32"),
    ("r0 = matmul.float32 i0; o0 = relu.float32 r0", ArgumentError, "matmul takes 2 arguments"),
    ("r0 = conv2d.float32 i0 i1; o0 = relu.float32 r0", KernelNotFound, "nor a reduction or a"),
    ("; ".join(["r0 = relu.float32 i0"] * 64 + ["o0 = relu.float32 r0"]), ArgumentError, "at most"),
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("code", "error", "said"), REFUSED, ids=lambda x: str(x)[:40])
def test_code_that_is_refused(backend: str, code: str, error: type[TutorError], said: str) -> None:
    code = code.replace("\\0", "\0").replace("\\xa0", "\xa0")
    x = numbers([1.0, -2.0], (2,))
    out = blank(float32, () if "sum." in code else (2,))
    with pytest.raises(error, match=said) as raised:
        fused(backend, out, x, x, code=code, axis=(0,) if "sum." in code else ())
    assert all(raised.value.args)


@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters_that_are_refused(backend: str) -> None:
    x, out = numbers([1.0, -2.0], (2,)), blank(float32, (2,))
    for results in (0, 3, 4, -1, 2**70):
        with pytest.raises(DomainError, match="3 operands"):
            fused(backend, out, x, x, code="o0 = relu.float32 i0", results=results)
    with pytest.raises(DomainError, match="o1"):
        fused(backend, out, x, x, code="o0 = relu.float32 i0", results=2)
    with pytest.raises(DTypeError, match="str"):
        fused(backend, out, x, code=3)
    many = [x] * 32
    with pytest.raises(ArgumentError, match="at most 32 operands"):
        fused(backend, out, *many, code="o0 = relu.float32 i0")
    with pytest.raises(AxisError):
        fused(backend, out, x, code="o0 = sum.float32 i0", axis=(1,))


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
def test_what_the_border_to_cpp_refuses() -> None:
    x, out, code = numbers([1.0, -2.0], (2,)), blank(float32, (2,)), "o0 = relu.float32 i0"
    level, spread = LEVELS[-1], x._replace(strides=(0,))
    with pytest.raises(DomainError, match="3 operands"):
        fused(level, out, x, x, code=code, results=1.5)
    for bad in (numbers([1.0], (1,)), numbers([1.0, 2.0], (2, 1))):
        with pytest.raises(ShapeError, match="all inputs have one shape"):
            fused(level, out, x, bad, code=code)
    with pytest.raises(ShapeError, match="all inputs have one shape"):
        fused(level, blank(float32, (1,)), x, code=code)
    with pytest.raises(ShapeError, match="stride 0"):
        fused(level, spread, x, code=code)
    with pytest.raises(ShapeError, match="stride 0"):
        fused(level, out, x, spread, code=code + "; o1 = neg.float32 i0", results=2)
    with pytest.raises(DomainError, match="no instruction reduces"):
        fused(level, blank(float32, ()), x, code=code, axis=(0,))
    with pytest.raises(TypeError, match="missing"):
        registry.table(level)["fused", float32](out, x, code=code, results=1)


# ---- as data -------------------------------------------------------------------------------------


def test_text_and_parse_are_inverse() -> None:
    code = "r0 = mul.float32 i0 i1; r1 = relu.float32 r0; o0 = sum.float32 r1"
    rows = bytecode.parse(code)
    assert bytecode.text(rows) == code
    assert (
        bytecode.parse("  r0=mul.float32  i0 i1 ;\nr1 = relu.float32 r0; o0 = sum.float32 r1")
        == rows
    )
    assert rows[0] == Instruction("r0", "mul", float32, ("i0", "i1"))
    assert [row.reduces for row in rows] == [False, False, True]
    found = bytecode.check(code, [float32] * 3, 1, (4,), (0,))
    assert found == [(row, float32) for row in rows]


def test_what_a_step_of_it_costs_reads_and_writes() -> None:
    x, y, out, more = (blank(float32, (4, 6)) for _ in range(4))
    code = "r0 = mul.float32 i0 i1; o1 = cast.float32 r0; o0 = relu.float32 o1"
    step = Step("fused", float32, out, (x, y, more), {"code": code, "results": 2, "axis": ()})
    assert step.writes == (out, more)
    assert step.reads == (x, y)
    assert step.nbytes == 4 * 24 * 4
    assert step.flops == 2 * 24  # a cast computes nothing
    assert costs.flops("fused", step.layouts) is None
    with tutor.profile() as p:
        emit(step)
    assert [(call.nbytes, call.flops) for call in p.calls] == [(4 * 24 * 4, 2 * 24)]


def test_every_kernel_without_parameters_can_stand_in_a_chain() -> None:
    fitting = {name for name, row in SIGNATURES.items() if bytecode.fits(row)}
    assert fitting >= {*chains.ALL, *REDUCTIONS}
    for name in chains.ALL:
        for dtype in SIGNATURES[name].dtypes:
            d = Draw("fused", dtype, 1)
            made = chains.Chain(d, [dtype, bool_], [name])
            gives = made.any("o0")
            for backend in BACKENDS:
                ins = [d.spec((9,), "any", dtype=t) for t in (dtype, bool_)]
                params = {"code": bytecode.text(made.rows), "results": 1, "axis": ()}
                case = Case(d.result((9,), dtype=gives), tuple(ins), params)
                assert_same(registry.table(backend), gives, case)


def test_what_follows_a_product_is_a_chain_of_its_own() -> None:
    """Its result is i0, the inputs it did not take follow, and its register may be used anew."""
    chain = bytecode.parse(
        "r0 = linear.float32 i0 i1 i2; r1 = mul.float32 r0 i4; r0 = add.float32 r1 i3; "
        "o0 = sub.float32 r0 i4"
    )
    assert bytecode.text(bytecode.after_first(chain, 5)) == (
        "r1 = mul.float32 i0 i2; r0 = add.float32 r1 i1; o0 = sub.float32 r0 i2"
    )
