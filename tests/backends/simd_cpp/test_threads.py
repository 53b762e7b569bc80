"""The thread pool: the same bits for any number of threads, concurrent calls, fork, exit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import kernel_cases
import numpy as np
import pytest
from arrays import operand as python_operand
from arrays import view
from operands import BufferMemory, Operand, operand

from tutor.backends import registry, simd_cpp
from tutor.backends.signatures import SIGNATURES
from tutor.backends.simd_cpp import _simd
from tutor.dtype import float32, float64
from tutor.testing.cases import recurrent

KERNELS = simd_cpp.table(simd_cpp.levels()[-1])
COUNTS = [1, 2, 3, 7]


@pytest.fixture(autouse=True)
def _restore_the_number_of_threads():
    before = simd_cpp.num_threads()
    yield
    simd_cpp.set_num_threads(before)


def random(*shape, dtype=float32):
    numbers = np.random.default_rng(1).normal(size=shape).astype(dtype.name)
    memory = _simd.Memory.borrow(numbers, numbers.size, dtype.itemsize, dtype.format)
    return Operand(
        BufferMemory(memory, dtype), shape, tuple(s // dtype.itemsize for s in numbers.strides)
    )


CONV = {"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1, "groups": 1}
CASES = {
    "add": ((1000, 1000), [(1000, 1000)] * 2, {}),
    "exp": ((999, 1001), [(999, 1001)], {}),
    "sum": ((), [(1001, 999)], {"axis": (0, 1)}),
    "sum, rows": ((1001,), [(1001, 999)], {"axis": (1,)}),
    "sum, columns": ((999,), [(1001, 999)], {"axis": (0,)}),
    "max": ((), [(1001, 999)], {"axis": (0, 1)}),
    "matmul": ((300, 301), [(300, 299), (299, 301)], {}),
    "matmul, batch": ((40, 33, 35), [(40, 33, 34), (40, 34, 35)], {}),
    "linear": ((300, 301), [(300, 299), (301, 299), (301,)], {"relu": True}),
    "linear, thin": ((70_000, 3), [(70_000, 29), (3, 29), (3,)], {"relu": False}),
    "conv2d": ((20, 9, 28, 28), [(20, 5, 30, 30), (9, 5, 3, 3)], CONV),
    "conv2d, by product": ((6, 260, 4, 4), [(6, 40, 6, 6), (260, 40, 3, 3)], CONV),
    "conv2d_weight, by product": (
        (33, 50, 3, 3),
        [(20, 50, 10, 10), (20, 33, 8, 8)],
        CONV,
    ),
    "conv2d_weight": ((9, 5, 3, 3), [(20, 5, 30, 30), (20, 9, 28, 28)], CONV),
    "softmax": ((500, 1000), [(500, 1000)], {"axis": 1}),
    "cat": ((1000, 1000), [(400, 1000), (600, 1000)], {"axis": 0}),
    "normal": ((1_000_001,), [], {"blocks": 500_001}),
}


@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
@pytest.mark.parametrize("case", CASES)
def test_the_number_of_threads_changes_no_bit(case, dtype):
    shape, inputs, params = CASES[case]
    ins = [random(*s, dtype=dtype) for s in inputs]
    results = []
    for count in COUNTS:
        simd_cpp.set_num_threads(count)
        out = operand(*shape, dtype=dtype)
        KERNELS[case.split(",")[0], dtype](out, *(ins if inputs else place(2)), **params)
        results.append(bytes(out.buf.raw))
    assert results[0] != bytes(len(results[0]))
    assert results == [results[0]] * len(COUNTS)
    found = np.frombuffer(results[0], dtype.name).reshape(shape)
    for part, wanted in right(case, dtype):  # alike, and right
        np.testing.assert_allclose(found[part], wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
def test_nor_does_it_along_rows_whose_factors_stand_still(dtype):
    x, y, w = random(3001, 50, dtype=dtype), random(3001, dtype=dtype), random(3001, dtype=dtype)
    still = [Operand(one.buf, x.shape, (1, 0)) for one in (y, w)]
    results = []
    for count in COUNTS:
        simd_cpp.set_num_threads(count)
        out = operand(*x.shape, dtype=dtype)
        KERNELS["mul_add", dtype](out, x, *still)
        results.append(bytes(out.buf.raw))
    assert results == [results[0]] * len(COUNTS)
    x, y, w = (np.frombuffer(one.buf.raw, dtype.name).reshape(one.shape) for one in (x, y, w))
    assert results[0] == (x * y[:, None] + w[:, None]).tobytes()


def place(counter):
    """Where a random stream stands: its seed and its counter."""
    return [python_operand(np.array(n, np.uint64)) for n in (1, counter)]


def right(case, dtype):
    """Parts of the result, and what they should be: by NumPy in float64, or by the reference."""
    shape, inputs, params = CASES[case]
    name = case.split(",")[0]
    arrays = [np.asarray(random(*s, dtype=dtype).buf).reshape(s).astype("f8") for s in inputs]
    if name == "normal":
        for start in (0, 500_000, 999_000):
            out = python_operand(np.zeros(1000, dtype.name))
            registry.table("python_ref")[name, dtype](out, *place(2 + start // 2), **params)
            yield slice(start, start + 1000), view(out)
    elif name == "cat":
        yield ..., np.concatenate(arrays, params["axis"])
    elif name == "conv2d_weight":
        yield ..., kernel_cases.convolve_weight(*arrays, shape, **params)
    else:
        yield ..., kernel_cases.CASES[name][0].oracle(*arrays, **params)


def test_calls_from_several_python_threads():
    x = random(500_000)
    expected = 2 * np.asarray(x.buf)
    wrong = []

    def work():
        out = operand(500_000)
        for _ in range(30):
            KERNELS["add", float32](out, x, x)
            if not np.array_equal(np.asarray(out.buf), expected):
                wrong.append(threading.get_ident())

    def change():
        for i in range(60):
            simd_cpp.set_num_threads(i % 4 + 1)

    threads = [threading.Thread(target=f) for f in (work, work, work, change)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("count", [0, -1, -(2**31)])
def test_fewer_than_one_thread_is_refused(count):
    with pytest.raises(ValueError, match="at least 1"):
        simd_cpp.set_num_threads(count)


@pytest.mark.parametrize("count", [1.5, "2", None, 2**40])
def test_what_is_no_count_is_refused(count):
    with pytest.raises(TypeError):
        simd_cpp.set_num_threads(count)


def test_the_count_that_was_set_is_the_count():
    for count in (3, 1, 1024):
        simd_cpp.set_num_threads(count)
        assert simd_cpp.num_threads() == count
    simd_cpp.set_num_threads(2**31 - 1)
    assert simd_cpp.num_threads() == 1024


# ---- Processes of their own ----------------------------------------------------------------------

START = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
from tutor.backends import registry, simd_cpp
from tutor.backends.simd_cpp import _simd
from tutor.dtype import float32

class BufferMemory(_simd.Holder):
    pass

class Operand:
    __slots__ = ("buf", "shape", "strides", "offset")

    def __init__(self, value):
        n = 500_000
        self.buf, self.shape, self.strides, self.offset = BufferMemory(), (n,), (1,), 0
        self.buf.memory = _simd.Memory(n, 4, "f")
        fill(self, value=value)

rows = registry.table("simd_cpp")
fill, add = rows["fill", float32], rows["add", float32]
"""

FORK = """
x = Operand(1.0)
add(x, x, x)                      # the workers exist now
for _ in range(20):
    child = os.fork()
    if child == 0:
        add(x, x, x)
        add(x, x, x)
        os._exit(0 if set(memoryview(x.buf)[::4999]) == {8.0} else 1)
    assert os.waitpid(child, 0)[1] == 0
add(x, x, x)
assert set(memoryview(x.buf)[::4999]) == {4.0}
"""

FORK_WHILE_BUSY = """
x, stop = Operand(0.0), threading.Event()

def busy():
    y = Operand(0.0)
    while not stop.is_set():
        add(y, y, y)

thread = threading.Thread(target=busy)
thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        add(x, x, x)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
"""

EXIT_WHILE_BUSY = """
x, y = Operand(0.0), Operand(0.0)

def busy():
    while True:
        add(y, y, y)

threading.Thread(target=busy, daemon=True).start()
add(x, x, x)
sys.exit(0)
"""


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START + code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


SMALL_STACK = """
import itertools, threading
from tutor.testing.cases import draw, large
from tutor.testing.cases.operands import execute, images
from tutor.backends.signatures import TABLE_OF_KERNELS
from tutor.dtype import float16, float32

table, calls = simd_cpp.table(LEVEL), []
for row in TABLE_OF_KERNELS:
    for dtype in {float16, float32, row.dtypes[-1]} & {*row.dtypes}:
        sample = itertools.islice(draw(row.name, dtype), 0, 120, 40)
        for case in (*sample, large(row.name, dtype, 4000)):
            calls.append((table[row.name, dtype], case, images(case)))
assert len({id(kernel) for kernel, *_ in calls}) > 200

def run_all(to):
    for kernel, case, before in calls:
        to.append(execute(kernel, case, before))

small, usual = [], []
threading.stack_size(32768)  # Python takes no less
thread = threading.Thread(target=run_all, args=(small,))
thread.start()
thread.join()
run_all(usual)
assert len(small) == len(calls) and small == usual
print(len(calls))
"""


@pytest.mark.parametrize("level", simd_cpp.levels())
def test_every_kernel_runs_on_the_smallest_stack(level):
    """Of a thread with 32 KiB, first of all: what is kept between calls is not there yet. That no
    function takes more than 8 KiB of it, CMakeLists.txt has the compiler check."""
    done = python(SMALL_STACK.replace("LEVEL", repr(level)))
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert int(done.stdout) > 1000


@pytest.mark.parametrize("count", ["1", "2", "5"])
@pytest.mark.parametrize(
    "code", [FORK, FORK_WHILE_BUSY, EXIT_WHILE_BUSY, "add(*[Operand(1.0)] * 3)"]
)
def test_fork_and_exit(code, count):
    done = python(code, TUTOR_NUM_THREADS=count)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_environment_sets_the_number_of_threads():
    code = "print(simd_cpp.num_threads())"
    assert python(code, TUTOR_NUM_THREADS="3", OMP_NUM_THREADS="2").stdout == "3\n"
    assert python(code, TUTOR_NUM_THREADS="", OMP_NUM_THREADS="2,1").stdout == "2\n"
    for wrong in ("0", "-1", "two"):
        assert "that is no number of threads" in python(code, TUTOR_NUM_THREADS=wrong).stderr


def test_the_environment_sets_the_level():
    code = "print(add.level, simd_cpp.level())"
    for level in simd_cpp.levels():
        assert python(code, TUTOR_SIMD=level).stdout == f"{level} {level}\n"
    assert python(code, TUTOR_SIMD="").stdout == "{0} {0}\n".format(simd_cpp.levels()[-1])
    wrong = python(code, TUTOR_SIMD="mmx").stderr
    assert "KernelNotFound" in wrong
    assert ", ".join(simd_cpp.levels()) in wrong


@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_its_gradient_have_the_same_bits(causal):
    q, k, v, g, z = (random(6, n, 40) for n in (530, 300, 300, 530, 530))
    mask, logs = random(6, 530, 300), random(6, 530)
    params = {"scale": 0.2, "causal": causal}
    results = []
    for count in COUNTS:
        simd_cpp.set_num_threads(count)
        out, norms = operand(6, 530, 40), operand(6, 530)
        KERNELS["attention", float32](out, q, k, v, mask, norms, **params)
        dq, dk, dv = operand(6, 530, 40), operand(6, 300, 40), operand(6, 300, 40)
        KERNELS["attention_grad", float32](dq, g, q, k, v, mask, z, logs, dk, dv, **params)
        results.append([bytes(x.buf.raw) for x in (out, norms, dq, dk, dv)])
    assert all(any(each) for each in results[0])
    assert results == [results[0]] * len(COUNTS)


ROWS, PLACE = (3000, 200), (200,)
IMAGES, CHANNEL = (12, 40, 900), (40,)
NORMS = {  # the shapes of out and the results that follow, those of the inputs, and `eps`
    "layer_norm": ([ROWS], [ROWS, PLACE, PLACE]),
    "layer_norm_grad": ([ROWS, PLACE, PLACE], [ROWS, ROWS, PLACE]),
    "rms_norm": ([ROWS], [ROWS, PLACE]),
    "rms_norm_grad": ([ROWS, PLACE], [ROWS, ROWS, PLACE]),
    "group_norm": ([IMAGES], [IMAGES, CHANNEL, CHANNEL]),
    "group_norm_grad": ([IMAGES, CHANNEL, CHANNEL], [IMAGES, IMAGES, CHANNEL]),
    "batch_norm": ([IMAGES, CHANNEL, CHANNEL], [IMAGES, CHANNEL, CHANNEL]),
    "batch_norm_grad": ([IMAGES, CHANNEL, CHANNEL], [IMAGES, IMAGES, *[CHANNEL] * 3]),
    "batch_norm, features": ([(3000, 200, 1), PLACE, PLACE], [(3000, 200, 1), PLACE, PLACE]),
    "batch_norm_grad, features": (
        [(3000, 200, 1), PLACE, PLACE], [*[(3000, 200, 1)] * 2, *[PLACE] * 3]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NORMS)
def test_norms_and_their_gradients_have_the_same_bits(case):
    shapes, inputs = NORMS[case]
    ins, results = [random(*shape) for shape in inputs], []
    if case.startswith("batch_norm_grad"):
        KERNELS["mul", float32](ins[4], ins[4], ins[4])  # a variance
    params = {"eps": 1e-5, **({"groups": 5} if case.startswith("group") else {})}
    for count in COUNTS:
        simd_cpp.set_num_threads(count)
        first, *rest = outs = [operand(*shape) for shape in shapes]
        KERNELS[case.split(",")[0], float32](first, *ins, *rest, **params)
        results.append([bytes(out.buf.raw) for out in outs])
    assert all(any(each) for each in results[0])
    assert results == [results[0]] * len(COUNTS)


@pytest.mark.parametrize("kernel", sorted(recurrent.KERNELS))
def test_recurrent_layers_and_their_gradients_have_the_same_bits(kernel):
    """Of so many sequences and units that each place is shared by the threads."""
    out, *given = recurrent.shapes(kernel, (3, 90, 200))
    written = SIGNATURES[kernel].results - 1
    ins = [random(*shape) for shape in given[: len(given) - written]]
    np.asarray(ins[1].buf)[:] /= 200  # U
    params, results = {"relu": False} if "rnn" in kernel else {}, []
    for count in COUNTS:
        simd_cpp.set_num_threads(count)
        outs = [operand(*shape) for shape in (out, *given[len(given) - written :])]
        KERNELS[kernel, float32](outs[0], *ins, *outs[1:], **params)
        results.append([bytes(x.buf.raw) for x in outs])
    assert all(any(each) for each in results[0])
    assert results == [results[0]] * len(COUNTS)


def test_dropout_has_the_same_bits():
    x, results = random(1_000_001), []
    for count in COUNTS:
        simd_cpp.set_num_threads(count)
        out = operand(1_000_001)
        options = {"blocks": 250_001, "scale": 2.0, "threshold": 2**31}
        KERNELS["dropout", float32](out, *place(2), x, **options)
        results.append(bytes(out.buf.raw))
    zeros = np.frombuffer(results[0], "f4") == 0
    assert abs(zeros.mean() - 0.5) < 0.01
    assert results == [results[0]] * len(COUNTS)


@pytest.mark.parametrize("width", [1, 64, 700])
def test_rows_that_are_added_to_a_table_have_the_same_bits(width):
    """The gradient of an embedding: many rows go to the same place, in their order."""
    g, table, results = random(20_000, width), random(300, width), []
    numbers = np.random.default_rng(2).integers(0, 300, 20_000)
    index = python_operand(np.repeat(numbers[:, None], width, 1))
    for count in COUNTS:
        simd_cpp.set_num_threads(count)
        out = operand(300, width)
        KERNELS["scatter_add", float32](out, table, index, g, axis=0)
        results.append(bytes(out.buf.raw))
    assert results == [results[0]] * len(COUNTS)
    right = np.asarray(table.buf).reshape(300, width).astype("f8")
    np.add.at(right, numbers, np.asarray(g.buf).reshape(20_000, width))
    found = np.frombuffer(results[0], "f4").reshape(300, width)
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)
