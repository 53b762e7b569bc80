"""Pictures of a training: its loss and accuracy, and the network's mistakes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tutor.viz.charts import curves
from tutor.viz.pixels import images as grid
from tutor.viz.svg import Picture, row, text


def plot_curves(path: Path, losses: Sequence[float], accuracies: Sequence[float]) -> Path:
    """The loss (a running mean over the band of all steps), and test accuracy by epoch, as SVG."""
    window = max(1, len(losses) // 50)
    shown = {f"mean of {window}" if window > 1 else "each step": losses}
    percent = [(epoch, 100 * a) for epoch, a in enumerate(accuracies, 1)]
    pictures = []
    if any(0 < loss < math.inf for loss in losses):  # a training can fail from the first step
        pictures.append(
            curves(shown, "training loss", "step", "cross-entropy", log=True, smooth=window)
        )
    if percent:
        pictures.append(curves({"test": percent}, "test accuracy", "epoch", "%"))
    return row(*pictures).save(path)


def plot_mistakes(
    path: Path, images: Any, labels: Sequence[int], guesses: Sequence[int], most: int = 40
) -> Path:
    """The first `most` misread images, with their labels and the network's readings."""
    wrong = [i for i, (t, p) in enumerate(zip(labels, guesses, strict=True)) if t != p]
    title = f"{len(wrong):,} of {len(labels):,} test digits read wrongly"
    if not wrong:
        return Picture(text(24, 34, title, 15, weight=600), 480, 56, title).save(path)
    chosen = wrong[:most]
    if len(chosen) < len(wrong):
        title += f", the first {len(chosen)} of them shown"
    digits, read = [labels[i] for i in chosen], [guesses[i] for i in chosen]
    return grid([images[i] for i in chosen], digits, read, title=title).save(path)
