"""DLPack: two libraries share one array, without copying and without knowing each other.

The producer puts the address, dtype, shape and strides into a C struct, and the struct into a
"capsule", a Python object around a pointer. The consumer renames the capsule ("used_..."): from
then on it owns the struct, whose `deleter` it calls, once, when it no longer needs the memory. The
structs below are those of dmlc.github.io/dlpack: version 1.0 ("versioned", which can also mark
memory as read-only) and the one before. Shapes and strides count elements, as in tutor.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from typing import Any, NamedTuple

from tutor._storage import layout
from tutor.dtype import TABLE, DType, bfloat16
from tutor.errors import TutorError

CPU = (1, 0)  # device type 1, device number 0
READ_ONLY, COPIED = 1, 2  # bits of the versioned struct's flags
CODES = {"int": 0, "uint": 1, "float": 2, "bool": 6}
BFLOAT = 4


class ExchangeError(TutorError, BufferError):
    """Memory that cannot be shared through DLPack."""


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


class DlpackOperand(NamedTuple):
    """A Tensor's memory, and how to walk it. Memory that is read-only has `memory.readonly` set."""

    memory: memoryview
    dtype: DType
    shape: layout.Shape
    strides: layout.Shape
    offset: int


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_ptr, _str, _int, _obj = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.py_object
_new = _function("PyCapsule_New", _obj, _ptr, _str, _ptr)
_is_named = _function("PyCapsule_IsValid", _int, _obj, _str)
_pointer = _function("PyCapsule_GetPointer", _ptr, _obj, _str)
_rename = _function("PyCapsule_SetName", _int, _obj, _str)
_get_buffer = _function("PyObject_GetBuffer", _int, _obj, _ptr, _int)
_release_buffer = _function("PyBuffer_Release", None, _ptr)
_keep = _function("Py_IncRef", None, _obj)
_Deleter = ctypes.CFUNCTYPE(None, _ptr)  # acquires the GIL: any thread may call it

# A capsule points to its name and does not copy it: these live as long as the module.
NAMES = {Managed: b"dltensor", Versioned: b"dltensor_versioned"}
USED = {Managed: b"used_dltensor", Versioned: b"used_dltensor_versioned"}


def _kind_of(capsule: Any, names: dict[Any, bytes] = NAMES) -> Any:
    """Managed or Versioned, by the capsule's name; None if the name is not in `names`."""
    return next((kind for kind, name in names.items() if _is_named(capsule, name)), None)


# ---- as producer ---------------------------------------------------------------------------------

_lent: dict[int, tuple[Any, ...]] = {}  # a struct's address: the struct and its referents
_offered: set[Any] = set()  # the capsules not consumed yet


def _forget(address: int, forget: Any = _lent.pop) -> None:  # bound here: at exit globals are gone
    forget(address, None)


_delete = _Deleter(_forget)
_keep(_delete)  # consumers may outlive this module


def give(walk: DlpackOperand, versioned: bool, copied: bool = False) -> Any:
    """A capsule that shares the memory with a consumer and keeps it until the consumer is done."""
    withdraw()
    if walk.memory.readonly and not versioned:
        raise ExchangeError(
            "read-only memory through the DLPack struct without a version",
            "that has no way to say that the memory must not be written to",
            "ask for max_version=(1, 0) or later, or for copy=True",
        )
    numbers = ctypes.c_int64 * len(walk.shape)
    shape, strides = numbers(*walk.shape), numbers(*walk.strides)
    kind = Versioned if versioned else Managed
    struct = kind(deleter=ctypes.cast(_delete, ctypes.c_void_p))
    struct.tensor = DLTensor(
        data=_address(walk.memory) + walk.offset * walk.dtype.itemsize,
        device_type=CPU[0],
        device_id=CPU[1],
        ndim=len(walk.shape),
        code=BFLOAT if walk.dtype is bfloat16 else CODES[walk.dtype.kind],
        bits=8 * walk.dtype.itemsize,
        lanes=1,
        shape=ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
        strides=ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)),
    )
    if versioned:
        struct.major = 1
        struct.flags = READ_ONLY * walk.memory.readonly | COPIED * copied
    address = ctypes.addressof(struct)
    _lent[address] = (struct, shape, strides, walk.memory)
    capsule = _new(address, NAMES[kind], None)
    _offered.add(capsule)
    return capsule


def _holders(things: set[Any]) -> list[tuple[Any, int]]:
    """Each thing with its reference count, which includes the references made in here."""
    return [(thing, sys.getrefcount(thing)) for thing in tuple(things)]


ALONE = _holders({object()})[0][1]  # the count when only the set refers to it


def withdraw(phase: str = "stop", info: dict[str, int] | None = None) -> None:
    """Free the structs of unconsumed capsules to which only `_offered` still refers.

    The usual place for this is the capsule's destructor. But that runs inside a consumer that has
    just refused the capsule, and an error being raised does not survive a call of a Python
    function. So it is done at the next capsule or garbage collection, whichever comes first.
    """
    for capsule, count in _holders(_offered) if phase == "stop" else ():
        kind = _kind_of(capsule)
        if kind is None:
            _offered.discard(capsule)
        elif count == ALONE:
            _offered.discard(capsule)
            _lent.pop(_pointer(capsule, NAMES[kind]), None)


gc.callbacks.append(withdraw)


def _address(memory: memoryview) -> int:
    """The address of the first byte, also of read-only memory."""
    view = (ctypes.c_void_p * 32)()  # room for a Py_buffer, which starts with the address
    _get_buffer(memory, view, 0)
    address = view[0] or 0
    _release_buffer(view)
    return address


# ---- as consumer ---------------------------------------------------------------------------------


def take(capsule: Any) -> DlpackOperand:
    """The memory behind `capsule`, shared; the struct's deleter is called when it is not needed.

    Raises ExchangeError for memory that tutor cannot walk. This is checked before the capsule is
    renamed, so the producer still owns the struct and frees it.
    """
    kind = _kind_of(capsule)
    if kind is None:
        raise ExchangeError(
            "to consume a DLPack capsule",
            "it has been consumed already"
            if _kind_of(capsule, USED)
            else f"it is none: {capsule!r:.60}",
            "a capsule serves once; hand over the array, from_dlpack asks it for a capsule",
        )
    address = _pointer(capsule, NAMES[kind])
    managed = kind.from_address(address)
    if kind is Versioned and managed.major > 1:
        raise _refused(f"version {managed.major} of the struct", "ask for max_version=(1, 0)")
    start, count, walk = _walk_of(managed.tensor)
    block = (ctypes.c_uint8 * (count * walk.dtype.itemsize)).from_address(start)
    _rename(capsule, USED[kind])
    if managed.deleter:
        weakref.finalize(block, _Deleter(managed.deleter), address).atexit = False
    memory = memoryview(block)
    readonly = kind is Versioned and managed.flags & READ_ONLY
    return walk._replace(memory=memory.toreadonly() if readonly else memory)


def _walk_of(tensor: DLTensor) -> tuple[int, int, DlpackOperand]:
    """The address of the memory, the number of elements it spans, and how to walk them."""
    if tensor.device_type != CPU[0]:
        raise not_on_cpu((tensor.device_type, tensor.device_id))
    dtype = next((d for d in TABLE if _is_dtype(d, tensor)), None)
    if dtype is None:
        found = f"a dtype of code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes"
        names = ", ".join(d.name for d in TABLE)
        raise _refused(found, f"convert it first; tutor has {names}")
    shape = layout.checked_shape(tensor.shape[: tensor.ndim])
    strides = layout.contiguous_strides(shape)
    if tensor.strides:  # older structs may omit row-major strides
        strides = tuple(tensor.strides[: tensor.ndim])
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)] if 0 not in shape else []
    before = -sum(r for r in reach if r < 0)
    count = 0 if 0 in shape else before + 1 + sum(r for r in reach if r > 0)
    start = (tensor.data or 0) + tensor.byte_offset - before * dtype.itemsize
    if start % dtype.itemsize and count:
        raise _refused("elements that do not start at a multiple of their size", "copy it first")
    return start, count, DlpackOperand(memoryview(b""), dtype, shape, strides, before)


def _is_dtype(dtype: DType, tensor: DLTensor) -> bool:
    code = BFLOAT if dtype is bfloat16 else CODES[dtype.kind]
    return (code, 8 * dtype.itemsize, 1) == (tensor.code, tensor.bits, tensor.lanes)


def _refused(found: str, do: str) -> ExchangeError:
    return ExchangeError("a Tensor over the memory of a DLPack capsule", found, do)


def not_on_cpu(device: Any) -> ExchangeError:
    return _refused(f"memory of device {device}", f"move it to the CPU first, which is {CPU}")
