"""Pictures of the lessons: broadcasting, the matrix product, the way of a call."""

import operator
import re

import pytest
from drawn import SPACE, check, fills, parse, words

from tutor import Tensor, viz
from tutor.errors import ShapeError
from tutor.viz import svg


def frames(picture):
    """The groups of a film, one a frame."""
    groups = [g for g in parse(picture).iter(SPACE + "g") if g.get("visibility")]
    return [["".join(t.text or "") for t in g.iter(SPACE + "text")] for g in groups]


# ---- broadcasting --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ((4, 3), (3,), (4, 3)),
        ((4, 1), (1, 3), (4, 3)),
        ((5, 1, 7), (6, 1), (5, 6, 7)),
        ((), (2, 3), (2, 3)),
        ((), (), ()),
        ((0, 3), (1,), (0, 3)),
        ([2], (1, 2), (1, 2)),
        ((1, 2, 3, 4, 5, 6), (6,), (1, 2, 3, 4, 5, 6)),
    ],
)
def test_shapes_that_fit(a, b, result):
    p = check(viz.broadcast(a, b))
    assert p.title == f"{tuple(a)} and {tuple(b)} give {result}"
    grown = [w for w in words(p) if "→" in w]
    full = [tuple([1] * (len(result) - len(s))) + tuple(s) for s in (a, b)]
    expected = [f"1 → {n}" for s in full for m, n in zip(s, result, strict=True) if m == 1 != n]
    assert sorted(grown) == sorted(expected)


def test_cells_are_filled_where_memory_is_and_dashed_where_it_is_read_again():
    p = check(viz.broadcast(Tensor([[1], [2]]), Tensor([10, 20, 30]), operator.add))
    dashed = [r for r in parse(p).iter(SPACE + "rect") if r.get("stroke-dasharray") == "3 3"]
    assert len(dashed) == 2 * 2 + 3  # two more columns of a, one more row of b
    assert len(fills(p, "green wash")) == 2 + 6  # the sizes of the result, its cells
    shown = [int(w) for w in words(p) if w.isdigit()]
    assert shown[-6:] == [11, 21, 31, 12, 22, 32]
    plain = check(viz.broadcast((2, 1), (3,)))
    assert len(plain.svg) < len(p.svg) and plain.title == p.title


def test_shapes_that_do_not_fit_say_where():
    p = check(viz.broadcast((2, 4, 3), (5, 2)))
    assert p.title == "(2, 4, 3) and (5, 2) do not fit: axis -1 has sizes 3 and 2"
    assert words(p).count("no") == 2
    check(viz.broadcast(Tensor([[1, 2, 3]] * 4), Tensor([1, 2, 3, 4]), operator.add))


@pytest.mark.parametrize("shape", ["no shape", (1.5,), (-1,), (1,) * 7, None])
def test_what_has_no_shape_is_refused(shape):
    with pytest.raises(ShapeError, match="neither a tensor nor a shape"):
        viz.broadcast((2,), shape)


# ---- the matrix product --------------------------------------------------------------------------


def test_a_product_shows_each_term_then_the_sum():
    p = check(viz.product([[1, 2], [3, 4]], Tensor([[10], [100]])))
    shown = frames(p)
    assert len(shown) == 2 * 1 * 3 + 1  # two terms and the sum for each cell, and all at the end
    said = [next(w for w in frame if svg.TIMES in w) for frame in shown[:-1]]
    x = svg.TIMES
    assert said == [
        f"1{x}10 = 10", f"1{x}10 + 2{x}100 = 210", f"1{x}10 + 2{x}100 = 210",
        f"3{x}10 = 30", f"3{x}10 + 4{x}100 = 430", f"3{x}10 + 4{x}100 = 430",
    ]  # fmt: skip
    assert [w for w in shown[-1] if w.isdigit()] == ["210", "430"]
    assert "210" not in shown[1] and "210" in shown[2] and "430" in shown[-1]


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([[1, 2]], [[1, 2]], "as many columns as y has rows"),
        ([[1] * 7], [[1]] * 7, "too large"),
        ([1, 2], [[1]], "no matrix"),
        ([[1, 2], [3]], [[1]], "no matrix"),
        ([], [[1]], "no matrix"),
        ([[]], [], "no matrix"),
    ],
)
def test_a_product_that_cannot_be_drawn(x, y, words):
    with pytest.raises(ShapeError, match=words):
        viz.product(x, y)


def test_long_numbers_stay_in_their_cells():
    check(viz.product([[-1234567, 0.333333333]] * 6, [[1e30] * 6, [-1e-30] * 6]))


# ---- the way of a call ---------------------------------------------------------------------------

TABLE = [("add", "python", "float32"), ("add", "python", "int8"), ("exp", "python", "float32")]
TABLE += [("add", "numpy", "float32")]


def test_a_way_lights_up_step_by_step():
    p = check(viz.dispatch([("x + y", "Add", TABLE[0], "kernel")], TABLE))
    assert p.title == "the way of x + y"
    shown = frames(p)
    assert len(shown) == 4
    assert ["Add" in frame for frame in shown] == [False, True, True, True]
    assert ["kernel" in frame for frame in shown] == [False, False, False, True]
    rings = [f'stroke="{svg.color("orange")}" stroke-width="3"' in g for g in _groups(p)]
    assert rings == [False, False, True, True]
    dots = [r for r in parse(p).iter(SPACE + "rect") if r.get("width") == "6"]
    assert len(dots) == len(TABLE)


def test_what_is_missing_is_said_and_a_view_asks_for_nothing():
    missing = ("exp", "numpy", "float32")
    ways = [("x.T", "Transpose", None, None), ("x.exp()", "Exp", missing, None)]
    p = check(viz.dispatch(ways, TABLE))
    shown = frames(p)
    assert shown[3][0].endswith("so nothing is calculated")
    assert (
        shown[7][0] == "call 2 of 2: the registry has nothing: LookupError"
        and "nothing" in shown[7]
    )
    dots = [r for r in parse(p).iter(SPACE + "rect") if r.get("width") == "6"]
    assert len(dots) == len(TABLE)  # none for what is missing


def test_no_way_at_all_is_refused():
    with pytest.raises(ShapeError, match="nothing was called"):
        viz.dispatch([], TABLE)
    with pytest.raises(ShapeError, match="give \\(call, op, entry, found\\)"):
        viz.dispatch(["x + y"], TABLE)
    many = [(f"k{i}", "python", "float32") for i in range(31)]
    with pytest.raises(ShapeError, match="at most 30"):
        viz.dispatch([("x + y", "Add", many[0], "kernel")], many)


# ---- all that moves ------------------------------------------------------------------------------


def moving():
    x = Tensor(3.0, requires_grad=True)
    yield viz.product([[1, 2]], [[3], [4]])
    yield viz.dispatch([("x + y", "Add", TABLE[0], "kernel")], TABLE)
    yield viz.film([viz.curves([1.0] * n) for n in (2, 3)])
    yield viz.walk((x + 2) * 4)


@pytest.mark.parametrize("p", list(moving()), ids=["product", "dispatch", "film", "walk"])
def test_what_moves_stands_still_when_pointed_at_and_for_who_wants_no_motion(p):
    """WCAG 2.2.2: there is a way to pause it, by pointing, and by the Tab key."""
    check(p)
    (group,) = [g for g in parse(p).iter(SPACE + "g") if g.get("tabindex") == "0"]
    name = group.get("class")
    assert f".{name}:is(:hover,:focus) *{{animation-play-state:paused}}" in p.svg
    (whole,) = [r for r in group if r.get("pointer-events") == "all"]
    assert (float(whole.get("width")), float(whole.get("height"))) == (p.width, p.height)
    style = next(parse(p).iter(SPACE + "style")).text
    asked = style.index("@media(prefers-reduced-motion:no-preference)")
    assert all(m.start() > asked for m in re.finditer("animation", style))


def _groups(p):
    """The markup of each frame."""
    return re.split(r'<g class="film\w+-\d+"', p.svg)[1:]
