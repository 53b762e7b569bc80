"""Programs: kernel calls as data, recorded, shortened by passes, and replayed without Python.

Read small.py first: the whole idea on one page. Then program.py; record.py and captured_state.py
(where a Program comes from), passes/ (one file each), plan.py and replay.py (how it runs),
trace.py, jit.py and lazy.py (the two ways in).
"""
