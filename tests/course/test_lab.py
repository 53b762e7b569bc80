"""`python -m tutor lab`: what the C files compute, the rule of fairness, and what is printed."""

from __future__ import annotations

import ctypes
import json
import math
from pathlib import Path

import pytest

from course import lab
from course.lab import BUSY, FOLDER, LABS, MEASURED, Build, Row, Table, fairly, guessed_wrong
from tutor import __main__ as cli
from tutor.doctor import processor
from tutor.errors import DataError

PAGE = Path(__file__).parents[2] / "docs" / "labs.md"
needs_a_compiler = pytest.mark.skipif(not lab.compiler(), reason="there is no C compiler")


@pytest.fixture
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Build:
    return Build(lab.compiler(), FOLDER / f"{request.param}.c", str(tmp_path))


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each candidate takes twice as long as the one before it."""
    monkeypatch.setattr(lab, "fairly", lambda works: [2.0**n for n, _ in enumerate(works)])


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each probe takes longer than the one before it."""
    times = iter(1.2**n for n in range(1000))
    monkeypatch.setattr(lab, "probe", lambda: next(times))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["lab", *words]) == 0
    return capsys.readouterr().out


# ---- what the C files compute --------------------------------------------------------------------


@needs_a_compiler
@pytest.mark.parametrize("build", ["flags"], indirect=True)
@pytest.mark.parametrize("flag", ["-O0", "-O3", "-Ofast"])
def test_both_sums_are_sums(build: Build, flag: str) -> None:
    library, _ = build(flag)
    numbers = (ctypes.c_float * 96)(*range(96))
    for name in ("sum", "sum_many"):
        function = getattr(library, name)
        function.restype = ctypes.c_float
        assert function(numbers, ctypes.c_long(96), 2) == 95 * 96 / 2


@needs_a_compiler
@pytest.mark.parametrize("build", ["flags"], indirect=True)
def test_what_relaxed_arithmetic_breaks(build: Build) -> None:
    (group,) = lab.flags(build)
    said = {name: exact for name, exact, _ in group.cases}
    assert [name for name, exact in said.items() if exact == "IEEE 754 holds"] == [
        "-O0", "-O1", "-O2", "-O3", "-O3, 32 sums",
    ]  # fmt: skip
    assert said["-Ofast"].startswith("broken: ") and "order of sums" in said["-Ofast"]


@needs_a_compiler
@pytest.mark.parametrize("build", ["unroll"], indirect=True)
def test_copies_change_only_the_code(build: Build) -> None:
    results = []
    for copies in (1, 4, 256):
        library, _ = build("-O1", f"-DK={copies}")
        x, y = (ctypes.c_int * 512)(*range(512)), (ctypes.c_int * 512)()
        library.shorter(x, y, ctypes.c_long(512))
        assert list(y) == [number + 1 for number in range(512)]
        results.append(library.longer(ctypes.c_long(512)))
    assert results == results[:1] * 3


@needs_a_compiler
@pytest.mark.parametrize("build", ["unroll"], indirect=True)
def test_the_most_copies_do_not_fit_into_the_cache_of_instructions(build: Build) -> None:
    short, long = lab.unroll(build)
    code = {name: exact for name, exact, _ in long.cases}
    assert float(code["256"].split()[0]) > 32 > float(code["32"].split()[0]) > 0
    assert [exact for _, exact, _ in short.cases][-1] == "0.0039 branches a number"


@needs_a_compiler
@pytest.mark.parametrize("build", ["denormals"], indirect=True)
def test_denormal_numbers_are_right_unless_flushed(build: Build) -> None:
    library, _ = build("-O2")
    x, y = (ctypes.c_float * 4)(*[1e-39] * 4), (ctypes.c_float * 4)()
    half = ctypes.c_float(0.5)
    if library.multiply(x, y, ctypes.c_long(4), half, 1, 1):
        assert list(y) == [0.0] * 4
    library.multiply(x, y, ctypes.c_long(4), half, 1, 0)
    assert y[3] == ctypes.c_float(x[0] / 2).value > 0  # and the setting is as it was before
    library.add(x, y, ctypes.c_long(4), half, 1)
    assert y[3] == 0.5
    products, _ = lab.denormals(build)
    assert [exact for _, exact, _ in products.cases][:2] == [
        "operand and result are normal", "the result is denormal",
    ]  # fmt: skip


@needs_a_compiler
@pytest.mark.parametrize("build", ["branches"], indirect=True)
def test_with_and_without_a_branch_the_sum_is_the_same(build: Build) -> None:
    library, _ = build("-O2")
    bytes_ = [0, 127, 128, 255, 200, 3]
    x = (ctypes.c_ubyte * 6)(*bytes_)
    for function in (library.with_branch, library.without_branch):
        function.restype = ctypes.c_long
        assert function(x, ctypes.c_long(6)) == 128 + 255 + 200
    (group,) = lab.branches(build)
    wrong = {name: int(exact.split()[0].replace(",", "")) for name, exact, _ in group.cases
             if "branch" in name}  # fmt: skip
    assert wrong["sorted, a branch"] <= 2 < 30_000 < wrong["in any order, a branch"]


@pytest.mark.parametrize(
    ("ways", "wrong"), [("", 0), ("0000", 0), ("1111", 2), ("110110", 5), ("11110111", 3)]
)
def test_a_two_bit_counter_changes_its_mind_after_two_mistakes(ways: str, wrong: int) -> None:
    assert guessed_wrong([way == "1" for way in ways]) == wrong


def test_a_library_is_linked_without_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With -Ofast GCC 12 would link what changes the arithmetic of the whole process."""
    log: list[list[str]] = []
    build = Build(["cc"], FOLDER / "flags.c", str(tmp_path))
    monkeypatch.setattr(build, "_run", log.append)
    monkeypatch.setattr(ctypes, "CDLL", lambda library: library)
    (tmp_path / "flags1.o").write_bytes(bytes(77))
    assert build("-Ofast") == (str(tmp_path / "flags1.so"), 77)
    compiling, linking = log
    assert "-Ofast" in compiling and "-c" in compiling
    assert linking[0] == "-shared" and "-Ofast" not in linking


# ---- fairness ------------------------------------------------------------------------------------


def test_candidates_take_turns_and_the_best_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    times = iter([float(n) for n in range(100, 0, -1)])

    def seconds(work: object) -> float:
        work()  # type: ignore[operator]
        return next(times)

    monkeypatch.setattr(lab, "probe", lambda: log.append("probe") or 1.0)
    monkeypatch.setattr(lab, "seconds", seconds)
    best = fairly([lambda: log.append("a"), lambda: log.append("b")])
    assert log == ["probe", *["a", "b"] * 15, "probe"]
    assert best == [100.0 - 28, 100.0 - 29]


@pytest.mark.parametrize(("apart", "judged"), [(1.14, True), (1.16, False), (1 / 1.16, False)])
def test_probes_apart_give_no_verdict(
    monkeypatch: pytest.MonkeyPatch, apart: float, judged: bool
) -> None:
    probes = [1.0, apart] * lab.ATTEMPTS
    monkeypatch.setattr(lab, "probe", lambda: probes.pop(0))
    monkeypatch.setattr(lab, "seconds", lambda work: 1.0)
    assert (fairly([lambda: None]) is not None) == judged
    assert not probes if not judged else len(probes) == 2 * lab.ATTEMPTS - 2


@needs_a_compiler
@pytest.mark.usefixtures("busy")
def test_a_busy_machine_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    here, _, stored = printed(capsys, "branches").partition(f"{BUSY}\n")
    assert "wrong guesses" in here and not any(line[-3:-2] == "." for line in here.splitlines())
    assert stored.startswith("measured on ")


# ---- what is printed -----------------------------------------------------------------------------


@needs_a_compiler
@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", LABS)
def test_each_lab_runs_and_names_what_was_measured(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, name)
    assert BUSY not in text and "measured on" not in text
    for title, base, _, rows in json.loads(MEASURED.read_text())[name]["tables"]:
        assert f"{title} (times as " in text and f" as: {base})" in text
        assert all(f"\n  {row[0]} " in text for row in rows)


@needs_a_compiler
@pytest.mark.usefixtures("quiet")
def test_how_a_ratio_reads(capsys: pytest.CaptureFixture[str]) -> None:
    fast, slow = printed(capsys, "flags"), printed(capsys, "branches")
    assert fast.splitlines()[0].endswith("(times as fast as: -O3)")
    assert [float(line.split()[-1]) for line in fast.splitlines()[1:4]] == [8.0, 4.0, 2.0]
    assert [float(line.split()[-1]) for line in slow.splitlines()[1:4]] == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("name", LABS)
def test_without_a_compiler_the_stored_table_is_shown(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(lab, "which", lambda program: None)
    first, second, *rest = printed(capsys, name).splitlines()
    known = json.loads(MEASURED.read_text())[name]
    assert first == "there is no C compiler here (none in CC, and no cc)"
    assert second == f"measured on {known['cpu']}, compiled by {known['compiler']}:"
    tables = [Table(*head, [Row(*row) for row in rows]) for *head, rows in known["tables"]]
    assert "\n".join(rest) == "\n".join(map(str, tables))
    assert all(row.ratio for table in tables for row in table.rows)
    assert all(str(table) in PAGE.read_text("utf-8") for table in tables), "docs/labs.md differs"
    assert known["cpu"] in PAGE.read_text("utf-8")


@needs_a_compiler
def test_the_compiler_that_cc_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-cc -m64")
    assert lab.compiler() == ["no-such-cc", "-m64"]
    monkeypatch.delenv("CC")
    monkeypatch.setattr(lab, "which", lambda name: {"clang": "/usr/bin/clang"}.get(name))
    assert lab.compiler() == ["/usr/bin/clang"]


@pytest.mark.parametrize("cc", ["false", "no-such-cc"])
def test_a_compiler_that_fails(
    cc: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", cc)
    assert cli.main(["lab", "flags"]) == 2
    error = capsys.readouterr().err
    assert f"asked: {cc} -O0" in error and "to do: name another compiler: CC=gcc" in error
    with pytest.raises(DataError):
        Build([cc], FOLDER / "flags.c", "nowhere")("-O1")


@needs_a_compiler
@pytest.mark.usefixtures("quiet")
def test_saving_one_lab_keeps_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lab, "MEASURED", tmp_path / "measured.json")
    for name in ("branches", "denormals"):
        printed(capsys, name, "--save")
    known = json.loads((tmp_path / "measured.json").read_text())
    assert list(known) == ["branches", "denormals"] and known["branches"]["compiler"]
    assert known["denormals"]["cpu"] == processor.name()
    assert known["branches"]["tables"][0][3][1][2] == 2.0


def test_a_list_and_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split()[0] for line in printed(capsys).splitlines()] == list(LABS)
    with pytest.raises(SystemExit):
        cli.main(["lab", "cheese"])
    assert "choose from" in capsys.readouterr().err


def test_the_probe_is_some_time() -> None:
    assert 0 < lab.probe() < math.inf
