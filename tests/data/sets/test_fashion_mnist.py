"""Fashion-MNIST's files: found in their own folders, checked, and never taken for MNIST's."""

from __future__ import annotations

import gzip
import hashlib
import struct

import pytest

from tutor import data
from tutor.data import MissingDataError, fashion_mnist, mnist
from tutor.errors import DataError

SPLIT = mnist.FILES["test"]


def idx(shape, fill):
    """An IDX file of that shape, all its numbers alike."""
    count = 1
    for size in shape:
        count *= size
    return struct.pack(f">{1 + len(shape)}I", 0x800 | len(shape), *shape) + bytes([fill]) * count


def write(folder, packed=True):
    folder.mkdir(parents=True, exist_ok=True)
    for file, shape, fill in zip(SPLIT, mnist.SHAPES["test"], (200, 7), strict=True):
        payload = idx(shape, fill)
        name = f"{file.name}.gz" if packed else file.name
        (folder / name).write_bytes(gzip.compress(payload, 1) if packed else payload)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TUTOR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "folder", ["fashion-mnist", "fashion_mnist", "fashion", "FashionMNIST/raw"]
)
def test_it_is_found_in_its_folders(home, folder, packed):
    write(home / "data" / folder, packed)
    images, labels = fashion_mnist.load("test", 5)
    assert images.shape == (5, 28, 28) and labels.tolist() == [7] * 5
    assert images.dtype.name == labels.dtype.name == "uint8" and images.max().item() == 200


def test_it_is_found_in_the_cache(home, monkeypatch):
    monkeypatch.delenv("TUTOR_DATA")
    write(home / "cache" / "fashion-mnist")
    assert fashion_mnist.load("test")[0].shape == (10_000, 28, 28)


def in_three_parts(error):
    return bool(error.asked and error.found and error.do)


def test_mnist_s_files_are_not_taken_for_it(home, monkeypatch):
    write(home / "data")  # where MNIST's may lie
    with pytest.raises(DataError, match="its folder fashion-mnist") as caught:
        fashion_mnist.load("test")
    assert in_three_parts(caught.value)
    write(home / "data" / "fashion-mnist", packed=False)
    path = home / "data" / "fashion-mnist" / SPLIT[0].name
    digits = SPLIT[0]._replace(sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setitem(mnist.FILES, "test", (digits, SPLIT[1]))
    with pytest.raises(DataError, match="the file of MNIST") as caught:
        fashion_mnist.load("test")
    assert in_three_parts(caught.value)


def test_missing_and_damaged_files_are_explained(home, monkeypatch):
    write(home / "data" / "fashion-mnist")
    path = home / "data" / "fashion-mnist" / f"{SPLIT[0].name}.gz"
    payload = path.read_bytes()
    for wrong in (payload[:-20], gzip.compress(idx((9_999, 28, 28), 1)), b"", payload[:100]):
        path.write_bytes(wrong)
        with pytest.raises(DataError) as caught:
            fashion_mnist.load("test")
        assert in_three_parts(caught.value)
    monkeypatch.delenv("TUTOR_DATA")
    with pytest.raises(MissingDataError, match="into a folder fashion-mnist") as caught:
        data.load("fashion_mnist")
    assert in_three_parts(caught.value) and "digits" in caught.value.do
    with pytest.raises(DataError, match="no such split"):
        fashion_mnist.load("validation")
    assert len(fashion_mnist.CLASSES) == 10
