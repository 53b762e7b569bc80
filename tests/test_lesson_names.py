"""After `import tutor.lesson`, first lessons run as they are printed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tutor
from tutor import Tensor, lesson
from tutor.errors import GraphError

ROOT = Path(tutor.__file__).parents[1]

SEED = """
from tutor.lesson import *

tutor.manual_seed(0)
W1 = Tensor((Tensor.randn(784, 128) * 0.02).tolist(), requires_grad=True)
W2 = Tensor((Tensor.randn(128, 10) * 0.02).tolist(), requires_grad=True)

for epoch in range(5):
    for x, y in batches(mnist):
        h = ReLU(MatMul(x, W1).apply()).apply()
        logits = MatMul(h, W2).apply()
        loss = CrossEntropy(logits, y).apply()
        backward(loss)
        for p in (W1, W2):
            p.buf.data -= 0.01 * p.grad.buf.data
            p.grad = None

scores = (mnist.test.images @ W1).relu() @ W2
print((scores.argmax(axis=1) == mnist.test.labels).cast("float32").mean().item())
"""
REACHED = {"mnist": 0.9111, "digits": 0.6375}  # on tutor's own digits, where there is no MNIST


def printed(code, **variables):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_seed_trains_mnist():
    reached = float(printed(SEED))
    assert reached == pytest.approx(REACHED[tutor.data.load().name], abs=0.005)


def test_batches_of_a_data_set_with_images_and_labels():
    class Set:
        images, labels = Tensor.rand(10, 3), tutor.arange(10)

    both = [list(lesson.batches(x, size=4)) for x in (Set, (Set.images, Set.labels))]
    assert [len(y) for _, y in both[0]] == [4, 4, 2]
    assert [y.tolist() for _, y in both[0]] == [y.tolist() for _, y in both[1]]
    assert sorted(i for _, y in both[0] for i in y.tolist()) == [*range(10)]


def cubed(x):
    """A lesson's custom op: the numbers are computed in Python, the gradient by a closure."""
    out = Tensor([v**3 if v > 0 else v for v in x.tolist()], dtype=x.dtype)

    def backward(g):
        return g * (x > 0).where(3 * x * x, 1.0)

    out._ctx = lesson.Context([x], backward)
    return out


def test_a_context_joins_a_result_to_the_graph():
    x = Tensor([1.0, -2.0, 3.0], requires_grad=True)
    y = cubed(x)
    assert y.op is y._ctx and y.requires_grad
    (2 * y).sum().backward()
    assert x.grad.tolist() == [6.0, 2.0, 54.0]
    tutor.testing.gradcheck(cubed, Tensor([1.0, -2.0, 3.0], dtype="float64"))
    with tutor.no_grad():
        assert cubed(x).op is None
    assert cubed(x.detach()).op is None
    with pytest.raises(GraphError, match="list among the parents"):
        lesson.Context([[1.0]], lambda g: g)
    with pytest.raises(AttributeError):
        y._ctx = "no op"


def test_a_context_of_two_parents_and_a_second_derivative():
    a, b = Tensor([2.0], requires_grad=True), Tensor([5.0], requires_grad=True)
    out = Tensor([10.0])
    out._ctx = lesson.Context([a, b], lambda g: (g * b, g * a))
    (da,) = tutor.autograd.grad(out.sum(), [a], create_graph=True)
    da.backward()
    assert da.item() == 5.0 and b.grad.item() == 1.0


def test_an_op_from_two_functions_is_compared():
    right = lesson.custom_op(lambda x, y: x * x * y, lambda g, x, y: (g * 2 * x * y, g * x * x))
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], requires_grad=True)
    right(x, y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([6.0, 16.0], [1.0, 4.0])
    wrong = lesson.custom_op(lambda x: x * x * x, lambda g, x: g * 2 * x * x)
    with pytest.warns(RuntimeWarning, match="compared with its forward"):
        wrong(x).sum().backward()
    with pytest.raises(GraphError):
        tutor.testing.gradcheck(wrong, Tensor([1.0, 2.0], dtype="float64"))


PATHS = """
import tutor, tutor.lesson
from tutor.tensor import Tensor
from tutor.jit import TinyJit
from tutor.nn.optim import SGD
from tutor.nn.state import get_parameters
import PACKAGE.nn.optim as of_package
from PACKAGE.nn import Conv2d, Linear
from PACKAGE.tensor import Tensor as T
from PACKAGE import Device, nn

@TinyJit
def fast_forward(x):
    return (x * 2 + 1).relu()

for _ in range(3):
    y = fast_forward(T([1.0, -2.0]))
Device.DEFAULT = "CPU"
print(T is Tensor is tutor.Tensor, nn is tutor.nn, of_package.SGD is SGD is tutor.optim.SGD)
print(y.tolist(), tutor.jit(lambda x: x + 1)(y).tolist())
print(tutor.tensor([1]).tolist(), Device.DEFAULT)
"""


@pytest.mark.parametrize("package", ["tutor", "tinygrad"])
def test_import_paths_of_lessons(package):
    said = printed(PATHS.replace("PACKAGE", package)).splitlines()
    assert said == ["True True True", "[3.0, 0.0] [4.0, 1.0]", "[1] CPU"]


def test_an_installed_tinygrad_stays_what_it_is(tmp_path):
    (tmp_path / "tinygrad.py").write_text("Tensor = 'theirs'")
    code = "import tutor.lesson, tinygrad; print(tinygrad.Tensor)"
    assert printed(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}") == "theirs"
