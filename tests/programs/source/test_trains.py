"""A training step as a C program of its own: it is compiled, trains, and has Python's losses."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import RecordError
from tutor.programs.source.compiler import compiler
from tutor.programs.source.trains import write

BATCH, COUNT = 20, 210  # the last digits fill no batch

needs_cc = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="a C compiler is needed"
)


@pytest.fixture
def digits(tmp_path: Path) -> tuple[Tensor, Tensor]:
    """Drawn digits and their labels, uint8; in the folder, too, as IDX files."""
    tutor.manual_seed(1)
    images = tutor.randint(0, 256, (COUNT, 28, 28)).cast("uint8")
    labels = tutor.randint(0, 10, (COUNT,)).cast("uint8")
    for name, kind, t in (("images", 2051, images), ("labels", 2049, labels)):
        head = struct.pack(f">{1 + t.ndim}i", kind, *t.shape)
        (tmp_path / name).write_bytes(head + t.buf.raw.tobytes())
    return images, labels


def network(make: Callable[[Any], optim.Optimizer]) -> Any:
    tutor.manual_seed(2)
    model = nn.Sequential(nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 10))
    optimizer = make(nn.get_parameters(model))

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = model(x).cross_entropy(y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def losses(folder: Path, *more: str) -> list[float]:
    """What the program prints, which gcc makes of what is in `folder`/c."""
    flags = ["-O2", "-ffp-contract=off", "-Wall", "-Werror", "-fsanitize=undefined"]
    made = str(folder / "train")
    subprocess.run([*compiler(), *flags, str(folder / "c/train.c"), "-lm", "-o", made], check=True)
    files = [str(folder / name) for name in ("c/memory.bin", "images", "labels")]
    ran = subprocess.run([made, *files, *more], check=True, capture_output=True, text=True)
    assert ran.stderr == ""
    found = [line.split() for line in ran.stdout.splitlines()]
    assert [number for number, _ in found] == [str(n) for n in range(len(found))]
    return [float(loss) for _, loss in found]


@needs_cc
@pytest.mark.parametrize("make", [
    lambda ps: optim.SGD(ps, lr=0.1),
    lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9),
    lambda ps: optim.Adam(ps, lr=0.01),
], ids=["sgd", "momentum", "adam"])  # fmt: skip
@pytest.mark.parametrize("of_bytes", [False, True])
def test_its_losses_are_pythons(
    tmp_path: Path, digits: tuple[Tensor, Tensor], make: Any, of_bytes: bool
) -> None:
    images, labels = digits
    x = images.reshape(COUNT, 784) if of_bytes else images.reshape(COUNT, 784) / 255
    y = labels.cast("int64")
    inner = network(make)
    step = tutor.jit(lambda x, y: inner.function(x / 255, y)) if of_bytes else inner
    batches = [(x[i : i + BATCH], y[i : i + BATCH]) for i in range(0, COUNT - BATCH + 1, BATCH)]
    for _ in range(2):
        step(*batches[0])
    write(step, tmp_path / "c")  # from here on the two go on, each for itself
    wanted = [step(*batch).item() for batch in batches]
    found = losses(tmp_path)
    assert len(found) == len(wanted) == 10
    assert found == pytest.approx(wanted, rel=1e-5)
    assert losses(tmp_path, "3") == found[:3]


def test_a_step_that_was_not_recorded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="nothing has been recorded yet"):
        write(network(optim.SGD), tmp_path)


@pytest.mark.parametrize(("function", "why"), [
    (lambda x, y: x.sum(), "its arguments are 1568 float32$"),
    (lambda x, y: x.mean(1) + y, "what it returns first is not one float32"),
    (lambda x, y: (x * Tensor.rand(2, 784)).mean() + y.cast("float32").sum(), ".*is the library's"),
])  # fmt: skip
def test_what_does_not_go_with_mnist_is_refused(tmp_path: Path, function: Any, why: str) -> None:
    step = tutor.jit(function)
    for _ in range(2):
        step(Tensor.rand(2, 784), Tensor([1, 2]))
    with pytest.raises(RecordError, match=f"(?m){why}"):
        write(step, tmp_path / "c")
    assert not (tmp_path / "c").exists()


@needs_cc
@pytest.mark.parametrize(("file", "bytes", "why"), [
    ("images", b"", "images: it ends too early"),
    ("images", b"\0" * 999, "images: it has no images in the IDX format"),
    ("labels", struct.pack(">2i", 2049, 3), "labels: it has not one label for each image"),
    ("labels", None, "labels: it cannot be read"),
    ("labels", struct.pack(">2i", 2049, COUNT) + b"\x0b" * COUNT, "step . of the Program found"),
])  # fmt: skip
def test_files_that_are_wrong_are_refused(
    tmp_path: Path, digits: tuple[Tensor, Tensor], file: str, bytes: Any, why: str
) -> None:
    step = network(lambda ps: optim.SGD(ps, lr=0.1))
    for _ in range(2):
        step(Tensor.rand(BATCH, 784), Tensor.zeros(BATCH, dtype="int64"))
    write(step, tmp_path / "c")
    (tmp_path / file).unlink()
    if bytes is not None:
        (tmp_path / file).write_bytes(bytes)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        losses(tmp_path)
    assert re.search(why, caught.value.stderr)
