"""A driver of CUDA for tests, where there is no GPU: stand_in_libcuda.cpp, and kernels that run.

`Library` is what stands for libcuda.so.1. `HostNvrtc` compiles a source twice: by NVRTC to PTX, as
for a GPU, and by g++ for the host (cuda_on_host.hpp); a line of the PTX says where the second is.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tutor
from tutor.backends.cuda import device, device_context, driver
from tutor.backends.cuda.nvrtc import Nvrtc, nvrtc

HERE = Path(__file__).parent
CUDA_H = Path("/usr/local/cuda/include")  # where it is, declarations are compared with NVIDIA's
# -Bsymbolic: a kernel is called `advance`, as a function of the C library is.
FLAGS = ("-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-Wl,-Bsymbolic")
BEHIND = """
#undef static
#undef kernel
#undef local
#undef barrier
extern "C" void run_on_host(void **given, const unsigned *grid, const unsigned *block) {{
    params = given;
    work = [] {{ call({name}); }};
    run_grid(grid, block, {barriers});
}}
"""


def gxx(*args: Any) -> None:
    done = subprocess.run(["g++", *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Library:
    """The stand-in, compiled. `calls`: what was called since `clear`, without what only waits."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "libcuda.so.1"
        there = ["-I", CUDA_H] if CUDA_H.is_dir() else []
        source = HERE / "stand_in_libcuda.cpp"
        gxx("-Wall", "-Wextra", "-Werror", *FLAGS, *there, source, "-o", self.path, "-ldl")
        self.c = ctypes.CDLL(str(self.path))
        self.c.stand_in_log.restype = ctypes.c_char_p
        self.c.stand_in_blocks.restype = ctypes.c_longlong
        self.c.stand_in_set.argtypes = (ctypes.c_char_p, ctypes.c_longlong)

    def set(self, **settings: int) -> None:
        for name, value in settings.items():
            self.c.stand_in_set(name.encode(), value)

    def fail(self, name: str, code: int, after: int = 0) -> None:
        """Answer a call of that function with this error, once, after so many that go well."""
        self.c.stand_in_fail(name.encode(), code, after)

    def calls(self) -> list[list[str]]:
        return [line.split() for line in self.c.stand_in_log().decode().splitlines()]

    def names(self) -> list[str]:
        return [call[0] for call in self.calls()]

    def clear(self) -> None:
        self.c.stand_in_clear()

    def launches(self) -> list[tuple[str, tuple[int, ...], tuple[int, ...], list[int]]]:
        """Of each launch the kernel, the groups, their size, and the arguments' bits."""
        found = []
        for call in self.calls():
            if call[0] == "cuLaunchKernel":
                sizes = [int(n) for n in call[2:8]]
                args = [int(each.partition(":")[2]) for each in call[10].split(",")]
                found.append((call[1], tuple(sizes[:3]), tuple(sizes[3:]), args))
        return found


class HostNvrtc(Nvrtc):
    """NVRTC, and g++ beside it."""

    def __init__(self, library: Any, capability: Any, folder: Path) -> None:
        super().__init__(library, capability)
        self.folder, self.made = folder, dict[str, bytes]()
        header = folder / "cuda_on_host.hpp"
        if not header.exists():
            shutil.copy(HERE / header.name, header)
            gxx("-x", "c++-header", *FLAGS, header, "-o", f"{header}.gch")

    def ptx(self, text: str, name: str) -> bytes:
        if text not in self.made:
            base = self.folder / hashlib.sha256(text.encode()).hexdigest()[:24]
            ptx = super().ptx(text, name)
            barriers = bool(re.search(r"\bbarrier\(CLK", text))
            behind = BEHIND.format(name=name, barriers=str(barriers).lower())
            base.with_suffix(".cpp").write_text('#include "cuda_on_host.hpp"\n' + text + behind)
            gxx(*FLAGS, f"-I{self.folder}", f"{base}.cpp", "-o", f"{base}.so")
            self.made[text] = ptx + f"\n// host: {base}.so\n".encode()
        return self.made[text]


@contextmanager
def in_its_place(library: Library, folder: Path | None) -> Iterator[None]:
    """The stand-in is this process's driver. `folder`: where kernels are compiled, if they run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "LIBRARY", str(library.path))
        if folder:
            made: dict[Any, Nvrtc] = {}

            def both(capability: Any) -> Nvrtc:
                if capability not in made:
                    made[capability] = HostNvrtc(nvrtc(capability).library, capability, folder)
                return made[capability]

            patch.setattr(device_context, "nvrtc", both)
        forget()
        try:
            yield
        finally:
            forget()


def forget() -> None:
    """Nobody has asked for a device yet."""
    driver.driver.cache_clear()
    device.kind.cache_clear()
    tutor.devices.unregister("cuda")
