"""Keyword aliases: PyTorch's spellings of our parameters, and the errors for unknown keywords.

    >>> from tutor import Tensor
    >>> Tensor([[1, 2], [3, 4]]).sum(dim=0, keepdim=True)  # axis=0, keepdims=True
    Tensor([[4, 6]])

`@spelled` decorates every public class and function. It wraps each function in one of the same
name, signature and docstring, which passes all arguments through. Keywords are examined only if
Python finds that the arguments do not fit the signature. So calls with tutor's own names are never
slowed down by a search, and type checkers know only one name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, NamedTuple, NoReturn, TypeVar

from tutor.errors import ArgumentError, TutorError

T = TypeVar("T")

# Aliases, accepted wherever a function has a parameter named on the right: PyTorch's spellings in
# array functions, and the short names for the sizes of a layer's inputs and outputs.
SPELLINGS = {
    "dim": ("axis",), "keepdim": ("keepdims",), "start_dim": ("start",), "end_dim": ("end",),
    "inputs": ("in_features", "in_channels"), "outputs": ("out_features", "out_channels"),
    "num_classes": ("classes",), "diagonal": ("k",), "offset": ("k",), "steps": ("num",),
}  # fmt: skip

# Names used elsewhere. They are not accepted, since they may mean something else there, but they
# determine which of our names the error suggests first.
MEANT = {
    "axes": "axis", "dims": "axis", "dim0": "a", "dim1": "b",
    "unbiased": "correction", "ddof": "correction", "p": "ord",
    "in_features": "in_channels", "in_channels": "in_features", "out_features": "out_channels",
    "out_channels": "out_features",
    "kernel": "kernel_size", "strides": "stride", "learning_rate": "lr", "inputs": "input",
    "input": "x", "labels": "target", "targets": "target", "logits": "input", "src": "value",
    "a_min": "min", "a_max": "max", "shape": "size", "parameters": "params", "grad": "gradient",
    "data_type": "dtype", "size": "shape", "chunks": "n", "tensors": "arrays",
}  # fmt: skip


# Methods that the library itself calls for every op or layer: these are not wrapped.
INNER = {"alias", "forward", "is_contiguous", "like", "numel", "over", "wrap"}


class Pair(NamedTuple):
    """The result of `x.max(dim=1)`: the values, and their positions along the axis."""

    values: Any
    indices: Any


def paired(positions: str) -> Callable[[T], T]:
    """Marks a method that returns values where PyTorch's returns a pair, and names the method that
    finds their positions. Calls with PyTorch's `dim=` or `keepdim=` get the pair."""

    def mark(method: T) -> T:
        method.__dict__["positions"] = positions
        return method

    return mark


def spelled(target: T) -> T:
    """The function, or the class with all its public methods, made to accept the aliases and to
    raise a helpful ArgumentError for unknown keywords."""
    if isinstance(target, FunctionType):
        understanding: T = _understanding(target)
        return understanding
    in_front: dict[Any, Any] = {}  # an alias stays the same function
    for name, found in list(vars(target).items()):
        function = found.__func__ if isinstance(found, classmethod) else found
        if not isinstance(function, FunctionType):
            continue
        wrapped = name not in INNER and (not name.startswith("_") or name == "__init__")
        if not wrapped or "<" in function.__qualname__:  # a lambda, or what a function has made
            _name(function, name, target)
        if wrapped:
            if function not in in_front:
                in_front[function] = _name(_understanding(function), name, target)
            made = in_front[function]
            setattr(target, name, classmethod(made) if isinstance(found, classmethod) else made)
    return target


def _name(function: Any, name: str, owner: Any) -> Any:
    """Says that the function is that method of `owner`, wherever it was written."""
    function.__name__, function.__module__ = name, owner.__module__
    function.__qualname__ = f"{owner.__qualname__}.{name}"
    return function


def _understanding(f: Any) -> Any:
    """The wrapper of f; methods with no argument, or only `other`, get a faster one."""
    code = f.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    anything = code.co_flags & 0x0C  # *args or **kwargs
    method: Any
    if names == ("self",) and not anything:

        def method(self: Any, **unknown: Any) -> Any:
            if unknown:
                _refuse(f, unknown, names, self)
            return f(self)

    elif names == ("self", "other") and not anything:

        def method(self: Any, other: Any, **unknown: Any) -> Any:
            if unknown:
                _refuse(f, unknown, names)
            return f(self, other)

    else:

        def method(*args: Any, **given: Any) -> Any:
            try:
                return f(*args, **given)
            except TypeError as error:
                if isinstance(error, TutorError) or _fits(f, args, given):
                    raise
            return _respelled(f, args, given)

    return functools.wraps(f)(method)


def _signature(f: Any) -> Any:
    import inspect  # slow to import, and only needed for mistakes

    return inspect.signature(f)


def _fits(f: Any, args: tuple[Any, ...], given: dict[str, Any]) -> bool:
    try:
        _signature(f).bind(*args, **given)
    except TypeError:
        return False
    return True


def _respelled(f: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Make the call in our spelling, or raise the ArgumentError that shows the right one."""
    parameters = list(_signature(f).parameters)
    kept = {_ours(name, parameters): value for name, value in given.items()}
    unknown = {name: given[name] for name in given if _ours(name, parameters) not in parameters}
    made = args[0] if args and _is_method(f) else None
    if unknown:
        _refuse(f, unknown, parameters, made)
    if len(kept) < len(given) or not _fits(f, args, kept):
        names = ", ".join([*map(_short, args[_is_method(f) :]), *map(_text, given.items())])
        try:
            _signature(f).bind(*args, **kept)
            found = "one parameter is given twice, in two spellings"
        except TypeError as error:
            found = str(error)
        raise ArgumentError(
            f"{_title(f, made)}({names})", found, f"its parameters are {_described(f)}"
        )
    values = f(*args, **kept)
    bound = _signature(f).bind(*args, **kept).arguments
    if hasattr(f, "positions") and bound.get("axis") is not None:
        self = bound.pop("self")
        return Pair(values, getattr(self, f.positions)(**bound))
    return values


def _ours(name: str, parameters: Iterable[str]) -> str:
    """The parameter that `name` is an alias of, or else the name itself."""
    if name in parameters:
        return name
    return next((ours for ours in SPELLINGS.get(name, ()) if ours in parameters), name)


def _refuse(f: Any, unknown: dict[str, Any], names: Iterable[str], made: object = None) -> NoReturn:
    import difflib  # like inspect, only needed for mistakes

    known = [name for name in names if name not in ("self", "cls")]
    wrong = next(iter(unknown))
    spellings = {name: _ours(name, known) for name in SPELLINGS}
    candidates = {**MEANT, **spellings, **{name: name for name in known}}
    near = [candidates[word] for word in difflib.get_close_matches(wrong, candidates, 5, 0.7)]
    meant = next((name for name in [MEANT.get(wrong), *near] if name in known), None)
    written = ", ".join(map(_text, unknown.items()))
    raise ArgumentError(
        f"{_title(f, made)}({written})",
        f"there is no parameter {wrong!r}",
        (f"write {meant}=; " if meant else "leave it out; ")
        + (f"its parameters are {_described(f)}" if known else "it takes nothing by keyword"),
    )


def _title(f: Any, made: object = None) -> str:
    """The name it is called by: `Tensor.sum`, `Linear`, `mse_loss`. For an inherited __init__ the
    object `made` determines the class."""
    if f.__name__ == "__init__" and made is not None:
        return type(made).__name__
    if f.__module__.startswith(("tutor.methods", "tutor.core.tensor")):  # Tensor inherits it
        return f"Tensor.{f.__name__}".removesuffix(".__init__")
    return str(f.__qualname__).removesuffix(".__init__")


def _is_method(f: Any) -> bool:
    return next(iter(_signature(f).parameters), "") in ("self", "cls")


def _described(f: Any) -> str:
    """The signature without types: `axis=None, keepdims=False, *, dtype=None`."""
    signature = _signature(f)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    bare = [p for p in bare if p.name not in ("self", "cls")]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))[1:-1]


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, (int, float, str, tuple, list, type(None))) else "..."
    return text if len(text) <= 30 else "..."


def _text(item: tuple[str, Any]) -> str:
    return f"{item[0]}={_short(item[1])}"
