"""The same work replayed by `tutor.jit`, step by step, and by PyTorch.

Before anything is timed, the results of five calls are compared: with jit and without they must be
the same bits, and PyTorch's within rounding errors. The limit is what the formula needs at least:
its operations at the machine's peak, and then its bytes, which are the inputs, each parameter and
what the optimizer keeps of it (read and written) and its gradient (written, for whoever looks).
"""

from __future__ import annotations

import functools
import resource
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import tutor
from benchmarks import libraries, trainers
from benchmarks.case import Case
from benchmarks.libraries import Run, modules, operand, views
from benchmarks.measure import Effort, Samples
from benchmarks.suites import cnn, overhead
from benchmarks.suites.elementwise import CHAIN
from benchmarks.suites.mlp import EPOCHS, LOSSES, WHOLE_EPOCH
from benchmarks.targets import TARGETS
from tutor import Tensor, memory

COLUMNS = {"tutor": "jit", "eager": "eager", "torch": "torch"}
CALLS = 5  # the first is eager, the second recorded
VOCABULARY, LENGTH, WIDTH, LAYERS = 65, 64, 64, 4


def cases(effort: Effort) -> Iterator[Case]:
    for batch in effort.pick((32, 128, 512), (32, 128), (8,)):
        yield _mlp(batch, (128,), adam=False)
    for batch in effort.pick((32, 128), (32,), (8,)):
        if effort.name != "quick":
            yield _mlp(batch, (128,), adam=True)
        yield _mlp(batch, (256, 128), adam=True)
    yield _chain(effort.pick(1024, 1024, 32))
    yield _ten_operations()
    yield _cnn(effort.pick(128, 128, 4))
    yield from _gpt(effort.pick(16, 16, 2), effort)
    yield from _epochs(effort.pick(60_000, 12_800, 256))
    yield from _counts(effort)


def step(
    name: str, networks: dict[str, Any], x: Tensor, y: Tensor, flops: float, **options: Any
) -> Case:
    """A row for one training step, whose limit is its flops, and then its bytes."""
    each = 3 + 4 * networks["tutor"].adam  # p read and written, its gradient written; m and v, too
    kept = sum(p.numel() for p in networks["tutor"].params)
    return Case(
        name, trainers.runs(networks, "step", x, y), flops=flops,
        bytes=libraries.touched(x, y) + 4.0 * each * kept, limit="both",
        check=trainers.some_steps(networks, x, y, CALLS), tolerance=LOSSES, **options,
    )  # fmt: skip


def _mlp(batch: int, hidden: tuple[int, ...], adam: bool) -> Case:
    networks = trainers.jitted("mlp", {"hidden": hidden}, adam)
    x, y = trainers.images(batch)
    sizes = [784, *hidden, 10]
    products = [a * b for a, b in pairwise(sizes)]
    flops = 2.0 * batch * (3 * sum(products) - products[0])  # no gradient of the images
    optimizer = "Adam" if adam else "SGD"
    target = TARGETS.get(f"mlp {optimizer} jit {batch}") if len(hidden) == 1 else None
    if len(hidden) == 2:
        target = TARGETS.get(f"mlp deep jit {batch}")
    name = f"step {'-'.join(map(str, sizes))} {optimizer} batch {batch}"
    return step(name, networks, x, y, flops, target=target)


def _chain(n: int) -> Case:
    """One pass over memory is the least: x read, one number written."""
    x = operand(n, n)
    f = CHAIN["tutor"]
    runs: dict[str, Run] = {"tutor": functools.partial(tutor.jit(f), x),
                            "eager": functools.partial(f, x)}  # fmt: skip
    if modules["torch"]:
        runs["torch"] = functools.partial(CHAIN["torch"], views(x)["torch"])
    return Case(f"(x*2+1).relu().sum() {n * n}", runs, flops=x.numel(), bytes=x.numel() * 4.0,
                streams=1, limit="bytes", check=_often(runs),
                target=TARGETS["chain jit"])  # fmt: skip


def _ten_operations() -> Case:
    operands = [operand(4) for _ in range(3)]
    runs: dict[str, Run] = {"eager": overhead.chain("tutor", operands)}
    runs["tutor"] = tutor.jit(overhead.chain("tutor", operands))
    if modules["torch"]:
        runs["torch"] = overhead.chain("torch", operands)
    return Case("10 operations on 4 numbers, backward", runs, check=_often(runs), tolerance=1e-4,
                target=TARGETS["ten ops jit"])  # fmt: skip


def _often(runs: dict[str, Run]) -> dict[str, Run]:
    """The results of several calls."""

    def several(run: Run) -> list[Any]:
        return [part for _ in range(CALLS) for part in _listed(run())]

    return {name: functools.partial(several, run) for name, run in runs.items()}


def _listed(result: Any) -> list[Any]:
    return [*result] if isinstance(result, (list, tuple)) else [result]


def _cnn(batch: int) -> Case:
    networks = trainers.jitted("cnn", {})
    x, y = tutor.rand(batch, 1, 28, 28), (tutor.rand(batch) * 10).cast("int64")
    target = TARGETS["cnn jit"] if batch == 128 else None
    return step(f"step CNN batch {batch}", networks, x, y, float(batch * cnn.FLOPS), target=target)


def _gpt(batch: int, effort: Effort) -> Iterator[Case]:
    """Four layers, four heads; each token meets each other one, though half are masked."""
    ids = (tutor.rand(batch, LENGTH) * VOCABULARY).cast("int64")
    y = (tutor.rand(batch * LENGTH) * VOCABULARY).cast("int64")
    layer = 12 * WIDTH * WIDTH + 2 * LENGTH * WIDTH
    flops = 3 * 2.0 * batch * LENGTH * (LAYERS * layer + WIDTH * VOCABULARY)
    name = f"GPT, Adam, batch {batch}"
    networks = trainers.jitted("GPT", {}, adam=True, decay=0.01)
    yield step(f"step {name}", networks, ids, y, flops, target=TARGETS["gpt jit"])
    if effort.name == "full":
        networks = trainers.jitted("GPT", {}, adam=True, decay=0.01)
        networks["tutor"] = networks.pop("eager")
        yield step(f"step {name}, without jit", networks, ids, y, flops, target=TARGETS["gpt"])


def _epochs(count: int) -> Iterator[Case]:
    """Shuffling, picking the rows of each batch, a step for each; the last one is smaller."""
    x, y = trainers.images(count)
    order = tutor.Tensor(tutor.random.permutation(count, seed=0))
    for what, method in EPOCHS.items():
        networks = trainers.jitted("mlp", {})
        check = trainers.runs(networks, "ordered_epoch", x, y, order, size=128)
        runs = trainers.runs(networks, method, x, y, size=128)
        flops = 2.0 * count * (2 * 784 * 128 + 3 * 128 * 10)
        yield Case(
            f"epoch of {count}, {what}", runs, flops=flops, limit="flops", check=check,
            tolerance=WHOLE_EPOCH,
            target=TARGETS["epoch samples" if method == "sample_epoch" else "epoch"],
        )  # fmt: skip


def _counts(effort: Effort) -> Iterator[Case]:
    """What a step asks of memory: Buffers (its results are new ones), blocks that the pool does not
    have, and pages that the system has to hand out."""
    ours = trainers.jitted("mlp", {})
    ours.pop("torch", None)  # it does not say
    steps = trainers.runs(ours, "step", *trainers.images(effort.pick(128, 128, 8)))
    found = {name: counted(run, effort.pick(200, 100, 4)) for name, run in steps.items()}
    for what, unit in (("Buffers", "Buffers"), ("blocks from the system", "blocks"),
                       ("page faults", "faults")):  # fmt: skip
        samples = {name: Samples([counts[what]]) for name, counts in found.items()}
        yield Case(f"{what} of a step, batch 128", count=functools.partial(dict, samples),
                   unit=unit, target=None if what == "Buffers" else TARGETS["faults"])  # fmt: skip


def counted(run: Callable[[], object], steps: int) -> dict[str, float]:
    """For one step, after as many that do not count."""

    def now() -> tuple[int, int, int]:
        stats, faults = memory.stats(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        return stats.allocations, stats.misses, faults

    for _ in range(steps):
        run()
    before = now()
    for _ in range(steps):
        run()
    names = ("Buffers", "blocks from the system", "page faults")
    after = now()
    return {n: (b - a) / steps for n, a, b in zip(names, before, after, strict=True)}
