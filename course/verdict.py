"""What a check says: one line with id and kind, then what a learner needs to go on."""

from __future__ import annotations

import html
import sys
from dataclasses import dataclass, field
from typing import Any

PASSED = ("exact", "close")
KINDS = (
    *PASSED,
    "wrong",
    "unsolved",
    "raised",
    "timeout",
    "changed",
    "unrun",
    "earlier",
    "unknown",
)


@dataclass(repr=False)
class Verdict:
    """The result of `check`. Jupyter shows it once, however often it is the last line of a cell."""

    id: str
    kind: str  # one of KINDS
    title: str = ""
    lines: list[str] = field(default_factory=list)
    picture: Any = None  # SVG as text, or an object that shows itself
    notes: list[str] = field(default_factory=list)
    folded: str = ""  # HTML, shown after a pass: the learner's answer beside ours
    error: BaseException | None = None  # an error of the check itself: our tests look here
    cause: BaseException | None = None  # what the answer raised

    @property
    def passed(self) -> bool:
        return self.kind in PASSED

    @property
    def text(self) -> str:
        """All that it says, the first line being `05.3 wrong: title`."""
        head = f"{self.id} {self.kind}" + (f": {self.title}" if self.title else "")
        return "\n".join([head, *self.lines, *(f"note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"Verdict({self.id!r}, {self.kind!r})"

    def __bool__(self) -> bool:
        return self.passed

    # ---- showing it --------------------------------------------------------------------------

    _shown = False

    def show(self) -> Verdict:
        """Print the text; in Jupyter also the picture, and what is folded."""
        print(self.text)
        if self.folded and in_jupyter():
            display_html(self.folded, "(yours beside ours)")
        if self.picture is not None and in_jupyter():
            display_html(markup(self.picture), "(a picture)")
        self._shown = True
        return self

    def _ipython_display_(self) -> None:
        if self._shown:  # check has printed it: as the value of the same cell, it stays silent
            self._shown = False
        else:
            self.show()
            self._shown = False


def table(rows: dict[str, str]) -> list[str]:
    """Lines `label:  text`, aligned; further lines of a text stand under its first."""
    width = max((len(label) for label in rows), default=0) + 2
    lines = []
    for label, text in rows.items():
        first, *others = text.splitlines() or [""]
        lines.append(f"{label + ':':<{width}}{first}")
        lines.extend(" " * width + line for line in others)
    return lines


# ---- Jupyter -------------------------------------------------------------------------------------


def in_jupyter() -> bool:
    """Whether this runs in a kernel, which can show more than text."""
    interactive = sys.modules.get("IPython")  # where it was never imported, there is no kernel
    shell = interactive.get_ipython() if interactive is not None else None
    return getattr(shell, "kernel", None) is not None


def display_html(markup: str, plain: str) -> None:
    """Show HTML in the cell that runs now. Only to be called where `in_jupyter()`."""
    from IPython.display import display

    display({"text/html": markup, "text/plain": plain}, raw=True)  # type: ignore[no-untyped-call]


def markup(picture: Any) -> str:
    """The HTML of a picture: what it shows of itself, or its text."""
    for method in ("_repr_html_", "_repr_svg_"):
        if hasattr(picture, method):
            return str(getattr(picture, method)())
    text = str(picture)
    return text if text.lstrip().startswith("<") else f"<pre>{html.escape(text)}</pre>"
