"""Training the MLP 784-128-10: one step at several batch sizes, and an epoch with all around it.

At batch 32 most of a framework's time is not arithmetic: it is the graph, calls, small kernels. At
batch 512 it is the products. Checked are the losses of three steps from the same weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import tutor
from benchmarks import trainers
from benchmarks.case import Case
from benchmarks.measure import Effort
from benchmarks.targets import TARGETS

LOSSES = 1e-4  # rounding errors of the first step go into the second
WHOLE_EPOCH = 1e-2  # and after hundreds of steps they have grown
# The ways through the rows, which both libraries have, and the methods that go them.
EPOCHS = {
    "by hand": "epoch",
    "DataLoader, batched": "batch_epoch",
    "DataLoader, per sample": "sample_epoch",
}


def flops(batch: int) -> float:
    """Forward two products; backward the weights of both, and the input of the second."""
    return 2.0 * batch * (2 * 784 * 128 + 3 * 128 * 10)


def step(batch: int, adam: bool, bias: bool) -> Case:
    networks = trainers.make("mlp", bias, adam)
    x, y = trainers.images(batch)
    optimizer = "Adam" if adam else "SGD"
    return Case(
        f"step {optimizer} batch {batch}{'' if bias else ' no bias'}",
        trainers.runs(networks, "step", x, y), flops=flops(batch), limit="flops",
        check=trainers.some_steps(networks, x, y), tolerance=LOSSES,
        target=TARGETS[f"mlp {optimizer} {batch}"],
    )  # fmt: skip


def cases(effort: Effort) -> Iterator[Case]:
    for adam in (False, True):
        for batch in effort.pick((32, 64, 128, 512), (32, 128), (32,)):
            for bias in effort.pick((True, False), (True,), (True, False)):
                yield step(batch, adam, bias)
    yield from _epochs(effort.pick(60_000, 12_800, 256))


def _epochs(count: int) -> Iterator[Case]:
    """Shuffling, picking the rows of each batch, and a step for each."""
    x, y = trainers.images(count)
    order = tutor.Tensor(tutor.random.permutation(count, seed=0))
    for what, method in EPOCHS.items():
        networks = trainers.make("mlp")
        runs = trainers.runs(networks, method, x, y, size=128)
        check = trainers.runs(networks, "ordered_epoch", x, y, order, size=128)
        check = {name: run for name, run in check.items() if name in runs}
        yield Case(
            f"epoch of {count}, {what}", runs, flops=flops(count), limit="flops", check=check,
            tolerance=WHOLE_EPOCH,
        )  # fmt: skip
