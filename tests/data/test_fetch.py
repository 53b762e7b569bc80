"""fetch: whatever the network or a disk does, the right bytes arrive, or an error that helps."""

from __future__ import annotations

import builtins
import contextlib
import errno
import gzip
import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mirrors import PACKED, PAYLOAD

from tutor.data import fetch, mnist
from tutor.errors import DataError


def cached(tmp_path):
    return tmp_path / "cache" / "set" / "numbers.gz"


# ---- the network ---------------------------------------------------------------------------------

# The behaviours of the mirrors in their order, and how often each is asked until the file is there.
GOOD = [
    (["good"], [1]),
    (["plain"], [1]),
    (["moved"], [1]),
    (["trailing"], [1]),
    (["missing", "good"], [1, 1]),
    (["truncated", "good"], [1, 1]),
    (["corrupt", "good"], [1, 1]),
    (["other", "good"], [1, 1]),
    (["welcome", "good"], [1, 1]),
    (["bomb", "good"], [1, 1]),
    (["endless", "good"], [1, 1]),
    (["silent", "good"], [1, 1]),
    (["stalling", "good"], [1, 1]),
    (["tired"], [2]),
    (["cut"], [2]),
    (["missing", "tired"], [1, 2]),
    (["good", "missing"], [1, 0]),
]


@pytest.mark.parametrize(("behaviours", "times"), GOOD, ids=lambda value: "-".join(map(str, value)))
def test_arrives(mirror, file, tmp_path, behaviours, times):
    assert fetch.fetch(file(*behaviours), bytes) == PAYLOAD
    assert [mirror.asked[behaviour] for behaviour in behaviours] == times
    assert [path.name for path in cached(tmp_path).parent.iterdir()] == ["numbers.gz"]
    mirror.asked.clear()
    assert fetch.fetch(file(*behaviours), bytes) == PAYLOAD
    assert not mirror.asked, "the second time it comes from the cache"


BAD = [
    ("missing", 1, "404"),
    ("busy", fetch.ATTEMPTS, "503"),
    ("truncated", fetch.ATTEMPTS, "end early"),
    ("corrupt", fetch.ATTEMPTS, "damaged gzip data"),
    ("other", fetch.ATTEMPTS, "SHA-256"),
    ("welcome", fetch.ATTEMPTS, f"42 bytes, where {len(PAYLOAD)} were expected"),
    ("bomb", fetch.ATTEMPTS, f"more than the {len(PAYLOAD)} bytes"),
    ("silent", 1, "no answer for 1 seconds"),
    ("stalling", 1, "no answer for 1 seconds"),
]


@pytest.mark.parametrize(("behaviour", "times", "why"), BAD, ids=[row[0] for row in BAD])
def test_fails(mirror, file, tmp_path, monkeypatch, behaviour, times, why):
    if times > 1:  # the mirror answers, however busy the machine is
        monkeypatch.setattr(fetch, "PATIENCE", 60)
    with pytest.raises(DataError) as caught:
        fetch.fetch(file(behaviour), bytes)
    assert mirror.asked[behaviour] == times
    assert "numbers of the data set set" in caught.value.asked
    assert f"127.0.0.1:{mirror.server_port}: " in caught.value.found
    assert why in caught.value.found
    assert "TUTOR_DATA" in caught.value.do
    assert not cached(tmp_path).exists()


def test_a_name_nobody_knows_is_asked_once(monkeypatch, file):
    asked = []

    def nobody(host, *rest, **options):
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    away = file()._replace(mirrors=("http://one.invalid/", "http://two.invalid/"))
    with pytest.raises(DataError, match=r"one\.invalid: .*not known; two\.invalid: .*not known"):
        fetch.fetch(away, bytes)
    assert asked == ["one.invalid", "two.invalid"]


def test_a_name_service_that_hangs_does_not_hold_us(monkeypatch, file, mirror):
    ask = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **o: (
            mirror.released.wait() if host == "hangs.invalid" else ask(host, *rest)
        ),
    )
    good = file("good")
    both = good._replace(mirrors=("http://hangs.invalid/", *good.mirrors))
    assert fetch.fetch(both, bytes) == PAYLOAD


def test_a_refused_connection_is_tried_again(file):
    with socket.socket() as unused:  # bound, but nobody listens
        unused.bind(("127.0.0.1", 0))
        away = file()._replace(mirrors=(f"http://127.0.0.1:{unused.getsockname()[1]}/",))
        with pytest.raises(DataError, match="refused"):
            fetch.fetch(away, bytes)


def test_the_deadline_ends_it_all(monkeypatch, mirror, file):
    monkeypatch.setattr(fetch, "DEADLINE", 0.0)
    with pytest.raises(DataError, match="no answer"):
        fetch.fetch(file("silent"), bytes)


# ---- the disk ------------------------------------------------------------------------------------


def test_a_damaged_cache_is_reported_and_replaced(mirror, file, tmp_path, capsys):
    kept = cached(tmp_path)
    kept.parent.mkdir(parents=True)
    for damaged in (b"", PACKED[:-9], PAYLOAD[:-1], gzip.compress(b"something else")):
        kept.write_bytes(damaged)
        assert fetch.fetch(file("good"), bytes) == PAYLOAD
        assert f"{kept} is damaged" in capsys.readouterr().err
        assert kept.read_bytes() == PACKED


def test_a_damaged_cache_stays_if_nothing_better_comes(file, tmp_path):
    kept = cached(tmp_path)
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"damaged")
    with pytest.raises(DataError):
        fetch.fetch(file("missing"), bytes)
    assert kept.read_bytes() == b"damaged"


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (os, "replace"), (Path, "mkdir")])
def test_a_cache_that_cannot_be_written(monkeypatch, file, tmp_path, capsys, owner, step):
    def full(*given, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(owner, step, full)
    assert fetch.fetch(file("good"), bytes) == PAYLOAD
    assert "No space left on device" in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_write_that_breaks_off_leaves_the_old_file(monkeypatch, tmp_path):
    old = tmp_path / "old.gz"
    old.write_bytes(b"old")

    def interrupted(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch.keep(b"new", old)
    assert old.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [old]


PLACES = [
    "set/numbers",
    "set/numbers.gz",
    "set/num.bers",
    "set/num.bers.gz",
    "numbers",
    "num.bers.gz",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("content", [PACKED, PAYLOAD], ids=["gzip", "plain"])
def test_the_users_copy(monkeypatch, mirror, file, tmp_path, place, content):
    monkeypatch.setenv("TUTOR_DATA", str(tmp_path))
    (tmp_path / "set").mkdir()
    (tmp_path / place).write_bytes(content)
    assert fetch.fetch(file("good"), bytes) == PAYLOAD
    assert not mirror.asked
    assert not (tmp_path / "cache").exists()


def test_a_damaged_users_copy_is_an_error_and_is_left_alone(monkeypatch, mirror, file, tmp_path):
    monkeypatch.setenv("TUTOR_DATA", str(tmp_path))
    own = tmp_path / "numbers.gz"
    own.write_bytes(PACKED[:-1])
    with pytest.raises(DataError) as caught:
        fetch.fetch(file("good"), bytes)
    assert "TUTOR_DATA" in caught.value.asked
    assert f"{own}: the gzip data end early" in caught.value.found
    assert "numbers.gz" in caught.value.do
    assert own.read_bytes() == PACKED[:-1]
    assert not mirror.asked


def test_a_users_folder_without_the_file_is_an_error(monkeypatch, mirror, file, tmp_path):
    """Who names a folder wants the data in it: neither the cache nor a mirror stands in."""
    assert fetch.fetch(file("good"), bytes) == PAYLOAD  # it is in the cache now
    mirror.asked.clear()
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_bytes(b"no folder")
    for name, found in (("nowhere", "no folder"), ("text", "no folder"), ("empty", "no numbers")):
        monkeypatch.setenv("TUTOR_DATA", str(tmp_path / name))
        with pytest.raises(DataError, match=found) as caught:
            fetch.fetch(file("good"), bytes)
        assert not isinstance(caught.value, fetch.MissingDataError)
        assert str(tmp_path / name) in caught.value.found
        assert "unset TUTOR_DATA" in caught.value.do
    assert not mirror.asked
    monkeypatch.setenv("TUTOR_DATA", "")  # as if it were not set
    assert fetch.fetch(file("missing"), bytes) == PAYLOAD


def test_only_a_file_that_nobody_has_is_missing(file, tmp_path):
    with pytest.raises(fetch.MissingDataError):
        fetch.fetch(file("missing"), bytes)
    cached(tmp_path).parent.mkdir(parents=True)
    cached(tmp_path).write_bytes(PACKED[:-9])
    with pytest.raises(DataError, match=r"is damaged .*, and it could not be fetched") as caught:
        fetch.fetch(file("missing"), bytes)
    assert not isinstance(caught.value, fetch.MissingDataError)
    assert str(cached(tmp_path)) in caught.value.found


ENVIRONMENTS = [  # platform, environment, folder
    ("linux", {"TUTOR_CACHE": "/t", "XDG_CACHE_HOME": "/x"}, "/t"),
    ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/tutor"),
    ("linux", {}, "/home/me/.cache/tutor"),
    ("darwin", {}, "/home/me/Library/Caches/tutor"),
    ("win32", {"LOCALAPPDATA": "/l"}, "/l/tutor/cache"),
    ("win32", {}, "/home/me/.cache/tutor"),
]


@pytest.mark.parametrize(("platform", "environment", "folder"), ENVIRONMENTS)
def test_cache_folder(monkeypatch, platform, environment, folder):
    for name in ("TUTOR_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert fetch.cache_folder() == Path(folder)


def test_cache_folder_of_an_account_without_a_home(monkeypatch, tmp_path):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("TUTOR_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(fetch.tempfile, "gettempdir", lambda: str(tmp_path))
    assert fetch.cache_folder() == tmp_path / "tutor"


# ---- the bytes -----------------------------------------------------------------------------------

FILE = fetch.File(
    "set", "numbers", len(PAYLOAD), fetch.hashlib.sha256(PAYLOAD).hexdigest(), mirrors=()
)


@given(st.integers(0, len(PACKED) - 1), st.integers(1, 255))
def test_a_flipped_bit_is_noticed(position, flip):
    """The result is right (gzip's header has bytes that mean nothing) or a DataError: no third."""
    packed = bytearray(PACKED)
    packed[position] ^= flip
    with contextlib.suppress(DataError):
        assert fetch.unpack(bytes(packed), FILE, bytes) == PAYLOAD


@given(st.integers(0, len(PACKED) - 1))
def test_a_cut_is_noticed(length):
    with pytest.raises(DataError):
        fetch.unpack(PACKED[:length], FILE, bytes)


@given(st.binary(max_size=300))
def test_anything_else_is_refused(content):
    for packed in (content, fetch.GZIP + content, gzip.compress(content)):
        with pytest.raises(DataError):
            fetch.unpack(packed, FILE, bytes)


def test_what_parse_finds_comes_first(file):
    def parse(payload):
        raise DataError("numbers", "letters", "bring numbers")

    with pytest.raises(DataError, match="letters"):
        fetch.unpack(b"abc", FILE, parse)


# ---- what the user sees --------------------------------------------------------------------------


def test_progress_in_lines(monkeypatch, file, capsys):
    real = builtins.__import__

    def without_tqdm(name, *rest):
        if name == "tqdm":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_tqdm)
    wanted = file("good")
    assert fetch.fetch(wanted, bytes) == PAYLOAD
    seen = capsys.readouterr()
    assert seen.out == ""
    lines = seen.err.splitlines()
    assert lines[0] == f"tutor: downloading {wanted.mirrors[0]}numbers.gz"
    assert lines[-1] == "tutor: numbers.gz: 0.0 of 0.0 MB"


def test_lines_say_each_quarter_once(capsys):
    lines = fetch.Lines("http://host/numbers.gz", 8_000_000)
    for _ in range(80):
        lines.update(100_000)
    shown = [line.split(": ")[-1] for line in capsys.readouterr().err.splitlines()[1:]]
    assert shown == [f"{done}.0 of 8.0 MB" for done in (2, 4, 6, 8)]


def test_progress_with_tqdm(file, capsys):
    pytest.importorskip("tqdm", reason="tqdm's bar is shown only where tqdm is installed")
    fetch.fetch(file("good"), bytes)
    seen = capsys.readouterr()
    assert "numbers.gz" in seen.err
    assert seen.out == ""


def test_own_copy_is_looked_for_where_tutor_data_points(tmp_path, monkeypatch):
    file = mnist.FILES["train"][0]
    monkeypatch.delenv("TUTOR_DATA", raising=False)
    assert fetch.own_copy(file) is None
    (tmp_path / f"{file.name}.gz").write_bytes(b"x")
    monkeypatch.setenv("TUTOR_DATA", str(tmp_path))
    assert (
        fetch.own_copy(file) == fetch.own_copy(file, str(tmp_path)) == tmp_path / f"{file.name}.gz"
    )
