"""Edges: the base class of Op. It has one slot, `inputs`, the operands of the Op.

The C++ extension replaces it by a type that shows Python's cycle collector less of a long graph,
yet lets it find the same cycles: simd_cpp/engine/edges.cpp explains how.
"""

from __future__ import annotations

from typing import Any

from tutor._util import twins


class Edges:
    """The operands of an Op: its edges in the graph."""

    __slots__ = ("inputs",)
    inputs: tuple[Any, ...]


if twins.extension:
    Edges = twins.extension.Edges  # type: ignore[misc]  # its twin in C++
