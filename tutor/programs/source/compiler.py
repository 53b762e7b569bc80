"""From source to a function: a C compiler, a cache folder for its output, and ctypes.

    TUTOR_CC=1        compile Programs, if there is a compiler ($CC, or cc, gcc, clang), and use
                      those that are faster than the library's own replay
    TUTOR_CC=always   use them even if they are slower
    TUTOR_CACHE       its folder `programs` caches compiled Programs under the hash of the source

If anything is missing or fails, one line on stderr says so, and the library's own replay runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tutor.data.fetch import cache_folder

# -ffp-contract=off: a product and a sum are rounded separately, as in the library. -fno-math-errno:
# the square root is one instruction. -fno-strict-aliasing: temps of two dtypes may share memory.
FLAGS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-w",
         "-shared", "-fPIC")  # fmt: skip
NATIVE = ("-march=native",)  # compiled where it runs; the CPU's features are part of the hash
SECONDS = 600  # for one Program
MOST = 64 << 20  # bytes in the folder: about a thousand Programs; least recently used go first

_said: set[str] = set()


class CompilerError(Exception):
    """Why there is no compiled Program, in one line."""


def say(why: str) -> None:
    """Print the obstacle and the fallback, once per process."""
    if why not in _said:
        _said.add(why)
        print(f"tutor: TUTOR_CC: {why}; the library's own replay runs", file=sys.stderr)


# ---- the compiler --------------------------------------------------------------------------------


def compiler() -> list[str]:
    """The command of a C compiler. CompilerError if there is none."""
    if chosen := os.environ.get("CC"):
        command = shlex.split(chosen)
        if command and shutil.which(command[0]):
            return command
        raise CompilerError(f"there is no {chosen!r}, which CC names")
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    raise CompilerError("there is no C compiler (cc, gcc, clang, or what CC names)")


@functools.lru_cache(maxsize=8)
def target(command: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The flags that this compiler accepts, and all macros that it defines for them: its version
    and the CPU's features. Different machines may share a folder."""
    for flags in ((*FLAGS, *NATIVE), FLAGS):
        result = ran([*command, *flags, "-dM", "-E", "-x", "c", os.devnull])
        if result.returncode == 0:
            return flags, result.stdout
    raise CompilerError(f"{command[0]} fails: {last_line(result.stderr)}")


def ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False,
            errors="replace", stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise CompilerError(f"{command[0]} fails: {last_line(str(error))}") from error


def last_line(text: str) -> str:
    """The most informative line: the first with `error` in it, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it says nothing"]
    return next((line for line in lines if "error" in line), lines[-1])


# ---- the folder ----------------------------------------------------------------------------------


def folder() -> Path:
    """The cache of compiled Programs: a folder that only this user can write to, because its
    contents are executed. If that is impossible, a fresh one for this process."""
    path = cache_folder() / "programs"
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not safe(path):
            raise OSError(f"{path} may be written to by others")
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        return Path(_own_folder().name)


def safe(path: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    found = path.stat()
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.getuid() and not others


@functools.cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tutor-programs-")


def built(text: str) -> Path:
    """The shared library for this source: cached, or compiled now. CompilerError if that fails."""
    command = tuple(compiler())
    flags, defined = target(command)
    key = hashlib.sha256("\0".join([text, *command, *flags, defined]).encode()).hexdigest()
    path = folder() / f"{key}.so"
    if whole(path):
        with contextlib.suppress(OSError):  # another user's folder, or just removed
            os.utime(path)
    else:
        make(text, [*command, *flags], path)
        clear(path.parent, but=path)
    return path


def clear(folder: Path, but: Path) -> None:
    """Remove the least recently used libraries until the rest has at most MOST bytes. Libraries
    that a process has loaded stay loaded."""
    found = []
    for path in folder.glob("*.so"):
        with contextlib.suppress(OSError):  # another process has removed it
            said = path.stat()
            found.append((said.st_mtime_ns, said.st_size, path))
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= MOST:
            break
        if path != but:
            left -= size
            digest(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def digest(path: Path) -> Path:
    """The file beside a library that holds its SHA-256."""
    return path.with_suffix(".sha256")


def whole(path: Path) -> bool:
    """Is the library there, as it was written? A truncated library must not be loaded."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == digest(path).read_text()
    except (OSError, UnicodeDecodeError):
        return False


def make(text: str, command: list[str], path: Path) -> None:
    """Compile beside the target and move the result there: others see all of it or nothing."""
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        code, made, sums = (Path(work, name) for name in ("program.c", "program.so", "sum"))
        code.write_text(text)
        result = ran([*command, str(code), "-o", str(made), "-lm"])
        if result.returncode != 0 or not made.is_file():
            raise CompilerError(f"{command[0]} fails: {last_line(result.stderr)}")
        sums.write_text(hashlib.sha256(made.read_bytes()).hexdigest())
        os.replace(made, path)
        os.replace(sums, digest(path))


def load(text: str) -> ctypes.CDLL:
    """The library for this source, in this process."""
    path = built(text)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CompilerError(f"{path.name} cannot be loaded: {last_line(str(error))}") from error
