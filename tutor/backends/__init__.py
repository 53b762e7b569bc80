"""Backends: the tables of kernels that answer when the Engine asks.

Read in this order: `signatures` (every kernel on one line), `registry` (how one is found),
`python_ref` (what each must compute), `simd_cpp` (how it is computed fast).
"""
