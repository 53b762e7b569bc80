"""PyTorch's signatures: functions that take its arguments, in its order, and call ours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tutor.errors import ArgumentError, TutorError
from tutor.methods import inplace
from tutor.torch.carrier import Plain, inside, promoted, tag

# Keywords that change where or how fast PyTorch computes, never what.
WITHOUT_MEANING = {
    "async_op", "capturable", "device", "enable_nested_tensor", "foreach", "fused", "layout",
    "mask_check", "memory_format", "mmap", "non_blocking", "pin_memory", "sparse", "sparse_grad",
    "weights_only", "_stacklevel",
}  # fmt: skip
SPELLINGS = {"axis": "dim", "keepdims": "keepdim"}  # NumPy's, which PyTorch takes too
# Our names for PyTorch's parameters: the first that a function has.
OURS = {
    "dim": ("axis",), "dims": ("axis", "axes"), "keepdim": ("keepdims",), "diagonal": ("k",),
    "offset": ("k",), "dim0": ("a",), "dim1": ("axis1", "b"), "dim2": ("axis2",),
    "start_dim": ("start",), "end_dim": ("end",), "chunks": ("n",), "vec2": ("other",),
    "dimension": ("axis",), "mat2": ("other",), "split_size": ("sizes",),
    "vec": ("other",), "exponent": ("other",), "p": ("ord",), "B": ("x2", "b"), "y": ("x2",),
}  # fmt: skip


def refused(name: str, error: TypeError, parameters: str) -> ArgumentError:
    """The error for arguments that do not fit PyTorch's signature."""
    return ArgumentError(f"torch: {name}(...)", str(error), f"its parameters are {parameters}")


def unable(name: str, parameter: str, value: object, default: object) -> ArgumentError:
    """The error for a parameter of PyTorch's that only may have its default here."""
    shown = repr(value) if isinstance(value, (int, float, str, bool)) else type(value).__name__
    return ArgumentError(f"torch: {name}({parameter}={shown})", "tutor.torch does not have it",
                         f"leave {parameter} out: it is {default!r} then")  # fmt: skip


def same_value(value: object, default: object) -> bool:
    """Is the value the default itself, or an equal number, text or tuple?"""
    plain = (int, float, str, tuple, list)
    return value is default or (
        isinstance(value, plain) and isinstance(default, plain) and value == default
    )


@functools.cache
def parameters_of(target: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(target).parameters)


def names_for(target: Any, parameters: list[str]) -> dict[str, str]:
    """Our name for each of PyTorch's parameters that the target has."""
    own = parameters_of(target)
    found: dict[str, str] = {}
    for name in parameters:
        candidates = (*OURS.get(name, ()), name) if name not in own else (name,)
        first = next((c for c in candidates if c in own and c not in found.values()), None)
        if first is not None:
            found[name] = first
    return found


class Adapter:
    """PyTorch's signature, `text`, over a function of ours."""

    def __init__(self, name: str, text: str, target: Callable[..., Any]) -> None:
        self.name, self.bind = name, bound(name, text)
        parameters = inspect.signature(eval(f"lambda {text}: 0")).parameters
        self.defaults = {n: p.default for n, p in parameters.items()}
        self.names = names_for(target, list(parameters))
        known = {*self.names, *WITHOUT_MEANING, "inplace", next(iter(parameters))}
        self.fixed = [n for n in parameters if n not in known]

    def given(self, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """The arguments by PyTorch's names. An error for one that only has its default here."""
        found = self.bind(args, options)
        for n in self.fixed:
            if not same_value(found[n], self.defaults[n]):
                raise unable(self.name, n, found[n], self.defaults[n])
        return found

    def values(self, given: dict[str, Any], *but: str) -> dict[str, Any]:
        """The arguments by our names."""
        return {ours: given[n] for n, ours in self.names.items() if n not in but}


def adapted(name: str, text: str, target: Callable[..., Any], promotes: bool = False) -> Any:
    """A function with PyTorch's signature, `text`, which calls ours. A parameter that ours does not
    have may only have its default, unless it is WITHOUT_MEANING; `inplace=True` overwrites the
    first argument."""
    adapter = Adapter(name, text, target)
    first = next(iter(adapter.defaults))

    def call(*args: Any, **options: Any) -> Any:
        if inside():
            return target(*args, **options)
        given = adapter.given(args, options)
        x, values = given[first], adapter.values(given, first)
        if promotes:
            keys = [k for k, v in values.items() if isinstance(v, Plain) or k == "other"]
            x, *rest = promoted(x, *(values[k] for k in keys))
            values.update(zip(keys, rest, strict=True))
        if given.get("inplace"):
            return changed(name, target)(x, **values)
        return tag(target(x, **values))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}({text}), as in PyTorch."
    return call


def changed(name: str, function: Callable[..., Any]) -> Any:
    """`x.name_(...)`: the result of `x.name(...)` overwrites x's numbers."""

    def made(x: Any, *args: Any, **options: Any) -> Any:
        result = function(x, *args, **options)
        lower = inplace.KINDS.index(result.dtype.kind) <= inplace.KINDS.index(x.dtype.kind)
        return Plain.cast(result, x.dtype) if lower else result

    made.__name__ = name
    overwriting = inplace.over(made)

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return tag(overwriting(self, *args, **options))

    method.__name__, method.__doc__ = f"{name}_", overwriting.__doc__
    return method


def bound(name: str, text: str) -> Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    """What gives the arguments of a call by the names of this signature."""
    bind = eval(f"lambda {text}: locals()")  # of our own tables
    parameters = inspect.signature(bind).parameters
    order = tuple(parameters)
    row = next((n for n, p in parameters.items() if p.kind is p.VAR_POSITIONAL), None)

    def given(args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        for numpy, name_here in SPELLINGS.items():
            if numpy in options and name_here in parameters and name_here not in options:
                options = {name_here: options[numpy], **options}
                del options[numpy]
        if row in options:  # x.permute(dims=(1, 0))
            options = dict(options)
            args = (*args, options.pop(row))
        try:
            found: dict[str, Any] = bind(*args, **options)
        except TypeError as error:
            raise refused(name, error, text) from None
        return {n: found[n] for n in order}  # locals() has `*sizes` last

    return given


def formula(row: str, compute: Callable[..., Any], base: Any = None) -> Any:
    """A function from a row of a table: PyTorch's signature, and what it computes from the values
    in that order. tutor's own code gets `base`."""
    name, _, rest = row.partition("(")
    bind = bound(name, rest.removesuffix(")"))

    def call(*args: Any, **options: Any) -> Any:
        if base is not None and inside():
            return base(*args, **options)
        return tag(compute(*bind(args, options).values()))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{row}, as in PyTorch."
    return call


def copied(function: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.permute_copy` and the like: what the view would be, in memory of its own."""
    return lambda *args, **options: function(*args, **options).clone()


def spoken(function: Any, base: Any = None) -> Any:
    """A function written here with PyTorch's signature: its results are tagged, arguments that do
    not fit are explained, and tutor's own code gets `base`."""
    shown = str(inspect.signature(function))[1:-1]

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if base is not None and inside():
            return base(*args, **options)
        try:
            return tag(function(*args, **options))
        except TypeError as error:
            if isinstance(error, TutorError) or error.__traceback__.tb_next is not None:  # type: ignore[union-attr]
                raise
            raise refused(function.__name__, error, shown) from None

    return call
