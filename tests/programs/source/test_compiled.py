"""A compiled Program does what the library does, raises what it raises, and is tried before."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from compiled_cases import (
    HAS_COMPILER,
    begin,
    chain,
    compiles,
    small,
    training,
    whole,
)

import tutor
from tutor import Tensor, nn, optim, registry, use_backend
from tutor.backends.codegen.expressions import EXPRESSIONS
from tutor.backends.step import Step, emit
from tutor.dtype import (
    DType,
    float32,
    int8,
    int32,
    int64,
    uint64,
)
from tutor.errors import DomainError, OutOfRangeError, ShapeError
from tutor.programs.program import Program, Slot, Walk
from tutor.programs.source import compiler
from tutor.programs.source.compiled import compiled
from tutor.programs.source.function import Compiled
from tutor.programs.source.text import functions_of, source
from tutor.programs.source.verify import Memories, trial

pytestmark = pytest.mark.usefixtures("second_road")


# ---- a Program as a whole ------------------------------------------------------------------------


@compiles
@pytest.mark.parametrize(
    ("make", "options"), [(optim.SGD, {}), (optim.SGD, {"momentum": 0.9}), (optim.Adam, {})]
)
def test_a_training_step_in_c_is_the_librarys(make: Any, options: dict[str, Any]) -> None:
    """Three steps, each from the numbers that the one before has left."""
    program = training(make, **options)
    run = compiled(program)
    assert run is not None
    assert all(function is not None for function in functions_of(program))
    here, there = Memories(program.slots), Memories(program.slots)
    here.fill(begin(program)), there.fill(begin(program))
    for _ in range(3):
        run(here.addresses)
        for step in program:
            emit(there.over(step))
    for slot in program.slots:
        if slot.lasts and slot.dtype is float32:
            pairs = zip(here.blocks[slot].raw.cast("f"), there.blocks[slot].raw.cast("f"),
                        strict=True)  # fmt: skip
            assert all(abs(a - b) <= 1e-5 * (1 + abs(b)) for a, b in pairs), slot
        elif slot.lasts:
            assert here.images([slot]) == there.images([slot])


@compiles
def test_exact_kernels_and_sums_have_the_bits_of_simd_cpp() -> None:
    """Sums follow its tree, over rows, columns and all of it; 1,500 terms are three blocks."""
    x, r, c = (
        Slot("input", 4500, float32),
        Slot("output", 3, float32),
        Slot("output", 1500, float32),
    )
    a, t = Slot("output", 1, float32), Slot("temp", 4500, float32)
    u, v = Slot("output", 1500, float32), Slot("output", 3, float32)
    program = Program([
        Step("mul", float32, whole(t, 3, 1500),
             (whole(x, 3, 1500), Walk(x, (3, 1500), (-1, 0), 9))),
        Step("sum", float32, whole(r, 3), (whole(t, 3, 1500),), {"axis": (1,)}),
        Step("sum", float32, whole(c, 1500), (whole(t, 3, 1500),), {"axis": (0,)}),
        Step("mean", float32, whole(a), (whole(t, 3, 1500),), {"axis": (0, 1)}),
        Step("prod", float32, whole(u, 1500), (whole(t, 3, 1500),), {"axis": (0,)}),
        Step("sum", float32, whole(v, 3), (whole(t, 1500, 3),), {"axis": (0,)}),
    ])  # fmt: skip
    run = Compiled(program, compiler.load(source(program)))
    here, there = Memories(program.slots), Memories(program.slots)
    here.fill(begin(program)), there.fill(begin(program))
    run(here.addresses)
    table = registry.table("simd_cpp")
    for step in program:
        emit(there.over(step), table[step.kernel, step.dtype])
    assert here.images(program.slots) == there.images(program.slots)


@compiles
def test_steps_that_are_not_written_out_are_done_by_the_library() -> None:
    program = small()
    run = compiled(program, {s: filled(s) for s in program.slots if s.role in ("input", "state")})
    assert run is not None
    here, there = Memories(program.slots), Memories(program.slots)
    start = {s: filled(s).raw.tobytes() for s in program.slots}
    here.fill(start), there.fill(start)
    run(here.addresses)
    for step in program:
        emit(there.over(step))
    drawn = [s for s in program.slots if s.dtype in (uint64, int64)]
    assert here.images(drawn) == there.images(drawn)
    assert here.images(drawn) != {s: start[s] for s in drawn}


def filled(slot: Slot) -> Any:
    """Memory that holds small numbers; of an index all 0."""
    memory = Memories([slot])
    values = [n % 5 * 0.25 if slot.dtype.is_float else n * 0 for n in range(slot.count)]
    memory.fill({slot: tutor.Buffer(values, dtype=slot.dtype).raw.tobytes()})
    return memory.blocks[slot]


def test_the_reference_runs_the_same_program() -> None:
    """The trial is against the backend in use, whichever it is."""
    if HAS_COMPILER:
        with use_backend("python"):
            assert compiled(training()) is not None


# ---- what is wrong -------------------------------------------------------------------------------


def refusing(kernel: str, dtype: DType, second: int) -> tuple[Program, dict[Slot, bytes]]:
    x, y, z = Slot("input", 3, dtype), Slot("input", 3, dtype), Slot("output", 3, dtype)
    after = Slot("output", 3, dtype)
    program = Program([
        Step(kernel, dtype, whole(z, 3), (whole(x, 3), whole(y, 3))),
        Step("copy", dtype, whole(after, 3), (whole(z, 3),)),
    ])  # fmt: skip
    start = {x: [7, 8, 9], y: [1, second, 3], z: [4, 4, 4], after: [5, 5, 5]}
    return program, {s: tutor.Buffer(v, dtype=s.dtype).raw.tobytes() for s, v in start.items()}


@compiles
@pytest.mark.parametrize(
    ("kernel", "second"),
    [("floor_divide", 0), ("remainder", 0), ("fmod", 0), ("pow", -1), ("bitwise_left_shift", -1),
     ("bitwise_right_shift", -2)],
)  # fmt: skip
def test_integers_without_a_result_raise_what_the_library_raises(kernel: str, second: int) -> None:
    program, start = refusing(kernel, int32, second)
    run = compiled(program)
    assert run is not None
    memory = Memories(program.slots)
    memory.fill(start)
    with pytest.raises(DomainError) as wanted:
        emit(memory.over(program.steps[0]))
    with pytest.raises(DomainError) as found:
        run(memory.addresses)
    assert str(found.value) == str(wanted.value)
    assert memory.images(program.slots) == start  # nothing was written, by this step or after it


@compiles
@pytest.mark.parametrize("kernel", ["gather", "index_select", "scatter", "scatter_add"])
@pytest.mark.parametrize("index", [3, -4, 2**63 - 1, -(2**63)])
def test_an_index_beyond_the_end_raises(kernel: str, index: int) -> None:
    x, i, z = Slot("input", 3, float32), Slot("input", 2, int64), Slot("output", 3, float32)
    ins: list[Walk] = [whole(x, 3), whole(i, 2)]
    out = whole(z, 2)
    if kernel.startswith("scatter"):
        out, ins = whole(z, 3), [*ins, Walk(x, (2,), (1,))]
    program = Program([Step(kernel, float32, out, tuple(ins), {"axis": 0})])
    run = compiled(program)
    assert run is not None
    memory = Memories(program.slots)
    memory.fill(
        {i: tutor.Buffer([0, index], dtype=int64).raw.tobytes(), z: b"\7" * 12, x: bytes(12)}
    )
    with pytest.raises(OutOfRangeError, match=f"index {index} in axis 0"):
        run(memory.addresses)
    assert memory.blocks[z].raw.tobytes() == b"\7" * 12


@compiles
def test_a_target_that_names_no_class_raises() -> None:
    x, t, z = Slot("input", 6, float32), Slot("input", 2, int64), Slot("output", 1, float32)
    step = Step("cross_entropy", float32, whole(z), (whole(x, 2, 3), whole(t, 2)), {"scale": 0.5})
    run = compiled(Program([step]))
    assert run is not None
    memory = Memories(run.program.slots)
    memory.fill({x: bytes(24), t: tutor.Buffer([0, -1], dtype=int64).raw.tobytes(), z: b"\7" * 4})
    with pytest.raises(OutOfRangeError, match="index -1"):
        run(memory.addresses)
    assert memory.blocks[z].raw.tobytes() == b"\7" * 4


@compiles
def test_what_the_library_raises_for_its_own_steps_comes_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = small()
    run = compiled(program)
    assert run is not None

    calls: list[Step] = []

    def fail(step: Step, *_: Any) -> None:
        calls.append(step)
        raise KeyboardInterrupt("in the midst")

    monkeypatch.setattr("tutor.programs.source.function.emit", fail)
    memory = Memories(program.slots)
    with pytest.raises(KeyboardInterrupt, match="in the midst"):
        run(memory.addresses)
    assert [step.kernel for step in calls] == ["uniform"]  # once


@compiles
def test_each_memory_needs_its_address() -> None:
    run = compiled(small())
    assert run is not None
    with pytest.raises(ShapeError, match="0 addresses for 11 memories"):
        run([])


@compiles
def test_threads_run_it_at_once() -> None:
    program = training()
    run = compiled(program)
    assert run is not None
    memories = [Memories(program.slots) for _ in range(4)]
    start, errors = begin(program), []

    def work(memory: Memories) -> None:
        try:
            for _ in range(20):
                memory.fill(start)
                run(memory.addresses)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(memory,)) for memory in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len({tuple(memory.images(program.slots).values()) for memory in memories}) == 1


# ---- tried before it is used ---------------------------------------------------------------------


def spoiled(program: Program, old: str, new: str) -> str | None:
    """What the trial says of a source in which something is wrong."""
    text = source(program)
    assert old in text
    return trial(Compiled(program, compiler.load(text.replace(old, new))), {})


@compiles
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("t0[i * 4 + j] + ", "t0[i * 4 + j] + 1e-6f + ", "step 0, add float32 (a.py:1), disagrees"),
        ("expf(t0[i])", "expf(t0[i]) * 1.000001f", "step 1, exp float32, disagrees"),
        ("= lane[0]", "= lane[0] * 1.0001f", "step 2, sum float32, disagrees"),
        ("    step_1(t0);\n", "    step_1(t0);\n    step_1(t0);\n", "as a whole it disagrees"),
    ],
)
def test_what_is_wrong_is_found(old: str, new: str, says: str) -> None:
    x, b, t = Slot("input", 12, float32), Slot("input", 4, float32), Slot("temp", 12, float32)
    y = Slot("output", 1, float32)
    program = Program([
        Step("add", float32, whole(t, 3, 4), (whole(t, 3, 4), Walk(b, (3, 4), (0, 1))), {},
             ("/x/a.py", 1)),
        Step("exp", float32, whole(t, 12), (whole(t, 12),)),
        Step("sum", float32, whole(y), (whole(t, 12),), {"axis": (0,)}),
        Step("copy", float32, whole(x, 12), (whole(t, 12),)),
    ])  # fmt: skip
    assert trial(Compiled(program, compiler.load(source(program))), {}) is None
    assert says in str(spoiled(program, old, new))


@compiles
def test_what_was_found_wrong_is_not_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(EXPRESSIONS, "relu", {"float": EXPRESSIONS["neg"]["float"]})
    assert compiled(training()) is None
    lines = capsys.readouterr().err.splitlines()
    assert lines  # of its recording, and of the Program as it is then: with other numbers
    for line in lines:
        assert "tutor: TUTOR_CC: step 1, relu float32 (compiled_cases.py:" in line
        assert line.endswith("; the library's own replay runs")


@compiles
def test_the_trial_leaves_the_real_memory_alone() -> None:
    program = training(optim.Adam)
    before = {s: s.value.raw.tobytes() for s in program.slots if s.value is not None}
    assert compiled(program) is not None
    assert {s: s.value.raw.tobytes() for s in before} == before


@compiles
def test_indices_and_divisors_are_tried_with_numbers_that_fit() -> None:
    """Drawn are 0 and 1; where a step refuses them, 0 alone, then 1 alone."""
    x, i, z = Slot("input", 1, float32), Slot("input", 2, int64), Slot("output", 2, float32)
    gathered = Program([Step("gather", float32, whole(z, 2), (whole(x, 1), whole(i, 2)),
                             {"axis": 0})])  # fmt: skip
    assert compiled(gathered) is not None
    assert compiled(refusing("floor_divide", int8, 1)[0]) is not None


@compiles
def test_the_trial_takes_a_chain_apart() -> None:
    """There is no bound for what a chain makes of an error in its first kernel; there is one for
    each of its kernels, and the chain has the bits that these have one by one."""
    program = chain("r0 = exp.float32 i0; r1 = sub.float32 r0 r0; o0 = div.float32 r1 i1")
    assert compiled(program) is not None
    wrong = spoiled(program, "expf(x0[i * 7 + j])", "expf(x0[i * 7 + j]) * 1.0000001f")
    assert "as a whole it disagrees" in spoiled(program, "r1 / ", "1e-30f + r1 / ")
    assert wrong is None  # r0 - r0 is 0 all the same


# ---- through tutor.jit ---------------------------------------------------------------------------


def network() -> Any:
    """A training step under jit that drops half of its inputs: the library draws which."""
    tutor.manual_seed(5)
    model = nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.Linear(33, 10))
    adam = optim.Adam(nn.get_parameters(model), lr=0.01)

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        adam.zero_grad()
        kept = Tensor.rand(12, 20) > 0.5
        loss = model(x * kept * 2).cross_entropy(y)
        loss.backward()
        adam.step()
        return loss

    return step


@compiles
def test_a_jitted_step_trains_in_c_as_it_does_without(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = Tensor.randn(12, 20), Tensor([i % 10 for i in range(12)])
    ran: list[int] = []
    run = Compiled.__call__

    def counted(self: Compiled, addresses: Any) -> None:
        ran.append(1)
        run(self, addresses)

    monkeypatch.setattr(Compiled, "__call__", counted)
    monkeypatch.setenv("TUTOR_CC", "0")
    step = network()
    wanted = [step(x, y).item() for _ in range(8)]
    assert not ran
    monkeypatch.setenv("TUTOR_CC", "always")
    step = network()
    found = [step(x, y).item() for _ in range(8)]
    assert capsys.readouterr().err == ""
    assert len(ran) > 6  # the trial's, and each replay
    assert found == pytest.approx(wanted, rel=1e-4)


@compiles
def test_a_jitted_call_in_c_may_run_in_threads_and_says_what_is_wrong() -> None:
    @tutor.jit
    def chosen_rows(x: Tensor, i: Tensor) -> Tensor:
        return (x.exp() * 2).gather(0, i).relu().exp()

    x = Tensor.randn(5, 3)
    good, bad = Tensor([[0, 1, 4]]), Tensor([[0, 9, 4]])
    (wanted, *_) = [chosen_rows(x, good).tolist() for _ in range(3)]
    with pytest.raises(OutOfRangeError, match="index 9 in axis 0") as raised:
        chosen_rows(x, bad)
    assert any("test_compiled.py" in note for note in raised.value.__notes__)
    found: list[Any] = []

    def work() -> None:
        found.extend(chosen_rows(x, good).tolist() for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    assert all(one[0] == pytest.approx(wanted[0], rel=1e-5) for one in found)
