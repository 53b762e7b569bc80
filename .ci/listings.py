"""`make listings`: writes tutor/profiler/listings.txt, the loops of some kernels with their lines.

    python .ci/listings.py

The extension, as it is installed, has instructions and no lines. So each file of kernels is
compiled once more, with the flags of its level and -g1, which changes no instruction; the loop is
looked for among those of that object file, and its lines are taken from there. It takes a minute,
and needs objdump and the extra `native`.
"""

from __future__ import annotations

import bisect
import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tutor.backends import simd_cpp
from tutor.profiler import listing, machine_code

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "tutor" / "backends" / "simd_cpp"
BUILD = ROOT / "build" / "listing"
KERNELS = ("add", "mul", "relu", "sum", "matmul", "matmul.naive", "matmul.ikj", "matmul.lanes")
LEVELS = ("avx2", "avx512")
SYMBOL = re.compile(r"^([0-9a-f]+) .{7} \.text\t", re.MULTILINE)


def configure() -> dict[str, str]:
    """For each object file, the command that compiles it."""
    config = [sys.executable, "-m", "pybind11", "--cmakedir"]
    pybind11 = subprocess.run(config, capture_output=True, text=True, check=True).stdout.strip()
    beside = str(Path(sys.executable).parent)
    cmake = shutil.which("cmake", path=beside) or shutil.which("cmake") or "cmake"
    flags = "-g1 -include cmath -include limits"  # instead of what is precompiled
    options = [
        f"-Dpybind11_DIR={pybind11}", f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_CXX_FLAGS={flags}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
    ]  # fmt: skip
    quiet = subprocess.DEVNULL
    command = [cmake, "-S", str(SOURCES), "-B", str(BUILD), *options]
    subprocess.run(command, check=True, stdout=quiet)
    subprocess.run([cmake, "--build", str(BUILD), "--target", "rows"], check=True, stdout=quiet)
    rows = json.loads((BUILD / "compile_commands.json").read_text())
    return {shlex.split(row["command"])[-3]: row["command"] for row in rows}


def source_of(kernel: str) -> str:
    """The file of kernels with the row of this one, without its suffix."""
    name, _, step = kernel.partition(".")
    row = re.compile(rf"STEP\({name}, {step}," if step else rf"KERNEL\({name},")
    (found,) = (p for p in (SOURCES / "kernels").glob("*.cpp") if row.search(p.read_text()))
    return found.stem


def functions(file: Path) -> Iterator[list[machine_code.Code]]:
    """The instructions of each function of an object file."""
    table = subprocess.run(["objdump", "-t", file], capture_output=True, text=True, check=True)
    starts = sorted({int(start, 16) for start in SYMBOL.findall(table.stdout)})
    codes = machine_code.disassembled(str(file), section=".text")
    places = [code.address for code in codes]
    cuts = [bisect.bisect_left(places, start) for start in (*starts, places[-1] + 1)]
    for first, last in itertools.pairwise(cuts):
        yield codes[first:last]


def of(kernel: str, level: str, commands: dict[str, str]) -> listing.Listing:
    """The listing of a kernel for float32, with lines."""
    found = next(
        k for (name, _), k in sys.modules[simd_cpp.NAME].kernels(level).items()
        if name == kernel and k.dtype == "float32"
    )  # fmt: skip
    wanted = machine_code.plain(machine_code.loop_of(found))
    path = f"CMakeFiles/kernels_{level}.dir/kernels/{source_of(kernel)}.cpp.o"
    if not (BUILD / path).exists():
        subprocess.run(commands[path], shell=True, check=True, cwd=BUILD)
    for codes in functions(BUILD / path):
        for loop in machine_code.loops(codes, "float32"):
            if machine_code.plain(loop) == wanted:
                return listing.Listing(kernel, "float32", level, listing.read_lines(loop), "")
    raise SystemExit(f"{kernel} of level {level}: compiled again, it has another loop")


def main() -> None:
    shutil.rmtree(BUILD, ignore_errors=True)
    commands = configure()
    version = subprocess.run(
        ["c++", "-dumpfullversion"], capture_output=True, text=True, check=True
    )
    about = f"stored by `make listings`, compiled by GCC {version.stdout.strip()}"
    listings = [of(kernel, level, commands) for level in LEVELS for kernel in KERNELS]
    listing.STORED.write_text(listing.text_of(listings, about), encoding="utf-8")
    print(f"written: {len(listings)} listings")


if __name__ == "__main__":
    main()
