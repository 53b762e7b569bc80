"""MNIST: what is in the files, and the way from a file to a Tensor."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mirrors import PAYLOAD

from tutor import data
from tutor.data import mnist
from tutor.dtype import uint8
from tutor.errors import DataError, NumberRangeError
from tutor.methods.tensor import Tensor

REAL_DATA = os.environ.get("TUTOR_DATA")
SHAPE = (3, 2, 4)
NUMBERS = bytes(range(24))
HEADER = bytes.fromhex("00000803 00000003 00000002 00000004")


# ---- IDX -----------------------------------------------------------------------------------------


def test_read_idx():
    assert bytes(mnist.read_idx(HEADER + NUMBERS, SHAPE)) == NUMBERS
    assert bytes(mnist.read_idx(bytes.fromhex("00000801 00000002 0709"), (2,))) == b"\x07\x09"
    assert bytes(mnist.read_idx(bytes.fromhex("00000801 00000000"), (0,))) == b""


WRONG = [  # payload, what the error says
    (b"", "0 bytes, fewer than the 16"),
    (HEADER[:15], "15 bytes, fewer than the 16"),
    (b"\x08\x03" + HEADER[2:] + NUMBERS, "starts with 0x08030803"),
    (bytes.fromhex("00000801 00000018") + NUMBERS, "starts with 0x00000801"),
    (bytes.fromhex("00000d03") + HEADER[4:] + NUMBERS, "starts with 0x00000d03"),
    (HEADER[:4] + HEADER[12:16] + HEADER[4:12] + NUMBERS, r"shape \(4, 3, 2\), where \(3, 2, 4\)"),
    (HEADER[:4] + struct.pack("<3I", *SHAPE) + NUMBERS, r"shape \(50331648, "),
    (HEADER + NUMBERS[:-1], "23 numbers after a header that says 24"),
    (HEADER + NUMBERS + b"\0", "25 numbers after a header that says 24"),
]


@pytest.mark.parametrize(("payload", "found"), WRONG)
def test_read_idx_refuses(payload, found):
    with pytest.raises(DataError, match=found):
        mnist.read_idx(payload, SHAPE)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.data())
def test_read_idx_is_exact(sizes, source):
    numbers = source.draw(st.binary(min_size=math.prod(sizes), max_size=math.prod(sizes)))
    whole = struct.pack(f">4B{len(sizes)}I", 0, 0, 8, len(sizes), *sizes) + numbers
    assert bytes(mnist.read_idx(whole, tuple(sizes))) == numbers
    cut = source.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(DataError):
        mnist.read_idx(whole[:cut], tuple(sizes))


# ---- load, with small files of the same kind -----------------------------------------------------


@pytest.fixture
def small(monkeypatch, tmp_path):
    """MNIST with 6 and 4 images of 28 x 28; returns what should be read, and the files' folder."""
    folder = tmp_path / "own" / "mnist"
    folder.mkdir(parents=True)
    monkeypatch.setenv("TUTOR_DATA", str(folder.parent))
    expected, files, shapes = {}, {}, {}
    for split, n in (("train", 6), ("test", 4)):
        shapes[split] = ((n, 28, 28), (n,))
        expected[split] = [bytes(i * 7 % 256 for i in range(n * 784)), bytes(range(n))]
        rows = []
        for file, shape, numbers in zip(
            mnist.FILES[split], shapes[split], expected[split], strict=True
        ):
            payload = struct.pack(f">4B{len(shape)}I", 0, 0, 8, len(shape), *shape) + numbers
            (folder / f"{file.name}.gz").write_bytes(gzip.compress(payload))
            digest = hashlib.sha256(payload).hexdigest()
            rows.append(file._replace(size=len(payload), sha256=digest, mirrors=()))
        files[split] = tuple(rows)
    monkeypatch.setattr(mnist, "FILES", files)
    monkeypatch.setattr(mnist, "SHAPES", shapes)
    return expected, folder


@pytest.mark.parametrize(("split", "n"), [("train", 6), ("test", 4)])
def test_load(small, split, n):
    images, labels = mnist.load(split)
    assert isinstance(images, Tensor)
    assert (images.shape, labels.shape) == ((n, 28, 28), (n,))
    assert images.dtype is labels.dtype is uint8
    assert [bytes(t.buf.tolist()) for t in (images, labels)] == small[0][split]
    assert images[1, 0, 1].item() == 785 * 7 % 256


def test_load_limit(small):
    images, labels = mnist.load("train", limit=2)
    assert (images.shape, labels.tolist()) == ((2, 28, 28), [0, 1])
    assert mnist.load("train", limit=100)[1].tolist() == list(range(6))


def test_load_dataset(small):
    found = data.load("mnist")
    assert [t.shape[0] for t in found[:4]] == [6, 6, 4, 4]
    assert found.source.startswith("MNIST")
    assert [t.shape[0] for t in data.load("mnist", limit=5)[:4]] == [5, 5, 4, 4]


def test_exchanged_files_are_told_apart(small):
    """What a learner who renamed the wrong file reads."""
    folder = small[1]
    (folder / "train-images-idx3-ubyte.gz").write_bytes(
        (folder / "train-labels-idx1-ubyte.gz").read_bytes()
    )
    with pytest.raises(DataError) as caught:
        mnist.load("train")
    assert caught.value.asked == "train-images-idx3-ubyte from TUTOR_DATA"
    assert "train-images-idx3-ubyte.gz: 14 bytes, fewer than the 16" in caught.value.found


def test_one_changed_pixel_is_noticed(small):
    path = small[1] / "t10k-images-idx3-ubyte.gz"
    payload = bytearray(gzip.decompress(path.read_bytes()))
    payload[1000] ^= 1
    path.write_bytes(gzip.compress(payload))
    with pytest.raises(DataError, match="SHA-256"):
        mnist.load("test")


def test_unknown_names():
    with pytest.raises(DataError, match="train, test"):
        mnist.load("valid")
    with pytest.raises(DataError, match="mnist, digits, auto"):
        data.load("cifar")
    with pytest.raises(NumberRangeError):
        data.load("digits", limit=0)


def test_download(monkeypatch, mirror):
    """From a mirror to a Tensor; the file is no IDX file, which the error says of this mirror."""
    monkeypatch.setattr(mnist, "SHAPES", {"train": ((len(PAYLOAD),), (10,))})
    row = mnist.FILES["train"][0]
    row = row._replace(mirrors=(mirror.url("missing"), mirror.url("good")))
    monkeypatch.setattr(mnist, "FILES", {"train": (row, row)})
    with pytest.raises(DataError) as caught:
        mnist.load("train")
    assert "404" in caught.value.found
    assert "it starts with 0x" in caught.value.found
    assert "tutor.data.load('digits')" in caught.value.do


# ---- auto ----------------------------------------------------------------------------------------


def test_auto_takes_mnist_where_it_is(small, capsys):
    assert data.load("auto").source.startswith("MNIST")
    assert capsys.readouterr().err == ""


def test_auto_says_so_and_takes_digits_where_it_is_not(monkeypatch, mirror, capsys):
    rows = {
        split: tuple(file._replace(mirrors=(mirror.url("missing"),)) for file in files)
        for split, files in mnist.FILES.items()
    }
    monkeypatch.setattr(mnist, "FILES", rows)
    found = data.load("auto", limit=3)
    assert found.source.startswith("digits")
    assert [t.shape[0] for t in found[:4]] == [3, 3, 3, 3]
    seen = capsys.readouterr()
    assert len(seen.err.splitlines()) == 1
    assert "no MNIST, so tutor draws digits itself" in seen.err
    assert "404" in seen.err
    assert seen.out == ""


def broken(folder):
    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-9])


def changed(folder):
    path = folder / "t10k-labels-idx1-ubyte.gz"
    payload = bytearray(gzip.decompress(path.read_bytes()))
    payload[-1] ^= 1
    path.write_bytes(gzip.compress(payload))


def without_labels(folder):
    (folder / "train-labels-idx1-ubyte.gz").unlink()


def without_all(folder):
    for path in folder.iterdir():
        path.unlink()


def without_folder(folder):
    without_all(folder)
    folder.rmdir()
    folder.parent.rmdir()


SPOILED = [  # what is done to TUTOR_DATA, what the error says of it
    (broken, "train-images-idx3-ubyte.gz: the gzip data end early"),
    (changed, "t10k-labels-idx1-ubyte.gz: SHA-256 .*, where .* was expected"),
    (without_labels, "no train-labels-idx1-ubyte or train-labels-idx1-ubyte.gz, in "),
    (without_all, "no train-images-idx3-ubyte or train-images-idx3-ubyte.gz, in "),
    (without_folder, "which is no folder"),
]


@pytest.mark.parametrize("name", ["auto", "mnist"])
@pytest.mark.parametrize(("spoil", "found"), SPOILED)
def test_a_tutor_data_that_is_not_good_is_no_reason_to_draw_digits(
    small, capsys, name, spoil, found
):
    spoil(small[1])
    with pytest.raises(DataError, match=found) as caught:
        data.load(name)
    assert "TUTOR_DATA" in str(caught.value)
    assert caught.value.do
    assert "draws" not in capsys.readouterr().err
    assert data.load("digits", limit=2).name == "digits", (
        "what needs no files is there all the same"
    )


def test_a_damaged_cache_is_no_reason_to_draw_digits(small, monkeypatch, mirror, tmp_path):
    rows = {
        split: tuple(file._replace(mirrors=(mirror.url("missing"),)) for file in files)
        for split, files in mnist.FILES.items()
    }
    monkeypatch.setattr(mnist, "FILES", rows)
    kept = tmp_path / "cache" / "mnist"
    kept.parent.mkdir(exist_ok=True)
    small[1].rename(kept)
    monkeypatch.delenv("TUTOR_DATA")
    assert data.load("auto").name == "mnist"
    broken(kept)
    with pytest.raises(DataError, match="is damaged"):
        data.load("auto")


# ---- the checksum of a data set ------------------------------------------------------------------


def test_the_checksum_is_of_all_that_is_in_a_data_set():
    whole = data.load("digits", limit=3)
    assert whole.sha256() == data.load("digits", limit=3).sha256()
    others = {whole.sha256(), data.load("digits", limit=2).sha256()}
    for i in range(4):
        t = whole[i].copy()
        t[(-1,) * len(t.shape)] = 99 - t[(-1,) * len(t.shape)].item()
        others.add(whole._replace(**{whole._fields[i]: t}).sha256())
    others.add(
        whole._replace(train_labels=whole.test_labels, test_labels=whole.train_labels).sha256()
    )
    others.add(whole._replace(train_images=whole.train_images.reshape(3, 784)).sha256())
    assert len(others) == 8


def test_the_checksum_of_a_data_set_does_not_depend_on_how_it_lies_in_memory(small):
    limited = data.load("mnist", limit=2)  # views of all that was read
    copies = limited._replace(train_images=limited.train_images.copy())
    assert limited.sha256() == copies.sha256() != data.load("mnist").sha256()


def test_importing_needs_no_other_package():
    """Who only imports pays for nothing: no numpy, no tqdm."""
    code = "import sys, tutor.data; print({'numpy', 'tqdm', 'matplotlib'} & set(sys.modules))"
    root = Path(data.__file__).parents[2]
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True, cwd=root).stdout == "set()\n"


# ---- the real files ------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL_DATA, reason="the real MNIST: set TUTOR_DATA to its folder")
def test_the_real_files(monkeypatch):
    """Counts of each digit, and the first labels, as everybody has them."""
    monkeypatch.setenv("TUTOR_DATA", REAL_DATA)
    found = data.load("mnist")
    assert [t.shape for t in found[:4]] == [(60000, 28, 28), (60000,), (10000, 28, 28), (10000,)]
    train, test = found.train_labels.tolist(), found.test_labels.tolist()
    assert train[:8] == [5, 0, 4, 1, 9, 2, 1, 3]
    assert test[:8] == [7, 2, 1, 0, 4, 1, 4, 9]
    assert [test.count(d) for d in range(10)] == [
        980,
        1135,
        1032,
        1010,
        982,
        892,
        958,
        1028,
        974,
        1009,
    ]
    pixels = bytes(found.train_images[0].reshape(-1).tolist())
    assert (sum(pixels), max(pixels), pixels[:28]) == (27525, 255, bytes(28))
