"""listing(): what objdump reads, the lines that are stored, and what is said where either lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

import tutor
from tutor.backends import registry, simd_cpp
from tutor.errors import DTypeError, KernelNotFound
from tutor.profiler import listing as module
from tutor.profiler import machine_code
from tutor.profiler.listing import CodeLine, Listing, listing, stored, text_of
from tutor.profiler.machine_code import Code

BUILT = "simd_cpp" in registry.backends()
READABLE = BUILT and not machine_code.why_not() and "avx2" in simd_cpp.levels()
SOURCES = Path(simd_cpp.__file__).parent
ADD = ("add", "float32", "avx2")


def loop(*instructions: str) -> list[Code]:
    return [Code(8 * number, text) for number, text in enumerate(instructions)]


@pytest.fixture
def without_objdump(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "why_not", lambda: "there is no objdump")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Code]:
    """What is then found in the extension, in place of the loop of a kernel."""
    if not READABLE:
        pytest.skip("there is no objdump")
    found: list[Code] = []
    monkeypatch.setattr(machine_code, "loop_of", lambda kernel: found)
    return found


# ---- the stored ones -----------------------------------------------------------------------------


@pytest.mark.parametrize("key", stored(), ids=" ".join)
def test_stored_lines_are_in_the_sources(key: tuple[str, str, str]) -> None:
    """Otherwise the file is out of date: `make listings` writes it anew."""
    if not list(SOURCES.glob("*.cpp")):
        pytest.skip("there is no objdump")
    for line in stored()[key].lines:
        text = (SOURCES / line.file).read_text(encoding="utf-8").splitlines() if line.file else [""]
        rows = [row.strip() for row in text]
        assert line.source in rows, f"make listings: {line.file} has no line {line.source!r}"


@pytest.mark.parametrize("key", stored(), ids=" ".join)
def test_stored_loops_compute_and_know_their_lines(key: tuple[str, str, str]) -> None:
    lines = stored()[key].lines
    packed, single = machine_code.computing(loop(*(line.instruction for line in lines)), key[1])
    assert (packed, single) == (0, 2) if key[0] == "matmul.naive" else packed >= 1
    assert sum(bool(line.source) for line in lines) > len(lines) / 2
    assert lines[-1].instruction.startswith("j") and lines[-1].instruction.endswith(" 1")


def test_the_formula_is_the_line_of_the_addition() -> None:
    (add,) = [line for line in stored()[ADD].lines if line.instruction.startswith("vaddps")]
    assert add.file == "kernels/arithmetic.cpp" and add.source.startswith("FORMULA2(Add, ")


def test_what_is_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STORED", tmp_path / "listings.txt")
    lines = (CodeLine("addps xmm0,xmm1", "a.cpp", "x + y  // a line"), CodeLine("jne 1"))
    one = Listing("add", "float32", "sse4", lines, "by hand")
    (tmp_path / "listings.txt").write_text(text_of([one, one], "by hand"))
    assert stored() == {("add", "float32", "sse4"): one}


# ---- which of the two ----------------------------------------------------------------------------


@pytest.mark.usefixtures("without_objdump")
def test_without_objdump_the_stored_one_serves() -> None:
    found = listing("add", level="avx2")
    assert found == stored()[ADD] and found.origin.startswith("stored by `make listings`")
    with pytest.raises(KernelNotFound) as caught:
        listing("tanh", "float64", "avx2")
    assert "there is no objdump, and there is no stored listing of it" in caught.value.found
    assert "add float32 avx2" in caught.value.do


def test_without_the_extension_the_stored_one_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "backends", lambda: ["python_ref"])
    monkeypatch.setattr(machine_code, "why_not", lambda: "")
    assert listing("add") == stored()[ADD]
    with pytest.raises(KernelNotFound, match="the extension was not built"):
        listing("tanh")


def test_another_machines_level_is_stored_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if not READABLE:
        pytest.skip("there is no objdump")
    monkeypatch.setattr(simd_cpp, "levels", lambda: ["scalar", "avx2"])
    assert listing("add", level="avx512") == stored()["add", "float32", "avx512"]
    with pytest.raises(KernelNotFound, match="this CPU has the levels scalar, avx2"):
        listing("add", level="neon")
    with pytest.raises(KernelNotFound, match="the extension has no such kernel"):
        listing("ad", level="avx2")


def test_the_same_instructions_have_the_stored_lines(reads: list[Code]) -> None:
    known = stored()["relu", "float32", "avx2"].lines
    last = len(known) - 1
    for number, line in enumerate(known):
        name, _, rest = line.instruction.partition(" ")
        jumps = name.startswith("j")
        text = f"{name} {8 * (int(rest) - 1):x}" if jumps else line.instruction
        reads.append(Code(8 * number, text))
    found = listing("relu", level="avx2")
    assert found.lines == known and "the source lines from a stored listing" in found.origin
    reads[last - 1] = Code(8 * (last - 1), "cmp rbx,rcx")
    found = listing("relu", level="avx2")
    assert not any(line.source for line in found.lines) and "this build knows none" in found.origin


def test_a_build_that_knows_lines_is_believed(reads: list[Code]) -> None:
    place = "kernels/arithmetic.cpp"
    rows = (SOURCES / place).read_text(encoding="utf-8").splitlines()
    number = next(n for n, row in enumerate(rows, 1) if row.startswith("FORMULA2(Sub"))
    reads += [Code(0, "vsubps a", (place, number)), Code(8, "jne 0", ("gone.cpp", 3))]
    found = listing("sub", level="avx2")
    assert found.lines == (CodeLine("vsubps a", place, rows[number - 1]), CodeLine("jne 1"))
    assert "the lines that this build knows" in found.origin


def test_a_kernel_without_a_loop_of_its_own(reads: list[Code]) -> None:
    with pytest.raises(KernelNotFound, match="none of its loops computes"):
        listing("add", level="avx2")


@pytest.mark.skipif(not READABLE, reason="there is no objdump")
def test_what_the_extension_has() -> None:
    found = tutor.listing("add", "float32", level="avx2")
    assert found.origin.startswith("read by objdump")
    assert any(line.instruction.startswith("vaddps ymm") for line in found.lines)
    assert found.level == "avx2" and tutor.listing("add").level == simd_cpp.level()


# ---- as it is shown ------------------------------------------------------------------------------


def test_a_source_line_is_shown_once() -> None:
    lines = (
        CodeLine("lea a", "x.hpp", "a = b;"),
        CodeLine("add b", "x.hpp", "a = b;"),
        CodeLine("jne 1"),
    )
    assert str(Listing("add", "float32", "avx2", lines, "by hand")) == (
        "add float32 avx2: by hand\n  1  lea a  x.hpp  a = b;\n  2  add b\n  3  jne 1"
    )


@pytest.mark.parametrize("wrong", [{"kernel": 3}, {"kernel": "add", "level": 3}, {"kernel": ["a"]}])
def test_what_is_no_name(wrong: dict[str, object]) -> None:
    with pytest.raises(KernelNotFound, match="give a name"):
        listing(**wrong)  # type: ignore[arg-type]
    with pytest.raises(DTypeError):
        listing("add", "float33")
