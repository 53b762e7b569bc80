"""The methods of a Tensor by name: most are one line, `apply` with the op's name.

The formulas and their derivatives are in tutor/ops/, the kernels in tutor/backends/.
`Operators` (operators.py) has the operators and the methods that are one op each. Methods composed
of these are functions, whose first argument is the Tensor, in the modules beside it.
`Tensor` (tensor.py) inherits `Operators` and lists these functions, by family: read there where a
method is.
"""
