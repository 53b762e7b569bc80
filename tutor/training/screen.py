"""Where a training reports its progress: a terminal, a notebook, or lines of a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

OFTEN = 0.2  # seconds between two updates: nobody can read faster


class Screen:
    """A line that is overwritten while an epoch runs, and one that stays after it. Only a terminal
    has a line to overwrite; a notebook has curves instead."""

    def __init__(self, wanted: bool) -> None:
        self.wanted, self.shown, self.dirty = wanted, time.monotonic(), False
        self.handle: Any = None  # of the notebook's display

    def is_due(self) -> bool:
        return self.wanted and sys.stderr.isatty() and time.monotonic() > self.shown + OFTEN

    def show(
        self, title: str, done: int, total: int | None, noted: Mapping[str, float],
        counted: str = "batches",
    ) -> None:  # fmt: skip
        """Show progress, `done` of `total` (None: unknown), and numbers by name."""
        share = "" if total is None else f"{done / total:4.0%} of "
        far = f"{share}{done if total is None else total:,} {counted}"
        numbers = "".join(f", {name} {value:.4g}" for name, value in noted.items())
        print(f"\r\033[K{title}: {far}{numbers}", end="", file=sys.stderr, flush=True)
        self.shown, self.dirty = time.monotonic(), True

    def clear(self) -> None:
        if self.dirty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.dirty = False

    def say(self, line: str, picture: Callable[[], Any]) -> None:
        """Print the line, and in a notebook replace the previous picture by the new one."""
        if not self.wanted:
            return
        print(line, flush=True)
        display = notebook()
        if display is None:
            return
        if self.handle is None:
            self.handle = display(picture(), display_id=True)
        else:
            self.handle.update(picture())


def notebook() -> Any:
    """IPython's `display` in a notebook, otherwise None."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display
