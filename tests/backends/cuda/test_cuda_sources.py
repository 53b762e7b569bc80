"""The kernels as CUDA: what would be launched on a GPU is compiled to PTX, which needs none."""

from __future__ import annotations

import ctypes
import itertools
import re

import pytest

pytest.importorskip("nvidia.cuda_nvrtc")

from paper import Paper

from tutor.backends.cuda.launches import CELLS
from tutor.backends.cuda.nvrtc import nvrtc
from tutor.backends.signatures import SIGNATURES
from tutor.errors import DeviceError, ShapeError
from tutor.testing import cases


@pytest.mark.parametrize("name", SIGNATURES)
def test_it_compiles_to_ptx(name: str) -> None:
    """In two dtypes, another two for each kernel; operands side by side, and any others. Its
    arguments are as large as those that a launch gives it."""
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
        begin = f".entry {each.name}(".encode()
        assert begin in each.program
        head = each.program.partition(begin)[2].partition(b")")[0]
        bits = [int(size) for size in re.findall(rb"\.param \.[a-z](\d+)", head)]
        assert bits == [8 * ctypes.sizeof(CELLS[kind]) for kind in each.types], each.name


def test_what_is_no_cuda_does_not_compile() -> None:
    with pytest.raises(DeviceError, match="NVRTC says"):
        nvrtc().ptx("kernel void odd(global float *z) { z[0] = nothing; }", "odd")
    assert nvrtc().ptx('extern "C" __global__ void f(float *z) { z[0] = 1; }', "f")
