"""Note: what a rank says of a collective before it takes part in it.

    >>> note = Note("all_reduce", (2, 3), "float32", "sum", "train.py", 12, 7)
    >>> print(note)
    all_reduce #7 (sum) of shape (2, 3), float32, at train.py:12
    >>> Note.read(note.written()) == note
    True

Ranks compare notes first. So a rank that asks for something else is found before a byte of a Tensor
has moved, and each of them can say what the other has asked for, and in which line.
"""

from __future__ import annotations

import json
from typing import NamedTuple

LONGEST = 2000  # bytes of a note, written: every transport has room for that


class Note(NamedTuple):
    call: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    how: str = ""  # what else the ranks must agree on: "sum", "root 0"
    file: str = "?"
    line: int = 0
    number: int = 0  # of the collective: how many this rank has called, with this one

    @property
    def agreed(self) -> tuple[object, ...]:
        """What must be the same on all ranks: all but the place."""
        return self.call, self.shape, self.dtype, self.how, self.number

    def written(self) -> bytes:
        """The note as bytes. Of a very long path, its end says where it is."""
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
