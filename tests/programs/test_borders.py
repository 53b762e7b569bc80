"""The borders of what is recorded: refusals, bytes, results, and jitted functions as things."""

from __future__ import annotations

import array
import contextlib
import ctypes
import hashlib
import struct
import sys
from collections.abc import Callable
from typing import Any

import pytest

import tutor
from tutor import Tensor
from tutor.errors import RecordError, TutorError
from tutor.ground.memory import PythonHolder


def bits(t: Tensor) -> tuple[Any, ...]:
    return t.shape, t.dtype.name, t.detach().cpu().copy().buf.raw.tobytes()


def counted(jitted: Any) -> tuple[int, int]:
    return jitted.stats()["recorded"], jitted.stats()["replayed"]


# ---- refusals ------------------------------------------------------------------------------------


def excepts(x: Tensor) -> Tensor:
    try:
        return x * x.sum().item()
    except Exception:
        return x * 0


def excepts_all(x: Tensor) -> Tensor:
    try:
        return x * 2 if x.sum() > 0 else x
    except BaseException:
        return x * 0


def suppresses(x: Tensor) -> Tensor:
    with contextlib.suppress(Exception):
        x = x * x.tolist()[0]
    return x + 1


def returns_at_last(x: Tensor) -> Tensor:
    y = x + 1
    try:
        y = x * float(x[0])
    finally:
        return y  # noqa: B012


def goes_on_to_the_next(x: Tensor) -> Tensor:
    for way in (lambda: x * x.buf[0], lambda: x * 3):
        try:
            return way()
        except TutorError:
            continue
    return x


def raises_another(x: Tensor) -> Tensor:
    try:
        return x * x.max().item()
    except RecordError:
        raise ValueError("no number") from None


def asks_twice(x: Tensor) -> Tensor:
    found = []
    for ask in (lambda: x.sum().item(), lambda: x[x > 0]):
        with contextlib.suppress(RecordError):
            found.append(ask())
    return x * len(found)


def leaves_it_to_a_caller(x: Tensor) -> Tensor:
    try:
        return excepts(x) * x.sum().item()
    except RecordError:
        return x


@pytest.mark.parametrize(
    "function",
    [excepts, excepts_all, suppresses, returns_at_last, goes_on_to_the_next, raises_another,
     asks_twice, leaves_it_to_a_caller],
)  # fmt: skip
def test_a_refusal_cannot_be_caught(function: Callable[..., Any]) -> None:
    """What the function does with the error no eager call does."""
    jitted, x = tutor.jit(function), Tensor([1.0, -2.0, 3.0])
    jitted(x)
    for _ in range(2):
        with pytest.raises(RecordError, match=r"test_borders\.py:"):
            jitted(x)
    assert counted(jitted) == (0, 0)
    assert bits(jitted.function(x)) == bits(function(x))


BYTES: dict[str, Callable[[Tensor], Any]] = {  # ways to a number that pass no method of a Tensor
    "raw": lambda x: x * x.buf.raw.cast("f")[0],
    "raw of a result": lambda x: x * (x * 2).buf.raw.cast("f")[0],
    "memoryview": lambda x: x * memoryview(x.buf).cast("B").cast("f")[0],
    "struct": lambda x: x * struct.unpack_from("f", x.buf)[0],
    "bytes": lambda x: x * bytes(x.buf)[3],
    "array": lambda x: x * array.array("f", bytes(x.buf))[0],
    "address": lambda x: x * ctypes.c_float.from_address(x.buf.address).value,
    "ctypes": lambda x: x * ctypes.c_float.from_buffer(x.buf).value,
    "a write": lambda x: (memoryview(x.buf).cast("B").__setitem__(3, 0), x * 2)[1],
    "digest": lambda x: hashlib.sha1(x.buf).hexdigest(),
}


@pytest.mark.host
@pytest.mark.parametrize("name", BYTES)
def test_bytes_are_numbers_too(name: str) -> None:
    if issubclass(tutor.Buffer, PythonHolder) and sys.version_info < (3, 12):
        pytest.skip("the buffer protocol of a class in Python")
    jitted, x = tutor.jit(BYTES[name]), Tensor([1.0, -2.0, 3.0])
    jitted(x)
    with pytest.raises(RecordError, match=r"the bytes of a Buffer at .*test_borders\.py:"):
        jitted(x)
    assert BYTES[name](x) is not None


def test_constants_that_are_made_inside_are_no_bytes_that_are_read() -> None:
    jitted = tutor.jit(lambda x: Tensor([1.0, 2.0]) + x.buf.dtype.itemsize * x + len(x.buf))
    for _ in range(3):
        assert jitted(Tensor([1.0, 2.0])).tolist() == [7.0, 12.0]
    assert counted(jitted) == (1, 1)
