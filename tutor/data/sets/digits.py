"""Handwritten-looking digits that tutor draws itself: a data set without a download.

A digit is a few strokes, each a smooth curve through control points (`GLYPHS`, with several ways of
writing each digit). For every image the points are shaken, bent, slanted, stretched, turned and
moved; then a pen, a soft round disc of varying width, follows the curves. A pixel is as dark as the
darkest touch of the pen.

It uses only + - * / and sqrt of Python floats: IEEE 754 rounds these identically everywhere, so the
same seed gives the same bytes on every machine.

    >>> images, labels = draw(4, seed=0)
    >>> images.shape, labels.tolist()
    ((4, 28, 28), [8, 5, 8, 5])
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, sqrt
from random import Random

from tutor._util.typing import DeviceLike
from tutor.backends import devices
from tutor.core.buffer import Buffer
from tutor.dtype import uint8
from tutor.errors import DataError, NumberRangeError
from tutor.methods.tensor import Tensor

SIDE = 28
SPLITS = {"train": (10_000, 1), "test": (2_000, 2)}  # (number of digits, seed)
STEP = 0.7  # pixels between touches of the pen: too close to be seen

Point = tuple[float, float]
Stroke = list[Point]

# Ways of writing each digit. Strokes are separated by |, points are x,y in percent of a square, y
# downwards. Points with the same coordinates stay together when shaken.
GLYPHS = (
    (  # 0: closed, and with its ends crossing at the top
        "52,6 30,16 20,50 30,86 50,94 70,84 80,50 70,14 52,6",
        "62,10 40,10 22,40 26,80 50,94 72,80 80,44 66,12 50,8",
    ),
    (  # 1: a bar, with a flag, with flag and foot
        "52,5 50,35 49,65 48,95",
        "30,28 42,18 54,5 | 54,5 53,35 52,65 52,95",
        "32,26 42,18 52,5 | 52,5 52,35 51,65 51,93 | 28,94 51,93 74,94",
    ),
    (  # 2: with an angle, with a loop, round at the foot
        "24,26 34,9 56,5 74,18 70,42 46,68 22,93 | 22,93 50,92 82,92",
        "24,24 38,7 62,7 72,26 60,52 36,80 22,92 18,80 32,74 52,86 82,92",
        "22,30 30,10 54,5 72,20 66,46 42,72 24,90 46,90 64,94 84,84",
    ),
    (  # 3: two bows, flat at the top
        "24,16 44,5 68,12 70,32 46,46 | 46,46 74,54 78,76 56,95 22,86",
        "22,8 48,7 76,7 | 76,7 60,26 44,42 | 44,42 72,48 78,72 58,94 20,86",
        "26,14 46,5 66,12 66,32 48,45 66,50 76,70 60,92 38,95 20,84",
    ),
    (  # 4: open, closed, written in one go
        "28,6 24,32 20,56 | 20,56 50,55 84,52 | 66,10 64,40 62,68 61,96",
        "64,5 42,32 18,64 | 18,64 50,64 86,62 | 64,5 64,36 63,66 63,96",
        "32,8 22,36 30,54 54,50 72,30 | 76,8 72,30 66,62 60,96",
    ),
    (  # 5: the bar last, in one go
        "32,8 30,26 28,44 | 28,44 52,36 74,50 74,76 52,95 22,86 | 32,8 54,7 78,6",
        "76,7 52,8 34,10 | 34,10 30,26 26,46 | 26,46 50,40 74,56 70,82 46,95 20,84",
        "78,10 56,6 36,12 28,32 42,44 66,54 70,78 48,94 20,86",
    ),
    (  # 6: straight, curled
        "64,5 44,24 26,54 26,80 46,95 68,86 72,66 54,54 34,62 25,76",
        "72,14 54,6 32,24 22,56 26,84 48,95 70,84 72,64 54,52 32,60 24,74",
    ),
    (  # 7: plain, with a bar, with a hook
        "20,10 50,9 80,8 | 80,8 62,38 50,66 42,96",
        "20,10 50,9 80,8 | 80,8 62,38 50,66 42,96 | 32,52 52,50 74,48",
        "20,24 22,10 50,9 80,8 | 80,8 66,30 56,60 52,96",
    ),
    (  # 8: in one go from the top, as two rings
        "70,16 50,5 30,14 32,34 52,48 74,66 70,88 50,96 28,86 28,66 50,48 68,32 70,16",
        "50,5 30,14 32,36 50,46 68,34 70,14 50,5 | 50,46 26,60 26,84 50,95 74,84 74,60 50,46",
    ),
    (  # 9: straight stem, curled stem
        "72,20 54,5 32,14 28,38 46,50 66,40 72,20 | 72,20 70,46 66,70 62,96",
        "70,18 52,5 30,16 28,40 48,50 68,38 70,18 72,44 66,78 48,95 26,86",
        "70,14 46,6 28,22 32,44 54,46 70,28 | 72,12 70,28 64,60 52,96",
    ),
)


def _point(pair: str) -> tuple[float, float]:
    x, y = pair.split(",")
    return int(x) / 100, int(y) / 100


# STROKES[digit][way] is a list of strokes: the table above as numbers from 0 to 1.
STROKES: list[list[list[Stroke]]] = [
    [[[_point(pair) for pair in stroke.split()] for stroke in way.split("|")] for way in ways]
    for ways in GLYPHS
]


def draw(n: int, seed: int, *, device: DeviceLike | None = None) -> tuple[Tensor, Tensor]:
    """`n` digits: images uint8 (n, 28, 28), from 0 for paper to 255 for ink, and labels uint8 (n,).

    The same seed gives the same digits; a larger n only adds more of them.
    """
    images, labels = pixels(n, seed)
    there = devices.of(device)
    return (
        Tensor(Buffer.from_memory(images, dtype=uint8, device=there), (n, SIDE, SIDE)),
        Tensor(Buffer.from_memory(labels, dtype=uint8, device=there), (n,)),
    )


def load(
    split: str, limit: int | None = None, *, device: DeviceLike | None = None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The fixed set "train" (10,000 digits) or "test" (2,000 different ones), or its first `limit`
    digits, in the form that `draw` returns."""
    if split not in SPLITS:
        raise DataError(f"digits {split!r}", "no such split", f"use one of {', '.join(SPLITS)}")
    n, seed = SPLITS[split]
    return draw(n if limit is None else min(n, limit), seed, device=device)


def pixels(n: int, seed: int) -> tuple[bytearray, bytearray]:
    """The bytes of `draw`: n images of 784 pixels, row by row, and n labels."""
    if n < 0:
        raise NumberRangeError(f"{n} digits", "a negative number", "use 0 or more")
    roll, images, labels = Random(seed), bytearray(), bytearray()
    for _ in range(n):
        labels.append(int(10 * roll.random()))
        images += sketch(labels[-1], roll)
    return images, labels


def sketch(digit: int, roll: Random) -> bytearray:
    """One image of `digit`; `roll` supplies its random choices."""
    ways = STROKES[digit]
    strokes = place(ways[int(len(ways) * roll.random())], roll)
    image = bytearray(SIDE * SIDE)
    pen, soft, ink = roll.uniform(0.8, 1.7), roll.uniform(0.9, 1.5), roll.uniform(200, 255)
    for stroke in strokes:
        touches = list(curve(stroke))
        begin, middle, end = (roll.uniform(-0.25, 0.25) for _ in range(3))  # pressure
        gap = int(len(touches) * roll.uniform(0.2, 16))  # mostly beyond the end: no gap
        for i, (x, y) in enumerate(touches):
            if not gap <= i < gap + 4:  # the ink fails for 3 pixels
                t = i / len(touches)
                pressure = 1 + begin * (1 - t) + middle * 4 * t * (1 - t) + end * t
                touch(image, x, y, pen * pressure * roll.uniform(0.93, 1.07), soft, ink)
    return image


def place(strokes: list[Stroke], roll: Random) -> list[Stroke]:
    """The strokes of a glyph on the paper, in pixels, varied at random for each writer and digit.

    Slant is a shear, x - slant * y. A turn by the angle a needs no sin and cos: with t = tan(a/2),
    cos a = (1 - t*t) / (1 + t*t) and sin a = 2*t / (1 + t*t).
    """
    bow, lean, sag, tilt = (roll.uniform(-0.22, 0.22) for _ in range(4))
    slant, t = roll.uniform(-0.1, 0.45), roll.uniform(-0.13, 0.13)
    cos, sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    height = roll.uniform(15, 20)
    width = height * roll.uniform(0.75, 1.1)
    middle_x, middle_y = (SIDE / 2 - 0.5 + roll.uniform(-2, 2) for _ in range(2))

    def put(point: Point) -> Point:
        x, y = (c - 0.5 + roll.uniform(-0.035, 0.035) for c in point)
        x, y = x + bow * (0.25 - y * y) + lean * x * y, y + sag * (0.25 - x * x) + tilt * x * y
        x, y = (x - slant * y) * width, y * height
        return middle_x + cos * x - sin * y, middle_y + sin * x + cos * y

    placed = {p: put(p) for p in dict.fromkeys(p for stroke in strokes for p in stroke)}
    return [[placed[p] for p in stroke] for stroke in strokes]


def curve(stroke: Stroke) -> Iterator[Point]:
    """Points STEP apart on a smooth curve through the points of `stroke`.

    Between b and c, with neighbours a and d, it is the cubic with slope (c - a) / 2 at b and
    (d - b) / 2 at c (Catmull & Rom 1974, "A class of local interpolating splines").
    """
    points = [stroke[0], *stroke, stroke[-1]]
    for i in range(len(stroke) - 1):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = points[i : i + 4]
        count = int(sqrt((cx - bx) ** 2 + (cy - by) ** 2) / STEP) + 1
        for k in range(count):
            t = k / count
            yield cubic(ax, bx, cx, dx, t), cubic(ay, by, cy, dy, t)
    yield stroke[-1]


def cubic(a: float, b: float, c: float, d: float, t: float) -> float:
    """b at t = 0, c at t = 1, with the slopes (c - a) / 2 and (d - b) / 2 there."""
    return b + t / 2 * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))


def touch(image: bytearray, x: float, y: float, pen: float, soft: float, ink: float) -> None:
    """Press a round pen of radius `pen` on the paper at (x, y).

    The ink is full up to pen - soft/2 from the centre and fades to nothing at pen + soft/2.
    """
    reach = pen + soft / 2
    limit = reach * reach
    columns = range(max(0, ceil(x - reach)), min(SIDE, ceil(x + reach)))
    rows = range(max(0, ceil(y - reach)), min(SIDE, ceil(y + reach)))
    across = [(column, (column - x) * (column - x)) for column in columns]
    for row in rows:
        down = (row - y) * (row - y)
        for column, squared in across:
            if squared + down < limit:
                dark = ink * (reach - sqrt(squared + down)) / soft
                if dark > ink:  # min() would work too, but slower
                    dark = ink
                if dark > image[SIDE * row + column]:
                    image[SIDE * row + column] = int(dark)
