"""Points in a plane: each is where it belongs, and series can be told apart."""

import re

import pytest
from drawn import check

from tutor import Tensor, viz
from tutor.errors import DataError, ShapeError


def marks(svg: str) -> list[tuple[float, float]]:
    """Where the first path of marks has its points."""
    d = re.findall(r'<path d="(M[^"]*a4 4[^"]*)"', svg)[0]
    return [(float(x), float(y)) for x, y in re.findall(r"M(\S+) ([\d.]+)m", d)]


def test_points_are_where_they_belong() -> None:
    p = check(viz.scatter(Tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), title="three"))
    (x0, y0), (x1, y1), (x2, y2) = marks(p.svg)
    assert x0 == x2 < x1 and y2 < y0 == y1
    assert p.title == "three"


def test_series_differ_by_colour_or_shape_and_lines_are_named() -> None:
    groups = {str(n): [[float(n), 0.0], [0.0, float(n)]] for n in range(1, 12)}
    p = check(viz.scatter(groups, {"all": [[0.0, 0.0], [11.0, 11.0]]}, "many", "x", "y"))
    looks = re.findall(r'<path d="M0 0([^"]*)" fill="([^"]*)"', p.svg)
    assert len(looks) == 11 == len(set(looks))
    assert p.svg.count(">all</text>") == 1 and p.svg.count(">11</text>") == 1
    assert ">x</text>" in p.svg and ">y</text>" in p.svg


def test_a_name_of_nothing_stands_in_no_legend() -> None:
    p = check(viz.scatter({"": [[1.0, 2.0]]}, {"": [[0.0, 0.0], [1.0, 1.0]]}))
    assert 'd="M0 0' not in p.svg


def test_what_are_no_points_is_refused() -> None:
    for nothing in ({}, [], {"a": []}):
        with pytest.raises(DataError, match="none"):
            viz.scatter(nothing)
    for wrong in ([[1.0]], [[1.0, 2.0, 3.0]], [[1.0, float("nan")]], [1.0, 2.0]):
        with pytest.raises(ShapeError):
            viz.scatter({"a": wrong})


def test_logarithmic_axes() -> None:
    """Equal ratios are equal distances, and the ticks are powers of ten."""
    p = check(viz.scatter([[0.01, 1.0], [1.0, 100.0], [100.0, 10_000.0]], x="x", log=True))
    (x0, y0), (x1, y1), (x2, y2) = marks(p.svg)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.1) and y0 - y1 == pytest.approx(y1 - y2, abs=0.1)
    assert all(f">{t}</text>" in p.svg for t in ("0.01", "1", "100", "10000"))
    with pytest.raises(DataError, match=r"the point \[1.0, 0.0\] is not above 0"):
        viz.scatter([[1.0, 1.0], [1.0, 0.0]], log=True)
