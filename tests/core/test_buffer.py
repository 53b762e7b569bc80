"""Buffer: construction, items, memory, arithmetic; every dtype."""

import copy
import pickle
import sys
import threading
from array import array
from inspect import isbuiltin
from types import SimpleNamespace

import numpy as np
import pytest

import tutor
from tutor import DTYPES, Buffer, Tensor, apply, bfloat16, float32
from tutor._storage.memory import Memory, PythonHolder, set_buffers
from tutor.errors import DTypeError, NumberRangeError, OutOfRangeError, ShapeError

PROTOCOL = not issubclass(Buffer, PythonHolder) or sys.version_info >= (3, 12)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_items_round_trip(dtype):
    values = [0, 1, 1, 0, 1]
    b = Buffer(values, dtype=dtype)
    assert b.dtype is dtype
    assert b.tolist() == values
    assert [b[i] for i in range(-5, 5)] == values * 2
    b[-1] = 0
    b.set_item(0, 1)
    assert b.get_item(0) == 1
    assert b[4] == 0
    assert type(b[0]) is {"float": float, "bool": bool}.get(dtype.kind, int)
    assert b.nbytes == 5 * dtype.itemsize == len(b.raw)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_memory_is_aligned_and_numpy_reads_it(dtype):
    for count in (1, 3, 1000):
        b = Buffer([1] * count, dtype=dtype)
        assert b.address % 64 == 0
        if dtype is not bfloat16:  # which NumPy does not know
            assert np.frombuffer(b.raw, dtype.name).tolist() == [1] * count


def test_memoryview_of_a_buffer_shares_its_memory():
    b = Buffer([1.0, 2.0])
    if not PROTOCOL:
        pytest.skip("Python classes export the buffer protocol from 3.12 on; .raw serves here")
    view = memoryview(b)
    assert (view.format, view.shape) == ("f", (2,))
    view[1] = 5.0
    assert b.tolist() == [1.0, 5.0]


def test_nested_lists_are_flattened():
    assert Buffer([[1, 2], [3, 4]]).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ([1, 2], "int64"),
        ([1, 2.0], "float32"),
        ([True, False], "bool"),
        ([True, 2], "int64"),
        ([], "float32"),
        (array("h", [1, 2]), "int16"),
        (np.arange(6, dtype=np.uint16).reshape(2, 3).T, "uint16"),
        (np.array([1.5], dtype=np.float16), "float16"),
        (b"\x01\x02", "uint8"),
        (np.float64(2.5), "float32"),  # a Python float, as NumPy says itself
    ],
)
def test_dtype_follows_the_data(data, name):
    b = Buffer(data)
    assert b.dtype.name == name
    assert b.tolist() == np.asarray(data if len(np.shape(data)) else [data]).ravel().tolist() or (
        isinstance(data, bytes) and b.tolist() == list(data)
    )


def test_the_caller_s_array_is_copied():
    source = np.ones(4, dtype=np.float32)
    b = Buffer(source)
    source[:] = 7
    assert b.tolist() == [1, 1, 1, 1]


def test_from_memory_shares_only_when_asked():
    source = array("f", [1, 2, 3])
    shared, copied = Buffer.from_memory(source, copy=False), Buffer.from_memory(source)
    source[0] = 9
    assert shared.tolist() == [9, 2, 3]
    assert copied.tolist() == [1, 2, 3]
    shared[1] = 8
    assert source[1] == 8
    assert Buffer.from_memory(b"\x01\x00\x02\x00", dtype="int16").tolist() == [1, 2]
    with pytest.raises(ShapeError):
        Buffer.from_memory(b"123", dtype="float32")


def test_float16_and_float32_round_once_and_overflow_to_infinity():
    assert Buffer([65520.0, -1e9], dtype="float16").tolist() == [float("inf"), float("-inf")]
    assert Buffer([1e300, 2.0], dtype="float32").tolist() == [float("inf"), 2.0]
    assert Buffer([10**400, -(10**400)], dtype="float32").tolist() == [float("inf"), -float("inf")]
    assert Buffer([0.1], dtype="float32")[0] == float(np.float32(0.1))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Buffer([300], dtype="uint8"), NumberRangeError),
        (lambda: Buffer([-1], dtype="uint64"), NumberRangeError),
        (lambda: Buffer([2**63]), NumberRangeError),
        (lambda: Buffer([1.5], dtype="int64"), NumberRangeError),
        (lambda: Buffer([float("nan")], dtype="int8"), NumberRangeError),
        (lambda: Buffer("12"), DTypeError),
        (lambda: Buffer(["1"]), DTypeError),
        (lambda: Buffer(None), DTypeError),
        (lambda: Buffer([1j]), DTypeError),
        (lambda: Buffer(object()), DTypeError),
        (lambda: Buffer(np.array([1 + 2j])), DTypeError),
        (lambda: Buffer(np.zeros(2, dtype=">f4")), DTypeError),
        (lambda: Buffer([1], dtype="float8"), DTypeError),
        (lambda: Buffer([[1, 2], [3]]), ShapeError),
        (lambda: Buffer([[1, 2], 3]), ShapeError),
        (lambda: Buffer([1, 2])[2], OutOfRangeError),
        (lambda: Buffer([1, 2])[-3], OutOfRangeError),
        (lambda: Buffer([])[0], OutOfRangeError),
        (lambda: Buffer([1])["a"], OutOfRangeError),
        (lambda: Buffer([1, 2]).__setitem__(0, [1, 2]), ShapeError),
        (lambda: Buffer([1, 2]).__setitem__(5, 1), OutOfRangeError),
        (lambda: Buffer([1, 2], dtype="int8").__setitem__(0, 200), NumberRangeError),
        (lambda: Buffer([1, 2]) + Buffer([1, 2, 3]), ShapeError),
        (lambda: Buffer([1, 2]) + 0.5, NumberRangeError),
        (lambda: Buffer([1, 2]) + "x", DTypeError),
        (lambda: Buffer.empty(-1, float32), DTypeError),
        (lambda: Buffer.empty(2.5, float32), DTypeError),
        (lambda: Buffer.empty(3, "float32"), DTypeError),
        (lambda: Buffer.from_memory(3), DTypeError),
    ],
)
def test_mistakes_are_explained(make, error):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value).count("\n") >= 2  # asked, found, to do


def test_arithmetic_by_hand(backend):
    p, g = Buffer([1.0, 2.0, 3.0]), Buffer([10.0, 20.0, 30.0])
    p.data -= 0.01 * g.data
    assert p.tolist() == pytest.approx([0.9, 1.8, 2.7])
    p.data = g.data / 10 + 1 - 2 * g.data
    assert p.tolist() == pytest.approx([-18, -37, -56])
    assert (1 / Buffer([2.0]))[0] == 0.5
    assert (1 - Buffer([2.0]))[0] == -1.0
    p *= 2
    p /= 4
    p += p
    assert p.tolist() == pytest.approx([-18, -37, -56])


def test_every_change_raises_the_version_and_remembers_the_line():
    b = Buffer([1.0, 2.0])
    assert b.version == 0
    b[0] = 3
    b.data -= 1.0
    assert b.version == 2
    assert b.changed_at is not None
    assert b.changed_at[0] == __file__


def test_copies_and_pickles():
    b = Buffer([1, 2, 3], dtype="int16")
    for other in (copy.deepcopy(b), pickle.loads(pickle.dumps(b))):
        assert other.tolist() == b.tolist()
        assert other.dtype is b.dtype
        other[0] = 9
        assert b[0] == 1


def test_text():
    assert repr(Buffer([1.0, 2.0])) == "Buffer([1.0, 2.0], 2 x float32)"
    assert repr(Buffer(range(100))) == "Buffer([0, 1, 2, 3, 4, 5, ...], 100 x int64)"


# ---- memory, and promises of it ------------------------------------------------------------------


class Promise:
    """A promise of float32, as a mode of the Engine may put it into a Buffer."""

    format, device = "f", "cpu"

    def __init__(self, numbers):
        self.count, self.kept, self.numbers = len(numbers), 0, numbers

    def keep(self):
        self.kept += 1
        return Buffer(self.numbers, dtype=float32).memory


def promised(*numbers):
    promise = Promise([float(n) for n in numbers])
    return promise, Buffer.over(promise, float32)


def test_a_buffer_has_memory():
    b = Buffer([1.0, 2.0])
    assert not isinstance(b, Memory)
    assert isinstance(b.memory, Memory)
    assert b.memory.keep() is b.memory
    found = b.memory.count, b.memory.format, b.memory.device, b.memory.readonly, b.memory.address
    assert found == (len(b), "f", b.device, False, b.address)
    assert b.memory.raw == b.raw
    assert Buffer.over(b.memory, float32).overlaps(b)
    assert Buffer.from_memory(b"1234", dtype="int8", copy=False).memory.readonly


def test_device_is_what_the_memory_says():
    b = Buffer([1.0])
    assert b.device == Tensor(b).device == "cpu"
    b.memory = SimpleNamespace(count=1, format="f", device="tpu", keep=lambda: None)
    assert b.device == Tensor(b).device == "tpu"


def test_what_is_known_of_a_promise_does_not_keep_it():
    promise, b = promised(1, 2, 3)
    assert (len(b), b.nbytes, b.dtype, b.device, b.version) == (3, 12, float32, "cpu", 0)
    t = Tensor(b, (3, 1))
    assert (t.shape, t.T.strides, t[1:].offset, t.device, t.dtype) == (
        (3, 1), (1, 1), 1, "cpu", float32,
    )  # fmt: skip
    assert promise.kept == 0
    assert b.memory is promise


READERS = {
    "tolist": lambda b: b.tolist(),
    "item": lambda b: [b[0], 2.0, 3.0],
    "repr": lambda b: repr(b) == "Buffer([1.0, 2.0, 3.0], 3 x float32)" and [1, 2, 3],
    "raw": lambda b: b.raw.cast("f").tolist(),
    "address": lambda b: b.address % 64 == 0 and [1, 2, 3],
    "memoryview": lambda b: memoryview(b).tolist(),
    "pickle": lambda b: pickle.loads(pickle.dumps(b)).tolist(),
    "arithmetic": lambda b: (b * 1).tolist(),
    "overlaps": lambda b: b.overlaps(Buffer([1.0])) or [1, 2, 3],
    "from_memory": lambda b: Buffer.from_memory(b, copy=False).tolist(),
    "written to": lambda b: b.__setitem__(0, 1) or b.tolist(),
    "numpy": lambda b: Tensor(b).numpy().tolist(),
    "dlpack": lambda b: np.from_dlpack(Tensor(b)).tolist(),
    "x + x": lambda b: ((Tensor(b) + Tensor(b)) / 2).tolist(),
    "a reduction": lambda b: [Tensor(b).sum().item() / 6, 2, 3],
    "out": lambda b: Tensor(b).assign([1.0, 2.0, 3.0]).tolist(),
    "Tensor.item": lambda b: [Tensor(b)[0].item(), 2, 3],
}


@pytest.mark.parametrize("reader", READERS)
def test_asking_for_bytes_keeps_a_promise_once(reader, backend):
    if reader in ("memoryview", "from_memory") and not PROTOCOL:
        return
    promise, b = promised(1, 2, 3)
    for _ in range(3):
        assert READERS[reader](b) == [1, 2, 3]
        assert promise.kept == 1
        assert isinstance(b.memory, Memory)


def test_a_promise_that_fails_says_why_and_can_be_kept_later(backend):
    promise, b = promised(1, 2, 3)
    promise.numbers = ["no number"]
    for reader in (lambda: b.tolist(), lambda: Tensor(b) + 1, lambda: b.raw, lambda: b.address):
        with pytest.raises(DTypeError, match="no number"):
            reader()
        assert b.memory is promise
    promise.numbers = [4.0, 5.0, 6.0]
    assert b.tolist() == [4, 5, 6]


def test_memory_may_be_swapped_while_kernels_run(backend):
    """Each result is of the one memory or of the other, and nothing is read that is gone."""
    n = 20_000 if backend.startswith("simd") else 200
    t, stop = Tensor.zeros(n), threading.Event()

    def swap():
        while not stop.is_set():
            for number in (1.0, 2.0):
                t.buf.memory = Buffer([number] * n).memory

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(100):
            assert set((t * 3).tolist()) < {0, 3, 6}
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(not isbuiltin(apply), reason="the Engine has no twin here")
def test_buffers_made_natively_have_all_that_python_gave_them():
    """A slot that somebody adds is there in every result."""

    class Own(Buffer):
        __slots__ = ("extra",)

        @classmethod
        def over(cls, memory, dtype):
            self = super().over(memory, dtype)
            self.extra = [dtype.name]
            return self

    def natively(kernel, *ins, **params):
        """A result that the extension makes a Tensor of: the Engine's twin."""
        return apply(kernel, *ins, **params)

    with tutor.use_backend("simd"):
        try:
            set_buffers([Own.empty(0, d) for d in DTYPES])
            x = Tensor(Own([1.0, 2.0]))
            calls = [("add", x, {}), ("mul", 2, {}), ("gt", 1, {}), ("sum", None, {"axis": (0,)})]
            for kernel, other, params in calls:
                y = natively(kernel, *([x] if other is None else [x, other]), **params)
                assert type(y.buf) is Own
                assert (y.buf.extra, y.buf.version, y.buf.changed_at) == ([y.dtype.name], 0, None)
            for wrong in ([], [1], [Own.empty(0, float32)], [Buffer([], dtype="int8")] * 13):
                with pytest.raises(TypeError):
                    set_buffers(wrong)
            assert type(natively("add", x, x).buf) is Own  # as before
        finally:
            set_buffers([Buffer.empty(0, d) for d in DTYPES])
        assert type(natively("add", Tensor([1.0]), 1).buf) is Buffer
