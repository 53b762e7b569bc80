"""show: the library's real source, so that a text about it cannot be about something else."""

from __future__ import annotations

import html
import importlib
import inspect
import io
import keyword
import textwrap
import tokenize
from pathlib import Path
from typing import Any

from course.compare import short
from course.verdict import display_html, in_jupyter
from tutor.errors import DomainError
from tutor.viz.svg import PALETTE

ROOT = Path(__file__).parents[1]
# Class by class as Pygments calls them, so that a page with a style sheet for code shows this like
# all other code; where there is none, as in Jupyter, these colours serve, on light and on dark.
CLASSES = {
    tokenize.COMMENT: ("c1", "soft"),
    tokenize.STRING: ("s", "green"),
    tokenize.NUMBER: ("m", "orange"),
    tokenize.NAME: ("k", "pink"),  # keywords only
}
DARK = ":is([data-theme=dark],[data-jp-theme-light=false])"
RULES = "".join(
    f":where(.tutor-code) .{name}{{color:{PALETTE[colour][0]}}}"
    f":where({DARK} .tutor-code) .{name}{{color:{PALETTE[colour][1]}}}"
    for name, colour in CLASSES.values()
)


def show(*things: Any) -> None:
    """Show the source of functions, classes or modules, given themselves or by their full name."""
    sources = [_source(thing) for thing in things]
    for caption, text in sources:
        if in_jupyter():
            display_html(_html(caption, text), f"{caption}\n{text}")
        else:
            print(f"{caption}\n{text}", end="")


def _source(thing: Any) -> tuple[str, str]:
    """(file:line, text)"""
    found = _named(thing) if isinstance(thing, str) else thing
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    if callable(found) and not isinstance(found, type):
        found = inspect.unwrap(found)
    asked = f"the source of {short(thing, 60)}"
    try:
        lines, line = inspect.getsourcelines(found)
        path = Path(inspect.getsourcefile(found) or "")
    except TypeError:
        if inspect.isbuiltin(found) or getattr(found, "__module__", "") == "builtins":
            raise DomainError(asked, "it is written in C", "read its documentation") from None
        raise DomainError(
            asked,
            f"it is an object of type {type(found).__name__}",
            f"show a function, a class or a module, as show({type(found).__name__})",
        ) from None
    except OSError:
        raise DomainError(asked, "its file is not at hand", "show what is in a file") from None
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
    return f"{name}:{max(line, 1)}", textwrap.dedent("".join(lines)).rstrip() + "\n"


def _named(name: str) -> Any:
    """What `tutor.core.engine.Engine.order` names."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        except (TypeError, ValueError):  # no name of a module
            break
        for part in parts[count:]:
            if not hasattr(found, part):
                raise DomainError(
                    f"the source of {name!r}",
                    f"{getattr(found, '__name__', found)} has no {part}",
                    "write the full name, as tutor.core.engine.Engine.order",
                )
            found = inspect.getattr_static(found, part)
        return found
    raise DomainError(
        f"the source of {name!r}",
        f"there is no module {parts[0]!r}",
        "write the full name, as tutor.core.engine.Engine.order",
    )


def _html(caption: str, text: str) -> str:
    """The source as coloured HTML under its caption."""
    return (
        f'<div style="opacity: 0.8; font-size: 85%">{html.escape(caption)}</div>'
        f'<style>{RULES}</style><div class="tutor-code highlight">'
        f'<pre style="line-height: 1.35; overflow-x: auto">{_coloured(text)}</pre></div>'
    )


def _coloured(text: str) -> str:
    """Python with its comments, strings, numbers and keywords in colour, as HTML."""
    lines = text.splitlines(keepends=True)
    result, row, column = "", 1, 0

    def until(end_row: int, end_column: int) -> str:
        nonlocal row, column
        taken = ""
        while row < end_row:
            taken += lines[row - 1][column:]
            row, column = row + 1, 0
        if row <= len(lines):
            taken += lines[row - 1][column:end_column]
        column = end_column
        return html.escape(taken)

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return html.escape(text)
    for token in tokens:
        name, _ = CLASSES.get(token.type, ("", ""))
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            name = ""
        if name:
            result += until(*token.start)
            result += f'<span class="{name}">{until(*token.end)}</span>'
    return result + until(len(lines) + 1, 0)
