"""What the projects after chapter 12 are made of: numbers, texts, positions and pictures by rules.

Everything is drawn from a seed, so that what a check asks was not among what was learned from. The
rules stand here, for who wants to look; docs/projects.md says what to do with it.
"""

from __future__ import annotations

import functools
import math
from itertools import pairwise, product
from random import Random

from tutor import data
from tutor.data.sets import digits, made_up

# ---- P.1: a wave in noise ------------------------------------------------------------------------

NOISE = 0.3  # the spread of what nobody can foretell


def wave(count: int, seed: int = 0) -> list[float]:
    """Two waves of different length, one on the other, and noise; the seed shifts both."""
    roll = Random(seed)
    a, b = (2 * math.pi * roll.random() for _ in range(2))
    return [
        math.sin(a + 2 * math.pi * t / 17)
        + 0.7 * math.sin(b + 2 * math.pi * t / 5.3)
        + roll.gauss(0, NOISE)
        for t in range(count)
    ]


# ---- P.2: a cipher -------------------------------------------------------------------------------


def plain_text(length: int, seed: int) -> str:
    """Sentences of tutor's grammar with nothing in them but small letters and spaces."""
    kept = (c if c.isalpha() else " " for c in data.grammar(length, seed=seed).lower())
    return " ".join("".join(kept).split())


def cipher(seed: int, length: int = 2000) -> tuple[str, str]:
    """(secret, what it says): each letter always became the same other one, spaces stayed."""
    text = plain_text(length, seed + 1000)
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    key = dict(zip(letters, Random(seed).sample(letters, 26), strict=True))
    return "".join(key.get(c, c) for c in text), text


# ---- P.3: names ----------------------------------------------------------------------------------

LANGUAGE = "Fjalla"


def known_names() -> list[str]:
    """400 names of one language, to learn from."""
    roll = Random(0)
    return [made_up.name(roll, LANGUAGE)[0] for _ in range(400)]


def is_name(name: str) -> bool:
    """Whether the language could have it: a beginning, up to two middles, an end."""
    first, middle, last = (part.split() for part in made_up.LANGUAGES[LANGUAGE])
    whole = name.lower()
    return name == whole.capitalize() and any(
        whole == a + "".join(inner) + b
        for a in first
        if whole.startswith(a)
        for b in last
        if whole.endswith(b)
        for count in range(3)
        for inner in product(middle, repeat=count)
    )


# ---- P.5: the king -------------------------------------------------------------------------------

SQUARES = [(row, column) for row in range(8) for column in range(8)]
Square = tuple[int, int]


def near(a: Square, b: Square) -> bool:
    """Whether a king goes from a to b in one move, or stands there."""
    return abs(a[0] - b[0]) <= 1 and abs(a[1] - b[1]) <= 1


def king_moves(mine: Square, other: Square) -> set[Square]:
    """Where my king may go: to the squares beside it, but not beside the other king."""
    return {s for s in SQUARES if s != mine and near(s, mine) and not near(s, other)}


def positions(held_out: bool) -> list[tuple[Square, Square]]:
    """Two kings that do not stand beside each other: four fifths to learn from, or the rest."""
    every = [(a, b) for a in SQUARES for b in SQUARES if not near(a, b)]
    Random(0).shuffle(every)
    return every[: len(every) // 5] if held_out else every[len(every) // 5 :]


# ---- P.6: Nim ------------------------------------------------------------------------------------

Heaps = tuple[int, ...]


def nim_moves(heaps: Heaps) -> list[tuple[int, int]]:
    """(which heap, how many to take) for each move there is."""
    return [(i, k) for i, size in enumerate(heaps) for k in range(1, size + 1)]


def nim_after(heaps: Heaps, move: tuple[int, int]) -> Heaps:
    i, k = move
    return (*heaps[:i], heaps[i] - k, *heaps[i + 1 :])


def nim_lost(heaps: Heaps) -> bool:
    """Whether who has to move loses against perfect play: the heaps' exclusive or is 0 (Bouton
    1901, "Nim, a game with a complete mathematical theory")."""
    whole = 0
    for size in heaps:
        whole ^= size
    return whole == 0


def nim_perfect(heaps: Heaps, roll: Random) -> tuple[int, int]:
    """A winning move, if there is one, else any."""
    moves = nim_moves(heaps)
    return roll.choice([m for m in moves if nim_lost(nim_after(heaps, m))] or moves)


# ---- P.7: digits anywhere on a sheet -------------------------------------------------------------

SHEET = 40  # rows and columns


def drawn(count: int, seed: int) -> tuple[list[bytes], list[int]]:
    """Digits of 28 rows by 28 columns, a byte a pixel, and what they are."""
    images, labels = digits.pixels(count, seed)
    return [bytes(images[784 * n : 784 * (n + 1)]) for n in range(count)], list(labels)


def sheets(count: int, seed: int) -> tuple[list[bytes], list[int]]:
    """Sheets of 40 rows by 40 columns, each with a digit somewhere, and which digit it is."""
    roll, (images, labels) = Random(seed), drawn(count, seed)
    found = []
    for image in images:
        down, right = (int((SHEET - 27) * roll.random()) for _ in range(2))
        sheet = bytearray(SHEET * SHEET)
        for row in range(28):
            at = SHEET * (down + row) + right
            sheet[at : at + 28] = image[28 * row : 28 * row + 28]
        found.append(bytes(sheet))
    return found, labels


# ---- P.9: melodies -------------------------------------------------------------------------------

NOTES = "cdefgabC"  # an octave of C major
CHORDS = ("ceg", "fac", "gbd", "ceg")  # on the first note of each bar of four
LENGTH = 16


def is_melody(notes: str) -> bool:
    """Four bars of four notes: a note of its chord begins each bar, no step is wider than a
    third, no note comes three times in a row, and it comes home to c by one step."""
    if len(notes) != LENGTH or not set(notes) <= set(NOTES):
        return False
    heights = [NOTES.index(note) for note in notes]
    return (
        all(notes[4 * bar].lower() in CHORDS[bar] for bar in range(4))
        and all(abs(a - b) <= 2 for a, b in pairwise(heights))
        and not any(a == b == c for a, b, c in zip(notes, notes[1:], notes[2:], strict=False))
        and notes[-1] in "cC"
        and abs(heights[-1] - heights[-2]) == 1
    )


def melodies(count: int, seed: int = 0) -> list[str]:
    """Melodies that keep the rules, each of all there are with the same chance: a note is drawn by
    how many ways there are to go on after it."""
    roll, found = Random(seed), []
    for _ in range(count):
        notes = ""
        while len(notes) < LENGTH:
            weights = [ways(notes[-2:] + note, len(notes) + 1) for note in NOTES]
            notes += roll.choices(NOTES, weights)[0]
        found.append(notes)
    return found


@functools.cache
def ways(last: str, length: int) -> int:
    """In how many ways notes of this length can go on, of which these are the last, up to three."""
    heights = [NOTES.index(note) for note in last[-2:]]
    if (length % 4 == 1 and last[-1].lower() not in CHORDS[length // 4]) or last == 3 * last[-1:]:
        return 0
    if len(heights) == 2 and abs(heights[1] - heights[0]) > 2:
        return 0
    if length == LENGTH:
        return int(last[-1] in "cC" and abs(heights[1] - heights[0]) == 1)
    return sum(ways(last[-2:] + note, length + 1) for note in NOTES)
