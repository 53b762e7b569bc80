"""Two pictures, drawn where matplotlib is installed: the roofline and the ladder of matmul.

A roofline (Williams, Waterman & Patterson 2009) shows for each piece of work how many operations it
does for a byte that it moves, and how fast it went. Under the slope memory is the limit, under the
flat part arithmetic. The bytes are those that the formula needs, not what caches really moved.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.measure import Effort
from benchmarks.report import Row

COLOURS = {"tutor": "C3", "numpy": "C0", "torch": "C1"}
SLOPES = {"1 MiB": 1 << 20, "128 MiB": 1 << 27}


def draw(rows: list[Row], effort: Effort, folder: Path) -> list[Path]:
    """Draw what these rows have something for; the files that were written."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    written = []
    for name, picture in (("roofline", roofline), ("ladder", ladder)):
        figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        if picture(axes, rows, effort):
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}-{effort.threads}.svg"
            figure.savefig(path, metadata={"Date": None})
            written.append(path)
        plt.close(figure)
    return written


def roofline(axes: Any, rows: list[Row], effort: Effort) -> bool:
    """Operations per second over operations per byte, both logarithmic."""
    points = [r for r in rows if r.case.flops and r.case.bytes and r.samples and not r.differs]
    if not points:
        return False
    for library, colour in COLOURS.items():
        found = [(r.case, r.samples[library].best) for r in points if library in r.samples]
        axes.scatter(
            [case.flops / case.bytes for case, _ in found],
            [case.flops / seconds / 1e9 for case, seconds in found],
            s=14, c=colour, alpha=0.7, label=library,
        )  # fmt: skip
    peak = machine.peak_flops(effort.threads)
    if peak:
        intensities = [2.0 ** (k / 4) for k in range(-20, 41)]
        for (text, size), style in zip(SLOPES.items(), ("--", "-"), strict=True):
            slope = machine.peak_bytes(effort.threads, size, 3)
            if slope is None:  # there is no compiler, so there is no peak either
                continue
            roof = [min(peak, i * slope) / 1e9 for i in intensities]
            label = f"{peak / 1e9:.0f} GFLOP/s, {slope / 1e9:.0f} GB/s on {text}"
            axes.plot(intensities, roof, style, c="0.3", lw=1, label=label)
    axes.set(xscale="log", yscale="log", xlabel="operations per byte", ylabel="GFLOP/s",
             title=f"Roofline of {machine.cpu()}, {effort.threads} thread(s)")  # fmt: skip
    axes.legend(fontsize="small")
    return True


def ladder(axes: Any, rows: list[Row], effort: Effort) -> bool:
    """GFLOP/s of each step of matmul, from the definition to the kernel in use."""
    steps = [r for r in rows if r.case.name.startswith("ladder ") and r.samples]
    if not steps:
        return False
    names = [r.case.name.split()[1] for r in steps]
    bars = axes.bar(names, [(r.rate() or 0) / 1e9 for r in steps], color=COLOURS["tutor"])
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
