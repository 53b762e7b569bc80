"""Files that are written whole or not at all, and read only where reading them must end.

The new content goes into a part, a file of a name that nobody can foresee beside the old one, and
takes the old one's place in one step when it is complete and on the disk. So whatever happens on
the way (an error, a full disk, Ctrl-C, the end of the process or of the power), a reader finds the
old content or the new one, never a mixture.
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

STALE = 3600.0  # seconds after which a part that nobody writes to has lost its writer
BEFORE, AFTER = ".tutor-", ".part"  # what a part's name begins and ends with
PIECE = bytes(1 << 20)
SPECIAL = "a pipe or a device, not a regular file"
NOTES = 1 << 30  # the most bytes of a file of notes (JSON), which needs many times that in memory


@contextlib.contextmanager
def opened(
    path: str | os.PathLike[str], most: int | None = None,
    encoding: str | None = None, newline: str | None = None,
) -> Iterator[IO[Any]]:  # fmt: skip
    """A file to be read, as bytes or in an encoding: a regular one of at most so many bytes (None:
    of no more than the machine's memory).

    OSError for all others: a pipe may keep its reader waiting for ever, a device may never end.
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
    """Why no file can have that name; empty if one can."""
    if "\0" in str(path):
        return "a name with a NUL in it, which no file has"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "a name with half a character in it, which no file has"
    return ""


def without_waiting(path: str, flags: int) -> int:
    """A pipe is opened at once, even if nobody writes into it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def memory() -> int:
    """The bytes of memory that this machine has; where it does not say, more than any has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 1 << 62


def write_whole(path: str | os.PathLike[str], fill: Callable[[BinaryIO], object]) -> None:
    """Write a file with `fill(file)`, and put it in the place of `path` when it is complete.

    The folder is made where there is none. DataError where the file cannot be written, or where a
    pipe or a device has that name, whose place no file may take; DTypeError for what is no path.
    After an exception, KeyboardInterrupt included, no part is left; a process that is killed (or
    interrupted once more while it removes the part) leaves one, which a later call removes.
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
        with open(part, "xb") as file:  # x: a new file, and no link placed there by another
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
    """OSError if what has that name is no file and no folder: root could replace /dev/null."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, SPECIAL)


def check_room(folder: str | Path, size: int) -> None:
    """Make `folder`, and see that a file of `size` bytes can be written there. DataError if not."""
    path = Path(folder)
    part = path / part_name()
    try:
        path.mkdir(parents=True, exist_ok=True)
        sweep(path)
        if shutil.disk_usage(path).free < size:  # it would take long to find that out by writing
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with open(part, "xb") as file:  # there are quotas, and folders that one may not write to
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
    """Remove parts whose writers were killed. Links among them go, what they name stays."""
    for part in folder.glob(f"{BEFORE}*{AFTER}"):
        with contextlib.suppress(OSError):  # somebody else has removed it, or owns it
            if time.time() - part.lstat().st_mtime > STALE:
                part.unlink()


def sync_folder(folder: Path) -> None:
    """Have the folder's new entry on the disk, too, where the system knows how to."""
    with contextlib.suppress(OSError):  # Windows opens no folders, some file systems sync none
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_FOLDER = (errno.ENOTDIR, errno.EEXIST)


def refused(path: Path, error: OSError, size: int | None = None) -> DataError:
    """The error for a file that the system does not let us write, with what helps."""
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


# ---- a folder for what one run writes ------------------------------------------------------------


@contextlib.contextmanager
def run_folder(wanted: Path, results: Iterable[str], own: Path | None = None) -> Iterator[Path]:
    """A folder for this run alone: `wanted`, or with a number behind it the first one that has none
    of these results, and in which no other run is at work. It is held until the end of the block.

    `own` is a result of this very run: the folder where it stands is taken as it is.
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
    """runs/mnist, runs/mnist-2, runs/mnist-3, ... without those that are files."""
    yield wanted
    named = wanted if wanted.name.strip(".") else wanted.resolve()  # "." has no name to number
    others = (named.with_name(f"{named.name}-{n}") for n in itertools.count(2))
    yield from (path for path in others if path.is_dir() or not os.path.lexists(path))


@contextlib.contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Whether no other process holds this folder; if so, this one does until the end of the block
    or its own end, whatever ends it."""
    try:
        import fcntl  # Unix has it

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield True  # nobody can tell
        return
    try:
        free = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # a file system without locks can tell nothing, either
            free = error.errno not in (errno.EAGAIN, errno.EACCES)
        yield free
    finally:
        os.close(handle)
