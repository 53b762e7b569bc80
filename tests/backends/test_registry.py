"""The registry: one place where a kernel is chosen, and no choice made in silence."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from importlib import machinery, metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from backend_names import BACKENDS, LEVELS

import tutor
from tutor import Tensor
from tutor.backends import registry, simd_cpp
from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.dtype import bool_, float32, int64
from tutor.errors import KernelNotFound

ROOT = Path(tutor.__file__).parents[1]
REFERENCE = registry.table("python_ref")
ADD = ("add", float32)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test may register and choose what it likes."""
    for name in ("_tables", "_loaders", "_unavailable", "_kernels"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    monkeypatch.setattr(registry, "_chosen", {})
    with tutor.use_backend("python_ref"):
        yield


class Counting(dict):
    """python_ref's kernels, which count their calls by name."""

    def __init__(self, rows: registry.Table) -> None:
        self.calls: dict[str, int] = {}
        super().__init__((key, self.counted(key[0], kernel)) for key, kernel in rows.items())

    def counted(self, name: str, kernel: registry.Kernel) -> registry.Kernel:
        def run(*operands, **params) -> None:
            self.calls[name] = self.calls.get(name, 0) + 1
            kernel(*operands, **params)

        return run


# ---- looking up ----------------------------------------------------------------------------------


def test_lookup_finds_the_tables_kernel() -> None:
    for name in BACKENDS:
        assert registry.lookup("add", name, float32) is registry.table(name)["add", float32]


def test_aliases() -> None:
    assert registry.table("python") is registry.table("python_ref")
    with tutor.use_backend("python"):
        assert registry.current() == "python_ref"


def test_unknown_backend() -> None:
    with pytest.raises(KernelNotFound) as error:
        registry.table("tpu")
    assert "backend 'tpu'" in error.value.asked
    assert "python_ref" in error.value.found
    assert error.value.do
    with pytest.raises(KernelNotFound):
        registry.lookup("add", "tpu", float32)


def test_unknown_kernel() -> None:
    with pytest.raises(KernelNotFound) as error:
        registry.lookup("frobnicate", "python_ref", float32)
    assert "kernel 'frobnicate' for float32 on backend 'python_ref'" in error.value.asked
    assert "no dtype at all" in error.value.found
    assert "no backend" in error.value.found


def test_missing_dtype_names_what_there_is() -> None:
    registry.register("halves", {("exp", float32): REFERENCE["exp", float32]})
    with pytest.raises(KernelNotFound) as error:
        registry.lookup("exp", "halves", tutor.float64)
    assert "kernel 'exp' for float64 on backend 'halves'" in error.value.asked
    assert "halves has 'exp' for float32;" in error.value.found
    assert "python_ref" in error.value.found.split("there on:")[1]
    assert "use_backend" in error.value.do


def test_an_op_never_falls_back() -> None:
    registry.register("bare", {("add", float32): REFERENCE["add", float32]})
    x = Tensor([1.0, 2.0])
    with tutor.use_backend("bare"):
        assert (x + x).tolist() == [2.0, 4.0]
        with pytest.raises(KernelNotFound, match="kernel 'mul' for float32 on backend 'bare'"):
            x * x


def test_what_was_not_built_says_what_to_do() -> None:
    registry.register_unavailable("fpga", "buy one")
    with pytest.raises(KernelNotFound, match="buy one"):
        tutor.use_backend("fpga")


# ---- choosing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BACKENDS)
def test_the_kernels_that_run_are_those_of_the_backend_in_use(name: str) -> None:
    """What `kernel` remembers is of one backend: before, within and after a block."""
    inside, outside = registry.table(name)["add", float32], REFERENCE["add", float32]
    assert registry.kernel("add", float32) is outside
    with tutor.use_backend(name):
        assert registry.kernel("add", float32) is inside
        with tutor.use_backend("python_ref"):
            assert registry.kernel("add", float32) is outside
        assert registry.kernel("add", float32) is inside
    assert registry.kernel("add", float32) is outside


def test_set_backend_holds_from_here_on_and_within_a_block_until_its_end() -> None:
    registry.register("second", REFERENCE)
    with tutor.use_backend("python_ref"):
        tutor.set_backend("second")
        assert registry.current() == "second"
    assert registry.current() == "python_ref"
    code = "import tutor; tutor.set_backend('python');" + CURRENT
    assert python(code, TUTOR_BACKEND="").stdout.split() == ["python_ref"]


def test_a_use_backend_that_is_not_entered_says_so() -> None:
    with pytest.warns(
        UserWarning, match=r"with use_backend\('python_ref'\).*set_backend"
    ) as caught:
        tutor.use_backend("python")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tutor.use_backend("python"):
            pass
        tutor.use_backend("python")(len)


def test_use_backend_for_a_block() -> None:
    registry.register("second", REFERENCE)
    with tutor.use_backend("second"):
        assert registry.current() == "second"
        with tutor.use_backend("python_ref"):
            assert registry.current() == "python_ref"
        assert registry.current() == "second"
    assert registry.current() == "python_ref"


def test_the_block_ends_with_an_exception_too() -> None:
    registry.register("second", REFERENCE)
    with pytest.raises(ZeroDivisionError), tutor.use_backend("second"):
        raise ZeroDivisionError
    assert registry.current() == "python_ref"


def test_an_unknown_choice_changes_nothing() -> None:
    with pytest.raises(KernelNotFound):
        tutor.use_backend("tpu")
    assert registry.current() == "python_ref"


# ---- a third backend -----------------------------------------------------------------------------


def test_a_third_backend_runs_ops() -> None:
    counting = Counting(REFERENCE)
    registry.register("counting", counting)
    with tutor.use_backend("counting"):
        x = Tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
        y = ((x @ x).relu() * 2).sum()
        y.backward()
    assert counting.calls["matmul"] == 3  # forward, and the gradient of either side
    assert counting.calls["relu"] == 1
    expected = Tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    ((expected @ expected).relu() * 2).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_registering_again_replaces() -> None:
    first, second = Counting(REFERENCE), Counting(REFERENCE)
    registry.register("counting", first)
    registry.lookup("add", "counting", float32)
    registry.register("counting", second)
    assert registry.lookup("add", "counting", float32) is second["add", float32]
    with tutor.use_backend("counting"):  # what is in use forgets what it had found, too
        assert registry.kernel("add", float32) is second["add", float32]
        registry.register("counting", first)
        assert registry.kernel("add", float32) is first["add", float32]


def test_registering_while_another_thread_looks_up() -> None:
    """What that thread then writes down was true a moment ago: nobody is to find it."""

    def new(*operands: object, **params: object) -> None: ...

    class Overtaken(dict):
        """A table that is replaced while it is read."""

        def get(self, key: object, default: object = None) -> object:
            thread = threading.Thread(target=registry.register, args=("late", {ADD: new}))
            thread.start()
            thread.join()
            return super().get(key, default)

    for look_up in (
        lambda: registry.lookup(*ADD[:1], "late", ADD[1]),
        lambda: registry.kernel(*ADD),
    ):
        registry.register("late", Overtaken({ADD: REFERENCE[ADD]}))
        with tutor.use_backend("late"):
            assert look_up() is REFERENCE[ADD]
            assert look_up() is new


def test_only_kernels_with_a_signature() -> None:
    with pytest.raises(KernelNotFound, match="frobnicate"):
        registry.register("third", {("frobnicate", float32): print})
    assert "third" not in registry.backends()


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def make() -> registry.Table:
        made.append(1)
        return {("add", float32): REFERENCE["add", float32]}

    def entry_points(*, group: str) -> list[SimpleNamespace]:
        points = {"tutor.backends": [SimpleNamespace(name="plugged", load=lambda: make)]}
        return points.get(group, [])

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    assert "plugged" in registry.backends()
    assert not made  # made when asked for, once
    for _ in range(2):
        with tutor.use_backend("plugged"):
            assert (Tensor([1.0]) + Tensor([2.0])).tolist() == [3.0]
    assert made == [1]


# ---- what it prints ------------------------------------------------------------------------------


def test_report_has_every_kernel() -> None:
    registry.register("bare", {("add", float32): REFERENCE["add", float32]})
    head, *lines = registry.report().splitlines()
    assert head.split()[:1] == ["kernel"]
    assert {"bare", "python_ref"} <= set(head.split())
    assert [line.split()[0] for line in lines] == list(SIGNATURES)
    add = next(line for line in lines if line.startswith("add "))
    assert "1 of 13" in add
    assert "13 of 13" in add
    assert SIGNATURES["add"].formula in add


# ---- signatures.py itself ------------------------------------------------------------------------


def test_signatures_are_named_once_and_complete() -> None:
    assert len(SIGNATURES) == len(TABLE_OF_KERNELS)
    for row in TABLE_OF_KERNELS:
        assert row.dtypes, row.name
        assert set(row.types) <= set("TbiudnCS*+"), row.name
        assert row.agree in ("exact", "sum", "ulp(1)", "ulp(2)", "ulp(3)", "ulp(4)"), row.name
        assert row.formula, row.name
    assert bool_ not in SIGNATURES["neg"].dtypes
    assert int64 not in SIGNATURES["exp"].dtypes


# ---- environment variables, each in a process of its own -----------------------------------------


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("TUTOR_BACKEND", "TUTOR_SIMD")}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


CURRENT = "from tutor.backends import registry; print(registry.current())"


@pytest.mark.parametrize("name", ["python", "python_ref"])
def test_tutor_backend(name: str) -> None:
    assert python(CURRENT, TUTOR_BACKEND=name).stdout.split() == ["python_ref"]


def test_the_default_is_the_fastest() -> None:
    fastest = "simd_cpp" if "simd_cpp" in registry.backends() else "python_ref"
    assert python("import tutor;" + CURRENT).stdout.split() == [fastest]


def test_a_wrong_tutor_backend_is_an_error() -> None:
    code = "import tutor; print('imported'); tutor.Tensor([1.0]) + 1"
    result = python(code, TUTOR_BACKEND="tpu")
    assert result.returncode == 1
    assert "imported" in result.stdout
    assert "KernelNotFound" in result.stderr
    assert "backend 'tpu'" in result.stderr
    assert "python_ref" in result.stderr


@pytest.mark.parametrize("name", LEVELS)
def test_tutor_simd(name: str) -> None:
    level = name.removeprefix("simd_cpp.")
    code = (
        "import tutor; from tutor.backends import registry, simd_cpp;"
        "print(simd_cpp.level(), registry.lookup('add', 'simd_cpp', tutor.float32).level)"
    )
    assert python(code, TUTOR_SIMD=level).stdout.split() == [level, level]


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
def test_a_wrong_tutor_simd_is_an_error() -> None:
    result = python("import tutor; tutor.Tensor([1.0]) + 1", TUTOR_SIMD="mmx")
    assert result.returncode == 1
    assert "level 'mmx' of the backend 'simd_cpp', by TUTOR_SIMD" in result.stderr
    assert ", ".join(simd_cpp.levels()) in result.stderr


def test_simd_that_was_not_built_says_what_to_do() -> None:
    code = (
        f"import sys; sys.modules['{simd_cpp.NAME}'] = None; import tutor; tutor.Tensor([1.0]) + 1"
    )
    result = python(code, TUTOR_BACKEND="simd")
    assert result.returncode == 1
    assert "install a C++ compiler" in result.stderr


def test_a_tree_of_sources_before_an_installed_tutor_says_which_is_taken(tmp_path: Path) -> None:
    """As `python -m pytest` in a clone, where tutor is installed, but not by `pip install -e .`"""
    installed = tmp_path / "site-packages"
    place = installed / "tutor" / "backends" / "simd_cpp"
    place.mkdir(parents=True)
    (place / f"_simd{machinery.EXTENSION_SUFFIXES[0]}").touch()
    code = f"import sys; sys.modules[{simd_cpp.NAME!r}] = None; sys.path.append({str(installed)!r})"
    code += "; import tutor; tutor.Tensor([1.0]) + 1"
    result = python(code, TUTOR_BACKEND="simd")
    assert "install a C++ compiler" in result.stderr  # what is editable: there is no other tutor
    (place / "__init__.py").touch()
    result = python(code, TUTOR_BACKEND="simd")
    assert result.returncode == 1
    tree = Path(tutor.__file__).parent.parent
    assert f"the one installed in {installed} has it" in result.stderr
    assert f"to do: run pip install -e {tree}" in result.stderr


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
def test_without_pythons_lock_the_extension_is_left_alone() -> None:
    """A free-threaded Python that is told not to turn it on; another cannot be without it."""
    code = "import sys; sys._is_gil_enabled = lambda: False; import tutor"
    code += "; print(tutor.Tensor([1.0]) + 1)"
    assert "Tensor([2.])" in python(code, TUTOR_BACKEND="").stdout
    result = python(code, TUTOR_BACKEND="simd")
    assert result.returncode == 1
    assert "runs without its lock" in result.stderr and "PYTHON_GIL=0" in result.stderr
