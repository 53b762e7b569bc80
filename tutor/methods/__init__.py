"""Tensor, and what can be done with one by name: most are one line, `apply` with the op's name.

The formulas and their derivatives are in tutor/ops/, the kernels in tutor/backends/. What has no op
of its own is composed here from those that have. The class grows floor by floor, each a class that
inherits the one below and calls nothing above: the box of tutor/core/tensor.py, operators, create,
elementwise, inplace, views, indexing, reductions, comparisons, conversions, learning, activations,
statistics, products, interop, tensor.
"""
