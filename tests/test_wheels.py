"""The wheels: what cibuildwheel would build, and whether their workflow hangs together.

No such machine is here. What can be known without one: .github/workflows/wheels.yml is as the
schema of workflows has it, its jobs wait for what they use, each command in it is there, and
nothing is published that has not been tested.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="pip install 'tutorgrad[dev]' brings it")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WHEELS = ROOT / ".github" / "workflows" / "wheels.yml"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONFIG = PYPROJECT["tool"]["cibuildwheel"]
SHELL = {"mkdir", "cp"}  # that every runner's bash has
PACKAGES = {"pip", "pytest", "build", "cibuildwheel", "tutor"}  # what python -m may be asked for
PYTHONS = ("cp311", "cp312", "cp313", "cp314")


def load(path: Path) -> dict[str, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    found["on"] = found.pop(True)  # YAML 1.1 reads `on` as a bool
    return found


JOBS = load(WHEELS)["jobs"]


def steps(job: str) -> list[dict[str, Any]]:
    return list(JOBS[job]["steps"])


def commands(text: str) -> list[list[str]]:
    """The simple commands of a line of shell, and of those of the lines below."""
    plain = re.sub(r"\$\{\{[^}]*\}\}", "X", text)
    lines = [part for line in plain.splitlines() for part in line.split("&&")]
    return [shlex.split(line) for line in lines if line.strip()]


RUN = [
    *(c for name in JOBS for step in steps(name) for c in commands(step.get("run", ""))),
    *(c for line in CONFIG["test-command"] for c in commands(line)),
]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_as_their_schema_says(path: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="the extra [wheels] brings it")
    for schema in ("vendor.github-workflows", "custom.github-workflows-require-timeout"):
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_workflow_with_a_fault_is_noticed(tmp_path: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="the extra [wheels] brings it")
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WHEELS.read_text(encoding="utf-8").replace("runs-on:", "runs-at:"))
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema",
               "vendor.github-workflows", str(wrong)]  # fmt: skip
    assert subprocess.run(command, capture_output=True, check=False).returncode


def test_jobs_wait_for_what_they_use() -> None:
    made = {}  # the artifact: the job that makes it
    for job in JOBS:
        for step in steps(job):
            if step.get("uses", "").startswith("actions/upload-artifact@"):
                made[step["with"]["name"].partition("$")[0]] = job
                assert step["with"]["if-no-files-found"] == "error"
    for job in JOBS:
        needs = JOBS[job].get("needs", [])
        needs = [needs] if isinstance(needs, str) else needs
        assert set(needs) <= set(JOBS)
        for step in steps(job):
            if step.get("uses", "").startswith("actions/download-artifact@"):
                wanted = step["with"].get("name") or step["with"]["pattern"].rstrip("*")
                makers = {maker for name, maker in made.items() if name.startswith(wanted)}
                assert makers
                assert makers <= set(needs)


def test_only_what_has_been_tested_is_published_and_only_by_a_release() -> None:
    publish = JOBS["publish"]
    assert set(publish["needs"]) == set(JOBS) - {"publish"}
    assert publish["if"] == "github.event_name == 'release'"
    assert load(WHEELS)["on"]["release"] == {"types": ["published"]}
    assert publish["permissions"] == {"id-token": "write"}  # trusted publishing: no password
    assert publish["environment"]
    assert load(WHEELS)["permissions"] == {"contents": "read"}
    assert "secrets." not in WHEELS.read_text(encoding="utf-8")


def test_what_the_matrix_names_is_given() -> None:
    text = WHEELS.read_text(encoding="utf-8")
    assert not re.search(r"\$\{\{(?! (matrix|github)\.\w+( != 'release')? \}\})", text)
    for name, job in JOBS.items():
        matrix = dict(job.get("strategy", {}).get("matrix", {}))
        rows = matrix.pop("include", [{}])
        used = set(re.findall(r"matrix\.(\w+)", yaml.safe_dump(job)))
        for row in rows:
            assert used == {*matrix, *row}, name


def test_actions_are_of_a_version() -> None:
    used = [step["uses"] for job in JOBS for step in steps(job) if "uses" in step]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", name) for name in used)
    assert len({*used}) == len({name.partition("@")[0] for name in used})


@pytest.mark.parametrize("command", RUN, ids=" ".join)
def test_every_command_is_there(command: list[str]) -> None:
    program, *rest = command
    if program in SHELL:
        assert shutil.which(program)
        return
    assert (program, rest[0]) == ("python", "-m"), command
    module, *arguments = rest[1:]
    assert module in PACKAGES
    if module in ("pip", "pytest", "tutor"):
        assert importlib.util.find_spec(module)
    if module == "pytest":
        assert all((ROOT / path).is_file() for path in arguments)
    if module == "tutor":  # it understands them; most take seconds, and have tests of their own
        from tutor.__main__ import parser

        parser().parse_args(arguments)


def test_each_python_and_machine_gets_its_wheel() -> None:
    """Asked of cibuildwheel itself, with the very options of the workflow."""
    pytest.importorskip("cibuildwheel", reason="the extra [wheels] brings it")
    found = []
    for row in JOBS["cibuildwheel"]["strategy"]["matrix"]["include"]:
        done = subprocess.run(
            [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform",
             row["platform"], "--archs", row["arch"], str(ROOT)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found += done.stdout.split()
    systems = ("manylinux_x86_64", "manylinux_aarch64", "macosx_x86_64", "macosx_arm64")
    assert sorted(found) == sorted(f"{p}-{system}" for p in PYTHONS for system in systems)


def test_the_pythons_are_those_of_the_project() -> None:
    """A new one is added in both places; the oldest is what requires-python says."""
    assert PYPROJECT["project"]["requires-python"] == f">=3.{PYTHONS[0][3:]}"
    assert CONFIG["build"] == [f"{python}-*" for python in PYTHONS]
    ends = [f"3.{python[3:]}" for python in (PYTHONS[0], PYTHONS[-1])]
    assert JOBS["anywhere"]["strategy"]["matrix"]["python"] == ends
    assert any(
        name.startswith("windows") for name in JOBS["anywhere"]["strategy"]["matrix"]["runner"]
    )


def test_what_the_tests_of_a_wheel_need_is_copied_and_the_tree_is_not() -> None:
    """Beside the folder tutor/ of the tree Python would take that, which has no extension."""
    sources = CONFIG["test-sources"]
    assert all((ROOT / name).exists() for name in sources)
    assert not {"tutor", "."} & set(sources)


# ---- the pure wheel ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pure wheel of this tree, made where there is no compiler to be found."""
    pytest.importorskip("scikit_build_core", reason="pip brings it where it builds")
    pytest.importorskip("pybind11", reason="pip brings it where it builds")
    folder = tmp_path_factory.mktemp("pure")
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
               "--wheel-dir", str(folder), str(ROOT)]  # fmt: skip
    keep = {k: v for k, v in os.environ.items() if k not in ("CXX", "PYTHONPATH")}
    done = subprocess.run(command, env={**keep, "TUTOR_PURE": "1", "PATH": "/nowhere"}, text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_pure_wheel_is_for_any_system_and_carries_the_licences(pure: Path) -> None:
    assert pure.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(pure).namelist()
    assert not [name for name in names if name.endswith((".so", ".cpp", ".hpp", "CMakeLists.txt"))]
    assert {"tutor/py.typed", "tutor/backends/simd_cpp/_simd.pyi"} <= set(names)
    assert {"tutor/profiler/listings.txt", "course/labs/flags.c", "course/labs/measured.json"} <= (
        set(names)
    )
    licences = sorted(name.rpartition("/")[2] for name in names if "/licenses/" in name)
    assert licences == ["LICENSE", "xsimd-BSD-3-Clause.txt"]


def test_the_pure_wheel_passes_the_tests_of_a_wheel(pure: Path) -> None:
    """As the workflow has it: installed, and tested in a folder without the tree."""
    home = pure.parent
    venv.create(home / "env", symlinks=True)
    python = home / "env" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps",
               "--no-index", str(pure)]  # fmt: skip
    subprocess.run(install, check=True, capture_output=True)
    here = Path(sysconfig.get_path("purelib", vars={"base": str(home / "env")}))
    others = [path for path in sys.path if path.endswith("site-packages")]
    (here / "others.pth").write_text("\n".join(others) + "\n")  # pytest, and what it needs
    elsewhere = home / "elsewhere"
    shutil.copytree(ROOT / "tests", elsewhere / "tests")
    shutil.copy2(ROOT / "pyproject.toml", elsewhere)
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("TUTOR", "PYTHONPATH"))}
    keep["PATH"] = "/nowhere"
    for command in ("-m pytest -q -p no:cacheprovider tests/test_tiny.py", "-m tutor doctor"):
        done = subprocess.run([str(python), *command.split()], cwd=elsewhere, env=keep,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^tutor: .*{re.escape(str(here))}", done.stdout, re.MULTILINE)
    assert re.search(r"^backends: +python_ref$", done.stdout, re.MULTILINE)
