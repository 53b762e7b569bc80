"""benchmarks/diagnose.py: each figure from a stand-in for /proc and /sys, and what they say."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import __main__ as bench
from benchmarks import diagnose, run
from benchmarks.case import Case
from benchmarks.diagnose import CAUSES, Sample, findings, likely, readable, record, report, show
from benchmarks.measure import Effort

STAT = "7 (a (odd) name) R " + " ".join(["0"] * 35) + " {cpu} 0 0"
BY_NAME = {cause.name: cause for cause in CAUSES}


class StandIn:
    """The files of a machine with two CPUs, and the counts of getrusage."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.usage = {"ru_minflt": 0, "ru_majflt": 0, "ru_nivcsw": 0}
        self.write("proc/thread-self/stat", STAT.format(cpu=1))
        self.write(
            "proc/thread-self/sched", "a (7)\nse.nr_migrations      :    4\nnr_switches : 9\n"
        )
        self.write("proc/thread-self/schedstat", "900 2500000 5\n")
        self.write("proc/stat", "cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 2\n")
        for cpu, clock, hot in ((0, 1_000_000, 3), (1, 3_500_000, 4)):
            self.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq", f"{clock}\n")
            file = f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"
            self.write(file, f"{hot}\n")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    found = StandIn(tmp_path)
    monkeypatch.setattr(resource, "getrusage", lambda who: SimpleNamespace(**found.usage))
    return found


# ---- figures -------------------------------------------------------------------------------------


def test_every_figure_is_read(machine: StandIn) -> None:
    machine.usage = {"ru_minflt": 30, "ru_majflt": 2, "ru_nivcsw": 6}
    known, why = readable(machine.root)
    assert known == list(CAUSES) and not why
    assert {cause.name: cause.figure(machine.root) for cause in known} == {
        "frequency": 3.5, "migrations": 4, "page faults": 32, "context switches": 6,
        "other processes": 2.5, "the host": 88, "thermal limit": 7,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "file", "text", "reason"),
    [
        ("frequency", "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", None, "there is no "),
        ("migrations", "proc/thread-self/sched", None, "there is no "),
        ("migrations", "proc/thread-self/sched", "nothing", "has no nr_migrations"),
        ("other processes", "proc/thread-self/schedstat", "", "list index out of range"),
        ("the host", "proc/stat", "cpu one two three four five six seven eight", "invalid literal"),
        ("thermal limit", "sys", "a file", "core_throttle_count"),
    ],
)
def test_why_a_figure_cannot_be_read(
    machine: StandIn, name: str, file: str, text: str | None, reason: str
) -> None:
    path = machine.root / file
    if path.is_dir():
        path.rename(machine.root / "elsewhere")
    else:
        path.unlink()
    if text is not None:
        machine.write(file, text)
    known, why = readable(machine.root)
    assert name in why and reason in why[name]
    assert {cause.name for cause in known} == BY_NAME.keys() - why.keys()
    if reason == "there is no ":
        assert why[name] == f"there is no {path}"


def test_a_file_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(root: Path) -> float:
        raise PermissionError(13, "Permission denied", "/proc/secret")

    monkeypatch.setattr(diagnose, "CAUSES", (BY_NAME["frequency"]._replace(figure=refused),))
    assert readable(Path("/")) == ([], {"frequency": "/proc/secret: Permission denied"})


# ---- what they say -------------------------------------------------------------------------------


def samples(slow: dict[str, float], quick: dict[str, float]) -> list[Sample]:
    """Two slow samples of ten, and by how much figures moved in either; others did not move."""
    rest = dict.fromkeys(BY_NAME, 0.0) | {"frequency": 3.0}
    return [Sample(1.0, rest | quick)] * 8 + [Sample(1.2, rest | slow)] * 2


@pytest.mark.parametrize(
    ("name", "slow", "quick"),
    [
        ("frequency", 2.0, 3.0),
        ("migrations", 1, 0),
        ("page faults", 40, 0),
        ("context switches", 1, 0),
        ("other processes", 0.5, 0.05),
        ("the host", 2, 0),
        ("thermal limit", 1, 0),
    ],
)
def test_each_cause_is_named(name: str, slow: float, quick: float) -> None:
    count, found = findings(samples({name: slow}, {name: quick}), CAUSES)
    assert count == 2 and found[name][1:] == (2, 0)
    assert likely(count, 10, found) == [name]
    told = report("work", samples({name: slow}, {name: quick}), CAUSES, {})
    assert told.endswith(f"likely: {name}") and "slowest +20%; 2 slow" in told


@pytest.mark.parametrize(("slow", "quick"), [(1, 1), (0, 1), (0, 0)])
def test_what_moves_as_often_in_other_samples_is_no_cause(slow: float, quick: float) -> None:
    found = samples({"page faults": slow}, {"page faults": quick})
    assert likely(2, 10, findings(found, CAUSES)[1]) == []
    assert diagnose.UNKNOWN in report("work", found, CAUSES, {})


def test_the_clearest_cause_comes_first() -> None:
    few = samples({"migrations": 1, "the host": 1}, {})
    few[-1].moved["the host"] = 0.0
    few[-1] = Sample(1.2, {**few[-1].moved, "the host": 0.0, "migrations": 1})
    few[-2] = Sample(1.2, {**few[-2].moved, "the host": 1.0, "migrations": 1})
    assert report("work", few, CAUSES, {}).endswith("likely: migrations, then the host")


def test_without_slow_samples_nothing_is_explained() -> None:
    told = report("work", [Sample(1.0, {}), Sample(1.149, {})], [], {"frequency": "no such file"})
    assert told.endswith("no sample is slow: there is nothing to explain")
    assert "frequency        cannot be read: no such file" in told


def test_figures_are_read_around_each_sample(
    machine: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work itself plants what happened: in every second call the thread is moved, waits 3 ms
    for a core, touches 5 pages, and its CPU is at half of its clock."""
    calls: list[int] = []
    clock = "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq"

    def work() -> None:
        calls.append(1)
        odd = len(calls) % 2
        moves, waited = len(calls) // 2, 3_000_000 * (len(calls) // 2)
        machine.write("proc/thread-self/sched", f"nr_migrations : {moves}")
        machine.write("proc/thread-self/schedstat", f"0 {waited} 0")
        machine.write(clock, "3000000" if odd else "1500000")
        machine.usage["ru_minflt"] = 5 * moves

    monkeypatch.setattr(diagnose, "warm", lambda work: 1.0)
    found = record(work, 4, CAUSES, machine.root)
    assert len(calls) == 4 and all(sample.seconds > 0 for sample in found)
    assert [s.moved["migrations"] for s in found[1:]] == [1, 0, 1]
    assert [s.moved["other processes"] for s in found[1:]] == [3, 0, 3]
    assert [s.moved["page faults"] for s in found[1:]] == [5, 0, 5]
    assert [s.moved["frequency"] for s in found] == [3.0, 1.5, 1.5, 1.5]


def test_short_calls_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(diagnose, "warm", lambda work: diagnose.SAMPLE / 10)
    record(lambda: calls.append(1), 3, [], Path("/"))
    assert len(calls) == 30


def test_what_is_shown(
    machine: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    probes: Any = iter([1.0, 1.0, 1.0, 1.5])
    work: Callable[[], None] = lambda: None  # noqa: E731
    monkeypatch.setattr(diagnose, "ROOT", machine.root)
    monkeypatch.setattr(diagnose, "probe", lambda: next(probes))
    monkeypatch.setattr(run, "cases", lambda *_: [Case(n, {"tutor": work}) for n in ("one", "two")])
    show([], Effort("smoke", 0.0, 1), machine.root)
    one, two = capsys.readouterr().out.split("two: 3 samples")
    assert one.startswith("one: 3 samples, best") and "the machine itself changed" not in one
    assert two.endswith("the machine itself changed: the probes differ by 50%\n")
    assert bench.arguments(["--diagnose"]).instrument == "diagnose"
