"""The projects after chapter 12: each check asks what was not learned from, and has one number."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from course import projects
from course.compare import short
from course.exercise import Judge, exercise

Heaps = projects.Heaps


def share(judge: Judge, right: int, whole: int, least: float, what: str) -> None:
    """That many of them are right; says how many are, and how many there should be."""
    judge.that(right >= least * whole, f"{right} of {whole} {what}; {least:.0%} are needed")


def a_list(judge: Judge, got: Any, count: int, kind: type, given: str) -> None:
    """The answer is a list of so many things of one type."""
    judge.that(type(got) is list, f"{short(got, 40)}, and no list", given=given)
    judge.that(len(got) == count, f"{len(got)} of them, where {count} were asked for", given=given)
    wrong = [x for x in got if not isinstance(x, kind)]
    judge.that(not wrong, f"{short((wrong or [0])[0], 40)}, and no {kind.__name__}", given=given)


WITHIN = 1.25 * projects.NOISE


@exercise(
    "P.1",
    "A wave in noise: the next number",
    answer="foresee",
    minutes=60,
    seconds=20.0,
    hints=(
        "What is the best guess from the last number alone? And how would two of them help?",
        "A layer of one output, Linear(32, 1), on windows of 32 numbers; mse to the number after.",
        "Adam at lr=0.01, all windows of 3,000 numbers at once, 300 steps.",
    ),
    why_ours="A wave is a sum of what it was before, with fixed weights: so a line is enough.",
)
def check_p_1(judge: Judge, foresee: Any) -> None:
    """foresee(numbers) gives the number after those of a list, in a wave nobody has learned from:
    it is wrong by no more than 1.25 times the noise, as a root of mean squares."""
    off = []
    for seed in (101, 102, 103):
        wave = projects.wave(260, seed)
        for t in range(60, 260):
            got = judge.call(foresee, wave[t - 60 : t], given="60 numbers of a wave", again=False)
            judge.that(
                isinstance(got, int | float) and math.isfinite(got),
                f"{short(got, 40)}, where a number was asked for",
            )
            off.append((got - wave[t]) ** 2)
    error = math.sqrt(sum(off) / len(off))
    given = "600 numbers of waves that were never seen"
    judge.called = ""
    judge.that(
        error <= WITHIN,
        f"it is wrong by {error:.3f}; {WITHIN:.3f} is needed, and the noise alone is"
        f" {projects.NOISE}",
        given=given,
    )


@exercise(
    "P.2",
    "A cipher, broken by pairs of letters",
    answer="decipher",
    minutes=90,
    seconds=60.0,
    hints=(
        "How likely is a text, if all you know is how often each pair of letters stands together?",
        "Begin with the key that matches the letters by how often they come. Exchange two of its"
        " letters, and keep that if the text has become more likely.",
        "Count the pairs of the secret once: the sum over pairs is then short. Where nothing helps"
        " any more, begin again otherwise, and take the best of four.",
    ),
    why_ours="It sums over pairs that were counted once, so an exchange costs a few hundred steps.",
)
def check_p_2(judge: Judge, decipher: Any) -> None:
    """decipher(secret, sample) gives what the secret says, where sample is another text in the
    same language: 95 of 100 letters are right."""
    sample = projects.plain_text(60_000, seed=77)
    right = whole = 0
    for seed in (3, 4):
        secret, text = projects.cipher(seed)
        got = judge.call(decipher, secret, sample, again=False, given="a secret of 2,000 letters")
        judge.that(isinstance(got, str), f"{short(got, 40)}, where a text was asked for")
        judge.that(len(got) == len(text), f"{len(got)} letters, where the secret has {len(text)}")
        pairs = [(a, b) for a, b in zip(got, text, strict=True) if b != " "]
        right += sum(a == b for a, b in pairs)
        whole += len(pairs)
    share(judge, right, whole, 0.95, "letters are right")


@exercise(
    "P.3",
    "Names of a language that has no speakers",
    answer="invent",
    minutes=90,
    seconds=20.0,
    hints=(
        "Who writes a name a letter at a time has to know when it is over: that is a letter, too.",
        "The last letters, each a one among zeros, side by side; the scores of the next one.",
        "Five letters back, 64 hidden numbers, Adam; and weights that are a little sharper than"
        " the softmax's: e to the 1.1 times score.",
    ),
    why_ours="It writes all names at once: one product for a letter of each.",
)
def check_p_3(judge: Judge, invent: Any) -> None:
    """invent(count) gives so many names. Of 200, 70 % are words that the language could have, 70 %
    are different, and 20 % are such words and none of the names that were learned."""
    got = judge.call(invent, 200, again=False)
    a_list(judge, got, 200, str, "")
    known = set(projects.known_names())
    right = [name for name in got if projects.is_name(name)]
    odd = next((name for name in got if not projects.is_name(name)), "")
    share(judge, len(right), 200, 0.7, f"could be names of it ({odd!r}, for one, could not)")
    share(judge, len(set(got)), 200, 0.7, "are different")
    share(judge, len(set(right) - known), 200, 0.2, "are good and new")


@exercise(
    "P.4",
    "Adding numbers of any length",
    answer="add",
    minutes=60,
    seconds=20.0,
    hints=(
        "Which part of the sum of 12 digits could be learned from 200 examples?",
        "One column: two digits, and what is carried. The network gives the sum, from 0 to 19.",
        "From the last column to the first; the carry of one is an input of the next.",
    ),
    why_ours="All 200 cases of a column are learned, so that no length is new to it.",
)
def check_p_4(judge: Judge, add: Any) -> None:
    """add(a, b) gives the sum of two numbers, all three written as texts of digits, of any
    length."""
    for a, b in (("2", "3"), ("7", "5"), ("0", "0"), ("12", "30"), ("999", "1")):
        judge.equal(judge.call(add, a, b), str(int(a) + int(b)))
    roll = Random(5)
    for digits in (2, 5, 12, 40):
        for _ in range(12):
            a, b = (str(roll.randrange(10 ** (digits - 1), 10**digits)) for _ in range(2))
            b = b[: roll.randint(1, digits)]
            a, b = (a, b) if roll.random() < 0.5 else (b, a)
            judge.equal(judge.call(add, a, b), str(int(a) + int(b)))


@exercise(
    "P.5",
    "Where may the king go?",
    answer="moves",
    minutes=90,
    seconds=20.0,
    hints=(
        "How do you tell a network where a king stands? A row of 5 is not five times a row of 1.",
        "Row and column of both, each a one among eight zeros: 32 numbers; eight outputs, one for"
        " each direction.",
        "Targets 1 and -1 with mse, two hidden layers, 1,200 steps of 256 positions, and a rate"
        " that goes down to 0.",
    ),
    why_ours="Rows and columns apart: what is learned for a row holds in all columns.",
)
def check_p_5(judge: Judge, moves: Any) -> None:
    """moves(mine, other) gives the set of squares (row, column) that my king may go to, on the 722
    positions that were held out: 95 % of these sets are right."""
    right, first = 0, ""
    positions = projects.positions(held_out=True)
    for mine, other in positions:
        got, legal = judge.call(moves, mine, other, again=False), projects.king_moves(mine, other)
        judge.that(isinstance(got, set), f"{short(got, 40)}, where a set was asked for")
        right += got == legal
        if got != legal and not first:
            first = f" (the first that is not: kings on {mine} and {other}, {sorted(got ^ legal)})"
    judge.called = ""
    share(judge, right, len(positions), 0.95, f"positions are all right{first}")


@exercise(
    "P.6",
    "Nim, learned from nobody",
    answer="play",
    minutes=90,
    seconds=20.0,
    hints=(
        "A position is good if some move leads to one that is bad for the other. Where does that"
        " begin?",
        "Who finds three empty heaps has lost: -1. A position is worth 1 if some move leads to one"
        " that is below 0, and -1 if none does.",
        "Give the network the bits of the heaps, not their sizes. Learn positions with few sticks"
        " first, and ask what is known of them for the targets of those with one stick more.",
    ),
    why_ours="It is given bits, in which the theory of Nim is short; with sizes it learns nothing.",
)
def check_p_6(judge: Judge, play: Any) -> None:
    """play(heaps) gives a move (which heap, how many to take), and who takes the last one wins. Of
    100 games from positions that can be won, against somebody who makes no mistake, it wins 95."""
    roll, won, lost = Random(8), 0, ""
    for _ in range(100):
        heaps: Heaps = (0, 0, 0)
        while projects.nim_lost(heaps):
            heaps = (roll.randrange(8), roll.randrange(8), roll.randrange(8))
        start = heaps
        while True:
            move = judge.call(play, heaps, again=False)
            options = projects.nim_moves(heaps)
            judge.that(move in options, f"{short(move, 40)} is no move with the heaps {heaps}")
            heaps = projects.nim_after(heaps, move)
            if not any(heaps):
                won += 1
                break
            heaps = projects.nim_after(heaps, projects.nim_perfect(heaps, roll))
            if not any(heaps):
                lost = lost or f" (one that it lost began with {start})"
                break
    judge.called = ""
    share(judge, won, 100, 0.95, f"games are won{lost}")


@exercise(
    "P.7",
    "Digits anywhere on the sheet",
    answer="read",
    minutes=90,
    seconds=30.0,
    hints=(
        "What does a network of chapter 8 know about a digit that stands three pixels further?",
        "Either the network does not care where it stands (chapter 10), or you bring the digit to"
        " the middle before it looks.",
        "The smallest rectangle with all the ink in it; 28 by 28 pixels around its middle.",
    ),
    why_ours="It moves the digit and not the network: 20 lines, and a network of chapter 8.",
)
def check_p_7(judge: Judge, read: Any) -> None:
    """read(sheets) gives the digits on sheets of 40 by 40 bytes, a list of as many whole numbers:
    of 300 that were never seen, 90 % are right."""
    sheets, labels = projects.sheets(300, seed=501)
    given = "300 sheets of 1,600 bytes"
    got = judge.run(lambda: read(list(sheets)))
    a_list(judge, got, 300, int, given)
    right = sum(a == b for a, b in zip(got, labels, strict=True))
    judge.given = given
    share(judge, right, 300, 0.9, "digits are read")


@exercise(
    "P.8",
    "A picture in sixteen bytes",
    answer="packed",
    minutes=120,
    seconds=30.0,
    hints=(
        "784 numbers to 16 and back to 784, and the loss is what is missing in the end.",
        "Take the mean picture off first. Then find how large each of the 16 numbers gets, and"
        " spread 256 steps between.",
        "Two linear layers are enough, with Adam at 0.003 and 12 epochs.",
    ),
    why_ours="It is linear: what it finds are the 16 directions in which the pictures differ most.",
)
def check_p_8(judge: Judge, packed: Any) -> None:
    """packed is a pair (squeeze, restore): squeeze(image) makes 16 bytes of the 784 of a picture,
    and restore(those) 784 again. Of 200 pictures never seen, two fifths of the spread are left over
    at most."""
    judge.that(type(packed) is tuple and len(packed) == 2, "a pair of two functions is expected")
    squeeze, restore = packed
    images, _ = projects.drawn(200, seed=601)
    mean = [sum(pixels) / 200 for pixels in zip(*images, strict=True)]
    off = spread = 0.0
    for image in images:
        code = judge.call(squeeze, image, given="a picture of 784 bytes", again=False)
        judge.that(
            isinstance(code, bytes) and len(code) <= 16,
            f"squeeze gives {short(code, 40)}, where at most 16 bytes were asked for",
        )
        again = judge.call(restore, code, given="16 bytes that squeeze gave", again=False)
        judge.that(
            isinstance(again, bytes) and len(again) == 784,
            f"restore gives {short(again, 40)}, where 784 bytes were asked for",
        )
        off += sum((a - b) ** 2 for a, b in zip(again, image, strict=True))
        spread += sum((a - b) ** 2 for a, b in zip(mean, image, strict=True))
    judge.called, judge.given = "", "200 pictures that were never seen"
    judge.that(
        off <= 0.4 * spread,
        f"{off / spread:.2f} of the spread around the mean picture is left over; 0.40 is needed",
    )


@exercise(
    "P.9",
    "Melodies by nobody's hand",
    answer="compose",
    minutes=90,
    seconds=20.0,
    hints=(
        "Which of the rules can be kept by who knows only the last note? And which need more?",
        "The last two notes and the place of the next one; what chapter 12 calls a context.",
        "Eight scores for the next note; sharpen them a little when you draw.",
    ),
    why_ours="Two notes back and the place are all that the rules ask for, so no attention is"
    " needed.",
)
def check_p_9(judge: Judge, compose: Any) -> None:
    """compose(count) gives so many melodies, texts of 16 notes. Of 200, 70 % keep all the rules,
    90 % are different, and at most a tenth are among the 600 of seed 1, to be learned from."""
    got = judge.call(compose, 200, again=False)
    a_list(judge, got, 200, str, "")
    right = [notes for notes in got if projects.is_melody(notes)]
    odd = next((notes for notes in got if not projects.is_melody(notes)), "")
    share(judge, len(right), 200, 0.7, f"keep the rules ({odd!r}, for one, does not)")
    share(judge, len(set(got)), 200, 0.9, "are different")
    known = set(projects.melodies(600, seed=1))
    share(judge, sum(notes not in known for notes in got), 200, 0.9, "are new")


@exercise(
    "P.10",
    "Sorting by attention",
    answer="ordered",
    minutes=90,
    seconds=20.0,
    without=("sorted", "sort"),
    hints=(
        "The third place must know which number has just two smaller ones. Whom does it ask?",
        "An embedding of the numbers plus one of the places; one layer of attention without a mask;"
        " two linear layers; ten scores for each place.",
        "Width 32, four heads, LayerNorm before both parts, residual paths around them; 250 steps"
        " of 64 random lists, Adam at 0.01 that goes down to 0.",
    ),
    why_ours="It is a block of chapter 12 with places on both sides, and with no mask: here all may"
    " listen to all.",
)
def check_p_10(judge: Judge, ordered: Any) -> None:
    """ordered(numbers) gives six numbers from 0 to 9, the smallest first, without sorting them: of
    300 lists, 95 % are right altogether."""
    roll, right, first = Random(21), 0, ""
    for _ in range(300):
        numbers = [roll.randrange(10) for _ in range(6)]
        got = judge.call(ordered, numbers)
        a_list(judge, got, 6, int, "")
        right += got == sorted(numbers)
        if got != sorted(numbers) and not first:
            first = f" (the first that is not: {got} of {numbers})"
    judge.called = ""
    share(judge, right, 300, 0.95, f"lists are right{first}")
