"""load_text: Shakespeare where somebody has him, the grammar's text where nobody has, files."""

from __future__ import annotations

import gzip
import hashlib

import pytest

from tutor import data
from tutor.data import Text, grammar, grammar_entropy, grammar_nats, load_text
from tutor.data.sets import corpus
from tutor.errors import DataError

PLAY = "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\n" * 40


@pytest.fixture
def play(monkeypatch, mirror):
    """tiny Shakespeare, made tinier, at mirrors that behave as they are told to."""

    def at(*behaviours):
        file = corpus.SHAKESPEARE._replace(
            size=len(PLAY),
            sha256=hashlib.sha256(PLAY.encode()).hexdigest(),
            mirrors=tuple(mirror.url(behaviour) + "input.txt" for behaviour in behaviours),
        )
        monkeypatch.setattr(corpus, "SHAKESPEARE", file)
        return file

    monkeypatch.setattr("mirrors.PAYLOAD", PLAY.encode())
    return at


@pytest.mark.parametrize("place", ["text/tinyshakespeare.txt", "tinyshakespeare.txt"])
@pytest.mark.parametrize("packed", [False, True])
def test_shakespeare_from_the_users_folder(monkeypatch, mirror, play, tmp_path, place, packed):
    play("plain")
    monkeypatch.setenv("TUTOR_DATA", str(tmp_path))
    (tmp_path / "text").mkdir()
    path = tmp_path / (f"{place}.gz" if packed else place)
    path.write_bytes(gzip.compress(PLAY.encode()) if packed else PLAY.encode())
    for name in ("auto", "shakespeare"):
        text = load_text(name)
        assert text == Text(PLAY, "tiny Shakespeare, from his plays", "shakespeare", None)
    assert not mirror.asked


def test_shakespeare_from_a_mirror_and_from_then_on_from_the_cache(mirror, play, tmp_path, capsys):
    play("missing", "plain")
    assert load_text().text == PLAY
    assert mirror.asked == {"missing": 1, "plain": 1}
    assert (tmp_path / "cache" / "text" / "tinyshakespeare.txt").read_text() == PLAY
    assert load_text("shakespeare").text == PLAY
    assert sum(mirror.asked.values()) == 2
    assert "grammar" not in capsys.readouterr().err


@pytest.mark.parametrize("behaviour", ["missing", "welcome", "silent", "good", "busy"])
def test_where_nobody_has_him_it_is_the_grammar_and_that_is_said(play, capsys, behaviour):
    play(behaviour)
    text = load_text(limit=3000)
    said = capsys.readouterr().err.splitlines()
    assert text.name == "grammar" and text.entropy == grammar_entropy()
    lines = [line for line in said if "no tiny Shakespeare" in line]
    assert len(lines) == 1
    assert "tutor writes sentences of a grammar" in lines[0] and "127.0.0.1" in lines[0]
    with pytest.raises(data.MissingDataError) as caught:
        load_text("shakespeare")
    assert "tinyshakespeare.txt) into a folder and set TUTOR_DATA" in caught.value.do
    assert 'load_text("grammar")' in caught.value.do and "/input.txt" in caught.value.do


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, "no tinyshakespeare.txt"),
        (b"", "0 bytes, where"),
        (PLAY.encode()[:-1], "bytes, where"),
        (PLAY.encode()[:-1] + b"!", "SHA-256"),
        (PLAY.encode() + b"\n", "more than"),
        (b"\xff" * len(PLAY), "SHA-256"),
    ],
)
def test_a_folder_that_is_set_and_does_not_have_him_is_an_error(
    monkeypatch, mirror, play, tmp_path, content, found
):
    """For "auto" too: who names a folder wants the text that is in it."""
    play("plain")
    assert load_text().text == PLAY  # the cache has it now
    mirror.asked.clear()
    root = tmp_path / "own"
    (root / "text").mkdir(parents=True)
    if content is not None:
        (root / "text" / "tinyshakespeare.txt").write_bytes(content)
    monkeypatch.setenv("TUTOR_DATA", str(root))
    for name in ("auto", "shakespeare"):
        with pytest.raises(DataError, match=found) as caught:
            load_text(name)
        assert not isinstance(caught.value, data.MissingDataError)
        assert "unset TUTOR_DATA" in caught.value.do
    assert 'load_text("grammar")' in caught.value.do or content is not None
    assert not mirror.asked
    assert load_text("grammar", 100).name == "grammar"  # which needs no folder


def test_a_damaged_copy_in_the_cache_is_fetched_again(mirror, play, tmp_path, capsys):
    play("plain")
    kept = tmp_path / "cache" / "text" / "tinyshakespeare.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text(PLAY[1:])
    assert load_text().text == PLAY == kept.read_text()
    assert "damaged and will be fetched again" in capsys.readouterr().err


def test_the_grammar_as_a_text():
    text = load_text("grammar", limit=20_000)
    assert text.text == grammar(20_000)[: len(text.text)] and 19_000 < len(text.text) <= 20_000
    assert text.entropy == grammar_entropy() and text.name == "grammar"
    assert text.train + text.test == text.text
    assert 0.9 <= len(text.train) / len(text.text) < 0.92
    for part in (text.text, text.train, text.test):  # whole lines, which can be weighed
        assert part.endswith("\n") and abs(grammar_nats(part) - text.entropy) < 0.06


def test_all_of_the_grammar():
    text = load_text("grammar").text
    assert corpus.LENGTH <= len(text) < corpus.LENGTH + 1000


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "my text.txt"
    path.write_bytes("\ufeffGrün ist\r\nalles.\n".encode() * 1 + b"line\n" * 100)
    for name in (path, str(path)):
        text = load_text(name)
        assert text.text == "Grün ist\nalles.\n" + "line\n" * 100
        assert text.name == "my text.txt" and text.entropy is None and str(path) in text.source
        assert text.test == "line\n" * (len(text.test) // 5) and len(text.test) > 45
    assert load_text(path, limit=12).text == "Grün ist\n"
    assert load_text(path, limit=5).text == "Grün "  # no line ends in it


@pytest.mark.parametrize("text", ["a", "ab", "abcdefghij" * 10, "abc\n" * 3 + "d" * 200, "\n" * 20])
def test_both_parts_are_the_text(tmp_path, text):
    path = tmp_path / "short.txt"
    path.write_text(text)
    loaded = load_text(path)
    assert loaded.train + loaded.test == text == loaded.text
    assert loaded.test


@pytest.mark.parametrize(
    ("content", "found"), [(b"", "empty"), (b"ab\xffc", "byte 2 is not UTF-8"), (None, "no file")]
)
def test_files_that_are_no_text(tmp_path, content, found):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=found) as caught:
        load_text(path)
    assert str(path) in caught.value.asked and caught.value.do
    with pytest.raises(DataError, match="no file"):
        load_text(tmp_path)  # a folder
