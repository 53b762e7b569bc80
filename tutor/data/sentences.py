"""Sentences by the rules of a grammar with probabilities: a text whose entropy is known exactly.

How well a text that people wrote could be foretold at best, nobody knows. This one is written by
dice whose weights stand below. `grammar` throws them; `grammar_entropy` is the loss that no model
goes below, in the long run; `grammar_nats` is the loss of the dice themselves on a given text.

There is something to find at every distance: how words are spelled, and which kind of word comes
next; "the dog ... runs" but "two dogs ... run", with whole clauses between; "she" and "her" after
Ada, "he" and "his" after Ben; and what was opened must be closed, each inside the other: both ...
and, either ... or, if ... then, commas, quotes.

At each symbol the next characters tell which alternative was taken (the grammar is LL(1)). So a
text has one derivation, and its probability is the product of those of the alternatives taken.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from random import Random
from typing import NamedTuple

from tutor._util.keyword_aliases import spelled
from tutor.data.loader import count
from tutor.data.text import as_text
from tutor.errors import DataError

# A symbol, and its alternatives: the weight of each, and what then stands in the symbol's place,
# symbols again or characters ("_" is a space, "/" the end of a line). A row with .# is two rows,
# for one (.s) and for more (.p); a row with .% is two, for Ada (.f) and for Ben (.m).
RULES = r"""
line    | 1 clause stop
stop    | 8 ./ | 1 !/
clause  | 4 The.s does.s | 3 The.p does.p | 4 Ada.f deeds.f | 4 Ada.m deeds.m | 1 If so
so      | 1 inner ,_then inner
inner   | 4 the.s does.s | 3 the.p does.p | 2 ada.f deeds.f | 2 ada.m deeds.m
The.s   | 5 The_ kind.s that.s | 3 A_ kind.s that.s | 1 Every_ kind.s that.s
The.p   | 3 Two_ kind.p that.p | 3 Some_ kind.p that.p | 1 Many_ kind.p that.p
the.s   | 5 _the_ kind.s that.s | 3 _a_ kind.s that.s | 1 _every_ kind.s that.s
the.p   | 3 _two_ kind.p that.p | 3 _some_ kind.p that.p | 1 _many_ kind.p that.p
kind.#  | 6 noun.# | 1 old_ noun.# | 1 small_ noun.# | 1 red_ noun.#
noun.s  | 5 dog | 4 cat | 3 bird | 3 horse | 2 mouse | 1 fox
noun.p  | 5 dogs | 4 cats | 3 birds | 3 horses | 2 mice | 1 foxes
that.#  | 4 | 1 _that who.#
who.#   | 3 does.# | 1 the.s sees.s | 1 the.p sees.p
does.#  | 5 runs.# how | 5 sees.# whom | 1 _both does.# _and does.# | 1 _either does.# _or does.#
runs.s  | 5 _runs | 4 _sleeps | 3 _sings | 2 _waits | 1 _dances
runs.p  | 5 _run | 4 _sleep | 3 _sing | 2 _wait | 1 _dance
sees.s  | 5 _sees | 4 _finds | 3 _follows | 2 _likes | 1 _hears
sees.p  | 5 _see | 4 _find | 3 _follow | 2 _like | 1 _hear
how     | 5 | 1 _slowly | 1 _again | 1 _at_night
whom    | 4 the.s | 3 the.p | 1 _Ada | 1 _Ben
Ada.f   | 5 Ada who.f | 3 Clara who.f | 2 Emma who.f
Ada.m   | 5 Ben who.m | 3 David who.m | 2 Hugo who.m
ada.f   | 5 _Ada who.f | 3 _Clara who.f | 2 _Emma who.f
ada.m   | 5 _Ben who.m | 3 _David who.m | 2 _Hugo who.m
who.%   | 7 | 1 ,_who acts.% ,
deeds.% | 6 acts.% | 2 _says_that claim.% | 1 _says,_" clause "
acts.%  | 4 runs.s how | 5 sees.s hers.% | 1 _both acts.% _and acts.%
hers.f  | 3 _her_ kind.s that.s | 1 _herself | 2 the.s | 2 the.p
hers.m  | 3 _his_ kind.s that.s | 1 _himself | 2 the.s | 2 the.p
claim.f | 3 _she deeds.f | 2 inner
claim.m | 3 _he deeds.m | 2 inner
"""


class Alternative(NamedTuple):
    chance: Fraction  # of all alternatives of its symbol
    parts: tuple[str, ...]  # symbols and characters


Rules = dict[str, tuple[Alternative, ...]]  # the first symbol is that of a whole sentence


def read_rules(table: str) -> Rules:
    """The rules that a table like RULES writes down."""
    rules: Rules = {}
    for row in table.strip().splitlines():
        for kind in "sp" if ".#" in row else "fm" if ".%" in row else " ":
            symbol, *rest = row.replace(".#", f".{kind}").replace(".%", f".{kind}").split("|")
            choices = [choice.split() for choice in rest]
            total = sum(int(weight) for weight, *_ in choices)
            rules[symbol.strip()] = tuple(
                Alternative(
                    Fraction(int(weight), total),
                    tuple(part.replace("_", " ").replace("/", "\n") for part in parts),
                )
                for weight, *parts in choices
            )
    return rules


GRAMMAR = read_rules(RULES)
START = "line"


@functools.cache
def openings() -> dict[str, list[tuple[str, Alternative]]]:
    """For each symbol the characters that an alternative may begin with, and the alternative; last
    of all "", with the one that is nothing, where there is one."""
    found: dict[str, list[tuple[str, Alternative]]] = {}

    def of(symbol: str) -> list[tuple[str, Alternative]]:
        if symbol not in found:
            found[symbol] = []
            for taken in GRAMMAR[symbol]:
                first = taken.parts[0] if taken.parts else ""
                begins = [words for words, _ in of(first)] if first in GRAMMAR else [first]
                found[symbol] += [(words, taken) for words in begins]
            found[symbol].sort(key=lambda pair: not pair[0])
        return found[symbol]

    for symbol in GRAMMAR:
        of(symbol)
    return found


# ---- writing -------------------------------------------------------------------------------------


@spelled
def grammar(length: int, seed: int = 0) -> str:
    """At least `length` characters of sentences, a line each, ending with a whole one; a larger
    length only adds. The same seed gives the same text on every machine.

    >>> print(grammar(40, seed=1), end="")
    David follows two mice.
    Clara says, "Ben both runs and runs".
    """
    count("grammar of length", length, 0)
    count("grammar with seed", seed, 0)
    roll, text, written = Random(seed), [], 0
    while written < length:
        text.append(sentence(roll))
        written += len(text[-1])
    return "".join(text)


def sentence(roll: Random) -> str:
    """One line. What still has to be replaced waits on a stack, its next part on top."""
    waiting, written = [START], []
    while waiting:
        part = waiting.pop()
        if part in GRAMMAR:
            waiting += reversed(throw(part, roll).parts)
        else:
            written.append(part)
    return "".join(written)


def throw(symbol: str, roll: Random) -> Alternative:
    """One of the symbol's alternatives, by a die with as many sides as their weights."""
    weights, total = dice()[symbol]
    side = int(total * roll.random())
    for taken, weight in zip(GRAMMAR[symbol], weights, strict=True):
        side -= weight
        if side < 0:
            return taken
    raise AssertionError(f"a die of {total} sides fell on none of them")  # pragma: no cover


@functools.cache
def dice() -> dict[str, tuple[tuple[int, ...], int]]:
    found = {}
    for symbol, alternatives in GRAMMAR.items():
        total = math.lcm(*(taken.chance.denominator for taken in alternatives))
        found[symbol] = tuple(int(taken.chance * total) for taken in alternatives), total
    return found


# ---- what it costs to foretell it ----------------------------------------------------------------


@functools.cache
def expected_symbols() -> dict[str, Fraction]:
    """How often each symbol is replaced in one sentence, on average.

    Each replacement of A by an alternative of chance p brings in its symbols p times:
    n(B) = [B is the start] + sum over A of n(A) m(A, B), with m(A, B) = sum of p times the number
    of B in that alternative. One linear equation for each symbol, solved in exact fractions.
    """
    symbols = list(GRAMMAR)
    rows = [
        [
            Fraction(b == a)
            - sum((t.chance * t.parts.count(b) for t in GRAMMAR[a]), start=Fraction())
            for a in symbols
        ]
        + [Fraction(b == START)]
        for b in symbols
    ]
    for i in range(len(rows)):  # Gauss and Jordan: column i becomes that of the identity
        pivot = next(k for k in range(i, len(rows)) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [number / rows[i][i] for number in rows[i]]
        for k, row in enumerate(rows):
            if k != i and row[i]:
                rows[k] = [a - row[i] * b for a, b in zip(row, rows[i], strict=True)]
    return {symbol: row[-1] for symbol, row in zip(symbols, rows, strict=True)}


def expected_length() -> Fraction:
    """Characters of a sentence, on average: L = sum over A of n(A) times the characters that A's
    alternatives write themselves, on average."""
    return sum(
        (
            times * taken.chance * sum(len(part) for part in taken.parts if part not in GRAMMAR)
            for symbol, times in expected_symbols().items()
            for taken in GRAMMAR[symbol]
        ),
        start=Fraction(),
    )


@spelled
def grammar_entropy() -> float:
    """The entropy of the grammar's text, in nats per character: no model's mean -ln p of a long
    text is below it.

    H / L, where H = sum over A of n(A) h(A) is the entropy of a sentence, h(A) = -sum of p ln p the
    entropy of the choice that A stands for, n(A) how often it is made in a sentence, and L the mean
    length of a sentence: since a text has only one derivation, its entropy is that of the choices
    (Soule 1974, "Entropies of probabilistic grammars", Information and Control 25).

    >>> round(grammar_entropy(), 4)
    0.4156
    """
    entropy = math.fsum(
        -float(times * taken.chance) * math.log(taken.chance)
        for symbol, times in expected_symbols().items()
        for taken in GRAMMAR[symbol]
    )
    return entropy / float(expected_length())


@spelled
def grammar_nats(text: str) -> float:
    """-ln p(text) per character, where p is the probability that the grammar writes just these
    lines: the product of the chances of all alternatives taken. Near to `grammar_entropy` for a
    long text that it wrote. DataError for a text that it cannot write, or that breaks off.

    >>> round(grammar_nats("The dog runs.\\n"), 2)
    0.46
    """
    asked = "grammar_nats of a text"
    at, nats, written = 0, [], len(as_text(asked, text))
    if not text:
        raise DataError(asked, "no characters", "give a text of at least one line")
    while at < written:
        waiting = [START]
        while waiting:
            part = waiting.pop()
            if part in GRAMMAR:
                taken = next(
                    (t for words, t in openings()[part] if text.startswith(words, at)), None
                )
                if taken is None:
                    raise astray(text, at)
                nats.append(-math.log(taken.chance))
                waiting += reversed(taken.parts)
            elif text.startswith(part, at):
                at += len(part)
            else:
                raise astray(text, at)
    return math.fsum(nats) / written


def astray(text: str, at: int) -> DataError:
    """The error for a text that the grammar does not write: it goes on otherwise at place `at`."""
    asked, line = "grammar_nats of a text", text.count("\n", 0, at) + 1
    before = text[text.rfind("\n", 0, at) + 1 : at]
    if "\n" not in text[at:]:
        rest = text[at : at + 20]
        return DataError(asked, f"line {line} is no whole sentence: {before + rest!r:.60}",
                         "give whole lines, as tutor.data.grammar writes them")  # fmt: skip
    found = f"line {line} is no sentence of it: after {before!r:.60} comes {text[at : at + 12]!r}"
    return DataError(asked, found, "give a text that tutor.data.grammar wrote")
