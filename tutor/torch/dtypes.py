"""Functions of `torch` about dtypes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tutor import dtype as ours
from tutor.errors import ArgumentError, DTypeError
from tutor.torch import carrier
from tutor.torch.objects import dtype_of


class Info(NamedTuple):
    """The limits of a dtype."""

    min: Any
    max: Any
    bits: int
    dtype: str
    eps: Any = None
    tiny: Any = None
    smallest_normal: Any = None
    resolution: Any = None


def finfo(type=ours.float32):
    """The limits of a float dtype."""
    d: Any = dtype_of(type)
    if not d.is_float:
        raise DTypeError(f"torch.finfo({d})", "it is no float", "torch.iinfo has integers")
    resolution, least = 10.0 ** -int(-math.log10(d.eps)), d.smallest_normal
    return Info(d.min, d.max, 8 * d.itemsize, d.name, d.eps, least, least, resolution)


def iinfo(type):
    """The limits of an integer dtype."""
    d: Any = dtype_of(type)
    if not d.is_integer:
        raise DTypeError(f"torch.iinfo({d})", "it is no integer", "torch.finfo has floats")
    return Info(d.min, d.max, 8 * d.itemsize, d.name)


def promote_types(type1, type2):
    """The dtype of an operation on both."""
    a: Any = dtype_of(type1)
    b: Any = dtype_of(type2)
    return carrier.meeting(a, b)


def can_cast(from_, to):
    """May a result of the first be stored in the second in place?"""
    a: Any = dtype_of(from_)
    b: Any = dtype_of(to)
    return carrier.CATEGORY[a.kind] <= carrier.CATEGORY[b.kind]


def get_default_dtype():
    """float32"""
    return ours.float32


def set_default_dtype(d):
    """float32 is the only default here."""
    if dtype_of(d) is not ours.float32:
        do = "name the dtype where tensors are made: dtype=torch.float64"
        raise ArgumentError(f"torch.set_default_dtype({d})", "float32 is tutor's only default", do)


def is_tensor(obj):
    """Is it a Tensor?"""
    return isinstance(obj, carrier.Plain)


def is_floating_point(input):
    """Is its dtype a float?"""
    return input.dtype.is_float


def numel(input):
    """The number of elements."""
    return input.numel()


PLAIN = (
    finfo, iinfo, promote_types, can_cast, get_default_dtype, set_default_dtype, is_tensor,
    is_floating_point, numel,
)  # fmt: skip
