"""Tensors as text that a person can read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tutor.core.op.edges import is_lost

EDGE = 3  # items shown at either end of a long axis
LONG = 1000  # a tensor of more elements is shown by its edges
WIDTH = 80  # characters of numbers in a line


def summarize(tensor: Any, edges_only: bool) -> Any:
    """The numbers as nested lists; with edges_only, only the edges of long axes around "..."."""
    if not tensor.shape:
        return tensor.item()
    size = tensor.shape[0]
    if edges_only and size > 2 * EDGE:
        ends = [*range(EDGE), *range(size - EDGE, size)]
        shown = [summarize(tensor[i], edges_only) for i in ends]
        return [*shown[:EDGE], "...", *shown[EDGE:]]
    return [summarize(row, edges_only) for row in tensor] if tensor.ndim > 1 else tensor.tolist()


def _leaves(nested: Any) -> list[Any]:
    if not isinstance(nested, list):
        return [] if nested == "..." else [nested]
    return [leaf for item in nested for leaf in _leaves(item)]


def _formatter(numbers: list[Any]) -> Any:
    """How to write each number: with few digits, and in one format for all."""
    if not numbers or not isinstance(numbers[0], float):
        return str
    finite = [abs(x) for x in numbers if math.isfinite(x) and x != 0]
    if finite and (max(finite) >= 1e5 or min(finite) < 1e-4):
        return lambda x: f"{x:.4e}" if math.isfinite(x) else str(x)
    whole = all(x == int(x) for x in numbers if math.isfinite(x))

    def plain(x: float) -> str:
        return str(x) if not math.isfinite(x) else f"{x:.0f}." if whole else f"{x:.4f}"

    return plain


def _lines(part: Any, indent: int, ndim: int, width: int, write: Callable[[Any], str]) -> str:
    """The text of nested lists: row under row, and an empty line between matrices."""
    if not isinstance(part, list):
        return part if part == "..." else write(part).rjust(width)
    margin = " " * (len("Tensor([") + indent)
    if not part or not isinstance(part[0], list):
        items, per_line = (
            [_lines(x, indent, ndim, width, write) for x in part],
            WIDTH // (width + 2),
        )
        per_line = max(1, per_line)
        rows = [items[i : i + per_line] for i in range(0, len(items), per_line)]
        return "[" + (",\n" + margin).join(map(", ".join, rows)) + "]"
    gap = ",\n" + "\n" * (ndim - indent - 1 > 1) + margin
    return "[" + gap.join(_lines(x, indent + 1, ndim, width, write) for x in part) + "]"


def format_tensor(tensor: Any, of: Any) -> str:
    """`Tensor([[1., 2.],\\n        [3., 4.]], dtype=..., requires_grad=True)`; `tensor` has the
    numbers of `of`, perhaps as a copy on the host."""
    if is_lost(of):
        notes = [f"numbers that nobody has kept, shape={of.shape}"]
    else:
        nested = summarize(tensor, tensor.numel() > LONG)
        write = _formatter(_leaves(nested))
        width = max((len(write(x)) for x in _leaves(nested)), default=0)
        notes = [_lines(nested, 0, tensor.ndim, width, write)]
    if 0 in tensor.shape and len(tensor.shape) > 1:
        notes.append(f"shape={tensor.shape}")
    if tensor.dtype.name not in ("float32", "int64", "bool"):
        notes.append(f"dtype={tensor.dtype}")
    if of.device != "cpu":
        notes.append(f"device={of.device!r}")
    if of.op is not None:
        notes.append(f"op={type(of.op).__name__}")
    elif of.requires_grad:
        notes.append("requires_grad=True")
    return f"Tensor({', '.join(notes)})"
