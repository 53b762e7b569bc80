"""Edges: what an Op is built on. It has `inputs`, the operands that it was made of.

The C++ extension brings a type that shows Python's collector of cycles less of a long graph, and
finds the same cycles: simd_cpp/engine/edges.cpp says how. Without it this is a plain slot.
"""

from __future__ import annotations

from typing import Any

from tutor._storage import memory


class Edges:
    """What an Op was made of."""

    __slots__ = ("inputs",)
    inputs: tuple[Any, ...]


if memory._simd:
    Edges = memory._simd.Edges  # type: ignore[misc]  # its twin takes its place
