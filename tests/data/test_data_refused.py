"""What data sets, loaders, texts and transforms refuse: one table, with the words of each error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tutor import Tensor
from tutor.data import (
    BPE,
    ByteVocab,
    CenterCrop,
    CharVocab,
    Compose,
    ConcatDataset,
    DataLoader,
    ElasticTransform,
    GaussianNoise,
    IterableDataset,
    MappedDataset,
    Normalize,
    RandomAffine,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomRotation,
    RandomShift,
    Subset,
    TensorDataset,
    TextBlocks,
    ToFloat,
    collate,
    grammar,
    grammar_nats,
    load_text,
    names,
    random_split,
    stories,
)
from tutor.data.dataset import as_dataset
from tutor.errors import DataError, DomainError, DTypeError, OutOfRangeError, ShapeError, TutorError

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.arange(6)
GREY = np.zeros((6, 9, 7), dtype=np.uint8)
COLOUR = np.zeros((6, 3, 9, 7), dtype=np.uint8)
LEARNED = BPE.train("low lower lowest", 260)


def numbers() -> Iterator[int]:
    yield from range(5)


# A call, the kind of its error, and words that the error says.
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    # the DataLoader
    (lambda: DataLoader(3), DTypeError, "no len"),
    (lambda: DataLoader({"a": [1]}), DTypeError, "dict"),
    (lambda: DataLoader(iter([1])), DTypeError, "once only"),
    (lambda: DataLoader(numbers()), DTypeError, "once only"),
    (lambda: DataLoader(Y, 0), ShapeError, "from 1"),
    (lambda: DataLoader(Y, 2.5), DTypeError, "whole number"),
    (lambda: DataLoader(Y, True), DTypeError, "whole number"),
    (lambda: DataLoader(Y, 2, seed=-1), ShapeError, "from 0"),
    (lambda: DataLoader(Y, 2, prefetch=-1), ShapeError, "from 0"),
    (lambda: DataLoader(Y, 2, num_workers="2"), DTypeError, "whole number"),
    (lambda: DataLoader(Y, 2, collate_fn=3), DTypeError, "function"),
    (lambda: DataLoader(Y, 2, transform="flip"), DTypeError, "function"),
    (lambda: DataLoader(numbers, 2, shuffle=True), DomainError, "one after another"),
    (lambda: DataLoader(Y, 2, True, sampler=[1]), DomainError, "shuffle"),
    (lambda: DataLoader(Y, 2, sampler=3), DomainError, "sampler"),
    (lambda: list(DataLoader(Y, 2, sampler=[99])), OutOfRangeError, "99"),
    (lambda: list(DataLoader(Y, 2, sampler=["a"])), TutorError, "str 'a'"),
    (lambda: DataLoader(Y, generator=3), TypeError, "generator"),
    # data sets
    (lambda: TensorDataset(), ShapeError, "no Tensor"),
    (lambda: TensorDataset(X, Y[:3]), ShapeError, r"\(6, 2\), \(3,\)"),
    (lambda: TensorDataset(1.0), ShapeError, "shapes"),
    (lambda: TensorDataset(X)["a"], DTypeError, "no whole number"),
    (lambda: as_dataset(np.float32(1)), ShapeError, "one number"),
    (lambda: as_dataset(Tensor(1.0)), ShapeError, "one number"),
    (lambda: as_dataset({"x": X}), DTypeError, "dict"),
    (lambda: as_dataset(3), DTypeError, "no len"),
    (lambda: as_dataset("text"), DTypeError, "no len"),
    (lambda: Subset(Y, [6]), OutOfRangeError, "index 6"),
    (lambda: Subset(Y, [0, -1]), OutOfRangeError, "index -1"),
    (lambda: Subset(Y, [0.5]), DTypeError, "float32"),
    (lambda: Subset(Y, [True]), DTypeError, "bool"),
    (lambda: Subset(3, [0]), DTypeError, "no len"),
    (lambda: ConcatDataset([]), DataError, "no data set"),
    (lambda: MappedDataset(Y, 3), DTypeError, "function"),
    (lambda: IterableDataset(iter([1])), DTypeError, "once"),
    (lambda: random_split(Y, [3, 4]), DomainError, "add up to 7"),
    (lambda: random_split(Y, [-1, 7]), DomainError, "add up to 6"),
    (lambda: random_split(Y, [0.5, 0.4]), DomainError, "add up to 0.9"),
    (lambda: random_split(Y, "ab"), DTypeError, "no list"),
    (lambda: random_split(Y, 3), DTypeError, "no list"),
    (lambda: collate([]), DataError, "none"),
    (lambda: collate([None]), DTypeError, "sample is None"),
    (lambda: collate([X[0], X[0, :1]]), ShapeError, r"shape \(2,\) in the first and \(1,\)"),
    (lambda: collate([{"a": 1}, {"b": 1}]), DataError, "not the same keys"),
    (lambda: collate([(1, 2), (1,)]), DataError, "not the same parts"),
    (lambda: collate([1, "a"]), DataError, "not the same numbers"),
    (lambda: collate([{"a": (1, object())}]), DTypeError, r"sample\['a'\]\[1\]"),
    # texts
    (lambda: CharVocab("abc").encode("abd"), DataError, "'d'"),
    (lambda: CharVocab(b"abc"), DTypeError, "text"),
    (lambda: CharVocab("abc").decode([3]), DataError, "3 is no id"),
    (lambda: CharVocab("abc").decode([-1]), DataError, "-1 is no id"),
    (lambda: CharVocab("abc").decode("a"), DTypeError, "ids"),
    (lambda: ByteVocab().encode(3), DTypeError, "bytes"),
    (lambda: ByteVocab().decode([256]), DataError, "256"),
    (lambda: ByteVocab().decode([1.5]), DataError, "1.5"),
    (lambda: LEARNED.decode([400]), DataError, "400"),
    (lambda: LEARNED.decode(3), DTypeError, "ids"),
    (lambda: LEARNED.encode([1]), DTypeError, "bytes"),
    (lambda: BPE.train("abc", 255), ShapeError, "256"),
    (lambda: BPE.train("abc", 10**9), ShapeError, "256"),
    (lambda: BPE.train(3, 300), DTypeError, "bytes"),
    (lambda: BPE([(1, 2), (257, 1)]), DataError, "257"),
    (lambda: BPE.load("/no/such/file"), DataError, "No such file"),
    (lambda: BPE.load(3), DTypeError, "file"),
    (lambda: TextBlocks([1, 2, 3], 3), DataError, "a text of 3"),
    (lambda: TextBlocks([1, 2, 3], 0), ShapeError, "from 1"),
    (lambda: TextBlocks([1, 2, 3], 1, stride=0), ShapeError, "from 1"),
    (lambda: TextBlocks("abc", 1), DTypeError, "ids"),
    (lambda: TextBlocks([0.5, 1.5], 1), DTypeError, "ids"),
    (lambda: TextBlocks([1, 2**63], 1), DTypeError, "64 bits"),
    (lambda: TextBlocks([[1, 2], [3, 4]], 1), DTypeError, "ids"),
    (lambda: stories(-1), ShapeError, "from 0"),
    (lambda: stories("many"), DTypeError, "whole number"),
    (lambda: names(-1), ShapeError, "from 0"),
    (lambda: grammar(-1), ShapeError, "from 0"),
    (lambda: grammar(2.5), DTypeError, "whole number"),
    (lambda: grammar(1, seed=-1), ShapeError, "from 0"),
    (lambda: grammar_nats(3), DTypeError, "a str"),
    (lambda: grammar_nats(""), DataError, "at least one line"),
    (lambda: load_text(3), DTypeError, "path"),
    (lambda: load_text("grammar", -1), ShapeError, "from 0"),
    (lambda: load_text("grammar", "all"), DTypeError, "whole number"),
    (lambda: load_text("/no/such/file"), DataError, "no file"),
    (lambda: load_text("/dev/null"), DataError, "no file"),
    (lambda: load_text("no\0name"), DataError, "no file"),
    # transforms of images
    (lambda: ToFloat()(np.zeros((3, 3))), ShapeError, "2 axes"),
    (lambda: ToFloat()("image"), DTypeError, "str"),
    (lambda: ToFloat()(GREY, seed=-1), ShapeError, "from 0"),
    (lambda: Normalize(0, 0), DomainError, "above 0"),
    (lambda: Normalize("a", 1), DTypeError, "number"),
    (lambda: Normalize([], 1), DomainError, "no channel"),
    (lambda: Normalize([1, 2], [1, 2, 3]), ShapeError, "2 means and 3"),
    (lambda: Normalize([1, 2], 1)(COLOUR), ShapeError, "images of 3"),
    (lambda: GaussianNoise(-1), DomainError, "-1"),
    (lambda: RandomErasing(0), ShapeError, "from 1"),
    (lambda: RandomErasing(3, p=2), DomainError, "2"),
    (lambda: RandomCrop(0), ShapeError, "from 1"),
    (lambda: RandomCrop((1, 2, 3)), ShapeError, "3 numbers"),
    (lambda: RandomCrop(20)(GREY), ShapeError, r"\(9, 7\)"),
    (lambda: CenterCrop(8)(GREY), ShapeError, r"\(9, 7\)"),
    (lambda: RandomShift(-1), ShapeError, "from 0"),
    (lambda: RandomHorizontalFlip(1.5), DomainError, "1.5"),
    (lambda: RandomAffine("a"), DTypeError, "number"),
    (lambda: RandomAffine(10, scale=1), DomainError, "1"),
    (lambda: RandomRotation(math.nan), DomainError, "nan"),
    (lambda: ElasticTransform(sigma=0), DomainError, "0"),
    (lambda: Compose(np.flip), DTypeError, "no Transform"),
    (lambda: Compose(degrees=3), TypeError, "degrees"),
]


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED)
def test_refused(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        call()
    error = caught.value
    assert isinstance(error, TutorError) and error.asked and error.found and error.do
