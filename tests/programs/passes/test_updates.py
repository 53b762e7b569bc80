"""Updates side by side: small Programs before and after."""

from __future__ import annotations

import pytest
from small import becomes

from tutor.programs.passes.updates import updates

SLOTS = """
    x0: input 4 x float32
    s0: state 4 x float32
    s1: state 4 x float32
    s2: state 1 x float64
    s3: state 1 x float64
    s4: state 1 x uint64
    t0: temp 4 x float32
    t1: temp 4 x float32
    t2: temp 4 x float32
    y0: output 4 x float32
"""


def moved(name: str, gradient: str) -> str:
    return f"{name}[4] = descend.float32({gradient}[4], s2[], s3[]);"


CASES = {
    "one between two": (
        "t0[4] = exp.float32(x0[4]);" + moved("s0", "t0") + "t1[4] = neg.float32(x0[4]);"
        + moved("s1", "t1"),
        "t0[4] = exp.float32(x0[4]); t1[4] = neg.float32(x0[4]);" + moved("s0", "t0")
        + moved("s1", "t1"),
    ),
    "what reads the parameter stays behind its update": (
        "t0[4] = exp.float32(x0[4]);" + moved("s0", "t0") + "y0[4] = neg.float32(s0[4]);"
        "t1[4] = neg.float32(x0[4]);" + moved("s1", "t1"),
        "t0[4] = exp.float32(x0[4]); t1[4] = neg.float32(x0[4]);" + moved("s0", "t0")
        + moved("s1", "t1") + "y0[4] = neg.float32(s0[4])",
    ),
    "what the first one changes leads to the second": (
        "t0[4] = exp.float32(x0[4]);" + moved("s0", "t0") + "t1[4] = neg.float32(s0[4]);"
        + moved("s1", "t1"),
        "",
    ),
    "one parameter twice": (
        moved("s0", "x0") + "t0[4] = exp.float32(x0[4]);" + moved("s0", "t0"),
        "t0[4] = exp.float32(x0[4]);" + moved("s0", "x0") + moved("s0", "t0"),
    ),
    "the gradient is overwritten": (
        "t0[4] = exp.float32(x0[4]);" + moved("s0", "t0") + "t0[4] = neg.float32(x0[4]);"
        + moved("s1", "t0"),
        "",
    ),
    "the learning rate changes in between": (
        moved("s0", "x0") + "s2[] = neg.float64(s2[]);" + moved("s1", "x0"),
        "",
    ),
    "a draw does not mind": (
        "s5: state 2 x uint64;" + moved("s0", "x0")
        + "y0[4] = uniform.float32(s5[]@0/, s5[]@1/) blocks=1;" + moved("s1", "x0"),
        "s5: state 2 x uint64; y0[4] = uniform.float32(s5[]@0/, s5[]@1/) blocks=1;"
        + moved("s0", "x0") + moved("s1", "x0"),
    ),
    "what may be refused after an update stays after it": (
        "x1: input 2 x int64; y1: output 2 x float32;" + moved("s0", "x0")
        + "y1[2] = gather.float32(x0[4], x1[2]) axis=0;" + moved("s1", "x0"),
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_updates(before: str, after: str) -> None:
    becomes(updates, SLOTS + before, after and SLOTS + after)
