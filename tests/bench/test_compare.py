"""benchmarks/compare.py: intervals of samples that are known, and who is not judged."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as bench
from benchmarks.compare import Side, interval, rows, sides, table
from benchmarks.measure import Probes
from tutor.errors import DataError

QUIET = Probes(1.0, 1.0)


def around(middle: float, seed: int, count: int = 20) -> list[float]:
    draw = random.Random(seed)
    return [middle * draw.gauss(1, 0.02) for _ in range(count)]


def row(*times: float, case: str = "add", **others: Any) -> dict[str, Any]:
    """A saved row, as far as it is read."""
    known = {"median": sorted(times)[len(times) // 2], "each": list(times)}
    return {
        "suite": "s", "case": case, "threads": 1, "unit": "s", "differs": "", "commit": None,
        "date": "2026-11-27", "probes": [1.0, 1.0], "results": {"tutor": known},
    } | others  # fmt: skip


def verdict(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> str:
    """That of the only row of a table."""
    return table(sides(a), sides(b)).splitlines()[1][88:].strip()


# ---- the interval --------------------------------------------------------------------------------


def test_times_without_scatter_have_an_interval_without_width() -> None:
    assert interval([[3.0] * 5], [[2.0] * 7]) == (1.5, 1.5, 1.5)


def test_of_equal_code_about_one_interval_in_twenty_misses_1() -> None:
    found = [interval([around(5, seed)], [around(5, 100 + seed)]) for seed in range(40)]
    missed = sum(not one.low <= 1 <= one.high for one in found)
    assert 0 < missed <= 5
    assert all(one.low <= one.ratio <= one.high for one in found)


@pytest.mark.parametrize(("b", "said"), [(4.5, "B takes less"), (5.5, "B takes more")])
def test_a_tenth_is_found_among_noise_of_two_in_a_hundred(b: float, said: str) -> None:
    for seed in range(10):
        assert interval([around(5, seed)], [around(b, 100 + seed)]).verdict() == said


def test_runs_that_are_apart_widen_the_interval() -> None:
    """Three runs of the same code, each without scatter. Drawn as one heap, their median would
    hardly ever leave 1.1; but the next run may be another 1.0."""
    runs = [[1.0] * 50, [1.1] * 50, [1.2] * 50]
    heap = [[x for run in runs for x in run]]
    assert interval(runs, [[1.0] * 50]) == (1.1, 1.0, 1.2)
    assert interval(heap, [[1.0] * 50]).low > 1


# ---- rows ----------------------------------------------------------------------------------------


def test_each_row_has_its_verdict() -> None:
    times, faster = around(2e-3, 1), around(1e-3, 2)
    assert verdict([row(*times)], [row(*times)]) == "no difference found"
    assert verdict([row(*times)], [row(*faster)]) == "B takes less"
    assert verdict([row(*faster)], [row(*times)]) == "B takes more"


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [
        ([1.0, 1.2], [1.0, 1.0], "20%"),  # A's own
        ([1.0, 1.0], [1.3, 1.0], "30%"),  # B's own
        ([1.0, 1.0], [1.5, 1.5], "50%"),  # B's machine was another
        ([1.0, 1.14], [1.0, 1.0], None),
        (None, [1.0, 1.0], None),  # saved before there were probes
    ],
)
def test_who_is_not_judged(a: Any, b: Any, apart: str | None) -> None:
    said = verdict([row(2.0, 2.0, probes=a)], [row(1.0, 1.0, probes=b)])
    assert said == (f"not judged, the probes differ by {apart}" if apart else "B takes less")


def test_rows_without_samples_have_a_ratio_alone() -> None:
    old = row(2.0)
    del old["results"]["tutor"]["each"]
    line = table(sides([old]), sides([row(1.0)])).splitlines()[1]
    assert " ".join(line.split()[3:]) == "2 s 1 s 2.00 not known: no samples were saved"


def test_what_is_no_time_or_in_one_result_alone_is_left_out() -> None:
    a = [row(1.0), row(1.0, case="mul"), row(1.0, case="size", unit="MiB"),
         row(1.0, case="sum", differs="they differ")]  # fmt: skip
    b = [row(1.0), row(1.0, case="size", unit="MiB"), row(1.0, case="sum")]
    told = table(sides(a), sides(b))
    assert "1 rows in both: 1 no difference found" in told and "One run does not show" in told
    assert "0 rows in both: nothing to compare" in table(sides(a), {})


def test_runs_of_a_row_stay_together() -> None:
    found = sides([row(1.0, 2.0), row(5.0), row(7.0, threads=2)])
    assert found["s", "add", 1] == Side([[1.0, 2.0], [5.0]], 3.5, [QUIET, QUIET])
    assert found["s", "add", 2].runs == [[7.0]]
    twice = [row(1.0, 1.0), row(1.0, 1.0)]
    assert "One run does not" not in table(sides(twice), sides(twice))


# ---- what a name stands for ----------------------------------------------------------------------


def written(path: Path, *found: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in found))
    return path


def test_a_name_is_a_file_or_a_commit_or_a_date(tmp_path: Path) -> None:
    first, second = row(1.0, commit="abc123"), row(2.0, commit="def456+", date="2026-12-01")
    results = written(tmp_path / "results.jsonl", first, second, row(3.0, date="2026-12-01"))
    assert rows(str(results), Path("none")) == rows("2026", results)
    assert rows("abc", results) == [first] and rows("def456", results) == [second]
    assert len(rows("2026-12", results)) == 2
    with pytest.raises(DataError) as error:
        rows("fff", results)
    assert error.value.do == "name a file, or one of 2026-12-01, abc123, def456+"
    with pytest.raises(DataError, match="no row of such a commit"):
        rows("fff", tmp_path / "missing.jsonl")


def test_a_file_of_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path / "measured.jsonl", row(1.0))
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *command], check=True)
    written(file, row(2.0))
    assert rows("HEAD:measured.jsonl", file) == [row(1.0)]
    with pytest.raises(DataError, match="git says: fatal"):
        rows("HEAD:other.jsonl", file)


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It measures nothing, so it need not begin anew with the right number of threads."""
    monkeypatch.setattr(bench, "use_threads", lambda *_: 1 / 0)
    a, b = (str(written(tmp_path / f"{t}.jsonl", row(t, t))) for t in (3.0, 2.0))
    assert bench.main(["--compare", a, b]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"A: {a}, B: {b}") and "1.50   1.50 to 1.50  B takes less" in out
    assert bench.main(["--compare", a, "never"]) == 2
    assert "asked: bench --compare never" in capsys.readouterr().err
