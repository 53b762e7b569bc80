"""Learning with the chapters: `from course import begin, check, go_on, hint, solution, show`."""

from course.checking import check, hint, progress, solution
from course.library.counted import counted
from course.library.saving import keep
from course.library.session import begin, go_on
from course.showing import show

__all__ = ["begin", "check", "counted", "go_on", "hint", "keep", "progress", "show", "solution"]
