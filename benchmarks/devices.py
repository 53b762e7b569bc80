"""The same training step on the CPU's backend and on every device here, by turns.

    python benchmarks/devices.py
    TUTOR_NUM_THREADS=1 python benchmarks/devices.py

One line for each network and device: the median microseconds of a jitted step of an MLP with Adam
beside those of the CPU in the same run, and the images per second. Each is measured twice: with its
loss read by the host, which then waits; and over twenty steps, of which the last one's is read, as
one trains: meanwhile the host can prepare what comes next. Where the device is this CPU, through
PoCL, the two compute with the same cores.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import tutor
from tutor import Tensor, devices, nn, optim

NETWORKS = ((64, 128), (64, 512), (512, 128), (2048, 512))  # rows of a batch, and units inside
TURNS, SECONDS = 8, 0.25  # of each
IN_A_ROW = 20


def step_on(name: str, rows: int, hidden: int) -> Callable[[], Tensor]:
    """A step of training on that device: bytes of images to the loss."""
    tutor.manual_seed(0)
    x = tutor.randint(0, 256, (rows, 784)).cast("uint8").to(name)
    y = tutor.randint(0, 10, (rows,)).to(name)
    model = nn.Sequential(nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 10)).to(name)
    optimizer = optim.Adam(nn.get_parameters(model), lr=0.001)

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model((x.cast("float32") - 33) / 79).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    return lambda: step(x, y)


def by_turns(steps: dict[str, Callable[[], Tensor]], count: int) -> dict[str, float]:
    """The median seconds of a step of each, of which so many are taken before a loss is read."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(TURNS + 1):
        for name, step in steps.items():
            end = time.perf_counter() + SECONDS
            while time.perf_counter() < end:
                start = time.perf_counter()
                for _ in range(count):
                    loss = step()
                loss.item()
                if turn:  # the first one is for compiling, and for what is then in a cache
                    found[name].append((time.perf_counter() - start) / count)
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def main() -> None:
    there = ["cpu", *(name for name in devices.names() if name != "cpu")]
    print(f"{'network':>14} {'batch':>6} {'device':>10}", end="")
    print("   us, read: cpu/it   us, in a row: cpu/it  images/s")
    for rows, hidden in NETWORKS:
        steps = {name: step_on(name, rows, hidden) for name in there}
        read, row = by_turns(steps, 1), by_turns(steps, IN_A_ROW)
        for name in there:
            print(
                f"{f'784-{hidden}-10':>14} {rows:>6} {name:>10}"
                f" {1e6 * read[name]:>10,.0f} {read['cpu'] / read[name]:>7.2f}"
                f" {1e6 * row[name]:>14,.0f} {row['cpu'] / row[name]:>7.2f}"
                f" {rows / row[name]:>9,.0f}"
            )


if __name__ == "__main__":
    main()
