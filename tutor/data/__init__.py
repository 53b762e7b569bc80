"""Data sets, and the batches a network is trained on.

>>> data = load("digits")  # or "mnist", or "auto"
>>> for x, y in batches(data.train_images, data.train_labels, size=64):
...     ...
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from tutor.core.tensor import Tensor
from tutor.data import digits, mnist
from tutor.data.loader import batches
from tutor.errors import DataError

__all__ = ["DataSet", "batches", "digits", "load", "mnist"]


class DataSet(NamedTuple):
    """Images uint8 (n, 28, 28) and labels uint8 (n,), to learn from and to be tested on."""

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    source: str  # where they came from, in words


SOURCES = {
    "mnist": (mnist.load, "MNIST, 60,000 + 10,000 digits written by hand"),
    "digits": (digits.load, "digits, 10,000 + 2,000 drawn by tutor itself"),
}


def load(name: str = "auto") -> DataSet:
    """The data set "mnist" or "digits"; "auto" is MNIST, or digits (and a line that says so) where
    MNIST cannot be had. DataError for a damaged or missing file, or another name.
    """
    if name == "auto":
        try:
            return load("mnist")
        except DataError as error:
            print(
                f"tutor: taking digits that tutor draws, without MNIST: {error.found}",
                file=sys.stderr,
            )
            return load("digits")
    if name not in SOURCES:
        known = ", ".join((*SOURCES, "auto"))
        raise DataError(f"the data set {name!r}", f"there are {known}", "use one of those")
    load_split, source = SOURCES[name]
    return DataSet(*load_split("train"), *load_split("test"), source)
