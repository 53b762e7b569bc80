"""Byte-pair encoding: a vocabulary of frequent pieces, learned from a text.

It starts with the 256 bytes and repeatedly merges the most frequent pair of neighbours into a new
piece (Sennrich, Haddow & Birch 2016, "Neural machine translation of rare words with subword units";
over bytes: Radford et al. 2019). The text is first split into words, and no piece crosses the end
of a word.

Recounting all pairs for each merge would take (merges * length of the text) steps. Instead, only
the words that contain the merged pair are recounted, each distinct word once, however often it
occurs in the text; a heap finds the pair with the highest count.
"""

from __future__ import annotations

import heapq
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from tutor._util import checks, files
from tutor._util.keyword_aliases import spelled
from tutor.data.loader import count
from tutor.data.text import as_bytes, ids_of
from tutor.errors import DataError, DTypeError
from tutor.methods.tensor import Tensor

# Words: letters, digits, or other signs, each with one blank before it; white space is the rest.
# Bytes above 127 are parts of letters in UTF-8. No word is longer than LONGEST, which bounds the
# work for a single word, whatever the text.
WORDS = re.compile(
    rb" ?[A-Za-z\x80-\xff]{1,63}| ?[0-9]{1,63}| ?[^\sA-Za-z0-9\x80-\xff]{1,63}|\s{1,64}"
)
FORMAT = "tutor.bpe.1"
LONGEST = 64  # bytes of a word, and so of a piece
KEPT = 1 << 16  # words whose ids are remembered

Pair = tuple[int, int]


@spelled
class BPE:
    """`BPE.train(text, vocab_size)` learns a vocabulary, `BPE.load(path)` reads one from a file.

    >>> bpe = BPE.train("low lower lowest low low", 259)
    >>> bpe.decode(bpe.encode("lowlands")), len(bpe)
    ('lowlands', 259)

    `merges[k]` is the pair of ids that became the id 256 + k; `pieces[id]` are its bytes.
    """

    def __init__(self, merges: Iterable[Pair] = ()) -> None:
        self.merges = [(int(a), int(b)) for a, b in merges]
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.pieces = [bytes([i]) for i in range(256)]
        for a, b in self.merges:
            if not (0 <= a < len(self.pieces) and 0 <= b < len(self.pieces)):
                raise DataError(
                    "a BPE vocabulary",
                    f"the merge of {a} and {b} as number {len(self.pieces)}",
                    "merge ids that are there before",
                )
            # Forty merges of the newest piece with itself would make a piece of a terabyte.
            if (size := len(self.pieces[a]) + len(self.pieces[b])) > LONGEST:
                raise DataError(
                    "a BPE vocabulary",
                    f"the merge of {a} and {b}, a piece of {size} bytes",
                    f"merge pieces of at most {LONGEST} bytes: no word is longer",
                )
            self.pieces.append(self.pieces[a] + self.pieces[b])
        self.known: dict[bytes, list[int]] = {}

    @classmethod
    def train(cls, text: str | bytes, vocab_size: int) -> BPE:
        """Learn a vocabulary of `vocab_size` pieces (256 or more) from the text; fewer if no pair
        is left that occurs twice. Ties between equally frequent pairs go to the smaller ids, so the
        result is the same everywhere."""
        payload = as_bytes("to learn a BPE vocabulary", text)
        size = count("BPE.train with vocab_size", vocab_size, 256, 1 << 24)
        return cls(Learner(Counter(WORDS.findall(payload))).merges(size - 256))

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str | bytes) -> list[int]:
        """The ids of a text: within each word, pairs are merged in the order they were learned."""
        ids: list[int] = []
        for word in WORDS.findall(as_bytes("to encode a text", text)):
            found = self.known.get(word)
            if found is None:
                found = self._merged(list(word))
                if len(self.known) < KEPT:
                    self.known[word] = found
            ids += found
        return ids

    def _merged(self, ids: list[int]) -> list[int]:
        ranks, none = self.ranks, len(self.ranks)
        while len(ids) > 1:
            rank, pair = min((ranks.get(pair, none), pair) for pair in pairwise(ids))
            if rank == none:
                break
            ids = replaced(ids, pair, 256 + rank)
        return ids

    def decode(self, ids: Iterable[int] | Tensor) -> str:
        """The text; bytes that are not UTF-8, which a model may generate, become U+FFFD."""
        return self.decode_bytes(ids).decode(errors="replace")

    def decode_bytes(self, ids: Iterable[int] | Tensor) -> bytes:
        """Exactly the bytes that were encoded."""
        return b"".join([self.pieces[i] for i in ids_of("to decode ids", ids, len(self))])

    def save(self, path: str | Path) -> None:
        """Write the merges as JSON, atomically."""
        payload = json.dumps({"format": FORMAT, "merges": self.merges}).encode()
        files.write_whole(path, lambda file: file.write(payload))

    @classmethod
    def load(cls, path: str | Path) -> BPE:
        """Read a file that `save` has written. DataError for any other file."""
        asked, do = f"to load a BPE vocabulary from {path}", "give a file that BPE.save has written"
        if not isinstance(path, (str, Path)):
            raise DTypeError("BPE.load", checks.said(path), "give the name of a file")
        try:
            with files.opened(path, files.NOTES) as file:
                found = json.load(file)
            if found["format"] != FORMAT:
                raise ValueError(f"format {found['format']!r:.40}")
            merges = [(a, b) for a, b in found["merges"]]
            if any(type(i) is not int for pair in merges for i in pair):
                raise ValueError("merges that are no pairs of whole numbers")
            return cls(merges)
        except OSError as error:
            raise DataError(asked, error.strerror or str(error), do) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            found_words = error.found if isinstance(error, DataError) else f"{error!r:.100}"
            raise DataError(asked, found_words, do) from error


def replaced(ids: list[int], pair: Pair, new: int) -> list[int]:
    """`ids` with `new` for every occurrence of the pair, from the left."""
    out: list[int] = []
    at, last, (a, b) = 0, len(ids) - 1, pair
    while at <= last:
        if at < last and ids[at] == a and ids[at + 1] == b:
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out


class Learner:
    """The distinct words of a text as ids, the count of each word, and the count of each pair."""

    def __init__(self, words: Counter[bytes]) -> None:
        self.words = [list(word) for word in words]
        self.often = list(words.values())
        self.counts: Counter[Pair] = Counter()
        self.where: defaultdict[Pair, set[int]] = defaultdict(set)  # words that may have the pair
        for i, ids in enumerate(self.words):
            for pair in pairwise(ids):
                self.counts[pair] += self.often[i]
                self.where[pair].add(i)
        self.heap = [(-n, pair) for pair, n in self.counts.items()]
        heapq.heapify(self.heap)

    def merges(self, most: int) -> list[Pair]:
        found: list[Pair] = []
        while len(found) < most and (pair := self.best()) is not None:
            self.merge(pair, 256 + len(found))
            found.append(pair)
        return found

    def best(self) -> Pair | None:
        """The pair with the highest count, if that is 2 or more. An entry of the heap may be out of
        date: the pair's count has changed since, and the heap also has a newer entry for it."""
        while self.heap:
            n, pair = heapq.heappop(self.heap)
            if -n == self.counts[pair]:
                return pair if -n > 1 else None
        return None

    def merge(self, pair: Pair, new: int) -> None:
        """Recount the words that contain the pair."""
        changed: set[Pair] = set()
        for i in self.where.pop(pair):
            before, n = self.words[i], self.often[i]
            after = replaced(before, pair, new)
            if len(after) == len(before):
                continue
            for old in pairwise(before):
                self.counts[old] -= n
                changed.add(old)
            for now in pairwise(after):
                self.counts[now] += n
                self.where[now].add(i)
                changed.add(now)
            self.words[i] = after
        del self.counts[pair]
        changed.discard(pair)
        for other in changed:
            if n := self.counts[other]:
                heapq.heappush(self.heap, (-n, other))
