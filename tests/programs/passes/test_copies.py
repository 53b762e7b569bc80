"""Copies that are not needed: small Programs before and after."""

from __future__ import annotations

import pytest
from small import becomes

from tutor.programs.passes.copies import copies

SLOTS = """
    x0: input 4 x float32
    s0: state 4 x float32
    s3: state 8 x float32
    t0: temp 4 x float32
    t1: temp 4 x float32
    y0: output 4 x float32
    y1: output 4 x float32
"""
READ = {  # the original instead of the copy
    "a copy": ("t0[4] = copy.float32(x0[4]); y0[4] = exp.float32(t0[4])",
               "y0[4] = exp.float32(x0[4])"),
    "of a copy": ("t0[4] = copy.float32(x0[4]); t1[4] = copy.float32(t0[4]);"
                  "y0[4] = exp.float32(t1[4])",
                  "y0[4] = exp.float32(x0[4])"),
    "read as another shape": (
        "t0[4] = copy.float32(x0[4]); y0[2, 2] = exp.float32(t0[2, 2]@0/1,2)",
        "y0[2, 2] = exp.float32(x0[2, 2]@0/1,2)",
    ),
    "of a transposed matrix": (
        "t0[2, 2] = copy.float32(x0[2, 2]@0/1,2); y0[2] = exp.float32(t0[2]@0/1)",
        "y0[2] = exp.float32(x0[2]@0/2)",
    ),
    "whose rows are one after another in no memory": (
        "t0[2, 2] = copy.float32(x0[2, 2]@0/1,2); y0[4] = exp.float32(t0[4])",
        "",
    ),
    "of a stretched row": (
        "t0[2, 2] = copy.float32(x0[2, 2]@0/0,1); y0[2, 2] = exp.float32(t0[2, 2]@0/1,2)",
        "y0[2, 2] = exp.float32(x0[2, 2]@0/1,0)",
    ),
    "of what is changed before the copy is read": (
        "t0[4] = copy.float32(s0[4]); s0[4] = neg.float32(x0[4]); y0[4] = exp.float32(t0[4])",
        "",
    ),
    "of what is changed after the copy was read": (
        "t0[4] = copy.float32(s0[4]); y0[4] = exp.float32(t0[4]); s0[4] = neg.float32(x0[4])",
        "y0[4] = exp.float32(s0[4]); s0[4] = neg.float32(x0[4])",
    ),
    "of one half, where the other is changed": (
        "t1[2] = copy.float32(s0[2]); s0[2]@2/1 = neg.float32(x0[2]); y0[2] = exp.float32(t1[2])",
        "",  # a temp of four, of which two are filled, is left alone
    ),
    "of one half into a temp of two": (
        "t2: temp 2 x float32; t2[2] = copy.float32(s0[2]); s0[2]@2/1 = neg.float32(x0[2]);"
        "y0[2] = exp.float32(t2[2])",
        "s0[2]@2/1 = neg.float32(x0[2]); y0[2] = exp.float32(s0[2])",
    ),
    "that is changed itself": (
        "t0[4] = copy.float32(x0[4]); t0[1]@2/1 = neg.float32(x0[1]); y0[4] = exp.float32(t0[4])",
        "",
    ),
    "one reader comes too late": (
        "t0[4] = copy.float32(s0[4]); y0[4] = exp.float32(t0[4]); s0[4] = neg.float32(x0[4]);"
        "y1[4] = exp.float32(t0[4])",
        "",
    ),
    "read to change the original in place": (
        "t0[4] = copy.float32(s0[4]); s0[4] = mul.float32(t0[4], x0[4])",
        "s0[4] = mul.float32(s0[4], x0[4])",
    ),
    "but in another order": (
        "t0[4] = copy.float32(s0[4]@3/-1); s0[4] = mul.float32(t0[4], x0[4])",
        "",
    ),
    "read to change the original by a product": (
        "t0[4] = copy.float32(s0[4]); s0[2, 2] = matmul.float32(t0[2, 2], x0[2, 2])",
        "",
    ),
    "read by an update of the original": (
        "s1: state 1 x float64; s2: state 1 x float64; t0[4] = copy.float32(s0[4]);"
        "s0[4] = descend.float32(t0[4], s1[], s2[])",
        "",
    ),
    "of what lies in another order, read twice": (
        "t0[2, 2] = copy.float32(x0[2, 2]@0/1,2); y0[2, 2] = exp.float32(t0[2, 2]);"
        "y1[2, 2] = neg.float32(t0[2, 2])",
        "y0[2, 2] = exp.float32(x0[2, 2]@0/1,2); y1[2, 2] = neg.float32(x0[2, 2]@0/1,2)",
    ),
    "that is wanted": ("y0[4] = copy.float32(x0[4])", ""),
}  # fmt: skip
READ["onto itself"] = ("s0[4] = copy.float32(s0[4]); y0[4] = neg.float32(s0[4])",
                       "y0[4] = neg.float32(s0[4])")  # fmt: skip
WRITE = {  # where the copy would be
    "a parameter that moves": (
        "t0[4] = sub.float32(s0[4], x0[4]); s0[4] = copy.float32(t0[4])",
        "s0[4] = sub.float32(s0[4], x0[4])",
    ),
    "a part of it": (
        "t2: temp 2 x float32; t2[2] = exp.float32(x0[2]); s0[2]@1/2 = copy.float32(t2[2])",
        "s0[2]@1/2 = exp.float32(x0[2])",
    ),
    "in another shape": (
        "t0[4] = exp.float32(x0[4]); s0[2, 2] = copy.float32(t0[2, 2])",
        "s0[4] = exp.float32(x0[4])",
    ),
    "in an order that no strides can say": (
        "t0[4] = exp.float32(x0[4]); s0[2, 2]@0/1,2 = copy.float32(t0[2, 2])",
        "",
    ),
    "and what is read has changed by then": (
        "t0[4] = exp.float32(x0[4]); y0[4] = neg.float32(s0[4]); x0[1] = neg.float32(x0[1]);"
        "s0[4] = copy.float32(t0[4])",
        "",
    ),
    "transposed": (
        "t0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]); s0[2, 2] = copy.float32(t0[2, 2]@0/1,2)",
        "s0[2, 2]@0/1,2 = matmul.float32(x0[2, 2], x0[2, 2])",
    ),
    "into a part, transposed": (
        "t0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]); s3[2, 2]@1/4,1 = "
        "copy.float32(t0[2, 2]@0/1,2)",
        "s3[2, 2]@1/1,4 = matmul.float32(x0[2, 2], x0[2, 2])",
    ),
    "of which others read the columns, and a part": (
        "t0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]); y0[2, 2] = copy.float32(t0[2, 2]@0/1,2);"
        "y1[2, 2] = neg.float32(t0[2, 2]@0/1,2); s0[2]@0/1 = neg.float32(t0[2]@2/1)",
        "y0[2, 2]@0/1,2 = matmul.float32(x0[2, 2], x0[2, 2]); y1[2, 2] = neg.float32(y0[2, 2]);"
        "s0[2]@0/1 = neg.float32(y0[2]@1/2)",
    ),
    "of which others read all in a row": (
        "t0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]); y0[2, 2] = copy.float32(t0[2, 2]@0/1,2);"
        "y1[4] = neg.float32(t0[4])",
        "",
    ),
    "what stands there is read in between": (
        "t0[4] = exp.float32(x0[4]); y0[4] = neg.float32(s0[4]); s0[4] = copy.float32(t0[4])",
        "y0[4] = neg.float32(s0[4]); s0[4] = exp.float32(x0[4])",
    ),
    "what stands there is read in another order": (
        "t0[4] = exp.float32(s0[4]@3/-1); s0[4] = copy.float32(t0[4])",
        "",
    ),
    "what stands there is read by a product": (
        "t0[2, 2] = matmul.float32(s0[2, 2], x0[2, 2]); s0[4] = copy.float32(t0[4])",
        "",
    ),
    "it is written in between": (
        "t0[4] = exp.float32(x0[4]); s0[1] = neg.float32(x0[1]); s0[4] = copy.float32(t0[4])",
        "s0[1] = neg.float32(x0[1]); s0[4] = exp.float32(x0[4])",
    ),
    "somebody else reads what is copied": (
        "t0[4] = exp.float32(x0[4]); s0[4] = copy.float32(t0[4]); s0[1] = neg.float32(x0[1]);"
        "y0[4] = neg.float32(t0[4])",
        "",
    ),
    "a copy that is an output is what is copied": (
        "t0[4] = exp.float32(x0[4]); y1[4] = neg.float32(t0[4]); y0[2, 2] = copy.float32(t0[2, 2])",
        "y0[4] = exp.float32(x0[4]); y1[4] = neg.float32(y0[4])",
    ),
    "two outputs stay two": (
        "t0[4] = exp.float32(x0[4]); y0[4] = copy.float32(t0[4]); y1[4] = copy.float32(t0[4])",
        "y0[4] = exp.float32(x0[4]); y1[4] = copy.float32(y0[4])",
    ),
    "the one that is wanted, rather than the first": (
        "t0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]); t1[4] = copy.float32(t0[4]);"
        "t0[1] = neg.float32(x0[1]);"
        "y0[4] = copy.float32(t1[4]); y1[4] = exp.float32(t1[4])",
        "t0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]); y0[4] = copy.float32(t0[4]);"
        "t0[1] = neg.float32(x0[1]); y1[4] = exp.float32(y0[4])",
    ),
    "a copy that nobody reads is dead, and no matter of this pass": (
        "t0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]); t1[4] = copy.float32(t0[4]);"
        "y0[4] = copy.float32(t0[4])",
        "y0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]); t1[4] = copy.float32(y0[4])",
    ),
    "of what two copies were": (
        "t0[4] = exp.float32(x0[4]); t1[4] = copy.float32(t0[4]); y0[4] = copy.float32(t1[4])",
        "y0[4] = exp.float32(x0[4])",
    ),
    "what may be refused must not leave half a state": (
        "x1: input 4 x int32; x2: input 4 x int32; t2: temp 4 x int32; s1: state 4 x int32;"
        "t2[4] = bitwise_left_shift.int32(x1[4], x2[4]); s1[4] = copy.int32(t2[4])",
        "",
    ),
    "nor change a state before something else is refused": (
        "x1: input 2 x int64; y2: output 2 x float32; t0[4] = exp.float32(x0[4]);"
        "y2[2] = gather.float32(x0[4], x1[2]) axis=0; s0[4] = copy.float32(t0[4])",
        "",
    ),
    "an update is left alone": (
        "s1: state 1 x float64; s2: state 1 x float64; t0[4] = exp.float32(x0[4]);"
        "t0[4] = descend.float32(x0[4], s1[], s2[]); s0[4] = copy.float32(t0[4])",
        "",
    ),
}


@pytest.mark.parametrize(("before", "after"), READ.values(), ids=READ)
def test_the_original_is_read(before: str, after: str) -> None:
    becomes(copies, SLOTS + before, after and SLOTS + after)


@pytest.mark.parametrize(("before", "after"), WRITE.values(), ids=WRITE)
def test_the_copy_is_written_at_once(before: str, after: str) -> None:
    becomes(copies, SLOTS + before, after and SLOTS + after)


LARGE = """
    x0: input 40000 x float32
    x1: input 200 x float32
    t0: temp 40000 x float32
    y0: output 40000 x float32
    y1: output 40000 x float32
    t0[200, 200] = copy.float32(x0[200, 200]@0/1,200)
"""
TURNED = "x0[200, 200]@0/1,200"
SCATTERED = {
    "read once, by a kernel that walks it in squares": (
        LARGE + "y0[200, 200] = exp.float32(t0[200, 200])",
        LARGE.rpartition("t0[")[0] + f"y0[200, 200] = exp.float32({TURNED})",
    ),
    "read once, by a product, which packs it": (
        LARGE + "y0[200, 1] = matmul.float32(t0[200, 200], x1[200, 1])",
        LARGE.rpartition("t0[")[0] + f"y0[200, 1] = matmul.float32({TURNED}, x1[200, 1])",
    ),
    "read once, by a kernel that goes along its rows": (
        LARGE + "y0[200, 200] = softmax.float32(t0[200, 200]) axis=1",
        "",
    ),
    "read twice": (
        LARGE + "y0[200, 200] = exp.float32(t0[200, 200]);y1[200, 200] = neg.float32(t0[200, 200])",
        "",
    ),
}


@pytest.mark.parametrize(("before", "after"), SCATTERED.values(), ids=SCATTERED)
def test_a_copy_that_pays_stays(before: str, after: str) -> None:
    becomes(copies, before, after)


def test_a_copied_bool_is_0_or_1() -> None:
    """Memory from elsewhere may hold other bytes, and a copy of a state onto itself mends them."""
    text = "s0: state 4 x bool; s0[4] = copy.bool(s0[4])"
    becomes(copies, text, text)
