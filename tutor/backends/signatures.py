"""Every kernel on one line: what a backend must compute, and how closely two must agree.

A kernel is `kernel(out, *ins, **params)`. It fills `out` and returns nothing. It never allocates
its result, decides a shape or a dtype, or broadcasts: its caller has done so.
Every operand has `buf`, `shape`, `strides` and `offset`, counted in elements; element
`[i, j, ...]` is at `buf[offset + i*strides[0] + j*strides[1] + ...]`. Strides may be negative or,
for inputs, 0: transposed, sliced, reversed and expanded operands are all taken as they are.
`out` overlaps an input only where the two are exactly the same elements.

`types` spells the dtypes of `out` and the inputs, one letter each: `T` the dtype the kernel is
registered for, `b` bool, `i` int64, `u` uint32, `*` any dtype, `S` the dtype of a sum of T (int64
for bool and signed, uint64 for unsigned, T for floats), `C` the dtype a float T is computed in
(float32 for 16 bits, else T). A trailing `+` repeats the last letter.
`d` and `n` are cells, operands of shape () that hold one float64 or one uint64. Numbers that change
from call to call (a learning rate, a count) are in memory, so a repeated call reads the new ones.

An index names a position from -size to size - 1 along `axis`; negative ones count from the end.

A bool is true if its byte is not 0 (memory from other libraries may hold any value); kernels only
write 0 or 1.

`form` says how the operands' shapes fit together: tutor/backends/shape_rules.py has the rule of
each form, tutor/backends/costs.py its cost. `work` says what happens to the numbers: new ones are
computed, or they are moved unchanged, or one of several is chosen (so there must be at least one).

`agree` says how close to `python_ref` every other backend must come:

- exact: equal to the bit; infinities, signed zeros, subnormals and the places of NaN included.
- ulp(n): at most n units in the last place away, special values exact.
- sum: error at most c * u * sum(|terms|), u the unit roundoff: see tutor/testing/cases/bounds.py.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from tutor.dtype import TABLE, DType, accumulator, bool_, float32, float64, int64, uint32, uint64

ALL = TABLE
NUMBERS = tuple(d for d in TABLE if d is not bool_)
INTEGERS = tuple(d for d in TABLE if d.is_integer)
BITS = (bool_, *INTEGERS)
FLOATS = tuple(d for d in TABLE if d.is_float)

AXIS = ("axis",)
STEPS = ("stride_h", "stride_w", "dilation_h", "dilation_w")  # of a window


class Signature(NamedTuple):
    name: str
    types: str
    dtypes: tuple[DType, ...]
    agree: str
    formula: str
    params: tuple[str, ...] = ()
    form: str = "elementwise"
    work: str = "computes"  # or "moves", or "chooses"
    results: int = 1  # out and the last results - 1 inputs, all of them written

    @property
    def expression(self) -> str:
        """The formula alone, `x < y`: of some elementwise kernels it is Python, and says it all."""
        return self.formula.partition("= ")[2].partition(";")[0]


# fmt: off
TABLE_OF_KERNELS = (
    # ---- elementwise, one operand ----------------------------------------------------------------
    Signature("neg", "TT", NUMBERS, "exact", "z = -x; integers wrap"),
    Signature("abs", "TT", NUMBERS, "exact", "z = |x|; the lowest integer wraps to itself"),
    Signature("relu", "TT", NUMBERS, "exact", "z = x if x > 0 else 0; nan stays nan"),
    Signature("sqrt", "TT", FLOATS, "exact", "z = sqrt(x); nan for x < 0"),
    Signature("sign", "TT", NUMBERS, "exact", "z = -1, 0 or 1 as x < 0, x = 0, x > 0; nan is nan"),
    Signature("floor", "TT", FLOATS, "exact", "z = the largest integer <= x"),
    Signature("ceil", "TT", FLOATS, "exact", "z = the smallest integer >= x"),
    Signature("round", "TT", FLOATS, "exact", "z = the nearest integer; halves to the even one"),
    Signature("trunc", "TT", FLOATS, "exact", "z = x without its fraction"),
    Signature("bitwise_not", "TT", BITS, "exact", "z = ~x, all bits turned; of a bool: not"),
    Signature("exp", "TT", FLOATS, "ulp(1)", "z = e**x"),
    Signature("exp2", "TT", FLOATS, "ulp(1)", "z = 2**x"),
    Signature("expm1", "TT", FLOATS, "ulp(1)", "z = e**x - 1, precise near 0"),
    Signature("log", "TT", FLOATS, "ulp(1)", "z = ln(x); -inf at 0, nan for x < 0"),
    Signature("log2", "TT", FLOATS, "ulp(1)", "z = log2(x); -inf at 0, nan for x < 0"),
    Signature("log10", "TT", FLOATS, "ulp(2)", "z = log10(x); -inf at 0, nan for x < 0"),
    Signature("log1p", "TT", FLOATS, "ulp(1)", "z = ln(1 + x), precise near 0; -inf at -1"),
    Signature("sin", "TT", FLOATS, "ulp(1)", "z = sin(x), x in radians; nan at +-inf"),
    Signature("cos", "TT", FLOATS, "ulp(1)", "z = cos(x), x in radians; nan at +-inf"),
    Signature("tan", "TT", FLOATS, "ulp(1)", "z = tan(x), x in radians; nan at +-inf"),
    Signature("asin", "TT", FLOATS, "ulp(1)", "z = arcsin(x) in radians; nan beyond +-1"),
    Signature("acos", "TT", FLOATS, "ulp(1)", "z = arccos(x) in radians; nan beyond +-1"),
    Signature("atan", "TT", FLOATS, "ulp(1)", "z = arctan(x) in radians"),
    Signature("sinh", "TT", FLOATS, "ulp(2)", "z = (e**x - e**-x) / 2"),
    Signature("cosh", "TT", FLOATS, "ulp(1)", "z = (e**x + e**-x) / 2"),
    Signature("tanh", "TT", FLOATS, "ulp(2)", "z = tanh(x)"),
    Signature("asinh", "TT", FLOATS, "ulp(2)", "z = the number whose sinh is x"),
    Signature("acosh", "TT", FLOATS, "ulp(2)", "z = the number >= 0 whose cosh is x; nan below 1"),
    Signature("atanh", "TT", FLOATS, "ulp(2)", "z = the number whose tanh is x; nan beyond +-1"),
    Signature("erf", "TT", FLOATS, "ulp(1)", "z = 2/sqrt(pi) * integral of e**-t**2 from 0 to x"),
    Signature("sigmoid", "TT", FLOATS, "ulp(2)", "z = 1 / (1 + e**-x)"),
    Signature("gelu", "TT", FLOATS, "ulp(4)", "z = x P(X <= x), X standard normal; -0 at -inf"),
    Signature("gelu_tanh", "TT", FLOATS, "ulp(1)",
        "z = x / (1 + e**-(2 sqrt(2/pi) (x + 0.044715 x**3))); -0 at -inf"),
    Signature("softplus", "TT", FLOATS, "ulp(1)", "z = ln(1 + e**x)"),
    Signature("silu", "TT", FLOATS, "ulp(3)", "z = x / (1 + e**-x); -0 at -inf"),
    Signature("mish", "TT", FLOATS, "ulp(1)", "z = x tanh(ln(1 + e**x)); -0 at -inf"),
    Signature("copy", "TT", ALL, "exact", "z = x", work="moves"),
    Signature("cast", "*T", ALL, "exact",
        "z = x in out's dtype: floats round to nearest even, float to integer cuts towards 0 "
        "(nan gives 0, beyond the range gives the nearest end), integers wrap, to bool is x != 0",
        work="moves"),
    Signature("fill", "T", ALL, "exact", "z = value", ("value",), form="fill", work="moves"),
    Signature("arange", "T", NUMBERS, "exact",
        "z_i = start + step * (i / parts) in float64; of integers start + step * i, which wraps; "
        "elements i are counted row-major", ("start", "step", "parts"), form="fill"),
    # ---- elementwise, two or three operands ------------------------------------------------------
    Signature("add", "TTT", ALL, "exact", "z = x + y; integers wrap, bools or"),
    Signature("sub", "TTT", NUMBERS, "exact", "z = x - y; integers wrap"),
    Signature("mul", "TTT", ALL, "exact", "z = x * y; integers wrap, bools and"),
    Signature("div", "TTT", FLOATS, "exact", "z = x / y; x/0 is +-inf, 0/0 nan"),
    Signature("pow", "TTT", NUMBERS, "ulp(1)",
        "z = x**y; x**0 = 1**y = 1 (also for nan), x < 0 with fractional y gives nan; integers "
        "wrap, a negative integer exponent raises DomainError"),
    Signature("floor_divide", "TTT", NUMBERS, "exact",
        "z = the largest integer <= x / y, as Python's //: floats by 0 give x / y, integers by 0 "
        "raise DomainError, the lowest by -1 wraps"),
    Signature("remainder", "TTT", NUMBERS, "exact",
        "z = x - y * floor(x / y), as Python's %: it has the sign of y; of floats by 0 nan, "
        "integers by 0 raise DomainError"),
    Signature("fmod", "TTT", NUMBERS, "exact",
        "z = x - y * trunc(x / y), as C's %: it has the sign of x; of floats by 0 nan, integers "
        "by 0 raise DomainError"),
    Signature("hypot", "TTT", FLOATS, "ulp(1)", "z = sqrt(x**2 + y**2); inf if either is infinite"),
    Signature("atan2", "TTT", FLOATS, "ulp(1)", "z = the angle of the point (y, x), x its height"),
    Signature("logaddexp", "TTT", FLOATS, "ulp(1)", "z = ln(e**x + e**y)"),
    Signature("copysign", "TTT", FLOATS, "exact", "z = |x| with the sign of y"),
    Signature("relu_grad", "TTT", FLOATS, "exact", "d = g if z > 0 else 0; ins = (g, z)"),
    Signature("tanh_grad", "TTT", FLOATS, "ulp(3)", "d = g * (1 - z) * (1 + z); ins = (g, z)"),
    Signature("sigmoid_grad", "TTT", FLOATS, "ulp(3)", "d = g * (z * (1 - z)); ins = (g, z)"),
    Signature("gelu_grad", "TTT", FLOATS, "ulp(1)", "d = g * gelu'(x); ins = (g, x)"),
    Signature("gelu_tanh_grad", "TTT", FLOATS, "ulp(1)", "d = g * gelu_tanh'(x); ins = (g, x)"),
    Signature("softplus_grad", "TTT", FLOATS, "ulp(1)", "d = g * softplus'(x); ins = (g, x)"),
    Signature("silu_grad", "TTT", FLOATS, "ulp(1)", "d = g * silu'(x); ins = (g, x)"),
    Signature("mish_grad", "TTT", FLOATS, "ulp(1)", "d = g * mish'(x); ins = (g, x)"),
    Signature("bitwise_and", "TTT", BITS, "exact", "z = x & y, bit by bit"),
    Signature("bitwise_or", "TTT", BITS, "exact", "z = x | y, bit by bit"),
    Signature("bitwise_xor", "TTT", BITS, "exact", "z = x ^ y, bit by bit"),
    Signature("bitwise_left_shift", "TTT", INTEGERS, "exact",
        "z = x * 2**y modulo 2**bits; y < 0 raises DomainError"),
    Signature("bitwise_right_shift", "TTT", INTEGERS, "exact",
        "z = floor(x / 2**y); y < 0 raises DomainError"),
    Signature("maximum", "TTT", ALL, "exact", "z = the larger; nan if either is; +0 over -0"),
    Signature("minimum", "TTT", ALL, "exact", "z = the smaller; nan if either is; -0 under +0"),
    Signature("eq", "bTT", ALL, "exact", "z = x == y; nan equals nothing"),
    Signature("ne", "bTT", ALL, "exact", "z = x != y"),
    Signature("lt", "bTT", ALL, "exact", "z = x < y"),
    Signature("le", "bTT", ALL, "exact", "z = x <= y"),
    Signature("gt", "bTT", ALL, "exact", "z = x > y"),
    Signature("ge", "bTT", ALL, "exact", "z = x >= y"),
    Signature("mul_add", "TTTT", FLOATS, "exact",
        "z = x * y + w; the product is rounded, then the sum: of 16-bit floats to float32, then z"),
    Signature("where", "TbTT", ALL, "exact", "z = x if cond else y", work="moves"),
    # ---- reductions: out.shape is x's without the axes in `axis` ---------------------------------
    Signature("sum", "ST", ALL, "sum", "z = sum over axis; 0 where empty", AXIS, form="reduce"),
    Signature("prod", "ST", ALL, "sum", "z = product over axis; 1 if empty", AXIS, form="reduce"),
    Signature("mean", "TT", FLOATS, "sum", "z = sum / count; nan where empty", AXIS, form="reduce"),
    Signature("max", "TT", ALL, "exact", "z = largest; nan if any is nan", AXIS,
        form="reduce", work="chooses"),
    Signature("min", "TT", ALL, "exact", "z = smallest; nan if any is nan", AXIS,
        form="reduce", work="chooses"),
    Signature("argmax", "iT", ALL, "exact",
        "z = position of the first largest, row-major over axis; the first nan wins", AXIS,
        form="reduce", work="chooses"),
    Signature("argmin", "iT", ALL, "exact",
        "z = position of the first smallest, row-major over axis; the first nan wins", AXIS,
        form="reduce", work="chooses"),
    # ---- scans: along the one axis, each element depends on those before it ----------------------
    Signature("scan", "TTT", NUMBERS, "sum",
        "z_0 = y_0, z_i = x_i * z_(i-1) + y_i along axis; integers wrap", AXIS, form="scan"),
    Signature("cummax", "TT", ALL, "exact", "z_i = max(x_0 ... x_i); nan stays", AXIS, form="scan"),
    Signature("argsort", "iT", ALL, "exact",
        "z = the positions along axis that bring x into rising (descending: falling) order; "
        "equals keep theirs, nan is above all", ("axis", "descending"), form="scan"),
    # ---- products: (..., m, k) @ (..., k, n) -> (..., m, n), same leading axes -------------------
    Signature("matmul", "TTT", NUMBERS, "sum", "z_ij = sum_k x_ik * y_kj; integers wrap",
        form="mat_mul"),
    Signature("linear", "TTTT", FLOATS, "sum",
        "z_ij = sum_k x_ik * w_jk + b_j, and 0 where that is below if relu; x (..., k), w (n, k), "
        "b (n)", ("relu",), form="linear"),
    # ---- windows over the last two axes: p and q count those that fit, the caller pads -----------
    Signature("conv2d", "TTT", FLOATS, "sum",
        "z[n,o,p,q] = sum_c,i,j x[n,c,p*stride_h+i*dilation_h,q*stride_w+j*dilation_w] * "
        "w[o,c,i,j]; w (O, C/groups, K, L), each group of outputs sees its own group of channels",
        (*STEPS, "groups"), form="conv"),
    Signature("conv2d_weight", "TTT", FLOATS, "sum",
        "z[o,c,i,j] = sum_n,p,q x[n,c,p*stride_h+i*dilation_h,...] * g[n,o,p,q]: the gradient of "
        "conv2d for w; ins = (x, g)", (*STEPS, "groups"), form="conv_weight"),
    Signature("max_pool2d", "TT", ALL, "exact",
        "z[n,c,p,q] = largest of x[n,c,p*stride_h+i*dilation_h,...], i < size_h, j < size_w; nan "
        "if any is nan", ("size_h", "size_w", *STEPS), form="pool"),
    Signature("max_pool2d_grad", "TTTT", FLOATS, "sum",
        "z = 0, then each window of x shares its g evenly among its elements that equal its "
        "largest m; ins = (x, m, g)", ("size_h", "size_w", *STEPS), form="pool_grad"),
    # ---- moving and indexing ---------------------------------------------------------------------
    Signature("pad", "TT", ALL, "exact", "z = value, and x from index `before` on",
        ("before", "value"), form="pad", work="moves"),
    Signature("cat", "TT+", ALL, "exact", "z = the inputs one after another along axis", AXIS,
        form="cat", work="moves"),
    Signature("gather", "TTi", ALL, "exact",
        "z[.., i, ..] = x[.., index[.., i, ..], ..] along axis; any other index raises "
        "OutOfRangeError, here and below", AXIS, form="gather", work="moves"),
    Signature("scatter_add", "TTiT", ALL, "sum",
        "z = x, then z[..., index[..., i, ...], ...] += src[..., i, ...] along axis, in "
        "row-major order of src; bools or", AXIS, form="scatter"),
    Signature("scatter", "TTiT", ALL, "exact",
        "z = x, then z[..., index[..., i, ...], ...] = src[..., i, ...] along axis, in row-major "
        "order of src: the last one stays", AXIS, form="scatter", work="moves"),
    Signature("nonzero", "ib", (bool_,), "exact", "z = the positions of what is true in x, row-"
        "major; out has as many elements as there are", form="nonzero"),
    Signature("index_select", "TTi", ALL, "exact",
        "z = the slices of x at the 1-D index along axis", AXIS, form="index_select", work="moves"),
    # ---- fused: each replaces a composition that its test keeps as the oracle --------------------
    Signature("softmax", "TT", FLOATS, "sum", "z = e**(x - max) / sum e**(x - max)", AXIS),
    Signature("log_softmax", "TT", FLOATS, "sum", "z = x - max - ln sum e**(x - max)", AXIS),
    Signature("cross_entropy", "TTi", FLOATS, "sum",
        "l = ln sum_j e**x_j - x_t for each row of x (..., classes) and target t (...); z = "
        "scale * l, or scale * sum l where out is 0-d", ("scale",), form="cross_entropy"),
    Signature("cross_entropy_grad", "TTiT", FLOATS, "sum",
        "z_j = scale * g * (softmax(x)_j - [j = t]) for each row of x and its g (...)", ("scale",),
        form="cross_entropy_grad"),
    # The gradient kernels take g, the gradient of z; out is dx, and dw and db those of w and b.
    Signature("layer_norm", "TTTT", FLOATS, "sum",
        "z = h w + b, h = (x - mean) / sqrt(var + eps) for each row of x (..., n); ins = (x, w, b)",
        ("eps",), form="norm"),
    Signature("layer_norm_grad", "TTTTTT", FLOATS, "sum", "the gradients of layer_norm; ins = "
        "(g, x, w, dw, db)", ("eps",), form="norm_grad", results=3),
    Signature("rms_norm", "TTT", FLOATS, "sum", "z = h w, h = x / sqrt(mean of x**2 + eps) for "
        "each row of x (..., n); ins = (x, w)", ("eps",), form="norm"),
    Signature("rms_norm_grad", "TTTTT", FLOATS, "sum", "the gradients of rms_norm; ins = (g, x, w, "
        "dw)", ("eps",), form="norm_grad", results=2),
    Signature("batch_norm", "TTTTCC", FLOATS, "sum", "z = h w + b as in layer_norm, for each "
        "channel n of x (k, n, m); mean <- and var <- are those of its numbers; ins = (x, w, b, "
        "mean, var)", ("eps",), form="channel_norm", results=3),
    Signature("batch_norm_grad", "TTTTCCTT", FLOATS, "sum", "the gradients of batch_norm; ins = "
        "(g, x, w, mean, var, dw, db)", ("eps",), form="channel_norm_grad", results=3),
    Signature("group_norm", "TTTT", FLOATS, "sum", "z = h w + b as in layer_norm, for each group "
        "of ceil(n / groups) channels, the last may have less, of each example of x (k, n, m); "
        "ins = (x, w, b)", ("eps", "groups"), form="channel_norm"),
    Signature("group_norm_grad", "TTTTTT", FLOATS, "sum", "the gradients of group_norm; ins = "
        "(g, x, w, dw, db)", ("eps", "groups"), form="channel_norm_grad", results=3),
    Signature("attention", "TTTTTC", FLOATS, "sum",
        "z = softmax(scale * q kᵀ + mask) v over the last two axes; if causal, row i sees keys 0 "
        "to i; a row that sees none is 0. ins = (q, k, v, mask, logs), where logs <- ln sum "
        "e**(scale * q kᵀ + mask) of each row", ("scale", "causal"), form="attention", results=2),
    Signature("attention_grad", "TTTTTTTCTT", FLOATS, "sum",
        "out = dq, dk and dv are the gradients of attention for q, k and v, given g, that of its "
        "result z; ins = (g, q, k, v, mask, z, logs, dk, dv)", ("scale", "causal"),
        form="attention_grad", results=3),
    Signature("rnn", "TTTT", FLOATS, "sum", "h_t = tanh(wx_t + U h_(t-1)), or relu, at each place",
        ("relu",), form="rnn"),
    Signature("rnn_grad", "TTTTT", FLOATS, "sum", "its gradients for wx and start, given g",
        ("relu",), form="rnn_grad", results=2),
    Signature("lstm", "TTTTT", FLOATS, "sum", "c_t = f c_(t-1) + i g, h_t = o tanh(c_t); i, f, o "
        "are sigmoid(a), g tanh(a), a = wx_t + U h_(t-1); gates <- i, f, g, o, as many places as "
        "fit, then the last", form="lstm", results=2),
    Signature("lstm_grad", "TTTTTTT", FLOATS, "sum", "as rnn_grad", form="lstm_grad", results=2),
    Signature("gru", "TTTTTT", FLOATS, "sum", "h_t = n + z (h_(t-1) - n); r, z = sigmoid(wx_t + a),"
        " n = tanh(wx_t + r a), a = U h_(t-1) + b; gates <- r, z, the last a, n, as in lstm",
        form="gru", results=2),
    Signature("gru_grad", "TTTTTTTT", FLOATS, "sum", "and da of a", form="gru_grad", results=3),
    Signature("fused", "T*+", ALL, "sum",
        "o0, o1, ... = what `code`, a chain of elementwise kernels, makes of i0, i1, ... (see "
        "tutor/backends/bytecode.py): out is o0, the last results - 1 inputs are o1 and on; it may "
        "begin with a product, and o0 may be reduced over axis", ("code", "results", "axis"),
        form="fused"),
    # ---- optimizer steps: `out` (and the state) are read and updated in place --------------------
    Signature("descend", "TTdd", FLOATS, "sum", "p <- p - lr * (g + weight_decay * p), with p = "
        "out, ins = (g, lr, weight_decay)", form="update"),
    Signature("sgd", "TTTddd", FLOATS, "sum",
        "d = g + weight_decay * p; v <- momentum * v + d; p <- p - lr * v, with p = out, ins = "
        "(g, v, lr, momentum, weight_decay)", form="update"),
    Signature("adam", "TTTTdddddn", FLOATS, "sum",
        "t = count + 1; d = g + weight_decay * p; m <- beta1 * m + (1 - beta1) * d; v <- beta2 * v "
        "+ (1 - beta2) * d * d; p <- p - lr / (1 - beta1**t) * m / (sqrt(v) / sqrt(1 - beta2**t) + "
        "eps), with p = out, ins = (g, m, v, lr, beta1, beta2, eps, weight_decay, count)",
        form="update"),
    Signature("nesterov", "TTTddd", FLOATS, "sum",
        "d = g + weight_decay * p; v <- momentum * v + d; p <- p - lr * (d + momentum * v), with "
        "p = out, ins = (g, v, lr, momentum, weight_decay)", form="update"),
    Signature("adamw", "TTTTdddddn", FLOATS, "sum",
        "t = count + 1; m <- beta1 * m + (1 - beta1) * g; v <- beta2 * v + (1 - beta2) * g * g; p "
        "<- (1 - lr * weight_decay) * p - lr / (1 - beta1**t) * m / (sqrt(v) / sqrt(1 - beta2**t) "
        "+ eps), with p = out, ins = (g, m, v, lr, beta1, beta2, eps, weight_decay, count)",
        form="update"),
    Signature("rmsprop", "TTTdddd", FLOATS, "sum",
        "d = g + weight_decay * p; v <- alpha * v + (1 - alpha) * d * d; p <- p - lr * d / "
        "(sqrt(v) + eps), with p = out, ins = (g, v, lr, alpha, eps, weight_decay)", form="update"),
    Signature("adagrad", "TTTddddn", FLOATS, "sum",
        "d = g + weight_decay * p; s <- s + d * d; p <- p - lr / (1 + count * lr_decay) * d / "
        "(sqrt(s) + eps), with p = out, ins = (g, s, lr, lr_decay, eps, weight_decay, count)",
        form="update"),
    Signature("lion", "TTTdddd", FLOATS, "sum",
        "u = beta1 * m + (1 - beta1) * g; p <- (1 - lr * weight_decay) * p - lr * sign(u); m <- "
        "beta2 * m + (1 - beta2) * g, with p = out, ins = (g, m, lr, beta1, beta2, weight_decay)",
        form="update"),
    # ---- random numbers: Philox4x32-10 makes w0 w1 w2 w3, 32 bits each, of (seed, block) ---------
    # h(a, b) is the top 53 bits of the 64-bit number a << 32 | b. Elements i are counted row-major.
    # ins = (seed, counter), two cells; when the call returns, counter is larger by `blocks`.
    Signature("random_bits", "unn", (uint32,), "exact", "z_i = word i%4 of block counter + i//4; "
        "counter <- counter + blocks", ("blocks",), form="draw"),
    Signature("uniform", "Tnn", FLOATS, "exact",
        "z_i in [0, 1), of block counter + i//4: word i%4 >> 8, times 2**-24 (float32), >> 21, "
        "times 2**-11 (float16), or >> 24, times 2**-8 (bfloat16); float64, of block counter + "
        "i//2: h(w0, w1) for even i, h(w2, w3) for odd i, times 2**-53; counter <- counter + "
        "blocks", ("blocks",), form="draw"),
    Signature("normal", "Tnn", FLOATS, "ulp(1)",
        "z_2i, z_2i+1 = sqrt(-2 ln u) * (cos 2 pi v, sin 2 pi v) in float64, u = (h(w0, w1) + 1) "
        "* 2**-53, v = h(w2, w3) * 2**-53 of block counter + i (Box-Muller); counter <- counter + "
        "blocks", ("blocks",), form="draw"),
    Signature("dropout", "TnnT", FLOATS, "ulp(1)", "z_i = scale * x_i where word i%4 of block "
        "counter + i//4 is threshold or more, else 0; counter <- counter + blocks; ins = (seed, "
        "counter, x)", ("blocks", "scale", "threshold"), form="draw"),
)
# fmt: on

SIGNATURES = {signature.name: signature for signature in TABLE_OF_KERNELS}
OTHERS: dict[str, Signature] = {}  # of kernels in no backend's own table: matrices, transfers


def signature_of(kernel: str) -> Signature:
    """The row of a kernel, in whichever table it is."""
    return SIGNATURES.get(kernel) or OTHERS[kernel]


def version() -> int:
    """A checksum of all that C++ knows of this table. A built extension reports its own."""
    rows = [
        f"{s.name} {s.types} {s.form} {s.params} {[d.index for d in s.dtypes]}"
        for s in TABLE_OF_KERNELS
    ]
    return zlib.crc32("\n".join(rows).encode())


def dtype_of(letter: str, dtype: DType) -> DType | None:
    """The dtype that a letter of `types` denotes in a kernel for `dtype`; None for any."""
    if letter == "S":
        return accumulator(dtype)
    if letter == "C":
        return dtype if dtype is float64 else float32
    return {"T": dtype, "b": bool_, "i": int64, "u": uint32, "n": uint64, "d": float64}.get(letter)
