"""Every way out of the library, for Tensors whose walking instructions were tampered with.

`t.shape = (4096,)` is a line of Python that nothing forbids. Whatever is assigned, no way out reads
beyond the memory there is, on any backend: it ends in an error of three parts.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Buffer, Tensor
from tutor._storage.bounds_checks import check
from tutor._storage.memory import Memory, PythonMemory
from tutor.errors import ShapeError, TutorError
from tutor.nn import checkpoint

pytestmark = pytest.mark.usefixtures("backend")

# ---- what is forged ------------------------------------------------------------------------------


def assigned(**values: Any) -> Callable[[Tensor], None]:
    """Attributes of the Tensor, or with `buf_` or `memory_` before their names of its Buffer or of
    that one's memory."""

    def forge(t: Tensor) -> None:
        for name, value in values.items():
            if name.startswith("buf_"):
                setattr(t.buf, name.removeprefix("buf_"), value)
            elif name.startswith("memory_"):
                setattr(t.buf.memory, name.removeprefix("memory_"), value)
            else:
                setattr(t, name, value)

    return forge


class Promise:
    """A promise of six float32, which comes to something else."""

    count, format, device = 6, "f", "cpu"

    def __init__(self, comes_to: Any) -> None:
        self.comes_to = comes_to

    def keep(self) -> Any:
        return self.comes_to


FORGERIES: dict[str, Callable[[Tensor], None]] = {
    "a longer shape": assigned(shape=(4096,), strides=(1,)),
    "a larger shape": assigned(shape=(2, 4096)),
    "a shape that overflows": assigned(shape=(2**50, 2**50)),
    "an empty shape that overflows": assigned(shape=(0, 2**62)),
    "a size beyond 64 bits": assigned(shape=(2**64, 3)),
    "a negative size": assigned(shape=(-2, 3)),
    "a float among the sizes": assigned(shape=(2.0, 3)),
    "a list for a shape": assigned(shape=[2, 3]),
    "text for a shape": assigned(shape="23"),
    "no shape": assigned(shape=None),
    "17 axes": assigned(shape=(1,) * 17, strides=(0,) * 17),
    "fewer sizes than strides": assigned(shape=(6,)),
    "fewer strides than sizes": assigned(strides=(1,)),
    "strides that reach too far": assigned(strides=(2**62, 1)),
    "strides that reach too low": assigned(strides=(-3, 1)),
    "strides that come round to 64 bits": assigned(strides=(3, 2**63 - 1), offset=2),
    "strides that come round from below": assigned(strides=(3, -(2**63))),
    "a float among the strides": assigned(strides=(1.5, 1)),
    "a list for strides": assigned(strides=[3, 1]),
    "no strides": assigned(strides=None),
    "a large offset": assigned(offset=10**9),
    "an offset beyond 64 bits": assigned(offset=2**64),
    "a negative offset": assigned(offset=-1),
    "a float for an offset": assigned(offset=0.0),
    "no offset": assigned(offset=None),
    "a number for a Buffer": assigned(buf=3),
    "bytes for a Buffer": assigned(buf=b"0123456789abcdef01234567"),
    "no Buffer": assigned(buf=None),
    "a shorter Buffer": lambda t: setattr(t, "buf", Buffer([1.0])),
    "a wider dtype": assigned(buf_dtype=tutor.float64),
    "another dtype of that width": assigned(buf_dtype=tutor.int32),
    "a narrower dtype": assigned(buf_dtype=tutor.int8),
    "a name for a dtype": assigned(buf_dtype="float32"),
    "no dtype": assigned(buf_dtype=None),
    "no memory": lambda t: delattr(t.buf, "memory"),
    "None for memory": assigned(buf_memory=None),
    "a number for memory": assigned(buf_memory=2**70),
    "bytes for memory": assigned(buf_memory=b"0123456789abcdef01234567"),
    "a memoryview for memory": assigned(buf_memory=memoryview(bytearray(24))),
    "a Buffer for memory": lambda t: setattr(t.buf, "memory", Buffer([1.0] * 6)),
    "itself for memory": lambda t: setattr(t.buf, "memory", t.buf),
    "shorter memory": assigned(buf_memory=Memory(5, 4, "f")),
    "memory of nothing": assigned(buf_memory=Memory(0, 4, "f")),
    "memory of wider numbers": assigned(buf_memory=Memory(6, 8, "d")),
    "memory of integers of that width": assigned(buf_memory=Memory(6, 4, "i")),
    "memory of bytes": assigned(buf_memory=Memory(24, 1, "B")),
    "what only looks like memory": assigned(
        buf_memory=SimpleNamespace(count=6, format="f", device="cpu", raw=memoryview(bytearray(24)))
    ),
    "a promise that comes to nothing": assigned(buf_memory=Promise(None)),
    "a promise that comes to bytes": assigned(buf_memory=Promise(bytes(24))),
    "a promise that comes to a promise": assigned(buf_memory=Promise(Promise(Memory(6, 4, "f")))),
    "a promise that comes to less": assigned(buf_memory=Promise(Memory(5, 4, "f"))),
    "a promise that comes to integers": assigned(buf_memory=Promise(Memory(6, 4, "i"))),
}
if Memory is PythonMemory:  # its attributes can be assigned to; those of the extension's cannot
    FORGERIES |= {
        "other bytes": assigned(memory_raw=memoryview(bytearray(4))),
        "bytes that are no view": assigned(memory_raw=b"0123456789abcdef01234567"),
        "a view of floats": assigned(memory_raw=memoryview(bytearray(24)).cast("f")),
        "a larger count": assigned(memory_count=4096, shape=(4096,), strides=(1,)),
        "another format": assigned(memory_format="d"),
    }
else:
    FORGERIES["memory in plain Python"] = assigned(buf_memory=PythonMemory(6, 4, "f"))

# ---- the ways out --------------------------------------------------------------------------------


def saved(t: Tensor) -> None:
    checkpoint.save(Path("nowhere") / "at all", {"t": t}, {})


WAYS_OUT: dict[str, Callable[[Tensor], Any]] = {
    "numpy": lambda t: t.numpy(),
    "asarray": np.asarray,
    "dlpack": lambda t: t.__dlpack__(),
    "dlpack, versioned": lambda t: t.__dlpack__(max_version=(1, 0)),
    "dlpack, a copy": lambda t: t.__dlpack__(copy=True),
    "from_dlpack": Tensor.from_dlpack,
    "item": lambda t: t.item(),
    "tolist": lambda t: t.tolist(),
    "repr": repr,
    "str": str,
    "float": float,
    "bool": bool,
    "len": lambda t: [len(t), check(t, "len")],
    "rows": lambda t: [row.tolist() for row in t],
    "Tensor": Tensor,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "checkpoint": saved,
    "picture": lambda t: t.explain(),
    "x + x": lambda t: t + t,
    "x + 1": lambda t: t + 1,
    "1 - x": lambda t: 1 - t,
    "x == x": lambda t: t == t,
    "relu": lambda t: t.relu(),
    "sum": lambda t: t.sum(),
    "sum of an axis": lambda t: t.sum(axis=0),
    "softmax": lambda t: t.softmax(),
    "sort": lambda t: t.sort(),
    "matmul": lambda t: t @ t.T,
    "cat": lambda t: tutor.cat([t, t]),
    "where": lambda t: tutor.where(t > 0, t, 0.0),
    "einsum": lambda t: tutor.einsum("ij->j", t),
    "cast": lambda t: t.cast("int16"),
    "copy()": lambda t: t.copy(),
    "rows by position": lambda t: t[[0]],
    "written to": lambda t: t.__setitem__(0, 1.0),
    "written to by position": lambda t: t.__setitem__([0], 1.0),
    "assigned to": lambda t: t.assign(1.0),
    "assigned": lambda t: Tensor.zeros(2, 3).assign(t),
    "walked back from": lambda t: (t * t).sum().backward(),
}
NUMBERS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def refusal(name: str, way_out: Callable[[Tensor], Any], t: Tensor) -> str:
    try:
        found = way_out(t)
    except TutorError as error:
        return str(error)
    pytest.fail(f"{name} gave {found!r:.80}")


@pytest.mark.parametrize("forgery", FORGERIES)
def test_no_way_out_believes_what_was_assigned(forgery: str) -> None:
    for name, way_out in WAYS_OUT.items():
        t = Tensor(NUMBERS)
        FORGERIES[forgery](t)
        text = refusal(name, way_out, t)
        assert [line.partition(":")[0] for line in text.splitlines()] == ["asked", "found", "to do"]
    assert (Tensor(NUMBERS) + 1).tolist() == [[2, 3, 4], [5, 6, 7]]  # nothing of it is remembered


DTYPES = [f for f in FORGERIES if "dtype" in f]


@pytest.mark.parametrize("forgery", DTYPES)
def test_no_way_out_of_a_buffer_believes_its_dtype(forgery: str) -> None:
    for way_out in (list, repr, pickle.dumps, copy.deepcopy, lambda b: b[0], lambda b: b.tolist(),
                    lambda b: b.__setitem__(0, 1.0)):  # fmt: skip
        t = Tensor(NUMBERS)
        FORGERIES[forgery](t)
        with pytest.raises(TutorError):
            way_out(t.buf)
    if Memory is not PythonMemory or sys.version_info >= (3, 12):
        assert memoryview(t.buf).nbytes == 24  # its own, whatever it is said to be


NO_MEMORY = [f for f in FORGERIES if "memory" in f and "memory of" not in f and "shorter" not in f]


@pytest.mark.parametrize("forgery", NO_MEMORY)
def test_no_way_out_of_a_buffer_believes_its_memory(forgery: str) -> None:
    ways_out: tuple[Callable[[Buffer], Any], ...] = (
        list, repr, pickle.dumps, copy.deepcopy, lambda b: b[0], lambda b: b.tolist(),
        lambda b: b.__setitem__(0, 1.0), lambda b: b.raw, lambda b: b.address,
        lambda b: b + 1, lambda b: b + b, lambda b: b.device + str(len(b.raw)),
        lambda b: Buffer.from_memory(b, copy=False),
    )  # fmt: skip
    for number, way_out in enumerate(ways_out):
        t = Tensor(NUMBERS)
        FORGERIES[forgery](t)
        if sys.version_info < (3, 12) and Memory is PythonMemory and number == len(ways_out) - 1:
            continue
        text = refusal(str(number), way_out, t.buf)
        assert [line.partition(":")[0] for line in text.splitlines()] == ["asked", "found", "to do"]


def test_other_memory_of_the_same_kind_takes_its_place() -> None:
    t = Tensor(NUMBERS)
    before, other = t.buf.memory, Buffer([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).memory
    t.buf.memory = other
    assert t.tolist() == [[6, 5, 4], [3, 2, 1]]
    assert (t + t).tolist() == [[12, 10, 8], [6, 4, 2]]
    t[0, 0] = 9
    t.buf.memory = before
    assert t.tolist() == NUMBERS
    t.buf.memory = other
    assert t.numpy()[0, 0] == t[0, 0].item() == 9


def test_a_kernel_checks_each_of_its_operands() -> None:
    add = tutor.registry.kernel("add", tutor.float32)
    for position in range(3):
        operands = [Tensor(NUMBERS) for _ in range(3)]
        operands[position].offset = 1
        with pytest.raises(TutorError, match=f"input {position}" if position else "out"):
            add(*operands)
    with pytest.raises(TutorError):
        add(Tensor(NUMBERS), 3, Tensor(NUMBERS))


# ---- what is allowed -----------------------------------------------------------------------------


def test_strides_of_axes_that_are_never_walked_may_be_anything() -> None:
    """Also those that could not be multiplied, nor handed on, without an overflow."""
    x = Tensor([[1.0, 2.0, 3.0]])
    for stride in (2**62, -(2**62), 2**63 - 1, 2**70, -(2**70)):
        t = Tensor(x.buf, (1, 3), (stride, 1))
        assert t.tolist() == x.tolist()
        assert (t + t).tolist() == [[2, 4, 6]]
        assert (t * Tensor([[2.0], [3.0]])).tolist() == [[2, 4, 6], [3, 6, 9]]
        assert t.sum(axis=0).tolist() == [1, 2, 3]
        assert (t.T @ t).tolist() == (x.T @ x).tolist()
        assert t.copy().strides == (3, 1)
        assert t.numpy().tolist() == x.tolist()
        assert np.from_dlpack(t).tolist() == x.tolist()
        assert np.from_dlpack(t).strides[1] == 4
        assert t[:, ::-1].tolist() == [[3, 2, 1]]
        assert t[0, [2, 0]].tolist() == [3, 1]
        assert t.reshape(3).tolist() == [1, 2, 3]
        t[0, [0, 2]] = t[0, [2, 0]]
        t[0, [0, 2]] = t[0, [2, 0]]
        assert pickle.loads(pickle.dumps(t)).tolist() == x.tolist()
        empty = Tensor(x.buf, (0, 3), (stride, stride))
        assert empty.numpy().shape == np.from_dlpack(empty).shape == (0, 3)
        assert empty.sum().item() == 0


def test_a_slice_with_a_huge_step_keeps_a_stride_that_can_be_walked() -> None:
    x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for step in (2**62, -(2**62), 2**63 - 1, 10**30):
        t = x[:, ::step]
        assert t.shape == (2, 1)
        assert t.strides == (3, 1)
        assert (t + 1).tolist() == ([[2], [5]] if step > 0 else [[4], [7]])


def test_one_rule_says_which_empty_shapes_there_are() -> None:
    """Made, over a Buffer, reshaped, stretched or handed in: kernels count 63 bits of bytes."""
    none = Buffer([], dtype="float32")
    makers: tuple[Callable[[tuple[int, ...]], Tensor], ...] = (
        Tensor.zeros,
        lambda shape: Tensor(none, shape),
        lambda shape: Tensor([]).reshape(shape),
        lambda shape: Tensor.zeros(*(n and 1 for n in shape)).expand(shape),
    )
    for make in makers:
        for shape in ((0, 2**62), (2**62, 0), (2**31, 0, 2**31), (0, 2**64), (0, 2**60)):
            with pytest.raises(ShapeError, match="2\\*\\*60"):
                make(shape)
        t = make((0, 2**59))
        assert (t + t).shape == (0, 2**59)
        assert t.numpy().shape == t.T.shape[::-1] == (0, 2**59)


PLAIN = """
import sys
sys.modules["tutor.backends.simd_cpp._simd"] = None
from tests.storage import test_bounds_checks as border
assert "other bytes" in border.FORGERIES
for forgery in border.FORGERIES:
    border.test_no_way_out_believes_what_was_assigned(forgery)
    if forgery in border.DTYPES:
        border.test_no_way_out_of_a_buffer_believes_its_dtype(forgery)
for forgery in border.NO_MEMORY:
    border.test_no_way_out_of_a_buffer_believes_its_memory(forgery)
border.test_other_memory_of_the_same_kind_takes_its_place()
border.test_strides_of_axes_that_are_never_walked_may_be_anything()
from tests.core import test_buffer as buffers
for reader in buffers.READERS:
    buffers.test_asking_for_bytes_keeps_a_promise_once(reader, "python_ref")
buffers.test_what_is_known_of_a_promise_does_not_keep_it()
buffers.test_a_promise_that_fails_says_why_and_can_be_kept_later("python_ref")
buffers.test_device_is_what_the_memory_says()
print("all refused")
"""


@pytest.mark.skipif(Memory is PythonMemory, reason="all of the above ran without the extension")
def test_memory_in_plain_python_is_checked_as_well(backend: str) -> None:
    """Where the extension was not built, even the bytes of a Buffer can be assigned to."""
    if backend != "python_ref":
        return
    done = subprocess.run(
        [sys.executable, "-c", PLAIN], capture_output=True, text=True, timeout=120, check=False,
        cwd=Path(__file__).parents[2], env={**os.environ, "TUTOR_BACKEND": ""},
    )  # fmt: skip
    assert done.stdout.strip() == "all refused", done.stderr[-3000:]
