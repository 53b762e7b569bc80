"""A sample of PyTorch's list of its operations: torch_sweep.py goes through all of it."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import torch_sweep as sweep

SAMPLE = """addmm;amax;argmax;cat;clamp;cummax;cumsum;diff;einsum;expand;flip;gather;index_add
index_select;linalg.solve;logsumexp;masked_fill;max.reduction_with_dim;mean;median
nn.functional.conv2d;nn.functional.cross_entropy;nn.functional.layer_norm
nn.functional.pad.reflect;nn.functional.softplus;norm;permute;prod;repeat;scatter_add;softmax
split;squeeze;std;sum;tile;unfold;unique;var;where"""


@pytest.fixture(scope="module")
def operations() -> dict[str, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {sweep.key_of(op): op for op in sweep.operations()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLE.replace("\n", ";").split(";"))
def test_an_operation_gives_what_pytorch_gives(operations: dict[str, object], name: str) -> None:
    op = operations[name]
    found = sweep.compared(op, sweep.function_of(op), 8)
    assert not found.different and found.compared, found


@pytest.mark.filterwarnings("ignore")
def test_a_difference_is_noticed(operations: dict[str, object]) -> None:
    op = operations["sum"]
    assert sweep.compared(
        op, lambda *given, **how: sweep.function_of(op)(*given, **how) + 1
    ).different
