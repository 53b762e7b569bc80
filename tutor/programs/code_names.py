"""Mentions: the names that code reads, found in its bytecode.

`self.model.layers` is a chain: a root and attributes. The root is a global, a variable of an
enclosing function, a module imported there, or a local variable. If the root is known, each
attribute belongs to one known object; otherwise it may belong to any object.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import NamedTuple

GLOBAL, AROUND, LOCAL, MODULE = "global", "around", "local", "module"
# Functions that read attributes whose names are strings.
BY_TEXT = {
    "getattr", "setattr", "hasattr", "delattr", "vars", "__dict__", "__getattribute__",
    "__setattr__", "attrgetter", "methodcaller", "get_parameters", "parameters", "state_dict",
}  # fmt: skip
_ROOTS = {
    **dict.fromkeys(("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"), GLOBAL),
    **dict.fromkeys(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"), AROUND),
    **dict.fromkeys(("STORE_DEREF", "DELETE_DEREF"), AROUND),
}
# Instructions that are irrelevant to a chain, or leave the same value on top of the stack.
_BETWEEN = ("PUSH_NULL", "CACHE", "EXTENDED_ARG", "NOP", "COPY", "NOT_TAKEN")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR")


class NameChain(NamedTuple):
    """`name.attribute.attribute`; the name is "" if the root has none, such as a call's result. A
    module's name has a dot for each level that a relative import goes up."""

    kind: str
    name: str
    attributes: tuple[str, ...]


class Mentions(NamedTuple):
    """The names in some code: attributes of its first argument, all other chains, and the functions
    that read attributes by a string."""

    mine: tuple[tuple[str, ...], ...]
    others: tuple[NameChain, ...]
    by_text: frozenset[str]


@functools.cache
def mentions(code: types.CodeType, bound: bool) -> Mentions:
    """The Mentions of some code. `bound`: its first argument is known, as a method's is."""
    first = code.co_varnames[0] if code.co_argcount and bound else None
    mine = tuple([c.attributes for c in chains(code) if c.name == first and c.kind != GLOBAL])
    others = tuple([c for c in chains(code) if c.name != first or c.kind == GLOBAL])
    names = {name for c in chains(code) if c.kind != AROUND for name in (c.name, *c.attributes)}
    return Mentions(mine, others, frozenset(BY_TEXT & names))


@functools.cache
def chains(code: types.CodeType) -> tuple[NameChain, ...]:
    """All chains in some code, and in functions that it defines."""
    return tuple(dict.fromkeys(_chains(code)))


def _chains(code: types.CodeType) -> Iterator[NameChain]:
    kind, name, module, levels = LOCAL, "", "", 0
    attributes: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if step.opname in _BETWEEN:
            continue
        if step.opname in _ATTRIBUTES:
            attributes = (*attributes, str(step.argval))
            continue
        if name or attributes:
            yield NameChain(kind, name, attributes)
        kind, name, attributes = LOCAL, "", ()
        if step.opname in _ROOTS:
            kind, name = _ROOTS[step.opname], str(step.argval)
        elif step.opname == "IMPORT_NAME":
            module = "." * levels + str(step.argval)
            kind, name = MODULE, module
        elif step.opname == "IMPORT_FROM":
            yield NameChain(MODULE, module, (str(step.argval),))
        elif "LOAD_FAST" in step.opname:  # may load two at once, or store one first
            name = step.argval[-1] if isinstance(step.argval, tuple) else str(step.argval)
        elif step.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and isinstance(step.argval, int):
            levels = int(step.argval)  # an import pushes its level before the names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _chains(constant)


def codes(code: types.CodeType) -> tuple[types.CodeType, ...]:
    """This code, and the code of all functions and classes that it defines."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return (code, *[c for part in inner for c in codes(part)])
