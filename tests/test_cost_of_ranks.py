"""The model of what ranks cost: against algorithms that are carried out, message by message."""

import doctest
from itertools import pairwise

import pytest

from benchmarks import cost
from benchmarks.cost import LINKS, MLP, Link, Work, all_reduce, gpt, scaling, step
from tutor.errors import DomainError, TutorError

LINK = Link(3.0, 8.0, "a test")
RANKS = (1, 2, 4, 8, 16)


class Machine:
    """Ranks that have, of each of n parts of a sum, the set of ranks that are in it already."""

    def __init__(self, n):
        self.n, self.seconds = n, 0.0
        self.has = [[{rank} for _ in range(n)] for rank in range(n)]

    def round(self, nbytes, messages):
        """Messages (from, to, parts, adds) at once, of the nbytes of a whole tensor; they take as
        long as the longest. A rank sends one, and receives one."""
        sent = [(to, part, set(self.has[rank][part]), adds)
                for rank, to, parts, adds in messages for part in parts]  # fmt: skip
        assert len({m[0] for m in messages}) == len({m[1] for m in messages}) == len(messages)
        for to, part, ranks, adds in sent:
            assert not adds or not self.has[to][part] & ranks, "a number is added twice"
            self.has[to][part] = self.has[to][part] | ranks if adds else ranks
        longest = max(len(parts) for _, _, parts, _ in messages)
        self.seconds += LINK.latency + longest / self.n * nbytes / LINK.bandwidth

    def done(self):
        return all(part == set(range(self.n)) for parts in self.has for part in parts)


def ring(m, n, nbytes):
    for adds in (True, False):
        for k in range(n - 1):
            first = [(r - k + (not adds)) % n for r in range(n)]
            m.round(nbytes, [(r, (r + 1) % n, [first[r]], adds) for r in range(n)])


def tree(m, n, nbytes):
    every, steps = range(n), [2**k for k in range(n.bit_length() - 1)]
    for d in steps:
        m.round(nbytes, [(r + d, r, every, True) for r in range(0, n, 2 * d)])
    for d in reversed(steps):
        m.round(nbytes, [(r, r + d, every, False) for r in range(0, n, 2 * d)])


def doubling(m, n, nbytes):
    for d in [2**k for k in range(n.bit_length() - 1)]:
        m.round(nbytes, [(r, r ^ d, range(n), True) for r in range(n)])


def halving(m, n, nbytes):
    steps = [2**k for k in range(n.bit_length() - 1)]
    for d in reversed(steps):  # of what both have in common, each keeps the part of its side
        m.round(nbytes, [(r, r ^ d, [p for p in range(n) if p // d == (r ^ d) // d], True)
                         for r in range(n)])  # fmt: skip
    for d in steps:
        m.round(nbytes, [(r, r ^ d, [p for p in range(n) if p // d == r // d], False)
                         for r in range(n)])  # fmt: skip


def direct(m, n, nbytes):
    m.seconds += (n - 1) * LINK.latency  # the notes
    for k in range(1, n):
        m.round(nbytes, [(r, (r + k) % n, [(r + k) % n], True) for r in range(n)])
    for k in range(1, n):
        m.round(nbytes, [(r, (r + k) % n, [r], False) for r in range(n)])


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("way", [ring, tree, doubling, halving, direct])
def test_a_formula_is_what_its_algorithm_takes(way, ranks):
    machine, nbytes = Machine(ranks), 1 << 10
    way(machine, ranks, nbytes)
    assert machine.done()
    assert all_reduce(nbytes, ranks, LINK, way.__name__) == pytest.approx(machine.seconds)
    assert way.__name__ in cost.ALGORITHMS


def test_the_best_depends_on_the_size_and_on_the_ranks():
    for nbytes in (8, 1 << 16, 1 << 30):
        for ranks in RANKS:
            each = [all_reduce(nbytes, ranks, LINK, name) for name in cost.ALGORITHMS]
            assert all_reduce(nbytes, ranks, LINK) == min(each)
    assert cost.fastest(8, 64, LINK) == "doubling"
    assert cost.fastest(1 << 30, 64, LINK) == "halving"
    assert all_reduce(1 << 30, 1, LINK) == 0


def test_a_step_waits_for_what_backward_does_not_hide():
    work = Work(nbytes=4, rows=2, row=5.0, fixed=2.0, forward=0.25)  # 12 s, 9 of them backward
    link = Link(0.0, 8.0, "")  # a bucket of 1 byte on 2 ranks: doubling, an eighth of a second
    found = step(work, 2, link, bucket=1)
    assert found.compute == 12
    assert found.messages == pytest.approx(4 / 8 + 1)  # and that of 8 bytes
    assert found.waiting == pytest.approx(1 / 8 + 1)  # the last bucket comes when all is done
    slow = step(work, 2, Link(0.0, 1 / 9, ""), bucket=1)  # 9 s each, of 4 backward computes in 9
    assert slow.waiting == pytest.approx((3 + 9 / 4 + 4 * 9) - 12 + 8 * 9)
    assert step(work, 2, link, bucket=1, overlap=False).waiting == pytest.approx(4 / 8 + 1)
    last_of_two = step(work, 2, Link(0.0, 1 / 9, ""), bucket=1, leaves=2)
    assert last_of_two.waiting == pytest.approx(slow.waiting + (9 / 2) * (3 / 4))


def test_rows_efficiency_and_what_dominates():
    link = LINKS["InfiniBand HDR"]
    one = step(MLP, 1, link)
    assert (one.rows, one.efficiency, one.waiting) == (512, 1, 0)
    assert one.rate == pytest.approx(512 / (0.17e-3 + 512 * 2.06e-6))
    two = step(MLP, 2, link)
    assert two.rows == 1024 and step(MLP, 2, link, grows=False).rows == 512
    assert 1 < two.rate / one.rate < 2 and two.efficiency == pytest.approx(two.rate / one.rate / 2)
    assert step(MLP, 4, link, slower=2).compute == 2 * one.compute
    assert one.dominates == "computing"
    assert step(MLP, 1024, LINKS["Ethernet 10G"], grows=False).dominates == "waiting"


@pytest.mark.parametrize("name", LINKS)
def test_every_link_says_where_its_numbers_are_from_and_scales_as_it_should(name):
    assert len(LINKS[name].source) > 30
    for work in (MLP, gpt(124e6, 8192, 100e12)):
        for grows in (True, False):
            found = scaling(work, LINKS[name], grows=grows)
            assert [s.ranks for s in found] == [2**k for k in range(11)]
            falls = [s.efficiency for s in found]
            assert all(a >= b > 0 for a, b in pairwise(falls)) or not grows
            assert all(0 < e <= 1 + 1e-12 for e in falls)


def test_what_its_docstring_shows_is_true():
    found = doctest.testmod(cost)
    assert found.attempted >= 3 and not found.failed


def test_mistakes_are_told_in_words():
    for nbytes, ranks in ((8, 0), (-1, 2)):
        with pytest.raises(DomainError, match="1 rank or more"):
            all_reduce(nbytes, ranks, LINK)
    with pytest.raises(TutorError, match="ring"):
        all_reduce(8, 2, LINK, "rings")
