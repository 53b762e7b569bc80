"""Pictures of a training: how loss and accuracy went, and what the network got wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tutor.viz.charts import curves
from tutor.viz.pixels import images as grid
from tutor.viz.svg import Picture, row, text


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """The mean of each value and up to `window - 1` before it.

    >>> running_mean([2.0, 4.0, 6.0, 8.0], 2)
    [2.0, 3.0, 5.0, 7.0]
    """
    means, total = [], 0.0
    for i, value in enumerate(values):
        total += value - (values[i - window] if i >= window else 0.0)
        means.append(total / min(i + 1, window))
    return means


def plot_curves(path: Path, losses: Sequence[float], accuracies: Sequence[float]) -> Path:
    """Loss of every step (and its running mean), test accuracy after every epoch, as SVG."""
    window = max(1, len(losses) // 50)
    shown = {"each step": losses}
    if window > 1:
        shown[f"mean of {window}"] = running_mean(losses, window)
    percent = [(epoch, 100 * a) for epoch, a in enumerate(accuracies, 1)]
    pictures = []
    if any(0 < loss < math.inf for loss in losses):  # a training can go wrong from the first step
        pictures.append(curves(shown, "training loss", "step", "cross-entropy", log=True))
    if percent:
        pictures.append(curves({"test": percent}, "test accuracy", "epoch", "%"))
    return row(*pictures).save(path)


def plot_mistakes(
    path: Path, images: Any, labels: Sequence[int], guesses: Sequence[int], most: int = 40
) -> Path:
    """The first `most` images that were read wrongly, with what they are and what was read."""
    wrong = [i for i, (t, p) in enumerate(zip(labels, guesses, strict=True)) if t != p]
    title = f"{len(wrong):,} of {len(labels):,} test digits read wrongly"
    if not wrong:
        return Picture(text(24, 34, title, 15, weight=600), 480, 56, title).save(path)
    chosen = wrong[:most]
    digits, read = [labels[i] for i in chosen], [guesses[i] for i in chosen]
    return grid([images[i] for i in chosen], digits, read, title=title).save(path)
