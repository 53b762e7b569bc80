"""`bench --energy`: joules of a row, by the processor's own counters (RAPL, for Intel's running
average power limit; AMD's processors have it as well).

Linux shows them below /sys/class/powercap: microjoules since some time, for a whole package with
everybody on it, up to a largest value, after which they begin at 0 again. A package includes its
cores; memory (the zone "dram") is outside of it where a processor counts it. So the sum of both is
what is shown, and beside it the watts at rest just before and after.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import run
from benchmarks.case import Case
from benchmarks.measure import Effort, Probes, probe, warm
from tutor.errors import TutorError

POWERCAP = Path("/sys/class/powercap")
NAME = 32  # columns
ASKED = "bench --energy: the joules of a row"


class Zone(NamedTuple):
    """A part of the processor with a counter."""

    name: str
    counter: Path  # microjoules
    largest: int  # of the counter

    def read(self) -> int:
        try:
            return int(self.counter.read_text())
        except PermissionError:
            raise TutorError(
                ASKED,
                f"{self.counter} may only be read by the administrator: it has betrayed keys "
                "(Lipp et al. 2021, PLATYPUS)",
                f"sudo chmod a+r {self.counter}, until the next start; or run it as root",
            ) from None

    def used(self, before: int, after: int) -> int:
        """Microjoules between two readings; the counter may have begun at 0 again, once."""
        return after - before if after >= before else after + self.largest - before


def zones(root: Path = POWERCAP) -> list[Zone]:
    """The packages, and their memories. TutorError, with the reason, if there are none."""
    found = []
    for folder in sorted(root.glob("intel-rapl:*")):
        name = (folder / "name").read_text().strip()
        if name.startswith("package") or name == "dram":
            largest = int((folder / "max_energy_range_uj").read_text())
            found.append(Zone(name, folder / "energy_uj", largest))
    if not found:
        raise TutorError(
            ASKED,
            f"{root} has no zone intel-rapl:0: virtual machines have none, and other processors "
            "than Intel's and AMD's count elsewhere",
            "run it on the machine itself, with the module intel_rapl_msr loaded",
        )
    return found


class Energy(NamedTuple):
    joules: float
    seconds: float
    calls: int = 1

    @property
    def watts(self) -> float:
        return self.joules / self.seconds


def measured(work: Callable[[], Any], calls: int, among: Sequence[Zone]) -> Energy:
    """What all zones use while the work is done so many times."""
    before, start = [zone.read() for zone in among], time.perf_counter()
    for _ in range(calls):
        work()
    seconds = time.perf_counter() - start
    after = [zone.read() for zone in among]
    micro = sum(zone.used(a, b) for zone, a, b in zip(among, before, after, strict=True))
    return Energy(micro / 1e6, seconds, calls)


def line(case: Case, found: Energy, rest: Sequence[Energy], probes: Probes) -> str:
    """Joules of a call, its watts, those at rest, and what an operation or a byte costs."""
    joules, what = found.joules / found.calls, "flops" if case.limit == "flops" else "bytes"
    unit = "pJ/operation" if what == "flops" else "pJ/byte"
    count = getattr(case, what)
    each = f"{joules / count * 1e12:.3g} {unit}" if count else ""
    resting = sum(r.watts for r in rest) / len(rest)
    doubt = f"  not judged, {probes.doubt}" if probes.doubt else ""
    return (f"{case.name:<{NAME}}{joules * 1e3:>10.4g} mJ {found.watts:>8.3g} W {resting:>8.3g} W "
            f"{each:>20}{doubt}").rstrip()  # fmt: skip


def show(names: Sequence[str], effort: Effort, folder: Path) -> None:
    """Print a line for each row, tutor's calls alone."""
    among, seconds = zones(), effort.pick(2.0, 0.5, 0.0)
    for zone in among:
        zone.read()  # before anything is measured: may it be read?
    parts = ", ".join(zone.name for zone in among)
    print(f"{f'by {parts}':<{NAME}}{'a call':>13} {'at work':>10} {'at rest':>10}", flush=True)

    def rest() -> Energy:
        return measured(lambda: time.sleep(max(seconds / 2, 0.01)), 1, among)

    for case in run.cases(names, effort):
        ours = case.runs["tutor"]
        calls = max(1, math.ceil(seconds / warm(ours)))
        resting, before = rest(), probe()
        found = measured(ours, calls, among)
        probes = Probes(before, probe())
        print(line(case, found, [resting, rest()], probes), flush=True)
