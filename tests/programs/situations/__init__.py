"""Situations: what people's code does around a jitted function, one short function each.

`table.py` says what a situation is and runs one; every other file has some of them, by kind.
"""
