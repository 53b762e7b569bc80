"""Functions of `torch` about dtypes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tutor import dtype as ours
from tutor.errors import ArgumentError, DTypeError
from tutor.torch.carrier import CATEGORY, Plain, meeting
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


def set_default_dtype(d):
    """float32 is the only default here."""
    if dtype_of(d) is not ours.float32:
        do = "name the dtype where tensors are made: dtype=torch.float64"
        raise ArgumentError(f"torch.set_default_dtype({d})", "float32 is tutor's only default", do)


FORMULAS: dict[str, Any] = {
    "promote_types(type1, type2)": lambda a, b: meeting(dtype_of(a), dtype_of(b)),
    "can_cast(from_, to)":
        lambda a, b: CATEGORY[dtype_of(a).kind] <= CATEGORY[dtype_of(b).kind],
    "get_default_dtype()": lambda: ours.float32,
    "is_tensor(obj)": lambda x: isinstance(x, Plain),
    "is_floating_point(input)": lambda x: x.dtype.is_float,
    "numel(input)": lambda x: x.numel(),
}  # fmt: skip
PLAIN = (finfo, iinfo, set_default_dtype)
