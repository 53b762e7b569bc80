"""Texts for a language model: Shakespeare, sentences of a grammar, or a file of your own.

>>> text = load_text("grammar", limit=1000)
>>> text.name, len(text.train) > 8 * len(text.test)
('grammar', True)

Tiny Shakespeare is 1,115,394 characters of his plays, the text that demonstrated Karpathy's
char-rnn (2015). `fetch.py` documents the search path: TUTOR_DATA and its folder `text`, for the
file tinyshakespeare.txt.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from tutor._util import checks, files
from tutor._util.keyword_aliases import spelled
from tutor.data.fetch import File, MissingDataError, fetch
from tutor.data.loader import count
from tutor.data.sets.sentences import grammar, grammar_entropy
from tutor.errors import DataError, DTypeError

SHAKESPEARE = File(
    "text",
    "tinyshakespeare.txt",
    1_115_394,
    "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    (
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
        "https://storage.googleapis.com/download.tensorflow.org/data/shakespeare.txt",
    ),
    instead=', or take tutor.data.load_text("grammar"), which needs no file',
    plain=True,
)
LENGTH = 1_000_000  # characters of the grammar's text, unless a limit says less
LEARNED = 0.9  # share of a text for training; the rest is for testing


class Text(NamedTuple):
    """A text and its source."""

    text: str
    source: str  # where the text came from, in words
    name: str  # shakespeare, grammar, or the name of the file
    entropy: float | None  # nats per character, exactly; None: unknown

    @property
    def train(self) -> str:
        """The first 90 %, up to the end of a line."""
        return self.text[: self.divide()]

    @property
    def test(self) -> str:
        """The rest of the text after `train`."""
        return self.text[self.divide() :]

    def divide(self) -> int:
        """Where the test part begins: at the first line that starts after 90 %, or exactly there if
        no line does."""
        at = int(LEARNED * len(self.text))
        line = self.text.find("\n", at) + 1
        return line if 0 < line < len(self.text) else at


@spelled
def load_text(name: str | os.PathLike[str] = "auto", limit: int = 0) -> Text:
    """The text "shakespeare" or "grammar", or the text of a UTF-8 file, given by its path. "auto"
    is Shakespeare, or the grammar's text (with a line that says so) if Shakespeare cannot be found:
    TUTOR_DATA is not set, there is no cached copy, and the download fails.

    `limit` caps the number of characters, cut at the end of a line; 0 is all. DataError for a
    damaged or missing file (for "auto" too, if TUTOR_DATA is set), or an unknown name.
    """
    most = count("load_text with limit", limit, 0)
    if not isinstance(name, (str, os.PathLike)):
        raise DTypeError("load_text", checks.said(name), "give a name, or the path of a file")
    if name == "auto":
        try:
            return load_text("shakespeare", limit)
        except MissingDataError as error:
            print(
                "tutor: no tiny Shakespeare, so tutor writes sentences of a grammar"
                f" ({error.found})",
                file=sys.stderr,
            )
            return load_text("grammar", limit)
    if name == "shakespeare":
        plays = fetch(SHAKESPEARE, lambda payload: payload.decode(errors="replace"))
        return Text(whole(plays, most), "tiny Shakespeare, from his plays", name, None)
    if name == "grammar":
        written = grammar(most or LENGTH)
        source = "sentences of a grammar, which tutor makes itself"
        return Text(whole(written, most), source, name, grammar_entropy())
    path = Path(name)
    return Text(whole(read_text(path), most), f"the file {path}", path.name, None)


def whole(text: str, most: int) -> str:
    """The text, or its first `most` characters, cut to whole lines if there is at least one."""
    if not most or len(text) <= most:
        return text
    return text[: text.rfind("\n", 0, most) + 1 or most]


def read_text(path: Path) -> str:
    """The text of a file. DataError if the file is missing or not UTF-8."""
    asked = f"the text {os.fspath(path)!r}"
    if not os.path.isfile(path):
        raise DataError(
            asked,
            "no file of that name, and no text of tutor's",
            'give the path of a text file, or "shakespeare", "grammar" or "auto"',
        )
    try:
        with files.opened(path, encoding="utf-8-sig") as file:
            text: str = file.read()
    except OSError as error:
        raise DataError(asked, str(error), "check the file and its permissions") from error
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is not UTF-8 ({error.reason})"
        raise DataError(asked, found, "save the file as UTF-8 text") from error
    if not text:
        raise DataError(asked, "an empty file", "give a file with text in it")
    return text
