"""What a kernel is for one element, as text: once for every language that kernels are written in.

dialect.py spells types, numbers and functions; expressions.py is the table from a kernel's name to
its expression; updates.py the same for the steps of optimizers; helpers.py the functions that they
call; loops.py the walks around them. programs/source/ makes C of a whole Program with these,
opencl/ kernels for a device.
"""
