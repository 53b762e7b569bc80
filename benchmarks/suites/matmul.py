"""Products of matrices: 2 n³ operations on 3 n² numbers, so the larger, the nearer to the peak.

Sizes that are powers of two are the ones where rows fall onto the same places of a cache; sizes
that are none have edges that fill no register. Small ones measure the call more than the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tutor
from benchmarks import libraries
from benchmarks.case import Case
from benchmarks.libraries import alike, operand
from benchmarks.measure import Effort
from benchmarks.targets import TARGETS, Target
from tutor import Tensor
from tutor.backends import simd_cpp

SIZES = (10, 32, 64, 100, 128, 256, 500, 512, 1000, 1024, 2000, 2048)
MATMUL = alike(lambda a, b: a @ b)
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 1e-2, "bfloat16": 5e-2}


def product(name: str, a: Tensor, b: Tensor, target: Target | None = None) -> Case:
    (m, k), n = a.shape[-2:], b.shape[-1]
    batch = a.numel() // (m * k)
    result = batch * m * n * a.dtype.itemsize
    return Case(
        name, libraries.runs(MATMUL, a, b), flops=2.0 * batch * m * n * k,
        bytes=libraries.touched(a, b) + result, tolerance=TOLERANCE.get(a.dtype.name, 0.0),
        limit="flops", probed=a.dtype is tutor.float32, target=target,
    )  # fmt: skip


def asked(n: int) -> Target:
    if n <= 32:
        return TARGETS["matmul tiny"]
    if n < 500:
        return TARGETS["matmul small"]
    return TARGETS["matmul 500" if n == 500 else "matmul large"]


def cases(effort: Effort) -> Iterator[Case]:
    for n in effort.pick(SIZES, (10, 64, 128, 512, 1024), (10,)):
        yield product(f"N = {n}", operand(n, n), operand(n, n), asked(n))
    for batch in effort.pick((32, 128), (32, 128), (8,)):
        yield from _linear(batch, effort.pick(True, False, True))
    if effort.name != "quick":
        n = effort.pick(512, 0, 16)
        yield from _layouts(n)
        yield from _batched(effort)
        for dtype in ("float64", "float16", "bfloat16", "int32", "int64"):
            x = operand(n // 2, n // 2, dtype=dtype)
            yield product(f"{dtype} N = {n // 2}", x, x)
    yield from _ladder(effort.pick(512, 256, 16))


def _linear(batch: int, gradients: bool) -> Iterator[Case]:
    """nn.Linear keeps W as (outputs, inputs): y = x Wᵀ, and backward dx = dy W, dW = dyᵀ x."""
    for inputs, outputs in ((784, 128), (128, 10)):
        x, w, dy = operand(batch, inputs), operand(outputs, inputs), operand(batch, outputs)
        shape = f"{inputs}-{outputs} batch {batch}"
        target = TARGETS.get(f"linear {batch}") if inputs == 784 else None
        yield product(f"x Wᵀ {shape}", x, w.T, target)
        if gradients:
            yield product(f"dyᵀ x {shape}", dy.T, x)
            yield product(f"dy W {shape}", dy, w)


def _layouts(n: int) -> Iterator[Case]:
    a, b = operand(n, n), operand(n, n)
    yield product(f"aᵀ b N = {n}", a.T, b)
    yield product(f"a bᵀ N = {n}", a, b.T)
    yield product(f"aᵀ bᵀ N = {n}", a.T, b.T)


def _batched(effort: Effort) -> Iterator[Case]:
    """Many small products in one call, as the heads of attention need them."""
    for batch, m, k, n in effort.pick(
        ((1024, 4, 4, 4), (64, 64, 16, 64), (64, 64, 64, 16)), (), ((8, 4, 4, 4),)
    ):
        yield product(f"{batch} of {m}x{k} @ {k}x{n}", operand(batch, m, k), operand(batch, k, n))


def _ladder(n: int) -> Iterator[Case]:
    """The steps from the definition to the kernel in use; matmul_steps.hpp says what each adds."""
    if tutor.registry.current() != "simd_cpp":
        return
    a, b = operand(n, n), operand(n, n)
    reference = libraries.runs(MATMUL, a, b)
    steps = simd_cpp.variants(simd_cpp.level()).items()
    for name, kernel in [step for step in steps if step[0].startswith("matmul.")]:
        runs: dict[str, Any] = {"tutor": lambda kernel=kernel: _step(kernel, a, b)}
        check = {**reference, **runs}  # not timed here: their lines are N = ... above
        yield Case(
            f"ladder {name.removeprefix('matmul.')} N = {n}", runs, flops=2.0 * n**3,
            bytes=3 * 4 * n * n, limit="flops", tolerance=TOLERANCE["float32"], check=check,
        )  # fmt: skip


def _step(kernel: Any, a: Tensor, b: Tensor) -> Tensor:
    out = tutor.zeros(a.shape[0], b.shape[1])
    kernel(out, a, b)
    return out
