"""Conformance of the kernels on matrices: right ones pass, and each kind of fault is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tutor.__main__ import main
from tutor.backends import registry
from tutor.backends.matrix_signatures import MATRICES
from tutor.dtype import float32, float64
from tutor.testing import conformance, matrices

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
BACKENDS = ("python_ref", "simd_cpp")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kernel", MATRICES)
def test_it_agrees(kernel: str, backend: str) -> None:
    verdicts = matrices.run(backend, [kernel], seed=1)
    assert [v.dtype for v in verdicts] == [float32, float64]
    assert all(v.ok and v.cases >= 24 for v in verdicts), conformance.report(verdicts)


def the_other_way(out: Any) -> None:
    """The first number of the result with the other sign, or 1 if it is 0."""
    out.buf[out.offset] = -out.buf[out.offset] or 1.0


def the_last(out: Any) -> None:
    """The last number of the result a little larger."""
    at = out.offset + sum((n - 1) * s for n, s in zip(out.shape, out.strides, strict=True))
    out.buf[at] = out.buf[at] * 1.001 + 0.001


def nan(out: Any) -> None:
    out.buf[out.offset] = float("nan")


def beside(out: Any) -> None:
    used = {out.offset + i * out.strides[0] + j * out.strides[1]
            for i in range(out.shape[0]) for j in range(out.shape[1])}  # fmt: skip
    for k in set(range(len(out.buf))) - used:
        out.buf[k] = 0.0


def fails(out: Any) -> None:
    raise ValueError("no")


@pytest.mark.parametrize("fault", [the_other_way, the_last, nan, beside, fails])
@pytest.mark.parametrize("kernel", MATRICES)
def test_a_fault_is_found(
    kernel: str, fault: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = registry.lookup

    def lookup(name: str, backend: str, dtype: Any) -> Any:
        right = real(name, "python_ref", dtype)

        def wrong(out: Any, *ins: Any, **params: Any) -> None:
            right(out, *ins, **params)
            fault(out)

        return wrong if backend == "simd_cpp" else right

    monkeypatch.setattr(registry, "lookup", lookup)
    verdict = matrices.check("simd_cpp", kernel, float64)
    assert not verdict.ok and verdict.worst > 1 and kernel in verdict.first_failure
    assert "WRONG" in conformance.report([verdict])


def test_a_changed_input_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = registry.lookup

    def lookup(name: str, backend: str, dtype: Any) -> Any:
        right = real(name, "python_ref", dtype)

        def wrong(out: Any, a: Any) -> None:
            right(out, a)
            a.buf[0] = 0.0

        return wrong if backend == "simd_cpp" else right

    monkeypatch.setattr(registry, "lookup", lookup)
    assert not matrices.check("simd_cpp", "eigh", float64).ok


def test_a_backend_without_them_has_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._tables, "bare", {})
    monkeypatch.setitem(registry._devices, "bare", "cpu")
    verdicts = matrices.run("bare")
    assert [v.cases for v in verdicts] == [0] * 2 * len(MATRICES)
    assert conformance.report(verdicts).count("missing") == len(MATRICES)


def test_the_command_runs_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "python_ref", "--kernel", "qr", "--kernel", "neg"]) == 0
    said = capsys.readouterr().out
    assert "qr" in said and "residual" in said and "neg" in said


def test_the_page_shows_them() -> None:
    lines = PAGE.read_text().splitlines()
    for kernel in MATRICES:
        (shown,) = [line for line in lines if line.startswith(f"| {kernel} |")]
        (fresh,) = conformance.rows(matrices.run("simd_cpp", [kernel]))
        cells = [cell.strip() for cell in shown.strip("|").split("|")]
        assert [*fresh[:5], fresh[6]] == [*cells[:5], cells[6]], "run make conformance"
