"""Kernels for one element as text: written once for all languages of kernels.

dialect.py spells types, numbers and functions; expressions.py maps a kernel's name to its
expression; updates.py does so for optimizer steps; elements.py makes the statements for one element
of both, chains.py those of a fused chain; helpers.py has the functions that they call; loops.py the
loops around them. programs/source/ uses these to write a whole Program in C, opencl/ to write
kernels for a device.
"""
