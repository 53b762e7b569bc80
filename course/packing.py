"""A learner's work as one zip file, out of a page and into it: my_tutor/ and progress.txt.

The folder is the one that Jupyter and the terminal have, so work can go on anywhere: unpack the
file beside the chapters.
"""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from course.library.disk import FOLDER
from tutor.errors import DataError

PROGRESS = "progress.txt"
MOST = 20 << 20  # bytes that are unpacked
NOT_PACKED = (".lock", "__pycache__")


def packed(where: Path) -> bytes:
    """What of a learner's work is in a folder, as a zip file."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted([where / PROGRESS, *(where / FOLDER).rglob("*")]):
            name = path.relative_to(where)
            if path.is_file() and not set(name.parts) & set(NOT_PACKED):
                archive.writestr(name.as_posix(), path.read_bytes())
    return target.getvalue()


def unpack(where: Path, data: bytes) -> list[str]:
    """Put the work of a zip file in place of what is in a folder; the names of its files.

    DataError, and nothing is changed, where it is no such file.
    """
    files = _read(data)
    shutil.rmtree(where / FOLDER, ignore_errors=True)
    (where / PROGRESS).unlink(missing_ok=True)
    for name, text in files.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    return sorted(files)


def _read(data: bytes) -> dict[str, bytes]:
    asked, to_do = "your work from a file", "give a file that this page has exported"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in entries) > MOST:
                raise DataError(asked, f"it unpacks to more than {MOST >> 20} MB", to_do)
            for entry in entries:
                if not _is_work(entry.filename):
                    found = f"it has {entry.filename!r}, and not only {FOLDER}/ and {PROGRESS}"
                    raise DataError(asked, found, to_do)
            files = {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise DataError(asked, f"it cannot be read as a zip file: {error}", to_do) from None
    if not files:
        raise DataError(asked, "there is nothing in it", to_do)
    return files


def _is_work(name: str) -> bool:
    parts = PurePosixPath(name).parts
    if "\\" in name or name.startswith("/") or ".." in parts:
        return False
    return name == PROGRESS or (len(parts) > 1 and parts[0] == FOLDER)
