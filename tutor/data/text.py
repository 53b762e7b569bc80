"""Text as whole numbers, and blocks of it for a language model.

A vocabulary turns a text into a list of ids, and ids back into a text: `encode`, `decode`, and
`len` for the number of ids. Characters and bytes are here; tutor.data.bpe learns longer pieces.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.backends import devices
from tutor.core.buffer import Buffer
from tutor.data.dataset import Dataset
from tutor.data.loader import DataLoader, count
from tutor.dtype import int64
from tutor.errors import DataError, DTypeError
from tutor.methods.tensor import Tensor


def ids_of(asked: str, ids: Iterable[int] | Tensor, size: int) -> list[int]:
    """Ids as a list of whole numbers below `size`, or the error that names the one that is not."""
    if isinstance(ids, str) or not hasattr(ids, "__iter__"):
        raise DTypeError(asked, checks.said(ids), "give a list of ids, or a Tensor of them")
    found: list[Any] = ids.tolist() if isinstance(ids, Tensor) else list(ids)
    for i in found:
        if isinstance(i, bool) or not hasattr(i, "__index__") or not 0 <= i < size:
            raise DataError(asked, f"{i!r:.40} is no id of a vocabulary of {size}",
                            f"give whole numbers from 0 to {size - 1}")  # fmt: skip
    return [int(i) for i in found]


def as_text(asked: str, text: object) -> str:
    if not isinstance(text, str):
        raise DTypeError(asked, checks.said(text), "give a text, a str")
    return text


@spelled
class CharVocab:
    """`CharVocab(text)`: an id for each character of the text, in the order of their code points.

    >>> v = CharVocab("hello")
    >>> v.encode("hole"), v.decode([2, 0, 2])
    ([1, 3, 2, 0], 'lel')
    """

    def __init__(self, text: str) -> None:
        self.chars = sorted(set(as_text("a CharVocab", text)))
        self.ids = {char: i for i, char in enumerate(self.chars)}

    def __len__(self) -> int:
        return len(self.chars)

    def encode(self, text: str) -> list[int]:
        """The id of each character. DataError for a character that is not in the vocabulary."""
        ids = self.ids
        try:
            return [ids[char] for char in as_text("to encode a text", text)]
        except KeyError as error:
            raise DataError(
                "to encode a text",
                f"the character {error.args[0]!r}, which was not in the text of the vocabulary",
                "make the vocabulary of all the text, or use ByteVocab or BPE",
            ) from error

    def decode(self, ids: Iterable[int] | Tensor) -> str:
        """The text of these ids. DataError for an id that does not exist."""
        return "".join([self.chars[i] for i in ids_of("to decode ids", ids, len(self))])


@spelled
class ByteVocab:
    """A vocabulary of the 256 bytes: it encodes every text, in UTF-8, and every file.

    >>> ByteVocab().encode("hé")
    [104, 195, 169]
    """

    def __len__(self) -> int:
        return 256

    def encode(self, text: str | bytes) -> list[int]:
        """The bytes of a text in UTF-8; bytes are returned as they are."""
        return list(as_bytes("to encode a text", text))

    def decode(self, ids: Iterable[int] | Tensor) -> str:
        """The text; bytes that are not UTF-8, which a model may generate, become U+FFFD."""
        return self.decode_bytes(ids).decode(errors="replace")

    def decode_bytes(self, ids: Iterable[int] | Tensor) -> bytes:
        """Exactly the bytes that were encoded. DataError for an id of 256 or more."""
        return bytes(ids_of("to decode ids", ids, 256))


def as_bytes(asked: str, text: object) -> bytes:
    """The bytes of a text in UTF-8; bytes are returned as they are."""
    if isinstance(text, str):
        return text.encode(errors="surrogatepass")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise DTypeError(asked, checks.said(text), "give a str, or bytes")


@spelled
class TextBlocks(Dataset):
    """`TextBlocks(ids, block_size)`: sample i is (x, y), `block_size` consecutive ids, and the id
    after each of them: y[t] = x[t + 1], the language model's target.

    Blocks begin `stride` ids apart (default: block_size, so that each id is in an x once).
    """

    def __init__(
        self, ids: Sequence[int] | Tensor, block_size: int, stride: int | None = None
    ) -> None:
        self.block_size = count("TextBlocks with block_size", block_size, 1)
        self.stride = count("TextBlocks with stride", block_size if stride is None else stride, 1)
        self.ids = token_ids(ids)
        if len(self.ids) <= self.block_size:
            raise DataError(f"TextBlocks of {block_size} ids", f"a text of {len(self.ids)}",
                            "give a longer text, or a smaller block_size")  # fmt: skip
        self.steps = Tensor.arange(self.block_size, device=self.ids.device)

    def __len__(self) -> int:
        return (len(self.ids) - self.block_size - 1) // self.stride + 1

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        at = self.place(index) * self.stride
        return self.ids[at : at + self.block_size], self.ids[at + 1 : at + 1 + self.block_size]

    def rows(self, index: Tensor | slice) -> tuple[Tensor, Tensor]:
        """Many blocks at once, (n, block_size) each."""
        if isinstance(index, slice):
            index = Tensor.arange(index.start, index.stop, device=self.ids.device)
        first = index.to(self.ids.device) * self.stride
        places = first.reshape(-1, 1) + self.steps
        flat, shape = places.flatten(), places.shape
        after = self.ids[1:].index_select(0, flat)
        return self.ids.index_select(0, flat).reshape(shape), after.reshape(shape)


def token_ids(ids: Sequence[int] | Tensor) -> Tensor:
    """Ids as a Tensor of int64, (n,)."""
    if isinstance(ids, Tensor):
        found = ids.detach()
    elif isinstance(ids, (list, tuple, bytes)) and all(type(i) is int for i in ids):
        if any(i >> 63 not in (0, -1) for i in ids):
            raise DTypeError("ids of a text", "one of more than 64 bits", "give what encode gave")
        row = Buffer.from_memory(array("q", list(ids)), dtype=int64, device=devices.default())
        found = Tensor(row)
    else:
        found = Tensor(ids) if not isinstance(ids, str) else Tensor([0.0])
    if found.ndim != 1 or not found.dtype.is_integer:
        raise DTypeError("ids of a text", checks.said(ids),
                         "give what encode(text) returned: a list of whole numbers")  # fmt: skip
    return found.cast(int64)


@spelled
def text_batches(
    ids: Sequence[int] | Tensor,
    batch_size: int = 32,
    block_size: int = 64,
    shuffle: bool = True,
    seed: int = 0,
    stride: int | None = None,
) -> DataLoader:
    """A DataLoader over TextBlocks: (x, y), each int64 (batch_size, block_size), y one id further.

    Only whole batches; the order depends on (seed, epoch); its state_dict records its position.
    """
    blocks = TextBlocks(ids, block_size, stride)
    return DataLoader(blocks, batch_size, shuffle, seed=seed, drop_last=len(blocks) >= batch_size)
