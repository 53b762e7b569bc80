"""Counting what a block costs: page faults, and what the processor counts by itself.

    with counters() as c:
        x @ x
    print(c)

Unlike a time, a count hardly depends on what else the machine does. Page faults are those of this
process, by getrusage. The others come from Linux's perf events, by the raw system call, so that no
other package is needed: they are those of the calling thread and of threads that it starts within
the block. Where there are none, `why` says so in one sentence, and `instead` what else can count.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from shutil import which
from types import TracebackType
from typing import NamedTuple

from tutor.errors import DomainError

HARDWARE = 0  # PERF_TYPE_HARDWARE
EVENTS = {  # of that type: include/uapi/linux/perf_event.h
    "cycles": 0,
    "instructions": 1,
    "cache misses": 3,
    "branches": 4,
    "branch misses": 5,
}
CALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
SIZE = 112  # of struct perf_event_attr, version 5
TIMES = 1 | 2  # how long it was enabled, and how long it really counted
OFF_AT_FIRST, INHERIT, NO_KERNEL, NO_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
ENABLE, DISABLE = 0x2400, 0x2401  # PERF_EVENT_IOC_ENABLE and _DISABLE
PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def perf_event_open(config: int) -> int:
    """A file descriptor from which the count of a hardware event is read; OSError without one."""
    flags = OFF_AT_FIRST | INHERIT | NO_KERNEL | NO_HYPERVISOR
    asked = struct.pack("=IIQQQQQ", HARDWARE, SIZE, config, 0, 0, TIMES, flags).ljust(SIZE, b"\0")
    attributes = ctypes.create_string_buffer(asked, SIZE)
    system = ctypes.CDLL(None, use_errno=True)
    this_thread, any_cpu, no_group, close_on_exec = (ctypes.c_long(n) for n in (0, -1, -1, 8))
    number = ctypes.c_long(CALLS[platform.machine()])
    found: int = system.syscall(number, attributes, this_thread, any_cpu, no_group, close_on_exec)
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found


def control(descriptor: int, request: int) -> None:
    """Start or stop a count."""
    import fcntl

    fcntl.ioctl(descriptor, request, 0)


def missing() -> str:
    """Why perf events cannot even be asked for here; "" where they can."""
    if not sys.platform.startswith("linux"):
        return f"perf events belong to Linux, and this is {platform.system() or sys.platform}"
    if platform.machine() not in CALLS:
        return f"the number of the system call is not known for {platform.machine()}"
    return ""


def instead() -> str:
    """What counts cache misses where the processor does not."""
    model = "the cache model of chapter 13 counts the misses of any list of addresses"
    if not which("valgrind"):
        return model
    return f"tutor.profiler.cachegrind counts those of a program, in valgrind; {model}"


def explained(error: OSError) -> str:
    """In one sentence, why the system gave no count."""
    if error.errno in (errno.EACCES, errno.EPERM):
        level = _paranoid()
        if level is not None and level > 2:
            return f"the system does not permit it: {PARANOID} is {level}, and has to be 2 or less"
        return "the system does not permit it, as in many containers"
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return "no counter of the processor can be seen, as in most virtual machines"
    if error.errno == errno.ENOSYS:
        return "this Linux has no perf events"
    return f"the system call failed: {error.strerror}"


def _paranoid() -> int | None:
    try:
        with open(PARANOID, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


class Faults(NamedTuple):
    """Page faults of this process: `minor` ones, and `major` ones, which waited for a disk."""

    minor: int
    major: int


def page_faults() -> Faults | None:
    """The page faults of this process until now; None where the system does not count them."""
    try:
        import resource
    except ImportError:  # Windows, and some builds of Python
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Faults(usage.ru_minflt, usage.ru_majflt)


class counters:  # noqa: N801 - read as a verb: with counters() as c
    """`with counters() as c:` counts; `c.counts` and `print(c)` afterwards.

    counts: {"page faults": 12, "cycles": 81_000, ...}; None for what could not be counted.
    why: a sentence that says why there are no perf events; "" where there are.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int | None] = {}
        self.why = missing()
        self._open: dict[str, int] = {}
        self._before: Faults | None = None
        self._at_work = False

    def __enter__(self) -> counters:
        if self._at_work:
            raise DomainError(
                "with c: ...", "c is counting already", "make another one: counters()"
            )
        self._at_work, self.why = True, missing()
        try:
            self._begin()
        except BaseException:  # an interrupt: __exit__ is not called
            self._close()
            raise
        return self

    def _begin(self) -> None:
        for name, config in {} if self.why else EVENTS.items():
            try:
                self._open[name] = perf_event_open(config)
            except OSError as error:
                self.why = self.why or explained(error)
        self._before = page_faults()
        for name, descriptor in list(self._open.items()):
            try:
                control(descriptor, ENABLE)
            except OSError as error:
                self.why = self.why or explained(error)
                os.close(self._open.pop(name))

    def _close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open, self._at_work = {}, False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for descriptor in self._open.values():
                control(descriptor, DISABLE)
            now = page_faults()
            faults = now.minor - self._before.minor if now and self._before else None
            self.counts = {"page faults": faults} | dict.fromkeys(EVENTS)
            for name, descriptor in self._open.items():
                self.counts[name] = _read(descriptor)
        finally:
            self._close()

    def __str__(self) -> str:
        """A line for each count, and the sentence for those that there are not."""
        if not self.counts:
            return "nothing was counted yet: with counters() as c: ..."
        width = max(map(len, self.counts))
        known = {name: count for name, count in self.counts.items() if count is not None}
        lines = [f"{name:<{width}}  {count:>14,}" for name, count in known.items()]
        absent = [name for name in self.counts if name not in known]
        if absent:
            lines.append(f"not counted: {', '.join(absent)} ({self._reason()})")
        if self.why:
            lines.append(f"instead: {instead()}")
        return "\n".join(lines)

    def _reason(self) -> str:
        if self.why:
            return self.why
        return "getrusage is not there, or the processor had no time to count"


def _read(descriptor: int) -> int | None:
    """The count, scaled up where the processor had to share its counters; None if it had none."""
    count, enabled, running = struct.unpack("=QQQ", os.read(descriptor, 24))
    return count * enabled // running if running else None
