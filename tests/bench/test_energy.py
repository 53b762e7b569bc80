"""benchmarks/energy.py: a stand-in for /sys/class/powercap that gives numbers, and the reasons of
machines that give none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as bench
from benchmarks import energy, run
from benchmarks.case import Case
from benchmarks.energy import Energy, Zone, line, measured, show, zones
from benchmarks.measure import Effort, Probes
from tutor.errors import TutorError

QUIET = Probes(1.0, 1.0)
LARGEST = 1000
ZONES = {  # by folder: its name, and the counter at first, in microjoules
    "intel-rapl:0": ("package-0", 100),
    "intel-rapl:0:0": ("core", 50),
    "intel-rapl:0:1": ("dram", 10),
    "intel-rapl:1": ("package-1", 990),
    "intel-rapl:2": ("psys", 500),  # all of the machine, with what is counted already
}


class StandIn:
    """The folder, and a clock: work is what moves them."""

    def __init__(self, root: Path) -> None:
        self.root, self.now = root, 0.0
        self.counters = {folder: count for folder, (_, count) in ZONES.items()}
        for folder, (name, _) in ZONES.items():
            (root / folder).mkdir()
            (root / folder / "name").write_text(f"{name}\n")
            (root / folder / "max_energy_range_uj").write_text(f"{LARGEST}\n")
        self.uses({}, 0.0)

    def uses(self, microjoules: dict[str, int], seconds: float) -> None:
        """So much is used meanwhile; counters begin at 0 again after the largest value."""
        self.now += seconds
        for folder, used in microjoules.items():
            self.counters[folder] = (self.counters[folder] + used) % LARGEST
        for folder, count in self.counters.items():
            (self.root / folder / "energy_uj").write_text(f"{count}\n")

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.uses({"intel-rapl:0": 10}, 1e-6)


@pytest.fixture
def powercap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    found = StandIn(tmp_path)
    monkeypatch.setattr(energy, "time", found)
    monkeypatch.setattr(zones, "__defaults__", (tmp_path,))
    return found


def test_packages_and_memories_are_counted_and_nothing_twice(powercap: StandIn) -> None:
    found = zones(powercap.root)
    assert [(zone.name, zone.read(), zone.largest) for zone in found] == [
        ("package-0", 100, LARGEST), ("dram", 10, LARGEST), ("package-1", 990, LARGEST),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "used"),
    [(100, 350, 250), (100, 100, 0), (990, 15, 25), (1000, 0, 0), (0, 1000, 1000), (1, 0, 999)],
)
def test_a_counter_that_begins_again(before: int, after: int, used: int) -> None:
    assert Zone("package-0", Path("none"), LARGEST).used(before, after) == used


def test_the_joules_of_some_calls(powercap: StandIn) -> None:
    """Three calls of 2 s: package 0 uses 30, its memory 6, package 1, which overflows, 60."""
    each = {"intel-rapl:0": 10, "intel-rapl:0:0": 9, "intel-rapl:0:1": 2, "intel-rapl:1": 20}
    found = measured(lambda: powercap.uses(each, 2.0), 3, zones(powercap.root))
    assert powercap.counters["intel-rapl:1"] == 50
    assert found == (pytest.approx(96e-6), 6.0, 3) and found.watts == pytest.approx(16e-6)


@pytest.mark.parametrize(
    ("case", "each"),
    [
        (Case("product", flops=4e9, bytes=1e6, limit="flops"), "500 pJ/operation"),
        (Case("add", flops=4e6, bytes=1e9, limit="bytes"), "2e+03 pJ/byte"),
        (Case("other"), ""),
    ],
)
def test_a_line(case: Case, each: str) -> None:
    found, rest = Energy(20.0, 0.5, 10), [Energy(3.0, 1.0), Energy(5.0, 1.0)]
    assert line(case, found, rest, QUIET).split() == [
        case.name, "2000", "mJ", "40", "W", "4", "W", *each.split(),
    ]  # fmt: skip
    uneven = line(case, found, rest, Probes(1.0, 1.2))
    assert uneven.endswith("  not judged, the probes differ by 20%")


def test_what_is_shown(
    powercap: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """4 calls of half a second, after one that warms up: 25 uJ a call, that is 50 uW."""
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        powercap.uses({"intel-rapl:0": 25}, 0.5)

    def warm(run: Callable[[], Any]) -> float:
        run()
        return 0.5

    monkeypatch.setattr(energy, "warm", warm)
    monkeypatch.setattr(energy, "probe", lambda: 1.0)
    case = Case("work", {"tutor": work}, flops=1e6, limit="flops")
    monkeypatch.setattr(run, "cases", lambda *_: [case])
    show([], Effort("full", 0.0, 1), Path("none"))
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.startswith("by package-0, dram, package-1") and len(calls) == 5
    assert row.split() == ["work", "0.025", "mJ", "5e-05", "W", "10", "W", "25", "pJ/operation"]


# ---- where there are no numbers ------------------------------------------------------------------


@pytest.mark.parametrize("there", [False, True])
def test_a_machine_without_zones_says_so(there: bool, tmp_path: Path) -> None:
    with pytest.raises(TutorError) as error:
        zones(tmp_path if there else tmp_path / "powercap")
    assert "has no zone intel-rapl:0: virtual machines have none" in error.value.found


def test_a_counter_that_is_not_permitted(
    powercap: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before any row is measured; root may read whatever the mode of a file is."""

    def refused(path: Path) -> str:
        raise PermissionError(13, os.strerror(13), str(path))

    found = zones(powercap.root)
    monkeypatch.setattr(energy, "zones", lambda: found)
    monkeypatch.setattr(run, "cases", lambda *_: 1 / 0)
    monkeypatch.setattr(Path, "read_text", refused)
    monkeypatch.setattr(bench, "use_threads", lambda *_: None)
    monkeypatch.setattr(run, "begin", lambda size, threads: Effort(size, 0.0, threads))
    assert bench.main(["--energy", "--smoke"]) == 2
    said = capsys.readouterr().err
    assert "may only be read by the administrator" in said and "sudo chmod a+r" in said
