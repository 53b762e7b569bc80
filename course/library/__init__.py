"""The learner's own library: what they wrote and what passed, and ours where nothing is theirs yet.

parts     what it consists of: given cells, and the exercises that add to it
source    taking Python apart
compose   from parts to the text of its files
load      from texts to modules; `ours(5)`, our library after chapter 5
disk      the folder my_tutor: what stands in it, and what is left alone there
answers   the text of an answer, from its cell or file
saving    an answer that passed goes into the folder; `keep`
session   `begin` and `go_on`: what runs
blame     a wrong answer, or a right one that an earlier piece breaks
counted   whose lines ran
own_tests what my_tutor/test_my_tutor.py runs
"""

from course.library.load import of, ours, theirs_or_ours

__all__ = ["of", "ours", "theirs_or_ours"]
