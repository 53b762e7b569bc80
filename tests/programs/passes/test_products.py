"""A chain in the product before it: small Programs before and after, and what memory it walks."""

from __future__ import annotations

import pytest
from small import becomes

import tutor
from tutor import Tensor
from tutor.programs.passes import PASSES, improved
from tutor.programs.passes.products import products

SLOTS = """
    x0: input 4 x float32
    x1: input 4 x float32
    s0: state 4 x float32
    s1: state 2 x float32
    t0: temp 4 x float32
    t1: temp 4 x float32
    t3: temp 4 x float32
    y0: output 4 x float32
    y1: output 4 x float32
    c0: constant 1 x float32 = 2
    s2: state 4 x float32
    x2: input 4 x int32
    t2: temp 4 x int32
    c1: constant 1 x int32 = 3
    y2: output 4 x int32
    y3: output 4 x bool
    y4: output 1 x float32
"""
MADE = "t0[2, 2] = matmul.float32(x0[2, 2], s0[2, 2]);"
LAYER = "t0[2, 2] = linear.float32(x0[2, 2], s0[2, 2], s1[2]) relu={};"
END = " results=1 axis=();"
TWO = (
    "fused.float32(x0[2, 2], s0[2, 2], c0[2, 2]@0/0,0, x1[2, 2]) code='r0 = matmul.float32 i0 i1;"
    " r1 = mul.float32 r0 i2; o0 = add.float32 r1 i3'" + END
)
ADDED = (
    "fused.float32(x0[2, 2], s0[2, 2], x1[2, 2]) code='r0 = matmul.float32 i0 i1;"
    " o0 = add.float32 r0 i2'" + END
)
CASES = {
    "one step": (MADE + "y0[2, 2] = add.float32(t0[2, 2], x1[2, 2])", f"y0[2, 2] = {ADDED}"),
    "a chain": (
        MADE + "y0[2, 2] = fused.float32(t0[2, 2], c0[2, 2]@0/0,0, x1[2, 2])"
        "code='r0 = mul.float32 i0 i1; o0 = add.float32 r0 i2'".replace("code", " code") + END,
        f"y0[2, 2] = {TWO}",
    ),
    "a chain that reads it last, and has another result": (
        MADE + "y0[2, 2] = fused.float32(x1[2, 2], t0[2, 2], y1[2, 2]) code="
        "'o1 = mul.float32 i0 i1; r3 = neg.float32 i0; o0 = add.float32 r3 i1' results=2 axis=()",
        "y0[2, 2] = fused.float32(x0[2, 2], s0[2, 2], x1[2, 2], y1[2, 2]) code="
        "'r0 = matmul.float32 i0 i1; o1 = mul.float32 i2 r0; r4 = neg.float32 i2;"
        " o0 = add.float32 r4 r0' results=2 axis=()",
    ),
    "a layer": (
        LAYER.format(False) + "y0[2, 2] = tanh.float32(t0[2, 2])",
        "y0[2, 2] = fused.float32(x0[2, 2], s0[2, 2], s1[2]) code='r0 = linear.float32 i0 i1 i2;"
        " o0 = tanh.float32 r0'" + END,
    ),
    "a layer with its gelu": (
        LAYER.format(False) + "y0[2, 2] = gelu.float32(t0[2, 2])",
        "y0[2, 2] = fused.float32(x0[2, 2], s0[2, 2], s1[2]) code='r0 = linear.float32 i0 i1 i2;"
        " o0 = gelu.float32 r0'" + END,
    ),
    "a gradient, and the derivative of gelu before it": (
        MADE + "y0[2, 2] = gelu_grad.float32(t0[2, 2], x1[2, 2])",
        "y0[2, 2] = fused.float32(x0[2, 2], s0[2, 2], x1[2, 2]) code='r0 = matmul.float32 i0 i1;"
        " o0 = gelu_grad.float32 r0 i2'" + END,
    ),
    "a layer that gelu and its derivative read": (
        LAYER.format(False) + "y0[2, 2] = gelu.float32(t0[2, 2]);"
        "y1[2, 2] = gelu_grad.float32(x1[2, 2], t0[2, 2])",
        "",
    ),
    "a layer with its relu": (
        LAYER.format(True) + "y0[2, 2] = mul.float32(t0[2, 2], t0[2, 2])",
        "y0[2, 2] = fused.float32(x0[2, 2], s0[2, 2], s1[2]) code='r0 = linear.float32 i0 i1 i2;"
        " r1 = relu.float32 r0; o0 = mul.float32 r1 r1'" + END,
    ),
    "in another shape": (
        MADE + "y0[4] = add.float32(t0[4], x1[4])", f"y0[2, 2] = {ADDED}",
    ),
    "somebody else reads the product": (
        MADE + "y0[2, 2] = add.float32(t0[2, 2], x1[2, 2]); y1[2, 2] = neg.float32(t0[2, 2])", "",
    ),
    "the product is wanted": (
        "y1[2, 2] = matmul.float32(x0[2, 2], s0[2, 2]); y0[2, 2] = neg.float32(y1[2, 2])", "",
    ),
    "a part of the product": (MADE + "y0[2]@0/1 = neg.float32(t0[2]@2/1)", ""),
    "the product's columns": (MADE + "y0[2, 2] = neg.float32(t0[2, 2]@0/1,2)", ""),
    "the product and its columns": (
        MADE + "y0[2, 2] = add.float32(t0[2, 2], t0[2, 2]@0/1,2)", "",
    ),
    "the result lies column by column": (MADE + "y0[2, 2]@0/1,2 = neg.float32(t0[2, 2])", ""),
    "the result is of another dtype": (
        MADE + "y3[2, 2] = lt.float32(t0[2, 2], x1[2, 2])", "",
    ),
    "the result takes the place of what is read": (
        MADE + "x1[2, 2] = add.float32(t0[2, 2], x1[2, 2])", "",
    ),
    "the result takes the place of what the product reads": (
        MADE + "x0[2, 2] = add.float32(t0[2, 2], x1[2, 2])", "",
    ),
    "a further result takes the place of what the product reads": (
        MADE + "y0[2, 2] = fused.float32(t0[2, 2], s0[2, 2]) code="
        "'o1 = neg.float32 i0; o0 = exp.float32 i0' results=2 axis=()", "",
    ),
    "the weight moves in between, so it is done before": (
        MADE + "s0[4] = neg.float32(s0[4]); y0[2, 2] = add.float32(t0[2, 2], x1[2, 2])",
        f"y0[2, 2] = {ADDED} s0[4] = neg.float32(s0[4])",
    ),
    "the residual is made in between, so it is done after": (
        MADE + "x1[4] = neg.float32(x1[4]); y0[2, 2] = add.float32(t0[2, 2], x1[2, 2])",
        f"x1[4] = neg.float32(x1[4]); y0[2, 2] = {ADDED}",
    ),
    "both are": (
        MADE + "x1[4] = neg.float32(x1[4]); s0[4] = neg.float32(s0[4]);"
        "y0[2, 2] = add.float32(t0[2, 2], x1[2, 2])", "",
    ),
    "the result is a state, and read in between": (
        MADE + "y0[4] = neg.float32(s2[4]); s2[2, 2] = add.float32(t0[2, 2], x1[2, 2])",
        f"y0[4] = neg.float32(s2[4]); s2[2, 2] = {ADDED}",
    ),
    "what is done later reads what another chain writes over": (
        "t1[4] = neg.float32(x0[4]); t0[2, 2] = matmul.float32(t1[2, 2], s0[2, 2]);"
        "t3[2, 2] = matmul.float32(s2[2, 2], s2[2, 2]); x1[4] = neg.float32(x1[4]);"
        "y0[2, 2] = add.float32(t0[2, 2], x1[2, 2]); t1[2, 2] = add.float32(t3[2, 2], x0[2, 2]);"
        "y1[4] = neg.float32(t1[4])",
        "t1[4] = neg.float32(x0[4]); x1[4] = neg.float32(x1[4]); y0[2, 2] = "
        + ADDED.replace("x0[2, 2], s0", "t1[2, 2], s0")
        + "t1[2, 2] = "
        + ADDED.replace("x0[2, 2], s0[2, 2], x1", "s2[2, 2], s2[2, 2], x0")
        + "y1[4] = neg.float32(t1[4])",
    ),
    "the chain is reduced": (
        MADE + "y4[] = fused.float32(t0[2, 2]) code="
        "'r0 = neg.float32 i0; o0 = sum.float32 r0' results=1 axis=(0, 1)", "",
    ),
    "a number may be refused": (
        "t2[2, 2] = matmul.int32(x2[2, 2], x2[2, 2]);"
        "y2[2, 2] = floor_divide.int32(t2[2, 2], c1[2, 2]@0/0,0)", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_products(before: str, after: str) -> None:
    becomes(products, SLOTS + before, after and SLOTS + after)


def test_a_step_with_scores_and_a_residual_walks_less_memory() -> None:
    """Scaled and masked scores, and a residual: no pass over memory of their own."""
    tutor.manual_seed(0)
    weight, mask = Tensor.randn(32, 32), Tensor.rand(32, 32) > 0.5

    @tutor.jit
    def step(x: Tensor) -> Tensor:
        scores = tutor.where(mask, (x @ x.T) * 0.1, -1e9)
        return x + scores @ weight

    x = Tensor.randn(32, 32)
    calls = [step(x).tolist() for _ in range(4)]
    assert calls[0] == calls[1] == calls[2] == calls[3]
    without = improved(step.recorded, [name for name in PASSES if name != "products"])
    assert [s.kernel for s in step.program] == ["fused", "fused"]
    assert [s.kernel for s in without] == ["matmul", "fused", "matmul", "add"]
    spared = without.nbytes - step.program.nbytes
    assert spared == 2 * 2 * 32 * 32 * 4  # each product written once less, and read once less
    assert step.program.flops == without.flops
