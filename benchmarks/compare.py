"""`bench --compare A B`: are two results of tutor's different, row by row?

The figure is the ratio of the medians, A's time / B's: above 1, B takes less. Its interval of 95 %
is from a bootstrap (Efron 1979, "Bootstrap methods: another look at the jackknife"): draw as many
samples as there are, with replacement, and take the ratio of these; of a thousand such ratios the
middle 95 % are the interval. Where a result has several runs of a row, runs are drawn first, and
then samples of each, since two runs differ by more than two samples of one (Kalibera & Jones 2012,
"Quantifying performance changes with effect size confidence intervals"). Medians, because the
smallest of a drawn sample is never below the one that was found: a best has no such interval.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Probes
from benchmarks.report import quantity
from tutor.errors import DataError

DRAWS, MIDDLE = 1000, 0.95
ONE_RUN = """\
One run does not show how far two runs of the same code are apart. Measure both again, best in turn:
new rows are added to those that are there."""
Runs = Sequence[Sequence[float]]  # the samples of each run
Key = tuple[str, str, int]  # suite, case, threads


class Interval(NamedTuple):
    ratio: float
    low: float
    high: float

    def verdict(self) -> str:
        if self.low <= 1 <= self.high:
            return "no difference found"
        return "B takes less" if self.low > 1 else "B takes more"


def interval(a: Runs, b: Runs, seed: int = 0) -> Interval:
    """The ratio of the medians, a's / b's, and where it is with a confidence of 95 %."""
    draw = random.Random(seed)

    def again(runs: Runs) -> float:
        some = draw.choices(runs, k=len(runs))
        return median([draw.choices(run, k=len(run)) for run in some])

    ratios = sorted(again(a) / again(b) for _ in range(DRAWS))
    outside = round(DRAWS * (1 - MIDDLE) / 2)
    return Interval(median(a) / median(b), ratios[outside], ratios[-1 - outside])


def median(runs: Runs) -> float:
    return statistics.median(x for run in runs for x in run)


# ---- what is compared ----------------------------------------------------------------------------


def rows(name: str, results: Path) -> list[dict[str, Any]]:
    """The saved rows of `name`: a file of results; REVISION:FILE, one as git has it; else the rows
    of the file `results` whose commit or date begins so."""
    asked = f"bench --compare {name}"
    if Path(name).is_file():
        return parsed(Path(name).read_text("utf-8"))
    if ":" in name and not name[:4].isdecimal():
        shown = subprocess.run(["git", "show", name], capture_output=True, text=True, check=False)
        if shown.returncode:
            raise DataError(asked, f"git says: {shown.stderr.strip()}", "name a file of a commit")
        return parsed(shown.stdout)
    saved = parsed(results.read_text("utf-8")) if results.is_file() else []
    found = [r for r in saved if (r.get("commit") or "").startswith(name) or
             r["date"].startswith(name)]  # fmt: skip
    if not found:
        known = sorted({r.get("commit") or r["date"][:10] for r in saved})
        raise DataError(
            asked,
            f"there is no such file, and {results} has no row of such a commit or date",
            f"name a file, or one of {', '.join(known[-5:]) or 'the commits that you measure'}",
        )
    return found


def parsed(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


class Side(NamedTuple):
    """What one result has about one row."""

    runs: list[list[float]]  # empty where the samples were not saved
    median: float
    probes: list[Probes]


def sides(found: Iterable[dict[str, Any]]) -> dict[Key, Side]:
    """tutor's times of each row, of all its runs."""
    grouped: dict[Key, list[dict[str, Any]]] = {}
    for row in found:
        if row["unit"] == "s" and not row["differs"]:
            grouped.setdefault((row["suite"], row["case"], row["threads"]), []).append(row)
    return {key: _side(same) for key, same in grouped.items()}


def _side(same: list[dict[str, Any]]) -> Side:
    ours = [row["results"]["tutor"] for row in same]
    whole = all("each" in times for times in ours)
    probes = [Probes(*row["probes"]) for row in same if row.get("probes")]
    middle = statistics.median(times["median"] for times in ours)
    return Side([times["each"] for times in ours] if whole else [], middle, probes)


def doubt(a: Side, b: Side) -> str:
    """Why two results say nothing about each other; empty if they may be compared."""
    alone = [probes.doubt for side in (a, b) for probes in side.probes if probes.doubt]
    if alone or not (a.probes and b.probes):
        return alone[0] if alone else ""
    return Probes(*(min(min(p) for p in side.probes) for side in (a, b))).doubt


def line(a: Side, b: Side) -> tuple[str, str]:
    """The columns of a row, and its verdict."""
    times = f"{quantity(a.median, 's'):>10} {quantity(b.median, 's'):>10}"
    if not (a.runs and b.runs):
        return f"{times} {a.median / b.median:>6.2f} {'':>14}", "not known: no samples were saved"
    found = interval(a.runs, b.runs)
    between = f"{found.low:.2f} to {found.high:.2f}"
    why = doubt(a, b)
    verdict = f"not judged, {why}" if why else found.verdict()
    return f"{times} {found.ratio:>6.2f} {between:>14}", verdict


def table(a: dict[Key, Side], b: dict[Key, Side]) -> str:
    """All rows that both have, and how many verdicts there are of each kind."""
    both = [key for key in a if key in b]
    lines = [f"{'':44}{'A':>10} {'B':>10} {'A / B':>6} {'95 %':>14}"]
    counts: dict[str, int] = {}
    for key in both:
        suite, case, threads = key
        columns, verdict = line(a[key], b[key])
        lines.append(f"{f'{suite}: {case}, {threads}':<44}{columns}  {verdict}")
        kind = verdict.partition(",")[0]
        counts[kind] = counts.get(kind, 0) + 1
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    lines.append(f"{len(both)} rows in both: {told or 'nothing to compare'}")
    if both:
        lines.append("Of rows without a difference, about one in twenty shows one by chance.")
    if any(len(side[key].runs) == 1 for side in (a, b) for key in both):
        lines.append(ONE_RUN)
    return "\n".join(lines)


def show(names: Sequence[str], results: Path) -> None:
    """Print the comparison of A and B."""
    a, b = (sides(rows(name, results)) for name in names)
    print(f"A: {names[0]}, B: {names[1]}; medians of tutor's times, suite: case, threads")
    print(table(a, b))
