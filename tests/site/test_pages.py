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


def result(page):
    page.page.locator("#output[aria-busy=false]").wait_for(timeout=LOAD)
    return page.page.locator("#output").inner_text()


def write(page, code):
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
    assert again.locator("#output").inner_text() == ""  # nobody has pressed Run
    assert page.wrong == []


@pytest.mark.parametrize("example", ["walk", "views", "broadcasting", "program"])
def test_an_example_shows_a_picture(page, example):
    page.open(f"playground.html#example={example}")
    page.page.wait_for_function("document.getElementById('code').value.length > 50")
    page.page.get_by_role("button", name="Run").click()
    result(page)
    assert page.page.locator("#output svg.tutor-picture").count() == 1
    assert page.wrong == []


def test_an_endless_loop_is_stopped(page):
    page.open("playground.html")
    write(page, "while True: pass")
    page.page.get_by_role("button", name="Run").click()
    page.page.wait_for_function(
        "document.getElementById('state').textContent.startsWith('Running')", timeout=LOAD
    )
    page.page.get_by_role("button", name="Stop").click()
    assert "Stopped." in result(page)
    write(page, "1 + 1")
    page.page.get_by_role("button", name="Run").click()
    page.page.locator("#output:has-text('2')").wait_for(timeout=LOAD)
    assert page.wrong == []
