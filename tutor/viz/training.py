"""Pictures of a training: how loss and accuracy went, and what the network got wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

LOSS, ACCURACY = "#2a6fbb", "#d1603d"


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure  # without pyplot: no window system is asked for

    return Figure(figsize=(width, height), dpi=130, layout="constrained")


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """The mean of each value and up to `window - 1` before it."""
    means, total = [], 0.0
    for i, value in enumerate(values):
        total += value - (values[i - window] if i >= window else 0.0)
        means.append(total / min(i + 1, window))
    return means


def plot_curves(path: Path, losses: Sequence[float], accuracies: Sequence[float]) -> Path:
    """Loss of every step (and its running mean), test accuracy after every epoch."""
    figure = _figure(9, 3.6)
    left, right = figure.subplots(1, 2)
    left.plot(losses, color=LOSS, alpha=0.25, linewidth=0.7, label="each step")
    window = max(1, len(losses) // 50)
    left.plot(running_mean(losses, window), color=LOSS, label=f"mean of {window} steps")
    left.set(yscale="log", xlabel="step", ylabel="cross-entropy", title="training loss")
    left.legend(frameon=False)
    epochs = range(1, len(accuracies) + 1)
    right.plot(epochs, [100 * a for a in accuracies], color=ACCURACY, marker="o")
    for epoch, accuracy in zip(epochs, accuracies, strict=True):
        right.annotate(f"{accuracy:.2%}", (epoch, 100 * accuracy), (0, 6), fontsize=8,
                       textcoords="offset points", ha="center")  # fmt: skip
    right.set(xlabel="epoch", ylabel="%", title="test accuracy", xticks=list(epochs))
    right.margins(x=0.1, y=0.2)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.2)
    figure.savefig(path)
    return path


def plot_mistakes(
    path: Path, images: Any, labels: Sequence[int], guesses: Sequence[int], most: int = 40
) -> Path:
    """The first `most` images that were read wrongly, with what they are and what was read."""
    wrong = [i for i, (t, p) in enumerate(zip(labels, guesses, strict=True)) if t != p]
    columns = 10
    rows = max(1, -(-min(len(wrong), most) // columns))
    figure = _figure(columns, 1.25 * rows + 0.6)
    figure.suptitle(f"{len(wrong):,} of {len(labels):,} test digits read wrongly; is → read as")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, i in zip(grid.flat, wrong[:most], strict=False):
        axes.imshow(images[i].numpy(), cmap="gray_r")
        axes.set_title(f"{labels[i]} → {guesses[i]}", fontsize=9)
    figure.savefig(path)
    return path
