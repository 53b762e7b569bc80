"""Curves, bars, histograms, tables, planes and images: what is given is what is drawn."""

import base64
import itertools
import math
import random
import struct
import zlib

import pytest
from drawn import all_of, check, words

import tutor
from tutor import Tensor, viz
from tutor.errors import DataError, DTypeError, ShapeError
from tutor.viz import axes, svg

NAN, INF = float("nan"), float("inf")


# ---- curves --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "series",
    [
        {"train": [3.0, 2.0, 1.0], "test": [3.5, 2.5, 2.0]}, [1.0], {"flat": [5, 5, 5]},
        {"gaps": [NAN, 1.0, INF, 2.0, 3.0, NAN]}, {"pairs": [(1, 0.5), (10, 0.25)]},
        {"tiny": [1e-9, 2e-9]}, {"huge": [1e12, 3e12, 1e308]}, {"below": [-5.0, -3.0]},
        {f"s{i}": [i, i + 1] for i in range(8)}, {"a very long name " * 5: [1.0, 2.0]},
        {"tensor": Tensor([1.0, 2.0])}, {"scalars": [Tensor(1.0), Tensor(2.0)]},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("log", [False, True])
def test_curves_of_all_kinds(series, log):
    if log and "below" in series:
        with pytest.raises(DataError, match="no finite number"):
            viz.curves(series, log=True)
        return
    check(viz.curves(series, title="a < b", x="step", y="loss", log=log))


def lines(p):
    return [e for e in all_of(p, "path") if e.get("stroke") in map(svg.color, svg.SERIES)]


def test_the_last_value_stands_at_the_end_of_its_line():
    p = viz.curves({"train": [2.0, 0.5], "test": [2.0, 0.75]})
    assert {"train 0.5", "test 0.75"} <= set(words(p))
    ends = {t.text: float(t.get("y")) for t in all_of(p, "text")}
    assert ends["test 0.75"] < ends["train 0.5"]  # larger is higher
    close = viz.curves({"a": [1.0, 1.0], "b": [1.0, 1.0001], "c": [0.0, 1.0]})
    ys = sorted(float(t.get("y")) for t in all_of(close, "text") if t.get("font-weight") == "600")
    assert all(b - a > 15 for a, b in itertools.pairwise(ys[1:]))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("xs", [range(1, 11), range(0, 101, 5), (-2, -1, 0, 1, 2)])
def test_each_label_stands_below_the_points_of_its_number(xs, log):
    """Of a straight line's two ends, and of the labels, the places give one and the same scale."""
    xs = list(xs)
    p = viz.curves({"line": [(float(x), 10.0 ** ((x - xs[0]) / len(xs))) for x in xs]}, log=log)
    points = [tuple(map(float, s.split())) for s in lines(p)[0].get("d")[1:].split("L")]
    assert len(points) == len(xs)
    known = {x: place for x, (place, _) in zip(xs, points, strict=True)}
    ticks = [t for t in all_of(p, "text") if t.get("text-anchor") == "middle"]
    found = [(float(t.text.replace(",", "")), float(t.get("x"))) for t in ticks]
    assert len(found) > 2
    for number, place in found:
        assert number in known and abs(known[number] - place) < 1.5
    heights = {10.0 ** ((x - xs[0]) / len(xs)): y for x, (_, y) in zip(xs, points, strict=True)}
    ends = [t for t in all_of(p, "text") if t.get("text-anchor") == "end"]
    (low, at), (high, to) = min(heights.items()), max(heights.items())
    scale = math.log10 if log else float
    for t in ends:
        value = float(t.text.replace(",", ""))
        wanted = at + (to - at) * (scale(value) - scale(low)) / (scale(high) - scale(low))
        assert abs(float(t.get("y")) - 4 - wanted) < 1.5


def test_what_cannot_be_drawn_leaves_a_gap_and_is_counted():
    p = viz.curves([1.0, 2.0, NAN, 3.0, 4.0, -1.0, 1.0], log=True)
    assert len(lines(p)) == 2
    assert "2 values are nan, infinite or not above 0 and left out" in words(p)


def test_a_long_curve_keeps_its_peaks():
    values = [0.0] * 100_000
    values[54_321] = 7.0
    p = viz.curves({"spikes": values})
    assert len(p.svg) < 60_000
    highest = min(float(s.split()[1]) for s in lines(p)[0].get("d")[1:].split("L"))
    frame_top = min(float(t.get("y")) for t in all_of(p, "text") if t.text == "6")
    assert highest < frame_top


def test_a_smoothed_curve_is_a_line_over_the_band_of_its_values():
    values = [1.0 + (-1) ** i * 0.5 for i in range(5000)]  # 1.5, 0.5, 1.5, ...
    values[2345] = 9.0
    p = check(viz.curves({"loss": values}, smooth=50))
    assert len(p.svg) < 60_000
    (line,) = lines(p)
    heights = [float(s.split()[1]) for s in line.get("d")[1:].split("L")]
    calm = heights[50:150]
    assert max(calm) - min(calm) < 3  # pixels: the mean of 50 stands still, the values do not
    (band,) = [e for e in all_of(p, "path") if e.get("fill-opacity")]
    outline = [float(s.split()[1]) for s in band.get("d")[1:-1].split("L")]
    assert min(outline) < min(heights) - 100  # its peak is in the band
    assert "loss 1.0" in words(p)  # the last mean, not the last value
    assert not [e for e in all_of(viz.curves({"loss": values}), "path") if e.get("fill-opacity")]


@pytest.mark.parametrize("smooth", [2, 7, 500])
@pytest.mark.parametrize(
    "values", [[1.0], [3.0, 2.0, 2.5], [1.0, math.nan, 2.0, 3.0], [float(i) for i in range(20)]]
)
@pytest.mark.parametrize("log", [False, True])
def test_short_curves_can_be_smoothed(values, smooth, log):
    check(viz.curves([v + 1 for v in values], smooth=smooth, log=log))


@pytest.mark.parametrize("smooth", [0, -3, 1.5])
def test_curves_refuses_to_smooth_over_nothing(smooth):
    with pytest.raises(DataError, match="smooth"):
        viz.curves([1.0, 2.0], smooth=smooth)


def test_curves_refuses_what_is_no_curve():
    with pytest.raises(DataError, match="nothing was given"):
        viz.curves({})
    with pytest.raises(DataError, match="no finite number"):
        viz.curves({"train": []})
    with pytest.raises(DTypeError, match="is no number"):
        viz.curves({"train": ["a"]})
    with pytest.raises(DTypeError, match="pairs"):
        viz.curves({"train": [(1, 2, 3)]})


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, ["0", "2", "4", "6", "8", "10"]),
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-1, 1, ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        (0, 23456, ["0", "5,000", "10,000", "15,000", "20,000"]),
        (0.0001, 0.00047, ["0.0001", "0.0002", "0.0003", "0.0004"]),
        (0, 5e6, ["0", "1e6", "2e6", "3e6", "4e6", "5e6"]),
        (1_234_000, 1_234_400, ["1.234e6", "1.2341e6", "1.2342e6", "1.2343e6", "1.2344e6"]),
        (0, 4e-5, ["0", "1e-5", "2e-5", "3e-5", "4e-5"]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert axes.labels(axes.ticks(low, high)) == expected


def test_ticks_of_powers():
    assert axes.log_ticks(0.001, 1000) == pytest.approx([10.0**k for k in range(-3, 4)])
    assert axes.log_ticks(0.09, 2.1) == pytest.approx([0.1, 0.2, 0.5, 1, 2])
    assert axes.ticks(3, 3) == [3]


# ---- histograms and bars -------------------------------------------------------------------------


def test_histograms_count_every_finite_number():
    rng = random.Random(0)
    data = {
        "normal": [rng.gauss(0, 1) for _ in range(2000)],
        "zeros": [0.0] * 10,
        "bad": [NAN, 1.0],
    }
    p = check(viz.histogram(data, bins=20, x="activation"))
    assert {"2,000 numbers", "10 numbers", "1 not finite", "std 0.0"} <= set(words(p))
    bars = [e for e in all_of(p, "path") if e.get("stroke") is None]
    assert len(bars) == 3 and bars[1].get("d").count("Z") == 1  # all zeros are in one bin
    check(viz.histogram(Tensor.ones(2, 3)))


def test_a_bar_of_a_histogram_is_as_high_as_its_share():
    p = viz.histogram([0.0] * 3 + [1.0] * 6, bins=2)
    (d,) = [e.get("d") for e in all_of(p, "path") if e.get("stroke") is None]
    heights = [-float(piece.split("v")[1].split("h")[0]) for piece in d.split("M")[1:]]
    assert heights[0] * 2 == pytest.approx(heights[1])


@pytest.mark.parametrize(("data", "bins"), [({}, 40), ([], 40), ([NAN], 40), ([1.0], 0)])
def test_histogram_refuses_what_it_cannot_count(data, bins):
    with pytest.raises(DataError):
        viz.histogram(data, bins=bins)


def test_bars_are_as_long_as_their_numbers():
    p = check(viz.bars({"a": 1.0, "b": 3.0, "c": 0.0}, unit="ms"))
    wide = [float(r.get("width")) for r in all_of(p, "rect")[1:]]
    assert wide[0] * 3 == pytest.approx(wide[1], rel=1e-3) and len(wide) == 2
    assert {"1.0 ms", "3.0 ms", "0.0 ms"} <= set(words(p))


def test_bars_below_zero_and_without_an_end():
    p = check(viz.bars({"down": -2.0, "up": 4.0, "lost": NAN, "over": INF}, title="change"))
    down, up = all_of(p, "rect")[1:]
    assert float(down.get("x")) + float(down.get("width")) == pytest.approx(float(up.get("x")))
    assert {"nan", "inf"} <= set(words(p))
    check(viz.bars({"all": NAN, "too large": 1e308, "and small": -1e308}))
    (bar,) = all_of(check(viz.bars({"all below": -7e6})), "rect")[1:]
    assert float(bar.get("width")) > 300
    check(viz.bars({"a long label that says a lot about what was measured here": 1}))


@pytest.mark.parametrize("values", [{}, [1, 2], None])
def test_bars_need_labels(values):
    with pytest.raises(DataError):
        viz.bars(values)
    with pytest.raises(DTypeError, match="several numbers"):
        viz.bars({"a": [1, 2]})


# ---- tables --------------------------------------------------------------------------------------


def test_a_heatmap_is_darker_where_numbers_are_larger():
    p = check(viz.heatmap([[0, 1], [-4, 2]], ["r", "s"], ["x", "y"], title="t"))
    cells = all_of(p, "rect")[1:]
    shades = [float(c.get("fill-opacity")) for c in cells]
    assert shades == pytest.approx([0, 0.13, 0.52, 0.26], abs=0.006)
    assert cells[2].get("fill") == svg.color("orange") != cells[3].get("fill")
    assert [w for w in words(p) if w in ("-4", "2")] == ["-4", "2"]


def test_equal_words_have_equal_colours_and_others_another():
    names = [d.name for d in tutor.DTYPES]
    table = [[tutor.promote(a, b).name if promotable(a, b) else "none" for b in tutor.DTYPES]
             for a in tutor.DTYPES]  # fmt: skip
    p = check(viz.heatmap(table, names, names, title="promotion"))
    look = {}
    cells = all_of(p, "rect")[1:]
    for cell, word in zip(cells, [w for row in table for w in row], strict=True):
        look.setdefault(word, set()).add((cell.get("fill"), cell.get("fill-opacity")))
    assert all(len(kinds) == 1 for kinds in look.values())
    assert len({next(iter(kinds)) for kinds in look.values()}) == len(look)


def promotable(a, b):
    try:
        return tutor.promote(a, b) is not None
    except DTypeError:
        return False


@pytest.mark.parametrize(
    "matrix",
    [[[1]], [[NAN, INF], [1.0, -INF]], [["<a>", "b & c"]], [[0, 0]], [1, 2, 3], Tensor.ones(2, 3),
     [[i * j for i in range(40)] for j in range(30)]],
    ids=str,
)  # fmt: skip
def test_heatmaps_of_all_kinds(matrix):
    check(viz.heatmap(matrix))


def test_long_labels_are_slanted():
    check(viz.heatmap([[1, 2]], ["a row"], ["a very long label of a column", "short"], title="x"))


def test_heatmap_refuses_what_is_no_table():
    with pytest.raises(ShapeError, match="rows of one length"):
        viz.heatmap([[1, 2], [3]])
    with pytest.raises(ShapeError, match="rows of one length"):
        viz.heatmap([])
    with pytest.raises(ShapeError, match="3 row labels"):
        viz.heatmap([[1]], row_labels=["a", "b", "c"])
    with pytest.raises(ShapeError, match="more than 4096"):
        viz.heatmap([[0] * 100] * 100)


# ---- planes --------------------------------------------------------------------------------------

POINTS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def test_the_boundary_is_where_the_probability_is_one_half():
    p = check(viz.boundary(POINTS, [0, 0, 1, 1], lambda cells: [y for _, y in cells]))
    (line,) = [e for e in all_of(p, "path") if e.get("stroke") == svg.color("ink")]
    heights = {
        float(s.split()[1]) for piece in line.get("d")[1:].split("M") for s in piece.split("L")
    }
    assert max(heights) - min(heights) < 0.1 and min(heights) == pytest.approx(52 + 180, abs=1)
    assert len(all_of(p, "circle")) == 2 + 1  # class 0, and the legend
    assert {"class 0", "class 1"} <= set(words(p))


def test_probabilities_may_be_given_for_a_mesh():
    cells = viz.mesh(POINTS, size=7)
    assert len(cells) == 49 and cells[0] < cells[1] and cells[0][1] < cells[7][1]
    xs, ys = {x for x, _ in cells}, {y for _, y in cells}
    assert min(xs) > -0.1 and max(xs) < 1.1 and len(xs) == len(ys) == 7
    a = viz.boundary(Tensor(POINTS), Tensor([0, 1, 1, 0]), Tensor([[x] for x, _ in cells]))
    check(a)
    check(viz.boundary(POINTS, [0, 0, 0, 0], [NAN] * 4 + [2.0] * 5))
    check(viz.boundary([[1, 1]], [1], [0.5]))


def test_boundary_refuses_what_does_not_fit():
    with pytest.raises(ShapeError, match="4 points and 3 labels"):
        viz.boundary(POINTS, [0, 1, 0], [0.5])
    with pytest.raises(ShapeError, match="give a 0 or 1"):
        viz.boundary(POINTS, [0, 1, 2, 0], [0.5])
    with pytest.raises(ShapeError, match="fill no square"):
        viz.boundary(POINTS, [0, 1, 1, 0], [0.5, 0.5])
    with pytest.raises(ShapeError, match="finite pairs"):
        viz.boundary([[1, 2, 3]], [0], [0.5])


def test_a_ball_stands_on_its_curve():
    p = check(viz.plane(lambda x: (x - 3) ** 2, [0.0, 1.0, 2.0]))
    marks = all_of(p, "circle")
    assert len(marks) == 4  # three places and the ball
    assert p.style.count("@keyframes") == 4 and "prefers-reduced-motion" in p.style
    still = [e for e in all_of(p, "g") if e.get("opacity") is None and e.get("class")]
    assert "step 2:  x = 2.0,  f(x) = 1.0" in [t.text for e in still for t in e]
    check(viz.plane(lambda x: math.log(x), [0.5, 2.0]))  # log refuses what is left of 0
    check(viz.plane(lambda x: Tensor(x) * 0.0, [1.0]))
    assert len(all_of(check(viz.plane(lambda x: x, range(1000))), "circle")) == 101


def test_plane_refuses_a_path_without_a_place():
    with pytest.raises(DataError, match="no finite number"):
        viz.plane(lambda x: x, [])
    with pytest.raises(DataError, match="no finite value at an x"):
        viz.plane(lambda x: math.log(x), [-1.0, 2.0])


# ---- images --------------------------------------------------------------------------------------


def decode(uri):
    """(width, height, rows of grey pixels) of a PNG without filters."""
    file = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(file):
        (size,) = struct.unpack(">I", file[at : at + 4])
        kind, data = file[at + 4 : at + 8], file[at + 8 : at + 8 + size]
        assert struct.unpack(">I", file[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
            kind + data
        )
        chunks[kind] = data
        at += 12 + size
    w, h = struct.unpack(">II", chunks[b"IHDR"][:8])
    raw = zlib.decompress(chunks[b"IDAT"])
    return w, h, [list(raw[i * (w + 1) + 1 : (i + 1) * (w + 1)]) for i in range(h)]


@pytest.mark.parametrize(
    ("image", "grey"),
    [
        ([[0.0, 1.0], [0.5, 0.25]], [[255, 0], [127, 191]]),
        ([[0, 255], [128, 1]], [[255, 0], [127, 254]]),
        ([0, 1, 1, 0], [[255, 0], [0, 255]]),
        ([[-1.0, 1.0], [0.0, NAN]], [[255, 0], [127, 255]]),
        ([[[0.0, 1.0]]], [[255, 0]]),
        ([[-3.0, -3.0]], [[255, 255]]),
        ([[0.0, 3.0, 1.5]], [[255, 0, 127]]),
        ([[1e308, -1e308, 1.0]], [[255, 255, 0]]),
    ],
    ids=str,
)
def test_pixels_are_what_was_given(image, grey):
    (found,) = all_of(check(viz.images([image])), "image")
    assert decode(found.get("href")) == (len(grey[0]), len(grey), grey)


def test_images_of_a_tensor_with_labels():
    p = check(viz.images(Tensor.rand(13, 1, 28, 28), labels=Tensor([7] * 13), columns=5))
    assert len(all_of(p, "image")) == 13 and words(p).count("7") == 13


def test_images_are_as_large_as_asked():
    pictures = [check(viz.images([[[0, 1]]] * 2, side=side)) for side in (58, 300)]
    wide = [[float(im.get("width")) for im in all_of(p, "image")] for p in pictures]
    assert wide == [[58, 58], [300, 300]]
    assert pictures[1].width >= 600 > pictures[0].width
    with pytest.raises(ShapeError):
        viz.images([[[0]]], side=0)


def test_what_was_read_wrongly_is_red_and_framed():
    p = check(viz.images([[[0, 1], [1, 0]]] * 3, labels=[1, 2, 3], predicted=[1, 5, 3]))
    assert p.title == "3 images, 1 of them read wrongly"
    red = svg.color("red")
    assert [t.text for t in all_of(p, "text") if t.get("fill") == red] == ["2 → 5"]
    assert len([r for r in all_of(p, "rect") if r.get("stroke") == red]) == 1
    assert "4 more are left out" in words(check(viz.images([[[0.5]]] * 204)))


def test_images_refuses_what_is_none():
    for wrong in ([], [[1, 2, 3]], [[[1, 2], [3]]], [[]], [[[]]], [3]):
        with pytest.raises((ShapeError, DTypeError)):
            viz.images(wrong)
    with pytest.raises(ShapeError, match="2 labels"):
        viz.images([[[0]]], labels=[1, 2])
    with pytest.raises(ShapeError, match="0 columns"):
        viz.images([[[0]]], columns=0)


def test_who_cannot_see_a_curve_is_told_how_it_runs():
    p = viz.curves({"loss": [2.5, float("nan"), 0.5, 0.75]}, title="training")
    assert str(p) == "training\nloss: 2.5 at 0, 0.75 at 3; lowest 0.5 at 2, highest 2.5 at 0"
    assert f"<desc>{p}</desc>" in p.svg
