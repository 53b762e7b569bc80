"""Methods that differ from tutor's in nothing but names: PyTorch's signature, and our method.

`sum` and others whose meaning differs are written in reductions.py, shapes.py, positions.py.
"""

from __future__ import annotations

# One operand: PyTorch's names, by ours.
UNARY = {
    "abs": "abs absolute", "neg": "neg negative", "sign": "sign sgn",
    "reciprocal": "reciprocal", "sqrt": "sqrt", "rsqrt": "rsqrt", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin arcsin", "acos": "acos arccos",
    "atan": "atan arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "asinh arcsinh", "acosh": "acosh arccosh", "atanh": "atanh arctanh", "erf": "erf",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc fix", "isnan": "isnan", "isinf": "isinf",
    "isfinite": "isfinite", "bitwise_not": "bitwise_not", "logical_not": "logical_not",
    "relu": "relu", "sigmoid": "sigmoid",
}  # fmt: skip
# Two operands, cast to their common dtype: PyTorch's names, by ours.
BINARY = {
    "floor_divide": "floor_divide", "remainder": "remainder", "fmod": "fmod",
    "maximum": "maximum", "minimum": "minimum", "hypot": "hypot", "atan2": "atan2 arctan2",
    "logaddexp": "logaddexp", "copysign": "copysign", "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift", "bitwise_right_shift": "bitwise_right_shift",
    "eq": "eq", "ne": "ne not_equal", "lt": "lt less", "le": "le less_equal", "gt": "gt greater",
    "ge": "ge greater_equal", "mul": "mul multiply", "pow": "pow",
}  # fmt: skip
LOGICAL = ("logical_and", "logical_or", "logical_xor")  # of any dtypes
# The others: PyTorch's signatures. `~` in front: operands are cast to their common dtype.
SIGNATURES = """
argmax argmin(input, dim=None, keepdim=False)
logsumexp(input, dim, keepdim=False)
logcumsumexp unsqueeze(input, dim)
count_nonzero(input, dim=None)
trace t(input)
transpose swapaxes(input, dim0, dim1)
unflatten(input, dim, sizes)
movedim moveaxis(input, source, destination)
rot90(input, k=1, dims=(0, 1))
roll(input, shifts, dims=None)
tril triu(input, diagonal=0)
diag_embed(input, offset=0, dim1=-2, dim2=-1)
diagflat(input, offset=0)
diagonal(input, offset=0, dim1=0, dim2=1)
chunk(input, chunks, dim=0)
split(input, split_size, dim=0)
gather(input, dim, index, *, sparse_grad=False)
index_select(input, dim, index)
masked_select(input, mask)
index_add(input, dim, index, source, *, alpha=1)
outer(input, vec2)
inner kron(input, other)
~matmul(input, other)
mm bmm(input, mat2)
mv(input, vec)
~addcmul addcdiv(input, tensor1, tensor2, *, value=1)
~lerp(input, end, weight)
nan_to_num(input, nan=0.0, posinf=None, neginf=None)
isclose allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)
histc(input, bins=100, min=0, max=0)
clone(input, *, memory_format=None)
contiguous(input, memory_format=None)
hardshrink(input, lambd=0.5)
prelu(input, weight)
"""
# Methods that have no function of the same name in `torch`, and are as ours.
METHODS = """
expand_as reshape_as view_as(input, other)
"""
# Not differentiable to PyTorch's rule, or none of its names: not inherited from tutor.Tensor.
CHANGES = (
    "abs absolute neg negative sign sgn square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 "
    "log1p sin cos tan asin arcsin acos arccos atan arctan sinh cosh tanh asinh acosh atanh erf "
    "floor ceil trunc fix relu sigmoid round frac clamp clip clamp_min clamp_max nan_to_num "
    "add sub subtract mul multiply div divide true_divide pow floor_divide remainder fmod "
    "atan2 arctan2 hypot copysign lerp addcmul addcdiv addmm addmv baddbmm masked_fill "
    "scatter scatter_add scatter_reduce index_add index_fill index_copy tril triu cumsum cumprod "
    "xlogy logit masked_scatter bitwise_and bitwise_or bitwise_xor bitwise_not "
    "bitwise_left_shift bitwise_right_shift index_put"
)  # each has an in-place form: `x.relu_()`
INHERITED = (
    "numel tolist item is_contiguous requires_grad_ dim ndimension stride detach"  # as they are
)


def rows(text: str) -> list[tuple[str, str, bool]]:
    """(name, parameters, whether operands are promoted) of each name in each line."""
    found = []
    for line in filter(None, text.split("\n")):
        names, _, rest = line.lstrip("~").partition("(")
        found += [(name, rest.removesuffix(")"), line[0] == "~") for name in names.split()]
    return found
