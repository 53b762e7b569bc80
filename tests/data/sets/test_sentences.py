"""The grammar's text: one derivation for each, chances that add up, an entropy that is exact."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from tutor.data import grammar, grammar_entropy, grammar_nats
from tutor.data.sets import sentences
from tutor.errors import DataError

RULES = sentences.GRAMMAR


def begins(symbol):
    """Where a part may begin: characters, and "" where it may be nothing."""
    if symbol not in RULES:
        return {symbol}
    found = set()
    for taken in RULES[symbol]:
        found |= first_of(taken.parts)
    return found


def first_of(parts):
    found = set()
    for part in parts:
        here = begins(part)
        found |= here - {""}
        if "" not in here:
            return found
    return found | {""}


def follows():
    """The characters that may stand right after each symbol: all that is found, round by round."""
    found = {symbol: set() for symbol in RULES}
    found[sentences.START] = set(begins(sentences.START))  # the next line
    while True:
        before = sum(map(len, found.values()))
        for symbol, alternatives in RULES.items():
            for taken in alternatives:
                for i, part in enumerate(taken.parts):
                    if part in RULES:
                        after = first_of(taken.parts[i + 1 :])
                        found[part] |= (after - {""}) | (found[symbol] if "" in after else set())
        if sum(map(len, found.values())) == before:
            return found


def test_the_next_characters_say_which_alternative_was_taken():
    """LL(1): of any two alternatives of a symbol, with what may follow it where one of them is
    nothing, no beginning of one begins a beginning of the other. So no text has two derivations."""
    after = follows()
    for symbol, alternatives in RULES.items():
        options = []
        for taken in alternatives:
            opening = first_of(taken.parts)
            options.append((opening - {""}) | (after[symbol] if "" in opening else set()))
        for one, other in itertools.combinations(options, 2):
            for a, b in itertools.product(one, other):
                assert not a.startswith(b) and not b.startswith(a), (symbol, a, b)


def test_the_chances_of_each_symbol_add_up_to_one():
    for symbol, alternatives in RULES.items():
        assert sum(taken.chance for taken in alternatives) == 1, symbol
        assert all(taken.chance > 0 for taken in alternatives)
    parts = {part for taken in itertools.chain(*RULES.values()) for part in taken.parts}
    assert set(RULES) - parts == {sentences.START}  # each symbol is used
    assert not [part for part in parts if ".s" in part and part not in RULES]  # and none is missing


def test_the_grammar_ends():
    """All expectations are above 0 and finite: a sentence ends, with probability 1 (Booth &
    Thompson 1973), for the solution of the equations is the sum of the series, term by term."""
    times = sentences.expected_symbols()
    assert all(number > 0 for number in times.values())
    now, total = {symbol: Fraction(symbol == sentences.START) for symbol in RULES}, Counter()
    now = {symbol: float(number) for symbol, number in now.items()}
    for _ in range(400):
        total.update(now)
        after = dict.fromkeys(RULES, 0.0)
        for symbol, number in now.items():
            for taken in RULES[symbol]:
                for part in taken.parts:
                    if part in RULES:
                        after[part] += number * float(taken.chance)
        now = after
    for symbol, number in times.items():
        assert math.isclose(total[symbol], float(number), rel_tol=1e-9), symbol


def test_entropy_of_grammars_that_can_be_done_by_hand(monkeypatch):
    """S -> "a" S | "b", half each: 2 choices of ln 2, and 2 characters, on average. Brackets of
    chance 1/3: n = 1 + n/3 = 3/2 choices, 1/3 of them of two characters and 2/3 of one."""
    for rules, entropy, length in (
        ("line | 1 a line | 1 b", 2 * math.log(2), 2),
        ("line | 1 ( line ) | 2 x", 1.5 * (math.log(3) - 2 / 3 * math.log(2)), 2),
        ("line | 1 q\nq | 3 abc", 0.0, 3),
        ("line | 1 w.s w.p\nw.# | 1 xy | 1 xyz | 2 q", 3 * math.log(2), 3.5),
    ):
        monkeypatch.setattr(sentences, "GRAMMAR", sentences.read_rules(rules))
        sentences.expected_symbols.cache_clear()
        try:
            assert math.isclose(grammar_entropy() * length, entropy, abs_tol=1e-15)
            assert sentences.expected_length() == length
        finally:
            sentences.expected_symbols.cache_clear()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_entropy_is_the_mean_of_a_long_text(seed):
    """-ln p of a long text comes to length times entropy, up to chance: the numbers nats - H/L *
    characters of its sentences have mean 0, and so their sum lies within 3 standard errors."""
    lines = grammar(200_000, seed=seed).splitlines(keepends=True)
    entropy = grammar_entropy()
    rest = [(grammar_nats(line) - entropy) * len(line) for line in lines]
    error = math.sqrt(math.fsum(x * x for x in rest))
    assert abs(math.fsum(rest)) < 3 * error
    assert error / sum(map(len, lines)) < 0.003  # so what is held is held closely
    mean = sum(map(len, lines)) / len(lines)
    assert abs(mean / float(sentences.expected_length()) - 1) < 0.04


def test_nats_of_a_sentence_by_hand():
    """clause, The, no adjective, dog, no `that`, it runs and sees nothing, runs, no how, a dot."""
    chances = [4 / 16, 5 / 9, 6 / 9, 5 / 18, 4 / 5, 5 / 12, 5 / 15, 5 / 8, 8 / 9]
    text = "The dog runs.\n"
    expected = -sum(map(math.log, chances)) / len(text)
    assert math.isclose(grammar_nats(text), expected, rel_tol=1e-12)
    assert math.isclose(grammar_nats(text * 3), expected, rel_tol=1e-12)


def test_a_text_costs_what_its_lines_cost():
    text = grammar(5000, seed=4)
    lines = text.splitlines(keepends=True)
    together = math.fsum(grammar_nats(line) * len(line) for line in lines)
    assert math.isclose(grammar_nats(text) * len(text), together, rel_tol=1e-12)


def test_what_is_drawn_comes_as_often_as_its_chance_says():
    """The eight most likely kinds of a first word, counted in 26,000 sentences."""
    lines = grammar(1_000_000, seed=9).splitlines()
    first = Counter(line.replace(",", " ").split()[0] for line in lines)
    chances = {"The": 4 / 16 * 5 / 9, "A": 4 / 16 * 3 / 9, "Every": 4 / 16 / 9, "If": 1 / 16,
               "Ada": 4 / 16 / 2, "Hugo": 4 / 16 / 5, "Two": 3 / 16 * 3 / 7}  # fmt: skip
    for word, chance in chances.items():
        spread = math.sqrt(len(lines) * chance * (1 - chance))
        assert abs(first[word] - len(lines) * chance) < 4 * spread, word


def test_the_same_seed_gives_the_same_text_everywhere():
    text = grammar(100_000)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "fa6ee8292046a368"
    assert grammar(60, seed=1) == 'David follows two mice.\nClara says, "Ben both runs and runs".\n'
    assert text.endswith("\n") and 100_000 <= len(text) < 101_000
    assert text.startswith(grammar(5000)) and grammar(5000) != grammar(5000, seed=1)
    assert grammar(0) == "" and text.isascii()


def test_words_agree_and_brackets_close():
    one = {"dog", "cat", "bird", "horse", "mouse", "fox"}
    more = {"dogs", "cats", "birds", "horses", "mice", "foxes"}
    for line in grammar(100_000, seed=3).splitlines():
        words = line.replace(",", "").replace('"', "").rstrip(".!").split()
        for before, word in itertools.pairwise(words):
            if before in ("a", "A", "every", "Every"):
                assert word in one | {"old", "small", "red"}
            if before in ("two", "Two", "many", "Many", "some", "Some"):
                assert word in more | {"old", "small", "red"}
        assert words.count("both") == words.count("and")
        assert words.count("either") == words.count("or")
        assert words.count("if") + words.count("If") == words.count("then")
        assert line.count('"') % 2 == 0


REFUSED = [
    ("The dog run.\n", "line 1 is no sentence of it: after 'The dog' comes ' run.'"),
    ("Ada runs.\nThe dogs run.\n", "line 2 is no sentence of it: after 'The dog' comes 's run.'"),
    ("Ada says that he runs.\n", "after 'Ada says that' comes ' he runs.'"),
    ("Ada finds his dog.\n", "after 'Ada finds' comes ' his dog.'"),
    ("The dog both runs.\n", "after 'The dog both runs' comes '.'"),
    ("Ada runs.\nThe dog ru", "line 2 is no whole sentence: 'The dog ru'"),
    ("Ada runs", "line 1 is no whole sentence: 'Ada runs'"),
    ("\n", "line 1 is no sentence of it: after '' comes"),
    ("x" * 10**6, "line 1 is no whole sentence"),
    ("Ada runs.\r\n", "after 'Ada runs' comes '.'"),
]


@pytest.mark.parametrize(("text", "found"), REFUSED, ids=range(len(REFUSED)))
def test_a_text_of_no_such_sentences_is_refused(text, found):
    with pytest.raises(DataError) as caught:
        grammar_nats(text)
    assert found in caught.value.found.replace("\\n", "").replace("\\r", "")
    assert caught.value.asked and caught.value.do


def test_deep_sentences_are_read_without_a_deep_stack():
    deep = "The dog that both " + "both " * 20_000 + "runs" + " and runs" * 20_001 + " runs.\n"
    assert 0 < grammar_nats(deep) < 2
