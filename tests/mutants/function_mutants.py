"""Bugs in attention, einsum, linear algebra, and what reads between pixels and by position."""

from mutant import Mutant

ATTENTION, EINSUM = "tutor/nn/attention.py", "tutor/functions/einsum.py"
GRIDS, RESAMPLING = "tutor/nn/grids.py", "tutor/nn/resampling.py"
SIZES, MATRICES = "tutor/linalg/sizes.py", "tutor/linalg/ops.py"
BY_HAND, OF_EINSUM = "nn/test_attention.py", "oracle/test_oracle.py"
OF_MATRICES, OF_GRIDS = "linalg/test_linalg.py", "nn/test_grids.py"

FUNCTION_MUTANTS = [
    # ---- attention -------------------------------------------------------------------------------
    Mutant(
        "attention drops in evaluation", ATTENTION,
        "p = self.dropout if self.training else 0.0", "p = self.dropout",
        BY_HAND, "a model in evaluation gives another answer each time",
    ),
    Mutant(
        "attention without weights never drops", ATTENTION,
        "found = scaled_dot_product_attention(q, k, v, mask, p)",
        "found = scaled_dot_product_attention(q, k, v, mask)",
        BY_HAND, "need_weights=False trains without the dropout that was asked for",
    ),
    Mutant(
        "causal attention never drops", ATTENTION,
        "found = scaled_dot_product_attention(q, k, v, None, p, True)",
        "found = scaled_dot_product_attention(q, k, v, None, 0.0, True)",
        BY_HAND, "a GPT trains without the dropout that was asked for",
    ),
    Mutant(
        "a mask for each head is read heads first", ATTENTION,
        "total = total.reshape((n, heads, length, keys))",
        "total = total.reshape((heads, n, length, keys)).transpose(0, 1)",
        BY_HAND, "sequences of a batch get each other's masks",
    ),
    Mutant(
        "is_causal is ignored beside attn_mask", ATTENTION,
        "        if cache is not None:\n            later",
        "        is_causal = is_causal and attn_mask is None\n"
        "        if cache is not None:\n            later",
        BY_HAND, "a place sees those behind it as soon as there is a bias on its scores",
    ),
    Mutant(
        "attn_mask is ignored beside is_causal", ATTENTION,
        "        if attn_mask is not None:\n",
        "        if attn_mask is not None and not is_causal:\n",
        BY_HAND, "keys that are hidden by a mask are seen",
    ),
    Mutant(
        "causal attention is aligned at the end", ATTENTION,
        "later = places[:keys] > places[:length].unsqueeze(1)",
        "later = places[:keys] > places[:length].unsqueeze(1) + (keys - length)",
        BY_HAND, "with more keys than queries the first query sees keys behind it",
    ),
    # ---- einsum ----------------------------------------------------------------------------------
    Mutant(
        "an implicit result of einsum is not sorted", EINSUM,
        "once = sorted(n for n in set(several) if several",
        "once = list(n for n in several if several",
        OF_EINSUM, "einsum('ba', x) is x, and not its transpose", "einsum",
    ),
    Mutant(
        "... of einsum is aligned in front", EINSUM,
        '"".join(free[widest - extra : widest])', '"".join(free[:extra])',
        OF_EINSUM, "operands with fewer axes for ... meet the wrong ones", "einsum",
    ),
    Mutant(
        "a size of 1 does not stretch in einsum", EINSUM,
        "sizes[name] = size if sizes[name] == 1 else sizes[name]", "sizes[name] = size",
        OF_EINSUM, "an axis of one row beside three is refused, or cut", "einsum",
    ),
    # ---- linear algebra --------------------------------------------------------------------------
    Mutant(
        "a norm over two axes takes them the other way round", SIZES,
        "matrix_norm(found.movedim(two, (-2, -1)), ord=ord)",
        "matrix_norm(found.movedim(two, (-1, -2)), ord=ord)",
        OF_MATRICES, "norm(x, 1, axis=(0, 1)) is the largest sum of a row", "numpys",
    ),
    Mutant(
        "the gradient of cholesky is not symmetric", MATRICES,
        "return (s + s.mT) * 0.5", "return s",
        OF_MATRICES, "a step along it leaves the symmetric matrices", "cholesky",
    ),
    Mutant(
        "multi_dot multiplies from the left", "tutor/linalg/products.py",
        "    k = last[i, j]\n", "    k = j - 1\n",
        OF_MATRICES, "a product that should take 10,000 multiplications takes a million", "fewest",
    ),
    # ---- between pixels --------------------------------------------------------------------------
    Mutant(
        "grid_sample takes rows for columns", GRIDS,
        "place = g[..., dims - 1 - axis]", "place = g[..., axis]",
        OF_GRIDS, "every picture that is warped is mirrored at its diagonal",
    ),
    Mutant(
        "a mirrored place is not mirrored back", GRIDS,
        "where(times % 2.0 == 0.0, rest, span - rest)", "where(times == 0.0, rest, span - rest)",
        OF_GRIDS, "what lies two pictures beyond the border is read backwards",
    ),
    Mutant(
        "a pixel beyond the border is the border's", GRIDS,
        'at.append(place if padding_mode == "zeros" else place.clip(0.0, size - 1.0))',
        "at.append(place.clip(0.0, size - 1.0))",
        OF_GRIDS, "what was beyond a picture is smeared into it",
    ),
    Mutant(
        "nearest-exact takes the pixel at its left end", RESAMPLING,
        '"nearest-exact": 1}', '"nearest-exact": 0}',
        "oracle/test_oracle.py", "a picture is moved by half a pixel", "interpolate",
    ),
]  # fmt: skip
