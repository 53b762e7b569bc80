"""Index keys, the contents of square brackets: `t[1, ::2, None, ..., [0, 2]]`.

The key is one part, or a tuple of parts. Ints, slices, None and Ellipsis are basic: they only
change the layout (layout.py). Everything else is an array of positions or bools (selection.py):
lists, ranges, arrays, Tensors, and also a tuple inside the key.
"""

from __future__ import annotations

import operator
from array import array
from types import EllipsisType
from typing import Any

from tutor.errors import OutOfRangeError

ARRAYS = (bool, list, tuple, range, array, memoryview)  # and any object with a shape


def is_basic(key: Any) -> bool:
    """False if the key contains an array or list of positions or bools."""
    for k in key if isinstance(key, tuple) else (key,):
        kind = type(k)
        if kind is int or kind is slice:
            continue
        if isinstance(k, ARRAYS) or getattr(k, "shape", ()) != ():
            return False
        if "bool" in str(getattr(k, "dtype", "")):  # a single one, in an array or tensor
            return False
    return True


def checked_key(key: Any) -> tuple[int | slice | EllipsisType | None, ...]:
    """`key` for `slice_layout`: each part an int, a slice of ints, None or Ellipsis."""
    parts: list[int | slice | EllipsisType | None] = []
    for k in key if isinstance(key, tuple) else (key,):
        if isinstance(k, slice):
            start, stop, step = (
                n if n is None else _whole(n, k) for n in (k.start, k.stop, k.step)
            )
            if step == 0:
                raise OutOfRangeError(
                    f"index {key_text((k,))}", "a step of 0 never moves", "use another step"
                )
            parts.append(slice(start, stop, step))
        elif k is None or k is Ellipsis:
            parts.append(k)
        else:
            parts.append(_whole(k, k))
    return tuple(parts)


def _whole(number: Any, part: Any) -> int:
    """A number in a key as an int; OutOfRangeError if it is not an integer."""
    try:
        if isinstance(number, bool) or getattr(number, "shape", ()) != ():
            raise TypeError
        return operator.index(number)
    except TypeError:
        raise OutOfRangeError(
            f"index {key_text((part,)) if isinstance(part, slice) else f'{part!r:.60}'}",
            f"{type(number).__name__} is no position",
            "use ints, slices, None, '...', or arrays of ints or bools",
        ) from None


def key_text(key: tuple[Any, ...]) -> str:
    """A key as it was typed: `[1:3, ...]`."""

    def part(k: Any) -> str:
        if not isinstance(k, slice):
            return "..." if k is Ellipsis else repr(k)
        ends = [("" if n is None else str(n)) for n in (k.start, k.stop, k.step)]
        return ":".join(ends if k.step is not None else ends[:2])

    return f"[{', '.join(part(k) for k in key)}]"
