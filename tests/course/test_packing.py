"""A learner's work, out of a page and into it as one zip file."""

from __future__ import annotations

import io
import zipfile

import pytest

from course import packing
from tutor.errors import DataError


def zipped(**files):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return target.getvalue()


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
}


@pytest.mark.parametrize("why", NOT_WORK)
def test_what_is_no_work_is_refused_and_nothing_is_changed(tmp_path, why):
    work(tmp_path)
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}
    with pytest.raises(DataError):
        packing.unpack(tmp_path, NOT_WORK[why])
    assert {path: path.stat().st_size for path in tmp_path.rglob("*")} == before
