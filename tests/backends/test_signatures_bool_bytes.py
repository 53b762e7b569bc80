"""Bools whose bytes are neither 0 nor 1, as memory from elsewhere may hold: true, everywhere."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from backend_names import BACKENDS

from tutor import Buffer, Tensor, use_backend
from tutor.backends import registry
from tutor.backends.signatures import TABLE_OF_KERNELS
from tutor.dtype import DType, bool_
from tutor.testing import cases
from tutor.testing.cases.bounds import WRITTEN
from tutor.testing.cases.draws import Case, Draw
from tutor.testing.cases.operands import elements, execute, images

# Every kernel that reads bools, at one dtype: of bools themselves, or with a mask among its inputs.
ROWS = [
    (row.name, bool_ if "T" in row.types[1:] and bool_ in row.dtypes else row.dtypes[-1])
    for row in TABLE_OF_KERNELS
    if "b" in row.types[1:] or ("T" in row.types[1:] and bool_ in row.dtypes)
]
REFERENCE = registry.table("python_ref")


def spoilt(case: Case, memory: list[bytes]) -> list[bytes]:
    """The same operands, with any byte but 0 for what is true."""
    rng, found = random.Random(7), []
    for spec, before in zip((case.out, *case.ins), memory, strict=True):
        raw = bytearray(before)
        if spec.dtype is bool_ and spec.values is not None:
            for position in set(spec.positions()):
                raw[position] = rng.randrange(1, 256) if raw[position] else 0
        found.append(bytes(raw))
    return found


def chosen(kernel: str, dtype: DType) -> list[Case]:
    drawn = [case for case in cases.draw(kernel, dtype) if case.ins]
    few = drawn if len(drawn) < 400 else random.Random(1).sample(drawn, 400)
    large = cases.large(kernel, dtype, 3000)
    return [*few, large] if kernel != "nonzero" else few


def test_no_kernel_of_bools_is_left_out() -> None:
    names = {name for name, _ in ROWS}
    assert names >= {"argmax", "argsort", "copy", "where", "gather", "eq", "nonzero", "cat", "pad"}
    assert {"max_pool2d", "scatter_add", "cummax", "sum", "cast", "bitwise_xor"} <= names


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("kernel", "dtype"), ROWS)
def test_any_byte_but_zero_is_true(kernel: str, dtype: DType, backend: str) -> None:
    run, reference = registry.table(backend)[kernel, dtype], REFERENCE[kernel, dtype]
    for case in chosen(kernel, dtype):
        before = images(case)
        expected = execute(reference, case, before)
        found = execute(run, case, spoilt(case, before))
        for i in WRITTEN.get(kernel, (0,)):
            spec = (case.out, *case.ins)[i]
            wanted = elements(spec, expected[i], bits=True)
            assert elements(spec, found[i], bits=True) == wanted
            if spec.dtype is bool_:
                assert set(wanted) <= {0, 1}


def test_cases_are_spoilt() -> None:
    case = cases.large("argmax", bool_, 2000)
    assert len(set(spoilt(case, images(case))[1])) > 200
    assert Draw("argmax", bool_, 0).ins == [bool_]


PLAIN = [i % 7 > 3 for i in range(256)]
METHODS: dict[str, Callable[[Tensor], Any]] = {
    "argmax": lambda t: t.argmax(),
    "argmin": lambda t: t.argmin(),
    "argsort": lambda t: t.argsort(),
    "sort": lambda t: t.sort(),
    "topk": lambda t: t.topk(9)[1],
    "unique": lambda t: t.unique(),
    "max": lambda t: t.max(),
    "equal": lambda t: t == Tensor(PLAIN),
    "cast": lambda t: t.cast("int64"),
    "sum": lambda t: t.sum(),
    "where": lambda t: t.where(1.0, 2.0),
    "nonzero": lambda t: t.nonzero()[0],
    "masked_select": lambda t: Tensor.arange(256).masked_select(t),
    "index": lambda t: Tensor.arange(256)[t],
    "copy": lambda t: t.copy(),
    "transpose": lambda t: t.reshape(16, 16).T.copy(),
    "flip": lambda t: t.flip().copy(),
    "not": lambda t: ~t,
    "and": lambda t: t & t.flip(),
    "tolist": lambda t: Tensor(t.tolist()),
    "add": lambda t: t + Tensor.arange(256),
    "matmul": lambda t: t.reshape(16, 16) @ t.reshape(16, 16),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", METHODS)
def test_every_byte_from_memory_that_is_shared(name: str, backend: str) -> None:
    raw = bytearray((i or 1) if true else 0 for i, true in enumerate(PLAIN))
    shared = Tensor(Buffer.from_memory(raw, dtype=bool_, copy=False))
    with use_backend(backend):
        found, expected = METHODS[name](shared), METHODS[name](Tensor(PLAIN))
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
    if found.dtype is bool_:
        assert bytes(found.contiguous().buf.raw) == bytes(expected.contiguous().buf.raw)
