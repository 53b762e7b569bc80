"""What stands around the pages of the site: no needless file, no link that leads nowhere, charts
made from the benchmark's rows, and a front page whose pictures the library draws."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/_ext"))
import front
import shell
import speed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

PAGE = """<head><script defer src="_static/scripts/fontawesome.js?digest=1"></script>
<script src="_static/own.js?v=2"></script></head>
<h1 id="top">A</h1> <a href="#top">up</a> <a href="b.html#x%20y">b</a> <a href="folder/">f</a>
<a href="https://example.org/">out</a> <img src="_static/own.js">"""


@pytest.fixture
def site(tmp_path):
    files = {
        "a.html": PAGE,
        "b.html": '<p id="x y">',
        "folder/index.html": '<a href="../a.html#top">back</a>',
        "_static/own.js": "",
        "_static/own.js.map": "",
        "_static/scripts/fontawesome.js": "",
        "_static/vendor/fontawesome/webfonts/fa-brands-400.woff2": "",
        "_static/webpack-macros.html": '<script src="{{ nowhere }}">',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_no_page_needs_is_left_out(site):
    assert shell.finish(site) == []
    left = sorted(file.name for file in site.rglob("*") if file.is_file())
    assert left == ["a.html", "b.html", "fa-brands-400.woff2", "index.html", "own.js"]
    assert "fontawesome" not in (site / "a.html").read_text()
    assert '<script src="_static/own.js?v=2"></script>' in (site / "a.html").read_text()


@pytest.mark.parametrize("link", ["c.html", "b.html#z", "#bottom", "_static/fontawesome.js"])
def test_a_link_that_leads_nowhere_is_found(site, link):
    (site / "b.html").write_text(f'<p id="x y"><a class="q" href="{link}">there</a>')
    assert shell.finish(site) == [("b.html", link)]


def test_ways_back_from_listed_source_are_kept_where_they_lead_somewhere(site):
    source = site / "_modules/m.html"
    source.parent.mkdir()
    good = '<a class="viewcode-back" href="../a.html#top">[docs]</a>'
    bad = good.replace("top", "no")
    lost = '<li><a href="n.html">n</a></li>'
    source.write_text(good + bad + lost)
    assert shell.finish(site) == []
    assert source.read_text() == good


def test_what_folds_away_and_what_searches_has_a_name(site):
    fold = '<a class="internal" href="b.html">The chapters</a><details open="open"><summary>v'
    button = '<button class="btn search-button-field" title="Search"%s>Search Ctrl+K</button>'
    (site / "b.html").write_text('<p id="x y">' + fold + button % ' aria-label="Search"')
    for _ in range(2):  # a page that was not built anew is left as it is
        assert shell.finish(site) == []
        named = fold.replace("<summary>", '<summary aria-label="Pages below The chapters">')
        assert (site / "b.html").read_text() == '<p id="x y">' + named + button % ""


def test_a_page_without_contents_at_its_right_is_wide(site):
    button = '<button class="sidebar-toggle secondary-toggle"\n title="t"><span></span></button>'
    article = f'<html lang="en"><div class="bd-article-container">{button}<p id="x y">'
    (site / "a.html").write_text(article + '<div class="bd-sidebar-secondary">')
    (site / "b.html").write_text(article)
    for _ in range(2):
        shell.finish(site)
        assert (site / "a.html").read_text() == article + '<div class="bd-sidebar-secondary">'
        marked = article.replace("<html", "<html data-wide").replace(button, "")
        assert (site / "b.html").read_text() == marked
    assert "html[data-wide] " in (DOCS / "_static/tutor.css").read_text()


def test_the_shell_s_settings():
    conf = runpy.run_path(str(DOCS / "conf.py"))
    assert conf["html_context"]["default_mode"] == "auto"  # "" is an error in the console
    assert (DOCS / conf["html_favicon"]).is_file()
    assert "-d docs/_build/doctrees" in (ROOT / "Makefile").read_text()
    title = re.search(r"<title>(.*?)</title>", (DOCS / "_templates/layout.html").read_text())
    assert title and "—" not in title[1] and title[1].startswith("tutor: ")


# ---- how fast ------------------------------------------------------------------------------------


def suites():
    return re.findall(r"```\{speed-chart\} (\w+)", (DOCS / "benchmarks.md").read_text())


def test_every_chart_of_the_page_has_rows():
    assert len(suites()) >= 4
    for suite in suites():
        assert len(speed.rows(suite)) >= 3, suite


@pytest.mark.parametrize("suite", suites())
def test_a_chart_says_what_was_measured(suite):
    rows = speed.rows(suite)
    svg = speed.chart(rows, "a title").svg
    for row in rows:
        for library in set(row["results"]) & set(speed.LIBRARIES):
            assert f">{speed.seconds(row['results'][library]['best'])}<" in svg
    assert svg.count(">tutor</text>") == len(rows)


def test_a_row_that_was_disturbed_is_left_out(tmp_path):
    row = speed.rows("mlp")[0]
    shaky = json.loads(json.dumps(row))
    shaky["results"]["torch"]["spread"] = 2 * speed.STEADY
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in (row, shaky)))
    assert speed.rows("mlp", file) == [row]
    assert speed.rows("matmul", file) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [(2.0, "2.00 s"), (0.0217, "21.7 ms"), (0.00099999, "1.00 ms"), (9.999e-6, "10.0 us"),
     (5e-8, "50.0 ns"), (4e-12, "0.00 ns")],
)  # fmt: skip
def test_seconds(value, said):
    assert speed.seconds(value) == said


def test_the_machine_is_named_and_how_busy_it_was():
    (row, *_) = speed.rows()
    said = speed.measured_on([row | {"others": 1.6}])
    assert row["cpu"] in said and row["date"][:10] in said and "1.6" in said
    assert "Nothing else ran." in speed.measured_on([row | {"others": 0.0}])


# ---- the front page ------------------------------------------------------------------------------


def test_the_front_page_shows_every_picture_and_the_two_commands():
    page = (DOCS / "index.md").read_text()
    assert set(re.findall(r"```\{front-picture\} (\w+)", page)) == set(front.PICTURES)
    first = page[: page.index("## ")]
    assert "make mnist" in first and "make chapters" in first


def test_the_network_s_answer_is_drawn():
    said = [0.01] * 10
    said[7] = 0.91
    picture = front.answer([0, 255] * 392, said)
    assert "the network says 7, with a probability of 91 %" in picture.title
    assert picture.svg.count("91 %") == 3  # title, label, bar


def test_the_walk_is_of_the_code_beside_it():
    assert "(x * w + b) ** 2" in (DOCS / "index.md").read_text()
    assert [step.title for step in front.walk().steps][1:] == [
        "Pow gets 1.0, hands on 2.0",
        "Add gets 2.0, hands on 2.0 and 2.0",
        "Mul gets 2.0, hands on -6.0 and 4.0",
        "done: every leaf has its gradient",
    ]
