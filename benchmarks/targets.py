"""What is asked of tutor: the speed targets of the project as a table, by the names rows use.

A target is a ratio of times, theirs / ours: 1.0 means as fast, 2.0 means in half of the time. The
report says for each row whether it is met; nothing here makes a run or a test fail, for a shared
machine can miss any target.
"""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """`rival` is who is compared: one library, or the faster of those that are here.

    `peak` asks for a fraction of the machine's peak as well. `most` asks for a value of tutor's own
    that is no larger. `later` says what has to exist before the row can be measured.
    """

    work: str
    ratio: float = 0.0
    rival: str = "faster"
    peak: float = 0.0
    most: float | None = None
    later: str = ""

    def __str__(self) -> str:
        wanted = [f"{self.ratio:g}x {self.rival}"] if self.ratio else []
        wanted += [f"{self.peak:.0%} of peak"] if self.peak else []
        wanted += [f"at most {self.most:g}"] if self.most is not None else []
        return ", ".join(wanted)


def _steps(
    optimizer: str, mode: str, wanted: dict[int, float], later: str = ""
) -> dict[str, Target]:
    return {
        f"mlp {optimizer}{mode} {batch}": Target(
            f"MLP step, {optimizer}{mode}, batch {batch}", ratio, "torch", later=later
        )
        for batch, ratio in wanted.items()
    }


EAGER = {32: 2.0, 64: 1.3, 128: 1.2, 512: 1.1}
TARGETS: dict[str, Target] = {
    "1M": Target("1M add, mul, exp, relu, sum of float32", 1.0),
    "chain jit": Target("((x*2+1).relu()).sum() at 1M, jit", 6.8, "torch"),
    "matmul tiny": Target("matmul N = 10, 32", 1.5),
    "matmul small": Target("matmul N = 64 to 256", 1.0),
    "matmul 500": Target("matmul N = 500", 0.95),
    "matmul large": Target("matmul N = 512 to 2048", 0.95, peak=0.82),
    "linear 32": Target("MNIST's product x Wᵀ, batch 32", 3.0, "torch"),
    "linear 128": Target("MNIST's product x Wᵀ, batch 128", 1.6, "torch"),
    **_steps("SGD", "", EAGER),
    **_steps("Adam", "", EAGER),
    **_steps("SGD", " jit", {32: 4.0, 64: 3.0, 128: 2.2, 512: 1.6}),
    **_steps("Adam", " jit", {32: 2.5, 128: 1.8}),
    **{
        f"mlp deep jit {batch}": Target(
            f"784-256-128-10 step, Adam, jit, batch {batch}", ratio, "torch"
        )
        for batch, ratio in ((32, 2.2), (128, 1.6))
    },
    "epoch": Target("one MNIST epoch, jit, batch 128, whole batches", 2.0, "torch"),
    "epoch samples": Target("the same, DataLoader, one sample at a time", 3.5, "torch"),
    "ten ops jit": Target("10 operations on 4 numbers, forward and backward, jit", 9.5, "torch"),
    "cnn jit": Target("CNN training step, batch 128, jit", 4.0, "torch"),
    "gpt jit": Target("GPT step, Adam with decay, jit", 1.7, "torch"),
    "faults": Target("page faults of a replayed step, and memory from the system", most=0),
    "small": Target("one call on (8, 8): arithmetic, sums, views, an index", 1.0, "torch"),
    "add 1": Target("add of two 1-element tensors, without grad", 2.0, "torch"),
    "add 1 grad": Target("add of two 1-element tensors, with grad", 1.5, "torch"),
    "lstm": Target("LSTM written by hand, 100 steps, forward and backward", 1.5, "torch"),
    "node": Target("an add in a recorded chain, in microseconds", most=1.2),
    "node bytes": Target("the memory of one, in bytes", most=500),
    "ten ops": Target("10 operations on tiny tensors, forward and backward", 2.5, "torch"),
    "cnn": Target("CNN training step, batch 128", 3.0, "torch"),
    "gpt": Target("GPT step, Adam with decay", 1.1, "torch"),
    "import": Target("import tutor", 20.0, "torch"),
    "process": Target("a whole process for one MNIST epoch", 4.0, "torch"),
    "memory": Target("its peak memory: a third of PyTorch's", 3.0, "torch"),
    "busy": Target("a step on busy cores, in times of one on quiet cores", most=3.0),
}
