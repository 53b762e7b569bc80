"""Vocabularies, byte-pair encoding, blocks for language models, and texts that are made up."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor import Tensor
from tutor.data import (
    BPE,
    ByteVocab,
    CharVocab,
    DataLoader,
    TextBlocks,
    bpe,
    names,
    stories,
    text_batches,
)
from tutor.data.sets import made_up
from tutor.errors import DataError

TALES = stories(20_000, seed=1)
LEARNED = BPE.train(TALES, 400)


def test_characters():
    v = CharVocab("hello wörld")
    assert len(v) == 9 and v.chars == sorted(set("hello wörld"))
    assert v.decode(v.encode("hold")) == "hold"
    assert v.decode(Tensor(v.encode("row"))) == "row"
    assert v.encode("") == [] and v.decode([]) == ""


def test_bytes():
    v = ByteVocab()
    assert len(v) == 256 and v.encode("hé") == [104, 195, 169] == v.encode("hé".encode())
    assert v.decode([104, 195, 169, 255]) == "hé\ufffd"
    assert v.decode_bytes(v.encode(bytes(range(256)))) == bytes(range(256))


# ---- byte pairs ----------------------------------------------------------------------------------


def by_hand(text, size):
    """The definition: count all pairs, merge the most frequent one, count all pairs again."""
    words = [list(word) for word in bpe.WORDS.findall(text.encode())]
    merges = []
    while len(merges) < size - 256:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        if counts[best] < 2:
            break
        words = [bpe.replaced(word, best, 256 + len(merges)) for word in words]
        merges.append(best)
    return merges


@pytest.mark.parametrize(
    "text",
    ["low lower lowest newer wider", "aaaa aaaaa aaaaaaa", "abab ababab bababa", "", "x",
     stories(3000), "".join(random.Random(3).choices("ab ", k=500)), "äöü äöü ñ ñ 12 1212 --!! --"],
)  # fmt: skip
def test_the_merges_are_those_of_the_definition(text):
    for size in (256, 257, 270, 330):
        assert BPE.train(text, size).merges == by_hand(text, size)


def test_a_known_vocabulary():
    v = BPE.train("low lower lowest low low", 259)
    assert [v.pieces[i] for i in range(256, 259)] == [b"lo", b"low", b" low"]
    assert v.encode("lowlands") == [257, *b"lands"]
    assert len(v) == 259


@given(st.binary(max_size=300))
def test_any_bytes_come_back(payload):
    assert LEARNED.decode_bytes(LEARNED.encode(payload)) == payload
    assert b"".join(bpe.WORDS.findall(payload)) == payload, "the words are all of the text"


@given(st.text(max_size=200))
def test_any_text_comes_back(text):
    ids = LEARNED.encode(text)
    assert LEARNED.decode_bytes(ids) == text.encode(errors="surrogatepass")
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert LEARNED.decode(ids) == LEARNED.decode(Tensor(ids, dtype="int64")) == text


def test_the_text_it_has_learned_from_becomes_shorter():
    assert len(LEARNED) == 400
    assert len(LEARNED.encode(TALES)) < len(TALES) / 2.5


def test_it_is_kept_in_a_file(tmp_path):
    path = tmp_path / "bpe.json"
    LEARNED.save(path)
    again = BPE.load(path)
    assert again.merges == LEARNED.merges and again.pieces == LEARNED.pieces
    assert again.encode(TALES) == LEARNED.encode(TALES)
    assert json.loads(path.read_text())["format"] == "tutor.bpe.1"


@pytest.mark.parametrize(
    "content",
    ["", "[", "3", "{}", '{"format": "other", "merges": []}', '{"format": "tutor.bpe.1"}',
     '{"format": "tutor.bpe.1", "merges": [[1]]}',
     '{"format": "tutor.bpe.1", "merges": [[1, 256]]}',
     '{"format": "tutor.bpe.1", "merges": [[1, "2"]]}',
     '{"format": "tutor.bpe.1", "merges": [[-1, 2]]}',
     '{"format": "tutor.bpe.1", "merges": 3}', "\xff\xfe", "[" * 100_000,
     json.dumps({"format": "tutor.bpe.1", "merges": [[9, 9], *([k, k] for k in range(256, 295))]})],
)  # fmt: skip
def test_what_is_no_such_file_is_refused(tmp_path, content):
    path = tmp_path / "bpe.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match="to load a BPE") as caught:
        BPE.load(path)
    assert caught.value.asked and caught.value.found and caught.value.do


def test_a_piece_is_as_long_as_the_longest_word_and_no_longer():
    merges = [(97, 97), *((k, k) for k in range(256, 261))]
    assert BPE(merges).encode("a" * 63) and BPE(merges).pieces[-1] == b"a" * 64
    with pytest.raises(DataError, match="65 bytes"):
        BPE([*merges, (261, 97)])


def test_the_work_grows_with_the_text_and_not_with_its_square():
    """Counted in merges of words, not in seconds: a word of the text is merged when it has the
    pair, and not else; and no word is long, whatever the text."""
    looked_at = []
    real = bpe.replaced

    def counted(ids, pair, new):
        looked_at.append(len(ids))
        return real(ids, pair, new)

    bpe.replaced = counted
    try:
        work = []
        for length in (20_000, 40_000):
            looked_at.clear()
            BPE.train(bytes(random.Random(0).choices(b"abcdefgh ", k=length)), 456)
            work.append(sum(looked_at))
        assert work[1] < 3 * work[0]
        looked_at.clear()
        BPE.train(b"a" * 200_000, 300).encode(b"a" * 200_000)
        assert max(looked_at) <= 64
    finally:
        bpe.replaced = real


# ---- blocks --------------------------------------------------------------------------------------


def test_blocks():
    blocks = TextBlocks(list(range(10)), 4)
    assert len(blocks) == 2, "the ninth id is the last that has one after it"
    assert [(x.tolist(), y.tolist()) for x, y in blocks] == [
        ([0, 1, 2, 3], [1, 2, 3, 4]),
        ([4, 5, 6, 7], [5, 6, 7, 8]),
    ]
    every = TextBlocks(Tensor.arange(10), 4, stride=1)
    assert len(every) == 6 and every[-1][1].tolist() == [6, 7, 8, 9]
    for index in (Tensor([5, 0, 2]), slice(1, 4)):
        x, y = every.rows(index)
        wanted = [every[i] for i in (range(1, 4) if isinstance(index, slice) else index.tolist())]
        assert x.tolist() == [w[0].tolist() for w in wanted]
        assert y.tolist() == [w[1].tolist() for w in wanted]
    assert len(TextBlocks(b"abcde", 4)) == 1


def test_batches_of_blocks_go_on_where_they_were():
    ids = list(range(1000))
    loader = text_batches(ids, 8, 16, seed=3)
    assert isinstance(loader, DataLoader) and len(loader) == 62 // 8
    epoch = []
    for x, y in loader:
        assert x.shape == y.shape == (8, 16) and x.dtype.name == y.dtype.name == "int64"
        assert (x + 1 == y).all().item()
        epoch.append(x.tolist())
    starts = sorted(row[0] for batch in epoch for row in batch)
    assert len(set(starts)) == 56 and all(start % 16 == 0 for start in starts)
    again = text_batches(ids, 8, 16, seed=3)
    it = iter(again)
    next(it), next(it)
    other = text_batches(ids, 8, 16, seed=9)
    other.load_state_dict(again.state_dict())
    assert [x.tolist() for x, _ in other] == epoch[2:]


# ---- texts that tutor makes ----------------------------------------------------------------------


def test_stories_are_the_same_everywhere():
    text = stories(100, seed=0)
    assert text == (
        "It was a cold morning when Kate went to the river with her red mouse. The mouse scurried"
        ' ahead and squeaked. There she found a hat. "Who lost the hat?" she asked the mouse. So'
        " Kate and her mouse left the river, and the hat stayed there.\n\n"
    )
    assert stories(5000).startswith(text) and len(stories(5000)) >= 5000
    assert stories(1000, seed=1) != stories(1000, seed=2)
    assert stories(0) == ""


def test_what_a_tale_says_hangs_together():
    he_of = {name: (he, his) for name, he, his in made_up.PEOPLE}
    for tale in stories(20_000).strip().split("\n\n"):
        words = tale.replace(".", "").replace(",", "").split()
        name = next(word for word in words if word in he_of)
        other = {"he": "she", "she": "he"}[he_of[name][0]]
        assert other not in words, tale
        if "counted" in words:
            numbers = [made_up.NUMBERS.index(w) + 1 for w in words if w in made_up.NUMBERS]
            assert numbers[0] + numbers[1] == numbers[2]


def test_names_are_the_same_everywhere():
    assert names(3) == [("Haldisbjogrim", "Fjalla"), ("Kimi", "Ekiri"), ("Svabjoir", "Fjalla")]
    found = names(3000, seed=5)
    assert names(100, seed=5) == found[:100]
    counts = Counter(language for _, language in found)
    assert counts.keys() == made_up.LANGUAGES.keys() and min(counts.values()) > 400
    assert all(name.isascii() and name.isalpha() and name.istitle() for name, _ in found)
    assert len({name for name, _ in found}) > 1500
