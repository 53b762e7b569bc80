"""The kernels as CUDA: what would be launched on a GPU is compiled to PTX, which needs none."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("pyopencl")
pytest.importorskip("nvidia.cuda_nvrtc")

from tutor.backends import cases
from tutor.backends.opencl.cuda import Paper, nvrtc
from tutor.backends.signatures import SIGNATURES
from tutor.errors import DeviceError, ShapeError


@pytest.mark.parametrize("name", SIGNATURES)
def test_it_compiles_to_ptx(name: str) -> None:
    """In two dtypes, another two for each kernel; operands side by side, and any others."""
    dtypes, number = SIGNATURES[name].dtypes, list(SIGNATURES).index(name)
    paper = Paper()
    for dtype in {dtypes[number % len(dtypes)], dtypes[-1]}:
        for case in itertools.islice(cases.draw(name, dtype), 3, 30, 9):
            operands = [paper.operand(spec) for spec in (case.out, *case.ins)]
            try:
                paper.rows[name, dtype](*operands, **case.params)
            except ShapeError:  # nonzero has counted none, as there is no memory
                assert name == "nonzero"
    assert paper.place.programs
    for each in paper.place.programs.values():
        assert f".entry {each.name}(".encode() in each.ptx


def test_what_is_no_cuda_does_not_compile() -> None:
    with pytest.raises(DeviceError, match="NVRTC says"):
        nvrtc().ptx("kernel void odd(global float *z) { z[0] = nothing; }", "odd")
    assert nvrtc().ptx('extern "C" __global__ void f(float *z) { z[0] = 1; }', "f")
