"""A build that cannot succeed says so first, and says what to do."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "build_backend.py"


def ask(path, **variables):
    """Run build_backend.py, as make does, with this PATH; exit code and what it says."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("CMAKE", "CXX", "TUTOR"))}
    result = subprocess.run(
        [sys.executable, str(SCRIPT)], env={**keep, "PATH": str(path), **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return result.returncode, result.stdout + result.stderr


@pytest.fixture
def compiler(tmp_path):
    """A folder with something that is called g++."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "g++").write_text("#!/bin/sh\n")
    (folder / "g++").chmod(0o755)
    return folder


def test_no_compiler(tmp_path):
    code, text = ask(tmp_path)
    assert code == 1
    assert [line.partition(":")[0] for line in text.splitlines()] == ["asked", "found", "to do"]
    assert "apt install g++" in text and "TUTOR_PURE=1 pip install ." in text


def test_a_compiler_that_is_not_there(compiler):
    code, text = ask(compiler, CXX="g++-99 -O2")
    assert code == 1 and "CXX is g++-99, which is not there" in text


@pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").is_file(), reason="Python has no headers"
)
def test_what_can_be_built_is_not_held_up(compiler, tmp_path):
    for path, variables in (
        (compiler, {}),
        (compiler, {"CXX": "g++ -O2"}),
        (tmp_path, {"CXX": str(compiler / "g++")}),
        (tmp_path, {"CMAKE_ARGS": "-DCMAKE_CXX_COMPILER=/opt/cc"}),
        (tmp_path, {"CMAKE_TOOLCHAIN_FILE": "x"}),
        (tmp_path, {"TUTOR_PURE": "1"}),
    ):
        assert ask(path, **variables) == (0, "")


def test_no_headers_of_python(compiler):
    """Debian's python3 has none without python3-dev."""
    code = (
        "import sys, sysconfig; sysconfig.get_path = lambda name: '/nowhere'\n"
        f"sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['x']\n"
        f"import runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                            env={"PATH": str(compiler)}, check=False)  # fmt: skip
    assert result.returncode == 1
    assert "apt install python3-dev" in result.stderr and "TUTOR_PURE=1" in result.stderr


def test_pip_asks_before_it_fetches_anything_large():
    """The hooks that pip calls first ask, and all others are scikit-build-core's."""
    pytest.importorskip("scikit_build_core", reason="pip brings it where it builds")
    code = (
        "import build_backend\nfrom scikit_build_core import build\n"
        "assert all(hasattr(build_backend, name) for name in build.__all__)\n"
        "for kind in ('wheel', 'editable'):\n"
        "    try: getattr(build_backend, f'get_requires_for_build_{kind}')()\n"
        "    except SystemExit as stop: print('TUTOR_PURE=1' in str(stop))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                            env={"PATH": "/nowhere"}, check=False)  # fmt: skip
    assert result.stdout == "True\nTrue\n", result.stderr


def test_windows():
    """It is refused before anything is fetched, and what is then to do is written as there."""
    code = (
        "import sys, runpy; sys.platform = 'win32'\n"
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("CMAKE", "CXX", "TUTOR"))}
    for variables, refused in (({}, True), ({"TUTOR_PURE": "1"}, False)):
        result = subprocess.run([sys.executable, "-c", code], env={**keep, **variables},
                                capture_output=True, text=True, check=False)  # fmt: skip
        assert result.returncode == refused
        assert ("WSL" in result.stderr and "set TUTOR_PURE=1" in result.stderr) == refused


def configure(folder, *options, **variables):
    """What CMake says of our CMakeLists.txt, in one line, when it refuses."""
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    cmake, make = shutil.which("cmake"), shutil.which("ninja") or shutil.which("make")
    if not (cmake and make):
        pytest.skip("CMake is brought by pip where it builds")
    (folder / "bin").mkdir(exist_ok=True)
    for tool in (cmake, make):
        (folder / "bin" / Path(tool).name).symlink_to(tool)
    source = ROOT / "tutor/backends/simd_cpp"
    result = subprocess.run(
        [cmake, "-G", generator, *options, "-S", str(source), "-B", str(folder / "build")],
        env={"PATH": str(folder / "bin"), **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode != 0
    return " ".join(result.stderr.split())


def test_cmake_says_the_same_to_who_calls_it(tmp_path):
    said = configure(tmp_path)
    assert "apt install g++" in said and "TUTOR_PURE=1 pip install ." in said


def test_cmake_refuses_windows_before_it_looks_for_a_compiler(tmp_path):
    said = configure(tmp_path, "-DCMAKE_SYSTEM_NAME=Windows")
    assert "not for Windows" in said and "WSL" in said and "set TUTOR_PURE=1" in said
    assert "C++ compiler" not in said


def test_cmake_refuses_a_compiler_that_cannot(tmp_path, compiler):
    forced = [f"-DCMAKE_CXX_COMPILER_{name}=1" for name in ("FORCED", "ID_RUN", "WORKS")]
    said = configure(tmp_path, "-DCMAKE_CXX_COMPILER_ID=NVHPC", *forced,
                     PATH=f"{compiler}:{tmp_path / 'bin'}:{os.environ['PATH']}")  # fmt: skip
    assert "needs GCC or Clang, not NVHPC" in said
    assert "CXX=g++ pip install ." in said and "TUTOR_PURE=1 pip install ." in said


def test_the_backend_that_pyproject_names_is_this_one():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'build-backend = "build_backend"' in text and 'backend-path = ["."]' in text


def test_another_environment_keeps_what_is_compiled(tmp_path, monkeypatch):
    """pip's is a new folder for each build; only what knows the old one is deleted."""
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.chdir(tmp_path)
    keep_objects = runpy.run_path(str(SCRIPT), run_name="__main__", init_globals=None)[
        "keep_objects"
    ]
    build = tmp_path / "build" / "cp311"
    for file in ("CMakeCache.txt", "CMakeFiles/3.30.1/CMakeSystem.cmake", "CMakeFiles/a.dir/a.o"):
        (build / file).parent.mkdir(parents=True, exist_ok=True)
        (build / file).touch()
    info = build / ".skbuild-info.json"
    files = lambda: {p.name for p in build.rglob("*") if p.is_file()}  # noqa: E731
    for text in ("", "[]", '{"source_dir": "/a"}', '{"skbuild_path": "/here"}'):
        info.write_text(text)
        keep_objects(Path("/here"))
        assert info.read_text() == text and len(files()) == 4
    info.write_text('{"skbuild_path": "/gone", "source_dir": "/a"}')
    keep_objects(Path("/here"))
    assert files() == {"a.o", ".skbuild-info.json"}
    assert json.loads(info.read_text()) == {"skbuild_path": "/here", "source_dir": "/a"}
