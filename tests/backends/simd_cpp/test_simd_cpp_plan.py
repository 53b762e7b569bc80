"""The border of a Plan: it does what a call does, and refuses what a call refuses."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backend_names import LEVELS
from operands import Block, Operand, filled, operand, values
from test_simd_cpp_border import OUTSIDE, UNCOUNTABLE, changed
from test_simd_cpp_checks import CONV, DTYPES, POOL, SHAPES

from tutor import memory
from tutor.backends import registry, simd_cpp
from tutor.backends.registry import Kernel
from tutor.backends.signatures import TABLE_OF_KERNELS, Signature
from tutor.backends.simd_cpp import _simd
from tutor.dtype import BY_NAME, DType, bool_, float32, float64, int64, uint64
from tutor.errors import DomainError, DTypeError, OutOfMemoryError, OutOfRangeError
from tutor.testing import cases
from tutor.testing.cases.operands import execute, images

KERNELS = simd_cpp.table(simd_cpp.levels()[-1])
ADD = KERNELS["add", float32]
HUGE = 2**62


def planned(kernel: Any) -> Kernel:
    """The kernel, called by way of a Plan whose only step it is, with its operands' own memory."""

    def call(*operands: Any, **params: Any) -> None:
        memories = list(dict.fromkeys(x.buf.memory for x in operands))
        slots = [(m.count, m.format, -1) for m in memories]
        walks = [(memories.index(x.buf.memory), x.shape, x.strides, x.offset) for x in operands]
        _simd.Plan(slots, [(kernel, tuple(walks), params)], 0).run(
            [Block(m, next(x.buf.dtype for x in operands if x.buf.memory is m)) for m in memories]
        )

    return call


# ---- It does what a call does --------------------------------------------------------------------


@pytest.mark.parametrize("row", TABLE_OF_KERNELS, ids=lambda row: row.name)
def test_a_planned_kernel_leaves_the_bytes_of_a_called_one(row: Signature) -> None:
    for level in LEVELS[-1:] if row.form == "elementwise" else LEVELS:
        for dtype in {row.dtypes[0], row.dtypes[-1]}:
            kernel = registry.table(level)[row.name, dtype]
            for case in itertools.islice(cases.draw(row.name, dtype), 1, 300, 23):
                before = images(case)
                assert execute(planned(kernel), case, before) == execute(kernel, case, before)


def test_temps_stand_in_the_arena_and_constants_stay() -> None:
    x, y, two = operand(3), operand(3), filled([2.0, 2.0, 2.0])
    whole = (3,), (1,), 0
    plan = _simd.Plan(
        [(3, "f", -1), (3, "f", 0), (3, "f", two.buf), (3, "f", -1), (3, "f", 64)],
        [
            (ADD, ((1, *whole), (0, *whole), (2, *whole)), {}),
            (KERNELS["mul", float32], ((4, *whole), (1, *whole), (1, (3,), (-1,), 2)), {}),
            (ADD, ((3, *whole), (4, *whole), (1, *whole)), {}),
        ],
        128,
    )
    two.buf.memory = None  # the Plan has it
    gc.collect()
    for numbers in ([1, 2, 3], [0, 0, 0]):
        x.buf.raw[:] = np.array(numbers, "f4").tobytes()
        assert plan.run((x.buf, y.buf)) is None
        t = np.array(numbers) + 2
        assert values(y) == (t * t[::-1] + t).tolist()
    assert (plan.arena_bytes, plan.arenas) == (128, 1)


def test_an_index_is_copied_before_it_is_used() -> None:
    """It may be what the kernel writes (test_simd_cpp_checks.py), walked backwards or in place."""
    far = 10**15
    x = filled([far, 3, -far, 0], int64)
    for strides, offset, expected in [((1,), 0, [0, 3, -far, far]), ((-1,), 3, [far, -far, 3, 0]),
                                      ((0,), 2, [-far] * 4)]:  # fmt: skip
        out = filled([3, 1, 2, 0], int64)
        index = Operand(out.buf, (4,), strides, offset)
        planned(KERNELS["gather", int64])(out, x, index, axis=0)
        assert values(out) == expected


def test_the_room_for_copies_lies_behind_the_temps() -> None:
    walks = (1, (5,), (1,), 0), (0, (3,), (1,), 0), (2, (5,), (1,), 0)
    gather = KERNELS["gather", float32], walks, {"axis": 0}
    slots = [(3, "f", -1), (5, "f", -1), (5, "q", 0)]
    fill = KERNELS["fill", int64], ((2, (5,), (1,), 0),), {"value": 1}
    plan = _simd.Plan(slots, [fill, gather], 40)
    assert plan.arena_bytes == 64 + 40
    x, y = filled([1.0, 2.0, 3.0]), operand(5)
    plan.run([x.buf, y.buf])
    assert values(y) == [2.0] * 5


def test_an_arena_is_counted_and_given_back() -> None:
    """It takes the place of a smaller one, where that was there for other Plans."""
    before = memory.stats()
    plan = _simd.Plan([(1000, "f", 0)], [], 2**27)
    assert 2**26 < memory.stats().in_use - before.in_use <= 2**27
    plan.run([])
    del plan
    assert memory.stats().in_use <= before.in_use


# ---- It refuses what a call refuses --------------------------------------------------------------

X = operand(6)


def both_refuse(kernel: Any, operands: Any, params: dict[str, Any]) -> None:
    """Called or planned: the same error."""
    said = []
    for call in (kernel, planned(kernel)):
        with pytest.raises((ValueError, TypeError, IndexError)) as caught:
            call(*operands, **params)
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]
    assert caught.value.step == 0


CALLS: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    **{f"outside, {name}": ("neg", float32, [X, changed(shape=s, strides=t, offset=o)], {})
       for name, (s, t, o) in OUTSIDE.items()},
    **{f"out outside, {name}": ("neg", float32, [changed(shape=s, strides=t, offset=o), X], {})
       for name, (s, t, o) in OUTSIDE.items()},
    **{f"uncountable, {name}": ("neg", float32, [X, changed(shape=s, strides=t)], {})
       for name, (s, t) in UNCOUNTABLE.items()},
    **{f"shapes, {name}": (name.split(",")[0], float32,
                           [x for x in case if not isinstance(x, dict)],
                           case[-1] if isinstance(case[-1], dict) else {})
       for name, case in SHAPES.items()},
    **{f"dtypes, {name} {i}": (name.partition(" for ")[0],
                               BY_NAME[name.partition(" for ")[2] or "float32"],
                               [operand(6, dtype=d) for d in dtypes],
                               {"axis": 0, "descending": False} if name == "argsort" else {})
       for name, several in DTYPES.items() for i, dtypes in enumerate(several)},
    **{f"window, {name}": ("conv2d", float32,
                           [operand(1, 2, 4, 5), operand(1, 2, 5, 6), operand(2, 2, 2, 2)],
                           CONV | {name: 0}) for name in CONV},
    "pool": ("max_pool2d", float32, [operand(1, 2, 4, 5), operand(1, 2, 5, 6)],
             POOL | {"size_h": 0}),
    **{f"{count} operands": ("add", float32, [X] * count, {}) for count in (0, 1, 2, 4, 30)},
    **{f"keywords, {params}": ("fill", float32, [X], params) for params in (
        {}, {"value": 1, "axis": 0}, {"valeu": 1}, {"value": "1"}, {"value": None}, {"value": 1j})},
    **{f"axis {axis}": ("max", float32, [operand(2), operand(2, 3)], {"axis": axis})
       for axis in (2, -3, HUGE, -(2**70), (0, 0), None, 1.0, [0], (None,))},
    "shape is a list": ("neg", float32, [X, changed(shape=[6])], {}),
    "shape of text": ("neg", float32, [X, changed(shape=("6",))], {}),
    "strides of None": ("neg", float32, [changed(strides=(None,)), X], {}),
    "offset is a float": ("neg", float32, [X, changed(offset=0.0)], {}),
    "offset is None": ("neg", float32, [X, changed(offset=None)], {}),
    "stride 0 in out": ("neg", float32, [Operand(X.buf, (6,), (0,)), X], {}),
    "stride 0 in the state": ("sgd", float32,
        [X, X, Operand(operand(6).buf, (6,), (0,)), *[operand(dtype=float64)] * 3], {}),
}  # fmt: skip


@pytest.mark.parametrize(("kernel", "dtype", "operands", "params"), CALLS.values(), ids=CALLS)
def test_what_a_call_refuses(kernel: str, dtype: DType, operands: Any, params: Any) -> None:
    both_refuse(KERNELS[kernel, dtype], operands, params)


def read_only(count: int, dtype: DType) -> Any:
    memory = _simd.Memory.borrow(bytes(count * dtype.itemsize), count, dtype.itemsize, dtype.format)
    return Operand(Block(memory, dtype), (count,) if count > 1 else (), (1,) if count > 1 else ())


READ_ONLY: dict[str, tuple[Any, list[Any], dict[str, Any]]] = {
    "out": (KERNELS["neg", float32], [read_only(6, float32), X], {}),
    "the state": (KERNELS["sgd", float32], [X, X, read_only(6, float32),
                                            *[operand(dtype=float64)] * 3], {}),
    "the counter": (KERNELS["uniform", float32],
                    [X, operand(dtype=uint64), read_only(1, uint64)], {"blocks": 1}),
}  # fmt: skip


@pytest.mark.parametrize(("kernel", "operands", "params"), READ_ONLY.values(), ids=READ_ONLY)
def test_memory_that_may_not_be_written(kernel: Any, operands: Any, params: Any) -> None:
    """Which memory that is, a run says, or the Plan, of what stays the same."""
    both_refuse(kernel, operands, params)
    slots = [(x.buf.memory.count, x.buf.memory.format, x.buf) for x in operands]
    walks = tuple((i, x.shape, x.strides, x.offset) for i, x in enumerate(operands))
    with pytest.raises(DTypeError, match="read-only"):
        _simd.Plan(slots, [(kernel, walks, params)], 0)


def test_values_that_a_kernel_refuses() -> None:
    def index(*numbers: int) -> Any:
        return filled(list(numbers), int64)

    for kernel, dtype, operands, params in (
        ("gather", float32, [operand(2), operand(3), index(0, 7)], {"axis": 0}),
        ("index_select", float32, [operand(2), operand(3), index(0, -4)], {"axis": 0}),
        ("gather", float32, [operand(1), operand(0), index(0)], {"axis": 0}),
        ("pow", int64, [index(0), index(2), index(-1)], {}),
        ("floor_divide", int64, [index(0), index(2), index(0)], {}),
        ("bitwise_right_shift", int64, [index(0), index(2), index(-1)], {}),
        ("cross_entropy", float32, [operand(1), operand(1, 3), index(3)], {"scale": 1}),
        ("nonzero", bool_, [index(0, 0), filled([True, True, False, True], bool_)], {}),
    ):
        both_refuse(KERNELS[kernel, dtype], operands, params)


# ---- What only a Plan can have wrong -------------------------------------------------------------

SLOTS = [(6, "f", -1), (6, "f", 0)]
WALK = (0, (6,), (1,), 0)
STEP = (ADD, (WALK, WALK, WALK), {})
FORGED: dict[str, Callable[[], Any]] = {
    "slots are none": lambda: _simd.Plan(None, [], 0),
    "slots are a dict": lambda: _simd.Plan({}, [], 0),
    "a slot is a list": lambda: _simd.Plan([[6, "f", -1]], [], 0),
    "a slot of two": lambda: _simd.Plan([(6, "f")], [], 0),
    "count is a float": lambda: _simd.Plan([(6.0, "f", -1)], [], 0),
    "count is negative": lambda: _simd.Plan([(-1, "f", -1)], [], 0),
    "count is huge": lambda: _simd.Plan([(HUGE, "f", -1)], [], 0),
    "count is beyond 64 bits": lambda: _simd.Plan([(2**70, "f", -1)], [], 0),
    "no dtype": lambda: _simd.Plan([(6, "x", -1)], [], 0),
    "dtype is a number": lambda: _simd.Plan([(6, 3, -1)], [], 0),
    "before the arena": lambda: _simd.Plan([(6, "f", -2)], [], 64),
    "far before it": lambda: _simd.Plan([(6, "f", -(2**70))], [], 64),
    "behind the arena": lambda: _simd.Plan([(17, "f", 0)], [], 64),
    "behind it by its offset": lambda: _simd.Plan([(1, "f", 64)], [], 64),
    "far behind it": lambda: _simd.Plan([(1, "f", 2**70)], [], 64),
    "an empty one behind it": lambda: _simd.Plan([(0, "f", 128)], [], 64),
    "not aligned": lambda: _simd.Plan([(1, "f", 4)], [], 64),
    "arena of a negative size": lambda: _simd.Plan([], [], -1),
    "arena of no size": lambda: _simd.Plan([], [], None),
    "arena beyond 64 bits": lambda: _simd.Plan([], [], 2**70),
    "no Buffer that stays": lambda: _simd.Plan([(6, "f", b"1234")], [], 0),
    "a Buffer of another length": lambda: _simd.Plan([(5, "f", X.buf)], [], 0),
    "a Buffer of another dtype": lambda: _simd.Plan([(6, "i", X.buf)], [], 0),
    "steps are none": lambda: _simd.Plan([], None, 0),
    "a step is a list": lambda: _simd.Plan(SLOTS, [list(STEP)], 64),
    "a step of two": lambda: _simd.Plan(SLOTS, [STEP[:2]], 64),
    "operands are a list": lambda: _simd.Plan(SLOTS, [(ADD, [WALK] * 3, {})], 64),
    "no kernel": lambda: _simd.Plan(SLOTS, [(None, (WALK,) * 3, {})], 64),
    "a function": lambda: _simd.Plan(SLOTS, [(lambda *x: None, (WALK,) * 3, {})], 64),
    "the kernel's name": lambda: _simd.Plan(SLOTS, [("add", (WALK,) * 3, {})], 64),
    "an operand is an object": lambda: _simd.Plan(SLOTS, [(ADD, (X, X, X), {})], 64),
    "an operand of three": lambda: _simd.Plan(SLOTS, [(ADD, (WALK[:3],) * 3, {})], 64),
    "no such slot": lambda: _simd.Plan(SLOTS, [(ADD, ((2, *WALK[1:]),) * 3, {})], 64),
    "slot -1": lambda: _simd.Plan(SLOTS, [(ADD, ((-1, *WALK[1:]),) * 3, {})], 64),
    "slot beyond 64 bits": lambda: _simd.Plan(SLOTS, [(ADD, ((2**70, *WALK[1:]),) * 3, {})], 64),
    "slot 0.0": lambda: _simd.Plan(SLOTS, [(ADD, ((0.0, *WALK[1:]),) * 3, {})], 64),
    "params are a list": lambda: _simd.Plan(SLOTS, [(ADD, (WALK,) * 3, [])], 64),
    "params by number": lambda: _simd.Plan(SLOTS, [(ADD, (WALK,) * 3, {1: 1})], 64),
}


@pytest.mark.parametrize("make", FORGED.values(), ids=FORGED)
def test_a_forged_plan_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(DomainError) as caught:
        make()
    assert caught.value.asked.startswith("to make a Plan: ")
    assert caught.value.found and caught.value.do


def test_a_walk_stays_within_its_slot() -> None:
    """Within, not only in the arena, where its neighbours are."""
    for walk in ((1, (7,), (1,), 0), (1, (6,), (1,), 1), (1, (6,), (-1,), 4), (1, (), (), 6)):
        slots = [(6, "f", 0), (6, "f", 64), (6, "f", 128)]
        with pytest.raises(OutOfRangeError):
            _simd.Plan(slots, [(KERNELS["copy", float32], (walk, walk), {})], 192)


def test_an_arena_that_cannot_be_had() -> None:
    with pytest.raises(OutOfMemoryError, match="an arena of"):
        _simd.Plan([], [], 2**59)


class Odd(str):
    """A name that runs Python when it is compared."""

    def __eq__(self, other: object) -> bool:
        steps.clear()
        gc.collect()
        return str.__eq__(self, other)

    __hash__ = str.__hash__


steps: list[Any] = []


def test_what_runs_python_meanwhile_changes_nothing() -> None:
    fill = KERNELS["fill", float32], (WALK,)
    steps[:] = [(*fill, {Odd("surprise"): 1, "value": 1}), (*fill, {"value": 2})] * 3
    with pytest.raises(TypeError, match="surprise"):
        _simd.Plan(SLOTS, steps, 64)
    steps[:] = [(*fill, {Odd("value"): 3})] * 3
    x = operand(6)
    _simd.Plan(SLOTS, steps, 64).run([x.buf])
    assert values(x) == [3.0] * 6


def test_memory_is_let_go_of() -> None:
    """After a run, after an error, and of a Plan that could not be made."""
    x, before = operand(10_000), memory.stats().in_use
    plan = _simd.Plan([(10_000, "f", -1)] * 2, [], 64)
    plan.run([x.buf, x.buf])
    for given in ([x.buf, None], [x.buf, operand(6).buf]):
        with pytest.raises((TypeError, ValueError), match="Buffer 1"):
            plan.run(given)
    with pytest.raises(DomainError):
        _simd.Plan([(10_000, "f", x.buf), (5, "f", x.buf)], [], 2**20)
    with pytest.raises(DomainError):
        _simd.Plan([(10_000, "f", x.buf)], [None], 2**20)
    del x, given, plan
    gc.collect()
    assert memory.stats().in_use < before


def test_what_a_plan_is() -> None:
    assert _simd.Plan(slots=[], steps=(), arena_bytes=0).run([]) is None
    for args in ((), ([],), ([], [], 0, 0)):
        with pytest.raises(TypeError):
            _simd.Plan(*args)
    with pytest.raises(TypeError):
        type("Sub", (_simd.Plan,), {})
    with pytest.raises(AttributeError):
        _simd.Plan([], [], 0).arena_bytes = 3
