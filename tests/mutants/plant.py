"""Plant known bugs, one at a time, in a copy of the tree: each must make one of its tests fail.

    make mutants                            # all of them
    make mutants ARGS="--only adam"         # those with "adam" in their name
    make mutants ARGS="--python"            # those for which nothing need be built
    make mutants ARGS="--native"            # the others: each is compiled
    make mutants ARGS="--some 8 --by 1f3c"  # eight, chosen by that text: for CI, a commit's name

The tests that are to notice are run without any bug first: a test that fails anyway notices
nothing. The copy has an environment of its own, which finds the library in the copy and all other
packages where this one finds them. Native bugs are built for the best level of this CPU alone.
Each processor, up to four, has a copy of its own and its share of the bugs.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mutant import ROOT, Mutant, TroubleError, planted

LEFT_OUT = (".git", ".venv*", "build", "_build", "*.so", "__pycache__", ".*_cache", ".hypothesis",
            "runs", "my-chapters", "pictures")  # fmt: skip
NATIVE = Path("tutor/backends/simd_cpp")
PATIENCE = 900  # seconds for the tests of one mutant; then it is ended, and says nothing
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Found(NamedTuple):
    """What became of a mutant: `by` is the test that failed, None if all passed."""

    mutant: Mutant
    by: str | None
    seconds: float
    trouble: str = ""

    @property
    def fine(self) -> bool:
        return self.by is not None and not self.trouble

    def __str__(self) -> str:
        word = "TROUBLE " if self.trouble else "caught  " if self.by else "SURVIVED"
        line = f"{word} {self.seconds:5.1f} s  {self.mutant.name}"
        if self.by:
            return f"{line}: {self.by}"
        return f"{line}\n    {self.mutant.why}" + f"\n    {self.trouble}" * bool(self.trouble)


class Field:
    """The copy of the tree in which bugs are planted."""

    def __init__(self, root: Path, to: Path) -> None:
        self.root, self.tree = root, to / "tree"
        shutil.copytree(root, self.tree, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        venv.create(to / "env", symlinks=True)
        self.python = to / "env" / "bin" / "python"
        # A path file that names a folder does not read that folder's own path files: so the copy is
        # found, and not the tree for which an editable installation redirects imports.
        here = Path(sysconfig.get_path("purelib", vars={"base": str(to / "env")}))
        others = [p for p in sys.path if p.endswith("site-packages")]
        (here / "paths.pth").write_text("\n".join([str(self.tree), *others]) + "\n")
        self.variables = {**os.environ, "CI": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.variables.pop("PYTHONPATH", None)

    def run(self, *command: object, **more: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*map(str, command)], cwd=self.tree, env=self.variables, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more,
        )  # fmt: skip

    def must(self, *command: object) -> None:
        done = self.run(*command)
        if done.returncode:
            errors = [line for line in done.stdout.splitlines() if "error" in line.lower()]
            said = "\n    ".join(errors[:5]) or done.stdout[-2000:]
            raise TroubleError(f"{Path(str(command[0])).name} failed:\n    {said}")

    def failing(self, tests: str, only: str = "") -> str | None:
        """The first of `tests` that fails, None if all pass."""
        paths = [f"tests/{test}" for test in tests.split()]
        command = (self.python, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider")
        try:
            done = self.run(*command, *paths, *(["-k", only] if only else []), timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise TroubleError(f"no end in {PATIENCE} s: {tests}") from None
        if done.returncode < 0:
            return f"the process is ended by signal {-done.returncode}: {tests}"
        if done.returncode not in (0, 1):  # collected nothing, or failed to
            raise TroubleError(f"pytest says:\n{done.stdout[-2000:]}")
        if not done.returncode and " passed" not in done.stdout:
            raise TroubleError(f"nothing has run of {tests}:\n{done.stdout[-500:]}")
        found = FAILED.search(done.stdout)
        return (found.group(1) if found else "?") if done.returncode else None

    def check_sound(self, mutants: Iterable[Mutant]) -> None:
        """TroubleError if a test that is to notice a bug fails without any. Those of one choice run
        together."""
        chosen: dict[str, set[str]] = {}
        for mutant in mutants:
            chosen.setdefault(mutant.only, set()).update(mutant.tests.split())
        for only, tests in chosen.items():
            if failed := self.failing(" ".join(sorted(tests)), only):
                raise TroubleError(f"{failed} fails without any bug")

    # ---- the extension ---------------------------------------------------------------------------

    def extend(self, native: bool) -> None:
        """Put the extension into the copy: a copy of the one in use, or one that is built there."""
        if not native:
            with contextlib.suppress(ImportError):  # a pure installation has none
                from tutor.backends.simd_cpp import _simd

                shutil.copy2(str(_simd.__file__), self.tree / NATIVE)
            return
        import pybind11

        from tutor.backends import simd_cpp

        scripts = sysconfig.get_path("scripts")
        self.variables["PATH"] = f"{scripts}{os.pathsep}{self.variables['PATH']}"
        tool = shutil.which("ninja", path=self.variables["PATH"])
        cache = shutil.which("ccache", path=self.variables["PATH"])
        self.variables["CCACHE_BASEDIR"] = str(self.tree)
        self.build = self.tree / "build"
        self.must(
            "cmake", "-S", self.tree / NATIVE, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release",
            f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
            f"-DTUTOR_LEVELS={simd_cpp.level()}",
            *(["-G", "Ninja"] if tool else []),
            *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={cache}"] if cache else []),
        )  # fmt: skip
        self.compile()
        self.sound = self.tree.parent / "sound"
        shutil.copytree(self.build, self.sound, symlinks=True)

    def compile(self) -> None:
        self.must("cmake", "--build", self.build, "--parallel", os.cpu_count() or 1)
        (built,) = self.build.glob("_simd*.so")
        shutil.copy2(built, self.tree / NATIVE)

    # ---- one bug ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def with_bug(self, mutant: Mutant) -> Iterator[None]:
        """The bug is in the copy, built if need be; afterwards all is as before, to the times of
        files and objects, so that nothing is compiled twice."""
        path = self.tree / mutant.file
        if not path.exists():
            raise TroubleError(f"{mutant.file} is gone")
        before, times = path.read_text(), path.stat()
        path.write_text(planted(mutant, before))
        try:
            if mutant.is_native:
                self.compile()
            yield
        finally:
            path.write_text(before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if mutant.is_native:
                shutil.rmtree(self.build)
                shutil.copytree(self.sound, self.build, symlinks=True)
                (built,) = self.build.glob("_simd*.so")
                shutil.copy2(built, self.tree / NATIVE)

    def verdict(self, mutant: Mutant) -> Found:
        start = time.monotonic()
        by, trouble = None, ""
        try:
            with self.with_bug(mutant):
                if mutant.has_a_twin:
                    self.variables["TUTOR_NATIVE"] = "0"
                by = self.failing(mutant.tests, mutant.only)
        except TroubleError as error:
            trouble = str(error)
        finally:
            self.variables.pop("TUTOR_NATIVE", None)
        return Found(mutant, by, time.monotonic() - start, trouble)


def some(mutants: Sequence[Mutant], count: int, by: str) -> list[Mutant]:
    """`count` of them, which depend on the text `by` alone: every commit draws its own."""

    def lot(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{by} {mutant.name}".encode()).digest()

    return sorted(mutants, key=lot)[:count]


def plant(
    mutants: Sequence[Mutant], root: Path = ROOT, extension: bool = True, copies: int = 1
) -> list[Found]:
    """Plant each, print what became of it, and return that."""
    shares = [share for i in range(copies) if (share := mutants[i::copies])]
    with ThreadPoolExecutor(len(shares)) as pool:
        in_copy = partial(_plant_in_copy, root=root, extension=extension)
        found = [one for share in pool.map(in_copy, shares) for one in share]
    return sorted(found, key=lambda one: mutants.index(one.mutant))


def _plant_in_copy(mutants: Sequence[Mutant], root: Path, extension: bool) -> list[Found]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        field = Field(root, Path(folder))
        if extension:
            if any(m.is_native for m in mutants):
                print("== building the extension, of one level", flush=True)
            field.extend(any(m.is_native for m in mutants))
        print("== the tests without any bug", flush=True)
        field.check_sound(mutants)
        found = []
        for mutant in mutants:
            found.append(field.verdict(mutant))
            print(found[-1], flush=True)
        return found


def main(argv: Sequence[str] | None = None) -> int:
    from native_mutants import NATIVE_MUTANTS
    from python_mutants import PYTHON_MUTANTS

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", metavar="WORD", help="those named like this (all)")
    parser.add_argument("--python", action="store_true", help="leave out what must be built (no)")
    parser.add_argument("--native", action="store_true", help="only what must be built (no)")
    parser.add_argument("--some", type=int, metavar="N", help="so many of them (all)")
    parser.add_argument("--by", default="", metavar="TEXT", help="what --some is chosen by ('')")
    parser.add_argument("--list", action="store_true", help="show them and plant none (no)")
    args = parser.parse_args(argv)
    mutants = [*([] if args.native else PYTHON_MUTANTS), *([] if args.python else NATIVE_MUTANTS)]
    mutants = [m for m in mutants if args.only in m.name]
    if args.some is not None:
        mutants = some(mutants, args.some, args.by)
    if args.list:
        for m in mutants:
            print(f"{m.name}\n    {m.file}\n    {m.why}\n    {m.tests}")
        return 0
    if not mutants:
        print(f"no mutant is named like {args.only!r}; --list shows all")
        return 2
    try:
        found = plant(mutants, copies=min(4, os.cpu_count() or 1))
    except TroubleError as error:
        print(error)
        return 1
    bad = [f for f in found if not f.fine]
    print(f"== {len(found) - len(bad)} of {len(found)} planted bugs caught", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
