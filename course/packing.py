"""A learner's work as one zip file, out of a page and into it: my_tutor/ and progress.txt.

The folder is the one that Jupyter and the terminal have, so work can go on anywhere: unpack the
file beside the chapters.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from course.library.disk import FOLDER
from tutor.errors import DataError

PROGRESS = "progress.txt"
MOST = 20 << 20  # bytes that are unpacked
FILES = 5000
NOT_PACKED = (".lock", "__pycache__")
EXCHANGE = ".exchange"  # beside the work, while other work is put in its place
ASKED, TO_DO = "your work from a file", "give a file that this page has exported"


def packed(where: Path) -> bytes:
    """What of a learner's work is in a folder, as a zip file."""
    _exchange(where)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted([where / PROGRESS, *(where / FOLDER).rglob("*")]):
            name = path.relative_to(where)
            if path.is_file() and not set(name.parts) & set(NOT_PACKED):
                archive.writestr(name.as_posix(), path.read_bytes())
    return target.getvalue()


def unpack(where: Path, data: bytes) -> list[str]:
    """Put the work of a zip file in place of what is in a folder; the names of its files.

    DataError, and nothing is changed, where it is no such file, or cannot be written.
    """
    files = _read(data)
    try:
        _exchange(where)  # one that was interrupted comes to its end first
        _stage(where / EXCHANGE, files)
        _exchange(where)
    except (OSError, ValueError) as error:  # ValueError: a name that this system has not
        with contextlib.suppress(OSError):
            _put_back(where)
        raise DataError(ASKED, f"it cannot be written: {error}", TO_DO) from None
    return sorted(files)


def _stage(beside: Path, files: dict[str, bytes]) -> None:
    """Write the new work whole into `beside`/new, which has that name only when all is there."""
    partial = beside / "partial"
    (partial / FOLDER).mkdir(parents=True)
    (partial / PROGRESS).touch()
    for name, text in files.items():
        path = partial / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    for name, text in files.items():
        if (partial / name).read_bytes() != text:
            raise OSError(f"{name} is not what was written")
    (beside / "old").mkdir()
    partial.rename(beside / "new")


def _exchange(where: Path) -> None:
    """Put the work that is whole beside the old in its place, wherever this was interrupted before.

    Until all of the new work is in its place, the old one is there or beside it.
    """
    beside = where / EXCHANGE
    for name in (FOLDER, PROGRESS) if (beside / "new").is_dir() else ():
        if not (beside / "new" / name).exists():
            continue  # it is in its place already
        if os.path.lexists(where / name):
            (where / name).rename(_free(beside / "old" / name))
        (beside / "new" / name).rename(where / name)
    if beside.is_dir():
        with contextlib.suppress(OSError):  # what the zip file had none of
            (where / FOLDER).rmdir()
        if (where / PROGRESS).is_file() and not (where / PROGRESS).stat().st_size:
            (where / PROGRESS).unlink()
        with contextlib.suppress(FileNotFoundError):
            (beside / "new").rmdir()  # from here on the new work is the work
        shutil.rmtree(beside, ignore_errors=True)


def _put_back(where: Path) -> None:
    """Have the old work in its place again, after an error in between."""
    beside = where / EXCHANGE
    for name in (FOLDER, PROGRESS) if (beside / "new").is_dir() else ():
        if not (beside / "new" / name).exists() and os.path.lexists(where / name):
            (where / name).rename(beside / "new" / name)
        if os.path.lexists(beside / "old" / name):
            (beside / "old" / name).rename(where / name)
    shutil.rmtree(beside, ignore_errors=True)


def _free(path: Path) -> Path:
    """A path like this one where nothing is: work that was begun after an interruption is kept."""
    count = 0
    while os.path.lexists(found := path.with_name(f"{path.name}.{count}" if count else path.name)):
        count += 1
    return found


def _read(data: bytes) -> dict[str, bytes]:
    """The files of a zip file that has work and nothing else."""
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > FILES:
                raise DataError(ASKED, f"it has more than {FILES} files", TO_DO)
            left = MOST
            for entry in entries:
                if not _is_work(entry):
                    found = f"it has {entry.filename!r}, and not only {FOLDER}/ and {PROGRESS}"
                    raise DataError(ASKED, found, TO_DO)
                with archive.open(entry) as file:  # its size may be another than it states
                    files[entry.filename] = file.read(left + 1)
                left -= len(files[entry.filename])
                if left < 0:
                    raise DataError(ASKED, f"it unpacks to more than {MOST >> 20} MB", TO_DO)
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError,
            ValueError, MemoryError) as error:  # fmt: skip
        found = f"it cannot be read as a zip file: {error}"
        raise DataError(ASKED, found, TO_DO) from None
    if not files:
        raise DataError(ASKED, "there is nothing in it", TO_DO)
    if twice := _twice([entry.filename for entry in entries]):
        raise DataError(ASKED, f"two of its files want the place {twice!r}", TO_DO)
    return files


def _is_work(entry: zipfile.ZipInfo) -> bool:
    name, path = entry.filename, PurePosixPath(entry.filename)
    if "\\" in name or "\0" in name or ".." in path.parts or path.as_posix() != name:
        return False
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return False  # a link, or a device
    return name == PROGRESS or (len(path.parts) > 1 and path.parts[0] == FOLDER)


def _twice(names: list[str]) -> str:
    """A place that two files want, also where A and a are one; or a file and a folder. Else ""."""
    files: set[str] = set()
    for name in map(str.casefold, names):
        if name in files:
            return name
        files.add(name)
    for name in files:
        for folder in map(str, PurePosixPath(name).parents):
            if folder in files:
                return folder
    return ""
