"""A training step of a small convolutional network on 28 x 28 images: conv 8, conv 16, linear."""

from __future__ import annotations

from collections.abc import Iterator

import tutor
from benchmarks import trainers
from benchmarks.case import Case
from benchmarks.measure import Effort
from benchmarks.targets import TARGETS

# Operations for one image: outputs x kernel x channels x 2, once forward, once for the weights,
# and once for the input where that is no image.
CONV1, CONV2, LINEAR = 2 * 8 * 26 * 26 * 9, 2 * 16 * 11 * 11 * 9 * 8, 2 * 400 * 10
FLOPS = 2 * CONV1 + 3 * CONV2 + 3 * LINEAR


def cases(effort: Effort) -> Iterator[Case]:
    for batch in effort.pick((32, 128), (128,), (4,)):
        networks = trainers.make("cnn")
        x = tutor.rand(batch, 1, 28, 28)
        y = (tutor.rand(batch) * 10).cast("int64")
        yield Case(
            f"step SGD batch {batch}", trainers.runs(networks, "step", x, y),
            flops=float(batch * FLOPS), limit="flops",
            check=trainers.some_steps(networks, x, y), tolerance=1e-4,
            target=TARGETS["cnn"] if batch == 128 else None,
        )  # fmt: skip
