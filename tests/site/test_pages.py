"""The pages beside Sphinx's in a real browser, in the built site: `make site-test`."""

from __future__ import annotations

import os

import pytest

if not os.environ.get("TUTOR_SITE"):
    pytest.skip("TUTOR_SITE names no built site: make site-test", allow_module_level=True)

from conftest import LOAD, Watched

LAST = "document.getElementById('steps').max === document.getElementById('steps').value"


@pytest.fixture
def page(browser, server):
    context = browser.new_context(reduced_motion="reduce")
    yield Watched(context.new_page(), server.base)
    context.close()


# ---- the 60-line autograd ------------------------------------------------------------------------


def texts(page, kind):
    return page.page.locator(f"#picture .{kind}").all_text_contents()


def test_the_film_goes_forward_and_back(page):
    page.open("autograd.html")
    page.page.wait_for_function(LAST)  # less motion was asked for: it shows its end
    assert {"grad -6", "grad 4", "grad 2", "grad 1"} <= set(texts(page, "grad"))
    page.page.locator("#stage").focus()
    for _ in range(8):
        page.page.keyboard.press("ArrowLeft")
    assert not any(texts(page, "grad"))
    assert page.page.locator("#caption").inner_text().startswith("The numbers you gave")
    page.page.keyboard.press("ArrowRight")
    assert page.page.locator("#caption").inner_text().startswith("Forward: * of 2 and -3 is -6")
    lit = page.page.locator("#sixty .line.forward").all_inner_texts()
    assert lit[0].strip() == "def __mul__(self, other):" and len(lit) == 3
    assert page.wrong == []


def test_a_number_is_dragged_and_its_gradient_is_what_trying_says(page):
    page.open("autograd.html#e=x*x&x=3")
    page.page.get_by_label("x", exact=True).fill("4")
    flows = page.page.locator("#picture .edge.flow")
    assert flows.count() == 2 and "forward" in flows.first.get_attribute("class")
    page.page.locator("#picture .edge.flow.backward").first.wait_for(state="attached")
    page.page.wait_for_function("!document.querySelector('#picture .edge.flow')")
    said = page.page.locator("#tried-x").inner_text()
    assert said == "gradient 8; tried, by a step of 0.0001: 8"
    box = page.page.locator("#picture [data-node].leaf").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x - 50, y)
    page.page.mouse.up()
    assert page.page.get_by_label("x", exact=True).input_value() == "3"
    assert "grad 6" in texts(page, "grad")
    assert page.page.url.endswith("#e=x*x&x=3")
    assert page.wrong == []


def test_what_is_wrong_is_said_and_the_stage_stays(page):
    page.open("autograd.html")
    page.page.locator("#expression").fill("x * (w")
    assert page.page.locator("#error").inner_text().startswith("SyntaxError")
    assert "-6" in texts(page, "number")
    page.page.locator("#expression").fill("x * w * 2")
    assert page.page.locator("#error").inner_text() == ""
    assert page.wrong == []


def test_it_moves_where_motion_is_welcome(browser, server):
    context = browser.new_context(reduced_motion="no-preference")
    page = Watched(context.new_page(), server.base)
    page.open("autograd.html")
    page.page.locator("#picture .pulse.forward").first.wait_for(state="attached")
    page.page.get_by_role("button", name="Pause").click()  # it can be stopped
    at = page.page.locator("#count").inner_text()
    page.page.wait_for_timeout(2500)
    assert page.page.locator("#count").inner_text() == at
    context.close()


# ---- the playground ------------------------------------------------------------------------------


def output(page):
    """What the run has shown: it is in a frame of its own."""
    return page.page.frame_locator("#output").locator("#output")


def result(page):
    page.page.locator("#output[aria-busy=false]").wait_for(timeout=LOAD)
    return output(page).inner_text()


def write(page, code):
    page.page.locator("#run:enabled").wait_for()
    page.page.locator("#code").fill(code)


def test_code_runs_and_another_page_has_it_from_the_address(page):
    page.open("playground.html")
    write(page, "from tutor import Tensor\nprint(Tensor([1.0, 2.0]).sum().item())\n6 * 7")
    page.page.get_by_role("button", name="Copy link").click()
    page.page.wait_for_function("location.hash.startsWith('#code=')")
    page.page.get_by_role("button", name="Run").click()
    assert result(page).split() == ["3.0", "42"]
    again = page.page.context.new_page()
    again.goto(page.page.url)
    again.wait_for_function("document.getElementById('code').value.includes('6 * 7')")
    shown = again.frame_locator("#output").locator("#output")
    assert shown.inner_text() == ""  # nobody has pressed Run
    assert page.wrong == []


@pytest.mark.parametrize("example", ["walk", "views", "broadcasting", "program"])
def test_an_example_shows_a_picture(page, example):
    page.open(f"playground.html#example={example}")
    page.page.wait_for_function("document.getElementById('code').value.length > 50")
    page.page.get_by_role("button", name="Run").click()
    result(page)
    assert output(page).locator("svg.tutor-picture").count() == 1
    assert page.wrong == []


def test_an_endless_loop_is_stopped(page):
    page.open("playground.html")
    write(page, "while True: pass")
    page.page.get_by_role("button", name="Run").click()
    page.page.locator("#state:has-text('Running')").wait_for(timeout=LOAD)
    page.page.get_by_role("button", name="Stop").click()
    assert "Stopped." in result(page)
    write(page, "1 + 1")
    page.page.get_by_role("button", name="Run").click()
    output(page).get_by_text("2").wait_for(timeout=LOAD)
    assert page.wrong == []


# ---- code that came by a link --------------------------------------------------------------------

# Each asks, in its own way, for what a learner has done, or for the world outside the frame; none
# may print "reached".
ATTACKS = {
    "the database": """
import js
try:
    js.indexedDB.open("tutor", 1)
    print("reached")
except Exception as error:
    print("refused", str(error)[:80])""",
    "what the service worker keeps": """
import js
try:
    js.caches.keys()
    print("reached")
except Exception as error:
    print("refused", str(error)[:80])""",
    "another worker": """
import js
try:
    js.Worker.new(js.location.origin + "/live/tutor-worker.js")
    print("reached")
except Exception as error:
    print("refused", str(error)[:80])""",
    "another host": """
import js
asked = js.XMLHttpRequest.new()
try:
    asked.open("GET", "http://127.0.0.1:1/", False)
    asked.send()
    print("reached")
except Exception as error:
    print("refused", str(error)[:80])""",
}
MARKED = "window.reached = true; try { parent.reached = top.reached = true } catch {}"


@pytest.mark.parametrize("attack", ATTACKS)
def test_code_from_a_link_cannot_reach_what_a_learner_has_done(page, attack):
    page.open("playground.html")
    write(page, ATTACKS[attack])
    page.page.get_by_role("button", name="Run").click()
    said = result(page)
    assert "refused" in said and "reached" not in said


@pytest.mark.parametrize(
    "html",
    [
        f"<img src=x onerror='{MARKED}'>",
        f"<svg onload='{MARKED}'></svg>",
        f"<iframe srcdoc='<script>{MARKED}</script>'></iframe>",
        f"<a href='javascript:{MARKED}' id='trap'>click</a>",
    ],
)
def test_html_that_code_shows_runs_nothing(page, html):
    page.open("playground.html")
    write(
        page, f"from IPython.display import HTML, display\ndisplay(HTML({html!r}))\nprint('shown')"
    )
    page.page.get_by_role("button", name="Run").click()
    assert "shown" in result(page)
    trap = output(page).locator("#trap")
    if trap.count():
        trap.click()
    page.page.wait_for_timeout(500)
    assert [frame.evaluate("window.reached") for frame in page.page.frames[:2]] == [None, None]
    assert output(page).get_by_text("shown").count() == 1  # the frame is where it was


def test_html_that_leads_the_frame_elsewhere_gets_nowhere_and_the_page_says_so(page):
    page.open("playground.html")
    refresh = "<meta http-equiv='refresh' content='0;url=http://127.0.0.1:1/?what=was-read'>"
    write(page, f"from IPython.display import HTML, display\ndisplay(HTML({refresh!r}))\n"
                "import time; time.sleep(2)")  # fmt: skip
    page.page.get_by_role("button", name="Run").click()
    page.page.locator("#state:has-text('has left its frame')").wait_for(timeout=LOAD)
    assert page.page.url.startswith(page.base)
    assert not [line for line in page.wrong if line.startswith("asks another host")]


def test_the_frame_shares_nothing_with_the_page(page):
    page.open("playground.html")
    write(page, "1")
    page.page.get_by_role("button", name="Run").click()
    result(page)
    frame = page.page.frames[1]
    assert frame.evaluate("origin") == "null"
    for taken in ("parent.document.title", "localStorage.length", "indexedDB.open('tutor')"):
        refused = (
            f"(() => {{ try {{ {taken}; return 'reached' }} catch (e) {{ return e.name }} }})()"
        )
        assert frame.evaluate(refused) == "SecurityError", taken


def test_the_playground_works_without_a_network(page, server):
    page.open("playground.html")
    write(page, "6 * 7")
    page.page.get_by_role("button", name="Run").click()
    assert "42" in result(page)
    page.page.wait_for_function(
        """async () => {
            const store = await caches.open((await caches.keys()).find((n) => n.includes("site")));
            const kept = (await store.keys()).map((request) => request.url);
            const needed = ["live/framed.js", "live/editor.js", "tutor.zip", "playground.html"];
            return needed.every((name) => kept.some((url) => url.endsWith(name)));
        }"""
    )
    server.stop()
    page.page.reload()
    page.page.wait_for_function("document.getElementById('code').value.includes('6 * 7')")
    page.page.get_by_role("button", name="Run").click()
    assert "42" in result(page)
    server.stop = lambda: None
