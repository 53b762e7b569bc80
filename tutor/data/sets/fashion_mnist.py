"""Fashion-MNIST: 70,000 photographs of clothes (Xiao, Rasul & Vollgraf 2017), in MNIST's format.

It is as large as MNIST, but harder: a network that reads 98 % of the digits classifies 88 % of
these. Its four files have the same names as MNIST's, so they have a folder of their own:
`fashion-mnist` in TUTOR_DATA or in the cache (`fetch.py`). They are not downloaded.
"""

from __future__ import annotations

import functools
import hashlib

from tutor._util.typing import DeviceLike
from tutor.backends import devices
from tutor.core.buffer import Buffer
from tutor.data.fetch import File, fetch, wrong
from tutor.data.sets import mnist
from tutor.dtype import uint8
from tutor.errors import DataError
from tutor.methods.tensor import Tensor

CLASSES = ("T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
           "bag", "ankle boot")  # fmt: skip
FOLDERS = ("fashion_mnist", "fashion", "FashionMNIST/raw")  # in addition to fashion-mnist
INSTEAD = ", or take tutor.data.load('digits'), which needs no files"


def load(
    split: str, limit: int | None = None, *, device: DeviceLike | None = None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The split "train" or "test", or its first `limit` pictures: images uint8 (n, 28, 28), and
    labels uint8 (n,), indices into CLASSES. DataError for damaged or missing files."""
    if split not in mnist.FILES:
        raise DataError(
            f"Fashion-MNIST {split!r}", "no such split", f"use one of {', '.join(mnist.FILES)}"
        )
    images, labels = map(read, mnist.FILES[split], mnist.SHAPES[split])
    there = devices.of(device)
    return images[:limit].to(there), labels[:limit].to(there)


def read(digits: File, shape: tuple[int, ...]) -> Tensor:
    """The file that corresponds to one of MNIST's."""
    file = File("fashion-mnist", digits.name, digits.size, "", (), digits.aliases, INSTEAD, FOLDERS)
    numbers = fetch(file, functools.partial(numbers_of, digits=digits, shape=shape))
    return Tensor(Buffer.from_memory(numbers, dtype=uint8), shape)


def numbers_of(payload: bytes, digits: File, shape: tuple[int, ...]) -> memoryview:
    """The numbers of the IDX file. DataError if it is MNIST's own, of the same name and size."""
    numbers = mnist.read_idx(payload, shape)
    if hashlib.sha256(payload).hexdigest() == digits.sha256:
        raise wrong(digits, "the file of MNIST, digits, in the folder of Fashion-MNIST")
    return numbers
