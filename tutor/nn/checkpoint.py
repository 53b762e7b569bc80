"""Checkpoints: named Tensors in one safetensors file, written whole or not at all.

A file is the length of its header (8 bytes, little-endian), the header (JSON, which says where each
tensor is), then the numbers of all tensors, row-major. The format belongs to no program and no
language, and nothing in such a file is ever run. It is read and written here, without its package,
so that a checkpoint needs only this library and every mistake in a file is explained.

The header's metadata contain the SHA-256 of the whole file, computed with zeros instead of its 64
digits: one changed byte anywhere is noticed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tutor import dtype as dtypes
from tutor._storage import bounds_checks
from tutor._util import files
from tutor._util.typing import DeviceLike
from tutor.backends import devices
from tutor.core.buffer import Buffer
from tutor.errors import DataError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor

# The format's own names for dtypes (huggingface.co/docs/safetensors, "Format").
CODES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8",
    "U16": "uint16", "U32": "uint32", "U64": "uint64", "F16": "float16", "F32": "float32",
    "BF16": "bfloat16", "F64": "float64",
}  # fmt: skip
METADATA = "__metadata__"  # the one name in a header that is not a tensor's

# Two marks of our own among the notes, so that damage to one of them cannot make our file look like
# another program's, which has no marks and is not checked.
FORMAT, CHECKSUM = "tutor.format", "tutor.sha256"
ZEROS = "0" * 64


# ---- writing -------------------------------------------------------------------------------------


def save(path: str | Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    """Write tensors and notes (short texts) to `path`, replacing an old file only when done.

    DataError if the file cannot be written (the old one is then kept), DataError or DTypeError for
    names, notes or values that no such file can hold.
    """
    header = header_of(tensors, notes)
    digits_at = 8 + header.index(ZEROS.encode(), header.index(CHECKSUM.encode()))

    def fill(file: BinaryIO) -> None:
        start = len(header).to_bytes(8, "little") + header
        digest = hashlib.sha256(start)
        file.write(start)
        for t in tensors.values():
            numbers = t.detach().copy().cpu().buf.raw  # of this tensor alone, row-major
            digest.update(numbers)
            file.write(numbers)
        file.seek(digits_at)
        file.write(digest.hexdigest().encode())

    files.write_whole(path, fill)


def header_of(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> bytes:
    """The header with the place of each tensor, and zeros for the checksum."""
    codes = {dtype: code for code, dtype in CODES.items()}
    check_texts("the notes of a checkpoint", notes, (FORMAT, CHECKSUM))
    for text in notes.values():
        check_text("a note of a checkpoint", text)
    check_texts("the tensors of a checkpoint", tensors, (METADATA,))
    header: dict[str, Any] = {METADATA: {FORMAT: "1", CHECKSUM: ZEROS, **notes}}
    end = 0
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise DTypeError(f"to save {name!r}", f"it is a {type(t).__name__}",
                             "give a Tensor; a text goes into the notes")  # fmt: skip
        bounds_checks.fits(t, f"to save {name!r}")
        start, end = end, end + t.numel() * t.dtype.itemsize
        described = {"dtype": codes[t.dtype.name], "shape": t.shape, "data_offsets": (start, end)}
        header[name] = described
    packed = json.dumps(header).encode()
    return packed + b" " * (-len(packed) % 8)  # so that the numbers begin at a multiple of 8


def check_texts(what: str, named: Mapping[str, Any], reserved: tuple[str, ...]) -> None:
    """Refuse names that `load` could not return."""
    if not isinstance(named, Mapping):
        raise DTypeError(what, f"a {type(named).__name__}", "give a dict, from names to values")
    for name in named:
        check_text(f"a name among {what}", name)
        if name in reserved:
            raise DataError(f"{what}, {name!r} among them",
                            "the file has its own use for that name", "choose another")  # fmt: skip


def check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise DTypeError(what, f"{text!r}, a {type(text).__name__}", "give a str, for example "
                         "json.dumps(value)")  # fmt: skip
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(what, f"{text!r}, which has no UTF-8 form: {error.reason}",
                        "leave half surrogate pairs out") from error  # fmt: skip


# ---- reading -------------------------------------------------------------------------------------


def load(
    path: str | Path, checked: bool = False, device: DeviceLike | None = None
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and notes that `save`, or another program, wrote in this format, on that device
    (None: the default device for new tensors).

    DataError for a file that is not a checkpoint, or is damaged; with `checked` also for another
    program's file, which has no checksum of ours.
    """
    asked, place = f"to load the checkpoint {path}", devices.of(device)
    try:
        with files.opened(path) as file:
            payload = file.read()
    except OSError as error:
        raise DataError(asked, error.strerror or str(error),
                        "give the name of a file that training has written") from error  # fmt: skip
    if payload.startswith(b"PK\x03\x04"):
        raise DataError(asked, "it is a zip file, as torch.save writes them",
                        "write tutor.torch.load(path)")  # fmt: skip
    try:
        header, start = read_header(payload)
        notes = read_notes(header.pop(METADATA, {}))
        marks = notes.pop(FORMAT, None), notes.pop(CHECKSUM, None)
        if marks != (None, None):
            verify(payload, marks)
        rows = {name: read_row(name, row) for name, row in header.items()}
        check_cover(rows, len(payload) - start)
        numbers = memoryview(payload)[start:]
        tensors = {name: tensor(numbers, place, *row) for name, row in rows.items()}
    except (DataError, ShapeError) as bad:
        raise DataError(asked, bad.found, "use another copy, or give a file that training has "
                        "written") from bad  # fmt: skip
    ours = any(name.startswith("tutor.") for name in notes)  # then it once had a checksum
    if (checked or ours) and marks == (None, None):
        raise DataError(
            asked, "it has no checksum of tutor's: another program has written it",
            "give a file that tutor.nn.checkpoint.save has written; checkpoint.load reads its "
            "tensors unchecked",
        )  # fmt: skip
    return tensors, notes


def damaged(found: str) -> DataError:
    return DataError("a safetensors file", found, "use another copy")


def read_header(payload: bytes) -> tuple[dict[str, Any], int]:
    """The header as a dict, and the offset of the numbers."""
    if len(payload) < 8:
        raise damaged(f"{len(payload)} bytes, where a safetensors file has at least 8")
    start = 8 + int.from_bytes(payload[:8], "little")
    if start > len(payload):
        raise damaged(f"a header of {start - 8:,} bytes in a file of {len(payload):,}: "
                      "it is no safetensors file, or its end is missing")  # fmt: skip

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            raise damaged("a header that has a name twice")
        return found

    try:
        header = json.loads(payload[8:start].decode(), object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise damaged(f"a header that is no JSON ({error})") from error
    if not isinstance(header, dict):
        raise damaged(f"a header that is a {type(header).__name__}, not names and what they are")
    return header, start


def read_notes(notes: Any) -> dict[str, str]:
    if not isinstance(notes, dict) or not all(isinstance(text, str) for text in notes.values()):
        raise damaged(f"{METADATA} that is no table of texts")
    return notes


def verify(payload: bytes, marks: tuple[str | None, str | None]) -> None:
    """Check that the file is as `save` wrote it, to the bit."""
    version, digest = marks
    if version is None or digest is None or len(digest) != len(ZEROS):
        raise damaged("one of the two marks of a checkpoint of tutor's; the other is damaged")
    if version != "1":
        raise damaged(f"format {version!r}; this version of tutor reads format '1'")
    at = payload.find(digest.encode(), max(payload.find(CHECKSUM.encode()), 0))
    whole = hashlib.sha256(payload[: max(at, 0)])
    whole.update(ZEROS.encode())
    whole.update(memoryview(payload)[at + len(ZEROS) :])
    if at < 0 or whole.hexdigest() != digest:
        raise damaged(f"SHA-256 {whole.hexdigest()}, where its header says {digest}: the file was "
                      "damaged after it was written")  # fmt: skip


Row = tuple[dtypes.DType, tuple[int, ...], int, int]


def read_row(name: str, row: Any) -> Row:
    """The dtype, shape, and start and end of the numbers, from one entry of the header."""
    if not isinstance(row, dict) or row.keys() != {"dtype", "shape", "data_offsets"}:
        raise damaged(f"{name!r} is not described by dtype, shape and data_offsets")
    code, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(code, str) or code not in CODES:
        raise damaged(f"{name!r} has dtype {code!r}; tutor has {', '.join(CODES)}")
    if not (is_sizes(shape, 16) and is_sizes(offsets, 2) and len(offsets) == 2):
        raise damaged(f"{name!r} has no shape and data_offsets that are whole numbers from 0 on")
    dtype, (start, end) = dtypes.of(CODES[code]), offsets
    if end - start != math.prod(shape) * dtype.itemsize:
        raise damaged(f"{name!r}, {code} of shape {tuple(shape)}, in {end - start:,} bytes")
    return dtype, tuple(shape), start, end


def is_sizes(value: Any, most: int) -> bool:
    """Is it a list of at most `most` whole numbers (no bools)?"""
    whole = isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)
    return whole and len(value) <= most


def check_cover(rows: Mapping[str, Row], size: int) -> None:
    """Check that the tensors fill the bytes after the header, one after another without gaps."""
    end = 0
    for name, (_, _, start, stop) in sorted(rows.items(), key=lambda item: item[1][2:]):
        if start != end:
            raise damaged(
                f"{name!r} begins at byte {start:,}, where the one before ends at {end:,}"
            )
        end = stop
    if end != size:
        raise damaged(f"{size:,} bytes of numbers, where the header speaks of {end:,}")


def tensor(
    numbers: memoryview, device: str, dtype: dtypes.DType, shape: tuple[int, ...], start: int,
    end: int,
) -> Tensor:  # fmt: skip
    return Tensor(Buffer.from_memory(numbers[start:end], dtype=dtype, device=device), shape)
