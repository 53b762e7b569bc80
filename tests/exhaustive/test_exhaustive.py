"""The kernels are still those that were measured on every input, and the measuring is sound.

`make exhaustive` takes hours. Here every kernel gets the sample of exhaustive.py, at every level:
all numbers of 16 bits, some hundred thousand float32 and pairs chosen on purpose. A digest of the
results says whether one bit of them differs from what the full run saw.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import exhaustive
import exhaustive_rows
import pytest
from backend_names import LEVELS
from exhaustive import Block, Found, Sample, compiler, measure, spans
from exhaustive_rows import PAGE, Task, defined, holds, load, page, save, tasks
from exhaustive_sample import sample

from tutor.backends import registry, simd_cpp
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, bfloat16, float16, float32

pytestmark = [
    pytest.mark.skipif(not LEVELS, reason="the extension was not built"),
    pytest.mark.skipif(compiler() is None, reason="what should come out is computed in C++"),
]
TASKS = [pytest.param(task, id=str(task).replace(" ", "-")) for task in tasks()]
NAMES = [name.removeprefix("simd_cpp.") for name in LEVELS]
ROWS = load()


def named(name: str) -> Task:
    return next(task for task in tasks() if str(task) == name)


# ---- what was measured ---------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_is_what_was_measured(task: Task) -> None:
    assert str(task) in ROWS, f"measure it: make exhaustive ARGS={task.kernel}"
    tried = Sample(task, ROWS[str(task)].hard)
    for level in NAMES:
        found, row = tried.found[level], ROWS[str(task)].levels.get(level)
        assert 0 <= found.ulps <= task.limit, f"{level}: input {found.at:x}"
        if row is None:
            continue  # a level of other CPUs than the one on which all was measured
        say = f"{level}: no longer what was measured: make exhaustive ARGS={task.kernel}"
        assert tried.digest[level] == row["sample"], say
        assert holds(task, row)
        if row["inputs"] == task.inputs:
            assert found.error <= row["error"] + 1e-6


@pytest.mark.parametrize("task", [task for task in tasks() if task.limit], ids=str)
def test_the_worst_input_is_as_bad_as_the_page_says(task: Task) -> None:
    for level in NAMES:
        row = ROWS[str(task)].levels.get(level)
        if row is None or row["ulps"] == 0:
            continue
        block, found = Block(task, 1), Found()
        block.take_these(array("I", [int(row["at"], 16)]))
        block.run(exhaustive.kernel(level, task))
        block.compare(found)
        assert (found.at, found.wrong) == (int(row["at"], 16), 1)
        assert found.error == pytest.approx(row["error"], abs=2e-6)


def test_nothing_else_was_measured() -> None:
    assert set(ROWS) == {str(task) for task in tasks()}


def test_no_row_is_of_a_few_inputs() -> None:
    """All inputs of one operand, and each pair of float16 where a few minutes do; of the other
    pairs each 257th (see `--every`)."""
    quick = ("add", "sub", "mul", "div", "hypot", "copysign", "maximum", "minimum", "relu_grad",
             "eq", "ne", "lt", "le", "gt", "ge")  # fmt: skip
    for task in tasks():
        all_pairs = task.kernel in quick and task.dtype.name == "float16"
        most = 1 if task.operands == 1 or all_pairs else 257
        for level, row in ROWS[str(task)].levels.items():
            assert row["inputs"] >= task.inputs // most, f"{task}, {level}"


def test_every_elementwise_kernel_of_floats_is_a_task() -> None:
    """Those that the backends' cases treat as elementwise, but for `fill` and `where`, as soon as
    expected.cpp has a definition, which all but the newest have."""
    from tutor.testing.cases import CASES, elementwise

    kinds = {elementwise.function, elementwise.pairs, elementwise.gradient, elementwise.power}
    kinds |= {elementwise.basic, elementwise.cast}
    wanted = {
        name for name, (small, _) in CASES.items()
        if small in kinds and float32 in SIGNATURES[name].dtypes
    }  # fmt: skip
    assert {task.kernel for task in tasks()} == (wanted - {"where"}) & defined()
    assert len(defined()) >= 55
    assert defined() <= set(SIGNATURES)


def test_the_page_shows_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(ROWS)


# ---- what should come out ------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_the_definition_is_that_of_python_ref(task: Task) -> None:
    numbers = sample(task.dtype.itemsize, task.operands)
    block, found = Block(task, 3000), Found()
    block.take_these(numbers[:: -(-len(numbers) // 3000)])
    block.run(registry.table("python_ref")[task.kernel, task.dtype])
    block.compare(found)
    # Python has a hypot of its own, which may differ from the C library's in a double's last bit.
    assert found.wrong == 0


# ---- what would be noticed -----------------------------------------------------------------------


def spoiled(name: str, inputs: list[int], results: dict[int, bytes]) -> Found:
    """What is found if the kernel's results of some inputs are replaced by these bytes."""
    task = named(name)
    block, found = Block(task, len(inputs)), Found()
    block.take_these(array("I", inputs))
    block.run(exhaustive.kernel(NAMES[-1], task))
    for place, raw in results.items():
        block.out.raw[place * len(raw) : (place + 1) * len(raw)] = raw
    block.compare(found)
    return found


def bits(number: float, dtype: DType = float32) -> int:
    return int.from_bytes(struct.pack("=" + dtype.format, number), "little")


@pytest.mark.parametrize(
    ("name", "x", "result", "ulps", "error"),
    [
        ("neg float32", 1.0, struct.pack("=f", -1.0), 0, 0.0),
        ("neg float32", 1.0, struct.pack("=I", bits(-1.0) + 3), 3, 3.0),
        ("neg float32", 1.0, struct.pack("=I", bits(-1.0) - 3), 3, 1.5),  # below 1 they are closer
        ("neg float32", 0.0, struct.pack("=f", 0.0), -1, math.inf),
        ("neg float32", math.nan, struct.pack("=f", math.nan), 0, 0.0),
        ("neg float32", math.nan, struct.pack("=f", 1.0), -1, math.inf),
        ("neg float32", math.inf, struct.pack("=f", -3.4028234663852886e38), -1, math.inf),
        ("neg float32", 2.0**-149, struct.pack("=f", 2.0**-149), 2, 2.0),
        ("exp float32", 0.0, struct.pack("=I", bits(1.0) + 1), 1, 1.0),
        ("cast float32 -> int32", 3.7, struct.pack("=i", 4), -1, math.inf),
        ("cast float32 -> bool", 0.5, b"\0", -1, math.inf),
        ("cast float32 -> float64", 1.0, struct.pack("=d", 1 + 2.0**-52), -1, math.inf),
    ],
)
def test_errors_are_measured(name: str, x: float, result: bytes, ulps: int, error: float) -> None:
    found = spoiled(name, [bits(2.0), bits(x)], {1: result})
    assert (found.ulps, found.error, found.wrong) == (ulps, error, int(error != 0))
    assert found.at == (bits(x) if error else 0)


def test_the_error_is_that_of_the_exact_value() -> None:
    """log 2 = 0.693147180559945, and beside it lie the float32 0.69314718 and 0.69314724."""
    near = bits(math.log(2))
    values = [struct.unpack("=f", struct.pack("=I", near + k))[0] for k in (0, 1)]
    found = spoiled("log float32", [bits(2.0)], {0: struct.pack("=I", near + 1)})
    unit = values[1] - values[0]
    assert (found.ulps, found.undecided) == (1, 0)
    assert found.error == pytest.approx((values[1] - math.log(2)) / unit, abs=1e-7)


def test_what_lies_in_the_middle_is_undecided() -> None:
    """1 + 2**-8, a float16, lies in the middle of two bfloat16s: either may be the nearest."""
    task = named("cast float16 -> bfloat16")
    found = spoiled(str(task), [bits(1 + 2.0**-8, float16)], {0: struct.pack("=H", 0x3F81)})
    assert (found.wrong, found.undecided, found.error) == (1, 1, 0.5)


def replaced(monkeypatch: pytest.MonkeyPatch, task: Task, kernel: Callable[..., None]) -> None:
    monkeypatch.setattr(exhaustive, "kernel", lambda *_: kernel)


def test_one_bit_of_one_result_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    task = named("sqrt float32")
    sound, honest = exhaustive.kernel(NAMES[-1], task), Sample(task, [])

    def off(out: Operand, x: Operand) -> None:
        sound(out, x)
        out.buf.raw[4 * 54321] ^= 1

    replaced(monkeypatch, task, off)
    found = Sample(task, [])
    assert found.found[NAMES[0]].wrong == 1
    assert found.digest[NAMES[0]] != honest.digest[NAMES[0]]


def test_a_single_wrong_input_is_found_and_not_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, results = named("abs bfloat16"), tmp_path / "results.jsonl"
    sound = exhaustive.kernel(NAMES[-1], task)

    def off(out: Operand, x: Operand) -> None:
        sound(out, x)
        memory = x.buf.raw.cast("H").tolist()
        if 0x1234 in memory:
            out.buf.raw[2 * memory.index(0x1234)] ^= 2

    monkeypatch.setattr(exhaustive, "load", lambda: load(results))
    monkeypatch.setattr(exhaustive, "save", lambda rows: save(rows, results))
    monkeypatch.setattr(exhaustive, "PAGE", tmp_path / "page.md")
    replaced(monkeypatch, task, off)
    assert exhaustive.run([task], every=1, jobs=2, again=False) == 1
    assert "2 ulp (2.0) at 1234, 1 not nearest TOO FAR" in capsys.readouterr().out
    assert load(results) == {}
    replaced(monkeypatch, task, sound)
    assert exhaustive.run([task], every=16, jobs=2, again=False) == 0
    assert load(results)["abs bfloat16"].levels[NAMES[0]]["inputs"] == 4096
    assert not exhaustive.is_measured(task, load(results), every=1)
    assert exhaustive.run([task], every=1, jobs=2, again=False) == 0
    assert load(results)["abs bfloat16"].levels[NAMES[0]]["inputs"] == 65536
    assert exhaustive.is_measured(task, load(results), every=1)
    replaced(monkeypatch, task, off)
    assert not exhaustive.is_measured(task, load(results), every=1)
    assert "| abs | bfloat16 | all 65,536 |" in (tmp_path / "page.md").read_text()


def test_every_input_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the sizes of spans and blocks; -x has its own number of each bit pattern."""
    task = named("neg float16")
    monkeypatch.setattr(exhaustive, "SPAN", 10007)
    monkeypatch.setattr(exhaustive, "BLOCK", 999)
    seen: list[int] = []
    sound = exhaustive.kernel(NAMES[-1], task)

    def watch(out: Operand, x: Operand) -> None:
        seen.extend(x.buf.raw[: 2 * x.shape[0]].cast("H"))
        sound(out, x)

    replaced(monkeypatch, task, watch)
    monkeypatch.setattr(simd_cpp, "levels", lambda: NAMES[-1:])
    monkeypatch.setattr(exhaustive, "Sample", lambda *_: SimpleNamespace(digest={NAMES[-1]: ""}))
    row = measure(task, 1, 1)
    assert sorted(seen) == list(range(65536))
    assert row.levels[NAMES[-1]]["inputs"] == 65536
    seen.clear()
    measure(task, 13, 1)
    assert sorted(seen) == list(range(0, 65536, 13))


def test_the_hardest_inputs_are_found() -> None:
    """Among the e**x from x = 2**-9 to 2**-8 the one next to the middle of two float32."""
    task = named("exp float32")
    _, hardest = exhaustive.measure_span(task, bits(2.0**-9), 2**23, 1)
    (at,) = hardest.inputs()
    x = struct.unpack("=f", struct.pack("=I", at))[0]
    assert 2.0**-9 <= x < 2.0**-8
    units = math.exp(x) * 2.0**23
    distance = abs(units % 1 - 0.5)
    assert distance == hardest.distance[at >> 23] < 2.0**-20
    some = struct.unpack("=9999f", array("I", range(bits(2.0**-9), bits(2.0**-9) + 9999)))
    assert distance <= min(abs(math.exp(x) * 2.0**23 % 1 - 0.5) for x in some)


def test_pairs_are_all_pairs() -> None:
    task = named("sub float16")
    block = Block(task, 4)
    block.take(0x3C007BFF, 1, 4)
    assert block.ins[0].tolist() == [1.0, 1.0, 1.0, 1.0]
    assert block.ins[1].tolist()[:2] == [65504.0, math.inf]
    assert sum(count for _, count in spans(task, 1)) == 2**32
    assert [first for first, _ in spans(task, 1)] == list(range(0, 2**32, exhaustive.SPAN))


def test_numbers_are_shown_in_few_digits() -> None:
    show = exhaustive_rows.number
    assert show("3dcccccd", float32) == "0.1"
    assert show("ff800000", float32) == "-inf"
    assert show("3f80", bfloat16) == "1"
    assert exhaustive_rows.inputs_at(named("pow bfloat16"), "3f804000") == "1 (0x3f80), 2 (0x4000)"
