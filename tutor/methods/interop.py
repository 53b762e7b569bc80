"""Tensors as Python and other libraries see them: numbers, lists, arrays, text.

What only other libraries need is loaded on first use: tutor/_util/lazy_imports.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tutor._storage import bounds_checks
from tutor._storage.array_like import is_tensor
from tutor._util import lazy_imports
from tutor._util.typing import Drawing
from tutor.core.op.edges import is_lost
from tutor.errors import DomainError, DTypeError, ScalarError, ShapeError
from tutor.methods import conversions, printing
from tutor.methods.operators import Operators, T

# ---- numbers, lists, arrays ----------------------------------------------------------------------


def tolist(self: Operators) -> Any:
    """The numbers as (nested) lists."""
    if not bounds_checks.is_here(self):
        return tolist(conversions.to(self.detach(), "cpu"))
    bounds_checks.read(self, "tolist()")
    nested = self.buf.tolist() if is_whole(self) else self.copy().buf.tolist()
    for axis in range(self.ndim - 1, 0, -1):  # bracket the last axis first
        size, rows = self.shape[axis], math.prod(self.shape[:axis])
        nested = [nested[i * size : (i + 1) * size] for i in range(rows)]
    return nested if self.shape else nested[0]


def is_whole(self: Operators) -> bool:
    """True if this Tensor covers its whole Buffer, row-major."""
    return self.is_contiguous() and self.offset == 0 and self.numel() == len(self.buf)


def numpy(self: Operators) -> Any:
    """A NumPy array over the same memory: a change on either side is seen on the other.

    NumPy's strides can walk whatever a Tensor can, so nothing is copied, except from another
    device. Raises DTypeError for bfloat16, which NumPy does not have, and MissingPackageError
    if NumPy is not installed.
    """
    return lazy_imports.load("arrays").numpy(self)


def array(self: Operators, dtype: Any = None, copy: bool | None = None) -> Any:
    """Called by np.asarray(t). As in np.array, copy=False raises if a cast needs a copy."""
    return lazy_imports.load("arrays").converted(self, dtype, copy)


def array_ufunc(self: Operators, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Called by NumPy for `np.sin(t)`, and for every operator of an array and a Tensor."""
    return lazy_imports.load("numpy_protocol").call_ufunc(ufunc, method, inputs, options)


def array_function(self: Operators, function: Any, types: Any, args: Any, options: Any) -> Any:
    """Called by NumPy for its other functions of Tensors: `np.mean(t)`, `np.stack([t, t])`."""
    return lazy_imports.load("numpy_protocol").call_function(function, types, args, options)


def explain(self: Operators, highlight: int | Sequence[int] | None = None) -> Drawing:
    """A drawing of where each element is in memory: tutor/viz/memory.py."""
    bounds_checks.read(self, "a picture of a Tensor")
    picture: Drawing = lazy_imports.load("viz").explain(self, highlight)
    return picture


# ---- other libraries: DLPack and the array API ---------------------------------------------------


def capsule(
    self: Operators, *, stream: Any = None, max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None, copy: bool | None = None,
) -> Any:  # fmt: skip
    """A capsule for another library's `from_dlpack`, which then shares this memory; the graph
    does not see its changes. With copy=True the consumer gets a copy, and by default also if an
    axis is walked backwards, which crashes some consumers. Raises ExchangeError."""
    return lazy_imports.load("arrays").capsule(self, stream, max_version, dl_device, copy)


def from_dlpack(
    cls: type[T], x: Any, /, *, device: str | None = None, copy: bool | None = None
) -> T:
    """A Tensor over the memory of `x`, an array of any library (or its capsule): a change on
    either side is seen on the other. With copy=True it is a copy, and so it is of a PyTorch
    view whose negation is pending (with copy=False that raises ExchangeError)."""
    made: T = lazy_imports.load("arrays").from_dlpack(cls, x, device, copy)
    return made


def array_namespace(self: Operators, *, api_version: str | None = None) -> Any:
    """The functions of the array API standard (data-apis.org/array-api): tutor.array_api."""
    namespace = lazy_imports.load("array_api")
    namespace.check_version(api_version)
    return namespace


def to_device(self: T, device: str, /, *, stream: Any = None) -> T:
    """The array API's name for `to(device=...)`; x itself if it is there already."""
    if stream is not None:
        raise DomainError(f"to_device(stream={stream!r})", "no stream is known", "leave it out")
    return conversions.to(self, device=device)


def capsule_device(self: Operators) -> tuple[int, int]:
    return 1, 0  # device type 1 (CPU), number 0: a tensor elsewhere is copied there


# ---- as Python sees it ---------------------------------------------------------------------------


def length(self: Operators) -> int:
    bounds_checks.fits(self, "len() of a Tensor")
    if not self.shape:
        raise ScalarError("len() of a Tensor", "it is a single number", "use .numel()")
    return self.shape[0]


def rows(self: T) -> Iterator[T]:
    return (self[i] for i in range(length(self)))


def contains(self: Operators, value: object) -> bool:
    equal: object = self == value  # False if value holds no numbers
    return is_tensor(equal) and bool(equal.any())


def truth(self: Operators) -> bool:
    bounds_checks.read(self, "a yes or no (bool)")
    if self.numel() != 1:
        raise ShapeError(
            f"a yes or no (bool) of shape {self.shape}",
            f"it holds {self.numel()} numbers, perhaps some true and some not",
            "compare to `is None`, or reduce to one number first",
        )
    return bool(self.item())


def as_float(self: Operators) -> float:
    return float(self.item())


def as_int(self: Operators) -> int:
    return int(self.item())


def position(self: Operators) -> int:
    if not self.dtype.is_integer:
        raise DTypeError("a position", f"a {self.dtype.name} Tensor", "use an integer Tensor")
    return int(self.item())


def formatted(self: Operators, spec: str) -> str:
    return format(self.item(), spec) if spec else repr(self)


def text(self: Operators) -> str:
    if not bounds_checks.is_here(self):
        bounds_checks.opened("the text of a Tensor")
        return printing.format_tensor(conversions.to(self.detach(), "cpu"), self)
    if not is_lost(self):
        bounds_checks.read(self, "the text of a Tensor")
    return printing.format_tensor(self, self)


def parts(self: Operators, protocol: Any) -> tuple[Any, ...]:
    """How `copy` and `pickle` take a tensor apart: its class and all its attributes, including
    those of a subclass. So `copy.copy` shares the Buffer; `copy.deepcopy` and pickle copy it
    whole, once for all its views that are copied together. `.grad` is copied as well, a graph,
    hooks and what it is a view of are not: the copy of an op's result, or of a view, is a leaf."""
    bounds_checks.read(self, "a copy of a Tensor")
    parts: Any = object.__reduce_ex__(self, 2)  # a str would name a global: never for a Tensor
    make, args, state, *others = parts
    if isinstance(state, tuple):  # (__dict__ or None, slots), unless a subclass has its own
        kept = {name: value for name, value in state[1].items() if name != "_hooks"}
        state = state[0], {**kept, "op": None, "_base": None}
    return make, args, state, *others
