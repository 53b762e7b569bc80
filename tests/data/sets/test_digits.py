"""digits: the same seed, the same bytes; and each image shows what its label says."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from random import Random

import pytest

from tutor import data
from tutor.data import digits
from tutor.dtype import uint8
from tutor.errors import DataError, NumberRangeError

WAYS = [(digit, way) for digit in range(10) for way in range(len(digits.GLYPHS[digit]))]


def test_the_same_bytes_on_every_machine():
    images, labels = digits.pixels(50, seed=0)
    assert list(labels[:12]) == [8, 5, 8, 5, 9, 4, 0, 0, 5, 0, 4, 0]
    assert hashlib.sha256(images + labels).hexdigest() == (
        "c606f2c034719d26cbae62e7d54d0573ecc2363d010d07baf9a04afe8ee94ffb"
    )


def test_draw():
    images, labels = digits.draw(20, seed=3)
    assert (images.shape, labels.shape) == ((20, 28, 28), (20,))
    assert images.dtype is labels.dtype is uint8
    assert images.reshape(-1).tolist() == list(digits.pixels(20, seed=3)[0])


def test_more_digits_begin_with_the_same_ones():
    few, many = digits.pixels(5, seed=9), digits.pixels(12, seed=9)
    assert many[0].startswith(few[0])
    assert many[1].startswith(few[1])


def test_seeds_and_splits_differ():
    images = [bytes(digits.pixels(3, seed)[0]) for seed in range(20)]
    assert len(set(images)) == 20
    train, test = (digits.load(split, limit=40)[0] for split in ("train", "test"))
    rows = [bytes(row.reshape(-1).tolist()) for t in (train, test) for row in t]
    assert len(set(rows)) == 80


def test_load():
    found = data.load("digits", limit=7)
    assert [t.shape[0] for t in found[:4]] == [7, 7, 7, 7]
    assert found.source.startswith("digits")
    assert [n for n, _ in digits.SPLITS.values()] == [10_000, 2_000]
    with pytest.raises(DataError, match="train, test"):
        digits.load("valid")


def test_number_of_digits():
    assert digits.draw(0, seed=0)[0].shape == (0, 28, 28)
    with pytest.raises(NumberRangeError):
        digits.draw(-1, seed=0)


def test_every_digit_comes_as_often():
    labels = digits.pixels(1000, seed=4)[1]
    assert set(labels) == set(range(10))
    assert all(60 < labels.count(digit) < 140 for digit in range(10)), "4 sigma, sigma = 9.5"


@pytest.mark.parametrize(("digit", "way"), WAYS)
def test_every_way_of_writing_is_ink_on_paper(monkeypatch, digit, way):
    """Dark ink, not too much, almost none of it at the rim: nothing is cut off."""
    monkeypatch.setitem(digits.__dict__, "STROKES", [[ways[way]] if d == digit else ways
                        for d, ways in enumerate(digits.STROKES)])  # fmt: skip
    roll = Random(7)
    for _ in range(20):
        image = digits.sketch(digit, roll)
        assert len(image) == 784
        assert max(image) >= 199
        assert 20 < sum(pixel > 99 for pixel in image) < 300
        rim = image[:28] + image[-28:] + image[::28] + image[27::28]
        assert sum(pixel > 99 for pixel in rim) <= 6


def test_every_glyph_stays_in_its_square():
    for ways in digits.STROKES:
        for way in ways:
            assert all(len(stroke) > 1 for stroke in way)
            assert all(0 < c < 1 for stroke in way for point in stroke for c in point)


def test_curve_goes_through_its_points_in_small_steps():
    stroke = [(2.0, 3.0), (10.0, 5.0), (12.0, 15.0), (4.0, 20.0)]
    points = list(digits.curve(stroke))
    assert set(stroke) <= set(points)
    steps = [(bx - ax) ** 2 + (by - ay) ** 2 for (ax, ay), (bx, by) in pairwise(points)]
    assert max(steps) < (2 * digits.STEP) ** 2


def test_touch_is_round_and_soft():
    image = bytearray(784)
    digits.touch(image, 13.0, 13.0, pen=2.0, soft=1.0, ink=200.0)
    row = list(image[13 * 28 : 14 * 28])
    assert row[10:17] == [0, 100, 200, 200, 200, 100, 0]  # full to 1.5, gone at 2.5, half at 2
    assert row == [*row[::-1][1:], 0]
    assert row == list(image[13::28])
    before = bytes(image)
    digits.touch(image, 13.0, 13.0, pen=2.0, soft=1.0, ink=150.0)
    assert image == before, "less ink on top changes nothing"
    digits.touch(image, -0.4, 27.4, pen=1.0, soft=1.0, ink=255.0)
    assert image[27 * 28] == 255 * (1.5 - 0.32**0.5) // 1


def test_images_show_their_labels():
    """The nearest of ten mean images names most digits, and by far not all: they are not stamps."""
    images, labels = digits.pixels(700, seed=5)
    rows = [images[i * 784 : (i + 1) * 784] for i in range(700)]
    groups = [
        [row for row, y in zip(rows[:500], labels, strict=False) if y == d] for d in range(10)
    ]
    means = [[sum(pixels) / len(group) for pixels in zip(*group, strict=True)] for group in groups]

    def nearest(row):
        return min(
            range(10), key=lambda d: sum((a - b) ** 2 for a, b in zip(row, means[d], strict=True))
        )

    right = sum(nearest(row) == y for row, y in zip(rows[500:], labels[500:], strict=True))
    assert 110 < right < 190
