"""Note: a rank's description of a collective, sent before it takes part.

    >>> note = Note("all_reduce", (2, 3), "float32", "sum", "train.py", 12, 7)
    >>> print(note)
    all_reduce #7 (sum) of shape (2, 3), float32, at train.py:12
    >>> Note.read(note.written()) == note
    True

Ranks compare notes first. So a rank that makes a different call is detected before a byte of a
Tensor moves, and every rank can report the other's call and its line.
"""

from __future__ import annotations

import json
from typing import NamedTuple

LONGEST = 2000  # bytes of an encoded note: every transport has room for this


class Note(NamedTuple):
    call: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    how: str = ""  # other settings that must agree: "sum", "root 0"
    file: str = "?"
    line: int = 0
    number: int = 0  # how many collectives this rank has called, including this one

    @property
    def agreed(self) -> tuple[object, ...]:
        """The fields that must be equal on all ranks: all except the place."""
        return self.call, self.shape, self.dtype, self.how, self.number

    def written(self) -> bytes:
        """The note as bytes. A very long path is cut to its end."""
        text = json.dumps(self._replace(file=self.file[-400:])).encode()
        return text if len(text) <= LONGEST else json.dumps(self._replace(file="?")).encode()

    @classmethod
    def read(cls, text: bytes) -> Note:
        call, shape, *rest = json.loads(text)
        return cls(call, None if shape is None else tuple(shape), *rest)

    def __str__(self) -> str:
        how = f" ({self.how})" if self.how else ""
        what = "" if self.shape is None else f" of shape {self.shape}, {self.dtype}"
        return f"{self.call} #{self.number}{how}{what}, at {self.file}:{self.line}"
