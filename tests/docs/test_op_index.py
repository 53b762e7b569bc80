"""The list of ops is whole, and what it says of an op is what the op does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/_ext"))
import op_figures
import op_index

from tutor import OPS, Tensor

DOCS = Path(__file__).parents[2] / "docs"
NAMES = [name for of in op_index.families() for name in op_index.members(of)]

# What no picture of this size shows: a gradient by itself, a decomposition, five operands.
WITHOUT = {
    "attention", "batch_norm", "bitwise_not", "conv2d_weight", "cross_entropy_grad", "eigh", "fold",
    "gru", "lstm", "max_pool2d_grad", "place", "qr", "rnn", "scatter_extreme", "slogdet", "svd",
}  # fmt: skip


def test_every_op_is_on_the_page() -> None:
    page = (DOCS / "ops.md").read_text(encoding="utf-8")
    listed = re.findall(r"^```\{op-index\} (\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(op_index.families())
    own = [name for name, op in OPS.items() if op.__module__.startswith("tutor.")]
    assert sorted(NAMES) == sorted(own) and len(NAMES) > 110


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_it(name: str) -> None:
    one = op_index.about(name)
    assert one.says and one.place.line > 1
    assert bool(one.derivative) == OPS[name].differentiable
    assert bool(one.kernels) != OPS[name].is_view
    assert (op_figures.figure(name) is None) == (name in WITHOUT)


def test_it_is_what_the_op_does() -> None:
    exp = op_index.about("exp")
    assert (exp.says, exp.derivative, exp.saves, exp.method) == (
        "z = e**x",
        "g * z",
        ("out",),
        "exp",
    )
    (kernel,) = exp.kernels
    assert (kernel.name, kernel.dtypes, kernel.agrees) == ("exp", "the four floats", "ulp(1)")
    assert (
        kernel.measured == "of all 4,294,967,296 float32, tried one by one, the worst is 1 ulp away"
    )
    assert exp.place.file == "tutor/ops/functions.py"
    lines = (DOCS.parent / exp.place.file).read_text(encoding="utf-8").splitlines()
    assert lines[exp.place.line - 1] == "class Exp(RealFunction):"
    assert [k.name for k in op_index.about("linear").kernels] == ["linear"]
    assert op_index.about("permute").kernels == ()


def test_functions_of_one_number_have_their_curve_with_the_method() -> None:
    drawn = [n for n in dir(Tensor) if n[0] != "_" and op_figures.method_figure(n) is not None]
    assert {"exp", "relu", "softplus", "floor"} <= set(drawn) and len(drawn) > 45
    assert op_figures.method_figure("sum") is None and op_figures.method_figure("gone") is None


def test_a_curve_is_of_the_op_s_own_numbers() -> None:
    x = Tensor([-1.0, 0.0, 2.0])
    assert op_figures.pairs(x, x * x, 3.0) == [(-1.0, 1.0), (0.0, 0.0)]
    assert "derivative" in op_figures.curve("exp")._repr_html_()
    assert "derivative" not in op_figures.curve("floor")._repr_html_()
