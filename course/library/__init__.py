"""The learner's own library: what they wrote and what passed, and ours where nothing is theirs yet.

parts     what it consists of: given cells, and the exercises that add to it
source    taking Python apart
compose   from parts to the text of its files
load      from texts to modules; `ours(5)`, our library after chapter 5
"""

from course.library.load import of, ours

__all__ = ["of", "ours"]
