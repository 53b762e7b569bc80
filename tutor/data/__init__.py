"""Data sets, and the batches a network is trained on.

dataset, collate, loader     samples by number, and batches of them: DataLoader
transforms, warps            images changed at random, a batch at once
text, bpe, gpt2_bpe          texts as whole numbers, and blocks of these
tables                       CSV
fetch                        files, from a folder, from the cache or from the network
sets                         the data sets that tutor has; `load` and `load_text` find them

>>> data = load("digits", limit=100)  # or "mnist", or "auto"
>>> for x, y in batches(data.train_images, data.train_labels, size=64):
...     print(x.shape, y.shape)
(64, 28, 28) (64,)
(36, 28, 28) (36,)
"""

from __future__ import annotations

import hashlib
import sys
from typing import NamedTuple

from tutor._util.typing import DeviceLike
from tutor.data.bpe import BPE
from tutor.data.collate import collate
from tutor.data.dataset import (
    ConcatDataset,
    Dataset,
    IterableDataset,
    MappedDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tutor.data.fetch import MissingDataError
from tutor.data.gpt2_bpe import GPT2BPE
from tutor.data.loader import DataLoader, batches
from tutor.data.sets import digits, fashion_mnist, mnist
from tutor.data.sets.corpus import Text, load_text
from tutor.data.sets.made_up import names, stories
from tutor.data.sets.sentences import grammar, grammar_entropy, grammar_nats
from tutor.data.sets.toy import blobs, circles, line, moons, sine, spirals
from tutor.data.tables import Scaler, Table, csv, standardize, train_test_split
from tutor.data.text import ByteVocab, CharVocab, TextBlocks, text_batches
from tutor.data.transforms import (
    CenterCrop,
    GaussianNoise,
    Normalize,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomShift,
    RandomVerticalFlip,
    ToFloat,
    Transform,
)
from tutor.data.warps import Compose, ElasticTransform, RandomAffine, RandomRotation
from tutor.errors import DataError, NumberRangeError
from tutor.methods.tensor import Tensor

__all__ = [
    "BPE",
    "GPT2BPE",
    "ByteVocab",
    "CenterCrop",
    "CharVocab",
    "Compose",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "ElasticTransform",
    "GaussianNoise",
    "Images",
    "IterableDataset",
    "MappedDataset",
    "MissingDataError",
    "Normalize",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomRotation",
    "RandomShift",
    "RandomVerticalFlip",
    "Scaler",
    "Subset",
    "Table",
    "TensorDataset",
    "Text",
    "TextBlocks",
    "ToFloat",
    "Transform",
    "batches",
    "blobs",
    "circles",
    "collate",
    "csv",
    "digits",
    "fashion_mnist",
    "grammar",
    "grammar_entropy",
    "grammar_nats",
    "line",
    "load",
    "load_text",
    "mnist",
    "moons",
    "names",
    "random_split",
    "sine",
    "spirals",
    "standardize",
    "stories",
    "text_batches",
    "train_test_split",
]


class Images(NamedTuple):
    """Images uint8 (n, 28, 28) and labels uint8 (n,), for training and for testing."""

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    source: str  # where the data came from, in words
    name: str  # its name for `load`: mnist, fashion_mnist or digits

    def sha256(self) -> str:
        """A checksum of all numbers and shapes, training and test data alike: equal checksums mean
        equal data sets."""
        digest = hashlib.sha256()
        for t in self[:4]:
            digest.update(f"{t.dtype.name}{t.shape}".encode())
            digest.update(t.detach().copy().cpu().buf.raw)
        return digest.hexdigest()


SOURCES = {
    "mnist": (mnist.load, "MNIST, written by hand"),
    "fashion_mnist": (fashion_mnist.load, "Fashion-MNIST, photographs of clothes"),
    "digits": (digits.load, "digits that tutor draws itself"),
}


def load(
    name: str = "auto", limit: int | None = None, *, device: DeviceLike | None = None
) -> Images:  # fmt: skip
    """The data set "mnist", "fashion_mnist" or "digits". "auto" is MNIST, or digits (with a line
    that says so) if MNIST cannot be found: TUTOR_DATA is not set, there is no cached copy, and the
    download fails. `limit` caps both the training and the test examples. The data are on `device`,
    or on the device that `tutor.device` sets. DataError for damaged or missing files (for "auto"
    too, if TUTOR_DATA is set), or an unknown name.
    """
    if limit is not None and limit < 1:
        raise NumberRangeError(f"{limit} images", "nothing to learn from", "use limit=1 or more")
    if name == "auto":
        try:
            return load("mnist", limit, device=device)
        except MissingDataError as error:
            print(f"tutor: no MNIST, so tutor draws digits itself ({error.found})", file=sys.stderr)
            return load("digits", limit, device=device)
    if name not in SOURCES:
        known = ", ".join((*SOURCES, "auto"))
        raise DataError(f"the data set {name!r}", f"there are {known}", "use one of those")
    load_split, source = SOURCES[name]
    train, test = (load_split(split, limit, device=device) for split in ("train", "test"))
    return Images(*train, *test, source, name)
