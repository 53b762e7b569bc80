"""A learner's work, out of a page and into it as one zip file."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from course import packing
from tutor.errors import DataError


def zipped(*more, how=zipfile.ZIP_STORED, **files):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", how) as archive:
        for name, text in [*files.items(), *more]:
            archive.writestr(name, text)
    return target.getvalue()


def link(name):
    """An entry that is a link."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def flagged(data, mark, offset, bit):
    """A zip file with a bit set in each of its headers of one kind."""
    made, at = bytearray(data), data.find(mark)
    while at >= 0:
        made[at + offset] |= bit
        at = data.find(mark, at + 1)
    return bytes(made)


def there(folder):
    """All that a folder has in it, with what is in the files."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def work(folder):
    (folder / "my_tutor" / ".history").mkdir(parents=True)
    (folder / "my_tutor" / "tensor.py").write_text("class Tensor: ...\n")
    (folder / "my_tutor" / ".history" / "a.py").write_text("old\n")
    (folder / "my_tutor" / ".lock").write_text("")
    (folder / "progress.txt").write_text("02.1 passed tries=0 hints=0\n")
    (folder / "other.txt").write_text("not work\n")


def test_what_is_packed_is_there_again_in_another_folder(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    work(one)
    (two / "my_tutor").mkdir()
    (two / "my_tutor" / "gone.py").write_text("before")
    names = packing.unpack(two, packing.packed(one))
    assert names == ["my_tutor/.history/a.py", "my_tutor/tensor.py", "progress.txt"]
    for name in names:
        assert (two / name).read_bytes() == (one / name).read_bytes()
    assert not (two / "my_tutor" / "gone.py").exists()


NOT_WORK = {
    "no zip": b"PK nothing",
    "empty": zipped(),
    "a way out": zipped(**{"my_tutor/../../x.py": "x"}),
    "from the root": zipped(**{"/my_tutor/x.py": "x"}),
    "backslashes": zipped(**{"my_tutor\\..\\..\\x.py": "x"}),
    "another folder": zipped(**{"your_tutor/x.py": "x"}),
    "another file": zipped(**{"notes.txt": "x"}),
    "too large": zipped(**{"my_tutor/x.py": "x" * (packing.MOST + 1)}),
    "a bomb": zipped(("my_tutor/x.py", "x" * (packing.MOST + 1)), how=zipfile.ZIP_DEFLATED),
    "many bombs": zipped(*[(f"my_tutor/{n}", "x" * (9 << 20)) for n in range(3)],
                         how=zipfile.ZIP_DEFLATED),
    "too many": zipped(*[(f"my_tutor/{n}", "") for n in range(packing.FILES + 1)]),
    "a file that is a folder": zipped(("my_tutor/a", "x"), ("my_tutor/a/b.py", "x")),
    "a folder before its file": zipped(("my_tutor/a/b.py", "x"), ("my_tutor/a", "x")),
    "progress that is a folder": zipped(("progress.txt/x", "x")),
    "the folder as a file": zipped(("my_tutor", "x")),
    "names that differ in case": zipped(("my_tutor/A.py", "x"), ("my_tutor/a.py", "y")),
    "a link": zipped((link("my_tutor/x.py"), "/etc/passwd")),
    "a way in place": zipped(("my_tutor/./x.py", "x")),
    "two slashes": zipped(("my_tutor//x.py", "x")),
    "a drive": zipped(("C:/my_tutor/x.py", "x")),
    "truncated": zipped(("my_tutor/x.py", "x" * 999))[:-99],
    "damaged": zipped(("my_tutor/x.py", "x" * 999)).replace(b"xxx", b"xyx", 1),
    "damaged, packed": zipped(("my_tutor/x.py", os.urandom(999) * 3), how=zipfile.ZIP_DEFLATED)
                       .replace(b"my_tutor/x.py", b"my_tutor/x.py\xff\xff\xff", 1),
    "encrypted": flagged(flagged(zipped(("my_tutor/x.py", "x")), b"PK\1\2", 8, 1), b"PK\3\4", 6, 1),
    "packed in a way of its own": flagged(zipped(("my_tutor/x.py", "x")), b"PK\1\2", 10, 99),
    "a name that is too long": zipped(("my_tutor/" + "x" * 300, "x")),
}  # fmt: skip

with pytest.warns(UserWarning, match="Duplicate name"):
    NOT_WORK["the same name twice"] = zipped(("my_tutor/x.py", "x"), ("my_tutor/x.py", "y"))


@pytest.mark.parametrize("why", NOT_WORK)
def test_what_is_no_work_is_refused_and_nothing_is_changed(tmp_path, why):
    work(tmp_path)
    before = there(tmp_path)
    with pytest.raises(DataError, match="asked: your work from a file"):
        packing.unpack(tmp_path, NOT_WORK[why])
    assert there(tmp_path) == before


class Cut(BaseException):
    """Python ended here."""


STEPS = ("mkdir", "write_bytes", "rename", "rmdir", "unlink", "touch")
NEW = {"my_tutor/new.py": "new", "progress.txt": "new"}
ONLY = {
    "all of it": NEW,
    "no progress": {"my_tutor/new.py": "new"},
    "no library": {"progress.txt": "new"},
}


def stopped(monkeypatch, after, error):
    """Have the step of that number fail, and each after it where Python has ended."""
    count = 0

    def step(real):
        def instead(*args, **kwargs):
            nonlocal count
            count += 1
            if count > after and (error is Cut or count == after + 1):
                raise error("no room")
            return real(*args, **kwargs)

        return instead

    for name in STEPS:
        monkeypatch.setattr(Path, name, step(getattr(Path, name)))
    return lambda: count > after


@pytest.mark.parametrize("error", [Cut, OSError])
@pytest.mark.parametrize("files", ONLY)
def test_an_exchange_that_stops_anywhere_loses_no_work(tmp_path, monkeypatch, files, error):
    """After an end of Python the one or the other is whole at the next use; else the old one."""
    data = zipped(**ONLY[files])
    for after in range(99):
        place = tmp_path / str(after)
        place.mkdir()
        work(place)
        old = there(place)
        with monkeypatch.context() as patch, contextlib.suppress(Cut):
            met = stopped(patch, after, error)
            try:
                packing.unpack(place, data)
            except DataError:
                patch.undo()
                assert there(place) == old, after
        packing.packed(place)  # the next use
        now = {name: text for name, text in there(place).items() if name != "other.txt"}
        new = {"my_tutor": None} | {name: text.encode() for name, text in ONLY[files].items()}
        if files == "no library":
            del new["my_tutor"]
        assert now in (new, {name: text for name, text in old.items() if name != "other.txt"}), (
            after
        )
        if not met():
            assert now == new and after > 5
            break
    else:
        raise AssertionError("it never came to its end")
