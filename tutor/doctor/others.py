"""Other devices, and other processes to train with: what is there, and what is missing.

Each is probed in a process of its own, which prints its findings: a broken driver raises, hangs or
crashes the process that loads it, and the report must survive that. A probe imports nothing of
tutor, so its answer describes the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from importlib import metadata, util
from pathlib import Path
from typing import Any

from tutor.backends.opencl.faults import INSTALL, UNKNOWN

PATIENCE = 20.0  # seconds: OpenCL compilers are slow to load the first time
ANSWER = "tutor's doctor: "  # marks a probe's answer, because libraries print too

OPENCL = """
import pyopencl
found, CPU = [], 2  # CL_DEVICE_TYPE_CPU
for platform in pyopencl.get_platforms():
    for device in platform.get_devices():
        found.append([bool(device.type & CPU), device.name.strip(), platform.name.strip(),
                      device.version.strip(), device.max_compute_units, device.global_mem_size,
                      "cl_khr_fp64" in device.extensions, "cl_khr_fp16" in device.extensions])
found = [row[1:] for row in sorted(found, key=lambda row: row[0])]
"""

# The library reports its version without being initialized: some launchers would not allow that.
MPI = """
import mpi4py
mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI
found = [mpi4py.__version__, MPI.Get_library_version().splitlines()[0].strip()]
"""

CUDA = """
import ctypes, sys
driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
count = ctypes.c_int()
code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
found = [code, count.value]
"""

TRIED = "which was tried with a stand-in for the driver, on a card not yet"
DRIVERS = "install the device's driver, or use the CPU as one: pip install pocl_binary_distribution"


class Asked:
    """The probes, started on construction; `lines` waits for the answers."""

    def __init__(self) -> None:
        self.until = time.monotonic() + PATIENCE
        self.opencl = question(OPENCL) if util.find_spec("pyopencl") else None
        self.mpi = question(MPI) if util.find_spec("mpi4py") else None
        self.cuda = question(CUDA)

    def lines(self) -> dict[str, str]:
        return {
            **opencl(answer(self.opencl, self.until) if self.opencl else None),
            "cuda": cuda(answer(self.cuda, self.until)),
            **brought(),
            "mpi": mpi(answer(self.mpi, self.until) if self.mpi else None),
            "mpiexec": mpiexec(),
        }


def question(code: str) -> subprocess.Popen[str]:
    code += f"\nimport json\nprint({ANSWER!r} + json.dumps(found))"
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip


def answer(asked: subprocess.Popen[str], until: float) -> list[Any] | str:
    """A probe's findings, or the reason in words why there are none."""
    try:
        out, errors = asked.communicate(timeout=max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        asked.kill()
        asked.communicate()
        return f"no answer in {PATIENCE:g} s"
    for line in out.splitlines():
        if line.startswith(ANSWER):
            found: list[Any] = json.loads(line.removeprefix(ANSWER))
            return found
    if asked.returncode < 0:
        return f"signal {-asked.returncode} ended the process that asked"
    said = [line.strip() for line in errors.splitlines() if line.strip()]
    raised = [line for line in said if line.partition(":")[0].endswith(("Error", "Exception"))]
    return (raised or said or ["it says nothing"])[-1]


def opencl(found: list[Any] | str | None) -> dict[str, str]:
    """One line per device."""
    if found is None:
        return {"opencl": 'other devices than the CPU: pip install "tutorgrad[opencl]"'}
    if isinstance(found, str) and "PLATFORM_NOT_FOUND" not in found:
        return {"opencl": f"pyopencl fails: {found}; to do: {DRIVERS}"}
    if not found or isinstance(found, str):
        return {"opencl": f"pyopencl is there, and no device; to do: {DRIVERS}"}
    can = [row for row in found if not UNKNOWN.search(row[2])]
    lines = {f"opencl:{i}": device(*row) for i, row in enumerate(can)}
    if len(can) < len(found):
        lines["opencl, unused"] = (
            "PoCL is there, and compiles nothing: it does not know this processor;"
            f" to do: {'nothing, another one is used' if can else INSTALL}"
        )
    return lines


def device(
    name: str, platform: str, version: str, units: int, memory: int, double: bool, half: bool
) -> str:
    has = f"float64 {'yes' if double else 'no'}, float16 {'yes' if half else 'no'}"
    return f"{name} ({platform}, {version}), {units} units, {memory / 2**30:.1f} GiB, {has}"


def cuda(found: list[Any] | str) -> str:
    """How an NVIDIA card can be used: compiling for one needs no card."""
    compiles = version("nvidia-cuda-nvrtc-cu12") or version("nvidia-cuda-nvrtc-cu13")
    if compiles:
        compiler = f"NVRTC {compiles} compiles what is generated for it"
    else:
        compiler = 'to compile for it: pip install "tutorgrad[cuda]"'
    if isinstance(found, str):
        absent = "cannot open shared object" in found or "no such file" in found.lower()
        driver = "no driver (libcuda.so.1), so nothing can run" if absent else f"fails: {found}"
    elif found[0]:
        driver = f"the driver says error {found[0]}; to do: look at nvidia-smi"
    else:
        driver = f"{found[1]} card{'s' if found[1] != 1 else ''}"
        if found[1]:
            driver += f' for device="cuda", {TRIED}'
    return f"{driver}; {compiler}"


def brought() -> dict[str, str]:
    """Kinds of devices that other packages provide."""
    points = metadata.entry_points(group="tutor.devices")
    return {f"device {point.name}": f"by {point.value}" for point in points}


def mpi(found: list[Any] | str | None) -> str:
    if found is None:
        return 'to train on several processes or machines: pip install "tutorgrad[dist]" mpich'
    if isinstance(found, str):
        if "cannot load MPI library" in found:
            found = "it finds no MPI library"
        return f"mpi4py fails: {found}; to do: pip install mpich, or install one of the system's"
    return f"mpi4py {found[0]} on {found[1]}"


def mpiexec() -> str:
    """The path of the launcher: pip installs it next to Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return shutil.which("mpiexec", path=path) or "none; to do: pip install mpich"


def version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
