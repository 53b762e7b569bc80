"""Values and derivatives against PyTorch's, where that is installed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from named_methods import IN_PLACE, METHODS
from oracle import ORDERS, TORCH, TUTOR, ask, compare, draw, graph, layouts_of, torch
from oracle_arrays import ARRAYS
from oracle_cases import BASIC
from oracle_edges import ANSWERS, DIFFERENCES, EDGES, REFUSALS
from oracle_functions import FUNCTIONS
from oracle_learning import LEARNING
from oracle_norms import NETWORK_PARTS

import tutor.nn.functional
from tutor import OPS
from tutor.backends.python_ref import elementwise
from tutor.errors import TutorError

CASES = BASIC + ARRAYS + LEARNING + NETWORK_PARTS + FUNCTIONS
TOLERANCE, SINGLE = 1e-11, 1e-5  # float64; the values in float32, against PyTorch's float64
PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"
pytestmark = pytest.mark.filterwarnings(  # of PyTorch
    "ignore:Using padding='same'", "ignore:reduction. 'mean' divides", "ignore:.*degrees of freedom"
)

# By PyTorch's names, in tests/oracle/test_oracle_names.py.
BY_PYTORCHS_NAMES = {
    "allclose",
    "bfloat16",
    "bool",
    "double",
    "eq",
    "float",
    "ge",
    "gt",
    "half",
    "int",
    "isclose",
    "le",
    "long",
    "lt",
    "ne",
    "to",
    "type_as",
}

# What has no derivative, is another one's second name, or a part of others.
OTHERS = {
    "isfinite", "isinf", "isnan", "logical_and", "logical_not", "logical_or", "logical_xor",
    "nonzero", "one_hot", "astype", "sparse_categorical_crossentropy", "by_class", "picked",
    "reduced", "total", "alike", "as_tensor", "by_rows", "settings", "spelled", "whole_number",
    "t", "dim", "ndimension", "size", "realize", "cpu", "is_floating_point", "expand_as",
    "reshape_as", "view_as", "dropout",  # which draws: tests/nn/test_norm.py
    "affine_grid", "grid_sample",  # tests/nn/test_grids.py
    *BY_PYTORCHS_NAMES,
    *(name for name in OPS if name.startswith("bitwise_")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("case", "layout"),
    [pytest.param(case, layout, id=f"{case.name}-{i}-{layout}")
     for i, case in enumerate(CASES) for layout in layouts_of(case)],
)  # fmt: skip
def test_case(case, layout):
    arrays = draw(case.shapes, case.values)
    theirs = ask(TORCH, case.torch or case.f, arrays, layout, case.orders)
    ours = ask(TUTOR, case.f, arrays, layout, case.orders)
    for order, a, b in zip(ORDERS, ours, theirs, strict=False):
        compare(a, b, TOLERANCE, order)
    singles = [a.astype("float32") for a in arrays]
    (ours,) = ask(TUTOR, case.f, singles, layout, 0)
    (theirs,) = ask(TORCH, case.torch or case.f, [a.astype("float64") for a in singles], layout, 0)
    compare(ours, theirs, SINGLE, "float32")


def arrays_of(edge):
    return [np.array(x, "float64") for x in edge.inputs]


@pytest.mark.parametrize("edge", [pytest.param(e, id=f"{e.name}-{i}") for i, e in enumerate(EDGES)])
def test_edge(edge):
    arrays = arrays_of(edge)
    theirs = ask(TORCH, edge.torch or edge.f, arrays, "plain", edge.orders, weights=(1, 1))
    ours = ask(TUTOR, edge.f, arrays, "plain", edge.orders, weights=(1, 1))
    if edge.why is None:
        for order, a, b in zip(ORDERS, ours, theirs, strict=False):
            compare(a, b, TOLERANCE, order)
        return
    z = edge.z if edge.z is None or isinstance(edge.z, tuple) else (edge.z,)
    found, others, right = [], [], []
    for order, given in enumerate((z, edge.dx, edge.ddx)[: edge.orders + 1]):
        count = len(arrays) if order else None  # without the derivatives by the weights
        found += ours[order][:count]
        others += theirs[order][:count]
        right += theirs[order][:count] if given is None else [np.array(x) for x in given]
    compare(found, right, TOLERANCE, edge.why)
    with pytest.raises(AssertionError):  # else the row, and its line in the page, are out of date
        compare(others, right, TOLERANCE, "")


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{r.name}-{r.shape}") for r in REFUSALS])
def test_what_is_refused(row):
    array = np.arange(float(np.prod(row.shape))).reshape(row.shape)
    with pytest.raises(TutorError):
        ask(TUTOR, row.f, [array], "plain", 0)
    if row.why:
        ask(TORCH, row.torch or row.f, [array], "plain", 0)
    else:
        with pytest.raises((RuntimeError, IndexError)):
            ask(TORCH, row.torch or row.f, [array], "plain", 0)


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in ANSWERS])
def test_what_only_pytorch_refuses(row):
    array = np.arange(float(np.prod(row.shape))).reshape(row.shape)
    values, slopes, *_ = ask(TUTOR, row.f, [array], "plain", 1, weights=(1, 1))
    compare([values[0], slopes[0]], [np.array(row.z), np.array(row.dx)], TOLERANCE, row.why)
    with pytest.raises((RuntimeError, NotImplementedError)):
        ask(TORCH, row.torch or row.f, [array], "plain", 1)


def of_our_own(name):
    """An op that PyTorch does not have, and whose kernel is what its line in signatures.py says."""
    ours = name in OPS and OPS[name].__module__ == "tutor.ops.elementwise"
    theirs = hasattr(torch, {"copy": "clone"}.get(name, name))
    return ours and OPS[name].kernel in elementwise.STATED and not theirs


def test_an_op_that_pytorch_has_is_compared_with_it():
    assert not [name for name in OPS if of_our_own(name)]


def test_every_differentiable_op_is_compared():
    """Not only named in a row: the graph of one row's result holds it."""
    ours = {n for n, op in OPS.items() if op.__module__.startswith("tutor.ops")}
    seen = {n for case in CASES if case.name in OPS
            for n in graph(case.f, draw(case.shapes, case.values))}  # fmt: skip
    missing = {n for n in ours if OPS[n].differentiable and not of_our_own(n)} - seen
    assert not missing, f"no row in tests/oracle/oracle_cases.py: {sorted(missing)}"


def test_every_method_and_loss_is_compared():
    functions = vars(tutor.nn.functional)
    names = METHODS - IN_PLACE  # compared in test_oracle_writing.py
    names |= {n for n, f in functions.items() if callable(f) and n.islower() and n != "apply"}
    rows = {case.name for case in CASES}
    missing = {n for n in names if not n.startswith("_") and not of_our_own(n)} - rows - OTHERS
    assert not missing, f"no row in tests/oracle/oracle_cases.py: {sorted(missing)}"


def test_the_page_lists_exactly_the_differences():
    used = {row.why for row in (*EDGES, *REFUSALS, *ANSWERS)} - {None}
    assert used == set(DIFFERENCES)
    _, section = PAGE.read_text(encoding="utf-8").split("## Other numbers\n")
    section = section.split("\n## ")[0]
    assert re.findall(r"^\*\*(.+?)\*\*", section, re.MULTILINE) == list(DIFFERENCES)
