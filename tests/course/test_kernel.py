"""The kernel of the live pages: what a cell prints, shows, gives and raises."""

from __future__ import annotations

import json
import linecache
import sys
from types import ModuleType, SimpleNamespace

import pytest

from course import clock, kernel, verdict
from course.guard import TimeUp
from course.unrun import told


@pytest.fixture
def page(monkeypatch):
    """A kernel that is installed, and the list of what it has sent."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    for name in ("IPython", "IPython.display"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(linecache, "cache", {})  # where other tests have cells of these names
    sent = []
    own = kernel.Kernel(sent.append)
    own.install()
    return SimpleNamespace(run=own.run, kernel=own, sent=sent)


def text_of(page):
    return "".join(item["text"] for item in page.sent if item["kind"] == "text")


VALUES = {
    "1 + 1": "2",
    "x = 5\nx * 2": "10",
    "'a'": "'a'",
    "None": None,
    "x = 5": None,
    "1 + 1;": None,
    "": None,
    "# only a comment": None,
    "list(range(40))": "[" + ",\n ".join(map(str, range(40))) + "]",
}


@pytest.mark.parametrize("code", VALUES)
def test_the_value_is_that_of_the_last_line(page, code):
    result = page.run(code, f"<{code}>")
    assert result["ok"] and result["error"] is None
    assert (result["value"] and result["value"]["text"]) == VALUES[code]


def test_names_stay_and_fresh_ones_do_not(page):
    page.run("kept = 1")
    assert page.run("kept")["value"]["text"] == "1"
    assert page.run("kept", fresh=True)["error"]["name"] == "NameError"
    page.run("other = 1", fresh=True)
    assert page.run("other")["error"]["name"] == "NameError"


def test_what_is_printed_arrives_in_order_and_by_its_stream(page):
    page.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')")
    assert text_of(page).split() == ["a", "b", "c"]
    assert {item["stream"] for item in page.sent} == {"stdout", "stderr"}


def test_a_cell_that_prints_without_end_is_cut_short_and_the_next_is_not(page):
    page.run("for _ in range(1000): print('x' * 1000)")
    said = text_of(page)
    assert kernel.MOST < len(said) < kernel.MOST + 200 and "the rest is not shown" in said
    page.sent.clear()
    page.run("print('again')")
    assert text_of(page) == "again\n"


PICTURE = "class P:\n def _repr_html_(self): return '<svg>one</svg>'\n"


def test_a_picture_is_html_wherever_it_is_shown(page):
    assert page.run(f"{PICTURE}\nP()")["value"]["html"] == "<svg>one</svg>"
    assert page.run("P")["value"]["html"] == ""  # the class is not its picture
    page.run("print('before')\ndisplay(P())\nprint('after')")
    assert [item["kind"] for item in page.sent] == ["text", "html", "text"]


def test_a_handle_shows_another_thing_in_the_same_place(page):
    page.run("from IPython.display import display, HTML")
    page.run("handle = display(HTML('<b>1</b>'), display_id=True)\nhandle.update(HTML('<b>2</b>'))")
    first, second = page.sent
    assert first["id"] == second["id"] and second["html"] == "<b>2</b>"


def test_the_traceback_begins_with_the_cell_and_has_its_lines(page):
    error = page.run("def f():\n    return 1 / 0\nf()", "<cell 3 of 05_engine>")["error"]
    assert error["name"] == "ZeroDivisionError"
    assert "kernel.py" not in error["text"] and "<cell 3 of 05_engine>" in error["text"]
    assert "return 1 / 0" in error["text"]


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "raise KeyboardInterrupt", "1 +", "raise BaseException"]
)
def test_whatever_is_raised_the_kernel_lives(page, code):
    assert not page.run(code, f"<{code}>")["ok"]
    assert page.run("1")["ok"]


def test_a_function_keeps_its_lines_when_its_cell_is_run_with_another_text(page):
    page.run("def f():\n    return 1 / 0", "<cell 1 of x>")
    page.run("g = f", "<cell 1 of x>")
    assert "return 1 / 0" in page.run("g()", "<cell 2 of x>")["error"]["text"]


def test_a_cell_that_was_not_run_is_named_as_in_jupyter(page):
    page.run("from course import begin, unrun\nunrun.watch('00')")
    result = page.run("loss.backward()")
    told_lines = told(NameError(name="loss"), "00")
    assert told_lines[0] in text_of(page) and result["error"]["name"] == "NameError"


def test_checks_take_the_page_for_a_notebook(page):
    assert verdict.in_jupyter()
    verdict.display_html("<b>x</b>", "x")
    assert page.sent == [{"kind": "html", "html": "<b>x</b>", "text": "x", "id": None}]


def test_everything_that_is_sent_is_json(page, monkeypatch):
    monkeypatch.setattr(kernel, "protect_stack", lambda top: True)
    sent = []
    run = kernel.serve(sent.append, 0)
    assert json.loads(run("print('x')\n2", "<cell>", False))["value"]["text"] == "2"
    assert json.loads(sent[0]) == {"kind": "text", "stream": "stdout", "text": "x\n"}


# ---- the clock -----------------------------------------------------------------------------------


class Monitoring:
    """sys.monitoring, as far as the clock uses it, by a trace function."""

    DEBUGGER_ID, events = 0, SimpleNamespace(JUMP=1, PY_START=2, PY_RESUME=4)

    def __init__(self):
        self.tool, self.callbacks, self.on = None, {}, 0

    def use_tool_id(self, tool, name):
        self.tool = name

    def get_tool(self, tool):
        return self.tool

    def register_callback(self, tool, event, callback):
        self.callbacks[event] = callback

    def get_events(self, tool):
        return self.on

    def set_events(self, tool, events):
        self.on = events
        here = sys._getframe(1)

        def trace(frame, event, arg):
            if frame is not here and frame.f_code is not clock.watched.__code__:
                self.callbacks[2](frame.f_code, 0)
            return trace

        sys.settrace(trace if events else None)


@pytest.fixture
def monitoring(monkeypatch):
    before = sys.gettrace()
    found = Monitoring()
    monkeypatch.setattr(sys, "monitoring", found, raising=False)
    yield found
    sys.settrace(before)


def endless():
    while True:
        pass


def test_without_threads_and_alarms_a_loop_that_never_ends_is_ended(monitoring):
    with pytest.raises(TimeUp):
        clock.watched(endless, 0.1, TimeUp)
    assert monitoring.on == 0 and not clock.Watch.ends


def test_the_outer_limit_holds_again_after_an_inner_one(monitoring):
    def outer():
        with pytest.raises(TimeUp):
            clock.watched(endless, 0.05, TimeUp)
        endless()

    with pytest.raises(TimeUp):
        clock.watched(outer, 0.3, TimeUp)
    assert monitoring.on == 0


def test_what_ends_in_time_gives_its_value_and_its_own_error(monitoring):
    assert clock.watched(lambda: sum(range(100)), 5, TimeUp) == 4950
    with pytest.raises(ZeroDivisionError):
        clock.watched(lambda: 1 / 0, 5, TimeUp)
    assert monitoring.on == 0


def test_a_debugger_keeps_its_place(monitoring):
    monitoring.tool = "debugger"
    assert clock.watched(lambda: 3, 5, TimeUp) == 3 and monitoring.on == 0


def test_an_error_of_tutor_s_is_shown_where_the_cell_made_it(page):
    code = "import tutor\ndef f(x):\n    return x + [1.0, 2.0, 3.0]\nf(tutor.Tensor([1.0, 2.0]))"
    told = page.run(code, "<cell 1>")["error"]
    assert told["name"] == "ShapeError" and 'File "<cell 1>", line 3, in f' in told["text"]
    assert told["text"].count("File ") == 2  # both of the cell
    other = page.run("import json\njson.loads('{')", "<cell 2>")["error"]["text"]
    assert "decoder.py" in other  # what was raised elsewhere is shown as Python shows it
