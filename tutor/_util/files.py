"""Atomic writes (a file is written whole or not at all), and reads that cannot block for ever.

New content goes into a part file, with an unpredictable name, beside the old file. Once complete
and on the disk, it replaces the old file in one step. Whatever happens before (an error, a full
disk, Ctrl-C, the end of the process, a power failure), readers find the old content or the new.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

from tutor.errors import DataError, DTypeError

STALE = 3600.0  # seconds without a write after which a part's writer is considered dead
BEFORE, AFTER = ".tutor-", ".part"  # prefix and suffix of a part's name
PIECE = bytes(1 << 20)
SPECIAL = "a pipe or a device, not a regular file"
NOTES = 1 << 30  # the maximum size of a JSON file, which takes many times that in memory


@contextlib.contextmanager
def opened(
    path: str | os.PathLike[str], most: int | None = None,
    encoding: str | None = None, newline: str | None = None,
) -> Iterator[IO[Any]]:  # fmt: skip
    """A regular file opened for reading, as bytes or in an encoding. It may have at most `most`
    bytes (None: the size of the machine's memory).

    OSError for any other file: a pipe may block its reader for ever, a device may never end.
    """
    path = Path(path)
    if found := unnameable(path):
        raise OSError(errno.EINVAL, found)
    mode = "rb" if encoding is None else "r"
    with open(path, mode, encoding=encoding, newline=newline, opener=without_waiting) as file:
        status, room = os.fstat(file.fileno()), memory() if most is None else most
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, SPECIAL)
        if status.st_size > room:
            found = f"{status.st_size:,} bytes, where {room:,} are the most that can be read"
            raise OSError(errno.EFBIG, found)
        yield file


def unnameable(path: str | os.PathLike[str]) -> str:
    """Why no file can have that name; empty if the name is valid."""
    if "\0" in str(path):
        return "a name with a NUL in it, which no file has"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "a name with half a character in it, which no file has"
    return ""


def without_waiting(path: str, flags: int) -> int:
    """An opener that does not block on a pipe without a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def memory() -> int:
    """The bytes of memory in this machine; 2**62, more than any has, if it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 1 << 62


def write_whole(path: str | os.PathLike[str], fill: Callable[[BinaryIO], object]) -> None:
    """Write a file with `fill(file)`, and move it to `path` when it is complete.

    Creates the folder if it is missing. DataError if the file cannot be written, or if `path` is a
    pipe or a device, which must not be replaced; DTypeError if `path` is not a path. No part is
    left after an exception, KeyboardInterrupt included. A process that is killed (or interrupted
    again while it removes the part) leaves one, which a later call removes.
    """
    if not isinstance(path, (str, os.PathLike)) or unnameable(path):
        found = f"{type(path).__name__} {path!r:.60} is no path"
        raise DTypeError("to write a file", found, "give its name, a str or a Path")
    path = Path(path)
    part = path.parent / part_name()
    try:
        check_place(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        with open(part, "xb") as file:  # x: a new file, not a link that someone else placed there
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            raise refused(path, error) from error
        raise


def check_place(path: Path) -> None:
    """OSError if a pipe or a device has that name: root could replace /dev/null by a file."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, SPECIAL)


def check_room(folder: str | Path, size: int) -> None:
    """Create `folder` and check that it has room for a file of `size` bytes. DataError if not."""
    path = Path(folder)
    part = path / part_name()
    try:
        path.mkdir(parents=True, exist_ok=True)
        sweep(path)
        if shutil.disk_usage(path).free < size:  # faster than finding out by writing
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with open(part, "xb") as file:  # there are quotas and read-only folders
            for start in range(0, size, len(PIECE)):
                file.write(PIECE[: size - start])
            file.flush()
            os.fsync(file.fileno())
        part.unlink()
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            raise refused(path, error, size) from error
        raise


def part_name() -> str:
    return BEFORE + secrets.token_hex(16) + AFTER


def sweep(folder: Path) -> None:
    """Remove parts whose writers were killed. Links are removed, their targets are not."""
    for part in folder.glob(f"{BEFORE}*{AFTER}"):
        with contextlib.suppress(OSError):  # already removed, or owned by another user
            if time.time() - part.lstat().st_mtime > STALE:
                part.unlink()


def sync_folder(folder: Path) -> None:
    """Flush the folder's new entry to the disk, if the system can."""
    with contextlib.suppress(OSError):  # not on Windows, nor on some file systems
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_FOLDER = (errno.ENOTDIR, errno.EEXIST)


def refused(path: Path, error: OSError, size: int | None = None) -> DataError:
    """The error for a file that the system refuses to write, with the remedy."""
    asked = f"to write {path}" if size is None else f"to write {size:,} bytes into {path}"
    found = error.strerror or str(error)
    if error.errno in FULL:
        do = "make room on that disk, or choose a folder on another one"
    elif error.errno in NO_FOLDER:
        files = [str(p) for p in (path, *path.parents) if p.exists() and not p.is_dir()]
        found = f"{files[0]} is a file, no folder" if files else found
        do = "give the name of a folder: one that is there, or one that can be made"
    elif found == SPECIAL:
        do = "give the name of a file"
    elif error.errno == errno.EISDIR:
        do = "give the name of a file: a folder is in its place"
    else:
        do = "choose a folder that you may write to"
    return DataError(asked, found, do)


# ---- a folder for the output of one run ----------------------------------------------------------


@contextlib.contextmanager
def run_folder(wanted: Path, results: Iterable[str], own: Path | None = None) -> Iterator[Path]:
    """A folder for this run alone, locked until the end of the block: the first of `wanted`,
    `wanted`-2, ... that contains none of `results` and is not in use by another run.

    `own` is an earlier result of this same run: its folder is used as it is, or DataError if
    another run is at work there.
    """
    for folder in numbered(wanted):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused(folder, error) from error
        with held(folder) as free:
            there = [folder / name for name in results if os.path.lexists(folder / name)]
            mine = own is not None and any(path.exists() and path.samefile(own) for path in there)
            if mine and not free:
                raise DataError(f"to write into {folder}", "another run is at work there",
                                "let it end, or choose another folder")  # fmt: skip
            if mine or (free and not there):
                yield folder
                return


def numbered(wanted: Path) -> Iterator[Path]:
    """runs/mnist, runs/mnist-2, runs/mnist-3, ..., except those that are files."""
    yield wanted
    named = wanted if wanted.name.strip(".") else wanted.resolve()  # "." has no name to number
    others = (named.with_name(f"{named.name}-{n}") for n in itertools.count(2))
    yield from (path for path in others if path.is_dir() or not os.path.lexists(path))


@contextlib.contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Lock the folder until the end of the block or of the process. Yields False if another process
    has locked it."""
    try:
        import fcntl  # Unix has it

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield True  # cannot be determined
        return
    try:
        free = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # nor on a file system without locks
            free = error.errno not in (errno.EAGAIN, errno.EACCES)
        yield free
    finally:
        os.close(handle)
