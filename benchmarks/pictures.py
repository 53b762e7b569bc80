"""Two pictures of a run: the roofline, and where matplotlib is installed the ladder of matmul."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import libraries, machine, roofline
from benchmarks.measure import Effort
from benchmarks.report import Row
from tutor.viz import Picture

SLOPES = {"1 MiB": 1 << 20, "128 MiB": 1 << 27}


def draw(rows: list[Row], effort: Effort, folder: Path) -> list[Path]:
    """Draw what these rows have something for; the files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn, written = roofs(rows, effort), []
    if drawn is not None:
        written.append(drawn.save(folder / f"roofline-{effort.threads}.svg"))
    try:
        import matplotlib
    except ImportError:
        return written
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    if ladder(axes, rows, effort):
        written.append(folder / f"ladder-{effort.threads}.svg")
        figure.savefig(written[-1], metadata={"Date": None})
    plt.close(figure)
    return written


def roofs(rows: list[Row], effort: Effort) -> Picture | None:
    """The rows of each library below the roofs; None where no row has operations and bytes."""
    points: dict[str, list[list[float]]] = {}
    for r in rows:
        if r.case.flops and r.case.bytes and not r.differs:
            for name in libraries.NAMES:
                if name in r.samples:
                    rate = r.case.flops / r.samples[name].best / 1e9
                    points.setdefault(name, []).append([r.case.flops / r.case.bytes, rate])
    if not points:
        return None
    slopes = {name: machine.peak_bytes(effort.threads, size, 3) for name, size in SLOPES.items()}
    return roofline.picture(points, machine.peak_flops(effort.threads), slopes, effort.threads)


def ladder(axes: Any, rows: list[Row], effort: Effort) -> bool:
    """GFLOP/s of each step of matmul, from the definition to the kernel in use."""
    steps = [r for r in rows if r.case.name.startswith("ladder ") and r.samples]
    if not steps:
        return False
    names = [r.case.name.split()[1] for r in steps]
    bars = axes.bar(names, [(r.rate() or 0) / 1e9 for r in steps], color="C3")
    axes.bar_label(bars, fmt="{:.3g}")
    peak = machine.peak_flops(effort.threads)
    if peak:
        axes.axhline(peak / 1e9, c="0.3", lw=1, label="this machine's measured peak")
        axes.set_ylim(top=3 * peak / 1e9)  # room for the numbers and the legend
        axes.legend()
    size = steps[0].case.name.partition("N = ")[2]
    axes.set(yscale="log", ylabel="GFLOP/s",
             title=f"matmul step by step, N = {size}, {effort.threads} thread(s)")  # fmt: skip
    return True
