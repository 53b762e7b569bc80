"""The SIMD backend in the page: it is there, and computes what python_ref does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BACKEND = Path(os.environ["TUTOR_SITE"]) / "simd.wasm"
pytestmark = pytest.mark.skipif(
    not BACKEND.stat().st_size, reason="the site was built where the backend cannot be compiled"
)
FIVE = "00_five_minutes"

CONFORMANCE = """
from tutor.backends import registry, simd_cpp
from tutor.testing import conformance
table = simd_cpp.table("wasm")
names = ["add", "mul", "exp", "acosh", "relu", "sum", "matmul", "adam", "cross_entropy"]
verdicts = conformance.run(table, names)
print(registry.current(), simd_cpp.levels(), sum(v.cases for v in verdicts) > 500)
print([v.first_failure for v in verdicts if not v.ok])
"""

TRAIN = """
import random, time, tutor
from tutor import nn, optim
random.seed(1)
x = tutor.Tensor([[random.random() for _ in range(784)] for _ in range(64)])
y = tutor.Tensor([random.randrange(10) for _ in range(64)])
seconds, losses = {}, {}
for backend, steps in (("python", 1), ("simd", 1), ("simd", 30)):
    with tutor.use_backend(backend):
        tutor.manual_seed(1)
        model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
        optimizer = optim.Adam(model.parameters(), 1e-3)
        began = time.perf_counter()
        for step in range(steps):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.setdefault(backend, loss.item())
        seconds[backend] = (time.perf_counter() - began) / steps
print(abs(losses["python"] - losses["simd"]) < 1e-5)
print(round(seconds["python"] / seconds["simd"]))
"""

ERRORS = """
import tutor
from tutor.errors import TutorError
try:
    tutor.Tensor([1.0, 2.0]) @ tutor.Tensor([1.0, 2.0, 3.0])
except TutorError as error:
    print(type(error).__name__)
"""


def test_the_kernels_agree_with_python_ref(chapter):
    chapter.open(FIVE)
    said = chapter.run(1, CONFORMANCE).splitlines()
    assert said[0] == "simd_cpp ['wasm'] True"
    assert said[1] == "[]"
    assert chapter.wrong == []


def test_a_step_of_training_has_the_loss_of_python_ref(chapter):
    """How much faster it is, is printed; it depends on what else the machine is doing."""
    chapter.open(FIVE)
    agree, ratio = chapter.run(1, TRAIN).split()
    print(f"{ratio} times as fast")
    assert agree == "True"


def test_errors_cross_from_cpp(chapter):
    chapter.open(FIVE)
    assert chapter.run(1, ERRORS).strip() == "ShapeError"
    assert chapter.run(2, "1 + 1") == "2"
