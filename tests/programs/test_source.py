"""C from a Program: what it says, what it computes, and what happens where it is not compiled."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from compiled_cases import chosen, failures

import tutor
from tutor import Tensor, nn, optim, registry, use_backend
from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.backends.step import Step, emit
from tutor.dtype import (
    TABLE,
    DType,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint64,
)
from tutor.errors import DomainError, OutOfRangeError, ShapeError
from tutor.ground.layout import contiguous_strides
from tutor.programs.program import Program, Slot, Walk
from tutor.programs.source import compiler
from tutor.programs.source.compiled import compiled
from tutor.programs.source.dialect import OPENCL, real
from tutor.programs.source.expressions import EXPRESSIONS, expression
from tutor.programs.source.function import Compiled
from tutor.programs.source.loops import summed
from tutor.programs.source.text import WRITERS, functions_of, source
from tutor.programs.source.trial import Memories, trial

GOLDEN = Path(__file__).parent / "source.txt"
HAS_COMPILER = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
compiles = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C compiler")


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(kept))
    monkeypatch.setenv("TUTOR_CC", "1")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiler, "_said", set())


def whole(slot: Slot, *shape: int) -> Walk:
    return Walk(slot, shape, contiguous_strides(shape))


def small() -> Program:
    """One step of several forms: a view, a stretched operand, a fill, sums, an index, a draw."""
    x, w, b = Slot("input", 12, float32), Slot("state", 8, float32), Slot("state", 2, float32)
    t, i, h = Slot("temp", 6, float32), Slot("input", 3, int64), Slot("temp", 6, float16)
    seed, count = Slot("state", 1, uint64), Slot("state", 1, uint64)
    u, y, z = Slot("temp", 6, float32), Slot("output", 2, float32), Slot("output", 6, float32)
    return Program([
        Step("linear", float32, whole(t, 3, 2), (whole(x, 3, 4), whole(w, 2, 4), whole(b, 2)),
             {"relu": True}, ("/home/somebody/train.py", 12)),
        Step("cast", float32, whole(h, 3, 2), (whole(t, 3, 2),), {}, ("train.py", 13)),
        Step("exp", float16, whole(h, 3, 2), (whole(h, 3, 2),)),
        Step("cast", float16, whole(t, 3, 2), (whole(h, 3, 2),)),
        Step("add", float32, Walk(t, (2, 3), (1, 2)), (Walk(t, (2, 3), (1, 2)),
             Walk(b, (2, 3), (1, 0)))),
        Step("uniform", float32, whole(u, 6), (whole(seed), whole(count)), {"blocks": 2}),
        Step("gather", float32, whole(z, 3, 2), (whole(u, 3, 2), Walk(i, (3, 2), (1, 0))),
             {"axis": 0}),
        Step("mul", float32, whole(t, 6), (whole(t, 6), Walk(x, (6,), (-1,), 5))),
        Step("sum", float32, whole(y, 2), (whole(t, 3, 2),), {"axis": (0,)}),
    ])  # fmt: skip


def test_the_source_is_what_a_person_wants_to_read() -> None:
    text = source(small())
    if os.environ.get("TUTOR_WRITE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
    assert max(map(len, text.splitlines())) <= 100


def test_a_source_is_a_function_of_the_program_alone() -> None:
    assert source(small()) == source(small())


# ---- every kernel --------------------------------------------------------------------------------


def test_what_is_not_written_out_is_known() -> None:
    library = {name for name in SIGNATURES if name not in WRITERS}
    assert library == {"argsort", "conv2d", "conv2d_weight", "cummax", "max_pool2d",
                       "max_pool2d_grad", "nonzero", "normal", "random_bits", "scan",
                       "uniform"}  # fmt: skip


def test_every_elementwise_kernel_has_an_expression_for_each_of_its_dtypes() -> None:
    for row in TABLE_OF_KERNELS:
        if row.form == "elementwise" and not row.params and row.name != "cast":
            assert {d.kind for d in row.dtypes} == set(EXPRESSIONS[row.name]), row.name


DTYPES = [pytest.param(dtype, id=dtype.name) for dtype in TABLE]


@compiles
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_agrees_over_special_values(dtype: DType) -> None:
    """All kernels of one dtype in one source, each on the lists of values that conformance has."""
    rows = [row for row in TABLE_OF_KERNELS if dtype in row.dtypes and row.name in WRITERS]
    wrong = failures([case for row in rows for case in chosen(row.name, dtype, 1)])
    assert not wrong, wrong[0]


FORMS = ("add", "where", "cast", "sum", "prod", "mean", "max", "argmin", "matmul", "linear",
         "softmax", "log_softmax", "cross_entropy", "cross_entropy_grad", "cat", "pad", "gather",
         "index_select", "scatter", "scatter_add", "sgd", "adam", "descend", "fill",
         "arange", "relu", "pow", "floor_divide")  # fmt: skip


@compiles
@pytest.mark.parametrize("kernel", FORMS)
def test_every_form_agrees_over_layouts(kernel: str) -> None:
    dtypes = [d for d in (float32, bfloat16, int32) if d in SIGNATURES[kernel].dtypes]
    wrong = failures([case for dtype in dtypes for case in chosen(kernel, dtype, 16)])
    assert not wrong, wrong[0]


# ---- a Program as a whole ------------------------------------------------------------------------


def training(make: Any = optim.SGD, **options: Any) -> Program:
    """The Program of a training step of a network of two layers."""
    tutor.manual_seed(3)
    model = nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.Linear(33, 10))
    opt = make(nn.get_parameters(model), lr=0.1, **options)
    x, y = Tensor.randn(12, 20), Tensor([i % 10 for i in range(12)])

    @tutor.jit(passes=())
    def step(x: Tensor, y: Tensor) -> Tensor:
        opt.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        opt.step()
        return loss

    step(x, y), step(x, y)
    return step.program


def images(program: Program) -> dict[Slot, bytes]:
    """Numbers for each memory: what it was found with, else drawn."""
    rng, found = random.Random(1), {}
    for slot in program.slots:
        if slot.value is not None:
            found[slot] = slot.value.raw.tobytes()
        elif slot.dtype is float32:
            found[slot] = Tensor([rng.gauss(0, 1) for _ in range(slot.count)]).buf.raw.tobytes()
        else:
            found[slot] = bytes(rng.randrange(10) * (n % 8 == 0) for n in range(slot.nbytes))
    return found


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
    here.fill(images(program)), there.fill(images(program))
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
    here.fill(images(program)), there.fill(images(program))
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

    def fail(step: Step, *_: Any) -> None:
        raise KeyboardInterrupt("in the midst")

    monkeypatch.setattr("tutor.programs.source.function.emit", fail)
    memory = Memories(program.slots)
    with pytest.raises(KeyboardInterrupt, match="in the midst"):
        run(memory.addresses)


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
    start, errors = images(program), []

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


def spoiled(program: Program, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> str | None:
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
def test_what_is_wrong_is_found(
    old: str, new: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert says in str(spoiled(program, monkeypatch, old, new))


@compiles
def test_what_was_found_wrong_is_not_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(EXPRESSIONS, "relu", {"float": EXPRESSIONS["neg"]["float"]})
    assert compiled(training()) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert "tutor: TUTOR_CC: step 1, relu float32 (test_source.py:" in line
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


# ---- the compiler --------------------------------------------------------------------------------


def test_nothing_is_compiled_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for value in ("0", ""):
        monkeypatch.setenv("TUTOR_CC", value)
        assert compiled(small()) is None
    assert capsys.readouterr().err == ""


def test_without_a_compiler_it_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiled(small()) is None
    assert compiled(small()) is None
    assert capsys.readouterr().err == (
        "tutor: TUTOR_CC: there is no C compiler (cc, gcc, clang, or what CC names); "
        "the library's own replay runs\n"
    )
    monkeypatch.setenv("CC", "my-cc -m64")
    assert compiled(small()) is None
    assert "there is no 'my-cc -m64', which CC names" in capsys.readouterr().err


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("echo 'program.c:1: error: no' >&2; exit 1", "fails: program.c:1: error: no"),
        ("exit 0", "fails: it says nothing"),  # and makes nothing
        ("kill -9 $$", "fails: it says nothing"),
    ],
)
def test_a_compiler_that_fails_is_named(
    text: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("CC", script(tmp_path / "cc", text))
    assert compiled(small()) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert str(tmp_path / "cc") in line


@compiles
def test_a_compiler_that_makes_rubbish_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'while [ "$1" ]; do [ "$1" = -o ] && echo rubbish > "$2"; shift; done'
    monkeypatch.setenv("CC", script(tmp_path / "cc", text))
    assert compiled(small()) is None
    assert "cannot be loaded" in capsys.readouterr().err


@compiles
def test_a_compiler_without_native_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = compiler.compiler()[0]
    text = f'case "$*" in *-march=native*) exit 1;; esac\nexec {real} "$@"'
    monkeypatch.setenv("CC", script(tmp_path / "cc", text))
    assert compiled(small()) is not None


# ---- the folder ----------------------------------------------------------------------------------


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that are run from here on."""
    commands: list[str] = []
    ran = compiler.ran

    def run(command: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command[-1])
        return ran(command)

    monkeypatch.setattr(compiler, "ran", run)
    return commands


@compiles
def test_a_source_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    text = source(small())
    first = compiler.built(text)
    commands = counting(monkeypatch)
    assert compiler.built(text) == first
    assert commands == []
    assert compiler.built(text + "\n") != first
    assert len(commands) == 1
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    assert {path.suffix for path in first.parent.iterdir()} == {".so", ".sha256"}


@compiles
@pytest.mark.parametrize("harm", ["cut off", "emptied", "changed", "no sum", "sum cut off"])
def test_a_broken_entry_is_compiled_again(
    harm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    program = small()
    path = compiler.built(source(program))
    whole_file = path.read_bytes()
    if harm == "no sum":
        compiler.digest(path).unlink()
    elif harm == "sum cut off":
        compiler.digest(path).write_text("12")
    else:
        kept = len(whole_file) // 2 if harm == "cut off" else 0
        path.write_bytes(whole_file[:kept] + (b"x" * 9 if harm == "changed" else b""))
    assert compiled(program) is not None
    assert compiler.whole(path)


@compiles
def test_another_cpu_is_another_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    here = compiler.built(source(small()))
    flags, defined = compiler.target(tuple(compiler.compiler()))
    monkeypatch.setattr(compiler, "target", lambda _: (flags, defined + "#define __AVX1024__ 1\n"))
    assert compiler.built(source(small())) != here


@compiles
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this platform has no such permissions")
def test_a_folder_that_others_may_write_to_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs").chmod(0o777)
    path = compiler.built(source(small()))
    assert tmp_path not in path.parents
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@compiles
def test_where_there_can_be_no_folder_one_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path / "file"))
    assert compiled(small()) is not None


@compiles
def test_two_who_compile_at_once_do_not_meet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    text, found = source(small()), []
    threads = [threading.Thread(target=lambda: found.append(compiler.built(text)))
               for _ in range(3)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert compiler.whole(found[0])


# ---- details -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.1, float32, "0.1f"), (1, float32, "1.0f"), (-0.0, float64, "-0.0"),
        (1e300, float64, "1e+300"), (1 / 3, float64, "0.3333333333333333"),
        (3.4028234663852886e38, float32, "3.402823466e+38f"), (1e-45, float32, "1e-45f"),
        (float("inf"), float32, "INFINITY"), (float("-inf"), float64, "-INFINITY"),
        (float("nan"), float64, "NAN"),
    ],
)  # fmt: skip
def test_constants_have_as_few_digits_as_they_need(value: float, dtype: DType, text: str) -> None:
    assert real(value, dtype) == text


def test_an_index_is_as_short_as_it_can_be() -> None:
    assert summed([("i", 128), ("j", 1), ("k", 0)], 3) == "i * 128 + j + 3"
    assert summed([("i", -4), ("j", -1)], 11) == "-i * 4 - j + 11"
    assert summed([("i", 0)]) == "0"
    assert summed([], 7) == "7"


def test_another_dialect_is_another_small_object() -> None:
    text = source(small(), OPENCL)
    assert "exp(" in text
    assert "expf(" not in text
    assert "global float *restrict t0" in text
    assert "#include" not in text
    assert expression("exp", float64, ["x"], OPENCL) == "exp(x)"
    assert expression("neg", int8, ["x"], OPENCL) == "(int8_t)(0 - (uint32_t)x)"


def test_the_reference_runs_the_same_program() -> None:
    """The trial is against the backend in use, whichever it is."""
    if HAS_COMPILER:
        with use_backend("python"):
            assert compiled(training()) is not None
