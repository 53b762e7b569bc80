"""One MNIST epoch and one training step of the network 784-128-10, beside PyTorch.

    python -m benchmarks.mlp                 # needs torch; reports, asserts nothing

Both libraries start from the same weights, see the same shuffled batches and use the same number of
threads. Repeats are interleaved, so that what else the machine does hits both alike; printed are
the median and the best of each, and the ratio torch / tutor of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

import tutor
from tutor import Tensor, data, nn, optim, random
from tutor.backends import simd_cpp


class Ours:
    def __init__(
        self, weights: list[np.ndarray], images: np.ndarray, labels: np.ndarray, adam: bool
    ):
        self.model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
        for p, w in zip(nn.get_parameters(self.model), weights, strict=True):
            p.assign(w)
        params = nn.get_parameters(self.model)
        self.opt = optim.Adam(params, lr=1e-3) if adam else optim.SGD(params, lr=0.1)
        self.x, self.y = Tensor(images), Tensor(labels)

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        loss = self.model(x).cross_entropy(y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def epoch(self, order: list[int], size: int) -> float:
        index = Tensor(order)
        for i in range(0, len(order), size):
            pick = index[i : i + size]
            loss = self.step(self.x.index_select(0, pick), self.y.index_select(0, pick))
        return loss.item()


class Theirs:
    def __init__(
        self, weights: list[np.ndarray], images: np.ndarray, labels: np.ndarray, adam: bool
    ):
        self.model = torch.nn.Sequential(
            torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
        )
        with torch.no_grad():
            for p, w in zip(self.model.parameters(), weights, strict=True):
                p.copy_(torch.from_numpy(w))
        params = list(self.model.parameters())
        self.opt = (
            torch.optim.Adam(params, lr=1e-3, fused=True)
            if adam
            else torch.optim.SGD(params, lr=0.1)
        )
        self.x, self.y = torch.from_numpy(images), torch.from_numpy(labels)

    def step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def epoch(self, order: list[int], size: int) -> float:
        index = torch.tensor(order)
        for i in range(0, len(order), size):
            pick = index[i : i + size]
            loss = self.step(self.x[pick], self.y[pick])
        return loss.item()


def interleaved(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds of `repeats` calls of each, taken in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def many(count: int, step: Callable, x: object, y: object) -> Callable[[], None]:
    """`count` steps on the same batch, as one run."""

    def run() -> None:
        for _ in range(count):
            step(x, y)

    return run


def line(what: str, ours: list[float], theirs: list[float], unit: float, name: str) -> str:
    a, b = statistics.median(ours), statistics.median(theirs)
    return (
        f"{what:<28} tutor {a * unit:8.3f} {name} (best {min(ours) * unit:8.3f})   "
        f"torch {b * unit:8.3f} {name} (best {min(theirs) * unit:8.3f})   "
        f"torch / tutor {b / a:5.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    simd_cpp.set_num_threads(args.threads)
    torch.set_num_threads(args.threads)
    digits = data.load("auto")
    images = digits.train_images.numpy().reshape(-1, 784).astype(np.float32) / 255
    labels = digits.train_labels.numpy().astype(np.int64)
    rng = np.random.default_rng(0)
    weights = [rng.normal(0, 0.05, s).astype(np.float32) for s in ((128, 784), 128, (10, 128), 10)]
    print(f"tutor {tutor.__version__}, {tutor.registry.current()} {simd_cpp.level()};", end=" ")
    print(f"torch {torch.__version__}; {args.threads} threads; {digits.source}")
    for adam in (False, True):
        name = "adam" if adam else "sgd"
        for size in (32, 64, 128, 512):
            a, b = (cls(weights, images, labels, adam) for cls in (Ours, Theirs))
            xa, ya = Tensor(images[:size]), Tensor(labels[:size])
            xb, yb = torch.from_numpy(images[:size]), torch.from_numpy(labels[:size])
            first, second = a.step(xa, ya).item(), b.step(xb, yb).item()
            assert abs(first - second) < 1e-4 * abs(second), "they do not compute the same"
            count = max(20, 6400 // size)
            runs = {"a": many(count, a.step, xa, ya), "b": many(count, b.step, xb, yb)}
            s = interleaved(runs, args.repeats + 2)
            print(line(f"step {name}, batch {size}", s["a"][1:], s["b"][1:], 1e6 / count, "us"))
    order = random.permutation(len(labels), seed=0)
    a, b = (cls(weights, images, labels, True) for cls in (Ours, Theirs))
    s = interleaved(
        {"a": lambda: a.epoch(order, 64), "b": lambda: b.epoch(order, 64)}, args.repeats
    )
    print(line("epoch adam, batch 64", s["a"], s["b"], 1e3, "ms"))


if __name__ == "__main__":
    main()
