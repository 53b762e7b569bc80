"""Kernels for one element as text: written once for all languages of kernels.

dialect.py spells types, numbers and functions; expressions.py maps a kernel's name to its
expression; updates.py does so for optimizer steps; elements.py makes the statements for one element
of both, and for what an index selects, chains.py those of a fused chain, scores.py those of a line
of scores, folds.py what two terms of a reduction become; helpers.py has the functions that they
call; loops.py the loops around them. programs/source/ uses these to write a whole Program in C,
opencl/ to write kernels for a device.
"""
