"""What runs in a process of its own: `python -m benchmarks.child WHAT LIBRARY [...]`.

    import LIBRARY                  prints the seconds that importing it takes
    epoch LIBRARY FOLDER THREADS    trains the MLP for one epoch on the files in FOLDER
    faults LIBRARY THREADS STEPS    prints the page faults of one step, after warm-up
    graph LIBRARY COUNT             prints the bytes that each add of a graph of so many keeps
    step COLUMN NAME THREADS SMALL  prints the MiB that steps of this network need (problems.py);
                                    COLUMN as in suites/real.py, SMALL 1 for a tiny one

Behind that it prints how much memory the process needed. It loads the one library and nothing else
that is measured. The files are the numbers as they lie in memory: float32 pixels, int64 labels.
"""

from __future__ import annotations

import gc
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def import_seconds(library: str) -> float:
    start = time.perf_counter()
    importlib.import_module(library)
    return time.perf_counter() - start


def trainer_of(library: str, threads: str) -> Any:
    module = importlib.import_module(f"benchmarks.with_{library}")
    if library == "torch":
        module.torch.set_num_threads(int(threads))
    return module.Trainer(module.mlp())


def tensor(library: str, content: bytearray, dtype: str, shape: tuple[int, ...]) -> Any:
    """A tensor over these bytes, without a copy."""
    if library == "torch":
        import torch

        return torch.frombuffer(content, dtype=getattr(torch, dtype)).reshape(shape)
    import tutor

    return tutor.Tensor(tutor.Buffer.from_memory(content, dtype=dtype, copy=False), shape)


def content_of(path: Path) -> bytearray:
    """All bytes of a file, in memory once."""
    content = bytearray(path.stat().st_size)
    with path.open("rb") as file:
        file.readinto(content)
    return content


def epoch(library: str, folder: str, threads: str) -> float:
    """Read the files, train for one epoch; the loss of the last batch."""
    images, labels = (content_of(Path(folder, name)) for name in ("images", "labels"))
    count = len(labels) // 8
    x = tensor(library, images, "float32", (count, 784))
    y = tensor(library, labels, "int64", (count,))
    return float(trainer_of(library, threads).epoch(x, y, 128).item())


def faults(library: str, threads: str, steps: str) -> float:
    """Minor page faults (memory that the system had to hand out) per step of the MLP."""
    import resource

    count = int(steps)
    x = tensor(library, bytearray(128 * 784 * 4), "float32", (128, 784))
    y = tensor(library, bytearray(128 * 8), "int64", (128,))
    trainer = trainer_of(library, threads)
    for _ in range(count):
        trainer.step(x, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(count):
        trainer.step(x, y)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / count


def graph(library: str, count: str) -> float:
    """Bytes that the process grows by for each add of a graph. In a process of its own: one that
    has let go of a graph before has pages enough for the next."""
    import resource

    def chain(adds: int) -> Any:
        y, one = (tensor(library, bytearray(4), "float32", (1,)) for _ in range(2))
        y.requires_grad_()
        for _ in range(adds):
            y = y + one
        return y

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    first = chain(1000)  # stays: it has taken what is left of pages that were there
    before = resident()
    kept = chain(int(count))
    grown = (resident() - before) / int(count)
    del first, kept
    return grown


def step(column: str, name: str, threads: str, small: str) -> float:
    """MiB that steps of a network need at most, above what there was before them.

    Steps of a tiny one come first: what they load and start is no memory of a step.
    """
    from benchmarks.problems import PROBLEMS

    lib = importlib.import_module("torch" if column == "torch" else "tutor")
    if column == "torch":
        lib.set_num_threads(int(threads))
    for tiny in (True, small == "1"):
        inputs = PROBLEMS[name].batches(lib, tiny)
        trainer = PROBLEMS[name].trainer(lib, PROBLEMS[name].model(lib, tiny))
        take = lib.jit(trainer.step) if column == "tutor" else trainer.step
        gc.collect()
        forget_peak()
        before = peak_mebibytes()
        for _ in range(3):  # the last is a replay, where there are any
            take(*inputs)
        needed = peak_mebibytes() - before
    return needed


def forget_peak() -> None:
    """From now on the peak is that of what comes. On Linux alone: elsewhere a step that needs less
    than was needed before it shows as 0."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")


def peak_mebibytes() -> float:
    """The most memory this process ever had resident, or had since forget_peak().

    Linux writes it into VmHWM. ru_maxrss, which other systems have, would not do there: a process
    inherits it from the one that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return int(next(x for x in lines if x.startswith("VmHWM")).split()[1]) / 1024
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


WHAT: dict[str, Callable[..., float]] = {"import": import_seconds, "epoch": epoch, "faults": faults,
                                        "graph": graph, "step": step}  # fmt: skip

if __name__ == "__main__":
    value = WHAT[sys.argv[1]](*sys.argv[2:])
    print(value, peak_mebibytes())
