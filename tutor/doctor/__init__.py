"""What is installed and in use on this machine, and one line to get what is missing.

    python -m tutor doctor              # at once
    python -m tutor doctor --measure    # and what the kernels reach here: about a second more

Each room of it looks at one thing: `processor` (the CPU, its caches), `measure` (what the kernels
reach), `others` (devices and ranks, asked in processes of their own, since a driver that is broken
ends whoever asks it), `names` (another project of the same name in this environment).
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

from tutor.backends import registry, simd_cpp
from tutor.data import fetch, mnist
from tutor.doctor import measure, names, others, processor
from tutor.errors import TutorError

OPTIONAL = {  # what a package is there for, and the extra of pyproject.toml that brings it
    "numpy": ("t.numpy() and NumPy's functions", "train"),
    "safetensors": ("to read tutor's checkpoints in other programs", "train"),
    "tqdm": ("a bar while data is downloaded", "train"),
    "jupyterlab": ("the chapters", "chapters"),
    "matplotlib": ("pictures of benchmarks", "bench"),
    "torch": ("benchmarks beside it, and tests against it", "bench"),
    "pytest": ("the tests", "dev"),
    "hypothesis": ("tests on cases that are drawn", "dev"),
}


def report(version: str, place: str, measured: bool = False) -> str:
    """All that there is to say, in groups of lines `what: how it is`."""
    asked = others.Asked()  # they answer while the rest is looked at
    groups = [
        program(version, place),
        cpu(),
        measure.lines() if measured else {"measured": "python -m tutor doctor --measure, 2 s"},
        asked.lines(),
        packages(),
        {f"MNIST {what}": where(file) for what, file in files().items()},
    ]
    return "\n\n".join(
        "\n".join([f"{name + ':':<20}{text}" for name, text in group.items()]) for group in groups
    )


def program(version: str, place: str) -> dict[str, str]:
    """tutor and Python, and which backend computes."""
    lines = {
        "tutor": f"{version}, {place}",
        "python": f"{platform.python_version()}, {sys.executable}",
        "backends": ", ".join(registry.backends()),
        "backend": chosen(registry.current, "TUTOR_BACKEND"),
    }
    return {**lines, **names.lines()}


def cpu() -> dict[str, str]:
    """What it is, and what the SIMD backend makes of it."""
    lines = {
        "machine": f"{platform.machine()}, {platform.system()}, {os.cpu_count()} CPUs",
        "processor": processor.name(),
        "caches": processor.described(processor.caches()),
    }
    if "simd_cpp" not in registry.backends():
        missing = f"none: {simd_cpp.FOUND}; to do: {remedy()}"
        return {**lines, "SIMD levels": missing, "SIMD level": "none", "threads": "1"}
    return {
        **lines,
        "SIMD levels": ", ".join(simd_cpp.levels()),
        "SIMD level": chosen(simd_cpp.level, "TUTOR_SIMD"),
        "threads": f"{simd_cpp.num_threads()}",
    }


def chosen(ask: Callable[[], str], variable: str) -> str:
    """What is in use, and the variable that may have chosen it; or why that choice cannot be."""
    value = os.environ.get(variable, "")
    try:
        return f"{ask()} ({variable}={value})"
    except TutorError as error:
        return f"{variable}={value}: {error.found}; to do: {error.do}"


def remedy() -> str:
    """How to get the SIMD backend here."""
    if sys.platform == "win32":
        return "install in WSL, which is a Linux; it is not for Windows"
    return simd_cpp.REMEDY


def packages() -> dict[str, str]:
    lines = {}
    for package, (use, extra) in OPTIONAL.items():
        there = importlib.util.find_spec(package) is not None
        lines[package] = f"{use}: there" if there else f'{use}: pip install "tutorgrad[{extra}]"'
    return lines


def files() -> dict[str, fetch.File]:
    """The four of MNIST."""
    return {
        f"{split} {what}": file
        for split, two in mnist.FILES.items()
        for what, file in zip(("images", "labels"), two, strict=True)
    }


def where(file: fetch.File) -> str:
    """Where data.load("mnist") would take this file from, or what to do where it cannot."""
    if root := os.environ.get("TUTOR_DATA"):
        own = fetch.own_copy(file, root)
        return str(own or f"not in TUTOR_DATA={root}; to do: put {file.name}.gz there, or unset it")
    kept: Path = fetch.cache_folder() / file.folder / f"{file.name}.gz"
    return str(kept) if kept.is_file() else f"{kept}, once it is downloaded"
