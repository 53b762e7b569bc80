"""benchmarks/amdahl.py: the fit of known times, the turns of the threads, and the picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import __main__ as bench
from benchmarks import amdahl, libraries, machine, run
from benchmarks.amdahl import Scaling, law, picture, scaling, show
from benchmarks.case import Case
from benchmarks.measure import Effort, Probes
from tutor.errors import DomainError

QUIET = Probes(1.0, 1.0)
SMOKE = Effort("smoke", 0.0, 3)


def following(serial: float, *counts: int) -> Scaling:
    """Times that follow the law exactly: 8 s on one thread."""
    return Scaling("a row", {n: 8.0 / law(serial, n) for n in (1, *counts)}, QUIET, 0.0)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Stands in for the number of threads of tutor, which is 7 at first."""
    now = [7]
    monkeypatch.setattr(amdahl.simd_cpp, "num_threads", lambda: now[0])
    monkeypatch.setattr(amdahl.simd_cpp, "set_num_threads", lambda n: now.__setitem__(0, n))
    return lambda: now[0]


def test_the_law() -> None:
    assert law(0.1, 8) == pytest.approx(4.70588)
    assert [law(0.0, n) for n in (1, 4)] == [1, 4] and law(1.0, 64) == 1


@pytest.mark.parametrize("serial", [0.0, 0.2, 1.0, 1.25])
def test_the_share_behind_times_that_follow_the_law(serial: float) -> None:
    assert following(serial, 2, 3, 4).serial == pytest.approx(serial)
    assert following(serial, 2).gains == {1: 1.0, 2: pytest.approx(2 / (1 + serial))}


def test_points_off_the_line_share_the_error() -> None:
    """On its own, the first says 0.2 and the second 0.4; x is 1/2 and 3/4."""
    times = {1: 1.0, 2: 0.2 + 0.8 / 2, 4: 0.4 + 0.6 / 4}
    found = Scaling("a row", times, QUIET).serial
    assert found == pytest.approx((0.2 / 4 + 0.4 * 9 / 16) / (1 / 4 + 9 / 16))


def test_a_line_says_how_fast_or_why_it_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 4)
    good = following(0.25, 2, 4)
    assert good.line().split() == ["a", "row", "8", "s", "1.00x", "5", "s", "1.60x",
                                   "3.5", "s", "2.29x", "25.0%"]  # fmt: skip
    uneven = good._replace(probes=Probes(1.0, 1.2))
    assert uneven.line().endswith("  not judged, the probes differ by 20%")
    shared = good._replace(others=0.5)
    assert shared.line().endswith("  not judged, other programs kept 0.5 cores busy")


def test_each_number_of_threads_has_its_turn(threads: Callable[[], int]) -> None:
    seen: list[int] = []
    found = scaling(Case("a row", {"tutor": lambda: seen.append(threads())}), 3, SMOKE)
    assert seen == [1, 2, 3] == list(found.times) and threads() == 7
    with pytest.raises(ZeroDivisionError):
        scaling(Case("a row", {"tutor": lambda: 1 / 0}), 3, SMOKE)
    assert threads() == 7


def test_the_picture_has_all_points_and_lines() -> None:
    one = following(0.05, 2, 3)._replace(name="product")
    drawn = picture([one, following(0.5, 2, 3)._replace(name="add")]).svg
    names = ("product", "add", "5% serial: product", "50% serial: add", "nothing serial")
    assert all(f">{name}<" in drawn for name in names)
    assert drawn.count("a4 4 0 1 0 8 0a4") == 2 * 3 + 2  # a circle for each point, and in the key


def test_what_is_shown(
    threads: Callable[[], int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(libraries, "circumstances", lambda: {"level": "avx2"})
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 2)
    show([], SMOKE, tmp_path / "new")
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["1", "thread", "2", "threads", "3", "threads", "as", "if", "serial"]
    assert [line[:14].strip() for line in out[1:3]] == ["product 16", "add 256"]
    assert out[3].startswith("there are 2 cores")
    assert (
        out[4] == f"written: {tmp_path}/new/amdahl.svg"
        and "add 256" in Path(out[4][9:]).read_text()
    )
    monkeypatch.setattr(libraries, "circumstances", lambda: {"level": None})
    with pytest.raises(DomainError, match="run on one thread"):
        show([], SMOKE, tmp_path)


def test_rows_are_those_of_the_suites_that_are_named() -> None:
    pair = list(run.cases([], SMOKE))
    assert [(case.name, case.limit) for case in pair] == [("product 16", "flops"),
                                                          ("add 256", "bytes")]  # fmt: skip
    named = list(run.cases(["overhead"], SMOKE))
    assert len(named) > 3 and all(case.runs and case.count is None for case in named)


@pytest.mark.parametrize(
    ("text", "count", "instrument"), [("2", 2, None), ("1:4", 4, "amdahl"), ("1:1", 1, "amdahl")]
)
def test_how_threads_are_asked_for(text: str, count: int, instrument: str | None) -> None:
    args = bench.arguments(["--threads", text])
    assert (args.threads, args.instrument) == (count, instrument)


@pytest.mark.parametrize("text", ["2:4", "1:0", "1:", "many", "-1"])
def test_how_threads_are_not_asked_for(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.arguments([f"--threads={text}"])
    assert f"--threads {text}: use a number from 1 on, or 1:N" in capsys.readouterr().err
