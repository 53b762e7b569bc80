"""GPT-2's byte-level byte-pair encoding, from its published files.

`vocab.json` maps each piece to its id, `merges.txt` lists the pairs of pieces to merge, in order of
priority (Radford et al. 2019, "Language models are unsupervised multitask learners", section 2.2;
Hugging Face's files). A piece is a sequence of bytes; the files write each byte as a printable
character, so that a piece is a text without blanks: `CHARACTERS` is that table.

A text is first split into words by GPT-2's pattern, which distinguishes letters (Unicode's category
L) from numbers (N):

    's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+

Python's `re` has no Unicode categories. `pattern` writes both out as ranges of code points, found
by asking `unicodedata` for the category of each code point, once (0.2 s). It also writes out \\s as
Unicode's White_Space, because the \\s of `re` includes four more control characters.
"""

from __future__ import annotations

import heapq
import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from tutor._util import checks, files
from tutor._util.keyword_aliases import spelled
from tutor.data.bpe import KEPT
from tutor.data.text import as_bytes, as_text, ids_of
from tutor.errors import DataError, DTypeError
from tutor.methods.tensor import Tensor

FILES = ("vocab.json", "merges.txt")
HEADING = "#version: 0.2"
WHITE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # White_Space


def characters() -> list[str]:
    """The character that represents each byte: itself if it is printable and not blank; the other
    bytes get the characters from U+0100 on, in order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


CHARACTERS = characters()
BYTES = {char: byte for byte, char in enumerate(CHARACTERS)}


@cache
def pattern() -> re.Pattern[str]:
    """The pattern that splits a text into words, losing nothing: see above."""
    ranges: dict[str, str] = {}
    first, kinds = 0, map(unicodedata.category, map(chr, range(sys.maxunicode + 1)))
    for kind, run in groupby(kind[0] for kind in kinds):
        end = first + sum(1 for _ in run)
        ranges[kind] = ranges.get(kind, "") + f"\\U{first:08x}-\\U{end - 1:08x}"
        first = end
    letter, digit = ranges["L"], ranges["N"]
    return re.compile(
        f"'s|'t|'re|'ve|'m|'ll|'d| ?[{letter}]+| ?[{digit}]+| ?[^{WHITE}{letter}{digit}]+"
        f"|[{WHITE}]+(?![^{WHITE}])|[{WHITE}]+"
    )


@spelled
class GPT2BPE:
    """`GPT2BPE.load(folder)` reads `vocab.json` and `merges.txt`; `GPT2BPE(vocab, merges)` takes
    their contents, {piece: id} and [(left, right), ...].

    The ids are 0 to n - 1, each once. All 256 bytes are pieces, and each merge joins two existing
    pieces into a new one, so any text can be encoded, and decoded to the same text. All other
    pieces, such as "<|endoftext|>", are `special`: no text is encoded as one of them, unless
    requested.
    """

    def __init__(self, vocab: Mapping[str, int], merges: Iterable[tuple[str, str]]) -> None:
        self.vocab, self.merges = dict(vocab), [(str(a), str(b)) for a, b in merges]
        if sorted(self.vocab.values(), key=repr) != sorted(range(len(self.vocab)), key=repr):
            raise wrong(f"{len(self.vocab)} pieces whose ids are not 0 to {len(self.vocab) - 1}")
        made = dict.fromkeys(CHARACTERS)
        for a, b in self.merges:
            if a not in made or b not in made or a + b in made:
                why = "one of both is not there before" if not {a, b} <= made.keys() else "is there"
                raise wrong(f"the merge of {a!r:.40} and {b!r:.40}: {why}")
            made[a + b] = None
        if missing := [piece for piece in made if piece not in self.vocab]:
            raise wrong(f"{len(missing)} pieces without an id, the first is {missing[0]!r:.40}")
        self.special = {piece: i for piece, i in self.vocab.items() if piece not in made}
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.pieces = [b""] * len(self.vocab)
        for piece, i in self.vocab.items():
            ours = piece in made
            self.pieces[i] = bytes([BYTES[c] for c in piece]) if ours else as_bytes("", piece)
        self.known: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The ids of a text. With `special`, the text of a special piece is encoded as that piece's
        id."""
        given, ids = as_text("to encode a text", text), []
        if not (special and self.special):
            return self._plain(given)
        longest_first = sorted(self.special, key=len, reverse=True)
        for part in re.split(f"({'|'.join(map(re.escape, longest_first))})", given):
            found = self.special.get(part)
            ids += self._plain(part) if found is None else [found]
        return ids

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = []
        for word in pattern().findall(text):
            found = self.known.get(word)
            if found is None:
                found = [self.vocab[piece] for piece in self.split(as_bytes("", word))]
                if len(self.known) < KEPT:
                    self.known[word] = found
            ids += found
        return ids

    def split(self, word: bytes) -> list[str]:
        """The pieces of a word: repeatedly merges the neighbours whose merge comes first in the
        list, the leftmost for ties, until no merge applies.

        The pairs wait in a heap, and each piece knows its neighbours, so a word of n bytes takes
        n log n steps; searching the whole word for each merge would take n².
        """
        pieces: list[str | None] = [CHARACTERS[byte] for byte in word]
        before, after = [*range(-1, len(word) - 1)], [*range(1, len(word) + 1)]
        heap: list[tuple[int, int, str, str]] = []

        def wait(i: int, j: int) -> None:
            """Queue the pair at i and j, if there is such a merge."""
            if i >= 0 and j < len(pieces):
                a, b = pieces[i], pieces[j]
                if a is not None and b is not None and (a, b) in self.ranks:
                    heapq.heappush(heap, (self.ranks[a, b], i, a, b))

        for i in range(len(word) - 1):
            wait(i, i + 1)
        while heap:
            _, i, a, b = heapq.heappop(heap)
            j = after[i]
            if pieces[i] != a or j >= len(pieces) or pieces[j] != b:
                continue  # one of the two has been merged with another since
            pieces[i], pieces[j], after[i] = a + b, None, after[j]
            if after[j] < len(pieces):
                before[after[j]] = i
            wait(before[i], i)
            wait(i, after[i])
        return [piece for piece in pieces if piece is not None]

    def decode(self, ids: Iterable[int] | Tensor) -> str:
        """The text; bytes that are not UTF-8, which a model may generate, become U+FFFD."""
        payload = self.decode_bytes(ids)
        try:
            return payload.decode(errors="surrogatepass")
        except UnicodeDecodeError:
            return payload.decode(errors="replace")

    def decode_bytes(self, ids: Iterable[int] | Tensor) -> bytes:
        """The bytes of these pieces, concatenated."""
        return b"".join([self.pieces[i] for i in ids_of("to decode ids", ids, len(self))])

    def save(self, folder: str | Path) -> None:
        """Write `vocab.json` and `merges.txt` into a folder, each atomically."""
        if not isinstance(folder, (str, Path)):
            raise DTypeError("GPT2BPE.save", checks.said(folder), "give the name of a folder")
        lines = "\n".join([HEADING, *(f"{a} {b}" for a, b in self.merges), ""])
        texts = json.dumps(self.vocab, ensure_ascii=False), lines
        for name, text in zip(FILES, texts, strict=True):
            files.write_whole(Path(folder) / name, partial(write, text.encode()))

    @classmethod
    def load(cls, folder: str | Path) -> GPT2BPE:
        """Read these two files from a folder. DataError for files of another format."""
        if not isinstance(folder, (str, Path)):
            raise DTypeError("GPT2BPE.load", checks.said(folder), "give the name of a folder")
        vocab, merges = (Path(folder) / name for name in FILES)
        at = vocab
        try:
            with files.opened(vocab, files.NOTES) as file:
                found = json.load(file)
            if not isinstance(found, dict) or any(type(i) is not int for i in found.values()):
                raise ValueError("no pieces with whole numbers")
            at = merges
            with files.opened(merges, files.NOTES, "utf-8") as file:
                lines = file.read().split("\n")
            lines = [line for line in lines if line.strip() and not line.startswith("#version")]
            pairs = [(a, b) for a, b in (line.rstrip("\r").split(" ") for line in lines)]
        except OSError as error:
            raise DataError(f"to read {at}", error.strerror or str(error), GIVE) from error
        except (ValueError, RecursionError) as error:
            raise DataError(f"to read {at}", f"{error!r:.100}", GIVE) from error
        return cls(found, pairs)


def write(payload: bytes, file: BinaryIO) -> None:
    file.write(payload)


GIVE = "give a folder with the vocab.json and merges.txt of one GPT-2"


def wrong(found: str) -> DataError:
    return DataError("a GPT-2 vocabulary", found, GIVE)
