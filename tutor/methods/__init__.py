"""The methods of a Tensor by name: most are one line, `apply` with the op's name.

The formulas and their derivatives are in tutor/ops/, the kernels in tutor/backends/. Methods
without an op of their own are composed here from ops. Tensor is a chain of classes, each of which
inherits the one before and calls nothing that comes later: the box of tutor/core/tensor.py,
operators, create, elementwise, inplace, views, indexing, reductions, comparisons, conversions,
learning, activations, statistics, products, interop, tensor.
"""
