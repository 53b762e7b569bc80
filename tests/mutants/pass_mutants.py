"""Bugs in the passes of Programs: each makes steps do something else than was recorded."""

from mutant import Mutant

PASSES, TESTS = "tutor/programs/passes", "programs/passes"

PASS_MUTANTS = [
    # ---- what all passes ask ---------------------------------------------------------------------
    Mutant(
        "a write does not wait for those who read", f"{PASSES}/uses.py",
        "            needs.update(_meeting(walk, histories[walk.buf].read))\n", "",
        f"{TESTS}/test_uses.py::test_hazards {TESTS}/test_fuse.py",
        "a step moves in front of one that reads what it overwrites",
    ),
    Mutant(
        "what may be refused waits for nothing", f"{PASSES}/uses.py",
        "needs |= refused | seen_outside", "needs |= refused",
        f"{TESTS}/test_uses.py::test_hazards",
        "a wrong index is found after the parameters have moved",
    ),
    Mutant(
        "a temp that is read before it is filled counts as made", f"{PASSES}/uses.py",
        "return at if walk.is_whole and first > at else None",
        "return at if walk.is_whole else None",
        f"{TESTS}/test_passes.py {TESTS}/test_copies.py {TESTS}/test_uses.py",
        "an output that was copied before would be read instead of the copy",
    ),
    Mutant(
        "a part that is filled counts as all", f"{PASSES}/uses.py",
        "return at if walk.is_whole and first > at else None",
        "return at if first > at else None",
        f"{TESTS}/test_copies.py",
        "a buffer made of a copied slice and something else is read from the slice's original",
    ),
    Mutant(
        "columns of one matrix are taken for apart when they meet", f"{PASSES}/elements.py",
        "return any(x[1] < y[0] or", "return any(x[1] <= y[0] or",
        f"{TESTS}/test_elements.py",
        "a column is read after its neighbour was written over it",
    ),
    Mutant(
        "an axis leaves its run unnoticed", f"{PASSES}/elements.py",
        "if low < 0 or high >= size:", "if low < 0:",
        f"{TESTS}/test_elements.py",
        "a diagonal of a copy is read from the wrong places of its original",
    ),
    # ---- dead, versions, common ------------------------------------------------------------------
    Mutant(
        "a partial write hides what was there", f"{PASSES}/dce.py",
        "            if walk.is_whole:\n", "            if True:\n",
        f"{TESTS}/test_dce.py",
        "x[0] = 1 makes the rest of x vanish",
    ),
    Mutant(
        "what only raises is dead", f"{PASSES}/dce.py",
        "if not seen and not may_refuse(step):", "if not seen:",
        f"{TESTS}/test_dce.py",
        "a wrong label passes when the loss is not returned",
    ),
    Mutant(
        "a state is the same before and after its update", f"{PASSES}/cse.py",
        "            version[walk.buf] += 1\n", "            version[walk.buf] += 0\n",
        f"{TESTS}/test_cse.py",
        "what was computed from a parameter before it moved is used after",
    ),
    Mutant(
        "two outputs are one Buffer", f"{PASSES}/cse.py",
        "        elif not out.buf.lasts:\n", "        elif True:\n",
        f"{TESTS}/test_cse.py",
        "the second result is never written",
    ),
    Mutant(
        "parameters that are equal to Python are one", f"{PASSES}/cse.py",
        "(name, repr(value))", "(name, value)",
        f"{TESTS}/test_cse.py",
        "a fill with True is taken for one with 1",
    ),
    Mutant(
        "an update begins a new temp", f"{PASSES}/ssa.py",
        'if step.signature.form == "update":', 'if step.signature.form == "updates":',
        f"{TESTS}/test_ssa.py",
        "an optimizer moves a parameter from where nothing is",
    ),
    # ---- constants, casts, pieces, copies --------------------------------------------------------
    Mutant(
        "x + 0 is x", f"{PASSES}/constants.py",
        '"add": ((1, -0.0), (2, -0.0))', '"add": ((1, 0.0), (2, 0.0))',
        f"{TESTS}/test_constants.py",
        "-0 + 0 gives -0",
    ),
    Mutant(
        "zeros are equal", f"{PASSES}/constants.py",
        "found == number and math.copysign(1, found) == math.copysign(1, number)",
        "found == number",
        f"{TESTS}/test_constants.py",
        "-0 - -0 gives -0",
    ),
    Mutant(
        "a cast through a float is one of integers", f"{PASSES}/casts.py",
        "return c is a or c.is_float or whole_numbers or (a.is_float and b.is_float)",
        "return True",
        f"{TESTS}/test_casts.py",
        "-1 as a float and then as uint8 gives 255",
    ),
    Mutant(
        "bfloat16 holds float16", f"{PASSES}/casts.py",
        "a >= b if i < 2 else a <= b", "a >= b if i == 1 else True",
        f"{TESTS}/test_casts.py",
        "three bits of each number are not rounded away",
    ),
    Mutant(
        "the original is read after it has changed", f"{PASSES}/copies.py",
        "if walk is None or uses.is_changed(source, i, use.at):", "if walk is None:",
        f"{TESTS}/test_copies.py",
        "before = kept.copy(), and then it shows what came after",
    ),
    Mutant(
        "a slice of itself is written while it is read", f"{PASSES}/copies.py",
        "if overlap(written, source) and not (is_map(reader) and same(written, walk)):",
        "if False:",
        f"{TESTS}/test_copies.py",
        "x[:] = x[::-1].copy() loses half of x",
    ),
    Mutant(
        "a state is written before what may be refused", f"{PASSES}/copies.py",
        'if out.buf.role in ("input", "state") and _refuses(refusals, made, i):', "if False:",
        f"{TESTS}/test_copies.py",
        "an error leaves a state that has changed already",
    ),
    Mutant(
        "parts that meet are not added", f"{PASSES}/sum_of_slices.py",
        "any(overlap(p.place, q.place) for p in mine for q in theirs)", "False",
        f"{TESTS}/test_sum_of_slices.py",
        "where two slices overlap, one gradient is lost",
    ),
    Mutant(
        "between the parts there is nothing", f"{PASSES}/sum_of_slices.py",
        "< out.buf.count:", "< 0:",
        f"{TESTS}/test_sum_of_slices.py",
        "the gradient of what no slice has seen is what was in memory",
    ),
    # ---- epilogue, chains, fuse, updates, inplace ------------------------------------------------
    Mutant(
        "a relu takes away what its layer had made", f"{PASSES}/epilogue.py",
        "not x.buf.lasts and len(uses.reads[x.buf]) == 1", "True",
        f"{TESTS}/test_epilogue.py",
        "who reads the layer's result reads nothing",
    ),
    Mutant(
        "a product goes with the first who reads it", f"{PASSES}/products.py",
        "not walk.buf.lasts and {use.at for use in uses.reads[walk.buf]} == {i}", "True",
        f"{TESTS}/test_products.py",
        "who else reads the product reads nothing",
    ),
    Mutant(
        "a product is moved over the step that changes its weight", f"{PASSES}/products.py",
        "return None if any(uses.is_changed(walk, first, last) for walk in reads(made)) else last",
        "return last",
        f"{TESTS}/test_products.py",
        "a layer is computed with the weight after the update",
    ),
    Mutant(
        "nobody knows where a product has moved to", f"{PASSES}/products.py",
        "        uses.move(one, at)\n", "",
        f"{TESTS}/test_products.py",
        "a chain that comes later writes over what the product still has to read",
    ),
    Mutant(
        "a result is written where the product still reads", f"{PASSES}/products.py",
        "and not any(overlap(w, walk) for w in writes(chain) for walk in reads(made))", "",
        f"{TESTS}/test_products.py",
        "x.assign(x @ w + y) reads rows of x that are new",
    ),
    Mutant(
        "a result takes an input's place while a product is under way", f"{PASSES}/inplace.py",
        'step.kernel == "fused" and product(str(step.params["code"])) is None',
        'step.kernel == "fused"',
        f"{TESTS}/test_passes_inplace.py",
        "x @ x + x writes over the x that it multiplies",
    ),
    Mutant(
        "a chain reads another element than it wrote", f"{PASSES}/chains.py",
        "(wrote or walk in written) and not same(walk, other) and overlap(walk, other)", "False",
        f"{TESTS}/test_fuse.py",
        "x.exp().flip() is not flipped",
    ),
    Mutant(
        "a chain moves past who must follow it", f"{PASSES}/chains.py",
        "return rank if low < rank < high else None", "return rank",
        f"{TESTS}/test_fuse.py {TESTS}/test_passes.py",
        "a product reads what its chain has not made yet",
    ),
    Mutant(
        "half a state is written before an integer is refused", f"{PASSES}/chains.py",
        "            and not (outside and (refuses or self.refuses))\n", "",
        f"{TESTS}/test_fuse.py",
        "a division by 0 leaves a state of which some numbers are new",
    ),
    Mutant(
        "what others read stays in a register", f"{PASSES}/fuse.py",
        "return out.buf.lasts or any(use.at not in chain.steps for use in uses.reads[out.buf])",
        "return out.buf.lasts",
        f"{TESTS}/test_fuse.py {TESTS}/test_passes_real.py",
        "a backward reads what its forward did not write",
    ),
    Mutant(
        "an update does not wait for the one before", f"{PASSES}/updates.py",
        "max((phases[n] + (waits and _is_update(steps[n])) for n in needed), default=0)", "0",
        f"{TESTS}/test_updates.py",
        "what reads a moved parameter reads it before it moves",
    ),
    Mutant(
        "a result takes memory that is still needed", f"{PASSES}/inplace.py",
        'slot.role == "temp" and uses.last_read(slot) == i and', 'slot.role == "temp" and',
        f"{TESTS}/test_passes_inplace.py",
        "what is read later is something else by then",
    ),
    Mutant(
        "a result takes an input's memory", f"{PASSES}/inplace.py",
        'ends = slot.role == "temp" and', "ends =",
        f"{TESTS}/test_passes_inplace.py",
        "the user's batch is overwritten",
    ),
]  # fmt: skip
