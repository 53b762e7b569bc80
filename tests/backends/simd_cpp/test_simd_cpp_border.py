"""The border to C++: nothing Python hands over makes a kernel crash or leave its Buffers."""

from __future__ import annotations

import itertools
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operands import Operand, filled, operand, values

from tutor.backends import simd_cpp
from tutor.backends.simd_cpp import _simd
from tutor.dtype import float32
from tutor.errors import DTypeError, OutOfRangeError, ShapeError

KERNELS = simd_cpp.table(simd_cpp.levels()[-1])
HUGE = 2**62


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
    "repeated too far on": ((2**59,), (0,), 6),
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
    "bytes overflow beside an empty axis": ((HUGE, 0), (0, 0)),
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


axes = st.lists(st.tuples(st.integers(0, 4), st.integers(-7, 7)), max_size=4)


@given(axes=axes, offset=st.integers(-3, 15))
def test_exactly_what_stays_inside_is_taken(axes, offset):
    shape, strides = tuple(n for n, _ in axes), tuple(s for _, s in axes)
    places = [
        offset + sum(i * s for i, s in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, shape))
    ]
    x, out = filled([float(i) for i in range(12)]), operand(*shape)
    x.shape, x.strides, x.offset = shape, strides, offset
    if all(0 <= place < 12 for place in places):
        KERNELS["neg", float32](out, x)
        assert values(out) == [-float(place) for place in places]
    else:
        with pytest.raises(OutOfRangeError):
            KERNELS["neg", float32](out, x)


@pytest.mark.parametrize("offset", [0, 6, -7, HUGE])
@pytest.mark.parametrize("stride", [1, -1, HUGE])
def test_an_empty_operand_reaches_nothing(offset, stride):
    empty = changed(shape=(2, 0), strides=(stride, stride), offset=offset)
    KERNELS["neg", float32](empty, empty)
    KERNELS["add", float32](operand(2, 0), empty, operand(2, 0))
    assert operand(2, 0).buf.memory.count == 0


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
