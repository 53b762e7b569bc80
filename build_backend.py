"""What pip calls to build tutor: scikit-build-core, behind a look at whether a build can succeed.

A missing compiler is said at once, in words that help, before hundreds of megabytes are fetched and
CMake fails in its own. `make` asks by running this file.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

COMPILERS = ("c++", "g++", "clang++")
CHOSEN = ("CMAKE_CXX_COMPILER", "CMAKE_TOOLCHAIN_FILE")  # CMake's own ways to name a compiler


def problem(settings: dict[str, Any] | None = None) -> str:
    """What is missing for the SIMD backend, in three parts; empty where nothing is."""
    if os.environ.get("TUTOR_PURE"):
        return ""
    asked = "asked: to build tutor with its SIMD backend, which is C++\n"
    without = "or install without it, slower: TUTOR_PURE=1 pip install ."
    if sys.platform == "win32":  # CMakeLists.txt says what is in the way
        without = "or install without it, slower: set TUTOR_PURE=1, then pip install ."
        found = "Windows, and it is written for Linux and macOS"
        return f"{asked}found: {found}\nto do: install in WSL, which is a Linux, {without}"
    named = shlex.split(os.environ.get("CXX", ""))[:1]
    told = f"{settings or ''}{os.environ.get('CMAKE_ARGS', '')}{os.environ.keys() & set(CHOSEN)}"
    if not any(map(shutil.which, named or COMPILERS)) and not any(name in told for name in CHOSEN):
        found = f"CXX is {named[0]}, which is not there" if named else "no C++ compiler"
        install = "install one (Debian, Ubuntu: apt install g++)"
        return f"{asked}found: {found}\nto do: {install}, {without}"
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        install = "install it (Debian, Ubuntu: apt install python3-dev)"
        return f"{asked}found: no {header}\nto do: {install}, {without}"
    return ""


def check(settings: dict[str, Any] | None = None) -> None:
    """End this process with what is missing, if anything is."""
    if found := problem(settings):
        sys.exit(found)


def keep_objects(environment: Path) -> None:
    """Let the next build compile only what has changed: scikit-build-core, which is installed in
    `environment`, deletes all of CMakeFiles if it was installed elsewhere before, and pip installs
    it in a new folder each time.

    What does depend on that folder, or on the compiler, is deleted here instead.
    """
    for written in Path("build").glob("*/.skbuild-info.json"):
        try:
            info = json.loads(written.read_text())
            moved = info["skbuild_path"] != str(environment)
        except (OSError, ValueError, TypeError, LookupError):  # cut off: it deletes all, rightly
            continue
        if moved:
            written.with_name("CMakeCache.txt").unlink(missing_ok=True)
            for version in written.parent.glob("CMakeFiles/[0-9]*"):
                shutil.rmtree(version)
            written.write_text(json.dumps(info | {"skbuild_path": str(environment)}))


if __name__ == "__main__":
    check()
else:
    from scikit_build_core import build
    from scikit_build_core.build import *  # noqa: F403 - the hooks of PEP 517 and 660
    from scikit_build_core.cmake import DIR

    def get_requires_for_build_wheel(settings: dict[str, Any] | None = None) -> list[str]:
        """What is called first of all."""
        check(settings)
        return list(build.get_requires_for_build_wheel(settings))

    def get_requires_for_build_editable(settings: dict[str, Any] | None = None) -> list[str]:
        check(settings)
        return list(build.get_requires_for_build_editable(settings))

    def build_wheel(folder: str, *more: Any, **named: Any) -> str:
        keep_objects(DIR)
        return build.build_wheel(folder, *more, **named)

    def build_editable(folder: str, *more: Any, **named: Any) -> str:
        keep_objects(DIR)
        return build.build_editable(folder, *more, **named)
