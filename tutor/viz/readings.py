"""The same bytes, interpreted as numbers of different types."""

from __future__ import annotations

import math
import struct
import sys
from typing import Any

from tutor import dtype as dtypes
from tutor._storage import bits
from tutor._util.typing import DTypeLike, HasBuffer
from tutor.errors import DomainError, DTypeError
from tutor.methods.tensor import Tensor
from tutor.viz.svg import Picture, fit, rect, text, tint, width_of

BYTE, LINE, STRIP = 42, 16, 34  # width of a byte, bytes in one line, height of a reading
MOST = 64  # bytes; the rest is left out
MARGIN = 22


def _reader(name: Any) -> tuple[int, Any]:
    """(bytes per item, reader of an item) for a dtype or a letter of `struct`."""
    if isinstance(name, str) and len(name.lstrip("@=<>!")) == 1:
        try:
            size = struct.calcsize(name)
        except struct.error:
            size = 0
        if not size:
            raise DomainError(f"to read bytes as {name!r}", "struct knows no such number",
                              'use a dtype such as "float32", or one of bBhHiIlLqQefd')  # fmt: skip
        return size, lambda raw: struct.unpack(name, raw)[0]
    dtype = dtypes.of(name)
    return dtype.itemsize, lambda raw: bits.unpack(raw, dtype)[0]


def _words(value: Any, size: int) -> str:
    """An item as text; floats with as many digits as their size can represent."""
    if isinstance(value, float) and math.isfinite(value):
        digits = {2: 4, 4: 8}.get(size, 17)
        shown = min(f"{value:.{digits}g}", repr(value), key=len)
        return shown if set(shown) & set(".e") else shown + ".0"
    return repr(value.decode("latin-1")) if isinstance(value, bytes) else str(value)


def read_bytes(data: Tensor | HasBuffer, *formats: DTypeLike) -> Picture:
    """The bytes of a Buffer (or any object with the buffer protocol) in hex, and below them their
    values in each of `formats`: names of dtypes ("float64") or letters of struct ("d").

    The default format is the Buffer's own dtype, or uint8. Raises DTypeError for an object without
    bytes, DomainError for an unknown format.

        >>> read_bytes(b"\\x00\\x00\\x80?", "float32", "uint8")
        <Picture '4 bytes read as float32, uint8'>
    """
    memory: Any = getattr(data, "buf", data)
    try:
        view = memoryview(memory)
        raw = view.tobytes()
    except TypeError:
        raise DTypeError(f"the bytes of {type(memory).__name__}", "it has no memory to be read",
                         "give bytes, a Buffer, a Tensor or an array") from None  # fmt: skip
    own = getattr(getattr(memory, "dtype", None), "name", None)
    names = list(formats or ([own] if own else ["uint8"]))
    labels = [str(getattr(name, "name", name)) for name in names]
    readers = [_reader(name) for name in names]
    shown = raw[:MOST]
    left = MARGIN + max(width_of(label, 13, mono=True) for label in [*labels, "bytes"]) + 14
    parts = [text(MARGIN, 34, f"{len(raw)} bytes", 14, weight=600)]
    block, lines = 62 + STRIP * len(names) + 14, max(1, -(-len(shown) // LINE))
    for n in range(lines):
        y = 52 + n * block
        parts.append(text(MARGIN, y + 27, "bytes", 13, "soft", mono=True))
        for k, byte in enumerate(shown[n * LINE : (n + 1) * LINE]):
            x = left + k * BYTE
            parts.append(rect(x + 1.5, y, BYTE - 3, 44, "wash"))
            parts.append(text(x + BYTE / 2, y + 20, f"{byte:02x}", 14, anchor="middle", mono=True))
            parts.append(text(x + BYTE / 2, y + 36, n * LINE + k, 11, "soft", "middle", mono=True))
        for row, (label, (size, read)) in enumerate(zip(labels, readers, strict=True)):
            top = y + 50 + row * STRIP
            parts.append(text(MARGIN, top + 20, label, 13, mono=True))
            for start in range(n * LINE, min((n + 1) * LINE, len(shown)), size):
                item = raw[start : start + size]
                x, wide = left + (start - n * LINE) * BYTE, len(item) * BYTE
                whole = len(item) == size
                words = _words(read(item), size) if whole else f"{len(item)} left over"
                small = 13 if width_of(words, 13, mono=True) < wide - 6 else 11
                edge = {} if whole else {"stroke": "line", "stroke_dasharray": "4 3"}
                parts.append(rect(x + 1.5, top, wide - 3, STRIP - 5, tint(row) if whole else "wash",
                                  **edge))  # fmt: skip
                words, ink = fit(words, wide - 2, small, mono=True), "ink" if whole else "soft"
                parts.append(text(x + wide / 2, top + 19, words, small, ink, "middle", mono=True))
    y = 52 + lines * block + 4
    first = "lowest" if sys.byteorder == "little" else "highest"
    notes = [f"This machine is {sys.byteorder}-endian: the {first} byte of a number comes first."]
    if len(raw) > MOST:
        notes.append(f"The other {len(raw) - MOST} bytes are left out.")
    for i, note in enumerate(notes):
        parts.append(text(MARGIN, y + 20 * i, note, 12, "soft"))
    widths = [left + BYTE * max(1, min(len(shown), LINE))]
    widths += [MARGIN + width_of(note, 12) for note in notes]
    wide, tall = math.ceil(max(widths) + MARGIN), math.ceil(y + 20 * len(notes) + 2)
    return Picture("".join(parts), wide, tall, f"{len(raw)} bytes read as {', '.join(labels)}")
