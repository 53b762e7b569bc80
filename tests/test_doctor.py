"""`python -m tutor doctor`: it says what is here, how to get what is missing, and goes on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from backend_names import LEVELS

import tutor
from tutor import __main__ as command_line
from tutor import doctor
from tutor.backends import simd_cpp
from tutor.doctor import measure, names, others, processor
from tutor.errors import TutorError

ROOT = Path(command_line.__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


def said(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, str]:
    """What it prints, by what stands before the colon."""
    assert command_line.main(["doctor", *more]) == 0
    lines = filter(None, capsys.readouterr().out.splitlines())
    pairs = [re.split(r": +", line, maxsplit=1) for line in lines]
    assert all(len(pair) == 2 and pair[1] for pair in pairs), pairs
    return {name: text.strip() for name, text in pairs}


# ---- packages, and data --------------------------------------------------------------------------


@pytest.mark.parametrize("missing", doctor.OPTIONAL)
def test_it_says_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    def find_spec(name: str) -> object:
        return None if name == missing else object()

    monkeypatch.setattr(doctor.importlib.util, "find_spec", find_spec)
    for package, (_, extra) in doctor.OPTIONAL.items():
        text = doctor.packages()[package]
        assert text.endswith(f'pip install "tutorgrad[{extra}]"' if package == missing else "there")


def test_every_remedy_is_an_extra() -> None:
    named = {extra for _, extra in doctor.OPTIONAL.values()}
    for file in (ROOT / "tutor" / "doctor").glob("*.py"):
        named |= set(re.findall(r"tutorgrad\[(\w+)\]", file.read_text(encoding="utf-8")))
    assert {"opencl", "cuda", "dist"} <= named <= set(EXTRAS)


def test_an_install_without_the_extension() -> None:
    code = (
        "import sys; sys.modules['tutor.backends.simd_cpp._simd'] = None\n"
        "sys.modules['numpy'] = None\n"
        "from tutor.__main__ import main; sys.exit(main(['doctor']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TUTOR_BACKEND": "", "TUTOR_SIMD": ""}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                            text=True, check=False)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert f"to do: {simd_cpp.REMEDY}" in result.stdout
    assert re.search(r"^backend: +python_ref", result.stdout, re.MULTILINE)


def test_on_windows_it_names_what_helps_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(doctor.registry, "backends", lambda: ["python_ref"])
    assert "WSL" in doctor.cpu()["SIMD levels"] and "apt" not in doctor.cpu()["SIMD levels"]


def test_it_says_where_mnist_is_or_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    images = doctor.files()["train images"]
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    monkeypatch.delenv("TUTOR_DATA", raising=False)
    assert "once it is downloaded" in doctor.where(images)
    monkeypatch.setenv("TUTOR_DATA", str(tmp_path / "own"))
    assert "to do: put train-images-idx3-ubyte.gz there" in doctor.where(images)
    (tmp_path / "own").mkdir()
    own = tmp_path / "own" / "train-images-idx3-ubyte"
    own.write_bytes(b"")
    assert doctor.where(images) == str(own)


def test_a_variable_that_names_what_is_not_there_is_a_finding(tmp_path: Path) -> None:
    """The doctor is who is asked then: it must not end with the same error."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TUTOR_BACKEND": "nix", "TUTOR_SIMD": "x"}
    result = subprocess.run([sys.executable, "-m", "tutor", "doctor"], env=environment, text=True,
                            cwd=tmp_path, capture_output=True, check=False)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert re.search(r"^backend: +TUTOR_BACKEND=nix: .+; to do: ", result.stdout, re.MULTILINE)
    assert not LEVELS or re.search(r"^SIMD level: +TUTOR_SIMD=x: .+; to do: ", result.stdout, re.M)


# ---- the CPU -------------------------------------------------------------------------------------


def test_the_caches_are_those_that_linux_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = (
        ("1", "Data", "48K", "0-1"), ("1", "Instruction", "32K", "0-1"),
        ("2", "Unified", "2048K", "0-1"), ("3", "Unified", "36M", "0-3,8"),
    )  # fmt: skip
    for i, row in enumerate(rows):
        (tmp_path / f"index{i}").mkdir()
        for name, text in zip(("level", "type", "size", "shared_cpu_list"), row, strict=True):
            (tmp_path / f"index{i}" / name).write_text(f"{text}\n")
    (tmp_path / "index4").mkdir()  # of which nothing is told
    monkeypatch.setattr(processor, "SYSTEM", tmp_path)
    found = processor.caches()
    assert [(c.level, c.kind, c.size, c.shared) for c in found] == [
        (1, "Data", 48 << 10, 2), (1, "Instruction", 32 << 10, 2),
        (2, "Unified", 2 << 20, 2), (3, "Unified", 36 << 20, 5),
    ]  # fmt: skip
    assert processor.described(found) == (
        "L1 48 KiB (data), shared by 2 CPUs and 32 KiB (instructions), shared by 2 CPUs;"
        " L2 2 MiB, shared by 2 CPUs; L3 36 MiB, shared by 5 CPUs"
    )


def test_the_caches_are_those_that_macos_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = {
        "hw.perflevel0.l1dcachesize": "131072", "hw.l1icachesize": "196608",
        "hw.perflevel0.l2cachesize": "16777216", "hw.l3cachesize": "0",
    }  # fmt: skip
    monkeypatch.setattr(processor, "SYSTEM", tmp_path)
    monkeypatch.setattr(processor, "sysctl", lambda key: told.get(key, ""))
    text = processor.described(processor.caches())
    assert text == "L1 128 KiB (data) and 192 KiB (instructions); L2 16 MiB"


def test_a_system_that_tells_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processor, "SYSTEM", tmp_path / "none")
    monkeypatch.setattr(processor, "CPUINFO", tmp_path / "none")
    assert processor.described(processor.caches()) == "this system does not tell"
    assert processor.name()


@pytest.mark.parametrize("text", ["", "big", "12Q", "-3K"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        processor.parsed(text)


# ---- measuring -----------------------------------------------------------------------------------


def test_it_measures_in_two_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """By the CPU's time, on two threads at most: others may be at work here."""
    start = time.process_time()
    found = said(capsys, "--measure")
    assert time.process_time() - start < 4
    rates = {name: text for name, text in found.items() if re.search(r", \d+ threads?$", name)}
    assert "product, 1 thread" in rates
    if LEVELS:
        assert "memory, 1 thread" in rates
        assert len([name for name in rates if name.startswith("L")]) == len(
            [
                c
                for c in processor.caches()
                if c.kind != "Instruction" and c.size // 2 <= measure.MOST
            ]
        )
    for text in rates.values():
        assert re.match(r"\d[\d.]* [MGT] (float32 operations|bytes)/s", text), text
    assert "measured" not in found
    assert "--measure" in said(capsys)["measured"]


def test_what_is_measured_is_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that takes a known time has the rate that follows from it."""
    calls: list[tuple[Any, ...]] = []

    def lookup(name: str, backend: str, dtype: object) -> Any:
        return lambda out, *ins, **params: calls.append((name, out.shape, *[x.shape for x in ins]))

    monkeypatch.setattr(measure.registry, "lookup", lookup)
    monkeypatch.setattr(measure, "once", lambda run: run() or 0.5)
    monkeypatch.setattr(measure, "SECONDS", 0.0)
    assert measure.product("fake") == (2 * 8**3 / 0.5, 8)
    assert ("matmul", (8, 8), (8, 8), (8, 8)) in calls
    assert measure.reading("fake", 1 << 20) == (1 << 24) / 0.5
    assert calls[-1] == ("sum", (), (16, 1 << 18))


def test_measuring_leaves_the_number_of_threads_as_it_was() -> None:
    if not LEVELS:
        pytest.skip("the extension was not built")
    before = simd_cpp.num_threads()
    with measure.threaded(1, "simd_cpp"):
        assert simd_cpp.num_threads() == 1
    assert simd_cpp.num_threads() == before


def test_the_reference_is_measured_by_products_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with tutor.use_backend("python_ref"):
        assert list(measure.lines()) == ["product, 1 thread"]


# ---- devices and ranks ---------------------------------------------------------------------------

# A package of that name, which does what one that is broken does; and what is said then.
DEVICE = """
class D:
    name, version, max_compute_units, global_mem_size = " A card ", "OpenCL 3.0", 16, 8 << 30
    extensions, type = "cl_khr_fp64 cl_khr_icd", 4
class C(D):
    name, type = "A processor", 2
class Old(C):
    version = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic"
class P:
    name = "A maker"
    get_devices = lambda self: [Old, C, D]
get_platforms = lambda: [P()]
print("libraries print, too")
"""
FAULTS = {
    "import os; os.abort()": "pyopencl fails: signal 6 ended the process that asked; to do: ",
    "import time; time.sleep(60)": "pyopencl fails: no answer in 3 s; to do: ",
    "raise ImportError('libOpenCL.so.1: no')": "pyopencl fails: ImportError: libOpenCL.so.1: no; ",
    "raise SystemExit": "pyopencl fails: it says nothing; to do: ",
    "class E(Exception): pass\ndef get_platforms(): raise E('PLATFORM_NOT_FOUND_KHR')": (
        "pyopencl is there, and no device; to do: install the device's driver"
    ),
    "get_platforms = list": "pyopencl is there, and no device; to do: install the device's driver",
}


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder whose modules are found before all others, here and in processes asked."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(others, "PATIENCE", 60.0)  # for a busy machine
    return tmp_path


def test_a_device_of_opencl_is_described(
    packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (packages / "pyopencl.py").write_text(DEVICE)
    found = said(capsys)
    assert found["opencl:0"] == (
        "A card (A maker, OpenCL 3.0), 16 units, 8.0 GiB, float64 yes, float16 no"
    )
    assert found["opencl:1"].startswith("A processor (") and "opencl:2" not in found
    assert found["opencl, unused"].endswith("to do: nothing, another one is used")
    (packages / "pyopencl.py").write_text(DEVICE.replace("[Old, C, D]", "[Old]"))
    found = said(capsys)
    assert "pocl-opencl-icd" in found["opencl, unused"] and "opencl:0" not in found


@pytest.mark.parametrize("code", FAULTS, ids=lambda code: code[:20])
def test_a_driver_that_is_broken_is_described_and_no_more(
    packages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    (packages / "pyopencl.py").write_text(code)
    if "sleep" in code:
        monkeypatch.setattr(others, "PATIENCE", 3.0)
    found = said(capsys)
    assert found["opencl"].startswith(FAULTS[code])
    assert "mpi" in found  # it went on


def test_mpi_is_described_or_what_is_missing(
    packages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (packages / "mpi4py").mkdir()
    there = packages / "mpi4py" / "__init__.py"
    there.write_text(
        "__version__ = '4.1'\nclass rc: pass\n"
        "class MPI:\n    Get_library_version = lambda: 'MPICH Version: 5\\nmore'\n"
    )
    assert said(capsys)["mpi"] == "mpi4py 4.1 on MPICH Version: 5"
    there.write_text("raise RuntimeError('cannot load MPI library')")
    assert said(capsys)["mpi"].startswith("mpi4py fails: it finds no MPI library; to do: pip")
    monkeypatch.setattr(others.util, "find_spec", lambda name: None)
    found = said(capsys)
    assert found["mpi"].endswith('pip install "tutorgrad[dist]" mpich')
    assert found["opencl"].endswith('pip install "tutorgrad[opencl]"')


def test_the_launcher_is_looked_for_beside_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert others.mpiexec() == "none; to do: pip install mpich"
    (tmp_path / "mpiexec").write_text("#!/bin/sh\n")
    (tmp_path / "mpiexec").chmod(0o755)
    assert others.mpiexec() == str(tmp_path / "mpiexec")


@pytest.mark.parametrize(
    ("found", "has", "text"),
    [
        ([0, 2], None, f'2 cards for device="cuda", {others.TRIED}; to compile for it: pip install'
         ' "tutorgrad[cuda]"'),
        ([0, 1], "12.9", f'1 card for device="cuda", {others.TRIED}; NVRTC 12.9 compiles what is'),
        ([0, 0], "12.9", "0 cards; NVRTC 12.9 compiles what is generated for it"),
        ([100, 0], "12.9", "the driver says error 100; to do: look at nvidia-smi; NVRTC"),
        ("OSError: libcuda.so.1: cannot open shared object file", "12.9",
         "no driver (libcuda.so.1), so nothing can run; NVRTC 12.9"),
        ("signal 11 ended the process that asked", "12.9", "fails: signal 11 ended the process"),
    ],
)  # fmt: skip
def test_cuda(monkeypatch: pytest.MonkeyPatch, found: Any, has: str | None, text: str) -> None:
    monkeypatch.setattr(others, "version", lambda name: has)
    assert others.cuda(found).startswith(text)


def test_devices_that_other_packages_bring_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    point = SimpleNamespace(name="tpu", value="my_package:DEVICE")

    def entry_points(*, group: str) -> list[Any]:
        return [point] if group == "tutor.devices" else []

    monkeypatch.setattr(others.metadata, "entry_points", entry_points)
    assert others.brought() == {"device tpu": "by my_package:DEVICE"}


def test_no_device_is_imported_by_who_asks() -> None:
    code = (
        "import sys; from tutor.__main__ import main; main(['doctor'])\n"
        "sys.exit(bool({'pyopencl', 'mpi4py', 'numpy', 'torch'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert not subprocess.run([sys.executable, "-c", code], env=environment, check=False,
                              stdout=subprocess.DEVNULL).returncode  # fmt: skip


# ---- another project of the same name ------------------------------------------------------------


@pytest.fixture
def stranger(packages: Path) -> Path:
    """An environment into which the other project was installed."""
    info = packages / "tutor-22.0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tutor\nVersion: 22.0.3\n")
    (info / "RECORD").write_text("tutor-22.0.3.dist-info/RECORD,,\ntutor/__init__.py,sha256=x,0\n")
    return packages


def test_another_project_of_the_same_name_is_named(
    stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert names.strangers() == ["tutor 22.0.3"]
    assert said(capsys)["same name"].startswith("tutor 22.0.3 has installed another package")
    (stranger / "tutor-22.0.3.dist-info" / "RECORD").write_text("mytutor/__init__.py,,\n")
    assert names.strangers() == []
    assert "same name" not in said(capsys)


def test_where_it_lies_over_ours_the_command_line_says_so(stranger: Path) -> None:
    """`python -m tutor` then runs our __main__ on their package: theirs has none of that name."""
    (stranger / "tutor").mkdir()
    for room in ("", "core"):
        (stranger / "tutor" / room).mkdir(exist_ok=True)
        (stranger / "tutor" / room / "__init__.py").write_text("")
    for path in (ROOT / "tutor").iterdir():
        if path.name not in ("__init__.py", "core"):
            (stranger / "tutor" / path.name).symlink_to(path)
    for path in (ROOT / "tutor" / "core").iterdir():
        if path.name != "__init__.py":
            (stranger / "tutor" / "core" / path.name).symlink_to(path)
    (stranger / "course").symlink_to(ROOT / "course")
    done = subprocess.run([sys.executable, "-S", "-m", "tutor", "doctor"], cwd=stranger, text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 2, done.stderr
    place = stranger / "tutor" / "__init__.py"
    assert f"found: {place} is another project's: tutor 22.0.3 was installed over it" in done.stderr
    assert "pip install --force-reinstall tutorgrad" in done.stderr


def test_what_removing_it_has_left_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    names.check(tutor)
    monkeypatch.setattr(names, "strangers", list)
    with pytest.raises(TutorError, match=r"its tutor/__init__\.py is gone: another project"):
        names.check(SimpleNamespace())
