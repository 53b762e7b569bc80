"""Kinds of values: which of them can be compared, and how.

A guard may call a value unchanged only if everything that code can read from it is compared. So
this is a list of the known kinds; anything else cannot be compared.
"""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import functools
import operator
import re
import struct
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from tutor.core.buffer import Buffer
from tutor.programs.ran import LOCKS, is_ours, module_of

PLAIN = (bool, int, float, complex, str, bytes, type(None))
LARGEST = 4096  # bytes of an array that a guard compares
types_of_names = collections.namedtuple("types_of_names", "field")  # its field is of a C type
# Nothing in them changes; calls of built-in functions are observed instead (ran.py).
FIXED = frozenset([
    *PLAIN, range, slice, type(...), type(NotImplemented), types.CodeType, types.GenericAlias,
    types.UnionType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    operator.itemgetter, re.Pattern, decimal.Decimal, datetime.date, datetime.time,
    datetime.timedelta, datetime.tzinfo, type(sys.flags), type(vars(types_of_names)["field"]),
    *LOCKS,
])  # fmt: skip
SEQUENCES: tuple[Any, ...] = (list, tuple, collections.deque, set, frozenset)
NAMELESS = (  # objects whose contents are not reached by attribute names
    Buffer, functools.partial, types.MethodType, types.BuiltinFunctionType,
    types.MethodWrapperType, property, staticmethod, classmethod,
)  # fmt: skip
CONTAINERS = (*SEQUENCES, dict, types.MappingProxyType)
BYTES = (bytearray, array.array)
BASES = (
    collections.OrderedDict, collections.defaultdict, dict, list, tuple, set, frozenset,
    collections.deque, bytearray, array.array, types.MappingProxyType, int, float, complex, str,
    bytes, object,
)  # fmt: skip
# Special methods that are called only to create, print and store an object.
NOT_CALLED = {
    "__annotations__", "__copy__", "__deepcopy__", "__del__", "__dict__", "__doc__",
    "__getstate__", "__init__", "__init_subclass__", "__module__", "__new__", "__reduce__",
    "__repr__", "__setstate__", "__slots__", "__str__", "__weakref__",
}  # fmt: skip


def is_plain(value: Any) -> bool:
    """Is its type, or a base class of that, immutable (in FIXED)?"""
    return not FIXED.isdisjoint(type(value).__mro__)


def exact(value: Any) -> Any:
    """A key that is equal only for values that are the same to the last bit: -0.0 is not 0.0, and
    1, True and 1.0 all differ."""
    kind = type(value)
    if kind is float:
        return value if value and value == value else struct.pack("d", value)
    if kind is complex:
        return exact(value.real), exact(value.imag)
    if kind is tuple:
        return tuple([(type(v), exact(v)) for v in value])
    return value


def is_same(now: Any, before: Any) -> bool:
    """Are they the same object, or equal numbers or strings?"""
    return now is before or (
        type(now) is type(before) and type(now) in PLAIN and bool(exact(now) == exact(before))
    )


def contents(value: Any) -> tuple[Any, ...] | None:
    """The items of a container, in order; for a mapping, keys and values alternate. None if the
    value has no contents, or too many to compare at each call."""
    if value is sys.modules:
        return None
    if isinstance(value, dict):
        keys = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
        found = [x for item in keys.items(value) for x in item]
        extra = [value.default_factory] if isinstance(value, collections.defaultdict) else []
        return (*found, *extra)
    if isinstance(value, types.MappingProxyType):
        return tuple([x for item in value.items() for x in item])
    for kind in SEQUENCES:
        if isinstance(value, kind):
            most = (value.maxlen,) if isinstance(value, collections.deque) else ()
            return (*kind.__iter__(value), *most)
    if isinstance(value, BYTES):
        raw = memoryview(value)
        return (raw.format, raw.tobytes()) if raw.nbytes <= LARGEST else None
    if is_array(value) and value.nbytes <= LARGEST and value.dtype.kind != "O":
        return (str(value.dtype), repr((value.shape, value.strides)), value.tobytes())
    return None


def alike(now: tuple[Any, ...] | None, before: tuple[Any, ...]) -> bool:
    """The same things in the same order?"""
    return now is not None and len(now) == len(before) and all(map(is_same, now, before))


def is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def members(value: Any) -> Any:
    """The parts of a list, a tuple, a dict, a named tuple or a dataclass, as a list, tuple or dict.
    None for any other object, which may have more parts."""
    kind = type(value)
    if kind in (list, tuple, dict):
        return value
    if isinstance(value, tuple):
        own = getattr(value, "__dict__", None) or hidden(kind) or not hasattr(kind, "_fields")
        return None if own else tuple.__getitem__(value, slice(None))
    if not is_dataclass(kind) or hidden(kind):
        return None
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    slots = any(True for base in kind.__mro__ for _ in slots_of(base))
    fields = vars(kind)["__dataclass_fields__"]
    return own if not slots and kind.__base__ is object and own.keys() == fields.keys() else None


def is_dataclass(kind: type) -> bool:
    """Is the class itself a dataclass, not just a base of it? (Importing `dataclasses` is slow.)"""
    return "__dataclass_fields__" in vars(kind)


def hidden(kind: type) -> bool:
    """Do objects of this class have a part written in C, which is unknown here?"""
    base = next(b for b in BASES if issubclass(kind, b))
    slots = sum(len(list(slots_of(k))) for k in kind.__mro__ if k not in base.__mro__)
    for name in ("__dictoffset__", "__weakrefoffset__"):
        slots += getattr(kind, name) > 0 and getattr(base, name) <= 0
    return kind.__basicsize__ > base.__basicsize__ + slots * struct.calcsize("P")


def slots_of(kind: type) -> Iterator[str]:
    """The names of the attributes that a class stores in slots."""
    for name, member in vars(kind).items():
        if isinstance(member, types.MemberDescriptorType) and not name.startswith("__weak"):
            yield name


def why_unknown(value: Any) -> str | None:
    """Why such a value cannot be checked for changes; None if it can."""
    kind = type(value)
    if value is sys.modules:
        return "is the table of all modules"
    if is_plain(value) or isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return None
    if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType, functools.partial)):
        return None
    if isinstance(value, (property, staticmethod, classmethod, types.CellType, types.MethodType)):
        return None
    if is_ours(kind.__module__):
        return None
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ufunc, numpy.generic, numpy.dtype)):
        return None
    if kind.__module__ == "numpy" and callable(value):
        return None
    if (isinstance(value, BYTES) or is_array(value)) and contents(value) is None:
        return f"has more than {LARGEST} bytes, too many to be compared at each call"
    if not is_array(value) and hidden(kind):
        return f"is a {kind.__qualname__}, whose content cannot be compared"
    return None


def inner(value: Any, path: str) -> Iterable[tuple[Any, str]]:
    """The contents, with paths, of a container whose items have no Place of their own."""
    if isinstance(value, (dict, types.MappingProxyType)):
        found = [(v, f"{path}[{k!r:.60}]") for k, v in value.items()]
        return [*found, (getattr(value, "default_factory", None), path)]
    return [(v, f"{path}[{i}]") for i, v in enumerate(contents(value) or ())]


def functions_of(member: Any) -> list[types.FunctionType]:
    """The functions behind a class attribute."""
    inside = [getattr(member, name, None) for name in ("fget", "fset", "fdel", "__func__", "func")
              if isinstance(member, (property, staticmethod, classmethod, functools.cached_property,
                                     functools.partialmethod))]  # fmt: skip
    return [f for f in (member, *inside) if isinstance(f, types.FunctionType)]


def is_trusted(value: Any, trusted: bool) -> bool:
    """Is the content of `value` tutor's own, so that tutor itself reports its use?"""
    if isinstance(value, CONTAINERS):
        return trusted
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        return is_ours(module_of(value.__globals__))
    kind = value if isinstance(value, type) else type(value)
    return is_ours(kind.__module__)
