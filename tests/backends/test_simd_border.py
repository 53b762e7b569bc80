"""The border to C++: nothing that Python hands over crashes the process or reaches outside a Buffer."""

from __future__ import annotations

import gc
import struct
import threading
import weakref
from array import array
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tutor.backends import simd_cpp
from tutor.backends.simd_cpp import _simd
from tutor.dtype import TABLE, DType, bool_, float32, int8, int32, int64, uint32, uint64
from tutor.errors import AxisError, DTypeError, OutOfRangeError, ShapeError

KERNELS = simd_cpp.table(simd_cpp.levels()[-1])
HUGE = 2**62


@dataclass(slots=True)
class Operand:
    buf: Any
    shape: Any
    strides: Any
    offset: Any = 0


def operand(*shape: int, dtype: DType = float32, cls: type = Operand) -> Any:
    strides, count = [], 1
    for size in reversed(shape):
        strides.insert(0, count)
        count *= size
    return cls(
        buf=_simd.Memory(count, dtype.itemsize, dtype.format),
        shape=shape,
        strides=tuple(strides),
        offset=0,
    )


def filled(values: list[Any], dtype: DType = float32, cls: type = Operand) -> Any:
    x = operand(len(values), dtype=dtype, cls=cls)
    x.buf.raw[:] = struct.pack(f"{len(values)}{dtype.format}", *values)
    return x


def values(x: Any) -> list[Any]:
    return np.frombuffer(x.buf.raw, BY_FORMAT[x.buf.format]).tolist()


BY_FORMAT = {d.format: d.name for d in TABLE}


def changed(**attributes: Any) -> Operand:
    """A fine float32 operand of 6 elements, but for `attributes`."""
    x = operand(6)
    for name, value in attributes.items():
        setattr(x, name, value)
    return x


# ---- Which objects are operands ------------------------------------------------------------------


class Slots:
    __slots__ = ("buf", "offset", "shape", "strides")

    def __init__(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)


class MoreSlots(Slots):
    __slots__ = ("grad",)


class Properties(Slots):
    __slots__ = ()
    shape = property(lambda self: (3,), lambda self, value: None)


class Dynamic(Slots):
    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("cls", [Operand, Slots, MoreSlots, Properties, Dynamic, SimpleNamespace])
def test_any_object_with_the_four_attributes_is_an_operand(cls):
    out, x = filled([0.0] * 3, cls=cls), filled([1.0, 2.0, 3.0], cls=cls)
    KERNELS["add", float32](out, x, x)
    assert values(out) == [2.0, 4.0, 6.0]


def test_more_types_of_operands_than_are_remembered():
    for _ in range(50):
        cls = type("Local", (Slots,), {"__slots__": ()})
        out, x = filled([0.0], cls=cls), filled([4.0], cls=cls)
        KERNELS["add", float32](out, x, x)
        assert values(out) == [8.0]


class Borrowed:
    """Its `buf` is another class's slot: reading it there would read somebody else's memory."""

    buf = Slots.buf
    shape, strides, offset = (6,), (1,), 0


class Raises(Slots):
    __slots__ = ()
    buf = property(lambda self: 1 // 0)


BROKEN = {
    "None": None,
    "int": 5,
    "type": Operand,
    "slots left empty": Slots(),
    "slot of another class": Borrowed(),
    "buf is None": changed(buf=None),
    "buf is bytes": changed(buf=b"123456781234567812345678"),
    "buf is a number": changed(buf=2**70),
    "shape is a list": changed(shape=[6]),
    "shape is None": changed(shape=None),
    "shape of floats": changed(shape=(6.0,)),
    "shape of text": changed(shape=("6",)),
    "strides is a list": changed(strides=[1]),
    "strides of None": changed(strides=(None,)),
    "offset is a float": changed(offset=0.0),
    "offset is None": changed(offset=None),
}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_is_no_operand_is_refused(broken, place):
    operands = [operand(6), operand(6), operand(6)]
    operands[place] = broken
    with pytest.raises((DTypeError, TypeError)):
        KERNELS["add", float32](*operands)


def test_an_error_inside_an_attribute_is_passed_on():
    with pytest.raises(ZeroDivisionError):
        KERNELS["neg", float32](operand(6), Raises())


# ---- Every reachable index lies inside the Buffer ------------------------------------------------

OUTSIDE = {
    "too long": ((7,), (1,), 0),
    "offset too large": ((6,), (1,), 1),
    "offset at the end": ((1,), (1,), 6),
    "scalar behind the end": ((), (), 6),
    "offset negative": ((6,), (1,), -1),
    "offset huge": ((6,), (1,), HUGE),
    "offset beyond 64 bits": ((6,), (1,), 2**64),
    "offset below 64 bits": ((6,), (1,), -(2**64)),
    "backwards below 0": ((6,), (-1,), 4),
    "backwards from behind the end": ((6,), (-1,), 6),
    "stride too large": ((2,), (6,), 0),
    "stride huge": ((3,), (HUGE,), 0),
    "stride huge, negative": ((3,), (-HUGE,), 0),
    "stride beyond 64 bits": ((2,), (2**64,), 0),
    "stride wraps to 0": ((5,), (HUGE,), 0),
    "strides cancel in sum": ((2, 2), (HUGE, -HUGE), 0),
    "sum of reaches overflows": ((2, 2, 2), (HUGE, HUGE, HUGE), 5),
    "repeated too far on": ((HUGE,), (0,), 6),
}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("shape", "strides", "offset"), OUTSIDE.values(), ids=OUTSIDE)
def test_reaching_outside_is_refused(shape, strides, offset, place):
    operands = [operand(*shape) if np.prod(shape, dtype=object) < 99 else operand(6)] * 2
    operands[place] = changed(shape=shape, strides=strides, offset=offset)
    with pytest.raises(OutOfRangeError) as caught:
        KERNELS["neg", float32](*operands)
    assert all((caught.value.asked, caught.value.found, caught.value.do))


UNCOUNTABLE = {
    "negative size": ((-1,), (1,)),
    "two negative sizes": ((-2, -3), (1, 1)),
    "numel overflows": ((HUGE, HUGE), (0, 0)),
    "numel wraps to 0": ((2**32, 2**32), (0, 0)),
    "overflow beside an empty axis": ((HUGE, 0, HUGE), (0, 0, 0)),
    "size beyond 64 bits": ((2**64, 2), (0, 0)),
    "more strides than sizes": ((6,), (1, 1)),
    "more sizes than strides": ((6, 1), (1,)),
    "17 axes": ((1,) * 17, (1,) * 17),
    "10000 axes": ((1,) * 10_000, (1,) * 10_000),
}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("shape", "strides"), UNCOUNTABLE.values(), ids=UNCOUNTABLE)
def test_shapes_that_cannot_be_are_refused(shape, strides, place):
    operands = [operand(6), operand(6)]
    operands[place] = changed(shape=shape, strides=strides)
    with pytest.raises(ShapeError):
        KERNELS["neg", float32](*operands)


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "expected"),
    [
        ((3,), (-2,), 5, [-5.0, -3.0, -1.0]),
        ((2, 2), (0, 3), 1, [-1.0, -4.0, -1.0, -4.0]),
        ((1, 2), (HUGE, 5), 0, [0.0, -5.0]),  # the stride of an axis of length 1 is never used
        ((1, 2), (-(2**70), 5), 0, [0.0, -5.0]),
        ((), (), 5, [-5.0]),
        ((1,) * 16, (0,) * 16, 2, [-2.0]),
    ],
)
def test_what_stays_inside_is_taken(shape, strides, offset, expected):
    x = filled([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    out = operand(*shape)
    KERNELS["neg", float32](out, Operand(x.buf, shape, strides, offset))
    assert values(out) == expected


@pytest.mark.parametrize("offset", [0, 6, -7, HUGE])
@pytest.mark.parametrize("stride", [1, -1, HUGE])
def test_an_empty_operand_reaches_nothing(offset, stride):
    empty = changed(shape=(2, 0), strides=(stride, stride), offset=offset)
    KERNELS["neg", float32](empty, empty)
    KERNELS["add", float32](operand(2, 0), empty, operand(2, 0))
    assert operand(2, 0).buf.count == 0


# ---- What a kernel demands -----------------------------------------------------------------------


def index(*values: int) -> Any:
    return filled(list(values), int64)


X = operand(2, 3)
SHAPES = {
    "add": (operand(2, 3), X, operand(3, 2)),
    "add, ndim": (operand(6), X, X),
    "matmul, inner": (operand(2, 2), X, X),
    "matmul, rows": (operand(3, 3), X, operand(3, 3)),
    "matmul, 1-D": (operand(2), X, operand(3)),
    "matmul, batch": (operand(4, 2, 2), operand(4, 2, 3), operand(5, 3, 2)),
    "max": (operand(2), X, {"axis": 0}),
    "max, nothing left": (operand(1), X, {"axis": (0, 1)}),
    "pad, too far": (operand(2, 4), X, {"before": (0, 2), "value": 0}),
    "pad, negative": (operand(4, 4), X, {"before": (-1, 0), "value": 0}),
    "pad, overflow": (operand(4, 4), X, {"before": (2**63 - 1, 0), "value": 0}),
    "pad, count": (operand(4, 4), X, {"before": (0,), "value": 0}),
    "cat": (operand(2, 5), X, X, {"axis": 1}),
    "cat, others": (operand(2, 6), X, operand(3, 3), {"axis": 1}),
    "gather": (operand(2, 2), X, operand(3, 2, dtype=int64), {"axis": 1}),
    "gather, x": (operand(3, 2), X, operand(3, 2, dtype=int64), {"axis": 1}),
    "scatter_add": (X, X, operand(3, 3, dtype=int64), operand(3, 3), {"axis": 1}),
    "scatter_add, x": (operand(2, 4), X, operand(2, 1, dtype=int64), operand(2, 1), {"axis": 1}),
    "index_select": (operand(2, 3), X, index(0, 1), {"axis": 1}),
    "index_select, 2-D": (X, X, operand(2, 3, dtype=int64), {"axis": 1}),
    "cross_entropy": (operand(2), X, index(0, 1, 2), {"scale": 1}),
    "cross_entropy, out": (operand(1), X, index(0, 1), {"scale": 1}),
    "cross_entropy_grad": (X, X, index(0, 1), operand(3), {"scale": 1}),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_that_do_not_fit_are_refused(case):
    *operands, params = SHAPES[case] if isinstance(SHAPES[case][-1], dict) else (*SHAPES[case], {})
    with pytest.raises(ShapeError) as caught:
        KERNELS[case.split(",")[0], float32](*operands, **params)
    assert "(2, 3)" in caught.value.found
    assert caught.value.do


DTYPES = {
    "add": [(int32, float32, float32), (float32, int32, float32), (float32, float32, int32)],
    "eq": [(float32, float32, float32), (bool_, float32, int32)],
    "where": [(float32, float32, float32, float32), (float32, bool_, float32, int32)],
    "cast": [(int32, int32)],
}


@pytest.mark.parametrize(("name", "dtypes"), [(n, d) for n, ds in DTYPES.items() for d in ds])
def test_dtypes_that_do_not_fit_are_refused(name, dtypes):
    with pytest.raises(DTypeError):
        KERNELS[name, float32](*(operand(6, dtype=d) for d in dtypes))


def test_a_sum_is_as_wide_as_its_letter_says():
    KERNELS["sum", int8](operand(dtype=int64), operand(6, dtype=int8), axis=0)
    with pytest.raises(DTypeError):
        KERNELS["sum", int8](operand(dtype=int8), operand(6, dtype=int8), axis=0)


@pytest.mark.parametrize("count", [0, 1, 2, 4, 30])
def test_a_wrong_number_of_operands_is_refused(count):
    with pytest.raises(TypeError, match="operands"):
        KERNELS["add", float32](*[operand(6)] * count)
    with pytest.raises(TypeError, match="operands"):
        KERNELS["cat", float32](*[operand(6)] * (count > 0), axis=0)


def test_cat_takes_more_inputs_than_fit_on_the_stack():
    out = operand(60)
    KERNELS["cat", float32](out, *(filled([float(i)] * 2) for i in range(30)), axis=-1)
    assert values(out) == [float(i // 2) for i in range(60)]


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({}, "'value' is missing"),
        ({"value": 1, "axis": 0}, "'axis' is not among"),
        ({"valeu": 1}, "'value' is missing"),
        ({"value": "1"}, "not str"),
        ({"value": None}, "not NoneType"),
        ({"value": 1j}, "not complex"),
    ],
)
def test_wrong_keywords_are_refused(params, match):
    with pytest.raises(TypeError, match=match):
        KERNELS["fill", float32](operand(6), **params)


@pytest.mark.parametrize("axis", [2, -3, HUGE, -(2**70), 2**70, (0, 0), (0, -2), (0, 1, 0)])
def test_wrong_axes_are_refused(axis):
    with pytest.raises(AxisError):
        KERNELS["max", float32](operand(2), operand(2, 3), axis=axis)


@pytest.mark.parametrize("axis", [(), (0, 1)])
def test_only_reductions_take_any_number_of_axes(axis):
    with pytest.raises(AxisError):
        KERNELS["softmax", float32](operand(2, 3), operand(2, 3), axis=axis)
    KERNELS["max", float32](operand(2, 3) if not axis else operand(), operand(2, 3), axis=axis)


@pytest.mark.parametrize("axis", [None, 1.0, "0", [0], (0.0,), (None,)])
def test_an_axis_is_an_int_or_a_tuple_of_them(axis):
    with pytest.raises(TypeError):
        KERNELS["max", float32](operand(2), operand(2, 3), axis=axis)


def test_numbers_keep_their_bits():
    for dtype, number in [(int64, -(2**63)), (uint64, 2**64 - 1), (int64, 2**53 + 1)]:
        out = operand(1, dtype=dtype)
        KERNELS["fill", dtype](out, value=number)
        assert values(out) == [number]
    out = operand(1, dtype=int64)
    for number, expected in [(-2.9, -2), (True, 1), (float("nan"), 0), (float("inf"), 0)]:
        KERNELS["fill", int64](out, value=number)
        assert values(out) == [expected]


def test_out_must_be_writable_and_without_repeated_elements():
    frozen = Operand(_simd.Memory.borrow(bytes(24), 6, 4, "f"), (6,), (1,))
    with pytest.raises(DTypeError, match="read-only"):
        KERNELS["neg", float32](frozen, operand(6))
    KERNELS["neg", float32](operand(6), frozen)
    with pytest.raises(ShapeError, match="stride 0"):
        KERNELS["neg", float32](changed(strides=(0,)), operand(6))
    state = {"lr": 0.1, "momentum": 0.0, "weight_decay": 0.0}
    with pytest.raises(DTypeError, match="read-only"):
        KERNELS["sgd", float32](operand(6), operand(6), frozen, **state)


def test_values_that_a_kernel_refuses():
    with pytest.raises(OutOfRangeError):
        KERNELS["gather", float32](operand(2), operand(3), index(0, 7), axis=0)
    with pytest.raises(ValueError, match="negative power"):
        KERNELS["pow", int64](index(0), index(2), index(-1))


# ---- The Kernel type, and the module -------------------------------------------------------------


def test_a_kernel_says_what_it_is():
    kernel = _simd.kernels("scalar")["add", "float32"]
    assert (kernel.name, kernel.dtype, kernel.level) == ("add", "float32", "scalar")
    assert repr(kernel) == "<kernel add for float32, level scalar>"
    with pytest.raises(TypeError):
        _simd.Kernel()


def test_levels():
    assert simd_cpp.levels()[0] == "scalar"
    tables = [set(simd_cpp.table(level)) for level in simd_cpp.levels()]
    assert all(table == tables[0] for table in tables)
    with pytest.raises(ValueError, match="no level"):
        _simd.kernels("mmx")


def test_kernels_run_in_several_python_threads():
    x = filled([1.0] * 50_000)
    outs = [filled([0.0] * 50_000) for _ in range(4)]

    def work(out: Any) -> None:
        for _ in range(50):
            KERNELS["add", float32](out, out, x)

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(set(values(out)) == {50.0} for out in outs)


def test_memory_lives_as_long_as_a_kernel_reads_it():
    x, out, stop = filled([1.0] * 100_000), operand(100_000), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            x.buf = filled([1.0] * 100_000).buf

    thread = threading.Thread(target=swap)
    thread.start()
    for _ in range(200):
        KERNELS["add", float32](out, x, x)
        assert values(out)[::9999] == [2.0] * 11
    stop.set()
    thread.join()
