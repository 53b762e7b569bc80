"""Methods of Tensor as functions: `tutor.sqrt(x)` is `x.sqrt()`, `tutor.sum(x, axis=0)` likewise.

    >>> import tutor
    >>> tutor.maximum([1.0, 5.0], 2)
    Tensor([2., 5.])

Each has its method's signature and docstring, and also takes numbers, (nested) lists and arrays,
which it turns into a Tensor. Methods about the Tensor itself (`x.to(...)`, `x.view(...)`, `x.size`)
have no function: tests/functions/test_functions.py lists them, and checks this list against the
methods. Layers and losses are functions in tutor/nn.

Some shadow Python's own functions, which are `builtins.sum` and so on in this file.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from tutor._storage.array_like import is_number
from tutor._util.typing import TensorLike
from tutor.methods.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def function(
    method: Callable[Concatenate[Tensor, P], R],
) -> Callable[Concatenate[TensorLike, P], R]:
    """The method as a function of anything that can be made a Tensor."""

    def called(x: TensorLike, /, *args: P.args, **options: P.kwargs) -> R:
        return method(x if isinstance(x, Tensor) else Tensor(x), *args, **options)

    return _named(called, method)


def operator(
    method: Callable[Concatenate[Tensor, P], R],
) -> Callable[Concatenate[TensorLike, P], R]:
    """As `function`, for two operands: next to a Tensor, a number stays a number on either side,
    and so never changes the dtype."""

    def called(x: TensorLike, /, *args: P.args, **options: P.kwargs) -> R:
        first: Any = x
        if not isinstance(x, Tensor):
            beside = builtins.any(isinstance(y, Tensor) for y in (*args, *options.values()))
            first = x if beside and is_number(x) else Tensor(x)
        return method(first, *args, **options)

    return _named(called, method)


def _named(called: Callable[P, R], method: Any) -> Callable[P, R]:
    functools.update_wrapper(called, method, ("__name__", "__doc__", "__annotations__"))
    called.__qualname__ = method.__name__
    return called


# ---- one operand ---------------------------------------------------------------------------------

neg = function(Tensor.neg)
abs = function(Tensor.abs)
sign = function(Tensor.sign)
square = function(Tensor.square)
reciprocal = function(Tensor.reciprocal)
sqrt = function(Tensor.sqrt)
rsqrt = function(Tensor.rsqrt)
exp = function(Tensor.exp)
exp2 = function(Tensor.exp2)
expm1 = function(Tensor.expm1)
log = function(Tensor.log)
log2 = function(Tensor.log2)
log10 = function(Tensor.log10)
log1p = function(Tensor.log1p)
sin = function(Tensor.sin)
cos = function(Tensor.cos)
tan = function(Tensor.tan)
asin = function(Tensor.asin)
acos = function(Tensor.acos)
atan = function(Tensor.atan)
sinh = function(Tensor.sinh)
cosh = function(Tensor.cosh)
tanh = function(Tensor.tanh)
asinh = function(Tensor.asinh)
acosh = function(Tensor.acosh)
atanh = function(Tensor.atanh)
erf = function(Tensor.erf)
floor = function(Tensor.floor)
ceil = function(Tensor.ceil)
round = function(Tensor.round)
trunc = function(Tensor.trunc)
isnan = function(Tensor.isnan)
isinf = function(Tensor.isinf)
isfinite = function(Tensor.isfinite)
bitwise_not = function(Tensor.bitwise_not)
logical_not = function(Tensor.logical_not)
relu = function(Tensor.relu)
sigmoid = function(Tensor.sigmoid)
softplus = function(Tensor.softplus)
silu = function(Tensor.silu)
gelu = function(Tensor.gelu)
elu = function(Tensor.elu)
leaky_relu = function(Tensor.leaky_relu)
hardtanh = function(Tensor.hardtanh)
relu6 = function(Tensor.relu6)
selu = function(Tensor.selu)
celu = function(Tensor.celu)
mish = function(Tensor.mish)
logsigmoid = function(Tensor.logsigmoid)
softsign = function(Tensor.softsign)
tanhshrink = function(Tensor.tanhshrink)
hardsigmoid = function(Tensor.hardsigmoid)
hardswish = function(Tensor.hardswish)
threshold = function(Tensor.threshold)
hardshrink = function(Tensor.hardshrink)
softshrink = function(Tensor.softshrink)
prelu = function(Tensor.prelu)
glu = function(Tensor.glu)
softmin = function(Tensor.softmin)

# ---- two operands --------------------------------------------------------------------------------

add = operator(Tensor.add)
sub = operator(Tensor.sub)
mul = operator(Tensor.mul)
div = operator(Tensor.div)
pow = operator(Tensor.pow)
floor_divide = operator(Tensor.floor_divide)
remainder = operator(Tensor.remainder)
fmod = operator(Tensor.fmod)
maximum = operator(Tensor.maximum)
minimum = operator(Tensor.minimum)
hypot = operator(Tensor.hypot)
atan2 = operator(Tensor.atan2)
logaddexp = operator(Tensor.logaddexp)
copysign = operator(Tensor.copysign)
bitwise_and = operator(Tensor.bitwise_and)
bitwise_or = operator(Tensor.bitwise_or)
bitwise_xor = operator(Tensor.bitwise_xor)
bitwise_left_shift = operator(Tensor.bitwise_left_shift)
bitwise_right_shift = operator(Tensor.bitwise_right_shift)
logical_and = operator(Tensor.logical_and)
logical_or = operator(Tensor.logical_or)
logical_xor = operator(Tensor.logical_xor)
eq = operator(Tensor.eq)
ne = operator(Tensor.ne)
lt = operator(Tensor.lt)
le = operator(Tensor.le)
gt = operator(Tensor.gt)
ge = operator(Tensor.ge)
matmul = function(Tensor.matmul)
dot = matmul
outer = function(Tensor.outer)
inner = function(Tensor.inner)
vecdot = function(Tensor.vecdot)
cross = function(Tensor.cross)
kron = function(Tensor.kron)
cdist = function(Tensor.cdist)
mm = function(Tensor.mm)
mv = function(Tensor.mv)
bmm = function(Tensor.bmm)
addmm = function(Tensor.addmm)
addmv = function(Tensor.addmv)
baddbmm = function(Tensor.baddbmm)
addcmul = function(Tensor.addcmul)
addcdiv = function(Tensor.addcdiv)

# ---- choosing and comparing ----------------------------------------------------------------------

where = function(Tensor.where)
masked_fill = function(Tensor.masked_fill)
clip = function(Tensor.clip)
clamp = clip
lerp = function(Tensor.lerp)
nan_to_num = function(Tensor.nan_to_num)
isclose = function(Tensor.isclose)
allclose = function(Tensor.allclose)

# ---- along axes ----------------------------------------------------------------------------------

sum = function(Tensor.sum)
prod = function(Tensor.prod)
mean = function(Tensor.mean)
max = function(Tensor.max)
min = function(Tensor.min)
argmax = function(Tensor.argmax)
argmin = function(Tensor.argmin)
count_nonzero = function(Tensor.count_nonzero)
any = function(Tensor.any)
all = function(Tensor.all)
var = function(Tensor.var)
std = function(Tensor.std)
norm = function(Tensor.norm)
logsumexp = function(Tensor.logsumexp)
trace = function(Tensor.trace)
std_mean = function(Tensor.std_mean)
var_mean = function(Tensor.var_mean)
amax = function(Tensor.amax)
amin = function(Tensor.amin)
aminmax = function(Tensor.aminmax)
nansum = function(Tensor.nansum)
nanmean = function(Tensor.nanmean)
quantile = function(Tensor.quantile)
median = function(Tensor.median)
mode = function(Tensor.mode)
logcumsumexp = function(Tensor.logcumsumexp)
bincount = function(Tensor.bincount)
histc = function(Tensor.histc)
cov = function(Tensor.cov)
corrcoef = function(Tensor.corrcoef)
softmax = function(Tensor.softmax)
log_softmax = function(Tensor.log_softmax)
cumsum = function(Tensor.cumsum)
cumprod = function(Tensor.cumprod)
cummax = function(Tensor.cummax)
cummin = function(Tensor.cummin)
argsort = function(Tensor.argsort)
sort = function(Tensor.sort)
topk = function(Tensor.topk)
unique = function(Tensor.unique)

# ---- other shapes --------------------------------------------------------------------------------

reshape = function(Tensor.reshape)
flatten = function(Tensor.flatten)
ravel = flatten
permute = function(Tensor.permute)
transpose = function(Tensor.transpose)
swapaxes = transpose
movedim = function(Tensor.movedim)
moveaxis = movedim
broadcast_to = function(Tensor.broadcast_to)
squeeze = function(Tensor.squeeze)
unsqueeze = function(Tensor.unsqueeze)
flip = function(Tensor.flip)
diagonal = function(Tensor.diagonal)
diag = function(Tensor.diag)
diag_embed = function(Tensor.diag_embed)
diagflat = function(Tensor.diagflat)
unflatten = function(Tensor.unflatten)
rot90 = function(Tensor.rot90)
split = function(Tensor.split)
chunk = function(Tensor.chunk)
t = function(Tensor.t)
copy = function(Tensor.copy)
clone = copy
pad = function(Tensor.pad)
tile = function(Tensor.tile)
repeat = function(Tensor.repeat)
repeat_interleave = repeat
roll = function(Tensor.roll)
tril = function(Tensor.tril)
triu = function(Tensor.triu)

# ---- by position ---------------------------------------------------------------------------------

gather = function(Tensor.gather)
take_along_axis = function(Tensor.take_along_axis)
scatter = function(Tensor.scatter)
scatter_add = function(Tensor.scatter_add)
scatter_reduce = function(Tensor.scatter_reduce)
index_add = function(Tensor.index_add)
index_select = function(Tensor.index_select)
masked_select = function(Tensor.masked_select)
nonzero = function(Tensor.nonzero)
one_hot = function(Tensor.one_hot)

# Spelled out, so that type checkers see what `from tutor.functions import *` brings.
__all__ = [
    "abs", "acos", "acosh", "add", "addcdiv", "addcmul", "addmm", "addmv", "all", "allclose",
    "amax", "amin", "aminmax", "any", "argmax", "argmin", "argsort", "asin", "asinh", "atan",
    "atan2", "atanh",
    "baddbmm", "bincount", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "bmm", "broadcast_to",
    "cdist", "ceil", "celu", "chunk", "clamp", "clip", "clone", "copy", "copysign", "corrcoef",
    "cos", "cosh", "count_nonzero", "cov", "cross", "cummax", "cummin", "cumprod", "cumsum",
    "diag", "diag_embed", "diagflat", "diagonal", "div", "dot",
    "elu", "eq", "erf", "exp", "exp2", "expm1",
    "flatten", "flip", "floor", "floor_divide", "fmod",
    "gather", "ge", "gelu", "glu", "gt",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "histc", "hypot",
    "index_add", "index_select", "inner", "isclose", "isfinite", "isinf", "isnan",
    "kron",
    "le", "leaky_relu", "lerp", "log", "log1p", "log2", "log10", "log_softmax", "logaddexp",
    "logcumsumexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logsigmoid",
    "logsumexp", "lt",
    "masked_fill", "masked_select", "matmul", "max", "maximum", "mean", "median", "min", "minimum",
    "mish", "mm", "mode", "moveaxis", "movedim", "mul", "mv",
    "nan_to_num", "nanmean", "nansum", "ne", "neg", "nonzero", "norm",
    "one_hot", "outer",
    "pad", "permute", "pow", "prelu", "prod",
    "quantile",
    "ravel", "reciprocal", "relu", "relu6", "remainder", "repeat", "repeat_interleave", "reshape",
    "roll", "rot90", "round", "rsqrt",
    "scatter", "scatter_add", "scatter_reduce", "selu", "sigmoid", "sign", "silu", "sin", "sinh",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "sort", "split", "sqrt", "square",
    "squeeze", "std", "std_mean", "sub", "sum", "swapaxes",
    "t", "take_along_axis", "tan", "tanh", "tanhshrink", "threshold", "tile", "topk", "trace",
    "transpose", "tril", "triu", "trunc",
    "unflatten", "unique", "unsqueeze",
    "var", "var_mean", "vecdot",
    "where",
]  # fmt: skip
