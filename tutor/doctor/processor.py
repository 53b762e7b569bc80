"""The CPU: its name and its caches, as reported by the system."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")  # on Linux
CPUINFO = Path("/proc/cpuinfo")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Cache(NamedTuple):
    level: int
    kind: str  # Data, Instruction or Unified
    size: int  # bytes
    shared: int  # by how many CPUs; 0 if the system does not say


def name() -> str:
    """The CPU's name from the system, otherwise from Python."""
    try:
        text = CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    told = found[1].strip() if found else sysctl("machdep.cpu.brand_string")
    return told or platform.processor() or platform.machine()


def caches() -> list[Cache]:
    """The caches of the first CPU, the smallest level first; empty if the system does not say."""
    return sorted(of_linux() or of_macos())


def of_linux() -> list[Cache]:
    found = []
    for folder in sorted(SYSTEM.glob("index*")):
        try:
            level, kind, size, cpus = [
                (folder / file).read_text(encoding="ascii").strip()
                for file in ("level", "type", "size", "shared_cpu_list")
            ]
            found.append(Cache(int(level), kind, parsed(size), counted(cpus)))
        except (OSError, ValueError):  # some virtual machines have only a part of it
            continue
    return found


def parsed(text: str) -> int:
    """A size such as 48K as a number of bytes."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    if found is None:
        raise ValueError(f"{text!r} is no size")
    return int(found[1]) * UNITS[found[2]]


def counted(cpus: str) -> int:
    """The number of CPUs in a list such as 0-3,8."""
    ends = [part.split("-") for part in cpus.split(",") if part]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


def of_macos() -> list[Cache]:
    """The caches of its fast cores, if it also has slower ones."""
    named = (
        (1, "Data", "l1dcachesize"), (1, "Instruction", "l1icachesize"),
        (2, "Unified", "l2cachesize"), (3, "Unified", "l3cachesize"),
    )  # fmt: skip
    found = []
    for level, kind, key in named:
        told = sysctl(f"hw.perflevel0.{key}") or sysctl(f"hw.{key}")
        if told.isdecimal() and int(told):
            found.append(Cache(level, kind, int(told), 0))
    return found


def sysctl(key: str) -> str:
    """A system value of macOS; "" on other systems."""
    if platform.system() != "Darwin":
        return ""
    command = ["/usr/sbin/sysctl", "-n", key]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def described(found: list[Cache]) -> str:
    """The caches in one line: L1 48 KiB (data) and 32 KiB (instructions), L2 ..."""
    if not found:
        return "this system does not tell"
    words = []
    for level in sorted({cache.level for cache in found}):
        parts = []
        for cache in (c for c in found if c.level == level):
            kind = {"Data": " (data)", "Instruction": " (instructions)"}.get(cache.kind, "")
            shared = f", shared by {cache.shared} CPUs" if cache.shared > 1 else ""
            parts.append(f"{size(cache.size)}{kind}{shared}")
        words.append(f"L{level} {' and '.join(parts)}")
    return "; ".join(words)


def size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} bytes"
