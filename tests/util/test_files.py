"""Files are written whole or not at all: whatever fails on the way, and whenever Ctrl-C comes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interrupts import interrupted

import tutor
from tutor import Tensor
from tutor._util import files
from tutor.data import BPE, GPT2BPE, csv, fetch, load_text
from tutor.data.sets.corpus import SHAKESPEARE
from tutor.errors import DataError, DTypeError, TutorError
from tutor.nn import checkpoint
from tutor.training import log

ROOT = Path(files.__file__).parents[2]
PART = files.BEFORE + "0" * 32 + files.AFTER


def writes(*pieces: bytes, error: BaseException | None = None) -> Callable[[Any], None]:
    def fill(file: Any) -> None:
        for piece in pieces:
            file.write(piece)
        if error:
            raise error

    return fill


def test_a_file_and_its_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    files.write_whole(path, writes(b"one", b"two"))
    assert path.read_bytes() == b"onetwo"
    files.write_whole(path, writes(b"new"))
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("path", [3, None, b"file"], ids=repr)
def test_a_path_is_a_text(path):
    with pytest.raises(DTypeError, match="is no path"):
        files.write_whole(path, writes(b"one"))


def test_the_old_file_stands_until_the_new_one_is_complete(tmp_path):
    """Not written over, and not removed first: who looks in between finds the old content."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen = []

    def fill(file):
        file.write(b"n")
        file.flush()
        seen.append(path.read_bytes())
        file.write(b"ew")

    files.write_whole(path, fill)
    assert (seen, path.read_bytes()) == ([b"old"], b"new")


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()],
)  # fmt: skip
def test_after_an_error_the_old_file_is_there_and_no_part(tmp_path, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    expected = DataError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        files.write_whole(path, writes(b"half", error=error))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_permissions_of_any_other(tmp_path):
    before = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "file", writes(b"x"))
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_links_are_not_followed(tmp_path):
    """Neither the file's own, nor any that is laid where a part could be."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    folder = tmp_path / "out"
    folder.mkdir()
    names = ["file", "file.part", ".file.part", PART]
    for name in names:
        (folder / name).symlink_to(victim)
    files.write_whole(folder / "file", writes(b"new"))
    files.check_room(folder, 100)
    assert victim.read_bytes() == b"precious"
    assert (folder / "file").read_bytes() == b"new" and not (folder / "file").is_symlink()


def test_parts_have_other_names_every_time():
    names = {files.part_name() for _ in range(100)}
    assert len(names) == 100 and min(map(len, names)) > 32


def test_a_part_is_new_or_it_is_an_error(tmp_path, monkeypatch):
    """Even if somebody guessed the name and laid a link there."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / PART).symlink_to(victim)
    monkeypatch.setattr(files, "part_name", lambda: PART)
    with pytest.raises(DataError):
        files.write_whole(tmp_path / "file", writes(b"new"))
    assert victim.read_bytes() == b"precious"


def test_parts_of_killed_writers_are_removed_later(tmp_path):
    stale, fresh = tmp_path / PART, tmp_path / PART.replace("0", "1")
    for part in (stale, fresh):
        part.write_bytes(b"half")
    old = time.time() - files.STALE - 60
    os.utime(stale, (old, old))
    files.write_whole(tmp_path / "file", writes(b"x"))
    assert {p.name for p in tmp_path.iterdir()} == {"file", fresh.name}


def test_links_among_the_parts_go_by_their_own_age_and_what_they_name_stays(tmp_path):
    old = time.time() - files.STALE - 60
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    kept.write_bytes(b"precious")
    folder.mkdir()
    stale, fresh, dead = (tmp_path / PART.replace("0", c) for c in "123")
    for link, to in ((stale, kept), (fresh, folder), (dead, tmp_path / "nowhere")):
        link.symlink_to(to)
    for path in (kept, folder):
        os.utime(path, (old, old))
    for link in (stale, dead):
        os.utime(link, (old, old), follow_symlinks=False)
    files.sweep(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"kept", "folder", fresh.name}
    os.utime(kept)
    stale.symlink_to(kept)
    os.utime(stale, (old, old), follow_symlinks=False)
    files.sweep(tmp_path)
    assert not stale.is_symlink() and kept.read_bytes() == b"precious"


def test_file_and_folder_are_synced_in_this_order(tmp_path, monkeypatch):
    """After a power cut a renamed file must have its content: it is on the disk before its name."""
    done = []
    sync, replace = os.fsync, os.replace

    def fsync(handle):
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("replace"), replace(a, b)))
    files.write_whole(tmp_path / "file", writes(b"x"))
    if os.path.isdir("/proc/self/fd"):
        assert done == ["file", "replace", "folder"]


# ---- where nothing can be written ----------------------------------------------------------------


def test_a_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "taken").write_bytes(b"text")
    for action in (
        lambda: files.check_room(tmp_path / "taken", 10),
        lambda: files.check_room(tmp_path / "taken" / "deeper", 10),
        lambda: files.write_whole(tmp_path / "taken" / "file", writes(b"x")),
    ):
        with pytest.raises(DataError, match="taken is a file, no folder") as caught:
            action()
        assert "folder" in caught.value.do
    assert (tmp_path / "taken").read_bytes() == b"text"


def test_a_folder_in_place_of_a_file(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(DataError, match="a folder is in its place"):
        files.write_whole(tmp_path / "taken", writes(b"x"))
    assert not list((tmp_path / "taken").iterdir())


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    try:
        for action in (
            lambda: files.check_room(tmp_path, 1),
            lambda: files.write_whole(tmp_path / "file", writes(b"x")),
        ):
            with pytest.raises(DataError, match="you may write to"):
                action()
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_read_only_folder_is_explained(tmp_path, monkeypatch, code):
    """As root sees it, too, where a disk is mounted read-only."""

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: refuse())
    with pytest.raises(DataError, match="choose a folder that you may write to"):
        files.check_room(tmp_path, 1)


# A disk that takes 1 MB and no more, for one process: the limit on the size of its files.
FULL_DISK = """
import resource, sys
from pathlib import Path
from tutor._util import files
from tutor.errors import DTypeError, DataError
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
path = Path(sys.argv[1])
for action in (
    lambda: files.check_room(path.parent, 3_000_000),
    lambda: files.write_whole(path, lambda file: [file.write(bytes(70_000)) for _ in range(40)]),
):
    try:
        action()
        print("written")
    except DataError as error:
        print(error.do)
files.check_room(path.parent, 999_999)
"""


def test_a_full_disk_leaves_the_old_file_and_no_part(tmp_path):
    pytest.importorskip("resource", reason="limits of a process are a matter of Unix")
    path = tmp_path / "file"
    path.write_bytes(b"old")
    result = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert (
        result.stdout.splitlines()
        == ["make room on that disk, or choose a folder on another one"] * 2
    )
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_more_than_there_is_room_for_is_refused_without_filling_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PIECE", None)  # whoever writes fails
    with pytest.raises(DataError, match="make room on that disk"):
        files.check_room(tmp_path, 10**18)
    assert list(tmp_path.iterdir()) == []


# ---- a folder for one run ------------------------------------------------------------------------


def test_a_folder_with_results_is_left_alone(tmp_path):
    wanted = tmp_path / "a" / "run"
    made = []
    for name in ("result", "other", "result", "result"):
        with files.run_folder(wanted, ["result", "other"]) as folder:
            (folder / name).write_bytes(b"")
            made.append(folder.name)
    assert made == ["run", "run-2", "run-3", "run-4"]
    with files.run_folder(wanted, ["something"]) as folder:
        assert folder == wanted, "what is no result is in nobody's way"


def test_a_broken_link_and_a_file_are_in_the_way(tmp_path):
    wanted = tmp_path / "run"
    wanted.mkdir()
    (wanted / "result").symlink_to("nowhere")
    (tmp_path / "run-2").write_bytes(b"")
    (tmp_path / "run-3").symlink_to("nowhere")
    with files.run_folder(wanted, ["result"]) as folder:
        assert folder.name == "run-4"


def test_a_run_that_goes_on_keeps_its_folder(tmp_path):
    own, other = tmp_path / "result", tmp_path / "copy"
    own.write_bytes(b"")
    other.write_bytes(b"")
    with files.run_folder(tmp_path, ["result"], own) as folder:
        assert folder == tmp_path
    with files.run_folder(tmp_path, ["result"], other) as folder:
        assert folder == tmp_path.with_name(f"{tmp_path.name}-2"), "result is another run's"


def test_the_current_folder_has_a_name_too(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("result").write_bytes(b"")
    with files.run_folder(Path("."), ["result"]) as folder:
        assert folder == tmp_path / "here-2"


def test_two_runs_at_once_have_a_folder_each(tmp_path):
    """Though neither has written anything yet."""
    pytest.importorskip("fcntl", reason="folders are held on Unix only")
    wanted = tmp_path / "run"
    with (
        files.run_folder(wanted, ["result"]) as first,
        files.run_folder(wanted, ["result"]) as second,
    ):
        assert (first.name, second.name) == ("run", "run-2")
        (first / "result").write_bytes(b"")
        with (
            pytest.raises(DataError, match="another run is at work there"),
            files.run_folder(wanted, ["result"], first / "result"),
        ):
            pass
    with files.run_folder(wanted, ["result"], first / "result") as again:
        assert again == first


# ---- Ctrl-C, at every moment ---------------------------------------------------------------------


@pytest.fixture
def quick_disk(monkeypatch):
    """Thousands of files are written here; none of them must outlive a power cut."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def interrupt_everywhere(action: Callable[[], object], after: Callable[[], None]) -> int:
    """Run `action` again and again, interrupted one bytecode later each time, and `after` each
    time; how often it was interrupted until it came to its end."""
    n = 0
    while True:
        try:
            if not interrupted(n, action, files.__file__, checkpoint.__file__):
                return n
        finally:
            after()
        n += 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file unclosed
def test_an_interrupt_at_any_bytecode_leaves_a_whole_checkpoint_and_nothing_else(
    tmp_path, quick_disk
):
    path = tmp_path / "x.safetensors"
    old = {"w": [1.0, 2.0], "v": [3.0]}, {"at": "old"}
    new = {"w": [4.0, 5.0, 6.0], "u": [7.0]}, {"at": "new"}
    seen = []

    def save(state):
        checkpoint.save(path, {name: Tensor(v) for name, v in state[0].items()}, state[1])

    def after():
        tensors, notes = checkpoint.load(path)
        found = {name: t.tolist() for name, t in tensors.items()}, notes
        assert found in (old, new)
        seen.append(found == new)
        assert list(tmp_path.iterdir()) == [path], "a part was left"
        path.write_bytes(before)

    save(old)
    before = path.read_bytes()
    count = interrupt_everywhere(lambda: save(new), after)
    assert count > 500
    first = seen.index(True)
    assert first > 400, "the new one took the old one's place near the end"
    assert seen[first:] == [True] * (len(seen) - first)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_while_there_was_no_file_leaves_none_or_a_whole_one(tmp_path, quick_disk):
    path = tmp_path / "x.safetensors"

    def after():
        assert list(tmp_path.iterdir()) in ([], [path])
        if path.exists():
            assert checkpoint.load(path)[1] == {"at": "new"}
            path.unlink()

    save = {"w": Tensor([1.0])}
    assert interrupt_everywhere(lambda: checkpoint.save(path, save, {"at": "new"}), after) > 400


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_while_looking_for_room_leaves_nothing(tmp_path, quick_disk):
    def after():
        assert list(tmp_path.iterdir()) == []

    assert interrupt_everywhere(lambda: files.check_room(tmp_path, 10_000), after) > 50


# ---- reading -------------------------------------------------------------------------------------


def gpt2(path: Path) -> object:
    """GPT2BPE.load, with that path in the place of the merges."""
    folder = Path(tempfile.mkdtemp(dir=path.parent if path.parent.is_dir() else None))
    (folder / "vocab.json").write_text("{}")
    (folder / "merges.txt").symlink_to(path)
    return GPT2BPE.load(folder)


def onnx_file(path: Path) -> object:
    pytest.importorskip("onnx")
    return tutor.onnx.load(path)


READERS: dict[str, Callable[[Path], object]] = {
    "checkpoint.load": checkpoint.load,
    "tutor.load": tutor.load,
    "BPE.load": BPE.load,
    "GPT2BPE.load": gpt2,
    "load_text": load_text,
    "csv": csv,
    "append": lambda path: log.append(path, {"epoch": 1}),
    "read_log": log.read_log,
    "fetch.read": lambda path: fetch.read(path, SHAKESPEARE),
    "onnx.load": onnx_file,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "sparse", "NUL", "half"])
def test_only_regular_files_of_a_size_that_fits_are_read(tmp_path, kind, name):
    """A pipe without a writer would block, /dev/zero would fill the memory."""
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "sparse":
        path.touch()
        os.truncate(path, 1 << 43)
    elif name == "GPT2BPE.load":
        return  # no link can be made to such a name
    else:
        path = tmp_path / ("a\0b" if kind == "NUL" else "a\ud800b")
    with pytest.raises(TutorError) as caught:
        READERS[name](path)
    assert caught.value.asked and caught.value.found and caught.value.do


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "a\ud800/b"], ids=ascii)
def test_a_name_that_no_file_has_is_not_written(tmp_path, name):
    with pytest.raises(DTypeError, match="no path"):
        files.write_whole(tmp_path / name, writes(b"x"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["pipe", "link", "device"])
def test_no_file_takes_the_place_of_a_pipe_or_a_device(tmp_path, kind, monkeypatch):
    """Root would replace /dev/null for all other programs, too."""
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    if kind == "device":  # /dev/null itself, in a test that must not replace it
        monkeypatch.setattr(files, "part_name", lambda: str(tmp_path / "part"))
        monkeypatch.setattr(files.os, "replace", lambda part, to: pytest.fail(f"replaced {to}"))
        path = Path("/dev/null")
    before = path.lstat()
    with pytest.raises(DataError, match="a pipe or a device") as caught:
        tutor.save(path, {"a": 1})
    assert caught.value.do == "give the name of a file"
    assert path.lstat() == before and len(list(tmp_path.iterdir())) == 1


def test_a_pipe_into_which_somebody_writes_is_none_either(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    both = os.open(tmp_path / "pipe", os.O_RDWR)
    with pytest.raises(OSError, match="not a regular file"), files.opened(tmp_path / "pipe"):
        pass
    os.close(both)
    (tmp_path / "file").write_bytes(b"four")
    with files.opened(tmp_path / "file", 4) as file:
        assert file.read() == b"four"
    with pytest.raises(OSError, match="4 bytes, where 3 "), files.opened(tmp_path / "file", 3):
        pass
