"""The array API's inspection functions: versions, dtypes and their limits, devices."""

from __future__ import annotations

from typing import Any, NamedTuple

from tutor import dtype as dtypes
from tutor._storage import layout
from tutor._storage.array_like import is_number
from tutor.backends import devices
from tutor.dtype import DType, bfloat16, float16, float32, int64
from tutor.errors import DomainError, DTypeError
from tutor.methods.tensor import Tensor

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",), "signed integer": ("int",), "unsigned integer": ("uint",),
    "integral": ("int", "uint"), "real floating": ("float",), "complex floating": (),
    "numeric": ("int", "uint", "float"),
}  # fmt: skip


class FInfo(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IInfo(NamedTuple):
    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: DType | Tensor, /) -> FInfo:
    d = result_type(type)
    if not d.is_float:
        raise DTypeError(f"finfo of {d.name}", "it is no float", "use iinfo")
    return FInfo(8 * d.itemsize, d.eps, d.max, d.min, d.smallest_normal, d)


def iinfo(type: DType | Tensor, /) -> IInfo:
    d = result_type(type)
    if not d.is_integer:
        raise DTypeError(f"iinfo of {d.name}", "it is no integer", "use finfo")
    return IInfo(8 * d.itemsize, int(d.max), int(d.min), d)


def isdtype(dtype: DType, kind: Any) -> bool:
    """Whether `dtype` is of that kind, or that dtype, or any of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in KINDS:
        return dtypes.of(dtype).kind in KINDS[kind]
    try:
        return dtypes.of(dtype) is dtypes.of(kind)
    except DTypeError:
        raise DomainError(
            f"isdtype({dtype!r}, {kind!r})", "no such kind", f"one of {', '.join(KINDS)}"
        ) from None


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that all of these promote to: arrays and dtypes first, then numbers."""
    operands = (x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes)
    found = dtypes.common(x if is_number(x) else dtypes.of(x) for x in operands)
    if found is None or all(is_number(x) for x in arrays_and_dtypes):
        raise DTypeError("result_type", "no array and no dtype", "give at least one")
    return found


def check_version(version: str | None) -> None:
    """DomainError unless the functions here follow this version of the standard."""
    if version not in (None, *VERSIONS):
        raise DomainError(f"array API {version!r}", f"here is {VERSIONS[-1]}", "leave it out")


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether `to` can represent every number of `from_`."""
    return result_type(from_, to) is to


class __array_namespace_info__:  # noqa: N801 - a function in the standard: it is only called
    """The capabilities of this library, for programs that inspect them."""

    default_device = staticmethod(devices.default)
    devices = staticmethod(devices.names)

    def capabilities(self) -> dict[str, Any]:
        yes: dict[str, Any] = dict.fromkeys(("boolean indexing", "data-dependent shapes"), True)
        return {**yes, "max dimensions": layout.MAX_DIMS}

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        devices.of(device)
        return {"real floating": float32, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The standard's dtypes by name: those of the given kind or kinds, or all."""
        devices.of(device)
        ours = [d for d in dtypes.TABLE if d not in (float16, bfloat16)]
        return {d.name: d for d in ours if kind is None or isdtype(d, kind)}
