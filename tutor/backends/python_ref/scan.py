"""Scans along one axis, where each element depends on those before it; and sorting."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from tutor.backends.python_ref.elementwise import maximum
from tutor.backends.python_ref.walk import Kernel, Operand, groups, last, write


def recurrence(x: Iterable[Any], y: Iterable[Any]) -> list[Any]:
    """z_0 = y_0, z_i = x_i * z_(i-1) + y_i; integers modulo 2**64, so that they cannot grow"""
    z: list[Any] = []
    for a, b in zip(x, y, strict=True):
        value = a * z[-1] + b if z else b
        z.append(value % 2**64 if isinstance(value, int) else value)
    return z


def order(x: list[Any], descending: bool) -> list[int]:
    """The positions that sort x; the sort is stable, and nan is above all"""

    def key(i: int) -> tuple[bool, Any]:
        return (True, 0) if x[i] != x[i] else (False, x[i])

    return sorted(range(len(x)), key=key, reverse=descending)


def scan(out: Operand, x: Operand, y: Operand, *, axis: int | tuple[int, ...]) -> None:
    """z_0 = y_0, z_i = x_i * z_(i-1) + y_i along axis"""
    pairs = zip(groups(x, axis), groups(y, axis), strict=True)
    write(last(out, axis), [z for a, b in pairs for z in recurrence(a, b)])


def cummax(out: Operand, x: Operand, *, axis: int | tuple[int, ...]) -> None:
    """z_i = the largest of x_0 ... x_i; nan stays"""
    write(last(out, axis), [z for group in groups(x, axis) for z in accumulate(group, maximum)])


def argsort(out: Operand, x: Operand, *, axis: int | tuple[int, ...], descending: bool) -> None:
    """z = the positions along axis that sort x in ascending (`descending`: descending) order"""
    write(last(out, axis), [z for group in groups(x, axis) for z in order(group, descending)])


KERNELS: dict[str, Kernel] = {"scan": scan, "cummax": cummax, "argsort": argsort}
