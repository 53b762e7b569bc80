"""The SIMD backend as WebAssembly, for the Python in the page.

The compiler is Emscripten's, of Debian unstable, with the headers of the same Python that Pyodide
has. They are unpacked into build/wasm/debian, where nothing of this machine sees them, and run
there by chroot; apt checks their signatures. That needs root on Debian or a relative of it, and the
network. Where it cannot be, the site comes without the backend, and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "wasm"
DEBIAN = BUILD / "debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = ("emscripten", "coreutils", "bash", "cmake", "ninja-build", "libxsimd-dev",
            "pybind11-dev", "libpython3.14-dev")  # fmt: skip
NAME = "simd.wasm"  # in the site
HOLDS = r"(ALIGNOF|HAVE|PY|Py|SIZEOF|WITH)_\w+"  # what pyconfig.h may define


class MissingError(Exception):
    """Why the backend cannot be built here."""


def run(*command: object, **more: Any) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise MissingError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def mirror() -> str:
    """Where this machine has its own Debian packages from."""
    found = re.search(r"(https?://\S*debian) \S+/main", run("apt-cache", "policy", "base-files"))
    if not found:
        raise MissingError("apt knows no mirror of Debian")
    return found[1]


def unpack() -> None:
    """Debian unstable's compiler, and all it needs, into a folder of its own."""
    apt = BUILD / "apt"
    for folder in (apt / "lists" / "partial", apt / "archives" / "partial", DEBIAN):
        folder.mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror()} sid main\n")
    own = {"Dir::Etc::sourcelist": "sources.list", "Dir::Etc::sourceparts": "none",
           "Dir::State::lists": "lists", "Dir::State::status": "status", "Dir::Cache": "",
           "Dir::Cache::archives": "archives"}  # fmt: skip
    options = [part for key, name in own.items() for part in ("-o", f"{key}={apt / name}")]
    run("apt-get", *options, "update")
    run("apt-get", *options, "-y", "--no-install-recommends", "--download-only", "install",
        *PACKAGES)  # fmt: skip
    for package in sorted((apt / "archives").glob("*.deb")):
        run("dpkg-deb", "-x", package, DEBIAN)
    for name in ("bin", "lib", "lib64", "sbin"):
        if not (DEBIAN / name).exists():
            (DEBIAN / name).symlink_to(f"usr/{name}")
    (DEBIAN / "usr" / "bin" / "sh").unlink(missing_ok=True)
    (DEBIAN / "usr" / "bin" / "sh").symlink_to("bash")
    for name in ("src", "dev", "proc", "tmp"):
        (DEBIAN / name).mkdir(exist_ok=True)
    (DEBIAN / "unpacked").touch()


def headers(standard_library: Path) -> None:
    """What is included, in one folder, with the pyconfig.h of the Python in the page."""
    target, usr = BUILD / "include", DEBIAN / "usr" / "include"
    shutil.copytree(usr / "python3.14", target, dirs_exist_ok=True)
    for name in ("pybind11", "xsimd"):
        shutil.copytree(usr / name, target / name, dirs_exist_ok=True)
    known: dict[str, Any] = {}
    with zipfile.ZipFile(standard_library) as archive:
        (name,) = [n for n in archive.namelist() if "_sysconfigdata_" in n]
        os.environ.setdefault("PYODIDE_ROOT", "/")  # it asks for that
        exec(archive.read(name), known)
    facts = {k: v for k, v in known["build_time_vars"].items() if re.fullmatch(HOLDS, k)}
    lines = [f"#define {k} {v}" for k, v in sorted(facts.items()) if isinstance(v, int) and v]
    (target / "pyconfig.h").write_text("\n".join(lines) + "\n")


def compile_backend() -> Path:
    """CMake and the compiler see this project as /src: the folder is mounted for them alone."""
    script = """
mount --bind "$1" "$2/src" && mount --bind /dev "$2/dev" && mount --bind /proc "$2/proc" &&
exec chroot "$2" /usr/bin/env PATH=/usr/bin HOME=/tmp EM_CACHE=/src/build/wasm/cache sh -ec '
        emcmake cmake -G Ninja -S /src/tutor/backends/simd_cpp -B /src/build/wasm/ninja \
            -DCMAKE_BUILD_TYPE=Release -DTUTOR_HEADERS=/src/build/wasm/include
        cmake --build /src/build/wasm/ninja'
"""
    run("unshare", "--mount", "sh", "-c", script, "sh", ROOT, DEBIAN)
    return BUILD / "ninja" / "_simd.so"


def write(site: Path) -> None:
    """Build `site`/simd.wasm; where that cannot be done it is empty, and why is said."""
    try:
        for tool in ("apt-get", "dpkg-deb", "unshare"):
            if shutil.which(tool) is None:
                raise MissingError(f"there is no {tool}")
        if os.geteuid() != 0:
            raise MissingError("that needs root, for chroot")
        if not (DEBIAN / "unpacked").exists():
            unpack()
        headers(site / "pyodide" / "python_stdlib.zip")
        shutil.copyfile(compile_backend(), site / NAME)
    except MissingError as why:
        (site / NAME).write_bytes(b"")  # pages ask for it, and an error would be reported
        print(f"== the site comes without the SIMD backend: {why}", flush=True)
