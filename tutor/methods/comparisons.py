"""Elementwise comparisons: the operators == != < <= > >= by name, and closeness."""

from __future__ import annotations

from typing import Self

from tutor._storage.array_like import is_number, is_tensor
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import apply
from tutor.dtype import of_number
from tutor.methods.reductions import Reductions


@spelled
class Comparisons(Reductions):
    """Comparisons, which give bools. None of them has a derivative."""

    __slots__ = ()

    def eq(self, other: TensorLike) -> Self:
        """x == y; nan equals nothing"""
        return apply("eq", self, other)

    def ne(self, other: TensorLike) -> Self:
        """x != y"""
        return apply("ne", self, other)

    def lt(self, other: TensorLike) -> Self:
        """x < y"""
        return apply("lt", self, other)

    def le(self, other: TensorLike) -> Self:
        """x <= y"""
        return apply("le", self, other)

    def gt(self, other: TensorLike) -> Self:
        """x > y"""
        return apply("gt", self, other)

    def ge(self, other: TensorLike) -> Self:
        """x >= y"""
        return apply("ge", self, other)

    def isclose(
        self,
        other: TensorLike,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        equal_nan: bool = False,
    ) -> Self:
        """|x - y| <= atol + rtol |y|. An infinity is close only to itself; nan is close to nothing,
        or to nan with equal_nan. Computed in float64, unless both are float32 or narrower."""
        checks.number("isclose(rtol=...)", rtol, 0, nan=False)
        checks.number("isclose(atol=...)", atol, 0, nan=False)
        x = self.detach()
        own = of_number(other, x.dtype) if is_number(other) else None
        y = other if is_tensor(other) else x.wrap(other, own)
        narrow = all(t.dtype.is_float and t.dtype.itemsize <= 4 for t in (x, y))
        to = "float32" if narrow else "float64"
        a, b = x.cast(to), y.detach().cast(to)
        near = (a - b).abs() <= b.abs() * rtol + atol
        # On bools, + is or and * is and. Numbers that are equal need no rounding to float64.
        close = (x == y) + near * b.isfinite()
        return close + (x != x) * (y != y) if equal_nan else close

    def allclose(
        self,
        other: TensorLike,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        equal_nan: bool = False,
    ) -> bool:
        """Is every pair close (`isclose`)? True for empty tensors."""
        return bool(self.isclose(other, rtol, atol, equal_nan).all())
