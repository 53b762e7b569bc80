"""Markup, the palette, and putting pictures together."""

import math

import pytest
from drawn import all_of, check, parse, words

from tutor import viz
from tutor.errors import DTypeError
from tutor.viz import svg


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_words_can_be_read_in_both_themes(theme):
    """WCAG asks for 4.5 : 1. Cells carry dark or soft ink; the page carries every strong colour."""
    value = {name: pair[theme] for name, pair in svg.PALETTE.items()}
    for name in ("ink", "soft", "red", *svg.SERIES):
        assert contrast(value[name], value["paper"]) >= 4.5, name
    for name in ("wash", *(f"{s} wash" for s in svg.SERIES)):
        assert contrast(value["ink"], value[name]) >= 4.5, name
        assert contrast(value["soft"], value[name]) >= 4.5, name
    assert contrast(value["orange"], value["blue wash"]) >= 4.5  # gradients in leaves


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    "rows", [[[1.0, -1.0]], [[f"word {k}" for k in range(15)]]], ids=["numbers", "words"]
)
def test_words_on_the_strongest_cell_can_be_read(rows, theme):
    value = {pair[0]: pair[theme] for pair in svg.PALETTE.values()}
    paper, ink = value[svg.color("paper")], value[svg.color("ink")]
    cells = [e for e in all_of(viz.heatmap(rows), "rect") if e.get("rx") == "3"]
    assert len(cells) == len(rows[0])
    for cell in cells:
        strength = float(cell.get("fill-opacity", 1))
        both = zip(rgb(value[cell.get("fill")]), rgb(paper), strict=True)
        seen = [round(strength * c + (1 - strength) * p) for c, p in both]
        assert contrast("#" + bytes(seen).hex(), ink) >= 4.5, cell.attrib


def rgb(color):
    return bytes.fromhex(color.removeprefix("#"))


def test_no_two_colours_are_alike():
    """The dark theme is a table from light to dark: it needs each light value once."""
    lights = [light for light, _ in svg.PALETTE.values()]
    assert len(set(lights)) == len(lights)


def test_what_is_written_is_escaped():
    p = svg.Picture(svg.text(20, 30, '<b> & "c" \x00\ud800'), 300, 60, 'a < b & "c"')
    check(p)
    assert words(p) == ['<b> & "c" \ufffd\ufffd']
    assert parse(p).get("aria-label") == 'a < b & "c"'


def test_a_dark_page_gets_the_dark_colours_of_those_in_use():
    style = all_of(svg.Picture(svg.text(9, 30, "x", fill="pink"), 50, 50, "x"), "style")[0].text
    light, dark = svg.PALETTE["pink"]
    assert f'[fill="{light}"]{{fill:{dark}}}' in style
    assert style.count(dark) == 2  # once for the reader's system, once for the page's own theme
    assert "prefers-color-scheme:dark" in style and "[data-theme=dark]" in style
    assert svg.PALETTE["blue"][1] not in style


def test_jupyter_gets_it_with_selectable_text_and_a_file_can_be_saved(tmp_path):
    p = svg.Picture(svg.text(9, 30, "x"), 900, 50, "x")
    assert p._repr_svg_() == p.svg
    assert p._repr_html_().startswith('<div style="overflow-x:auto"><svg ')
    assert 'style="min-width:660px"' in p._repr_html_()
    assert ".tutor-picture{max-width:100%;height:auto}" in p.svg
    assert p.save(tmp_path / "p.svg").read_text(encoding="utf-8") == p.svg + "\n"
    assert str(p) == p.svg and repr(p) == "<Picture 'x'>"


def test_rows_and_columns_hold_their_pictures():
    a = svg.Picture(svg.text(9, 30, "left"), 100, 50, "a")
    b = svg.Picture(svg.text(9, 30, "right"), 80, 90, "b", style=".b{}")
    both, stacked = check_titles(viz.row(a, b)), check_titles(viz.column(a, b, b))
    assert (both.width, both.height) == (180, 90) and (stacked.width, stacked.height) == (100, 230)
    assert both.title == "a; b" and stacked.style == ".b{}"
    assert words(viz.row(both, stacked)) == ["left", "right", "left", "right", "right"]
    with pytest.raises(DTypeError, match="no Picture"):
        viz.row(a, "b")
    with pytest.raises(DTypeError, match="no picture was given"):
        viz.column()


def check_titles(p):
    assert len([e for e in parse(p).iter() if e.tag.endswith("title")]) > 1
    return check(p)


def test_rows_have_words_if_all_their_pictures_have():
    a, b = svg.Picture("", 9, 9, "a", words="A"), svg.Picture("", 9, 9, "b")
    assert str(viz.row(a, a)) == "A\n\nA"
    assert str(viz.row(a, b)).startswith("<svg")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3.0, "3.0"), (-0.5, "-0.5"), (1 / 3, "0.33333"), (0.9999999, "1.0"),
        (1e-7, "1e-7"), (123456789.0, "1.235e8"),
        (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"), (0.0, "0.0"), (-0.0, "-0.0"),
        (7, "7"), (True, "True"), (123456789012, "1.2e11"), (-5, "-5"), (1.5e300, "1.5e300"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, shown):
    assert svg.short(value) == shown and len(shown) <= 7


def test_words_are_cut_to_fit():
    assert svg.fit("short", 200) == "short"
    cut = svg.fit("a very long name of a tensor", 100)
    assert cut.endswith("…") and svg.width_of(cut) <= 100
    assert svg.width_of("abc", 10, mono=True) == pytest.approx(18.3)
