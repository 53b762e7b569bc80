"""Shards: the ranks have, one after another, what one rank has of each batch."""

from itertools import pairwise

import pytest

import tutor
from tutor import Tensor, data
from tutor.data.shard import Shard, edges, part_of
from tutor.errors import DomainError, DTypeError, ShapeError

N = 61  # batches of 16, and a last one of 13


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 8, 61, 64, 1000])
def test_parts_are_alike_and_a_part_of_a_part_is_a_part(rows):
    for parts in (1, 2, 3, 4, 6, 8, 32):
        ends = edges(rows, parts)
        sizes = [b - a for a, b in pairwise(ends)]
        assert len(sizes) == parts and sum(sizes) == rows
        assert max(sizes) - min(sizes) <= 1
    for ranks in (1, 2, 4, 8):
        whole = edges(rows, 8)
        for rank in range(ranks):
            own = Shard(rank, ranks).of(rows)
            inner = [own.start + at for at in edges(own.stop - own.start, 8 // ranks)]
            assert inner == whole[rank * 8 // ranks : (rank + 1) * 8 // ranks + 1]


def kinds():
    x, y = Tensor.arange(N * 3).reshape(N, 3), Tensor.arange(N)
    drawing = data.MappedDataset(x, lambda row: row + tutor.rand(3))
    return {
        "rows": ((x, y), {}),
        "shuffled": ((x, y), {"shuffle": True}),
        "whole batches only": ((x, y), {"shuffle": True, "drop_last": True}),
        "sampled": ((x, y), {"sampler": [*range(0, N, 2)]}),
        "transformed": ((x, y), {"shuffle": True, "transform": lambda t: t + tutor.rand(*t.shape)}),
        "samples": ([(i, f"text {i}") for i in range(N)], {"shuffle": True}),
        "dicts": ([{"a": i, "b": (i, float(i))} for i in range(N)], {}),
        "drawn": (drawing, {"shuffle": True}),
        "stream": (lambda: iter(range(N)), {}),
        "ahead": ((x, y), {"shuffle": True, "prefetch": 2}),
    }


def joined(parts):
    """What the ranks have, one after another, as lists."""
    first = parts[0]
    if isinstance(first, Tensor):
        return [row for part in parts for row in part.tolist()]
    if isinstance(first, dict):
        return {key: joined([part[key] for part in parts]) for key in first}
    if isinstance(first, (tuple, list)) and not (first and isinstance(first[0], str)):
        return [joined([part[i] for part in parts]) for i in range(len(first))]
    return [text for part in parts for text in part]


@pytest.mark.parametrize("kind", kinds())
def test_the_shards_of_all_ranks_are_the_batches_of_one(kind):
    dataset, options = kinds()[kind]
    whole = list(data.DataLoader(dataset, 16, seed=3, **options))
    for size in (2, 3, 4):
        loaders = [
            data.DataLoader(dataset, 16, seed=3, shard=(rank, size), **options)
            for rank in range(size)
        ]
        ranks = [list(loader) for loader in loaders]
        assert {len(found) for found in ranks} == {len(whole)}
        for batch, *parts in zip(whole, *ranks, strict=True):
            assert joined(parts) == joined([batch])


def test_a_short_batch_may_leave_a_rank_without_rows():
    x = Tensor.arange(9)
    loader = data.DataLoader(x, 8, shard=(3, 4))
    assert [len(part) for part in loader] == [2, 0]
    pairs = list(data.batches(x, x, 8, shuffle=False, shard=(3, 4)))
    assert [len(a) for a, _ in pairs] == [2, 0]


def test_batches_are_cut_like_those_of_a_loader():
    x = Tensor.arange(N)
    whole = [a.tolist() for a, _ in data.batches(x, x, 16, seed=1, epoch=2)]
    parts = [[a.tolist() for a, _ in data.batches(x, x, 16, seed=1, epoch=2, shard=(r, 2))]
             for r in range(2)]  # fmt: skip
    assert [a + b for a, b in zip(*parts, strict=True)] == whole


def test_a_position_is_good_for_another_number_of_ranks():
    x = Tensor.arange(N)
    one = data.DataLoader(x, 16, shuffle=True, seed=5, shard=(1, 2))
    next(iter(one))
    other = data.DataLoader(x, 16, shuffle=True, seed=5)
    other.load_state_dict(one.state_dict())
    rest = [batch.tolist() for batch in other]
    assert rest == [b.tolist() for b in data.DataLoader(x, 16, shuffle=True, seed=5)][1:]


def test_what_is_no_shard():
    for wrong in ((2, 2), (-1, 2), (0, 0), 3, (0, 1, 2), (0.0, 2), [0, 2]):
        with pytest.raises(DomainError, match=r"dist\.rank"):
            data.DataLoader(Tensor.arange(4), shard=wrong)
    for wrong in ((Tensor.arange(4), 3), (), Tensor(3)):
        with pytest.raises(DTypeError, match="first axis"):
            part_of(wrong, Shard(0, 2))
    with pytest.raises(ShapeError, match=r"\[3, 4\] rows"):
        part_of((Tensor.arange(4), Tensor.arange(3)), Shard(0, 2))
