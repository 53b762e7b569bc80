"""Running somebody else's program so that it can do little harm.

The program gets a copy of a folder to work in, a limit of time, one of memory for each process, and
what it has to say is read from a pipe. Where Linux lets this user make namespaces, the program also
has no network, sees no other process, and finds every file but those of its copy read-only; and its
copy is in memory, gone with it. docs/teachers.md says what this protects from, and what not.

This file is also the program that sets all of it up and then becomes the other one. As such it is
run by its path, and imports nothing of the project: namespaces are made while there is one thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 32 << 20  # bytes of one file, to copy or to write
ROOM = 256 << 20  # bytes of all files
MOST = 8 << 20  # bytes that are read from the pipe
PROCESSES = 64
FAILED = 120  # the exit code where namespaces could not be made

CLONE = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
MS_BIND, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 4096, 16384, 1 << 18, 2, 4
READ_ONLY, NO_SUID, NO_DEVICES, AT_RECURSIVE = 1, 2, 4, 0x8000
MOUNT_SETATTR = 442  # the same number on every machine
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it wrote into the pipe."""

    code: int | None  # None: it was stopped when its time was over
    said: str
    apart: bool  # whether it ran in namespaces of its own


def run(folder: Path, command: list[str], *, seconds: float, memory: int, apart: bool) -> Ended:
    """Run `command` in a copy of a folder. "{pipe}" in it stands for the number of the pipe."""
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory(prefix="tutor-", ignore_cleanup_errors=True) as work:
        task = {
            "source": str(folder.resolve()),
            "work": work,
            "memory": memory,
            "seconds": seconds,
            "command": [part.replace("{pipe}", str(writing)) for part in command],
            "apart": apart,
            "hide": str(folder.resolve().parent),
        }
        started = subprocess.Popen(  # in a session of its own, so that all of it can be ended
            [sys.executable, "-I", __file__, json.dumps(task)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writing],
            env=environment(work),
            start_new_session=True,
        )
        os.close(writing)
        try:
            said, ended = _read(reading, time.monotonic() + seconds)
            code = _wait(started, 5.0) if ended else None
        finally:
            os.close(reading)
            _stop(started)
    return Ended(code, said, apart)


@functools.cache
def possible() -> bool:
    """Whether this user may make namespaces here."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-I", "-c", "print('yes', file=open({pipe}, 'w'))"]
        ended = run(Path(folder), command, seconds=20, memory=1 << 30, apart=True)
    return ended.code == 0 and ended.said == "yes\n"


def environment(work: str) -> dict[str, str]:
    """What the program learns of this one's environment: no secrets."""
    passed = ("PATH", "LANG", "LC_ALL", "TUTOR_DATA", "TUTOR_BACKEND", "TUTOR_SIMD")
    kept = {name: os.environ[name] for name in passed if name in os.environ}
    root = str(Path(__file__).parents[1])
    own = {"HOME": work, "TMPDIR": work, "PYTHONPATH": root, "TUTOR_CHAPTER_QUICK": "1"}
    return kept | own | {"PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "agg"}


def _read(pipe: int, until: float) -> tuple[str, bool]:
    """What comes through a pipe, and whether its other end was closed in time."""
    found, ended = b"", False
    while len(found) < MOST:
        ready, _, _ = select.select([pipe], [], [], max(until - time.monotonic(), 0))
        part = os.read(pipe, 1 << 16) if ready else b""
        if not part:
            ended = bool(ready)
            break
        found += part
    return found.decode("utf-8", "replace"), ended


def _wait(started: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return started.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _stop(started: subprocess.Popen[bytes]) -> None:
    """End it, and what it has started. In namespaces of its own all of that ends with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


# ---- in the process that becomes the other program -----------------------------------------------


def become(task: dict[str, Any]) -> int:
    """Set the limits, and become the program."""
    if task["apart"]:
        try:
            _unshare()
        except OSError:
            return FAILED
        child = os.fork()  # who is in the new namespace of processes: it sees itself as number 1
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            _lock_up(Path(task["work"]), Path(task["source"]), Path(task["hide"]))
        except OSError:
            os._exit(FAILED)
    else:
        _copy(Path(task["source"]), Path(task["work"]))
    os.chdir(task["work"])
    _limits(task)
    os.execv(task["command"][0], task["command"])


def _unshare() -> None:
    """Go into new namespaces: of users (in which this one is root), files, network, processes."""
    user, group = os.getuid(), os.getgid()
    _done(_libc().unshare(CLONE), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _lock_up(work: Path, source: Path, hide: Path) -> None:
    """All files read-only, without devices; but for `work`, which is a copy in memory."""
    die_with_parent()
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("tmpfs", str(work), "tmpfs", MS_NOSUID | MS_NODEV, f"size={ROOM}")
    _copy(source, work)
    needed = [work, Path(sys.executable), Path(sys.prefix), Path(sys.base_prefix), Path(__file__)]
    if not any(path.resolve().is_relative_to(hide) for path in needed):
        _mount("tmpfs", str(hide), "tmpfs", 0)  # what the others have handed in
    with contextlib.suppress(OSError):  # not permitted where parts of it are hidden, in containers
        _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)
    devices = ("/dev/null", "/dev/zero", "/dev/urandom")
    for device in devices:
        _mount(device, device, None, MS_BIND)
    _set_attributes("/", READ_ONLY | NO_SUID | NO_DEVICES, 0, AT_RECURSIVE)
    _set_attributes(str(work), 0, READ_ONLY, 0)
    for device in devices:
        _set_attributes(device, 0, NO_DEVICES, 0)
    for capability in range(64):
        if _libc().prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            break  # there are no more
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def _limits(task: dict[str, Any]) -> None:
    """Of memory and processor time, of the size of files, and of how many processes."""
    count = PROCESSES + (0 if task["apart"] else _processes())
    for what, most in (
        (resource.RLIMIT_AS, int(task["memory"])),
        (resource.RLIMIT_CPU, int(task["seconds"]) + 1),
        (resource.RLIMIT_FSIZE, LARGEST),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, count),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # a limit that this system has not
            resource.setrlimit(what, (most, most))


def _processes() -> int:
    """How many threads this user has now."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid == os.getuid():
                count += sum(1 for _ in (folder / "task").iterdir())
        except OSError:
            continue
    return count


def _copy(source: Path, target: Path) -> None:
    """The files of a folder; without links and devices, and what is too large."""
    left = ROOM // 2
    for folder, names, files in os.walk(source):
        here = target / Path(folder).relative_to(source)
        names[:] = [name for name in names if not (Path(folder, name)).is_symlink()]
        here.mkdir(exist_ok=True)
        for name in files:
            found = os.lstat(os.path.join(folder, name))
            if stat.S_ISREG(found.st_mode) and found.st_size <= min(LARGEST, left):
                shutil.copyfile(os.path.join(folder, name), here / name)
                left -= found.st_size


# ---- calls that Python has not ------------------------------------------------------------------


class _Attributes(ctypes.Structure):
    """struct mount_attr of linux/mount.h"""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(result: int, what: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), what)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    words = [None if text is None else text.encode() for text in (source, target, kind, options)]
    result = _libc().mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    _done(result, f"mount {target}")


def _set_attributes(target: str, on: int, off: int, how: int) -> None:
    wanted = _Attributes(on, off, 0, 0)
    here = ctypes.c_int(-100)  # a path is taken from the current folder
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    call = _libc().syscall
    result = call(
        ctypes.c_long(MOUNT_SETATTR),
        here,
        ctypes.c_char_p(target.encode()),
        ctypes.c_uint(how),
        ctypes.byref(wanted),
        size,
    )
    _done(result, f"mount_setattr {target}")


def die_with_parent() -> None:
    """Have this process killed when the one that has forked it ends, where the system can."""
    if sys.platform.startswith("linux"):
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(what: int, value: int) -> None:
    _done(_libc().prctl(what, value, 0, 0, 0), "prctl")


if __name__ == "__main__":
    sys.exit(become(json.loads(sys.argv[1])))
