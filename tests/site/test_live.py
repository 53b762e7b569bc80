"""Chapters in the page: a newcomer's visit, in a real browser."""

from __future__ import annotations

import time
import zipfile

import pytest

from course.exercise import find

FIVE = "00_five_minutes"
ENDLESS = "n = 0\nwhile True:\n    n += 1"
MOVED = """window.moved = 0;
new PerformanceObserver((all) => all.getEntries().forEach((e) => {
  if (!e.hadRecentInput) moved += e.value;
})).observe({type: "layout-shift", buffered: true});"""


def exercise(chapter) -> tuple[int, int]:
    """The numbers of the cells of exercise 00.1 and of its check."""
    labels = [area.get_attribute("aria-label") for area in chapter.page.locator("textarea").all()]
    place = next(n for n, label in enumerate(labels, 1) if "exercise 00.1" in label)
    return place, next(n for n, label in enumerate(labels, 1) if "check 00.1" in label)


def test_a_cell_runs_and_gives_its_value(chapter):
    chapter.open(FIVE)
    assert chapter.run(1, "from tutor import Tensor\nTensor([1.0, 2.0]) * 3") == "Tensor([3., 6.])"
    assert chapter.run(2, "print('a')\nprint('b')").split() == ["a", "b"]
    assert "ZeroDivisionError" in chapter.run(3, "1 / 0")
    assert chapter.mark(3) == "error"
    assert chapter.wrong == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_the_page_and_python_come(chapter, width):
    """Nor would it, were the first half painted before the second is there: the contents at the
    right stand behind the article."""
    page = chapter.page
    page.set_viewport_size({"width": width, "height": 800})
    page.add_init_script(MOVED)
    chapter.open(FIVE)
    page.locator("textarea").first.focus()  # which loads Python
    page.wait_for_selector("html[data-python=ready]")
    assert page.evaluate("moved") < 0.01
    wide = "document.querySelector('article').clientWidth"
    before = page.evaluate(wide)
    page.evaluate("document.querySelector('.bd-sidebar-secondary').remove()")
    assert page.evaluate(wide) == before


def test_pictures_are_shown_and_a_handle_replaces_them(chapter):
    chapter.open(FIVE)
    chapter.run(1, "from tutor import viz\nviz.curves({'loss': [3, 2, 1]})")
    assert chapter.cell(1).locator(".cell_output svg").count() >= 1
    chapter.run(2, "from IPython.display import HTML\nhandle = display(HTML('<i>1</i>'), "
                   "display_id=True)\nhandle.update(HTML('<b>2</b>'))")  # fmt: skip
    assert chapter.cell(2).locator(".cell_output").inner_text().strip() == "2"


def test_an_exercise_is_failed_and_then_passed_and_that_is_kept(chapter):
    chapter.open(FIVE)
    number, check = exercise(chapter)
    chapter.run(1)
    solution = find("00.1").solution
    wrong = solution.replace("- -4.0", "- 4.0")
    assert wrong != solution
    chapter.run(number, wrong)
    assert "00.1 wrong" in chapter.run(check)
    chapter.run(number, solution)
    assert "00.1 exact" in chapter.run(check)

    chapter.reload()
    assert chapter.cell(number).locator("textarea").input_value() == solution
    chapter.run(1)
    said = chapter.run(2, "from pathlib import Path\nprint(Path('progress.txt').read_text())")
    assert "00.1 passed tries=1" in said
    chapter.cell(number).get_by_role("button", name="Original code").click()
    assert "..." in chapter.cell(number).locator("textarea").input_value()


def test_what_is_exported_is_there_again_where_it_is_imported(chapter, browser, tmp_path):
    chapter.open(FIVE)
    chapter.run(1, "from course import begin, check\nbegin('05')\ncheck('00.q1', 'a')")
    with chapter.page.expect_download() as waiting:
        chapter.page.get_by_role("button", name="Export").click()
    file = tmp_path / "my_tutor.zip"
    waiting.value.save_as(file)
    names = zipfile.ZipFile(file).namelist()
    assert "my_tutor/tensor.py" in names and "progress.txt" in names

    context = browser.new_context()
    other = type(chapter)(context.new_page(), chapter.base)
    other.open(FIVE)
    listed = "import os\nsorted(os.listdir())"
    assert "progress.txt" not in other.run(1, listed)
    other.page.on("dialog", lambda dialog: dialog.accept())
    other.page.locator("input[type=file]").set_input_files(file)
    other.page.locator(".live-status:has-text('files are here now')").wait_for()
    assert "my_tutor" in other.run(1, listed) and "progress.txt" in other.run(1, listed)
    context.close()


@pytest.mark.parametrize("isolated", [False, True])
def test_stop_ends_an_endless_loop_and_what_was_run_stays(chapter, isolated):
    chapter.open(FIVE)
    if isolated:
        chapter.run(1, "1")  # the service worker is there
        chapter.reload()
    assert chapter.isolated == isolated
    chapter.run(1, "kept = 7")
    cell = chapter.begin(2, ENDLESS)
    chapter.page.wait_for_selector("html[data-python=running]")
    time.sleep(0.5)
    chapter.page.get_by_role("button", name="Stop").click()
    assert "Stopped." in chapter.end(cell)
    assert chapter.run(3, "kept") == "7"


def test_a_check_ends_an_answer_that_never_returns(chapter):
    chapter.open(FIVE)
    forever = "def forever(*args, **kwargs):\n    while True:\n        pass\n"
    chapter.run(1)
    assert "01.2 timeout" in chapter.run(2, f'{forever}check("01.2", forever)')
    assert chapter.run(3, "1 + 1") == "2"


CALLS = {
    "an operator": "class A:\n    def __add__(self, other): return self + other\nA() + 1",
    "an attribute": "class A:\n    def __getattr__(self, n): return getattr(self, n)\nA().x",
    "a key": "def key(x): return sorted([1], key=key)\nkey(1)",
    "itself": "def f(n): return f(n + 1)\nf(0)",
}


def test_calls_without_end_are_an_error_and_not_the_end_of_python(chapter):
    chapter.open(FIVE)
    chapter.run(1, "kept = 7")
    for code in CALLS.values():
        assert "RecursionError" in chapter.run(2, code)
    assert chapter.run(3, "kept") == "7"


def test_the_chain_of_chapter_5_is_no_end_of_python(chapter):
    """2,000 tensors that hold one another: deleting them goes deep into the browser's stack."""
    chapter.open("05_engine")
    chapter.run(1, "from tutor import Tensor\nkept = 7")
    code = (
        "x = y = Tensor(0.0, requires_grad=True)\nfor _ in range(2000):\n    y = y + 1.0\ny = None"
    )
    chapter.run(2, code)
    assert chapter.run(3, "kept") == "7"


def test_the_keyboard_is_enough(chapter):
    chapter.open(FIVE)
    area = chapter.cell(1).locator("textarea")
    area.fill("if 1:")
    area.focus()
    keyboard = chapter.page.keyboard
    keyboard.press("End")
    keyboard.press("Enter")
    keyboard.type("x = 6")
    assert area.input_value() == "if 1:\n    x = 6"
    keyboard.press("Tab")
    assert area.input_value().endswith("x = 6    ")
    keyboard.press("Shift+Enter")
    focused = "document.activeElement.getAttribute('aria-label')"
    assert chapter.page.evaluate(focused) == "Code of cell 2"
    keyboard.press("Escape")
    keyboard.press("Tab")
    assert chapter.page.evaluate(focused) == "Run cell 2"
    chapter.end(chapter.cell(1))
    assert chapter.run(3, "x") == "6"


def test_the_second_visit_needs_no_network(chapter, server):
    chapter.open(FIVE)
    chapter.run(1, "1 + 1")
    kept = """async () => {
        const names = (await caches.keys()).filter((name) => name.startsWith("tutor-"));
        const lists = await Promise.all(names.map(async (n) => (await caches.open(n)).keys()));
        return lists.flat().map((request) => request.url);
    }"""
    for _ in range(200):  # the other chapters are fetched in the background
        urls = chapter.page.evaluate(kept)
        if any("08_training" in url for url in urls) and any("asm.wasm" in url for url in urls):
            break
        time.sleep(0.1)
    server.stop()
    chapter.reload()
    assert chapter.isolated
    assert chapter.run(1, "6 * 7") == "42"
    chapter.open("05_engine")  # which was not visited
    assert chapter.run(1, "6 * 8") == "48"
    server.stop = lambda: None
