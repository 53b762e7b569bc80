"""NumPy's functions, called on Tensors: `np.sin(t)`, `np.mean(t, axis=0)`, `np.stack([t, array])`.

    >>> import numpy as np
    >>> np.sum(np.exp(Tensor([[0.0, 0.0]], requires_grad=True)), axis=1)
    Tensor([2.], op=Sum)

NumPy passes a call on to operands that are not arrays: an elementwise function (a "ufunc", which
includes every operator between an array and a Tensor) to `__array_ufunc__` (NEP 13), most other
functions to `__array_function__` (NEP 18). Both end up here.

If tutor has the function, the result is a Tensor in the graph. Otherwise NumPy computes it on the
Tensors' memory, which it may read but not write; a ufunc's result still becomes a Tensor, and other
functions return what NumPy returns. It is an error if a gradient would be lost that way, and so is
`out=`: a result is a new Tensor, and cannot become part of an array.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tutor import array_api as xp
from tutor.core.engine import apply
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.errors import DTypeError, GraphError
from tutor.interop.numpy_functions import FUNCTIONS, operand
from tutor.methods.tensor import Tensor

# ---- ufuncs --------------------------------------------------------------------------------------

# NumPy's names; after "=" the array API's name, if it differs.
UFUNCS = """
    absolute=abs add arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctan2=atan2
    arctanh=atanh bitwise_and bitwise_or bitwise_xor ceil conjugate=conj copysign cos cosh divide
    equal exp exp2 expm1 floor floor_divide fmod greater greater_equal hypot invert=bitwise_invert
    isfinite isinf isnan left_shift=bitwise_left_shift less less_equal log log10 log1p log2
    logaddexp logical_and logical_not logical_or logical_xor matmul maximum minimum multiply
    negative nextafter not_equal positive power=pow reciprocal remainder
    right_shift=bitwise_right_shift rint=round sign signbit sin sinh sqrt square subtract tan tanh
    trunc vecdot
"""
BEYOND: dict[str, Callable[..., Tensor]] = {  # not in the array API, but in tutor
    "exp2": Tensor.exp2,
    "fmod": lambda x, y: apply("fmod", x, y),
}
ELEMENTWISE = {
    name: BEYOND.get(name) or getattr(xp, ours or name)
    for name, _, ours in (row.partition("=") for row in UFUNCS.split())
}
REDUCED = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
           "logical_and": "all", "logical_or": "any"}  # fmt: skip
RUNNING = {"add": "cumsum", "multiply": "cumprod"}


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """`ufunc(*inputs)`, or its `method`: "reduce", "accumulate", "outer", "at"."""
    numpy = sys.modules["numpy"]
    if not all(_is_known(type(x), "__array_ufunc__") for x in inputs):
        return NotImplemented  # another library's array, which may know what to do
    name = asked = ufunc.__name__
    ours = None
    if getattr(numpy, name, None) is ufunc:  # SciPy and others also have ufuncs
        ours, asked = ELEMENTWISE.get(name), f"np.{name}"
    _refuse_out(asked, options)
    if method == "at":
        raise _read_only(f"{asked}.at")
    if ours is not None:
        if method == "__call__" and not options:
            like = next((x for x in inputs if isinstance(x, Tensor)), None)
            return ours(*[operand(x, like) for x in inputs])
        if method == "outer" and not options:
            x, y = map(xp.asarray, inputs)
            return ours(x.reshape(*x.shape, *(1,) * y.ndim), y)
        table = {"reduce": REDUCED, "accumulate": RUNNING}.get(method, {})
        if name in table and options.keys() <= {"axis", "keepdims", "dtype"}:
            whole = getattr(Tensor, table[name])
            options = {k: v for k, v in options.items() if k != "dtype" or v is not None}
            if "dtype" not in options or "dtype" in inspect.signature(whole).parameters:
                return whole(inputs[0], **{"axis": 0, **options})
    return as_tensors(by_numpy(asked, getattr(ufunc, method), inputs, options))


# ---- all other functions -------------------------------------------------------------------------


def call_function(function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """`function(*args, **options)`, for a NumPy function that was called with a Tensor."""
    if not all(_is_known(t, "__array_function__") for t in types):
        return NotImplemented
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    _refuse_out(f"np.{name}", options)
    options = {k: v for k, v in options.items() if k != "out"}
    if ours := FUNCTIONS.get(name):
        try:
            inspect.signature(ours).bind(*args, **options)
        except TypeError:  # an option that only NumPy has: where=, order=, initial=
            pass
        else:
            if (found := ours(*args, **options)) is not NotImplemented:
                return found
    found = by_numpy(f"np.{name}", function, args, options)
    asked_by_like = not any(True for _ in _tensors((args, options)))
    return as_tensors(found) if asked_by_like else found  # np.zeros(3, like=t)


# ---- computed by NumPy ---------------------------------------------------------------------------


def by_numpy(asked: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """NumPy's result, provided that no gradient is lost."""
    try:
        found = function(*_arrays(args), **_arrays(options))
    except ValueError as error:
        if "read-only" in str(error):
            raise _read_only(asked) from None
        raise
    wanted = is_grad_enabled() and any(t.requires_grad for t in _tensors((args, options)))
    if wanted and _has_floats(found):
        raise GraphError(
            f"{asked} of a Tensor that requires grad",
            "NumPy computes it, and the graph would not know",
            "use .detach(), compute under no_grad(), or write it with functions that tutor has",
        )
    return found


def as_tensors(found: Any) -> Any:
    """An array, a number of one, or a tuple of these, as Tensors; anything without a tutor dtype
    (complex) is unchanged."""
    if isinstance(found, tuple):
        parts = map(as_tensors, found)
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    try:  # a NumPy scalar is not an array, but has a dtype
        return Tensor(sys.modules["numpy"].asarray(found))
    except DTypeError:
        return found


def _arrays(x: Any) -> Any:
    """x with Tensors replaced by read-only arrays over the same memory."""
    if isinstance(x, Tensor):
        array = x.numpy()
        array.flags.writeable = False
        return array
    if isinstance(x, dict):
        return {key: _arrays(value) for key, value in x.items()}
    return type(x)(map(_arrays, x)) if type(x) in (tuple, list) else x


def _tensors(x: Any) -> Iterator[Tensor]:
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, (tuple, list, dict)):
        for item in x.values() if isinstance(x, dict) else x:
            yield from _tensors(item)


def _has_floats(x: Any) -> bool:
    """Whether any numbers could have a derivative; bools, positions and texts have none."""
    if isinstance(x, (tuple, list)):
        return any(map(_has_floats, x))
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "b") in "fcO"


def _is_known(kind: type, protocol: str) -> bool:
    """Whether it is a Tensor, a NumPy array, or a type that does not define this protocol."""
    ndarray = sys.modules["numpy"].ndarray
    theirs = getattr(kind, protocol, None)
    known = theirs is None or issubclass(kind, Tensor) or theirs is getattr(ndarray, protocol)
    return known and not hasattr(kind, "mask")  # np.ma: hidden values would become visible


def _refuse_out(asked: str, options: dict[str, Any]) -> None:
    out = options.get("out")
    if out is not None:
        raise DTypeError(
            f"{asked}(..., out=) with a Tensor",
            "its result is a new Tensor, and out is memory that is there already",
            "leave out= away; for `array += tensor` write array += tensor.numpy()",
        )


def _read_only(asked: str) -> DTypeError:
    return DTypeError(
        f"{asked}, which writes to its operand",
        "NumPy may not write to a Tensor: the graph would not see it",
        "assign by index: t[positions] = values; to an array, write t.numpy()",
    )
