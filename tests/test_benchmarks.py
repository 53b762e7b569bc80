"""The benchmarks: every suite runs, and its table and JSON lines have the form that is promised.

No time is asserted. What is: that results are compared, that a wrong one is found and not timed,
and that a library which is missing only empties its column.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tutor
from benchmarks import equality, libraries, machine, measure, report, trainers
from benchmarks.__main__ import SUITES, arguments
from benchmarks.case import Case
from benchmarks.measure import Effort, Samples, interleaved, timed
from benchmarks.problems import ANSWERS, PROBLEMS
from benchmarks.suites import layers, real
from benchmarks.suites.mlp import EPOCHS
from benchmarks.targets import TARGETS, Target
from tutor import Tensor

np = pytest.importorskip("numpy")
ROOT = Path(__file__).parents[1]
SMOKE = Effort("smoke", 0.0, 1)
KEYS = {
    "date", "effort", "threads", "cpu", "cores", "commit", "python", *libraries.NAMES, "backend",
    "level", "suite", "case", "unit", "differs", "error", "flops", "bytes", "others", "target",
    "met", "probes", "ratio", "ratio_of_medians", "rate", "peak", "results",
}  # fmt: skip


def bench(folder: Path, *arguments: str, start: str = "pass") -> tuple[str, list[dict]]:
    """Run the command; its output and the lines it wrote. `start` is run in the process before."""
    out = folder / "results.jsonl"
    code = f"import sys; {start}; from tutor.__main__ import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "bench", *arguments, "--smoke", "--threads", "1",
         "--out", str(out), "--pictures", str(folder / "pictures")],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, [json.loads(line) for line in out.read_text().splitlines()]


def without(*names: str) -> str:
    """Code after which these cannot be imported. The variables for the number of threads are set,
    so that the command does not begin anew in a process where they can.
    """
    variables = "import os; from benchmarks.__main__ import THREADS"
    return f"{variables}; os.environ.update(dict.fromkeys(THREADS, '1')); " \
           f"sys.modules.update(dict.fromkeys({names}))"  # fmt: skip


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> tuple[str, list[dict], Path]:
    folder = tmp_path_factory.mktemp("bench")
    return *bench(folder), folder


def test_every_suite_has_rows(everything):
    text, rows, _ = everything
    assert {row["suite"] for row in rows} == set(SUITES)
    assert [line[3:] for line in text.splitlines() if line.startswith("== ")] == list(SUITES)
    for row in rows:  # each of them is a line of the table
        assert f"\n{row['case']} " in text


def test_the_lines_say_what_was_measured_and_on_what(everything):
    _, rows, _ = everything
    for row in rows:
        assert set(row) == KEYS
        assert row["differs"] == ""
        assert row["tutor"] == tutor.__version__ and row["numpy"] == np.__version__
        assert row["threads"] == 1 and row["cpu"]
        assert math.isfinite(row["error"])
        assert "tutor" in row["results"]
        for result in row["results"].values():
            assert set(result) == {"best", "median", "spread", "samples", "each"}
            assert len(result["each"]) == result["samples"]
            assert 0 <= result["best"] <= result["median"] and result["samples"] >= 1


def test_a_run_is_added_to_the_file(tmp_path):
    _, first = bench(tmp_path, "overhead", start=without("torch"))
    _, both = bench(tmp_path, "overhead", start=without("torch"))
    assert len(first) > 3
    assert both[: len(first)] == first and len(both) == 2 * len(first)


def test_the_memory_of_a_graph_is_that_of_its_nodes(everything):
    """An add keeps objects of some hundred bytes: a measurement that finds none has missed them."""
    _, rows, _ = everything
    row = next(row for row in rows if row["case"].startswith("memory of an add"))
    assert all(100 < found["best"] < 5000 for found in row["results"].values()), row


def test_numpy_is_compared(everything):
    _, rows, _ = everything
    add = next(row for row in rows if row["case"] == "add 1K")
    assert {"tutor", "numpy"} <= set(add["results"])
    assert add["ratio"] > 0


def test_pictures_are_drawn(everything):
    pytest.importorskip("matplotlib")
    *_, folder = everything
    pictures = sorted((folder / "pictures").iterdir())
    ladder = ["ladder-1.svg"] if "simd_cpp" in tutor.registry.backends() else []
    assert [p.name for p in pictures] == [*ladder, "roofline-1.svg"]
    assert all("<svg" in p.read_text() for p in pictures)


@pytest.mark.parametrize(
    ("missing", "column"), [(("torch",), "numpy"), (("torch", "numpy", "matplotlib"), None)]
)
def test_a_missing_library_has_an_empty_column(missing, column, tmp_path):
    text, rows = bench(tmp_path, "overhead", "matmul", start=without(*missing))
    assert "torch missing" in text
    assert {row["suite"] for row in rows} == {"overhead", "matmul"}
    for row in rows:
        assert set(row["results"]) <= {"tutor", column}
        assert row["torch"] is None
        if column is None:
            assert row["ratio"] is None
            alone = row["case"].startswith(("an add in a graph", "memory of an add"))
            assert (row["met"] is None) is not alone  # "at most" needs no rival


# ---- equality ------------------------------------------------------------------------------------


def measured(ours, theirs) -> report.Row:
    return report.measure("none", Case("a case", {"tutor": ours, "numpy": theirs}), SMOKE)


def test_a_wrong_result_is_found_and_not_timed():
    x = tutor.rand(100)
    calls = []

    def wrong():
        calls.append(1)
        return x.numpy() + np.float32(1e-3)

    row = measured(lambda: x + 0, wrong)
    assert re.search(r"tutor and numpy differ by 0\.001.*, allowed 1e-05", row.differs)
    assert len(calls) == 1 and not row.samples and row.met() is None
    assert "RESULTS DIFFER" in row.line()
    assert row.record()["differs"] == row.differs
    assert measured(lambda: x + 0, x.numpy).samples["tutor"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Tensor([1.0, 2.0]), np.float32([1, 2.001])),
        (Tensor([1.0, 2.0]), np.float32([[1, 2]])),
        (Tensor([1.0, math.nan]), np.float32([1, 2])),
        (Tensor([1.0, 2.0]), np.float32([1, np.nan])),
        (Tensor([1.0, math.inf]), np.float32([1, -np.inf])),
        (Tensor([1.0, math.inf]), np.float32([1, 2])),
        (Tensor([1, 2]), np.int64([1, 3])),
        (Tensor([1.0], dtype="float64"), np.float64([1 + 1e-10])),
        ([Tensor([1.0]), Tensor([2.0])], [np.float32([1]), np.float32([3])]),
    ],
)
def test_what_differs(ours, theirs):
    with pytest.raises(equality.ResultsDifferError, match="tutor and numpy differ by"):
        equality.check({"tutor": ours, "numpy": theirs})


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Tensor([1.0, math.nan, math.inf, -math.inf]), np.float32([1, np.nan, np.inf, -np.inf])),
        (Tensor([1.0, 2.0]), np.float32([1, 2.00001])),
        (Tensor([[1.0, 2.0], [3.0, 4.0]]).T, np.float32([[1, 3], [2, 4]])),
        (Tensor([1.5], dtype="bfloat16"), np.float32([1.5])),
        (Tensor([], dtype="float32"), np.float32([])),
        (Tensor(0.0), np.float32(0)),
    ],
)
def test_what_does_not_differ(ours, theirs):
    assert equality.check({"tutor": ours, "numpy": theirs}) <= equality.tolerance(ours)


def test_a_library_that_cannot_is_left_out_but_tutor_must():
    def cannot():
        raise NotImplementedError

    row = measured(lambda: Tensor([1.0]), cannot)
    assert set(row.samples) == {"tutor"} and row.ratio() is None
    with pytest.raises(NotImplementedError):
        measured(cannot, lambda: np.ones(1))


def test_tutor_s_own_other_way_must_give_the_same_bits():
    """However close: what is allowed for another library is not for the same one without jit."""
    x = tutor.rand(100)
    runs = {"tutor": lambda: x + 0, "eager": lambda: x + 0, "numpy": x.numpy}
    row = report.measure("none", Case("a case", runs), SMOKE)
    assert set(row.samples) == {"tutor", "eager", "numpy"}
    runs["eager"] = lambda: x + 1e-7
    row = report.measure("none", Case("a case", runs, tolerance=1e-3), SMOKE)
    assert "tutor and eager differ by" in row.differs and row.differs.endswith("allowed 0")


# ---- measuring and reporting ---------------------------------------------------------------------


class Clock:
    """A time of our own in place of the machine's: it passes when we say so, on a busy machine as
    on an idle one. What `measure` asks for is here, and nothing else."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return 0.0  # no thread of this process is at work while it rests

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    return clock


def test_samples_are_taken_in_turns(clock):
    order = []

    def run(name, seconds):
        order.append(name)
        clock.now += seconds

    a, b = 1 / 2048, 1 / 256  # seconds; sums of these are exact
    runs = {"a": lambda: run("a", a), "b": lambda: run("b", b)}
    samples = interleaved(runs, Effort("quick", 0.0, 1))
    assert samples == {"a": pytest.approx([a] * 5), "b": pytest.approx([b] * 5)}
    # Both are warmed up for 20 ms. Then come five rounds, ab, ba, ab, ba, ab: each time one call
    # that does not count, and as many as fill 2 ms.
    first, second = "a" + "a" * 5, "b" + "b"
    warm, there, back = "a" * 41 + "b" * 6, first + second, second + first
    assert "".join(order) == warm + there + back + there + back + there


def test_who_becomes_much_slower_is_not_waited_for(clock):
    order = []

    def run(name):
        order.append(name)
        clock.now += 0.002 if len(order) < 40 else 5.0

    samples = interleaved(
        {name: lambda name=name: run(name) for name in "ab"}, Effort("quick", 1.0, 1)
    )
    assert 2 <= len(samples["a"]) == len(samples["b"]) < 20, "of 40 rounds"
    assert max(samples["a"] + samples["b"]) == pytest.approx(5.0)


def test_timed_counts_calls():
    calls = []
    assert timed(lambda: calls.append(1), 7) > 0
    assert len(calls) == 7


def test_samples():
    s = Samples([4.0, 2.0, 3.0])
    assert (s.best, s.median, s.spread) == (2.0, 3.0, 0.5)


def row_of(ours, target=None, **others) -> report.Row:
    row = report.Row("none", Case("a case", target=target))
    row.samples = {"tutor": Samples(ours), **{n: Samples(s) for n, s in others.items()}}
    return row


def test_the_ratio_is_the_faster_of_the_others_by_ours():
    row = row_of([2.0, 4.0], numpy=[3.0, 12.0], torch=[5.0, 5.0])
    assert row.ratio() == 1.5 and row.ratio(statistic="median") == 5 / 3
    assert row.ratio("torch") == 2.5
    assert row_of([1.0]).ratio() is None


def test_tutor_without_jit_is_no_rival_and_has_a_column():
    row = row_of([2.0], eager=[1.0], torch=[5.0])
    assert row.ratio() == 2.5
    row.columns = ("tutor", "eager", "torch")
    assert row.line().split()[2:8] == ["2", "s", "+0%", "1", "s", "+0%"]
    assert row_of([2.0], eager=[1.0]).ratio() is None
    titles = report.heading({"tutor": "jit", "eager": "eager", "torch": "torch"})
    assert titles.split()[:6] == ["jit", "best+%", "eager", "best+%", "torch", "best+%"]


def test_the_suite_of_layers_compares_gradients(everything, monkeypatch):
    """Each layer has a row forward and one with backward, beside PyTorch; a gradient that is wrong
    is found."""
    _, rows, _ = everything
    named = [row["case"] for row in rows if row["suite"] == "layers"]
    assert len(named) >= 31
    for name in [name.removesuffix(", backward") for name in named if name.endswith("backward")]:
        modes = name.startswith(("BatchNorm", "Dropout"))
        forward = [f"{name}, evaluating", f"{name}, training"] if modes else [name]
        at = named.index(f"{name}, backward")
        assert named[at - len(forward) : at] == forward
    torch = pytest.importorskip("torch")
    assert all(
        set(row["results"]) == {"tutor", "torch"} for row in rows if row["suite"] == "layers"
    )
    right = torch.nn.functional.layer_norm
    monkeypatch.setattr(
        torch.nn.functional, "layer_norm",
        lambda x, n, w, b, eps: right(x, n, w, b, eps) + (b - b.detach()),
    )  # fmt: skip
    norms = {case.name: case for case in layers.cases(SMOKE) if case.name.startswith("LayerNorm")}
    found = [report.measure("layers", case, SMOKE).differs for case in norms.values()]
    assert [bool(differs) for differs in found] == [False, True]


def test_a_row_times_the_mode_that_it_names():
    """A layer of random numbers gives its input where it evaluates; BatchNorm's running numbers,
    0 and 1 at first, leave the input as it is, and the numbers of the batch do not."""
    pytest.importorskip("torch")
    rows = {case.name: case for case in layers.cases(SMOKE)}
    found = 0
    for name in rows:
        if name.endswith(", evaluating"):
            found += 1
            for library in ("tutor", "torch"):
                asked = [name, name.replace("evaluating", "training")]
                first, other = (rows[n].runs[library]()[0] for n in asked)
                assert float(abs(first - other).max()) > 0.01, (name, library)
                assert not first.requires_grad
    assert found == 3


def test_the_better_way_to_use_a_library_counts():
    """A convolution is timed in both of PyTorch's layouts, and compared in both."""
    pytest.importorskip("torch")
    row = next(case for case in layers.cases(SMOKE) if case.name.startswith("Conv2d"))
    assert set(row.runs) == {"tutor", "torch", "channels_last"}
    assert row.runs["channels_last"]()[0].stride(1) == 1 < row.runs["torch"]()[0].stride(1)
    for slow, fast in ((3.0, 2.0), (2.0, 3.0)):
        samples = {"tutor": Samples([1.0]), "torch": Samples([slow]),
                   "channels_last": Samples([fast])}  # fmt: skip
        assert report.better_ways(samples) == {"tutor": [1.0], "torch": [2.0]}


@pytest.mark.parametrize("method", EPOCHS.values())
def test_each_way_through_an_epoch_sees_each_row_once(method, monkeypatch):
    """In both libraries, in an order of its own, with a last batch that is smaller."""
    pytest.importorskip("torch")
    x = Tensor.arange(10, dtype="float32").reshape(10, 1)
    made = {name: t for name, t in trainers.make("mlp").items() if name != "numpy"}
    assert set(made) == {"tutor", "torch"}
    for name, trainer in made.items():
        seen: list[list[float]] = []
        monkeypatch.setattr(
            trainer, "step", lambda a, b, seen=seen: seen.append([a.tolist(), b.tolist()])
        )
        trainers.runs({name: trainer}, method, x, x.cast("int64")[:, 0], size=4)[name]()
        assert [len(b) for _, b in seen] == [4, 4, 2], name
        assert all([int(v) for (v,) in a] == b for a, b in seen), name
        order = [v for _, b in seen for v in b]
        assert sorted(order) == list(range(10)) != order, name


def test_the_suite_jit_has_all_three(everything):
    text, rows, _ = everything
    rows = [row for row in rows if row["suite"] == "jit"]
    timed_ = [row for row in rows if row["unit"] == "s"]
    assert len(timed_) >= 7
    for row in timed_:
        assert {"tutor", "eager"} <= set(row["results"]), row["case"]
    counts = {row["case"]: row for row in rows if row["unit"] != "s"}
    assert [name.partition(" of a step")[0] for name in counts] == [
        "Buffers", "blocks from the system", "page faults",
    ]  # fmt: skip
    buffers = counts["Buffers of a step, batch 128"]["results"]
    assert 0 < buffers["tutor"]["best"] < buffers["eager"]["best"]
    assert re.search(r"== jit\n +jit best\+% +eager best\+% +torch best\+%", text)


def test_the_suite_of_real_networks_has_all_rows(everything):
    """Each in each column: a library that fails is left out in silence, so that is looked for."""
    _, rows, _ = everything
    rows = [row for row in rows if row["suite"] == "real"]
    steps = [row for row in rows if row["case"].startswith("step ")]
    answers = [row["case"] for row in rows if row["case"].startswith("one answer ")]
    memory = [row for row in rows if row["unit"] == "MiB"]
    assert [row["case"].partition(",")[0] for row in steps] == [
        f"step {name.partition(',')[0]}" for name in PROBLEMS
    ]
    assert answers == [f"one answer {name}" for name in ANSWERS] and len(memory) == 1
    assert len(steps) + len(answers) + len(memory) == len(rows)
    wanted = {"tutor", "eager"} | ({"torch"} if libraries.torch else set())
    assert all(set(row["results"]) == wanted for row in rows)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_wrong_step_of_a_real_network_is_found(name, monkeypatch):
    """PyTorch takes steps of twice the length: only the first loss is right."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(real, "LIBRARIES", {"tutor": "tutor", "torch": "torch"})
    right = torch.optim.Optimizer.__init__

    def longer(self, params, defaults):
        right(self, params, {**defaults, "lr": 2 * defaults["lr"]})

    monkeypatch.setattr(torch.optim.Optimizer, "__init__", longer)
    case = real.step(name, PROBLEMS[name], SMOKE)
    assert "tutor and torch differ" in report.measure("real", case, SMOKE).differs


def test_what_is_random_is_compared_without(monkeypatch):
    """A step with dropout draws other numbers in each library."""
    asked: list[dict] = []
    monkeypatch.setattr(real, "steps", lambda *_, **options: asked.append(options) or {})
    for name, problem in PROBLEMS.items():
        asked.clear()
        real.step(name, problem, SMOKE)
        parts = problem.model(tutor, True).modules()
        random = any(isinstance(part, tutor.nn.Dropout) for part in parts)
        assert asked == ([{}, {"p": 0.0}] if random else [{}]), name


def test_a_limit_of_operations_and_bytes(monkeypatch):
    """10 operations at 5 a second, then 12 bytes at 4 a second: 5 s, so 2 operations a second."""
    monkeypatch.setattr(machine, "peak_flops", lambda threads: 5.0)
    monkeypatch.setattr(machine, "peak_bytes", lambda *_: 4.0)
    case = Case("a case", flops=10.0, bytes=12.0, limit="both")
    assert report.peak(case, 1) == 2.0
    row = row_of([10.0])
    row.case, row.peak = case, report.peak(case, 1)
    assert row.rate() == 1.0 and row.fraction() == 0.5
    monkeypatch.setattr(machine, "peak_bytes", lambda *_: None)
    assert report.peak(case, 1) is None


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (None, None),
        (Target("work", 2.5, "torch"), True),
        (Target("work", 2.6, "torch"), False),
        (Target("work", 1.5), True),
        (Target("work", 1.6), False),
        (Target("work", most=3.0), True),
        (Target("work", most=2.9), False),
        (Target("work", most=0), False),
        (Target("work", 1.0, later="jit"), None),
    ],
)
def test_targets_are_judged(target, met):
    row = row_of([2.0, 4.0], target, numpy=[3.0, 12.0], torch=[5.0, 5.0])
    assert row.met() is met
    verdict = {True: "met", False: "NOT met", None: ""}[met]
    assert row.verdict().endswith("(later: jit)" if target and target.later else verdict)


def test_who_had_to_share_cores_is_not_judged(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert not machine.too_few_cores(2, 2.1)
    assert machine.too_few_cores(4, 1.0)
    assert not machine.too_few_cores(4, None)
    row = row_of([1.0], Target("work", 1.0), numpy=[2.0])
    assert row.met()
    row.disturbed = True
    assert row.met() is None and row.verdict().endswith("not judged, cores were shared")
    assert "not judged: 1," in report.summary([row])


def test_a_row_between_probes_that_differ_is_not_judged(monkeypatch):
    """The second probe takes 1.2 times as long; a seventh more would be allowed."""
    for after, said in ((1.2, "not judged, the probes differ by 20%"), (1.14, "1x faster: met")):
        probes = iter([1.0, after])
        monkeypatch.setattr(report, "probe", lambda probes=probes: next(probes))
        monkeypatch.setattr(report, "interleaved", lambda *_: {
            "tutor": Samples([1.0]), "numpy": Samples([2.0])})  # fmt: skip
        case = Case("a case", {"tutor": lambda: Tensor([1.0])}, target=Target("work", 1.0))
        row = report.measure("none", case, SMOKE)
        assert row.probes == (1.0, after) and row.verdict().endswith(said)
        assert row.record()["met"] is (True if "met" in said else None)
        assert ("not judged: 1," in report.summary([row])) == (row.doubt() != "")
    assert measure.probe() > 0


def test_targets_that_wait_are_listed():
    text = " ".join(report.summary([]).split())
    for target in TARGETS.values():
        assert (f"{target.work} ({target})" in text) == bool(target.later)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.5e-7, "s", "0.25 us"),
        (1.5e-3, "s", "1.5 ms"),
        (12.0, "s", "12 s"),
        (351, "MiB", "351 MiB"),
    ],
)
def test_quantities(value, unit, text):
    assert report.quantity(value, unit) == text


def test_peaks_are_measured_or_missing():
    flops, speed = machine.peak_flops(1), machine.peak_bytes(1, 1 << 16, 3)
    assert (flops is None) == (speed is None)
    if flops is not None and speed is not None:
        assert flops > 0 and speed > 0


def test_without_a_compiler_the_column_is_empty(monkeypatch):
    monkeypatch.setattr(machine, "_probes", lambda level: None)
    case = Case("a case", {"tutor": lambda: Tensor([1.0])}, flops=1e9, limit="flops")
    row = report.measure("none", case, SMOKE)
    assert row.rate() > 0 and row.fraction() is None
    assert machine.peak_bytes(1, 1 << 16, 1) is None


@pytest.mark.parametrize("argv", [["nonsense"], ["--threads", "0"]])
def test_wrong_arguments_are_refused(argv, capsys):
    with pytest.raises(SystemExit):
        arguments(argv)
    assert "error:" in capsys.readouterr().err


def test_the_gpt_learns_the_same_in_both_libraries(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    sizes = "--block 16 --width 16 --heads 2 --layers 1 --batch 4 --tests 2"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpt_text", *sizes.split(), "--steps", "6", "--turn", "2",
         "--every", "1", "--out", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "TUTOR_NUM_THREADS": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    losses = {
        name: [float(x) for x in re.findall(rf"{name}: \d+ steps.*text ([\d.]+)", done.stdout)]
        for name in ("tutor", "torch")
    }
    assert len(losses["tutor"]) == 3 and losses["tutor"][-1] < losses["tutor"][0]
    assert losses["tutor"] == pytest.approx(losses["torch"], abs=2e-4)
    assert "ids/s written: tutor" in done.stdout and "<svg" in (tmp_path / "losses.svg").read_text()
