"""counters(): with a stand-in for the system call that gives numbers, and with each reason why it
gives none."""

from __future__ import annotations

import errno
import mmap
import os
import platform
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tutor.errors import DomainError
from tutor.profiler import counters as module
from tutor.profiler.counters import DISABLE, ENABLE, EVENTS, Faults, counters, page_faults

PAGES = 200


class StandIn:
    """Opens pipes in place of counters. Each has a count, and how long it was on and counting."""

    def __init__(self, counts: dict[int, tuple[int, int, int]]) -> None:
        self.counts, self.pipes = counts, dict[int, int]()
        self.log: list[tuple[str, int]] = []

    def open(self, config: int) -> int:
        if config not in self.counts:
            raise OSError(errno.ENOENT, "No such file or directory")
        out, into = os.pipe()
        os.write(into, struct.pack("=QQQ", *self.counts[config]))
        os.close(into)
        self.pipes[out] = config
        return out

    def control(self, descriptor: int, request: int) -> None:
        self.log.append(({ENABLE: "on", DISABLE: "off"}[request], self.pipes[descriptor]))


@pytest.fixture
def permitted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., StandIn]:
    def stand_in(counts: dict[int, tuple[int, int, int]]) -> StandIn:
        found = StandIn(counts)
        monkeypatch.setattr(module, "missing", lambda: "")
        monkeypatch.setattr(module, "perf_event_open", found.open)
        monkeypatch.setattr(module, "control", found.control)
        return found

    return stand_in


def test_what_the_processor_counts(permitted: Callable[..., StandIn]) -> None:
    stand_in = permitted({config: (1000 + config, 10, 10) for config in EVENTS.values()})
    with counters() as c:
        assert stand_in.log == [("on", config) for config in EVENTS.values()]
    assert stand_in.log[len(EVENTS) :] == [("off", config) for config in EVENTS.values()]
    assert {name: c.counts[name] for name in EVENTS} == {
        "cycles": 1000,
        "instructions": 1001,
        "cache misses": 1003,
        "branches": 1004,
        "branch misses": 1005,
    }
    assert c.why == "" and "1,003" in str(c) and "not counted" not in str(c)
    assert "instead" not in str(c)
    none_is_open(stand_in)


def test_a_shared_counter_is_scaled_up(permitted: Callable[..., StandIn]) -> None:
    permitted({0: (300, 40, 10), 1: (7, 40, 0)})
    with counters() as c:
        pass
    assert c.counts["cycles"] == 1200
    assert c.counts["instructions"] is None
    assert c.counts["branches"] is None and "virtual machines" in c.why


@pytest.mark.parametrize("refused", [0, 3])
def test_a_count_that_cannot_start_is_closed(
    permitted: Callable[..., StandIn], monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    stand_in = permitted(dict.fromkeys(EVENTS.values(), (7, 1, 1)))
    control = stand_in.control

    def unwilling(descriptor: int, request: int) -> None:
        if stand_in.pipes[descriptor] == refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        control(descriptor, request)

    monkeypatch.setattr(module, "control", unwilling)
    with counters() as c:
        pass
    assert {name for name in EVENTS if c.counts[name] is None} == {
        name for name, config in EVENTS.items() if config == refused
    }
    assert c.why == "the system call failed: No space left on device"
    none_is_open(stand_in)


@pytest.mark.parametrize("moment", [ENABLE, DISABLE])
def test_nothing_stays_open_after_an_interrupt(
    permitted: Callable[..., StandIn], monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    stand_in = permitted(dict.fromkeys(EVENTS.values(), (7, 1, 1)))

    def interrupted(descriptor: int, request: int) -> None:
        if request == moment and stand_in.pipes[descriptor] == EVENTS["branches"]:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "control", interrupted)
    c = counters()
    with pytest.raises(KeyboardInterrupt), c:
        pass
    none_is_open(stand_in)
    monkeypatch.setattr(module, "control", lambda descriptor, request: None)
    with c:  # it does not count already
        pass
    assert c.counts["branches"] == 7


def none_is_open(stand_in: StandIn) -> None:
    for descriptor in stand_in.pipes:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


@pytest.mark.parametrize("there", [True, False])
def test_what_counts_instead(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(module, "which", lambda name: f"/usr/bin/{name}" if there else None)
    monkeypatch.setattr(module, "missing", lambda: "there is no Linux")
    with counters() as c:
        pass
    (last,) = [row for row in str(c).splitlines() if row.startswith("instead: ")]
    assert ("tutor.profiler.cachegrind" in last) == there
    assert "the cache model of chapter 13" in last


def test_it_stops_where_the_block_raises(permitted: Callable[..., StandIn]) -> None:
    stand_in = permitted({0: (5, 1, 1)})
    c = counters()
    with pytest.raises(ZeroDivisionError), c:
        raise ZeroDivisionError
    assert stand_in.log == [("on", 0), ("off", 0)] and c.counts["cycles"] == 5


def test_one_at_a_time_and_again() -> None:
    with counters() as c, pytest.raises(DomainError, match="counting already"):
        c.__enter__()
    with c:
        pass
    assert set(c.counts) == {"page faults", *EVENTS}


@pytest.mark.parametrize(
    ("code", "level", "words"),
    [
        (errno.EACCES, 4, "perf_event_paranoid is 4, and has to be 2 or less"),
        (errno.EPERM, 1, "does not permit it, as in many containers"),
        (errno.EPERM, None, "does not permit it, as in many containers"),
        (errno.ENOENT, 2, "no counter of the processor can be seen"),
        (errno.EOPNOTSUPP, 2, "no counter of the processor can be seen"),
        (errno.ENOSYS, 2, "this Linux has no perf events"),
        (errno.EMFILE, 2, "the system call failed: Too many open files"),
    ],
)
def test_why_there_are_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, level: int | None, words: str
) -> None:
    def refused(config: int) -> int:
        raise OSError(code, os.strerror(code))

    file = tmp_path / "paranoid"
    if level is not None:
        file.write_text(f"{level}\n")
    text = words.replace("perf_event_paranoid", str(file))
    monkeypatch.setattr(module, "PARANOID", str(file))
    monkeypatch.setattr(module, "missing", lambda: "")
    monkeypatch.setattr(module, "perf_event_open", refused)
    with counters() as c:
        pass
    assert text in c.why
    assert (
        f"not counted: cycles, instructions, cache misses, branches, branch misses ({c.why})"
        in (str(c))
    )


def test_where_there_is_no_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    with counters() as c:
        pass
    assert c.why == "perf events belong to Linux, and this is Darwin"


def test_where_the_call_has_no_known_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "m68k")
    assert counters().why == "the number of the system call is not known for m68k"


def test_here() -> None:
    """The real call: it gives numbers, or says why there are none."""
    with counters() as c:
        sum(range(100_000))
    cycles, branches = c.counts["cycles"], c.counts["branches"]
    assert (cycles is None) == (branches is None) == bool(c.why)
    if cycles is not None and branches is not None:
        assert cycles > 0 and branches > 100_000


def test_first_and_second_touch() -> None:
    pytest.importorskip("resource", reason="not on Windows")
    memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    rounds = []
    for _ in range(2):
        with counters() as c:
            for place in range(0, len(memory), mmap.PAGESIZE):
                memory[place] = 1
        rounds.append(c.counts["page faults"] or 0)
    memory.close()
    assert rounds[0] >= PAGES and rounds[1] < PAGES // 2


def test_without_getrusage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert page_faults() is None
    with counters() as c:
        pass
    assert c.counts["page faults"] is None and "not counted: page faults" in str(c)


def test_faults_are_two_numbers() -> None:
    pytest.importorskip("resource", reason="not on Windows")
    found = page_faults()
    assert isinstance(found, Faults) and found.minor > 0 <= found.major
    assert str(counters()) == "nothing was counted yet: with counters() as c: ..."
