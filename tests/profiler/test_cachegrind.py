"""cachegrind(): by a program in place of valgrind, and by the real one or the reason why not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shutil import which

import pytest

from tutor.errors import DataError, DomainError, MissingPackageError
from tutor.profiler import cachegrind as module
from tutor.profiler.cachegrind import CACHES, COUNTS, cachegrind

# Writes the counts 1, 2, 3 ..., and what it was called with.
STAND_IN = """#!{python} -I
import json, os, sys
files = [word.split("=")[1] for word in sys.argv if word.startswith("--cachegrind-out-file=")]
events = "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim".split()
with open({log!r}, "w") as log:
    json.dump([sys.argv[1:], os.environ["TUTOR_SIMD"], os.environ["TUTOR_NUM_THREADS"]], log)
if sys.argv[-1] == "fail":
    sys.exit("no such walk")
with open(files[0], "w") as out:
    print("desc: D1 cache: 32768 B, 64 B, 8-way associative\\ncmd: ./walk", file=out)
    print("events:", *events, file=out)
    print("fl=???\\nfn=main\\n0 1 1", file=out)
    print("summary:", *range(1, 14), file=out)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it notes its arguments."""
    log = tmp_path / "log.json"
    program = tmp_path / "valgrind"
    program.write_text(STAND_IN.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return log


def test_the_counts_have_names(stand_in: Path) -> None:
    assert cachegrind(["./walk", "300"]) == {
        "instructions": 1,
        "loads": 4,
        "stores": 7,
        "first-level misses": 5 + 8,
        "last-level misses": 6 + 9,
        "branches": 10 + 12,
        "branch misses": 11 + 13,
    }


def test_the_caches_and_the_level_are_set(stand_in: Path) -> None:
    import json

    cachegrind(["./walk", "300"], level="sse4")
    words, level, threads = json.loads(stand_in.read_text())
    assert words[-2:] == ["./walk", "300"] and (level, threads) == ("sse4", "1")
    assert {f"--{cache}={geometry}" for cache, geometry in CACHES.items()} < set(words)
    assert {"--cache-sim=yes", "--branch-sim=yes"} < set(words)
    with pytest.raises(DomainError, match="one of 'avx2', 'sse4', 'scalar'"):
        cachegrind(["./walk"], level="avx512")


def test_a_program_that_fails(stand_in: Path) -> None:
    with pytest.raises(DataError, match="ended with 1: no such walk"):
        cachegrind(["./walk", "fail"])


@pytest.mark.parametrize("wrong", ["./walk 300", []])
def test_no_list_of_words(wrong: str | list[str]) -> None:
    with pytest.raises(DomainError, match="no list of words"):
        cachegrind(wrong)


def test_without_valgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "which", lambda name: None)
    with pytest.raises(MissingPackageError) as caught:
        cachegrind(["./walk"])
    assert caught.value.found == "there is no valgrind" and "chapter 13" in caught.value.do


def test_here() -> None:
    """The real one counts the same each time, or it is said that there is none."""
    program = [which("true") or "true"]
    if not which("valgrind"):
        with pytest.raises(MissingPackageError, match="apt install valgrind"):
            cachegrind(program)
        return
    first, second = cachegrind(program), cachegrind(program)
    assert first == second and first.keys() == COUNTS.keys()
    assert first["instructions"] > first["loads"] > first["first-level misses"] > 0
