"""The catalogue: every Op class by its name, and the attributes derived from its declarations.

A class is read once, when it is created. The Engine and its twin in C++ therefore find everything
about an op in plain attributes, and never inspect the signatures of its methods. At the end, what
the Engine checks of a call's parameters: which ones an op takes, and the values allowed for a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from tutor import dtype as dtypes
from tutor._storage.layout import checked_shape, positive
from tutor._util import checks
from tutor._util.hooks import Hook
from tutor.backends.shape_rules import FORMS
from tutor.backends.signatures import SIGNATURES
from tutor.errors import ArgumentError, DomainError, NumberRangeError, ShapeError

STARRED, DOUBLY_STARRED = 4, 8  # *args and **kwargs in co_flags: inspect.CO_VARARGS, CO_VARKEYWORDS
OPS: dict[str, Any] = {}  # typed in tutor.core.op: dict[str, type[Op]]

# The flag on the left is True if the class overrides the method on the right.
OWN = {
    "differentiable": "backward", "settles": "settle", "finishes": "finish", "infers": "infer",
    "is_view": "layout",
}  # fmt: skip


# ---- hook: what is done to an op -----------------------------------------------------------------


class OnOp(Hook):
    """What the Engine asks about an op that is not the op's own: nothing, by default."""

    made: Callable[[Any], None] = staticmethod(lambda cls: None)  # called with each new class
    casts: Mapping[Any, Any] = MappingProxyType({})  # while it is empty, no operands are cast
    operands: Callable[[Any], tuple[Any, ...]] = staticmethod(lambda op: op.inputs)  # as cast
    observers: tuple[Callable[[Any, Any], object], ...] = ()  # shown each op that ran, its result
    cast_nothing: Callable[[], object] = staticmethod(lambda: None)  # in this context, from here on


on_op = OnOp()  # answered by tutor/core/engine/casting.py, and `made` by tutor/functions/doubt.py


# ---- reading a class -----------------------------------------------------------------------------


def read(cls: Any, base: Any, abstract: bool) -> None:
    """Set the derived attributes of `cls` and enter it into OPS, unless it is abstract.

    `signature`, `form`, `kernel_params`: the kernel's row, its form and its parameters. `accepts`,
    `required`, `checked`: which parameters are accepted (None: any), required, and checked by name.
    `least`, `most`: how many operands (None: any number). `key`: the operand whose dtype selects
    the kernel. `save_positions`, `pick`: where the saved values are among the inputs (-1 is the
    output), and a function that picks them; `save_wants`: the inputs whose gradients want them
    (-1: any; empty: all are always saved). The other marks tell which methods the op overrides.
    """
    for mark, method in OWN.items():
        setattr(cls, mark, getattr(cls, method) is not getattr(base, method))
    cls.key = cls.promotes or 0
    if abstract:
        return
    if "name" not in cls.__dict__:
        cls.name = cls.kernel or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    taken = OPS.get(cls.name, cls)
    if (taken.__module__, taken.__name__) != (cls.__module__, cls.__name__):
        raise TypeError(f"op {cls.name!r} is {taken}; give {cls.__name__} a `name` of its own")
    _read_rule(cls)
    if unknown := set(cls.saves) - {*cls.takes, "out"}:
        raise TypeError(f"{cls.__name__} saves {unknown}, its operands are {cls.takes}")
    cls.save_positions = tuple(-1 if n == "out" else cls.takes.index(n) for n in cls.saves)
    wanted = [cls.saved_for.get(name) for name in cls.saves] if cls.saved_for else []
    cls.save_wants = tuple(-1 if n is None else cls.takes.index(n) for n in wanted)
    cls.pick = itemgetter(*cls.save_positions) if cls.saves else None
    OPS[cls.name] = cls
    on_op.made(cls)


def _read_rule(cls: Any) -> None:
    """Derive the operands and parameters it takes, from its kernel or its own method."""
    known, required, anything = {*cls.defaults}, set(), False
    if cls.kernel is not None:
        cls.signature = SIGNATURES[cls.kernel]
        cls.form, cls.kernel_params = FORMS[cls.signature.form], cls.signature.params
        open_dtype = ["dtype"] if "*" in cls.signature.types else []
        required = {*cls.kernel_params, *cls.form.params, *open_dtype}
        known |= required
        if cls.form.rule is None and not cls.infers:
            raise TypeError(f"{cls.__name__}: no rule follows from its kernel; give it an `infer`")
        cls.least = len(cls.signature.types.rstrip("+")) - 1
        cls.most = None if "+" in cls.signature.types else cls.least
    if cls.infers or cls.kernel is None:
        rule = cls.infer if cls.infers else cls.layout if cls.is_view else cls.forward
        rule = getattr(rule, "__wrapped__", rule)
        code = rule.__code__
        count, more = code.co_argcount, code.co_kwonlyargcount
        cls.takes = code.co_varnames[1:count]
        cls.least = max(count - 1 - len(rule.__defaults__ or ()), 0)
        cls.most = None if code.co_flags & STARRED else count - 1
        named = {*code.co_varnames[count : count + more]}
        known |= named
        required |= named - {*(rule.__kwdefaults__ or ()), *cls.defaults}
        anything = cls.kernel is None and bool(code.co_flags & DOUBLY_STARRED)
    elif not cls.takes:
        cls.takes = ("x", "y")[: cls.least]
    cls.required = frozenset(required)
    cls.accepts = None if anything else frozenset(known)
    if cls.kernel is not None:  # the op itself checks those with defaults
        cls.checked = tuple(sorted((KINDS.keys() & known) - cls.defaults.keys()))


# ---- the parameters of a call --------------------------------------------------------------------
# Except for an axis, which depends on the shapes (shape_rules.counted_axis), and for the parameters
# of a view, which its layout checks.


def _count(what: str, value: Any) -> int:
    return positive(value, what)


def _pair(what: str, value: Any) -> tuple[int, ...]:
    found = checked_shape(value, what)
    if len(found) != 2:
        raise ShapeError(what, f"{len(found)} sizes", "give two: (3, 3)")
    return found


def _number(what: str, value: Any) -> Any:
    try:
        float(checks.number(what, value))
    except OverflowError:
        raise NumberRangeError(what, "no float can hold it", "give a smaller number") from None
    return value


def _at_least_0(what: str, value: Any) -> float:
    return float(checks.number(what, _number(what, value), 0, nan=False))


def _chance(what: str, value: Any) -> float:
    chance = float(checks.number(what, value, 0, 1, nan=False))
    if chance == 1:
        raise DomainError(what, f"{value}: nothing stays", "give a number below 1")
    return chance


def _dtype(what: str, value: Any) -> dtypes.DType:
    return dtypes.of(value)


KINDS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("stride_h", "stride_w", "dilation_h", "dilation_w", "groups"), _count),
    "size_h": _count, "size_w": _count, "size": _pair, "scale": _number,
    "eps": _at_least_0, "p": _chance,
    "dtype": _dtype,
}  # fmt: skip


def check_parameters(op: Any) -> None:
    """Raise ArgumentError for a parameter that is unknown or missing, another TutorError for a
    value that the kernel, or the rule of its form, cannot use."""
    params = op.params
    if op.accepts is not None and not op.accepts.issuperset(params):
        wrong = next(n for n in params if n not in op.accepts)
        raise ArgumentError(
            f"{op.name}({wrong}=...)",
            f"there is no parameter {wrong!r}",
            f"its parameters are {', '.join(sorted(op.accepts)) or 'none'}",
        )
    if missing := sorted(op.required - params.keys()):
        raise ArgumentError(
            f"{op.name} without {', '.join(missing)}",
            f"it was given {', '.join(params) or 'no parameters'}",
            f"write apply({op.name!r}, ..., {', '.join(f'{n}=...' for n in missing)})",
        )
    for name in op.checked:
        params[name] = KINDS[name](f"{op.name}({name}=...)", params[name])
