"""`make site`: one folder, build/site, that any static host serves, and that asks no other host.

    python docs/_site/build.py [--keep-sphinx]

It has the pages of the documentation, whose chapters run in the browser; Pyodide, which is Python
as WebAssembly, from npm, pinned by version and checksum; the library as one archive; and the SIMD
backend as WebAssembly, where it can be compiled (native.py). With --keep-sphinx the pages that are
there already are not made again.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import native  # noqa: E402  (it stands beside this file)

SITE = ROOT / "build" / "site"
KEPT = ROOT / "build" / "npm"  # what was fetched
PYODIDE = (
    "pyodide",
    "314.0.7",
    "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
)
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip",
        "pyodide-lock.json")  # fmt: skip
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the time of every file in an archive: equal files, equal bytes


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def stop(asked: str, found: str, to_do: str) -> None:
    sys.exit(f"error: {asked}\n  found: {found}\n  to do: {to_do}")


# ---- npm -----------------------------------------------------------------------------------------


def npm(name: str, version: str, integrity: str) -> tarfile.TarFile:
    """The package of this version from npm; it is used only if it has this checksum."""
    file = KEPT / f"{name}-{version}.tgz"
    if not file.is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", f"{name}@{version}", "--silent", "--pack-destination", str(KEPT)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            stop(f"{name} {version} from npm", "there is no npm", "install npm, and do it again")
        if done.returncode or not file.is_file():
            stop(f"{name} {version} from npm", done.stderr.strip()[-500:], "see to the network")
    data = file.read_bytes()
    found = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    if found != integrity:
        file.unlink()
        stop(f"{name} {version} with {integrity}", found, "do it again; it has been removed")
    return tarfile.open(fileobj=io.BytesIO(data))


def fetch_pyodide() -> None:
    folder = SITE / "pyodide"
    folder.mkdir(parents=True)
    with npm(*PYODIDE) as archive:
        for name in CORE:
            member = archive.extractfile(f"package/{name}")
            assert member is not None
            (folder / name).write_bytes(member.read())
    # What would be fetched from elsewhere, were it asked for, is not to be found.
    lock = json.loads((folder / "pyodide-lock.json").read_text("utf-8"))
    lock["packages"] = {}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")


# ---- the library ---------------------------------------------------------------------------------


STORED = ("listings.txt", "measured.json")  # what is shown where there is no compiler


def library() -> dict[str, Path]:
    """The files of the library and the course, under the names they have when installed."""
    files = {
        path.relative_to(ROOT).as_posix(): path
        for folder in ("tutor", "course")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".typed") or path.name in STORED
    }
    chapters = sorted((ROOT / "chapters").glob("*.ipynb"))
    return files | {f"course/chapters/{path.name}": path for path in chapters}


def write_library(target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in library().items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), path.read_bytes(), 8)


def write_snapshot() -> None:
    """Python's memory after the imports: see snapshot.mjs. Without it pages only start later."""
    command = ["node", str(HERE / "snapshot.mjs"), str(SITE)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except FileNotFoundError:
        stop("the snapshot of Python", "there is no node", "install nodejs, and do it again")
    if done.returncode:
        stop("the snapshot of Python", done.stderr.strip()[-500:], "see what snapshot.mjs does")
    bytecode = SITE / "bytecode.zip"
    if bytecode.is_file():
        with (
            zipfile.ZipFile(bytecode) as compiled,
            zipfile.ZipFile(SITE / "tutor.zip", "a") as both,
        ):
            for name in compiled.namelist():
                both.writestr(zipfile.ZipInfo(name, LONG_AGO), compiled.read(name), 8)
        bytecode.unlink()


# ---- the pages -----------------------------------------------------------------------------------


def run_sphinx() -> None:
    """The pages, with the tag `site`. What Sphinx keeps for itself is kept elsewhere."""
    step, trees = ROOT / ".ci" / "step.py", ROOT / "build" / "site-doctrees"
    title = "running the chapters and building the pages (a few minutes)"
    command = [sys.executable, step, title, sys.executable, "-m", "sphinx", "-t", "site", "-d",
               trees, ROOT / "docs", SITE]  # fmt: skip
    if subprocess.run([str(part) for part in command]).returncode:
        sys.exit(1)
    for name in (".buildinfo", ".buildinfo.bak"):
        (SITE / name).unlink(missing_ok=True)


def copy_own() -> None:
    """What runs the cells, and what generated pages need."""
    for name in ("live", "pyodide"):
        shutil.rmtree(SITE / name, ignore_errors=True)
    shutil.copytree(HERE / "live", SITE / "live")
    for path in sorted(HERE.glob("generate_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.write(SITE)


def write_worker() -> None:
    """The service worker, with the checksum of all files, and the pages it keeps beforehand."""
    files = [path for path in sorted(SITE.rglob("*")) if path.is_file() and path.name != "sw.js"]
    total = hashlib.sha256()
    for path in files:
        total.update(path.relative_to(SITE).as_posix().encode() + b"\0" + path.read_bytes())
    names = [path.relative_to(SITE).as_posix() for path in files]
    ahead = [name for name in names if name.startswith(("live/", "chapters/"))]
    text = (HERE / "sw.js").read_text("utf-8")
    for mark, value in (("VERSION", total.hexdigest()[:16]), ("PYODIDE", PYODIDE[1]),
                        ("AHEAD", ahead)):  # fmt: skip
        text = text.replace(f'"the build writes: {mark}"', json.dumps(value))
    (SITE / "sw.js").write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep-sphinx", action="store_true", help="do not make the pages again")
    if not parser.parse_args().keep_sphinx or not (SITE / "index.html").is_file():
        shutil.rmtree(SITE, ignore_errors=True)
        copy_own()  # first: Sphinx follows the links of its pages
        run_sphinx()
    copy_own()
    fetch_pyodide()
    write_library(SITE / "tutor.zip")
    say("compiling the SIMD backend for the page (some minutes the first time)")
    native.write(SITE)
    write_snapshot()
    write_worker()
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file())
    say(f"{SITE.relative_to(ROOT)} has {size / 1e6:.1f} MB; to look at it:")
    print(f"   {sys.executable} -m http.server --directory {SITE.relative_to(ROOT)} 8000")


if __name__ == "__main__":
    main()
