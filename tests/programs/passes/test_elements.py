"""What a Walk visits, compared with the list of its positions."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutor._storage.layout import contiguous_strides
from tutor.dtype import float32
from tutor.programs.passes.elements import covers, overlap, same, through, viewed
from tutor.programs.program import Slot, Walk, whole

SLOT, OTHER = Slot("temp", 24, float32), Slot("temp", 24, float32)


def positions(walk: Walk) -> list[int]:
    """Where each element stands, row by row."""
    return [
        walk.offset + sum(i * s for i, s in zip(index, walk.strides, strict=True))
        for index in itertools.product(*map(range, walk.shape))
    ]


@st.composite
def any_walks(draw: Any, slot: Slot = SLOT) -> Walk:
    """A walk of up to three axes that stays inside of the slot; mostly one that a view has."""
    shape = draw(st.sampled_from([(24,), (4, 6), (6, 4), (2, 3, 4), (12, 2), (4, 1, 6)]))
    strides, offset = list(contiguous_strides(shape)), 0
    sizes = list(shape)
    for axis in range(len(sizes)):
        start = draw(st.integers(0, sizes[axis] - 1))
        step = draw(st.sampled_from([1, 1, 1, 2, -1, 0]))
        if step < 0:
            offset += start * strides[axis]
            sizes[axis] = draw(st.integers(1, start + 1))
        else:
            offset += start * strides[axis]
            sizes[axis] = draw(st.integers(0, -(-(sizes[axis] - start) // max(step, 1))))
        strides[axis] *= step
    axes = draw(st.permutations(range(len(sizes))))
    return Walk(slot, tuple(sizes[a] for a in axes), tuple(strides[a] for a in axes), offset)


@settings(max_examples=500)
@given(any_walks(), any_walks())
def test_what_overlaps_is_said_to(a: Walk, b: Walk) -> None:
    if set(positions(a)) & set(positions(b)):
        assert overlap(a, b)
    assert not overlap(a, b._replace(buf=OTHER))


APART = {
    "one after the other": (Walk(SLOT, (6,), (1,), 0), Walk(SLOT, (6,), (1,), 6)),
    "even and odd": (Walk(SLOT, (12,), (2,), 0), Walk(SLOT, (12,), (2,), 1)),
    "two columns": (Walk(SLOT, (4,), (6,), 0), Walk(SLOT, (4,), (6,), 1)),
    "left and right half": (Walk(SLOT, (4, 3), (6, 1), 0), Walk(SLOT, (4, 3), (6, 1), 3)),
    "from the end": (Walk(SLOT, (4, 3), (6, -1), 2), Walk(SLOT, (3, 4), (-1, 6), 5)),
    "a row and what is left": (Walk(SLOT, (6,), (1,), 6), Walk(SLOT, (2, 6), (6, 1), 12)),
    "middle pages": (Walk(SLOT, (2, 1, 4), (12, 4, 1), 4), Walk(SLOT, (2, 1, 4), (12, 4, 1), 8)),
    "nothing": (Walk(SLOT, (0, 6), (6, 1), 0), whole(SLOT)),
}


@pytest.mark.parametrize(("a", "b"), APART.values(), ids=APART)
def test_what_lies_apart_is_known(a: Walk, b: Walk) -> None:
    assert not set(positions(a)) & set(positions(b))
    assert not overlap(a, b)
    assert not overlap(b, a)


@given(any_walks(), any_walks())
def test_the_same_walk_visits_the_same(a: Walk, b: Walk) -> None:
    if same(a, b):
        assert positions(a) == positions(b)
    one = a._replace(shape=(*a.shape, 1), strides=(*a.strides, 1))
    assert same(one, one._replace(strides=(*a.strides, 7)))


@given(any_walks(), st.sampled_from([(24,), (4, 6), (2, 12), (2, 2, 6), (12,), (3, 4), (6, 1, 2)]))
def test_a_view_in_another_shape_visits_the_same(walk: Walk, shape: tuple[int, ...]) -> None:
    found = viewed(walk, shape)
    if found is not None:
        assert found.shape == shape
        assert positions(found) == positions(walk)


@st.composite
def copied(draw: Any) -> tuple[Walk, Walk, Walk]:
    """A walk over a slot that was filled from another: walk, made, source."""
    shape = draw(st.sampled_from([(24,), (4, 6), (2, 3, 4), (6, 1, 4)]))
    axes = draw(st.permutations(range(len(shape))))
    strides = contiguous_strides(shape)
    made = Walk(SLOT, tuple(shape[a] for a in axes), tuple(strides[a] for a in axes))
    wide = Slot("temp", 100, float32)
    steps = draw(st.permutations(strides))
    source = Walk(wide, made.shape, tuple(draw(st.sampled_from([s, 2 * s, 0, -s])) for s in steps),
                  50)  # fmt: skip
    return draw(any_walks()), made, source


@settings(max_examples=500)
@given(copied())
def test_what_is_read_through_a_copy_is_the_original(case: tuple[Walk, Walk, Walk]) -> None:
    walk, made, source = case
    assert covers(made)
    found = through(walk, made, source)
    if found is not None:
        came_from = dict(zip(positions(made), positions(source), strict=True))
        assert found.shape == walk.shape
        assert positions(found) == [came_from[p] for p in positions(walk)]


THROUGH = {
    "all of it": (Walk(SLOT, (4, 6), (6, 1)), Walk(OTHER, (4, 6), (1, 4))),
    "its rows": (Walk(SLOT, (6,), (1,), 6), Walk(OTHER, (6,), (4,), 1)),
    "its columns": (Walk(SLOT, (4,), (6,), 2), Walk(OTHER, (4,), (1,), 8)),
    "transposed": (Walk(SLOT, (6, 4), (1, 6)), Walk(OTHER, (6, 4), (4, 1))),
    "a corner": (Walk(SLOT, (2, 2), (6, 1), 14), Walk(OTHER, (2, 2), (1, 4), 10)),
    "cut in three axes": (Walk(SLOT, (4, 2, 3), (6, 3, 1)), Walk(OTHER, (4, 2, 3), (1, 12, 4))),
    "stretched": (Walk(SLOT, (5, 4), (0, 6)), Walk(OTHER, (5, 4), (0, 1))),
}


@pytest.mark.parametrize(("walk", "found"), THROUGH.values(), ids=THROUGH)
def test_through_a_transposed_copy(walk: Walk, found: Walk) -> None:
    made = Walk(SLOT, (4, 6), (6, 1))
    assert through(walk, made, Walk(OTHER, (4, 6), (1, 4))) == found


def test_what_no_strides_can_say() -> None:
    made, turned = Walk(SLOT, (4, 6), (6, 1)), Walk(OTHER, (4, 6), (1, 4))
    assert through(whole(SLOT), made, turned) is None  # from the end of a row to the next one
    assert through(Walk(SLOT, (4,), (5,), 2), made, turned) is None  # a diagonal that leaves a row
    assert through(whole(SLOT), whole(SLOT)._replace(shape=(23,)), turned) is None  # not all of it


def test_a_part_covers_nothing() -> None:
    assert not covers(Walk(SLOT, (4, 3), (6, 1)))
    assert not covers(Walk(SLOT, (4, 6), (0, 1)))
    assert not covers(Walk(SLOT, (24,), (-1,), 23))
