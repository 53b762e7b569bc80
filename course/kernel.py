"""A small kernel for a page: it runs cells, and says what they print, show and raise.

It stands in for the part of IPython that this project uses, under IPython's name: `display`, its
handles, `get_ipython()`. So a check, a picture or a training shows in a page what it shows in
Jupyter. What is to be shown goes to one function, `send`, as a dict that JSON can hold:

    {"kind": "text", "stream": "stdout", "text": ...}
    {"kind": "html", "html": ..., "text": ..., "id": ...}   the same id again: in its place
    {"kind": "clear"}
"""

from __future__ import annotations

import ast
import html
import io
import itertools
import json
import linecache
import os
import pprint
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from types import CodeType, ModuleType, TracebackType
from typing import Any

from course import notebooks
from tutor import errors
from tutor.errors import TutorError

LIBRARY = os.path.dirname(errors.__file__) + os.sep

MOST = 100_000  # characters that a cell may print
OFTEN = 0.05  # seconds between two messages of what is printed
WIDE = 80  # characters, from which on a list is shown in lines

Item = dict[str, Any]
Send = Callable[[Item], None]


class Stream(io.TextIOBase):
    """What is printed, sent on in pieces; a cell that prints without end is cut short."""

    def __init__(self, name: str, send: Send) -> None:
        self.name, self.send = name, send
        self.waiting, self.count, self.sent = "", 0, 0.0
        self.other: Stream | None = None  # what waits there was printed before

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"text can be printed, not {type(text).__name__}")
        if self.other is not None:
            self.other.flush()
        if self.count < MOST:
            self.waiting += text[: MOST - self.count]
            self.count += len(text)
            if self.count >= MOST:
                self.waiting += f"\n(more than {MOST:,} characters: the rest is not shown)\n"
            if "\n" in text and time.monotonic() - self.sent > OFTEN:
                self.flush()
        return len(text)

    def flush(self) -> None:
        if self.waiting:
            text, self.waiting, self.sent = self.waiting, "", time.monotonic()
            self.send({"kind": "text", "stream": self.name, "text": text})

    def begin(self) -> None:
        """The next cell: it may print as much again."""
        self.waiting, self.count = "", 0


def shown(value: Any) -> Item:
    """A value as HTML, if it has any, and as text."""
    for method in ("_repr_html_", "_repr_svg_"):
        own = getattr(type(value), method, None)
        markup = own(value) if own is not None else None
        if isinstance(markup, str):
            return {"html": markup, "text": _text(value)}
    return {"html": "", "text": _text(value)}


def _text(value: Any) -> str:
    text = repr(value)
    if isinstance(value, list | tuple | dict | set) and (len(text) > WIDE or "\n" in text):
        return pprint.pformat(value, width=WIDE, sort_dicts=False)
    return text


class Handle:
    """What `display(x, display_id=True)` gives: `update` shows another thing in its place."""

    def __init__(self, kernel: Kernel, id: str) -> None:
        self.kernel, self.display_id = kernel, id

    def update(self, value: Any) -> None:
        self.kernel.show(value, self.display_id)


class HTML:
    """Markup to be shown as it stands."""

    def __init__(self, data: str) -> None:
        self.data = data

    def _repr_html_(self) -> str:
        return self.data


class Kernel:
    """Runs cells one after the other, in the names of the module `__main__` or in fresh ones."""

    def __init__(self, send: Send) -> None:
        self.send, self.ids = send, itertools.count(1)
        self.out, self.err = Stream("stdout", self._print), Stream("stderr", self._print)
        self.out.other, self.err.other = self.err, self.out
        self.names = vars(sys.modules["__main__"])
        self.handlers: dict[type[BaseException], Callable[..., None]] = {}
        self.kernel = self  # `get_ipython().kernel`: there is one

    def _print(self, item: Item) -> None:
        self.send(item)

    # ---- running a cell ----------------------------------------------------------------------

    def run(self, text: str, name: str = "<cell>", fresh: bool = False) -> Item:
        """Run a cell: {"ok", "value", "error", "seconds"}. What it shows has been sent by then.

        The value is that of its last line, if that is an expression; None shows nothing, nor does
        a line that ends in a semicolon.
        """
        names = {"__name__": "__main__"} if fresh else self.names
        name = _entered(text, name)
        self.out.begin()
        self.err.begin()
        began, value, error = time.monotonic(), None, None
        with redirect_stdout(self.out), redirect_stderr(self.err):
            try:
                value = self._value(text, name, names)
            except BaseException as raised:  # KeyboardInterrupt and SystemExit, too
                error = self._error(raised)
            finally:
                self._flush()
        seconds = time.monotonic() - began
        return {"ok": error is None, "value": value, "error": error, "seconds": seconds}

    def _value(self, text: str, name: str, names: dict[str, Any]) -> Item | None:
        body, last = parsed(text, name)
        exec(body, names)
        value = eval(last, names) if last is not None else None
        if value is None or text.rstrip().endswith(";"):
            return None
        if hasattr(type(value), "_ipython_display_"):
            value._ipython_display_()
            return None
        return shown(value)

    def _flush(self) -> None:
        self.out.flush()
        self.err.flush()

    # ---- what was raised ---------------------------------------------------------------------

    def _error(self, error: BaseException) -> Item:
        """Type, message and traceback, which begins with the cell."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        for kind, handler in self.handlers.items():
            if isinstance(error, kind):  # it says more, and calls showtraceback where that helps
                self.told: str | None = None
                handler(self, type(error), error, trace)
                return _described(error, self.told or "")
        return _described(error, _traceback(error, trace))

    def showtraceback(
        self,
        about: tuple[type[BaseException], BaseException, TracebackType | None],
        tb_offset: int | None = None,
    ) -> None:
        self.told = _traceback(about[1], about[2])

    def set_custom_exc(
        self, kinds: tuple[type[BaseException], ...], handler: Callable[..., None]
    ) -> None:
        """Call `handler(shell, type, error, trace)` where a cell raises one of these."""
        self.handlers |= dict.fromkeys(kinds, handler)

    # ---- IPython's name ----------------------------------------------------------------------

    def show(self, value: Any, id: str | None = None, raw: bool = False) -> None:
        """Show a value between what is printed; raw: it is {"text/html": ..., "text/plain": ...}"""
        self._flush()
        if raw and isinstance(value, Mapping):
            item = {"html": value.get("text/html", ""), "text": value.get("text/plain", "")}
        elif hasattr(type(value), "_ipython_display_"):
            value._ipython_display_()
            return
        else:
            item = shown(value)
        markup = item["html"] or f"<pre>{html.escape(item['text'])}</pre>"
        self.send({"kind": "html", "html": markup, "text": item["text"], "id": id})

    def display(self, *values: Any, raw: bool = False, display_id: Any = None) -> Handle | None:
        """IPython's `display`, as far as it is used here."""
        id = f"display-{next(self.ids)}" if display_id is True else display_id
        for value in values:
            self.show(value, id, raw)
        return Handle(self, id) if id is not None else None

    def clear_output(self, wait: bool = False) -> None:
        self._flush()
        self.send({"kind": "clear"})

    def install(self) -> None:
        """Be found as IPython."""
        ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
        vars(ipython).update(get_ipython=lambda: self, display=display, __path__=[])
        vars(display).update(
            display=self.display, HTML=HTML, SVG=HTML, clear_output=self.clear_output
        )
        sys.modules |= {"IPython": ipython, "IPython.display": display}
        self.names["display"] = self.display


STACK = 64 << 10  # bytes of Python's stack that are sure to fit on a browser's own


def protect_stack(top: int) -> bool:
    """Have RecursionError raised before the browser's stack overflows, which would end Python.

    As WebAssembly, Python cannot see that stack, and goes by its own one, which begins at the
    address `top` and is much larger. It is told that it has less: says whether that went well.
    """
    import ctypes

    protect = getattr(ctypes.pythonapi, "PyUnstable_ThreadState_SetStackProtection", None)
    if protect is None:  # before Python 3.14.1
        return False
    protect.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    current = ctypes.pythonapi.PyThreadState_Get
    current.restype = ctypes.c_void_p
    return bool(protect(current(), top - STACK, STACK) == 0)


def settle() -> None:
    """Give the chapters the age that they had when Python's memory was kept (snapshot.mjs): what it
    knows of them holds, though they have been unpacked again."""
    for path in notebooks.chapters().values():
        os.utime(path, (0, 0))


def serve(send: Callable[[str], None], top: int) -> Callable[[str, str, bool], str]:
    """What the page's script calls to run a cell; items and results go to it as JSON."""
    protect_stack(top)
    kernel = Kernel(lambda item: send(json.dumps(item)))
    kernel.install()
    return lambda text, name, fresh: json.dumps(kernel.run(text, name, fresh))


def parsed(text: str, name: str) -> tuple[CodeType, CodeType | None]:
    """The code of a cell, and that of its last line where it is an expression."""
    tree = ast.parse(text, name)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return compile(tree, name, "exec", dont_inherit=True), None
    tree.body.pop()
    value = compile(ast.Expression(last.value), name, "eval", dont_inherit=True)
    return compile(tree, name, "exec", dont_inherit=True), value


def _entered(text: str, name: str) -> str:
    """Keep the lines of a cell for tracebacks, under its name; another text of the same cell gets
    another name, since functions of the one before may still be in use."""
    found, number = name, 1
    while found in linecache.cache and "".join(linecache.getlines(found)) != text:
        number += 1
        found = f"{name.removesuffix('>')}, version {number}>"
    linecache.cache[found] = (len(text), None, text.splitlines(keepends=True), found)
    return found


def _traceback(error: BaseException, trace: TracebackType | None) -> str:
    """As Python prints it. Of an error that says itself what is wrong, the lines of cells alone:
    where tutor noticed it tells a learner nothing."""
    told = traceback.TracebackException(type(error), error, trace)
    own = [line for line in told.stack if not line.filename.startswith(LIBRARY)]
    if isinstance(error, TutorError) and own:
        told.stack[:] = own
    return "".join(told.format()).rstrip()


def _described(error: BaseException, text: str) -> Item:
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be printed)"
    if isinstance(error, OSError) and "does not support processes" in message:
        text += "\nA page has no processes. On your own machine, in Jupyter, this cell runs."
    return {"name": type(error).__name__, "message": message, "text": text}
