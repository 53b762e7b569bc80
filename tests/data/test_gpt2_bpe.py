"""GPT-2's byte-level BPE, over a small vocabulary that is learned here."""

from __future__ import annotations

import json
import random
import time
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tutor import Tensor, data
from tutor.data.gpt2_bpe import CHARACTERS, GPT2BPE, pattern
from tutor.errors import DataError, DTypeError, TutorError

TALES = data.stories(20_000, seed=3) + " don't we'll they've it's 12 345 grün naïve 日本語 日本"
END = "<|endoftext|>"


def learned(size: int = 500) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Merges of tutor's own BPE, written as GPT-2 writes them; ids in GPT-2's order."""
    bpe = data.BPE.train(TALES, size)
    written = ["".join(CHARACTERS[byte] for byte in piece) for piece in bpe.pieces]
    merges, made = [], set(CHARACTERS)
    for (a, b), new in zip(bpe.merges, written[256:], strict=True):
        if new not in made:  # two ways to one piece: the first counts
            merges.append((written[a], written[b]))
            made.add(new)
    printable = sorted(CHARACTERS)
    pieces = [*printable, *[a + b for a, b in merges], END]
    return {piece: i for i, piece in enumerate(pieces)}, merges


VOCAB, MERGES = learned()
BPE = GPT2BPE(VOCAB, MERGES)


def as_published(word: bytes, merges: list[tuple[str, str]]) -> list[str]:
    """The pair that is first in the list is merged wherever it stands, from the left, until none
    is left."""
    pieces, ranks = [CHARACTERS[byte] for byte in word], {p: i for i, p in enumerate(merges)}
    while known := [pair for pair in pairwise(pieces) if pair in ranks]:
        pair, out, i = min(known, key=ranks.__getitem__), [], 0
        while i < len(pieces):
            both = i + 1 < len(pieces) and (pieces[i], pieces[i + 1]) == pair
            out.append(pieces[i] + pieces[i + 1] if both else pieces[i])
            i += 1 + both
        pieces = out
    return pieces


def test_the_characters_of_the_bytes() -> None:
    assert len(set(CHARACTERS)) == 256 and not any(c.isspace() for c in CHARACTERS)
    assert CHARACTERS[ord("a")] == "a" and CHARACTERS[ord(" ")] == "Ġ"
    assert (CHARACTERS[0], CHARACTERS[ord("\n")], CHARACTERS[173]) == ("Ā", "Ċ", "Ń")


WORDS = {
    "Hello world's 12ab": ["Hello", " world", "'s", " 12", "ab"],
    "I'll  they've\n\n x": ["I", "'ll", " ", " they", "'ve", "\n\n", " x"],
    "a  b   ": ["a", " ", " b", "   "],
    "x\t\ty": ["x", "\t", "\t", "y"],
    "don'T 'S": ["don", "'", "T", " '", "S"],
    "grün Ⅷ x² ½ ١٢ 一二": ["grün", " Ⅷ", " x", "²", " ½", " ١٢", " 一二"],
    "e\u0301a __a_1": ["e", "\u0301", "a", " __", "a", "_", "1"],
    "a\u3000b\xa0c": ["a", "\u3000", "b", "\xa0", "c"],
    "a\x1cb \x1f!": ["a", "\x1c", "b", " \x1f!"],  # white to `re`, and not to Unicode
    "😀😀 ok": ["😀😀", " ok"],
}


@pytest.mark.parametrize("text", WORDS)
def test_words(text: str) -> None:
    assert pattern().findall(text) == WORDS[text]


def test_letters_and_numbers_are_unicodes() -> None:
    """Each code point alone behind a letter, and behind a digit."""
    cut = pattern().findall
    for point in [*range(0x3000), *range(0x3000, 0x20000, 97)]:
        char = chr(point)
        kind = unicodedata.category(char)[0]
        assert (len(cut("a" + char)) == 1) == (kind == "L"), hex(point)
        assert (len(cut("1" + char)) == 1) == (kind == "N"), hex(point)


def test_pieces_are_those_of_the_published_loop() -> None:
    rng = random.Random(1)
    words = [word.encode() for word in pattern().findall(TALES)]
    words += [bytes(rng.choices(b"the catsond ", k=rng.randrange(40))) for _ in range(300)]
    words += [rng.randbytes(20) for _ in range(50)] + [b"a" * 33, b"th" * 40, b""]
    for word in words:
        assert BPE.split(word) == as_published(word, MERGES)
    assert len(BPE.encode(TALES)) < len(TALES) / 2


def random_text(rng: random.Random) -> str:
    points = [rng.randrange(0x110000) if rng.random() < 0.3 else rng.randrange(0x250)
              for _ in range(rng.randrange(60))]  # fmt: skip
    return "".join(map(chr, points))


def test_any_text_comes_back() -> None:
    rng = random.Random(0)
    texts = [random_text(rng) for _ in range(500)]
    for text in [*texts, *WORDS, TALES, "", " ", "\0", END, f"a{END}b", "\ud800", "\udfff\ud800"]:
        ids = BPE.encode(text)
        assert BPE.decode(ids) == BPE.decode(Tensor(ids, dtype="int64")) == text
        assert VOCAB[END] not in ids
        assert BPE.decode(BPE.encode(text, special=True)) == text


def test_special_pieces_are_asked_for() -> None:
    end = VOCAB[END]
    assert BPE.special == {END: end} and len(BPE) == end + 1
    assert BPE.encode(f"a{END}b", special=True) == [VOCAB["a"], end, VOCAB["b"]]
    assert BPE.encode(END + END, special=True) == [end, end]
    assert GPT2BPE({p: i for p, i in VOCAB.items() if p != END}, MERGES).encode("a", True)
    longer = GPT2BPE({**VOCAB, END + "!": end + 1, "<|": end + 2}, MERGES)
    assert longer.encode(f"{END}!{END}<|", special=True) == [end + 1, end, end + 2]


def test_what_is_no_text_is_marked() -> None:
    assert BPE.decode([VOCAB[CHARACTERS[0xFF]]]) == "\ufffd"
    assert BPE.decode_bytes([VOCAB[CHARACTERS[0xFF]]]) == b"\xff"


def test_the_files_are_hugging_faces(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(VOCAB))
    lines = ["#version: 0.2", *(f"{a} {b}" for a, b in MERGES)]
    (tmp_path / "merges.txt").write_text("\n".join(lines) + "\n", "utf-8")
    again = GPT2BPE.load(tmp_path)
    assert again.encode(TALES) == BPE.encode(TALES)
    again.save(tmp_path)
    assert json.loads((tmp_path / "vocab.json").read_text("utf-8")) == VOCAB
    assert (tmp_path / "merges.txt").read_text("utf-8").split("\n") == [*lines, ""]
    last = GPT2BPE.load(str(tmp_path))
    assert last.vocab == VOCAB and last.merges == MERGES


def test_a_long_word_costs_no_square() -> None:
    """40 times as long takes less than 200 times as long; n² would be 1,600 times."""
    took = []
    for n in (2_000, 80_000):
        word = bytes(random.Random(0).choices(b"aethnosr", k=n))
        start = time.process_time()
        BPE.split(word)
        took.append(time.process_time() - start)
    assert took[1] < 200 * took[0]


REFUSED: dict[str, Any] = {
    "a byte is missing": lambda: GPT2BPE({c: i for i, c in enumerate(CHARACTERS[1:])}, []),
    "ids with a hole": lambda: GPT2BPE({**VOCAB, "new": len(VOCAB) + 1}, MERGES),
    "an id twice": lambda: GPT2BPE({**VOCAB, "new": 0}, MERGES),
    "an id that is a text": lambda: GPT2BPE({**VOCAB, END: str(len(VOCAB) - 1)}, MERGES),
    "a merge of what is not there": lambda: GPT2BPE(VOCAB, [*MERGES, ("zzz", "q")]),
    "a merge twice": lambda: GPT2BPE(VOCAB, [*MERGES, MERGES[0]]),
    "a merge without an id": lambda: GPT2BPE(VOCAB, [*MERGES, ("Ā", "Ā")]),
    "no folder": lambda: GPT2BPE.load("/no/such/folder"),
    "a number for a folder": lambda: GPT2BPE.load(3),  # type: ignore[arg-type]
    "a number to save in": lambda: BPE.save(3),  # type: ignore[arg-type]
    "a number for a text": lambda: BPE.encode(3),  # type: ignore[arg-type]
    "an id that there is not": lambda: BPE.decode([len(BPE)]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    with pytest.raises((DataError, DTypeError)) as caught:
        REFUSED[case]()
    assert isinstance(caught.value, TutorError)
    assert caught.value.asked and caught.value.found and caught.value.do


@pytest.mark.parametrize(
    ("vocab", "merges"),
    [("", ""), ("[]", ""), ('{"a": "1"}', ""), ('{"a": 1.0}', ""), ("{", ""), ("\xff", ""),
     (json.dumps(VOCAB), "a b c\n"), (json.dumps(VOCAB), "ab\n"), (json.dumps(VOCAB), "\xff\xfe")],
)  # fmt: skip
def test_files_that_are_none_are_refused(tmp_path: Path, vocab: str, merges: str) -> None:
    (tmp_path / "vocab.json").write_bytes(vocab.encode("latin-1"))
    (tmp_path / "merges.txt").write_bytes(merges.encode("latin-1"))
    with pytest.raises(DataError) as caught:
        GPT2BPE.load(tmp_path)
    assert caught.value.asked and caught.value.found and caught.value.do
