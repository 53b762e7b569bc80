"""MNIST: 70,000 handwritten digits (LeCun, Cortes & Burges 1998), the classic first data set.

>>> images, labels = load("test")  # doctest: +SKIP
>>> images.shape, labels.shape  # doctest: +SKIP
((10000, 28, 28), (10000,))

`fetch.py` documents where the files are looked for; this module specifies their contents.
"""

from __future__ import annotations

import functools
import math
import struct

from tutor._util.typing import DeviceLike
from tutor.backends import devices
from tutor.core.buffer import Buffer
from tutor.data.fetch import File, fetch
from tutor.dtype import uint8
from tutor.errors import DataError
from tutor.methods.tensor import Tensor

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://raw.githubusercontent.com/fgnt/mnist/master/",
)
UNSIGNED_BYTES = 0x08  # IDX's code for the type of the numbers
SHAPES = {"train": ((60_000, 28, 28), (60_000,)), "test": ((10_000, 28, 28), (10_000,))}


def describe(name: str, size: int, sha256: str) -> File:
    """A row of the table below; some sites write a dot before idx."""
    instead = ", or take tutor.data.load('digits'), which needs no files"
    return File("mnist", name, size, sha256, MIRRORS, (name.replace("-idx", ".idx"),), instead)


FILES = {
    "train": (
        describe(
            "train-images-idx3-ubyte",
            47_040_016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        describe(
            "train-labels-idx1-ubyte",
            60_008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
    ),
    "test": (
        describe(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        describe(
            "t10k-labels-idx1-ubyte",
            10_008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
}


def load(
    split: str, limit: int | None = None, *, device: DeviceLike | None = None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The split "train" or "test", or its first `limit` digits: images uint8 (n, 28, 28), from 0
    for paper to 255 for ink, and labels uint8 (n,). DataError for damaged or missing files.
    """
    if split not in FILES:
        raise DataError(f"MNIST {split!r}", "no such split", f"use one of {', '.join(FILES)}")
    images, labels = map(read, FILES[split], SHAPES[split])
    there = devices.of(device)
    return images[:limit].to(there), labels[:limit].to(there)


def read(file: File, shape: tuple[int, ...]) -> Tensor:
    numbers = fetch(file, functools.partial(read_idx, shape=shape))
    return Tensor(Buffer.from_memory(numbers, dtype=uint8), shape)


def read_idx(payload: bytes, shape: tuple[int, ...]) -> memoryview:
    """The numbers of an IDX file, which must be unsigned bytes of that shape.

    IDX is 0, 0, the type of the numbers, the number of axes; the size of each axis, 32 bits
    big-endian; the numbers, row-major. DataError for anything else.
    """
    header = struct.Struct(f">{1 + len(shape)}I")
    if len(payload) < header.size:
        raise bad_idx(f"{len(payload)} bytes, fewer than the {header.size} of an IDX header")
    magic, *sizes = header.unpack_from(payload)
    expected = UNSIGNED_BYTES << 8 | len(shape)
    if magic != expected:
        raise bad_idx(f"it starts with {magic:#010x}, where {expected:#010x} was expected")
    if tuple(sizes) != shape:
        raise bad_idx(f"its header says shape {tuple(sizes)}, where {shape} was expected")
    numbers = memoryview(payload)[header.size :]
    if len(numbers) != math.prod(shape):
        raise bad_idx(f"{len(numbers)} numbers after a header that says {math.prod(shape)}")
    return numbers


def bad_idx(found: str) -> DataError:
    return DataError("an IDX file of unsigned bytes", found, "use a good copy of the file")
