"""Reports what is installed and in use on this machine, and how to install what is missing.

    python -m tutor doctor              # immediate
    python -m tutor doctor --measure    # also how fast the kernels are: about a second more

Each module covers one topic: `processor` (the CPU, its caches), `measure` (speed of the kernels),
`others` (devices and ranks, probed in processes of their own, since a broken driver can crash the
process that loads it), `names` (another project of the same name in this environment).
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

OPTIONAL = {  # the purpose of a package, and the extra of pyproject.toml for it
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
    """The whole report, in groups of lines `topic: state`."""
    asked = others.Asked()  # these processes run during the other checks
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
    """tutor, Python, and the active backend."""
    lines = {
        "tutor": f"{version}, {place}",
        "python": f"{platform.python_version()}, {sys.executable}",
        "backends": ", ".join(registry.backends()),
        "backend": chosen(registry.current, "TUTOR_BACKEND"),
    }
    return {**lines, **names.lines()}


def cpu() -> dict[str, str]:
    """The CPU, and how the SIMD backend uses it."""
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
    """The setting in use, and the variable that may have set it; or why it is impossible."""
    value = os.environ.get(variable, "")
    try:
        return f"{ask()} ({variable}={value})"
    except TutorError as error:
        return f"{variable}={value}: {error.found}; to do: {error.do}"


def remedy() -> str:
    """How to get the SIMD backend on this machine."""
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
    """The four files of MNIST."""
    return {
        f"{split} {what}": file
        for split, two in mnist.FILES.items()
        for what, file in zip(("images", "labels"), two, strict=True)
    }


def where(file: fetch.File) -> str:
    """Where data.load("mnist") would find this file, or what to do if it cannot."""
    if root := os.environ.get("TUTOR_DATA"):
        own = fetch.own_copy(file, root)
        return str(own or f"not in TUTOR_DATA={root}; to do: put {file.name}.gz there, or unset it")
    kept: Path = fetch.cache_folder() / file.folder / f"{file.name}.gz"
    return str(kept) if kept.is_file() else f"{kept}, once it is downloaded"
