"""OpenCL devices: kernels agree with python_ref, memory is counted, errors are those of people.

The whole of it is `python -m tutor conformance opencl`; here a part of each kernel's cases is run.
"""

from __future__ import annotations

import itertools
import math
from array import array
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyopencl")

from tutor._storage.memory import Memory
from tutor.backends import registry
from tutor.backends.opencl import DEVICE, elementwise, launch, memory, table
from tutor.backends.opencl import device_context as driver
from tutor.backends.opencl.device import pool
from tutor.backends.opencl.device_context import found, place
from tutor.backends.opencl.precision import looser
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, bfloat16, bool_, float16, float32, float64, int32, int64, uint64
from tutor.errors import (
    DeviceError,
    DomainError,
    KernelNotFound,
    OutOfMemoryError,
    OutOfRangeError,
)
from tutor.testing import cases, conformance
from tutor.testing.cases.operands import Block, execute, images, through

if not found():
    pytest.skip("no OpenCL driver with a device is here", allow_module_level=True)

TABLE: Any = table(0)
CASES = 7  # of each row that is tried here


def on_device(values: Any, dtype: DType = float32, shape: Any = None) -> Operand:
    made = DEVICE.empty(len(values), dtype)
    made.write(array("B" if dtype is bool_ else dtype.format, values))
    shape = (len(values),) if shape is None else shape
    strides = [math.prod(shape[a + 1 :]) for a in range(len(shape))]
    return Operand(Block(made, dtype), tuple(shape), tuple(strides), 0)


def on_host(value: Any, dtype: DType, shape: Any = ()) -> Operand:
    block = Block(Memory(1, dtype.itemsize, dtype.format), dtype)
    block.raw.cast(dtype.format)[0] = value
    return Operand(block, shape, (0,) * len(shape), 0)


def numbers(x: Operand) -> list[Any]:
    return memoryview(x.buf.memory.read()).cast(x.buf.dtype.format).tolist()


# ---- agreement -----------------------------------------------------------------------------------


def rows() -> list[tuple[str, DType]]:
    """Each kernel for one of its floats, one of its integers, and for bools: the floats and the
    integers have their turn."""
    chosen = []
    for n, row in enumerate(SIGNATURES.values()):
        floats = [dtype for dtype in row.dtypes if dtype.is_float]
        integers = [dtype for dtype in row.dtypes if dtype.is_integer]
        some = [each[n % len(each)] for each in (floats, integers) if each]
        chosen += [(row.name, dtype) for dtype in (*some, bool_) if dtype in row.dtypes]
    return chosen


@pytest.mark.crossed("dtype")
@pytest.mark.parametrize(("kernel", "dtype"), rows(), ids=lambda x: getattr(x, "name", x))
def test_a_part_of_its_cases_agrees(kernel: str, dtype: DType) -> None:
    kind, limit = conformance.agreement(kernel, dtype)
    limit = max(limit, looser().get((kernel, dtype), 0.0))
    run = through(kernel, dtype, TABLE[kernel, dtype])
    reference = through(kernel, dtype, registry.table("python_ref")[kernel, dtype])
    drawn = list(itertools.islice(cases.draw(kernel, dtype, 5), 600))
    for case in drawn[:: max(1, len(drawn) // CASES)]:
        before = images(case)
        expected = execute(reference, case, before)
        got = execute(run, case, before, TABLE.room)
        for off, say in conformance.differences(kernel, dtype, kind, case, before, expected, got):
            assert off <= limit, say(off, kind, limit) + conformance.signed(kernel, dtype, case)


def test_every_row_of_the_table_is_there() -> None:
    wanted = {(row.name, dtype) for row in SIGNATURES.values() for dtype in row.dtypes}
    assert set(TABLE) == wanted


def test_conformance_takes_a_devices_memory_and_its_bounds() -> None:
    verdict = conformance.check(TABLE, "tan", float64)
    assert verdict.ok, verdict.first_failure
    assert verdict.limit == 5 and verdict.cases > 100

    def wrong(out: Operand, x: Operand) -> None:
        TABLE["neg", float32](out, x)

    broken = type(TABLE)({("abs", float32): wrong}, TABLE.room, {})
    assert not conformance.check(broken, "abs", float32).ok


def test_the_same_call_has_the_same_bits() -> None:
    x = on_device([math.sin(n) for n in range(70_001)])
    sums = []
    for _ in range(4):
        z = on_device([0.0], shape=())
        TABLE["sum", float32](z, x, axis=(0,))
        sums += numbers(z)
    assert len(set(sums)) == 1


# ---- numbers of the host, and refusals -----------------------------------------------------------


@pytest.mark.parametrize("dtype", [float32, float64, int32, int64, bool_, float16, bfloat16])
def test_a_number_of_the_host_is_taken_by_value(dtype: DType) -> None:
    cells = "B" if dtype is bool_ else "H" if dtype.itemsize == 2 else dtype.format
    bits = {float16: 0x4000, bfloat16: 0x4000}.get(dtype, 1 if dtype is bool_ else 2)
    host = Block(Memory(2, dtype.itemsize, dtype.format), dtype)
    host.raw.cast("B").cast(cells)[1] = bits
    host.raw.cast("B").cast(cells)[0] = 0
    z, x = (Block(DEVICE.empty(6, dtype), dtype) for _ in range(2))
    x.memory.write(array(cells, [bits] * 6).tobytes())
    for shape, strides in (((6,), (1,)), ((2, 3), (1, 2))):
        out, of = Operand(z, shape, strides, 0), Operand(x, shape, strides, 0)
        for one in (host, x):  # and a cell of the device, which is walked alike
            still = Operand(one, shape, (0,) * len(shape), 1)
            TABLE["sub" if dtype is not bool_ else "add", dtype](out, of, still)
            got = memoryview(z.memory.read()).cast("B").cast(cells).tolist()
            assert got == [1 if dtype is bool_ else 0] * 6


SIZES = (1, 2, 7, 15, 16, 17, 63, 64, 65, 128, 255, 256, 257, 511, 512, 700, 8191, 8192, 8193)


@pytest.mark.parametrize("is_cpu", [False, True])
def test_every_element_is_in_one_launch(is_cpu: bool) -> None:
    """And groups fill what is launched, as OpenCL 1.2 wants it, in few shapes for little work: for
    each PoCL makes a program of its own."""
    few = set()
    for n, m, rest in itertools.product(SIZES, (1, 2, 5, 64, 300), (1, 3)):
        axes = [elementwise.Axis(size, (1, 1)) for size in (rest, m, n)]
        whose = [0] * n
        for asks, sizes, local, first in elementwise.grids(axes, is_cpu):
            assert all(size % group == 0 for size, group in zip(sizes, local, strict=True))
            assert math.prod(local) <= 256
            assert sizes[2] == rest and (sizes[1] >= m if asks else sizes[1] == m)
            begin = first[0] if first else 0
            assert asks or begin + sizes[0] <= n
            for i in range(begin, min(begin + sizes[0], n)):
                whose[i] += 1
            if not is_cpu or n * m * rest < elementwise.MUCH:
                few.add((asks, local))
        assert whose == [1] * n
    assert few == {(True, elementwise.LINE), (True, elementwise.SQUARE)}


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((n,), (1,)) for n in SIZES[-3:]]
    + [((20_001,), (2,)), ((33, 257), (257, 1)), ((300, 31), (1, 300)), ((30, 300), (0, 1)),
       ((300, 40), (1, 0)), ((5, 41, 67), (1, 5, 205)), ((3, 4, 5, 200), (1, 600, 3, 15))],
)  # fmt: skip
def test_much_work_and_little(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """With as many elements as MUCH, and with fewer."""
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    memory = on_device(range(last + 1), int64)
    for n in (shape[0], 1):
        x = Operand(memory.buf, (n, *shape[1:]), strides, 0)
        out = on_device([0] * math.prod(x.shape), int64, x.shape)
        TABLE["neg", int64](out, x)
        walk = itertools.product(*map(range, x.shape))
        wanted = [-sum(i * s for i, s in zip(at, strides, strict=True)) for at in walk]
        assert numbers(out) == wanted


def test_of_layouts_that_come_once_the_oldest_go() -> None:
    kernel = TABLE["neg", int32]
    for n in range(1, elementwise.MOST_PLANS + 40):
        x = on_device(range(n), int32)
        kernel(x, x)
        assert len(kernel.plans) <= elementwise.MOST_PLANS
    assert numbers(x) == [-i for i in range(n)]
    assert (n,) in {key[0] for key in kernel.plans} and (1,) not in {k[0] for k in kernel.plans}


def test_what_has_no_result_is_refused_before_anything_is_written() -> None:
    z, x, y = on_device([7, 7], int32), on_device([4, 5], int32), on_device([2, 0], int32)
    for divisor in (y, on_host(0, int32, (2,))):
        with pytest.raises(DomainError, match="divided by 0"):
            TABLE["floor_divide", int32](z, x, divisor)
    with pytest.raises(DomainError, match="negative number of bits"):
        TABLE["bitwise_left_shift", int32](z, x, on_host(-1, int32, (2,)))
    for index in (9, 2, -3):
        with pytest.raises(OutOfRangeError, match=f"index {index} in axis 0"):
            TABLE["index_select", int32](z, x, on_device([0, index], int64), axis=0)
    assert numbers(z) == [7, 7]


@pytest.mark.parametrize("device", [False, True])
def test_random_numbers_move_their_counter_wherever_it_is(device: bool) -> None:
    place_of = on_device if device else lambda v, d, s: on_host(v[0], d)
    seed, counter = (place_of([n], uint64, ()) for n in (11, 2**64 - 1))
    z = on_device([0.0] * 9)
    TABLE["uniform", float32](z, seed, counter, blocks=3)
    one, two = on_host(11, uint64), on_host(2**64 - 1, uint64)
    wanted = Operand(Block(Memory(9, 4, "f"), float32), (9,), (1,), 0)
    registry.table("python_ref")["uniform", float32](wanted, one, two, blocks=3)
    assert numbers(z) == wanted.buf.raw.cast("f").tolist()
    raw = counter.buf.memory.read() if device else counter.buf.raw
    assert memoryview(raw).cast("B").cast("Q")[0] == 2


@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 2048, 3000])
def test_what_is_true_is_found_in_every_piece(count: int) -> None:
    """Pieces of 1,024 elements are counted side by side, and so is what stands at their ends."""
    for true in ([1] * count, [int(i % 1024 in (0, 1023)) for i in range(count)]):
        wanted = [i for i, one in enumerate(true) if one]
        z = on_device([-1] * len(wanted), int64, (len(wanted), 1))
        TABLE["nonzero", bool_](z, on_device(true, bool_))
        assert numbers(z) == wanted


def test_a_threshold_beyond_32_bits_keeps_nothing() -> None:
    seed, counter = (on_device([n], uint64, ()) for n in (1, 0))
    z, x = on_device([7.0] * 9), on_device([1.0] * 9)
    TABLE["dropout", float32](z, seed, counter, x, blocks=3, scale=2.0, threshold=2**32)
    assert numbers(z) == [0.0] * 9


@pytest.mark.parametrize("dtype", [float32, float64])
def test_tanh_is_1_far_out(dtype: DType) -> None:
    x = on_device([-200.0, -20.0, 20.0, 200.0], dtype)
    TABLE["tanh", dtype](x, x)
    assert numbers(x) == [-1.0, -1.0, 1.0, 1.0]


# ---- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("nbytes", [0, 1, 256, 257, 1000, 4096, 5000, 10**6 + 1, 2**30 + 1])
def test_a_size_class_wastes_at_most_a_quarter(nbytes: int) -> None:
    size = memory.size_class(nbytes)
    assert size >= nbytes
    assert size == 256 or size <= 1.25 * nbytes
    assert memory.size_class(size) == size


def test_what_was_given_back_waits_for_the_next() -> None:
    DEVICE.trim()
    before = DEVICE.stats()
    first = DEVICE.empty(1000, float32)
    block = first.data.int_ptr
    during = DEVICE.stats()
    assert during.in_use - before.in_use == 4000 and during.misses == before.misses + 1
    del first
    assert DEVICE.stats().held == memory.size_class(4000)
    second = DEVICE.empty(1010, float32)
    after = DEVICE.stats()
    assert second.data.int_ptr == block and after.hits == before.hits + 1 and after.held == 0


def test_nothing_waits_beyond_the_limit() -> None:
    limit = DEVICE.config().limit
    try:
        DEVICE.configure(limit=0)
        kept = DEVICE.empty(1000, float32)
        del kept
        assert DEVICE.stats().held == 0
        with pytest.raises(DomainError, match="no number of bytes"):
            DEVICE.configure(limit=-1)
    finally:
        DEVICE.configure(limit=limit)


def test_no_room_is_said_in_figures() -> None:
    with pytest.raises(OutOfMemoryError) as raised:
        DEVICE.empty(2**60, float32)
    assert "4194304.0 TiB on opencl:0" in raised.value.asked and "in use" in raised.value.found
    assert DEVICE.stats().in_use < 2**40


def test_a_copy_that_is_not_waited_for_has_what_was_there_when_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However late it is made: the driver is asked when the source is another one."""
    late: list[Any] = []
    source = bytearray(range(256)) * 4096
    made = DEVICE.empty(len(source), bool_)
    done = SimpleNamespace(command_execution_status=driver.COMPLETE)
    with monkeypatch.context() as patch:
        patch.setattr(place(0), "copy_in", lambda *copy: late.append(copy) or done)
        made.write(source)
    source[:] = bytes(len(source))
    place(0).copy_in(*late[0])
    assert made.read() == bytearray(range(256)) * 4096
    made.write(b"\7\7", 3)
    assert made.read()[:6] == bytes([0, 1, 2, 7, 7, 5])
    with pytest.raises(OutOfRangeError, match="write within it"):
        made.write(b"12", len(source) - 1)


def test_a_staged_copy_is_there_for_kernels_that_come_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined: list[Any] = []
    join = place(0).join
    monkeypatch.setattr(place(0), "join", lambda event: (joined.append(event), join(event)))
    staged = [DEVICE.stage(array("f", [float(n)] * 50_000), float32) for n in range(8)]
    z = on_device([0.0] * 50_000)
    for each in staged:
        x = Operand(Block(each.memory(), float32), (50_000,), (1,), 0)
        TABLE["add", float32](z, z, x)
    DEVICE.synchronize()
    assert set(numbers(z)) == {28.0}
    assert joined == [each.event for each in staged]


# ---- errors --------------------------------------------------------------------------------------


def test_a_source_that_is_not_taken_names_its_kernel() -> None:
    with pytest.raises(DeviceError) as raised:
        launch.compiled(place(0), "odd", "kernel void odd(global float *z) { z[0] = nothing; }", [])
    assert "kernel odd for opencl:0" in raised.value.asked
    assert "nothing" in raised.value.found


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [(-2, DeviceError, "gone"), (-36, DeviceError, "gone"), (-5, DeviceError, "gone"),
     (-4, OutOfMemoryError, "no room"), (-52, DeviceError, "refused")],
)  # fmt: skip
def test_what_a_driver_answers_becomes_ours(
    monkeypatch: pytest.MonkeyPatch, code: int, kind: type, words: str
) -> None:
    class Answer(driver.cl.Error):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            Exception.__init__(self, f"clEnqueue failed: {code}")

        code = property(lambda _: code)

    def lost(*_: Any) -> None:
        raise Answer

    monkeypatch.setattr(driver.cl, "enqueue_nd_range_kernel", lost)
    x = on_device([1.0])
    with pytest.raises(kind, match=words) as raised:
        TABLE["neg", float32](x, x)
    assert "opencl:0, kernel neg_float32" in str(raised.value)


def test_a_device_that_is_not_there_is_said_with_those_that_are() -> None:
    with pytest.raises(DeviceError, match="opencl:0 is ") as raised:
        DEVICE.empty(1, float32, 99)
    assert "opencl:99" in raised.value.asked


def test_a_device_without_doubles_refuses_what_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place(0), "has_double", False)
    monkeypatch.setattr(place(0), "programs", {})
    body = elementwise.body_of("remainder", float32, (float32,) * 3, place(0).c)
    kernel = elementwise.Elements(pool(0), "remainder", (float32,) * 3, body)
    x = on_device([5.0])
    with pytest.raises(KernelNotFound, match="cl_khr_fp64"):
        kernel(x, x, x)
    body = elementwise.body_of("add", float32, (float32,) * 3, place(0).c)
    elementwise.Elements(pool(0), "add", (float32,) * 3, body)(x, x, x)
    assert numbers(x) == [10.0]
    from tutor.backends.opencl.kernels import rows_of

    assert not [row for row in rows_of(pool(0)) if row[1] is float64]
    with pytest.raises(TypeError, match="no double precision"):
        DEVICE.empty(1, float64)
