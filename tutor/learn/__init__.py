"""Learning with the chapters: `from tutor.learn import check, hint, solution, show, progress`."""

from tutor.learn.checking import check, hint, progress, solution
from tutor.learn.showing import show

__all__ = ["check", "hint", "progress", "show", "solution"]
