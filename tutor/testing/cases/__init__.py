"""The table of cases: for every kernel of signatures.py, the operands on which backends must agree.

`CASES` maps a kernel's name to two functions. The first yields its cases: every layout on either
side, no element and one, lengths up to 70 (vectors and the remainder behind them), 0-d, in place,
and any special cases of the kernel. The second returns one case large enough for a backend to split
among threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.dtype import DType, float32
from tutor.errors import KernelNotFound
from tutor.testing.cases import (
    chains,
    elementwise,
    fused,
    movement,
    network,
    recurrent,
    reduce,
    scan,
    window,
)
from tutor.testing.cases.bounds import UPDATES
from tutor.testing.cases.draws import Case, Draw

LARGE = 70_001  # elements; more than the largest piece of work for a thread of simd_cpp

Small = Callable[[Draw], Iterator[Case]]
Large = Callable[[Draw, int], Case]

FUNCTIONS = (
    "sqrt", "sign", "floor", "ceil", "round", "trunc", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "erf", "sigmoid", "gelu", "gelu_tanh", "softplus", "silu",
    "mish",
)  # fmt: skip
GRADIENTS = (
    "relu_grad", "tanh_grad", "sigmoid_grad", "gelu_grad", "gelu_tanh_grad", "softplus_grad",
    "silu_grad", "mish_grad",
)  # fmt: skip
PAIRS = ("floor_divide", "remainder", "fmod", "hypot", "atan2", "logaddexp")
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
REDUCTIONS = ("sum", "prod", "mean", "max", "min", "argmax", "argmin")

CASES: dict[str, tuple[Small, Large]] = {
    **{  # all elementwise kernels, except those below, which need special operands
        row.name: (elementwise.basic, elementwise.large)
        for row in TABLE_OF_KERNELS
        if row.form == "elementwise"
    },
    **dict.fromkeys(FUNCTIONS, (elementwise.function, elementwise.large)),
    **dict.fromkeys(PAIRS, (elementwise.pairs, elementwise.large)),
    **dict.fromkeys(GRADIENTS, (elementwise.gradient, elementwise.large)),
    **dict.fromkeys(SHIFTS, (elementwise.shift, elementwise.large)),
    "pow": (elementwise.power, elementwise.large),
    "mul_add": (elementwise.mul_add, elementwise.large_mul_add),
    "cast": (elementwise.cast, elementwise.large_cast),
    "fill": (elementwise.fill, elementwise.large_fill),
    "arange": (elementwise.arange, elementwise.large_arange),
    **dict.fromkeys(REDUCTIONS, (reduce.reduction, reduce.large)),
    "scan": (scan.scan, scan.large_scan),
    **dict.fromkeys(("cummax", "argsort"), (scan.ordered, scan.large_ordered)),
    "matmul": (reduce.matmul, reduce.large_matmul),
    "linear": (reduce.linear, reduce.large_linear),
    **dict.fromkeys(("conv2d", "conv2d_weight"), (window.conv, window.large_conv)),
    **dict.fromkeys(("max_pool2d", "max_pool2d_grad"), (window.pool, window.large_pool)),
    "pad": (movement.pad, movement.large_pad),
    "cat": (movement.cat, movement.large_cat),
    "gather": (movement.gather, movement.large_gather),
    **dict.fromkeys(("scatter_add", "scatter"), (movement.scatter, movement.large_scatter)),
    "nonzero": (movement.nonzero, movement.large_nonzero),
    "index_select": (movement.index_select, movement.large_index_select),
    **dict.fromkeys(("softmax", "log_softmax"), (fused.softmax, fused.large_softmax)),
    **dict.fromkeys(
        ("cross_entropy", "cross_entropy_grad"), (fused.cross_entropy, fused.large_cross_entropy)
    ),
    **dict.fromkeys(
        (name for name in network.KERNELS if "norm" in name), (network.norm, network.large_norm)
    ),
    **dict.fromkeys(("attention", "attention_grad"), (network.attention, network.large_attention)),
    **dict.fromkeys(recurrent.KERNELS, (recurrent.layer, recurrent.large_layer)),
    "fused": (chains.fused, chains.large_fused),
    **dict.fromkeys(UPDATES, (fused.optimizer, fused.large_optimizer)),
    **dict.fromkeys(("random_bits", "uniform", "normal"), (fused.random, fused.large_random)),
    "dropout": (network.dropout, network.large_dropout),
}


def _entry(kernel: str) -> tuple[Small, Large]:
    if kernel not in CASES:
        raise KernelNotFound(
            f"conformance cases for kernel {kernel!r}",
            f"tutor/testing/cases has cases for {', '.join(CASES)}",
            "add a line to CASES that says how its operands are drawn",
        )
    return CASES[kernel]


def draw(kernel: str, dtype: DType, seed: int = 0) -> Iterator[Case]:
    """The cases of one row of signatures.py. KernelNotFound for a kernel without an entry.

    python_ref is slow, so only float32, where most work is done, gets the large case.
    """
    small, _ = _entry(kernel)
    yield from small(Draw(kernel, dtype, seed))
    if dtype is float32 or SIGNATURES[kernel].dtypes == (dtype,):
        yield large(kernel, dtype, LARGE, seed)


def large(kernel: str, dtype: DType, count: int, seed: int = 0) -> Case:
    """One case of about `count` elements."""
    return _entry(kernel)[1](Draw(kernel, dtype, seed), count)
