"""DLPack: sharing with NumPy, PyTorch and hand-made consumers; who frees what, and when."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

import tutor
from tutor import Tensor
from tutor.methods import dlpack
from tutor.methods.dlpack import ExchangeError, Managed, Versioned

NUMPYS = [d for d in tutor.DTYPES if d.name != "bfloat16"]
VIEWS = {
    "whole": lambda t: t,
    "transposed": lambda t: t.T,
    "column": lambda t: t[:, 1],
    "every other": lambda t: t[:, ::2],
    "expanded": lambda t: t[:1].expand(4, 3),
    "one": lambda t: t[1, 2],
    "none": lambda t: t[:, 3:],
    "reversed": lambda t: t[::-1, ::-1],
}


def ints(dtype="float32"):
    return Tensor([[0, 1, 1], [1, 0, 1]], dtype=dtype)


class Elsewhere:
    """An array on a device of another kind."""

    def __dlpack_device__(self):
        return 2, 0


class Offer:
    """A producer that counts how often its capsule's deleter is called."""

    def __init__(self, numbers, kind=Versioned, device=dlpack.CPU, **fields):
        self.freed, self.device = 0, device
        self.numbers = (ctypes.c_float * len(numbers))(*numbers)
        self.shape = (ctypes.c_int64 * 1)(len(numbers))
        self.delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.on_delete)
        self.struct = kind(deleter=ctypes.cast(self.delete, ctypes.c_void_p))
        if kind is Versioned:
            self.struct.major, self.struct.flags = fields.pop("major", 1), fields.pop("flags", 0)
        defaults = {
            "data": ctypes.addressof(self.numbers), "device_type": device[0], "ndim": 1,
            "code": 2, "bits": 32, "lanes": 1,
            "shape": ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)),
        }  # fmt: skip
        self.struct.tensor = dlpack.DLTensor(**{**defaults, **fields})
        self.capsule = dlpack._new(ctypes.addressof(self.struct), dlpack.NAMES[kind], None)

    def on_delete(self, address):
        assert address == ctypes.addressof(self.struct)
        self.freed += 1

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


def lent():
    """How many structs are on loan, of tutor's own."""
    gc.collect()
    return len(dlpack._lent)


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    dlpack.withdraw()
    before = set(dlpack._lent)
    yield
    dlpack.withdraw()
    assert set(dlpack._lent) <= before or lent() <= len(before)


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMPYS, ids=lambda d: d.name)
@pytest.mark.parametrize("view", VIEWS)
def test_numpy_and_back(dtype, view):
    t = VIEWS[view](ints(dtype))
    a = np.from_dlpack(t)
    assert a.dtype == dtype.name
    assert a.shape == t.shape
    assert a.tolist() == t.tolist()
    back = Tensor.from_dlpack(a)
    assert back.dtype is dtype
    assert back.shape == t.shape
    assert back.tolist() == t.tolist()


@pytest.mark.parametrize("view", VIEWS)
def test_arrays_are_walked_as_they_are(view):
    a = np.arange(6.0).reshape(2, 3)
    a = np.broadcast_to(a[:1], (4, 3)) if view == "expanded" else np.asarray(VIEWS[view](a))
    t = Tensor.from_dlpack(a)
    assert t.tolist() == a.tolist()
    if 0 not in a.shape:
        assert t.strides == tuple(s // 8 for s in a.strides)


@given(hnp.arrays("int16", hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)))
def test_any_shape(a):
    assert np.from_dlpack(Tensor.from_dlpack(a)).tolist() == a.tolist()
    assert Tensor.from_dlpack(a.T).tolist() == a.T.tolist()


def test_memory_is_shared_both_ways():
    t = ints()
    a = np.from_dlpack(t.T)
    a[2, 0] = 7
    t[1, 0] = 8
    assert t[0, 2].item() == 7
    assert a[0, 1] == 8
    b = np.zeros((2, 2), dtype="int32")
    s = Tensor.from_dlpack(b[:, ::-1])
    b[0, 0], s[1, 0] = 5, 6
    assert s.tolist() == [[0, 5], [6, 0]]
    assert b.tolist() == [[5, 0], [0, 6]]


def test_shared_memory_is_calculated_with(backend):
    a = np.arange(6, dtype="float32").reshape(2, 3)
    t = Tensor.from_dlpack(a)
    assert (t.T @ t).tolist() == (a.T @ a).tolist()
    t.assign(t * 2)
    assert a.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_copies_where_asked():
    t = ints()
    a = np.from_dlpack(t, copy=True)
    a[:] = 9
    b = np.ones(3)
    s = Tensor.from_dlpack(b, copy=True)
    b[:] = 9
    assert t.tolist() == ints().tolist()
    assert s.tolist() == [1, 1, 1]


def test_walked_backwards_it_is_copied_unless_that_is_forbidden():
    t = Tensor([1.0, 2.0, 3.0])
    copied, shared = np.from_dlpack(t[::-1]), np.from_dlpack(t[::-1], copy=False)
    t[0] = 7
    assert copied.tolist() == [3, 2, 1]
    assert shared.tolist() == [3, 2, 7]


def test_constants_are_read_only():
    constant = Tensor([1.0]).wrap(2.5)
    a = np.from_dlpack(constant)
    assert not a.flags.writeable
    assert np.from_dlpack(constant, copy=True).flags.writeable
    with pytest.raises(ExchangeError, match="read-only"):
        constant.__dlpack__()
    a = np.arange(3.0)
    a.flags.writeable = False
    t = Tensor.from_dlpack(a)
    assert t.buf.raw.readonly
    assert (t + 1).tolist() == [1, 2, 3]
    assert not np.from_dlpack(t).flags.writeable


def test_flags_and_versions():
    for version, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned"),
                          ((2, 1), "dltensor_versioned")):  # fmt: skip
        assert f'"{name}"' in repr(ints().__dlpack__(max_version=version))
    for copy, flags in ((None, 0), (False, 0), (True, dlpack.COPIED)):
        capsule = ints().__dlpack__(max_version=(1, 0), copy=copy)
        struct = Versioned.from_address(dlpack._pointer(capsule, dlpack.NAMES[Versioned]))
        assert (struct.major, struct.minor, struct.flags) == (1, 0, flags)
    assert ints().__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("kind", [Managed, Versioned])
def test_what_structs_may_leave_out(kind):
    offer = Offer([1, 2, 3], kind)  # no strides
    assert Tensor.from_dlpack(offer).tolist() == [1, 2, 3]
    moved = Offer([1, 2, 3], kind, byte_offset=4, shape=(ctypes.c_int64 * 1)(2))
    assert Tensor.from_dlpack(moved).tolist() == [2, 3]
    empty = Offer([], kind, data=None)
    assert Tensor.from_dlpack(empty).shape == (0,)
    gc.collect()
    assert offer.freed == moved.freed == empty.freed == 1
    forever = Offer([1], kind)
    forever.struct.deleter = None
    assert Tensor.from_dlpack(forever).tolist() == [1]


class OldProducer:
    """From before versions: `__dlpack__` takes nothing but a stream."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_old_producers():
    a = np.arange(3.0)
    t = Tensor.from_dlpack(OldProducer(a))
    a[0] = 5
    assert t.tolist() == [5, 1, 2]


# ---- PyTorch -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", tutor.DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("view", VIEWS)
def test_torch_and_back(dtype, view):
    torch = pytest.importorskip("torch")
    t = VIEWS[view](ints(dtype))
    x = torch.from_dlpack(t)
    assert x.dtype is getattr(torch, dtype.name)
    assert x.tolist() == t.tolist()
    back = Tensor.from_dlpack(x)
    assert back.dtype is dtype
    assert back.tolist() == t.tolist()
    assert torch.from_dlpack(OldProducer(t)).tolist() == t.tolist()


def test_torch_shares():
    torch = pytest.importorskip("torch")
    t = Tensor([1.5, 2.5], dtype="bfloat16")
    x = torch.from_dlpack(t)
    x[0] = 3.25
    t[1] = -1.0
    assert t.tolist() == x.tolist() == [3.25, -1.0]
    y = torch.ones(2, 3, dtype=torch.bfloat16)
    s = Tensor.from_dlpack(y.T)
    y[1, 2] = 0.5
    assert s[2, 1].item() == 0.5
    with pytest.raises(BufferError):
        Tensor.from_dlpack(torch.ones(2, requires_grad=True))


# ---- lifetimes -----------------------------------------------------------------------------------


def test_the_consumer_outlives_the_producer():
    t = ints()
    memory = weakref.ref(t)
    a = np.from_dlpack(t.T)
    del t
    gc.collect()
    assert memory() is None
    assert lent() >= 1
    assert a.tolist() == ints().T.tolist()
    s = Tensor.from_dlpack(np.arange(1000.0))
    gc.collect()
    assert s.tolist() == list(range(1000))


def test_views_keep_foreign_memory():
    offer = Offer([1, 2, 3])
    t = Tensor.from_dlpack(offer)
    holders = [t[1:], t.numpy(), t.buf.raw, memoryview(t.buf.raw)[4:], Tensor.from_dlpack(t)]
    del t
    while holders:
        gc.collect()
        assert not offer.freed
        assert list(offer.numbers) == [1, 2, 3]
        holders.pop()
    gc.collect()
    assert offer.freed == 1


@pytest.mark.parametrize("kind", [Managed, Versioned])
def test_the_deleter_is_called_once(kind):
    offer = Offer([1, 2], kind)
    t = Tensor.from_dlpack(offer)
    other = t + 1
    del t
    gc.collect()
    assert offer.freed == 1
    assert other.tolist() == [2, 3]
    with pytest.raises(ExchangeError, match="already"):
        Tensor.from_dlpack(offer)
    assert offer.freed == 1


def test_a_copy_lets_go_at_once():
    offer = Offer([1, 2])
    t = Tensor.from_dlpack(offer, copy=True)
    gc.collect()
    assert offer.freed == 1
    assert t.tolist() == [1, 2]


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_nobody_consumes_frees_what_it_holds(version):
    before = lent()
    capsule = ints().__dlpack__(max_version=version)
    assert lent() == before + 1
    del capsule
    assert lent() == before
    for _ in range(100):  # the next one finds out, too
        ints().__dlpack__(max_version=version)
    assert len(dlpack._lent) <= before + 1


def test_a_capsule_that_somebody_still_has_is_kept():
    capsule = ints().__dlpack__()
    for _ in range(3):
        gc.collect()
        dlpack.withdraw()
    held = [capsule]
    del capsule
    gc.collect()
    assert Tensor.from_dlpack(held.pop()).tolist() == ints().tolist()


def test_a_capsule_serves_once():
    capsule = ints().__dlpack__()
    t = Tensor.from_dlpack(capsule)
    with pytest.raises(ExchangeError, match="already"):
        Tensor.from_dlpack(capsule)
    assert t.tolist() == ints().tolist()
    del t
    assert '"used_dltensor"' in repr(capsule)


def test_the_error_of_a_consumer_arrives():
    with pytest.raises((RuntimeError, BufferError), match="dtype"):  # NumPy has no bfloat16
        np.from_dlpack(Tensor([1.0], dtype="bfloat16"))


def test_consumers_in_other_threads():
    arrays = [np.from_dlpack(ints()) for _ in range(8)]

    def drop():
        while arrays:
            arrays.pop()

    threads = [threading.Thread(target=drop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not arrays


LIVE = """
import atexit, sys
import numpy as np
import tutor
from tutor import Tensor
t = Tensor([1.0, 2.0])
consumed, offered = np.from_dlpack(t), t.__dlpack__()
foreign = Tensor.from_dlpack(np.arange(3.0))
class Cycle: pass
cycle = Cycle()
cycle.me, cycle.array, cycle.tensor = cycle, np.from_dlpack(t), Tensor.from_dlpack(np.ones(2))
cycle.capsule = t.__dlpack__(max_version=(1, 0))
sys.kept = [np.from_dlpack(t), Tensor.from_dlpack(np.ones(2)), t.__dlpack__()]
atexit.register(lambda a=np.from_dlpack(t), b=foreign: print(a.sum(), b.tolist()))
{more}
"""


@pytest.mark.parametrize("more", ["", "import torch; sys.kept.append(torch.from_dlpack(t))"])
def test_exit_with_live_capsules(more):
    if more:
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", LIVE.format(more=more)],
        capture_output=True, text=True, timeout=120, check=False,
        cwd=Path(tutor.__file__).parent.parent,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "3.0 [0.0, 1.0, 2.0]\n"


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"device": (2, 0)}, "CPU"),
        ({"device_type": 2}, "CPU"),  # says one thing and hands over another
        ({"code": 5, "bits": 64}, "dtype"),  # complex
        ({"bits": 8}, "dtype"),
        ({"lanes": 4}, "dtype"),
        ({"byte_offset": 2}, "multiple"),
        ({"major": 2}, "version"),
    ],
)
def test_an_import_that_fails_leaves_the_capsule_to_its_producer(fields, text):
    offer = Offer([1, 2, 3], **fields)
    with pytest.raises(ExchangeError, match=text) as caught:
        Tensor.from_dlpack(offer)
    assert str(caught.value).count("\n") == 2  # asked, found, to do
    assert '"dltensor_versioned"' in repr(offer.capsule)
    assert offer.freed == 0


def test_an_import_that_fails_half_way_frees_once(monkeypatch):
    offer = Offer([1, 2, 3])

    def no_memory(*args, **options):
        raise MemoryError

    monkeypatch.setattr(tutor.Buffer, "from_memory", no_memory)
    with pytest.raises(MemoryError):
        Tensor.from_dlpack(offer)
    monkeypatch.undo()
    gc.collect()
    assert offer.freed == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda: Tensor([1.0], requires_grad=True).__dlpack__(),
        lambda: (Tensor([1.0], requires_grad=True) * 2).__dlpack__(),
        lambda: ints().__dlpack__(stream=1),
        lambda: ints().__dlpack__(dl_device=(2, 0)),
        lambda: Tensor.from_dlpack([1.0, 2.0]),
        lambda: Tensor.from_dlpack(Elsewhere()),
        lambda: Tensor.from_dlpack(np.ones(2, dtype="complex64")),
    ],
)
def test_mistakes_are_explained(ask):
    with pytest.raises(ExchangeError) as caught:
        ask()
    assert str(caught.value).count("\n") == 2
    assert isinstance(caught.value, BufferError)


def test_a_detached_tensor_can_be_shared():
    t = Tensor([1.0, 2.0], requires_grad=True)
    assert np.from_dlpack(t.detach()).tolist() == [1, 2]


def test_neither_numpy_nor_the_extension_is_needed():
    code = """
import sys, gc
sys.modules["numpy"] = sys.modules["tutor.backends.simd_cpp._simd"] = None
from tutor import Tensor
from tutor.methods import dlpack
t = Tensor([[1.0, 2.0], [3.0, 4.0]])
s = Tensor.from_dlpack(t.T)
s[0, 1] = 9.0
print(t.tolist(), t.wrap(2.0).__dlpack__(max_version=(1, 0)) is not None)
del s
gc.collect()
print(len(dlpack._lent))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False,
        cwd=Path(tutor.__file__).parent.parent, env={**os.environ, "TUTOR_BACKEND": ""},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[[1.0, 2.0], [9.0, 4.0]] True\n0\n", "")
