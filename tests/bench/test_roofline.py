"""benchmarks/roofline.py: counts by hand, roofs from known rates, the table and the picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import libraries, machine, pictures, report, roofline, run
from benchmarks.case import Case
from benchmarks.measure import Effort, Samples
from benchmarks.roofline import Point, Roofs, counted, levels, picture, works
from tutor import Tensor
from tutor.__main__ import main
from tutor.doctor.processor import Cache
from tutor.errors import DomainError, TutorError

ROOFS = Roofs(100e9, {"L1": 400e9, "memory": 10e9})
SMALL = {work.name: work for work in works(small=True)}
K, M = 1 << 10, 1 << 20
CACHES = [
    Cache(1, "Data", 48 * K, 1),
    Cache(1, "Instruction", 32 * K, 1),
    Cache(2, "Unified", 2 * M, 1),
]


# ---- counts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "operations", "nbytes"),
    [
        ("add", 256, 3 * 256 * 4),
        ("product", 2 * 16**3, 3 * 256 * 4),
        ("convolution", 2 * 2 * 4 * 36 * 36, (2 * 4 * 64 + 4 * 36 + 2 * 4 * 36) * 4),
        ("softmax", 5 * 256, 2 * 256 * 4),
        # both products, scale and softmax of 8 x 16 x 16 scores; q, k, v, z, and a sum for each row
        ("attention", 8 * (4 * 16 * 16 * 64 + 6 * 16 * 16), (4 * 8 * 16 * 64 + 8 * 16) * 4),
    ],
)
def test_operations_and_bytes_are_the_library_s(name: str, operations: int, nbytes: int) -> None:
    found = counted(SMALL[name])
    assert found[0] == operations
    assert abs(found[1] - nbytes) <= 4  # attention has a cell for `causal`


@pytest.mark.parametrize("name", ["softmax", "attention"])
def test_what_is_spelled_is_the_same_formula(name: str) -> None:
    one, other = SMALL[name].run(), SMALL[name].spelled()
    assert one.shape == other.shape and float(abs(one - other).max().item()) < 1e-6


# ---- roofs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("intensity", "bound"),
    [(0.1, (1e9, "memory")), (9.9, (99e9, "memory")), (10.0, (100e9, "arithmetic")),
     (500.0, (100e9, "arithmetic"))],
)  # fmt: skip
def test_the_lower_roof_is_the_bound(intensity: float, bound: tuple[float, str]) -> None:
    assert ROOFS.bound(intensity) == (pytest.approx(bound[0]), bound[1])


def test_levels_of_memory() -> None:
    assert levels(CACHES, 1) == {"L1": 24 * K, "L2": M, "memory": machine.LARGEST}
    shared = Cache(3, "Unified", 32 * M, 8)
    assert levels([*CACHES, shared], 4) == {
        "L1": 96 * K, "L2": 4 * M, "L3": 16 * M, "memory": machine.LARGEST,
    }  # fmt: skip
    huge = shared._replace(size=300 * M)
    assert levels([*CACHES, huge], 1) == {
        "L1": 24 * K, "L2": M, "L3 or memory": machine.LARGEST,
    }  # fmt: skip
    assert levels([], 1) == {"memory": machine.LARGEST}


def rates(monkeypatch: pytest.MonkeyPatch, peak: float | None) -> list[tuple[Any, ...]]:
    """Stands in for the probes; what they are asked."""
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(machine, "peak_flops", lambda *a: asked.append(a) or peak)
    monkeypatch.setattr(machine, "peak_bytes", lambda *a: asked.append(a) or (peak and peak / a[1]))
    monkeypatch.setattr(roofline.processor, "caches", lambda: CACHES)
    return asked


def test_roofs_are_those_of_the_level_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = rates(monkeypatch, 2.0**40)
    found = roofline.roofs(2, "avx2")
    assert asked == [(2, "avx2"), (2, 48 * K, 3, "avx2"), (2, 2 * M, 3, "avx2"),
                     (2, machine.LARGEST, 3, "avx2")]  # fmt: skip
    assert found.peak == 2.0**40 and found.memory == 2.0**13
    rates(monkeypatch, None)
    with pytest.raises(TutorError, match="no C compiler"):
        roofline.roofs(1, "avx2")


def test_a_level_has_its_own_probes() -> None:
    """A scalar probe has vectors of one number, and does 12 multiply-adds a round."""
    scalar, here = machine._probes("scalar"), machine._probes()
    if scalar is not None:
        assert scalar.vector_bytes() == 4 and scalar.flops_per_round() == 24
        assert here.flops_per_round() >= 4 * 24
    assert machine.FLAGS.keys() >= {"scalar", "sse4", "avx2", "avx512"}


# ---- what is shown -------------------------------------------------------------------------------


def test_a_line_of_the_table() -> None:
    add, product = Point("add", 3000, 36_000, 1e-5), Point("product", 10**9, 10**6, 0.02)
    assert add.line(ROOFS).split() == [
        "add",
        "3,000",
        "36,000",
        "0.08",
        "0.3",
        "36%",
        "of",
        "memory",
    ]
    assert product.line(ROOFS).split()[3:] == ["1000.00", "50.0", "50%", "of", "arithmetic"]


def test_the_picture_has_each_roof_with_its_corner() -> None:
    points = {"add": [[1 / 12, 0.5]], "product": [[170.0, 90.0]]}
    drawn = picture(points, ROOFS.peak, ROOFS.bandwidths, 2).svg
    assert "2 threads: 100 GFLOP/s" in drawn
    assert all(f">{name}<" in drawn for name in ("add", "product", "400 GB/s L1", "10 GB/s memory"))
    roofs = re.findall(r'd="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)(?:L| )([\d.]+) ([\d.]+)"', drawn)
    corners = [(float(a[2]), float(a[3])) for a in roofs]
    assert all(float(a[1]) > float(a[3]) == float(a[5]) for a in roofs), "a slope, then flat"
    assert len(corners) == 2 and corners[0][1] == corners[1][1], "one flat roof"
    assert corners[0][0] < corners[1][0], "that of L1 begins at fewer operations per byte"
    alone = picture(points, None, {"memory": None}, 1).svg
    assert "GB/s" not in alone and ">product<" in alone


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the command, but tiny arrays, and one call of each."""
    some = works(small=True)
    monkeypatch.setattr(roofline, "works", lambda: some)
    monkeypatch.setattr(roofline.libraries, "circumstances", lambda: {"level": "avx2"})
    monkeypatch.setattr(run, "begin", lambda size, threads: Effort("smoke", 0.0, threads))


@pytest.mark.parametrize(("after", "judged"), [(1.1, True), (1.3, False)])
def test_the_command(
    after: float, judged: bool, small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    probes = iter([1.0, after])
    monkeypatch.setattr(roofline, "probe", lambda: next(probes))
    rates(monkeypatch, 2.0**40)
    out = tmp_path / "roof.svg"
    assert main(["roofline", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:7]] == list(SMALL)
    assert ("not judged: the probes differ by 30%" in lines) is not judged
    assert lines[-1] == f"written: {out}" and ">softmax<" in out.read_text()


@pytest.mark.parametrize(("level", "threads"), [(None, 1), ("avx2", 0)])
def test_what_cannot_be_drawn(level: str | None, threads: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(roofline.libraries, "circumstances", lambda: {"level": level})
    with pytest.raises(DomainError, match=f"roofline --threads {threads}"):
        roofline.show(threads, Path("never.svg"))


def test_the_rows_of_a_run_are_drawn_by_library(monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, 2.0**40)
    case = Case("a case", {"tutor": lambda: Tensor([1.0])}, flops=24.0, bytes=12.0)
    row = report.Row("none", case, {"tutor": Samples([1.0]), "eager": Samples([2.0])})
    drawn = pictures.roofs([row], Effort("smoke", 0.0, 1))
    assert drawn is not None and ">tutor<" in drawn.svg and ">eager<" not in drawn.svg
    row.differs = "by far"
    assert pictures.roofs([row], Effort("smoke", 0.0, 1)) is None
    assert set(libraries.NAMES) >= {"tutor"}
