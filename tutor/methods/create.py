"""Ways to make a Tensor, as class methods: `Tensor.zeros(2, 3)`, `Tensor.rand(4, dtype="float64")`.

A shape is one tuple or separate numbers; `dtype`, `requires_grad` and `device` are keyword-only.
The default device is the one that `tutor.device` sets, otherwise the CPU.
"""

from __future__ import annotations

import math
from typing import Self, Unpack

from tutor import dtype as dtypes
from tutor import random
from tutor._storage import array_like, layout
from tutor._storage.array_like import is_number, is_tensor
from tutor._storage.device_memory import devices
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DeviceLike, DTypeLike, LikeOptions, Options, ShapeLike, TensorLike
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.errors import DTypeError, NumberRangeError, ShapeError
from tutor.methods.operators import Operators


@spelled
class Create(Operators):
    """Ways to make a Tensor other than from data."""

    __slots__ = ()

    @classmethod
    def full(
        cls,
        shape: ShapeLike,
        value: bool | int | float,
        *,
        dtype: DTypeLike | None = None,
        requires_grad: bool = False,
        device: DeviceLike | None = None,
    ) -> Self:
        """Every element is `value`; without `dtype`, the dtype of `Tensor(value)`."""
        number = value if is_number(value) else cls(value).item()
        wanted = None if dtype is None else dtypes.of(dtype)
        _, _, found = array_like.read(number, wanted)  # raises if the dtype cannot hold it
        sizes = layout.checked_shape(shape)
        out = cls.over(Buffer.empty(math.prod(sizes), found, devices.of(device)), sizes)
        engine.call("fill", found, out, value=number)
        return out.requires_grad_() if requires_grad else out

    @classmethod
    def zeros(
        cls,
        *shape: ShapeLike,
        dtype: DTypeLike = dtypes.float32,
        **options: Unpack[Options],
    ) -> Self:
        """Every element is 0."""
        return cls.full(layout.sizes_of(shape), 0, dtype=dtype, **options)

    @classmethod
    def ones(
        cls,
        *shape: ShapeLike,
        dtype: DTypeLike = dtypes.float32,
        **options: Unpack[Options],
    ) -> Self:
        """Every element is 1."""
        return cls.full(layout.sizes_of(shape), 1, dtype=dtype, **options)

    @classmethod
    def zeros_like(cls, t: TensorLike, **options: Unpack[LikeOptions]) -> Self:
        """Zeros with the shape, dtype and device of `t`."""
        like = t if is_tensor(t) else cls(t)
        given: LikeOptions = {"dtype": like.dtype, "device": like.buf.device, **options}
        return cls.full(like.shape, 0, **given)

    @classmethod
    def ones_like(cls, t: TensorLike, **options: Unpack[LikeOptions]) -> Self:
        """Ones with the shape, dtype and device of `t`."""
        like = t if is_tensor(t) else cls(t)
        given: LikeOptions = {"dtype": like.dtype, "device": like.buf.device, **options}
        return cls.full(like.shape, 1, **given)

    @classmethod
    def arange(
        cls, *bounds: int | float, dtype: DTypeLike | None = None,
        requires_grad: bool = False, device: DeviceLike | None = None,
    ) -> Self:  # fmt: skip
        """`arange([start,] stop[, step])`: start, start + step, ... before stop."""
        if not 1 <= len(bounds) <= 3 or not all(map(is_number, bounds)):
            raise ShapeError(f"arange{bounds}", "these are no bounds", "give one to three numbers")
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if step == 0:
            raise ShapeError(f"arange{bounds}", "a step of 0 never arrives", "use another step")
        if not all(abs(b) <= dtypes.float64.max for b in bounds):
            found = "a bound is nan, infinite, or larger than any float"
            raise ShapeError(f"arange{bounds}", found, "give finite numbers")
        whole = all(isinstance(b, int) for b in bounds)
        if whole:
            count = -int((start - stop) // step)  # exact, however far apart they are
        else:
            steps = (stop - start) / step
            steps = steps if math.isfinite(steps) else stop / step - start / step
            count = math.ceil(steps) if math.isfinite(steps) else 2**64
        wanted = dtypes.of(dtype or (dtypes.int64 if whole else dtypes.float32))
        out = cls._evenly(max(count, 0), start, step, 1, wanted, device)
        return out.requires_grad_() if requires_grad else out

    @classmethod
    def linspace(
        cls, start: float, stop: float, num: int, *, endpoint: bool = True,
        dtype: DTypeLike | None = None, requires_grad: bool = False,
        device: DeviceLike | None = None,
    ) -> Self:  # fmt: skip
        """`num` evenly spaced numbers from start to stop; with endpoint=False, stop is excluded: it
        would be the next one. Each is computed from its own index, so errors do not add up."""
        count = layout.whole_number(num, "num")
        if count < 0:
            raise ShapeError(f"linspace(num={num})", "a negative count", "give 0 or more")
        for name, end in (("start", start), ("stop", stop)):
            checks.number(f"linspace({name})", end)
        wanted = dtypes.of(dtype or dtypes.float32)
        parts, step = max(count - 1 if endpoint else count, 1), stop - start
        if (
            math.isinf(step) and math.isfinite(start) and math.isfinite(stop)
        ):  # the distance overflows, half of it does not
            half = cls.linspace(start / 2, stop / 2, count, endpoint=endpoint, dtype="float64",
                                device=device)  # fmt: skip
            return cls(apply("cast", half * 2, dtype=wanted).buf, requires_grad=requires_grad)
        out = cls._evenly(count, start, step, parts, wanted, device)
        if endpoint and count > 1:
            last = out.over(out.buf, (1,), (1,), count - 1)
            engine.call("fill", out.dtype, last, value=stop)
        return out.requires_grad_() if requires_grad else out

    @classmethod
    def _evenly(
        cls, count: int, start: int | float, step: int | float, parts: int, dtype: dtypes.DType,
        device: DeviceLike | None,
    ) -> Self:  # fmt: skip
        """start + step * (i / parts) for each i < count. For an integer dtype the numbers must be
        whole and in range; otherwise NumberRangeError."""
        found = dtype
        if dtype.is_float:  # large integers count in int64: as floats they would be rounded first
            last = start + step * (count - 1) if parts == 1 else 0
            if isinstance(last, int) and 2**53 < max(abs(start), abs(last)) < 2**63:
                found = dtypes.int64
        else:
            found = dtypes.int64 if dtype is dtypes.bool_ else dtype
            if not (count > 1 == parts and isinstance(start, int) and isinstance(step, int)):
                start, step, parts = _whole(start, step, count, parts, found)
            dtypes.check_numbers((start, start + step * (count - 1)) if count else (), found)
        out = cls.over(Buffer.empty(count, found, devices.of(device)), (count,))
        engine.call("arange", found, out, start=start, step=step, parts=parts)
        return out if found is dtype else apply("cast", out, dtype=dtype)

    @classmethod
    def eye(
        cls,
        n: int,
        m: int | None = None,
        k: int = 0,
        *,
        dtype: DTypeLike = dtypes.float32,
        device: DeviceLike | None = None,
    ) -> Self:
        """n rows of m numbers (default n): 1 on diagonal k (0 is the main one), else 0."""
        out = cls.zeros(n, n if m is None else m, dtype=dtype, device=device)
        engine.call("fill", out.dtype, apply("diagonal", out, k=k, axis1=0, axis2=1), value=1)
        return out

    @classmethod
    def _random(
        cls, kernel: str, shape: tuple[ShapeLike, ...], dtype: DTypeLike,
        requires_grad: bool, device: DeviceLike | None,
    ) -> Self:  # fmt: skip
        sizes, found = layout.checked_shape(layout.sizes_of(shape)), dtypes.of(dtype)
        if not found.is_float:
            raise DTypeError(
                f"{kernel} random numbers of {found.name}",
                "they are not whole",
                "use a float dtype, and .cast() the result if need be",
            )
        out = cls.over(Buffer.empty(math.prod(sizes), found, devices.of(device)), sizes)
        random.stream().draw(kernel, out, 2)
        return out.requires_grad_() if requires_grad else out

    @classmethod
    def rand(
        cls, *shape: ShapeLike, dtype: DTypeLike = dtypes.float32,
        requires_grad: bool = False, device: DeviceLike | None = None,
    ) -> Self:  # fmt: skip
        """Uniform in [0, 1), from the generator that `tutor.manual_seed` sets."""
        return cls._random("uniform", shape, dtype, requires_grad, device)

    @classmethod
    def randn(
        cls, *shape: ShapeLike, dtype: DTypeLike = dtypes.float32,
        requires_grad: bool = False, device: DeviceLike | None = None,
    ) -> Self:  # fmt: skip
        """Normal, mean 0 and variance 1."""
        return cls._random("normal", shape, dtype, requires_grad, device)

    @classmethod
    def glorot_uniform(cls, *shape: ShapeLike, **options: Unpack[LikeOptions]) -> Self:
        """Uniform in +-sqrt(6 / (fan_in + fan_out)), for a weight (out, in, ...): trailing axes
        multiply both fans. Glorot & Bengio 2010, equation 16. ShapeError for fewer than 2 axes."""
        sizes = layout.checked_shape(layout.sizes_of(shape))
        if len(sizes) < 2:
            raise ShapeError(
                f"glorot_uniform of shape {sizes}", "fewer than 2 axes", "(out, in, ...)"
            )
        bound = math.sqrt(6.0 / (max((sizes[0] + sizes[1]) * math.prod(sizes[2:]), 1)))
        wanted = options.pop("requires_grad", False)
        t = cls.rand(sizes, **options) * (2 * bound) - bound
        return t.requires_grad_() if wanted else t


def _whole(
    start: int | float, step: int | float, count: int, parts: int, dtype: dtypes.DType
) -> tuple[int, int, int]:
    """The first number, the step and parts = 1, as whole numbers; otherwise NumberRangeError."""
    from fractions import Fraction  # imports decimal, which few programs need

    if count == 0:
        return 0, 1, 1
    exact = [Fraction(start), Fraction(step) / parts if count > 1 else Fraction(0)]
    for number in (exact[0], sum(exact)):
        if number.denominator != 1:
            raise NumberRangeError(
                f"{float(number)} as {dtype.name}",
                f"{dtype.name} holds whole numbers only",
                "make it a float tensor, and .cast() it to cut the fraction off",
            )
    return int(exact[0]), int(exact[1]), 1
