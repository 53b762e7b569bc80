"""The C++ types `Memory`, construction, alignment, the buffer protocol, borrowing; and `Holder`."""

from __future__ import annotations

import array
import gc
import io
import mmap
import struct
import subprocess
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from tutor._storage.bits import pack
from tutor._storage.memory import PythonMemory
from tutor.backends.simd_cpp import _simd
from tutor.dtype import TABLE, bfloat16, float16, float32
from tutor.errors import DTypeError

Memory = _simd.Memory
HUGE = 2**62

every_dtype = pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)


class Buffer(_simd.Holder):
    """As the Buffer of the core: a subclass with slots."""

    __slots__ = ("__weakref__", "dtype", "version")

    def __init__(self, count: int, itemsize: int, format: str) -> None:
        self.memory = Memory(count, itemsize, format)


@every_dtype
@pytest.mark.parametrize("count", [0, 1, 3, 63, 64, 65, 100_000])
def test_memory_is_aligned_and_exports_its_dtype(dtype, count):
    memory = Memory(count, dtype.itemsize, dtype.format)
    assert memory.address % 64 == 0
    assert (memory.count, memory.format, memory.readonly) == (count, dtype.format, False)
    view = memoryview(memory)
    assert (view.format, view.itemsize, view.shape) == (dtype.format, dtype.itemsize, (count,))
    assert (view.strides, view.nbytes, view.readonly) == (
        (dtype.itemsize,),
        count * dtype.itemsize,
        False,
    )
    assert view.obj is memory


@every_dtype
def test_raw_and_typed_views_see_the_same_bytes(dtype):
    memory = Memory(4, dtype.itemsize, dtype.format)
    memory.raw[:] = pack([1, 0, 1, 1], dtype)
    assert np.frombuffer(memory.raw, "B").ctypes.data == memory.address
    if dtype is bfloat16:  # which NumPy does not know
        with pytest.raises(ValueError, match="not a valid"):
            np.asarray(memory)
        return
    assert np.asarray(memory).dtype == np.dtype(dtype.name)
    assert np.asarray(memory).tolist() == [1, 0, 1, 1]
    np.asarray(memory)[1] = 1
    assert bytes(memory.raw) == pack([1, 1, 1, 1], dtype)


@every_dtype
def test_the_python_memory_does_the_same(dtype):
    for cls in (Memory, PythonMemory):
        memory = cls(3, dtype.itemsize, dtype.format)
        assert (memory.count, memory.format) == (3, dtype.format)
        assert (memory.raw.format, memory.raw.nbytes) == ("B", 3 * dtype.itemsize)
        assert memory.address % 64 == 0
        borrowed = cls.borrow(memory.raw, 2, dtype.itemsize, dtype.format)
        assert (borrowed.address, borrowed.count) == (memory.address, 2)
        borrowed.raw[0] = 1
        assert memory.raw[0] == 1


def test_views_keep_the_memory_alive():
    before = Memory.counts()[2]
    buffer = Buffer(4, 4, "f")
    memory = buffer.memory
    memory.raw[:] = struct.pack("4f", 1, 2, 3, 4)
    raw, typed, through = memory.raw, memoryview(memory), memoryview(buffer)
    del memory, buffer
    assert Memory.counts()[2] == before + 16
    assert typed.tolist() == through.tolist() == [1, 2, 3, 4]
    del typed, through
    assert bytes(raw) == struct.pack("4f", 1, 2, 3, 4)
    del raw
    assert Memory.counts()[2] == before


@pytest.mark.parametrize("policy", ["plain", "pool", "arena"])
@pytest.mark.usefixtures("_settings_as_before")
def test_getsizeof_counts_what_is_its_own(policy):
    Memory.configure(policy, 2**20)
    bare = sys.getsizeof(Memory.borrow(bytearray(4000), 1000, 4, "f"))
    for count in (0, 1, 4, 5, 64, 65, 1000):
        found = sys.getsizeof(Memory(count, 4, "f"))
        least = bare + 4 * count if count > 4 or policy != "pool" else bare
        assert least <= found <= bare + 4 * count + 48


def test_no_class_can_be_built_on_memory():
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Own", (Memory,), {})


def test_memory_that_is_swapped_lives_on_while_it_is_seen():
    buffer = Buffer(4, 4, "f")
    buffer.raw[:] = struct.pack("4f", 1, 2, 3, 4)
    seen, address = memoryview(buffer), buffer.address
    buffer.memory = Memory(2, 4, "f")
    assert (len(buffer), seen.tolist()) == (2, [1, 2, 3, 4])
    assert buffer.address != address


def test_a_subclass_with_slots():
    buffer = Buffer(4, 4, "f")
    buffer.dtype, buffer.version = float32, 0
    assert memoryview(buffer).nbytes == len(buffer.raw) == 16
    assert (len(buffer), buffer.device, buffer.address) == (4, "cpu", buffer.memory.address)
    empty = Buffer.__new__(Buffer)
    for read in (len, memoryview, lambda b: b.raw, lambda b: b.address, lambda b: b.device):
        with pytest.raises(DTypeError, match="without memory"):
            read(empty)
    with pytest.raises(AttributeError):
        buffer.other = 1


def test_a_subclass_in_a_cycle_is_collected():
    buffer = Buffer(4, 4, "f")
    dead = weakref.ref(buffer)
    buffer.dtype = [buffer]
    del buffer
    gc.collect()
    assert dead() is None

    buffer = Buffer(4, 4, "f")
    dead = weakref.ref(buffer)
    buffer.memory = SimpleNamespace(keep=None, of=buffer)  # a promise that leads back to it
    del buffer
    gc.collect()
    assert dead() is None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((-1, 4, "f"), ValueError),
        ((-HUGE, 4, "f"), ValueError),
        ((-(2**70), 4, "f"), ValueError),
        ((HUGE, 4, "f"), MemoryError),
        ((2**61, 8, "d"), MemoryError),
        ((2**63 - 1, 1, "B"), MemoryError),
        ((2**70, 1, "B"), MemoryError),
        ((1.0, 4, "f"), TypeError),
        (("1", 4, "f"), TypeError),
        ((None, 4, "f"), TypeError),
        ((1, 8, "f"), ValueError),
        ((1, 0, "f"), ValueError),
        ((1, 2**70, "f"), ValueError),
        ((1, "4", "f"), ValueError),
        ((1, 4, "x"), ValueError),
        ((1, 4, "ff"), ValueError),
        ((1, 4, ""), ValueError),
        ((1, 4, "\0"), ValueError),
        ((1, 4, "\U0001f600"), ValueError),
        ((1, 4, 102), ValueError),
        ((1, 4), TypeError),
        ((1, 4, "f", 0), TypeError),
    ],
)
def test_bad_arguments_are_refused(arguments, error):
    with pytest.raises(error):
        Memory(*arguments)
    with pytest.raises((error, TypeError)):
        Memory.borrow(bytearray(64), *arguments)


# ---- Borrowing -----------------------------------------------------------------------------------

OWNERS = {
    "bytearray": lambda: bytearray(16),
    "array": lambda: array.array("f", [0] * 4),
    "numpy": lambda: np.zeros((2, 2), "f"),
    "memoryview": lambda: memoryview(bytearray(16)),
    "Memory": lambda: Memory(4, 4, "f"),
    "float16 Memory": lambda: Memory(8, 2, "e"),
    "mmap": lambda: mmap.mmap(-1, 16),
}


@pytest.mark.parametrize("owner", OWNERS.values(), ids=OWNERS)
def test_borrowed_bytes_are_the_owners(owner):
    owner = owner()
    memory = Memory.borrow(owner, 4, 4, "f")
    memory.raw[:] = struct.pack("4f", 1, 2, 3, 4)
    assert bytes(memoryview(owner)) == struct.pack("4f", 1, 2, 3, 4)
    assert not memory.readonly


def test_the_owner_lives_on_and_cannot_move():
    owner = np.ones(4, "f")
    dead = weakref.ref(owner)
    memory = Memory.borrow(owner, 4, 4, "f")
    del owner
    assert dead() is not None
    assert memoryview(memory).tolist() == [1.0] * 4
    del memory
    assert dead() is None

    growing = bytearray(16)
    memory = Memory.borrow(growing, 4, 4, "f")
    with pytest.raises(BufferError):
        growing.append(0)
    del memory
    growing.append(0)


def frozen() -> np.ndarray:
    x = np.arange(4, dtype="f")
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("owner", [struct.pack("4f", 0, 1, 2, 3), frozen()], ids=["bytes", "numpy"])
def test_read_only_owners_stay_read_only(owner):
    memory = Memory.borrow(owner, 4, 4, "f")
    assert memory.readonly
    assert memory.raw.readonly
    assert memoryview(memory).readonly
    assert memoryview(memory).tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(bytes(16)).readinto(memory)


def released() -> memoryview:
    view = memoryview(bytearray(16))
    view.release()
    return view


@pytest.mark.parametrize(
    ("owner", "error"),
    [
        (None, TypeError),
        ("sixteen characters", TypeError),
        (16, TypeError),
        (bytearray(15), ValueError),
        (b"", ValueError),
        (released(), ValueError),
        (memoryview(bytearray(64))[::2], BufferError),
        (memoryview(bytearray(64))[1:17], ValueError),  # not at a multiple of 4
        (np.zeros((4, 8), "f")[:, ::2], (BufferError, ValueError)),
    ],
)
def test_owners_that_cannot_be_borrowed_from(owner, error):
    with pytest.raises(error):
        Memory.borrow(owner, 4, 4, "f")


def test_an_exhausted_system_raises_memory_error():
    with pytest.raises(MemoryError, match="no room"):
        Memory(2**46, 2, float16.format)


# ---- Where the bytes come from (tests/test_memory.py has more) -----------------------------------


@pytest.fixture
def _settings_as_before():
    before = Memory.config()
    yield
    Memory.configure(*before)


@pytest.mark.usefixtures("_settings_as_before")
@pytest.mark.parametrize("policy", ["plain", "pool", "arena"])
def test_counts_belong_to_all_memory(policy):
    Memory.configure(policy, 2**20)
    assert Memory.config() == (policy, 2**20)
    before = Memory.counts()
    blocks = [Memory(10, 4, "f"), Buffer(3, 8, "d"), Memory(0, 1, "B")]
    borrowed = Memory.borrow(blocks[0], 5, 4, "f")
    allocations, _, in_use, _, peak = Memory.counts()
    assert (allocations - before[0], in_use - before[2]) == (3, 64)
    assert peak >= in_use
    del blocks
    assert Memory.counts()[2] == before[2] + 40  # what is lent cannot go
    del borrowed
    assert Memory.counts()[2] == before[2]


@pytest.mark.usefixtures("_settings_as_before")
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("buddy", 0), ValueError),
        (("", 0), ValueError),
        (("Pool", 0), ValueError),
        (("pool\0", 0), ValueError),
        (("pool", -1), ValueError),
        (("pool", 2**63), OverflowError),
        (("pool", "1"), TypeError),
        ((1, 0), TypeError),
        (("pool",), TypeError),
    ],
)
def test_settings_that_there_are_not(arguments, error):
    before = Memory.config()
    with pytest.raises(error):
        Memory.configure(*arguments)
    assert Memory.config() == before


@pytest.mark.usefixtures("_settings_as_before")
def test_memory_of_one_policy_may_go_under_another():
    for first, then in [("plain", "arena"), ("arena", "pool"), ("pool", "plain")]:
        Memory.configure(first, 2**20)
        blocks = [Memory(n, 1, "B") for n in (10, 1000, 2**25)]
        for block in blocks:
            block.raw[:] = b"x" * block.count
        Memory.configure(then, 2**20)
        assert all(set(block.raw) == {ord("x")} for block in blocks)
        del block
        blocks.clear()
        assert Memory.counts()[3] == 0


@pytest.mark.parametrize(
    "change",
    ["del module.stub", "module.stub += 1", "module.signatures += 1"],
    ids=["from before there were numbers", "for another stub", "for other signatures"],
)
def test_an_extension_of_older_sources_says_so(change: str) -> None:
    old = (
        "import sys\n"
        "from importlib import util\n"
        f"spec = util.spec_from_file_location({_simd.__name__!r}, {_simd.__file__!r})\n"
        "module = util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        f"{change}\n"
        "sys.modules[spec.name] = module\n"
        "import tutor"
    )
    run = subprocess.run([sys.executable, "-c", old], capture_output=True, text=True, check=False)
    assert "older sources" in run.stderr and "pip install -e ." in run.stderr
