"""The compiler of the second road, and the folder that keeps what it has made."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from compiled_cases import (
    compiles,
    small,
)

from tutor.programs.source import compiler
from tutor.programs.source.compiled import compiled
from tutor.programs.source.text import source

pytestmark = pytest.mark.usefixtures("second_road")


# ---- the compiler --------------------------------------------------------------------------------


def test_nothing_is_compiled_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for value in ("0", ""):
        monkeypatch.setenv("TUTOR_CC", value)
        assert compiled(small()) is None
    assert capsys.readouterr().err == ""


def test_without_a_compiler_it_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiled(small()) is None
    assert compiled(small()) is None
    assert capsys.readouterr().err == (
        "tutor: TUTOR_CC: there is no C compiler (cc, gcc, clang, or what CC names); "
        "the library's own replay runs\n"
    )
    monkeypatch.setenv("CC", "my-cc -m64")
    assert compiled(small()) is None
    assert "there is no 'my-cc -m64', which CC names" in capsys.readouterr().err


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("echo 'program.c:1: error: no' >&2; exit 1", "fails: program.c:1: error: no"),
        ("exit 0", "fails: it says nothing"),  # and makes nothing
        ("kill -9 $$", "fails: it says nothing"),
    ],
)
def test_a_compiler_that_fails_is_named(
    text: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("CC", script(tmp_path / "cc", text))
    assert compiled(small()) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert str(tmp_path / "cc") in line


@compiles
def test_a_compiler_that_makes_rubbish_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'while [ "$1" ]; do [ "$1" = -o ] && echo rubbish > "$2"; shift; done'
    monkeypatch.setenv("CC", script(tmp_path / "cc", text))
    assert compiled(small()) is None
    assert "cannot be loaded" in capsys.readouterr().err


@compiles
def test_a_compiler_without_native_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = compiler.compiler()[0]
    text = f'case "$*" in *-march=native*) exit 1;; esac\nexec {real} "$@"'
    monkeypatch.setenv("CC", script(tmp_path / "cc", text))
    assert compiled(small()) is not None


# ---- the folder ----------------------------------------------------------------------------------


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that are run from here on."""
    commands: list[str] = []
    ran = compiler.ran

    def run(command: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command[-1])
        return ran(command)

    monkeypatch.setattr(compiler, "ran", run)
    return commands


@compiles
def test_a_source_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    text = source(small())
    first = compiler.built(text)
    commands = counting(monkeypatch)
    assert compiler.built(text) == first
    assert commands == []
    assert compiler.built(text + "\n") != first
    assert len(commands) == 1
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    assert {path.suffix for path in first.parent.iterdir()} == {".so", ".sha256"}


@compiles
def test_those_used_least_recently_go_where_the_folder_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    texts = [source(small()) + "\n" * n for n in range(4)]
    paths = [compiler.built(text) for text in texts[:3]]
    for age, path in enumerate(paths):  # the first one is the oldest
        os.utime(path, (1e9 + age, 1e9 + age))
    compiler.built(texts[0])  # and has been used just now
    monkeypatch.setattr(compiler, "MOST", 3 * paths[0].stat().st_size)
    last = compiler.built(texts[3])
    assert set(last.parent.glob("*.so")) == {paths[0], paths[2], last}
    assert {compiler.digest(p) for p in last.parent.glob("*.so")} == set(last.parent.glob("*.sha*"))
    monkeypatch.setattr(compiler, "MOST", 0)
    assert compiler.built(texts[1]) == paths[1]  # what was asked for stays
    assert set(last.parent.glob("*.so")) == {paths[1]}


@compiles
@pytest.mark.parametrize("harm", ["cut off", "emptied", "changed", "no sum", "sum cut off"])
def test_a_broken_entry_is_compiled_again(
    harm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    program = small()
    path = compiler.built(source(program))
    whole_file = path.read_bytes()
    if harm == "no sum":
        compiler.digest(path).unlink()
    elif harm == "sum cut off":
        compiler.digest(path).write_text("12")
    else:
        kept = len(whole_file) // 2 if harm == "cut off" else 0
        path.write_bytes(whole_file[:kept] + (b"x" * 9 if harm == "changed" else b""))
    assert compiled(program) is not None
    assert compiler.whole(path)


@compiles
def test_another_cpu_is_another_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    here = compiler.built(source(small()))
    flags, defined = compiler.target(tuple(compiler.compiler()))
    monkeypatch.setattr(compiler, "target", lambda _: (flags, defined + "#define __AVX1024__ 1\n"))
    assert compiler.built(source(small())) != here


@compiles
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this platform has no such permissions")
def test_a_folder_that_others_may_write_to_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs").chmod(0o777)
    path = compiler.built(source(small()))
    assert tmp_path not in path.parents
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@compiles
def test_where_there_can_be_no_folder_one_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path / "file"))
    assert compiled(small()) is not None


@compiles
def test_two_who_compile_at_once_do_not_meet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    text, found = source(small()), []
    threads = [threading.Thread(target=lambda: found.append(compiler.built(text)))
               for _ in range(3)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert compiler.whole(found[0])
