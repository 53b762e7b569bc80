"""What ranks on this machine cost: messages, and the training of an MLP.

    python benchmarks/ranks.py                          # one process
    python -m tutor ranks 2 benchmarks/ranks.py         # or 4
    mpiexec -n 2 python benchmarks/ranks.py

Rank 0 prints one line of JSON: the seconds of an all_reduce by its bytes, and of a step by its rows
(the best of many, and the median), with the share of it that was spent waiting for others.
benchmarks/cost.py takes its constants from these: docs/scaling.md.
"""

from __future__ import annotations

import functools
import json
import statistics
import time
from collections.abc import Callable

import tutor
from tutor import Tensor, dist, nn, optim, simd_cpp

SIZES = (64, 1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22)  # bytes of a message
ROWS = (128, 512, 2048)  # of a batch, on all ranks


def seconds(function: Callable[[], object], most: float) -> list[float]:
    """How long it takes, again and again for so many seconds, as rank 0 counts them."""
    found: list[float] = []
    end = time.perf_counter() + most
    while int(dist.broadcast(Tensor(int(time.perf_counter() < end))).item()):
        for _ in range(20):
            dist.barrier()
            start = time.perf_counter()
            function()
            found.append(time.perf_counter() - start)
    return found


def messages(most: float) -> dict[int, float]:
    """The best time of an all_reduce of so many bytes, started as DataParallel does."""
    found = {}
    for size in SIZES:
        x = Tensor.zeros(size // 4)
        found[size] = min(seconds(functools.partial(reduced, x), most))
    return found


def reduced(x: Tensor) -> None:
    dist.all_reduce(x, wait=False).wait()


def training(rows: int, leaves: int | None, most: float) -> dict[str, float]:
    """Steps of the MLP 784-128-10 with SGD: the best and the median, and the share of waiting."""
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    parallel = dist.DataParallel(model, leaves, jit=True)
    optimizer = optim.SGD(nn.get_parameters(model), lr=0.01)
    own = slice(dist.rank() * rows // dist.size(), (dist.rank() + 1) * rows // dist.size())
    x, y = tutor.randn(rows, 784)[own].contiguous(), tutor.randint(0, 10, (rows,))[own]

    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        return model(x).cross_entropy(y)

    def step() -> None:
        optimizer.zero_grad()
        parallel.backward(loss_of, x, y)
        optimizer.step()

    for _ in range(5):
        step()
    before = parallel.waited
    times = seconds(step, most)
    return {
        "best": min(times),
        "median": statistics.median(times),
        "waiting": (parallel.waited - before) / sum(times),
    }


def main(most: float = 2.0) -> None:
    dist.init()
    sent = messages(most / 2) if dist.size() > 1 else {}
    steps = [
        {"rows": rows, "leaves": leaves, **training(rows, leaves, most)}
        for rows in ROWS
        for leaves in (None, dist.LEAVES)
    ]
    if dist.rank() == 0:
        found = {
            "ranks": dist.size(), "threads": simd_cpp.num_threads(), "level": simd_cpp.level(),
            "messages": sent, "steps": steps,
        }  # fmt: skip
        print(json.dumps(found))


if __name__ == "__main__":
    main()
