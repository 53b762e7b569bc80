"""What must stay in order: on random Programs, and one hazard after another."""

from __future__ import annotations

import random

import pytest
from hypothesis import given as sampled
from hypothesis import settings
from hypothesis import strategies as st
from random_steps import programs
from small import given, program, run

from tutor.backends.signatures import SIGNATURES
from tutor.programs.passes.uses import MOST, Uses, dependences, may_refuse
from tutor.programs.program import Program, walks

SLOTS = """
    x0: input 4 x float32
    x1: input 2 x int64
    s0: state 4 x float32
    s1: state 4 x float32
    s2: state 2 x uint64
    t0: temp 4 x float32
    t1: temp 4 x float32
    y0: output 4 x float32
    y1: output 2 x float32
"""
FIRST = "t0[4] = exp.float32(x0[4]);"
HAZARDS = {  # the last step follows the one before it
    "it reads what was written": (FIRST + "y0[4] = neg.float32(t0[4])", True),
    "it reads a part of it": (FIRST + "y0[2] = neg.float32(t0[2]@1/2)", True),
    "it writes what was read": ("y0[4] = neg.float32(s0[4]); s0[1] = exp.float32(x0[1])", True),
    "it writes what was written": ("s0[2] = neg.float32(x0[2]); s0[4] = exp.float32(x0[4])", True),
    "it writes another part": ("s0[2] = neg.float32(x0[2]); s0[2]@2/1 = exp.float32(x0[2])", False),
    "it reads another column": (
        "s0[2]@0/2 = neg.float32(x0[2]); y0[2] = exp.float32(s0[2]@1/2)",
        False,
    ),
    "both read": ("y0[4] = neg.float32(x0[4]); s0[4] = exp.float32(x0[4])", False),
    "both draw": (
        "y0[4] = uniform.float32(s2[]@0/, s2[]@1/) blocks=1;"
        "t0[4] = uniform.float32(s2[]@0/, s2[]@1/) blocks=1",
        True,
    ),
    "what may be refused comes before what is seen": (
        "y1[2] = gather.float32(x0[4], x1[2]) axis=0; s0[4] = exp.float32(x0[4])",
        True,
    ),
    "and after": (
        "s0[4] = exp.float32(x0[4]); y1[2] = gather.float32(x0[4], x1[2]) axis=0",
        True,
    ),
    "but what is not seen then may be anywhere": (
        "t0[4] = exp.float32(x0[4]); y1[2] = gather.float32(x0[4], x1[2]) axis=0",
        False,
    ),
    "the first one is refused first": (
        "t0[2] = gather.float32(x0[4], x1[2]) axis=0; y1[2] = gather.float32(x0[4], x1[2]) axis=0",
        True,
    ),
}


@pytest.mark.parametrize(("text", "follows"), HAZARDS.values(), ids=HAZARDS)
def test_hazards(text: str, follows: bool) -> None:
    assert dependences(program(SLOTS + text))[-1] == ({0} if follows else set())


@settings(max_examples=300)
@sampled(programs(), st.randoms(use_true_random=False))
def test_any_order_that_keeps_the_dependences_does_the_same(
    what: Program, chance: random.Random
) -> None:
    needs = dependences(what)
    order: list[int] = []
    left = set(range(len(what)))
    while left:
        ready = sorted(i for i in left if not needs[i] & left)
        order.append(chance.choice(ready))
        left.remove(order[-1])
    numbers = given(what)
    other = what.with_steps([what.steps[i] for i in order])
    assert run(other, numbers) == run(what, numbers)


def test_a_long_history_is_cut_and_stays_right() -> None:
    """What follows the cut follows all that was before it."""
    count = 3 * MOST
    reads = "".join(f"y{i}: output 1 x float32; y{i}[1] = neg.float32(s0[1]@{i % 4}/1);"
                    for i in range(count))  # fmt: skip
    text = "s0: state 4 x float32;" + reads + "s0[4] = exp.float32(s0[4])"
    needs = dependences(program(text))
    before: set[int] = set()
    unseen = set(needs[-1])
    while unseen:
        i = unseen.pop()
        before.add(i)
        unseen |= needs[i] - before
    assert before == set(range(count))
    assert max(map(len, needs)) <= MOST + 2


def test_who_made_it() -> None:
    what = program(SLOTS + FIRST + "y0[4] = neg.float32(t0[4]); s0[4] = copy.float32(y0[4]);"
                   "t1[2] = neg.float32(x0[2]); t1[4] = exp.float32(t1[4])")  # fmt: skip
    uses, slots = Uses(what), {name: slot for slot, name in what.names().items()}
    assert uses.maker(slots["t0"]) == 0
    assert uses.maker(slots["y0"]) == 1
    assert uses.maker(slots["s0"]) is None  # it was there before
    assert uses.maker(slots["t1"]) is None  # in two steps
    early = program(SLOTS + "y0[4] = neg.float32(t0[4]); t0[4] = exp.float32(x0[4])")
    assert Uses(early).maker(walks(early.steps[1])[0].buf) is None  # it was read before
    assert uses.last_read(slots["t0"]) == 1
    assert uses.last_read(slots["s0"]) == -1


REFUSED = {"gather", "scatter", "scatter_add", "index_select", "cross_entropy",
           "cross_entropy_grad", "pow", "floor_divide", "remainder", "fmod", "bitwise_left_shift",
           "bitwise_right_shift"}  # fmt: skip


def test_every_kernel_whose_formula_says_so_may_refuse() -> None:
    """`raises` stands in the formula, or in that of the first kernel with an index."""
    says = {row.name for row in SIGNATURES.values() if "raise" in row.formula}
    takes_an_index = {row.name for row in SIGNATURES.values() if "i" in row.types[1:]}
    assert (says | takes_an_index) - {"nonzero"} == REFUSED
    for kernel in REFUSED:
        row = SIGNATURES[kernel]
        ints = program("x0: input 1 x int32; y0: output 1 x int32; y0[] = neg.int32(x0[])")
        (step,) = ints.steps
        step.kernel = kernel
        assert may_refuse(step), row


def test_a_fused_step_may_refuse_what_an_instruction_does() -> None:
    text = "x0: input 4 x int32; y0: output 4 x int32; y0[4] = fused.int32(x0[4]) code='{}'"
    for code, refuses in {
        "o0 = floor_divide.int32 i0 i0": True,
        "r0 = neg.int32 i0; o0 = remainder.int32 r0 i0": True,
        "o0 = add.int32 i0 i0": False,
        "r0 = cast.float32 i0; r1 = pow.float32 r0 r0; o0 = cast.int32 r1": False,
    }.items():
        (step,) = program(text.format(code) + " results=1 axis=()").steps
        assert may_refuse(step) == refuses
