"""Checkpoints: named Tensors in one safetensors file, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tutor import border
from tutor import dtype as dtypes
from tutor.core.buffer import Buffer
from tutor.core.tensor import Tensor
from tutor.errors import DataError

# The format's own names for dtypes (huggingface.co/docs/safetensors, "Format").
CODES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8",
    "U16": "uint16", "U32": "uint32", "U64": "uint64", "F16": "float16", "F32": "float32",
    "BF16": "bfloat16", "F64": "float64",
}  # fmt: skip


def save(path: str | Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    """Write tensors and notes (short texts) to `path`, replacing a file there only when done.

    A file is the length of its header (8 bytes, little-endian), the header (JSON, saying what
    stands where), then the numbers of all tensors, row-major. It is written here, because bfloat16
    has no NumPy array that could be handed to the package.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    codes = {dtype: code for code, dtype in CODES.items()}
    header: dict[str, Any] = {"__metadata__": dict(notes)}
    end = 0
    for name, t in tensors.items():
        border.check(t, f"to save {name!r}")
        start, end = end, end + t.numel() * t.dtype.itemsize
        described = {"dtype": codes[t.dtype.name], "shape": t.shape, "data_offsets": (start, end)}
        header[name] = described
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers begin at a multiple of 8
    with open(draft, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for t in tensors.values():
            file.write(t.detach().copy().buf.raw)
    os.replace(draft, path)


def load(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and notes that `save` wrote. DataError for a file that is none, or is damaged."""
    from safetensors import SafetensorError, deserialize

    try:
        payload = Path(path).read_bytes()
        rows = deserialize(payload)
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"to load the checkpoint {path}", str(error), "give a file that training has written"
        ) from error
    tensors = {}
    for name, row in rows:
        buf = Buffer.from_memory(bytes(row["data"]), dtype=dtypes.of(CODES[row["dtype"]]))
        tensors[name] = Tensor(buf, tuple(row["shape"]))
    # A file starts with the length of its header, then the header itself, as JSON.
    length = int.from_bytes(payload[:8], "little")
    return tensors, json.loads(payload[8 : 8 + length]).get("__metadata__", {})
