"""Mentions: what some code reads by name, told from its bytecode.

`self.model.layers` is a chain: a root, which is a global, a variable of a function around, or a
local one, and attributes. Of a chain that begins at something known each attribute is an attribute
of one object; of any other it may be that of any object.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import NamedTuple

GLOBAL, AROUND, LOCAL = "global", "around", "local"
_ROOTS = {"LOAD_GLOBAL": GLOBAL, "LOAD_NAME": GLOBAL, "LOAD_DEREF": AROUND,
          "LOAD_CLASSDEREF": AROUND}  # fmt: skip
_BETWEEN = ("PUSH_NULL", "CACHE", "EXTENDED_ARG", "NOP")  # say nothing about what is on the stack
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR")


class Chain(NamedTuple):
    """`name.attribute.attribute`; of what is no name, a call's result, say, the name is ""."""

    kind: str
    name: str
    attributes: tuple[str, ...]


@functools.cache
def chains(code: types.CodeType) -> tuple[Chain, ...]:
    """All chains in some code, and in functions that it defines."""
    return tuple(dict.fromkeys(_chains(code)))


def _chains(code: types.CodeType) -> Iterator[Chain]:
    kind, name = LOCAL, ""
    attributes: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if step.opname in _BETWEEN:
            continue
        if step.opname in _ATTRIBUTES:
            attributes = (*attributes, str(step.argval))
            continue
        if name or attributes:
            yield Chain(kind, name, attributes)
        kind, name, attributes = LOCAL, "", ()
        if step.opname in _ROOTS:
            kind, name = _ROOTS[step.opname], str(step.argval)
        elif "LOAD_FAST" in step.opname:  # two of them at once, perhaps, or one that is set before
            name = step.argval[-1] if isinstance(step.argval, tuple) else str(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _chains(constant)
