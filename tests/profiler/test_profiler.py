"""The profiler counts exactly and leaves nothing behind; TUTOR_DEBUG says what it promises."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tutor
from tutor import Buffer, Tensor, nn, optim, registry
from tutor.backends.step import watchers
from tutor.dtype import TABLE, float32
from tutor.errors import DomainError, ShapeError
from tutor.profiler.debug import is_finite
from tutor.profiler.profile import KernelCall, KernelRow, profile

ROOT = Path(tutor.__file__).parents[1]


@pytest.fixture(autouse=True)
def _nobody_stays_behind(backend: str) -> Iterator[None]:
    before = watchers()
    yield
    assert watchers() == before


def mlp_step() -> Callable[[], None]:
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    x, y = Tensor.rand(4, 6), Tensor([0, 1, 2, 0])
    sgd = optim.SGD(nn.get_parameters(model), lr=0.1)

    def step() -> None:
        loss = model(x).cross_entropy(y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    return step


def counts(p: profile) -> dict[str, int]:
    return {row.kernel: row.calls for row in p.rows}


# ---- what is counted -----------------------------------------------------------------------------


def test_calls_of_one_training_step_are_exact(backend: str) -> None:
    """Beside a backend that counts for itself."""
    seen: Counter[tuple[str, str]] = Counter()

    def counting(key: tuple[str, tutor.dtype.DType], kernel: registry.Kernel) -> registry.Kernel:
        def counted(*operands: object, **params: object) -> None:
            seen[key[0], key[1].name] += 1
            kernel(*operands, **params)

        return counted

    rows = registry.table(backend)
    registry.register("counting", {key: counting(key, kernel) for key, kernel in rows.items()})
    try:
        step = mlp_step()
        step()
        with registry.use_backend("counting"):
            seen.clear()
            with profile() as p:
                step()
            assert {(r.kernel, r.dtype): r.calls for r in p.rows} == seen
    finally:
        del registry._tables["counting"]
    assert counts(p)["linear"] == 2
    assert counts(p)["matmul"] == 3  # two for the weights, one between the layers
    assert counts(p)["descend"] == 4
    assert counts(p)["cross_entropy"] == counts(p)["cross_entropy_grad"] == 1
    assert len(p.calls) == seen.total()


def bytes_and_flops(function: Callable[[], object]) -> dict[str, tuple[int, int | None]]:
    with profile() as p:
        function()
    return {row.kernel: (row.nbytes, row.flops) for row in p.rows}


def test_bytes_and_work() -> None:
    x, row, column = Tensor.ones(4, 3), Tensor.ones(3), Tensor.ones(4, 1)
    index = Tensor([0, 0, 1])
    assert bytes_and_flops(lambda: x + x) == {"add": (3 * 48, 12)}
    assert bytes_and_flops(lambda: x + row) == {"add": (48 + 48 + 12, 12)}
    assert bytes_and_flops(lambda: x * column) == {"mul": (48 + 48 + 16, 12)}
    assert bytes_and_flops(lambda: x.T + x.T) == {"add": (3 * 48, 12)}
    assert bytes_and_flops(lambda: x.sum(axis=0)) == {"sum": (48 + 12, 12)}
    assert bytes_and_flops(lambda: x @ x.T) == {"matmul": (48 + 48 + 64, 2 * 4 * 4 * 3)}
    assert bytes_and_flops(lambda: x.cast("float64")) == {"cast": (96 + 48, None)}
    assert bytes_and_flops(lambda: x > 0)["gt"] == (12 + 48 + 4, 12)
    assert bytes_and_flops(lambda: Tensor.zeros(0, 3).exp())["exp"] == (0, 0)
    big = Tensor.ones(1000)
    assert bytes_and_flops(lambda: big.index_select(0, index)) == {
        "index_select": (12 + 12 + 24, None)
    }


def test_work_of_a_convolution() -> None:
    """N, C, O, H, W, K, L, P, Q = 2, 3, 4, 8, 9, 3, 2, 6, 8: N O P Q sums of C K L terms."""
    x, w, z = [(shape, (1,) * 4, float32) for shape in ((2, 3, 8, 9), (4, 3, 3, 2), (2, 4, 6, 8))]
    work = 2 * (2 * 4 * 6 * 8) * (3 * 3 * 2)
    for kernel, operands in {"conv2d": (z, x, w), "conv2d_weight": (w, x, z)}.items():
        assert KernelCall(kernel, float32, 0, 0, 0, 0, operands).flops == work


def test_an_update_in_place_is_read_and_written() -> None:
    p, g = Tensor.ones(10, requires_grad=True), Tensor.ones(10)
    sgd, adam = optim.SGD([p], lr=0.1, momentum=0.9), optim.Adam([p])
    p.grad = g
    sgd.step(), adam.step()  # their state exists now
    count = {"add": (5 * 8, 2)}  # of the steps and of p's moves, both ways, and the 1
    # p, v both ways, g, and three settings; p, m, v both ways, g, five settings and the count
    assert bytes_and_flops(sgd.step) == {"sgd": (5 * 40 + 3 * 8, None), **count}
    assert bytes_and_flops(adam.step) == {"adam": (7 * 40 + 6 * 8, None), **count}


def test_buffer_arithmetic_is_seen_too() -> None:
    a, b = Buffer([1.0, 2.0]), Buffer([3.0, 4.0])
    with profile() as p:
        a -= 0.5 * b
    assert counts(p) == {"mul": 1, "sub": 1}


def test_each_dtype_has_its_row() -> None:
    x = Tensor.ones(3)
    with profile() as p:
        x + x, x + x, x.cast("float64") + x.cast("float64")
    rows = {(r.kernel, r.dtype): r for r in p.rows}
    assert {key: r.calls for key, r in rows.items()} == {
        ("add", "float32"): 2,
        ("add", "float64"): 1,
        ("cast", "float32"): 2,
    }
    assert rows["add", "float64"].nbytes == 3 * 24


def test_what_is_only_moved_or_has_parameters_is_no_work() -> None:
    operands = (((4, 3), (3, 1), float32),) * 3

    def flops(kernel: str) -> int | None:
        return KernelCall(kernel, float32, 0, 0, 0, 0, operands).flops

    assert [flops(name) for name in ("add", "exp", "lt", "hypot", "max", "argmin")] == [12] * 6
    moving = ("copy", "cast", "fill", "where", "pad", "gather", "scatter", "softmax", "argsort")
    assert [flops(name) for name in moving] == [None] * len(moving)


# ---- time ----------------------------------------------------------------------------------------


def test_the_shares_add_up_to_the_time_of_the_block() -> None:
    step = mlp_step()
    with profile() as p:
        step()
    assert sum(p.seconds.values()) == pytest.approx(p.elapsed / 1e9)
    assert set(p.seconds) == {"kernels", "between", "profile"}
    assert all(seconds > 0 for seconds in p.seconds.values())
    assert p.seconds["kernels"] == pytest.approx(sum(row.seconds for row in p.rows))


def test_rows_are_sorted_by_time_and_know_their_rates() -> None:
    with profile() as p:
        mlp_step()()
    times = [row.seconds for row in p.rows]
    assert times == sorted(times, reverse=True)
    row = KernelRow("matmul", "float32", 2, 0.5, 10**9, 4 * 10**9)
    assert (row.gb_per_s, row.gflop_per_s) == (2.0, 8.0)
    assert KernelRow("copy", "float32", 1, 0.5, 10**9, None).gflop_per_s is None
    assert KernelRow("add", "float32", 1, 0.0, 8, 1).gb_per_s == 0.0


def test_it_prints_a_table() -> None:
    p = profile()
    shape = ((10, 10), (10, 1), float32)
    p.calls = [
        KernelCall("matmul", float32, 0, 4000, 500, 7, (shape,) * 3),
        KernelCall("copy", float32, 5000, 1000, 500, 7, (shape,) * 2),
    ]
    p.thread, p.elapsed = 7, 10_000
    assert str(p).splitlines() == [
        "kernel              dtype        calls        ms   share        MB    GB/s  GFLOP/s",
        "matmul              float32          1     0.004   40.0%      0.00     0.3      0.5",
        "copy                float32          1     0.001   10.0%      0.00     0.8        -",
        "0.010 ms: kernels 50.0%, between 40.0%, profile 10.0%",
    ]
    assert len(str(profile()).splitlines()) == 2  # the head and the sum, if nothing was called


# ---- blocks within blocks, threads, errors -------------------------------------------------------


def test_blocks_within_blocks_see_what_happens_in_them() -> None:
    x = Tensor.ones(3)
    with profile() as outer:
        x + x
        with profile() as inner:
            x * x
        x - x
    x / x
    assert counts(outer) == {"add": 1, "mul": 1, "sub": 1}
    assert counts(inner) == {"mul": 1}


def test_a_profile_adds_up_when_entered_again_but_not_within_itself() -> None:
    x, p = Tensor.ones(3), profile()
    for n in (1, 2):
        with p:
            x + x
        assert counts(p) == {"add": n}
    with p, pytest.raises(DomainError), p:
        x + x
    assert counts(p) == {"add": 2}


def test_all_threads_are_seen(tmp_path: Path, backend: str) -> None:
    x, ready = Tensor.ones(50), threading.Barrier(4)

    def work() -> None:
        ready.wait()
        for _ in range(25):
            x + x

    threads = [threading.Thread(target=work) for _ in range(4)]
    with profile() as p:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts(p) == {"add": 100}
    p.chrome_trace(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {event["tid"] for event in events} <= {1, 2, 3, 4}  # 0 is the thread of the block
    assert len(events) == 100


def test_an_error_leaves_nothing_behind() -> None:
    x, other = Tensor.ones(3), Tensor.ones(4)
    p = profile()
    with p:
        x + x
    with pytest.raises(ShapeError), p:
        x + other
    assert counts(p) == {"add": 1}
    assert x.requires_grad_() + x is not None
    beyond = Tensor([3])
    with pytest.raises(tutor.errors.OutOfRangeError), profile() as p:
        x.detach().index_select(0, beyond)
    assert p.calls == []  # a call that fails is none


def test_results_are_the_same_with_and_without() -> None:
    def grads() -> list[list[float]]:
        tutor.manual_seed(1)
        layer = nn.Linear(5, 4)
        layer(Tensor.rand(3, 5)).relu().sum().backward()
        return [p.grad.tolist() for p in nn.get_parameters(layer)]

    with profile():
        profiled = grads()
    assert profiled == grads()


def test_it_keeps_no_tensor_alive() -> None:
    gc.collect()
    before = tutor.memory.stats().in_use
    with profile() as p:
        x = Tensor.ones(1000)
        x + x
    del x
    assert tutor.memory.stats().in_use == before
    assert p.calls


# ---- the trace -----------------------------------------------------------------------------------


def test_the_trace_is_what_chrome_reads(tmp_path: Path) -> None:
    x = Tensor.ones(4, 3, requires_grad=True)
    with profile() as p:
        (x @ x.T).sum().backward()
    p.chrome_trace(tmp_path / "trace.json")
    p.chrome_trace(tmp_path / "a folder" / "trace.json")  # which is made
    assert (tmp_path / "a folder" / "trace.json").is_file()
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    assert len(events) == len(p.calls)
    for event in events:
        assert event["ph"] == "X"
        assert set(event) == {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}
        assert event["ts"] >= p.start / 1e3
        assert event["ts"] + event["dur"] <= (p.start + p.elapsed) / 1e3 + 1
    kernels = [event for event in events if event["cat"] == "kernel"]
    assert kernels[0]["name"] == "matmul"
    assert kernels[0]["args"] == {
        "shapes": [[4, 4], [4, 3], [3, 4]],
        "dtypes": ["float32"] * 3,
        "bytes": 48 + 48 + 64,
        "flops": 96,
    }


# ---- TUTOR_DEBUG ---------------------------------------------------------------------------------

PROGRAM = """
from tutor import Tensor
x = Tensor([[1.0, 2.0], [3.0, 0.0]], requires_grad=True)
y = x.log()
for _ in range(2): z = x.T.log()
w = x.detach().T.copy()
v = w + w
"""


def debug(level: str, backend: str, code: str = PROGRAM) -> tuple[int, list[str]]:
    """Exit code, and the lines on stderr."""
    name, _, simd = backend.partition(".")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TUTOR_DEBUG": level,
             "TUTOR_BACKEND": name, "TUTOR_SIMD": simd},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def test_without_the_variable_nothing_is_said(backend: str) -> None:
    for level in ("", "0"):
        assert debug(level, backend) == (0, [])


def test_level_1_is_a_summary_at_the_end(backend: str) -> None:
    code, lines = debug("1", backend)
    assert code == 0
    assert len(lines) == 2
    assert lines[0].startswith("tutor: 5 kernel calls, 0.")
    assert "log float32" in lines[0]
    assert lines[1].startswith("tutor: memory: ")
    assert "peak" in lines[1]


def test_level_2_is_a_line_for_each_call(backend: str) -> None:
    code, lines = debug("2", backend)
    assert code == 0
    assert [line.split("  ")[0] for line in lines[:-2]] == [
        "tutor: log float32 (2, 2) -> (2, 2)",
        "tutor: log float32 (2, 2) -> (2, 2)",
        "tutor: log float32 (2, 2) -> (2, 2)",
        "tutor: copy float32 (2, 2) -> (2, 2)",
        "tutor: add float32 (2, 2) (2, 2) -> (2, 2)",
    ]
    assert all(line.endswith(" us") for line in lines[:-2])


def test_level_3_has_layouts_lines_and_warnings(backend: str) -> None:
    code, lines = debug("3", backend)
    assert code == 0
    plain, strided = "(2, 2) strides (2, 1) offset 0", "(2, 2) strides (1, 2) offset 0"
    assert lines[0].startswith(f"tutor: log float32 {plain} -> {plain}  ")
    assert lines[0].endswith("<string>:4")
    assert lines[2].startswith(f"tutor: log float32 {strided} -> {plain}  ")
    warnings = [line for line in lines if "warning" in line]
    assert warnings == [
        "tutor: warning: log float32 of finite numbers gave a nan or inf: <string>:4",
        "tutor: warning: log float32 of finite numbers gave a nan or inf: <string>:5",  # once
        f"tutor: warning: a copy, for {strided} is not contiguous: <string>:6",
    ]


def test_what_is_no_level_is_refused(backend: str) -> None:
    code, lines = debug("4", backend)
    assert code == 1
    assert "TUTOR_DEBUG='4'" in lines[-3]


@pytest.mark.parametrize("dtype", [d for d in TABLE if d.is_float], ids=lambda d: d.name)
def test_nan_and_inf_are_found_wherever_they_stand(backend: str, dtype: tutor.dtype.DType) -> None:
    for bad in (float("nan"), float("inf"), -float("inf")):
        x = Tensor([[1.0, 2.0, 3.0], [4.0, bad, 6.0]], dtype=dtype)
        assert not is_finite(x)
        assert not is_finite(x.T)
        assert not is_finite(x[1, 1])
        assert is_finite(x[0])
        assert is_finite(x[:, ::2])
    assert is_finite(Tensor.zeros(0, 3, dtype=dtype))
    assert is_finite(Tensor([1, 2]))
