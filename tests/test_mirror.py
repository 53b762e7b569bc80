"""tests/ mirrors tutor/: who reads a module finds its tests by its path, and the other way round.

A file of tests is named after what it tests, a module, a package, or a C++ source or folder: the
path of that below the folder of tests, joined by underscores, and its subject after that, if it has
one. Underscores before a name are dropped; as no two files of tests may have the same name, names
of folders may stand before it:

    tutor/_storage/layout.py                 tests/storage/test_layout.py
    tutor/nn/utils/rnn.py                    tests/nn/test_utils_rnn.py
    tutor/viz/svg.py                         tests/viz/test_viz_svg.py
    tutor/programs/jit.py                    tests/programs/test_jit.py, test_jit_borders.py
    tutor/backends/opencl (all of it)        tests/backends/opencl/test_opencl.py
    tutor/backends/simd_cpp/threads.cpp      tests/backends/simd_cpp/test_threads.py

What is about no one place of tutor/ is listed in SUBJECTS; what is tested under another name, in
ELSEWHERE. Both lists are to become shorter.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

import tutor

HERE = Path(__file__).parent
PACKAGE = Path(tutor.__file__).parent
TESTS = sorted(path.relative_to(HERE) for path in HERE.rglob("test_*.py"))

Place = tuple[str, ...]  # ("storage", "layout") of tutor/_storage/layout.py

# Files and folders of tests that are about no one place of tutor/.
SUBJECTS = {
    "bench": "the instruments in benchmarks/, a file each",
    "course": "the folder course/, and what the chapters say",
    "docs": "the folder docs/",
    "exhaustive": "kernels on every float there is: C++ of its own, and docs/exhaustive.md",
    "mutants": "whether the suite notices planted bugs",
    "oracle": "the whole library beside PyTorch's, row by row",
    "ported": "programs in PyTorch's idiom, run by both libraries",
    "site": "the built site, in a browser",
    "test_arm64.py": "`make arm64`",
    "test_at_once.py": "several threads that use all of the library",
    "test_benchmarks.py": "the folder benchmarks/",
    "test_build_backend.py": "build_backend.py",
    "test_class_names.py": "the names of all classes",
    "test_cost_of_ranks.py": "benchmarks/cost.py",
    "test_cpp_shape.py": "how long C++ files and functions may be",
    "test_cycles.py": "every public call: none leaves a cycle that holds a Tensor",
    "test_dockerfile.py": "the Dockerfile",
    "test_ecosystem.py": "SciPy, scikit-learn, einops and matplotlib on Tensors",
    "test_examples.py": "the folder examples/",
    "test_gpt2.py": "examples/gpt2.py",
    "test_imports.py": "who may import whom, and how long a file may be",
    "test_makefile.py": "the Makefile",
    "test_messages.py": "the text of errors, all over the library",
    "test_mirror.py": "where tests stand",
    "test_mistakes.py": "every public name: whatever it is given, an error has three parts",
    "test_names.py": "names that the lessons spell, all over the library",
    "test_path.py": "how much of the library one training step passes through",
    "test_stated_once.py": "rules that several languages state, such as an optimizer's",
    "test_suite.py": "the suite",
    "test_tiny.py": "the whole library in a few seconds",
    "test_train_mnist.py": "train_mnist.py",
    "test_types.py": "what type checkers know of the public names",
    "test_wheels.py": "the wheels and their workflow",
    "test_windows.py": "the whole library without what Windows has not",
}

# Modules, and folders with all in them, whose tests stand in a file named after something else.
ELSEWHERE = {
    "autograd.py": "functions/test_gradients.py",
    "backends/chains.py": "backends/test_bytecode_fused.py",
    "backends/codegen": "programs/source/test_source.py",  # and on devices, by their kernels
    "backends/costs.py": "profiler/test_profiler.py",
    "backends/matrices": "testing/test_matrices.py",
    "backends/matrix_signatures.py": "testing/test_matrices.py",
    "backends/transfers.py": "backends/test_devices.py",
    "backends/windows.py": "ops/test_native_engine.py",
    "einops.py": "test_ecosystem.py",
    "errors.py": "test_messages.py",
    "interop/array_info.py": "test_array_api.py",
    "interop/numpy_functions.py": "interop/test_numpy_protocol.py",
    "_storage/array_like.py": "core/test_tensor.py",
    "_storage/bits.py": "test_dtype.py",
    "_storage/device_memory.py": "backends/test_devices.py",
    "_storage/index_parsing.py": "methods/test_selection.py",
    "_storage/memory.py": "core/test_buffer.py",
    "_storage/overlap.py": "storage/test_layout.py",
    "testing/cases": "testing/test_conformance.py",
    "training/log.py": "training/test_run.py",
    "training/outline.py": "training/test_monitor.py",
    "training/screen.py": "training/test_run.py",
    "_util/callers.py": "profiler/test_anomaly.py",
    "_util/checks.py": "test_mistakes.py",
    "_util/error_messages.py": "core/test_engine.py",
    "_util/interpreter.py": "methods/test_interop.py",
    "_util/lazy_imports.py": "test_imports.py",
    "_util/typing.py": "test_types.py",
}

SHARE = 0.33  # of all modules, those with a file of tests of their own: it may only rise


def place_of(path: Path) -> Place:
    """Of a file of tutor/, its path without underscores; a package is its folder."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return tuple(part.strip("_") for part in (parts[:-1] if parts[-1] == "__init__" else parts))


MODULES = {path.relative_to(PACKAGE).as_posix(): place_of(path) for path in PACKAGE.rglob("*.py")}
SOURCES = [place_of(path) for path in PACKAGE.rglob("*.[ch]pp")]
PLACES = {
    place[:size] for place in (*MODULES.values(), *SOURCES) for size in range(1, len(place) + 1)
}


def folder_of(file: Path) -> Place:
    """The folder of a file of tests, as tutor/ calls it. (Where PyTorch is not installed, Python
    would find a folder tests/torch in its place.)"""
    return tuple("torch" if part == "torch_wing" else part for part in file.parent.parts)


FOLDERS = {folder_of(file) for file in TESTS}


def home(place: Place) -> Place:
    """The folder for its tests: of those that there are, the one with most of its path."""
    sizes = range(len(place), 0, -1)
    return next((place[:size] for size in sizes if place[:size] in FOLDERS), ())


BY_NAME: defaultdict[tuple[Place, str], set[Place]] = defaultdict(set)
for each in PLACES:
    for start in range(min(len(home(each)) + 1, len(each))):  # the names of folders before it
        BY_NAME[home(each), "_".join(each[start:])].add(each)


def named_after(file: Path) -> set[Place]:
    """What a file of tests is named after: by the longest name that fits, nothing if none does."""
    words = file.stem.removeprefix("test_").split("_")
    names = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    found = (BY_NAME.get((folder_of(file), name)) for name in names)
    return next((places for places in found if places), set())


def is_listed(file: Path) -> bool:
    return file.parts[0] in SUBJECTS


def is_elsewhere(module: str) -> bool:
    return any(f"{module}/".startswith(f"{row}/") for row in ELSEWHERE)


OWN = {place for file in TESTS if not is_listed(file) for place in named_after(file)}


def of_a_package(place: Place) -> bool:
    """Is there a file of tests that is named after a package that it is in?"""
    return any(place[:size] in OWN for size in range(1, len(place)))


# ---- from the tests to the code ------------------------------------------------------------------


@pytest.mark.parametrize("file", [f for f in TESTS if not is_listed(f)], ids=str)
def test_a_file_of_tests_is_named_after_what_it_tests(file: Path) -> None:
    folder = file.parent.as_posix()
    asked = f"name it after a module or package of tutor/{folder}, or list its subject in SUBJECTS"
    assert named_after(file), asked


def test_names_say_what_is_tested_and_where() -> None:
    """The rule itself, where a name is wrong."""
    assert named_after(Path("storage/test_layout.py")) == {("storage", "layout")}
    assert named_after(Path("programs/test_jit_borders.py")) == {("programs", "jit")}
    assert named_after(Path("backends/opencl/test_opencl_opening.py")) == {("backends", "opencl")}
    assert named_after(Path("backends/simd_cpp/test_threads.py")) == {
        ("backends", "simd_cpp", "threads")
    }
    assert not named_after(Path("storage/test_places.py"))  # there is no such module
    assert not named_after(Path("nn/test_layout.py"))  # it is in another folder
    assert not named_after(Path("nn/test_rnn.py"))  # its name lacks a folder's: utils_rnn
    assert not named_after(Path("backends/test_opencl_commands.py"))  # there is a folder for opencl


def test_subjects_are_there_and_have_no_place_of_their_own() -> None:
    for name, what in SUBJECTS.items():
        assert (HERE / name).exists() and what, name
        assert not named_after(Path(name)) if name.endswith(".py") else (name,) not in PLACES, name


# ---- from the code to the tests ------------------------------------------------------------------


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_has_a_file_of_tests(module: str) -> None:
    """Of its own or its package's, or where ELSEWHERE says. A package as such need have none."""
    place = MODULES[module]
    known = place in OWN or of_a_package(place) or is_elsewhere(module)
    assert known or module.endswith("__init__.py"), "name a file of tests after it"


@pytest.mark.parametrize("row", ELSEWHERE)
def test_what_is_tested_elsewhere_is_so_and_needs_the_row(row: str) -> None:
    assert (HERE / ELSEWHERE[row]).is_file()
    rows = [module for module in MODULES if f"{module}/".startswith(f"{row}/")]
    needed = [name for name in rows if MODULES[name] not in OWN and not of_a_package(MODULES[name])]
    assert needed, "strike out the row"


def test_the_share_of_modules_with_a_file_of_their_own_does_not_fall() -> None:
    modules = {place for name, place in MODULES.items() if not name.endswith("__init__.py")}
    share = len(modules & OWN) / len(modules)
    assert share >= SHARE, f"{len(modules & OWN)} of {len(modules)}: {share:.3f}"
