"""Learning with the chapters: `from course import check, hint, solution, show, progress`."""

from course.checking import check, hint, progress, solution
from course.showing import show

__all__ = ["check", "hint", "progress", "show", "solution"]
