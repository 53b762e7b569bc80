"""The error allowed in sums: |got - expected| <= 2 u |expected| + c v S + s.

u  unit roundoff of the dtype, 2**-p for p bits: the reference and the kernel each round once.
s  the smallest subnormal of the dtype.
S  the sum of the magnitudes of all terms, computed by python_ref in float64.
v  unit roundoff of the additions. 16-bit floats are added in float32, except where each partial
   result is itself an element in memory (scatter_add, optimizers with state, recurrent layers).
c  k + 2 for k terms, each the product of at most two numbers, added in any order (Higham 2002,
   "Accuracy and stability of numerical algorithms", section 4.2); k + 8 if they are exponentials,
   each within a unit or two; 12 for the formulas of an optimizer; also k + 2 for a product, where
   S is its magnitude (the same book, section 3.1); 2 n + 2 for a scan of n steps, since no term is
   rounded more than twice in a step, and S is the scan of the magnitudes.

e**(x - max) inherits the error of x - max, u |x - max|; so in softmax S contains the term
(1 + |x - max|) e**(x - max), with |ln softmax(x)|, which is larger, instead of |x - max|. The
smallest normal number is added to it, since smaller exponentials have fewer bits. network.py
defines c and S for norms and attention, recurrent.py for recurrent layers.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.layout import axes_of, contiguous_strides
from tutor.backends import registry
from tutor.backends.signatures import FLOATS, SIGNATURES
from tutor.dtype import DType, float32, float64
from tutor.testing.cases import network, recurrent
from tutor.testing.cases.draws import Case, Spec
from tutor.testing.cases.operands import elements, execute, images, through

ROUNDOFF = {dtype: dtype.eps / 2 for dtype in FLOATS}
SMALLEST = {dtype: dtype.smallest_subnormal for dtype in FLOATS}
COMPUTED = {dtype: dtype if dtype is float64 else float32 for dtype in FLOATS}  # dtype of the sums
NORMAL = {dtype: COMPUTED[dtype].smallest_normal for dtype in FLOATS}
UPDATES = {row.name: row.types.count("T") for row in SIGNATURES.values() if row.form == "update"}
WRITTEN = {  # the operands a kernel writes; others write only out
    **{kernel: (0, *range(2, moved)) for kernel, moved in UPDATES.items()},  # except the gradient
    **{name: (0, 2) for name, row in SIGNATURES.items() if row.form == "draw"},
    **{name: (0, *range(len(row.types) + 1 - row.results, len(row.types)))
       for name, row in SIGNATURES.items() if row.results > 1},
}  # fmt: skip
STEPWISE = {
    "scatter_add", *recurrent.KERNELS, *(kernel for kernel, moved in UPDATES.items() if moved > 2)
}  # fmt: skip


def written(kernel: str, case: Case) -> tuple[int, ...]:
    """The operands that the kernel writes in this call: 0 is out."""
    if kernel == "fused":
        count = len(case.ins) + 1
        more = tuple(range(count + 1 - case.params["results"], count))
        return (0, *([1] if case.in_place else []), *more)
    return WRITTEN.get(kernel, (0, 1) if case.in_place else (0,))


def bounds(
    kernel: str, dtype: DType, case: Case, before: list[bytes], backend: str = "python_ref"
) -> dict[int, list[float]]:
    """c v S + s for each element of each operand that the kernel writes. S is that backend's."""
    v = ROUNDOFF[dtype if kernel in STEPWISE else COMPUTED[dtype]]
    c = factor(kernel, case)
    sums = magnitudes(kernel, case, before, backend)
    return {i: [c * v * total + SMALLEST[dtype] for total in sums[i]] for i in sums}


def factor(kernel: str, case: Case) -> int:
    """c, which grows with the number of terms."""
    if kernel in UPDATES:
        return 12
    if kernel in network.KERNELS:
        return network.factor(kernel, case)
    if kernel in recurrent.KERNELS:
        return recurrent.factor(case)
    axis: int = case.params.get("axis", -1)
    x = case.ins[0].shape
    if kernel == "scan":
        return 2 * x[axis] + 2
    if kernel in ("sum", "prod", "mean"):
        return math.prod(x[a] for a in axes_of(axis, len(x))) + 2
    if kernel in ("matmul", "linear"):
        return x[-1] + 3
    if kernel == "conv2d":
        return math.prod(case.ins[1].shape[1:]) + 2
    if kernel == "conv2d_weight":
        return x[0] * math.prod(case.ins[1].shape[2:]) + 2
    if kernel == "max_pool2d_grad":  # a share is rounded as well
        return int(case.params["size_h"] * case.params["size_w"]) + 3
    if kernel == "scatter_add":
        return case.ins[2].shape[axis] + 3
    rows = math.prod(x[:-1]) if kernel == "cross_entropy" and not case.out.shape else 0
    return x[axis] + rows + 8


def magnitudes(
    kernel: str, case: Case, before: list[bytes], backend: str = "python_ref"
) -> dict[int, list[float]]:
    """S for each element of each operand that the kernel writes."""
    specs = (case.out, *case.ins)
    values: list[Any] = [
        None if spec.values is None else elements(spec, memory)
        for spec, memory in zip(specs, before, strict=True)
    ]
    if kernel in network.KERNELS:
        return network.magnitudes(kernel, case, values[1:])
    if kernel in recurrent.KERNELS:
        return recurrent.magnitudes(kernel, case, values[1:])
    if "cross_entropy" in kernel or "softmax" in kernel:
        return {0: of_softmax(kernel, case, backend, *values[1:])}
    kept = (1, 2) if kernel == "max_pool2d_grad" else ()  # compared, not added
    out, *ins = (
        wide(spec, v and [abs(x) for x in v] if spec.dtype.is_float and i not in kept else v)
        for i, (spec, v) in enumerate(zip(specs, values, strict=True))
    )
    at = SIGNATURES[kernel].types.find("d") - 1  # the learning rate: negated, so nothing cancels
    if at >= 0:
        ins[at] = wide(ins[at], [-x for x in ins[at].values or ()])
    absolute = Case(out, tuple(ins), case.params)
    after = call(kernel, absolute, backend)
    return {i: elements((out, *ins)[i], after[i]) for i in WRITTEN.get(kernel, (0,))}


def of_softmax(
    kernel: str, case: Case, backend: str, x: list[float], *rest: list[Any]
) -> list[float]:
    spec, axis = wide(case.ins[0], x), case.params.get("axis", -1)
    z = Spec(float64, spec.shape, None, *spec[3:])
    logs = elements(z, call("log_softmax", Case(z, (spec,), {"axis": axis}), backend)[0])
    least = NORMAL[case.out.dtype]
    terms = [least + (math.exp(log) * (1 - log) if log > -math.inf else 0.0) for log in logs]
    if kernel == "softmax":
        return terms
    if kernel == "log_softmax":
        return [1 - log for log in logs]
    classes, scale, targets = spec.shape[-1], abs(case.params["scale"]), rest[0]
    if kernel == "cross_entropy":
        losses = [scale * (1 - logs[row * classes + t]) for row, t in enumerate(targets)]
        return losses if case.out.shape else [sum(losses)]
    return [
        scale * abs(g) * (terms[row * classes + j] + (j == t))
        for row, (t, g) in enumerate(zip(targets, rest[1], strict=True))
        for j in range(classes)
    ]


def wide(spec: Spec, values: list[Any] | None) -> Spec:
    """The operand as contiguous float64; integers keep their dtype."""
    dtype = float64 if spec.dtype.is_float else spec.dtype
    count = math.prod(spec.shape)
    return Spec(dtype, spec.shape, values, "contiguous", contiguous_strides(spec.shape), 0, count)


def call(kernel: str, case: Case, backend: str) -> list[bytes]:
    exactly = registry.table(backend)[kernel, float64]
    return execute(through(kernel, float64, exactly), case, images(case))
