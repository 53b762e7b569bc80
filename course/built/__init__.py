"""What a learner has built by the end of each chapter: `from course.built.ch05 import *`.

Generated from the chapters by `python -m tutor chapters build`; never edited by hand.
"""
