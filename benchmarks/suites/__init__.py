"""The suites: each module has `cases(effort)`, which makes the rows one after the other.

They are generators, so that the memory of a row is free again before the next one needs it.
"""
