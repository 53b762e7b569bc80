"""The files of PyTorch's torch.save: zip files, read and written without PyTorch.

A file has a pickle, `data.pkl`, and the numbers of each storage in a record of its own. The pickle
is read by a machine of a few opcodes: names are looked up in NAMES, and nothing is ever called.
"""

from __future__ import annotations

import io
import pickletools
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from tutor import dtype as dtypes
from tutor._storage import layout
from tutor._util import files
from tutor.core.buffer import Buffer
from tutor.errors import DataError, TutorError
from tutor.methods.tensor import Tensor

STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16", "IntStorage": "int32", "LongStorage": "int64",
    "ShortStorage": "int16", "ByteStorage": "uint8", "CharStorage": "int8", "BoolStorage": "bool",
}  # fmt: skip
DTYPES = {dtype: name for name, dtype in STORAGES.items()}
TENSOR, PARAMETER, DICT = "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter", (
    "collections OrderedDict"
)  # fmt: skip
NAMES = {TENSOR, PARAMETER, DICT, "torch Size", "torch device", "builtins set", "__builtin__ set"}
NAMES |= {f"torch {name}" for name in (*STORAGES, *dtypes.BY_NAME)}
MARK = object()
DO = "ask for the state_dict() alone: torch.save(model.state_dict(), path)"


class Global(NamedTuple):
    """A name in a pickle: what it means is decided here."""

    name: str


class Storage(NamedTuple):
    """The numbers of one record."""

    buf: Buffer


def foreign(found: str, do: str = DO) -> DataError:
    """The error for a file that holds more than numbers, or is damaged."""
    return DataError("to load a file of torch.save", found, do)


# ---- reading -------------------------------------------------------------------------------------


class Reader:
    """One file: its records, and the storages that have been read."""

    def __init__(self, archive: zipfile.ZipFile, parameter: type, size: type) -> None:
        self.archive, self.parameter, self.size = archive, parameter, size
        self.storages: dict[str, Storage] = {}
        found = [n for n in archive.namelist() if n.endswith("/data.pkl") or n == "data.pkl"]
        if len(found) != 1:
            raise foreign("a zip file without data.pkl", "give a file that torch.save has written")
        self.folder = found[0].removesuffix("data.pkl")
        order = f"{self.folder}byteorder"
        if order in archive.namelist() and archive.read(order) != b"little":
            raise foreign("numbers of a big-endian machine", "save it on a little-endian one")

    def storage(self, reference: Any) -> Storage:
        """The storage of ("storage", its class, the record's key, a device, how many numbers)."""
        if not (isinstance(reference, tuple) and len(reference) == 5 and reference[0] == "storage"
                and isinstance(reference[1], Global)):  # fmt: skip
            raise foreign("a reference to something other than a storage")
        _, kind, key, _, count = reference
        name = STORAGES.get(kind.name.removeprefix("torch "))
        if name is None or not isinstance(key, str) or type(count) is not int:
            raise foreign(f"a storage of class {kind.name}")
        if key not in self.storages:
            payload = self.archive.read(f"{self.folder}data/{key}")
            if len(payload) != count * dtypes.of(name).itemsize:
                found = f"{len(payload)} bytes in the place of {count} numbers of {name}"
                raise foreign(found, "copy the file again: a part of it is missing")
            self.storages[key] = Storage(Buffer.from_memory(payload, dtype=name))
        return self.storages[key]

    def tensor(self, storage: Any, offset: Any, size: Any, stride: Any, needs: Any, *_: Any) -> Any:
        """A tensor over a storage, checked to lie inside it."""
        if not isinstance(storage, Storage):
            raise foreign("a tensor without a storage")
        shape = layout.checked_shape(size)
        strides = layout.whole_numbers(stride, "strides")
        layout.check_inside(shape, strides, offset, len(storage.buf))
        made = Tensor.over(storage.buf, shape, strides, offset)
        return made.requires_grad_() if needs else made

    def made(self, what: Any, given: Any) -> Any:
        """What PyTorch's function of that name would make of these arguments."""
        name = what.name if isinstance(what, Global) else type(what).__name__
        if name == TENSOR:
            return self.tensor(*given)
        if name == PARAMETER:
            return self.parameter(given[0], bool(given[1]))
        if name == DICT:
            return OrderedDict(*given)
        if name == "torch Size":
            return self.size(*given)
        if name == "torch device":
            return "cpu"  # whatever it was
        if name.endswith(" set"):
            return set(*given)
        raise foreign(f"a call of {name}")

    def value(self) -> Any:
        """The value that the pickle describes."""
        stack: list[Any] = []
        memo: dict[int, Any] = {}
        for opcode, argument, _ in pickletools.genops(self.archive.read(f"{self.folder}data.pkl")):
            name = opcode.name
            if name in PUSHED:
                stack.append(argument)
            elif name in CONSTANTS:
                stack.append(CONSTANTS[name]())
            elif name.endswith("GET"):
                stack.append(memo[int(str(argument))])
            elif name.endswith("PUT") or name == "MEMOIZE":
                memo[len(memo) if argument is None else int(argument)] = stack[-1]
            elif name == "STOP":
                return stack.pop()
            elif name not in ("PROTO", "FRAME"):
                self.step(name, argument, stack)
        raise foreign("a pickle without an end", "copy the file again")

    def step(self, name: str, argument: Any, stack: list[Any]) -> None:
        """An opcode that takes values from the stack."""
        if name in ("GLOBAL", "STACK_GLOBAL"):
            if name == "STACK_GLOBAL":
                argument = " ".join(reversed([stack.pop(), stack.pop()]))
            if argument not in NAMES:
                raise foreign(f"the name {argument}, which is not on the list of what is read")
            dtype = dtypes.BY_NAME.get(argument.removeprefix("torch "))
            stack.append(dtype or Global(argument))
        elif name == "BINPERSID":
            stack.append(self.storage(stack.pop()))
        elif name == "REDUCE":
            given = stack.pop()
            stack.append(self.made(stack.pop(), given))
        elif name == "BUILD":  # attributes, such as `_metadata` of a state_dict
            stack.pop()
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            stack[-count:] = [tuple(stack[-count:])]
        elif name in ("SETITEM", "APPEND"):
            rest = [stack.pop() for _ in range(1 + (name == "SETITEM"))][::-1]
            add(stack[-1], rest)
        elif name in ("TUPLE", "SETITEMS", "APPENDS", "LIST", "DICT"):
            at = max(i for i, item in enumerate(stack) if item is MARK)
            rest = stack[at + 1 :]
            del stack[at:]
            if name == "TUPLE":
                stack.append(tuple(rest))
            else:
                add(stack[-1], rest)
        else:
            raise foreign(f"the opcode {name}")


PUSHED = {
    "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BININT", "BININT1", "BININT2", "LONG1",
    "BINFLOAT", "BINBYTES", "SHORT_BINBYTES",
}  # fmt: skip
CONSTANTS: dict[str, Any] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_DICT": dict,
    "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_SET": set, "MARK": lambda: MARK,
}  # fmt: skip


def add(to: Any, rest: list[Any]) -> None:
    """More items for a dict or a list."""
    if isinstance(to, dict):
        to.update(zip(rest[::2], rest[1::2], strict=True))
    elif isinstance(to, list):
        to.extend(rest)
    else:
        raise foreign(f"items for a {type(to).__name__}")


def load(f: Any, parameter: type, size: type = tuple) -> Any:
    """What torch.save has written to that path or file; a Parameter of PyTorch's is a `parameter`,
    a torch.Size a `size`. DataError for anything else, or a damaged file."""
    try:
        if hasattr(f, "read"):
            payload = f.read()
        else:
            with files.opened(f) as file:
                payload = file.read()
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            return Reader(archive, parameter, size).value()
    except TutorError as error:
        if isinstance(error, DataError):
            raise
        raise foreign(f"a tensor that does not fit its storage: {error.found}") from error
    except zipfile.BadZipFile as error:
        found = f"no zip file, or one with a part missing ({error})"
        raise foreign(found, "copy it again; files before PyTorch 1.6: save them anew") from error
    except OSError as error:
        raise foreign(error.strerror or str(error), "give the name of a file") from error
    except (ValueError, KeyError, IndexError, TypeError, UnicodeError, struct.error) as error:
        raise foreign(f"a damaged pickle ({error})", "copy the file again") from error


# ---- writing -------------------------------------------------------------------------------------


class Writer:
    """A value as a pickle of protocol 2, and the storages in it."""

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter
        self.buffers: dict[int, tuple[str, Any]] = {}  # by id: the record's key, and the Buffer

    def text(self, name: str) -> bytes:
        """`GLOBAL`: a name."""
        return b"c" + name.replace(" ", "\n").encode() + b"\n"

    def call(self, name: str, *given: Any) -> bytes:
        """`REDUCE`: a function of PyTorch's, and its arguments as bytes."""
        return self.text(name) + b"(" + b"".join(given) + b"tR"

    def tensor(self, t: Any) -> bytes:
        """A tensor over its storage, which all its views share."""
        buf = t.buf if t.buf.device == "cpu" else t.cpu().buf
        key, _ = self.buffers.setdefault(id(buf), (str(len(self.buffers)), buf))
        if buf.dtype.name not in DTYPES:
            raise DataError(f"torch.save of {buf.dtype.name}", "PyTorch has no such storage",
                            "cast it first, to int64 for example")  # fmt: skip
        items = [self.value(v) for v in ("storage", key, "cpu", len(buf))]
        kind = self.text(f"torch {DTYPES[buf.dtype.name]}")
        storage = b"(" + items[0] + kind + b"".join(items[1:]) + b"tQ"
        parts = [t.offset, tuple(t.shape), tuple(t.strides)]
        needs = t.requires_grad and not isinstance(t, self.parameter)
        rest = [*map(self.value, parts), self.value(needs), self.call(DICT)]
        made = self.call(TENSOR, storage, *rest)
        if isinstance(t, self.parameter):
            made = self.call(PARAMETER, made, self.value(t.requires_grad), self.call(DICT))
        return made

    def value(self, v: Any) -> bytes:
        """The opcodes of one value."""
        if v is None or isinstance(v, bool):
            return {None: b"N", True: b"\x88", False: b"\x89"}[v]
        if isinstance(v, int):
            data = v.to_bytes(v.bit_length() // 8 + 1, "little", signed=True)
            return b"\x8a" + bytes([len(data)]) + data
        if isinstance(v, float):
            return b"G" + struct.pack(">d", v)
        if isinstance(v, str):
            return b"X" + struct.pack("<I", len(v.encode())) + v.encode()
        if isinstance(v, Tensor):
            return self.tensor(v)
        if isinstance(v, dtypes.DType):
            return self.text(f"torch {v.name}")
        if isinstance(v, dict):
            start = self.call(DICT) if isinstance(v, OrderedDict) else b"}"
            return start + b"(" + b"".join(self.value(x) for pair in v.items() for x in pair) + b"u"
        if isinstance(v, list):
            return b"](" + b"".join(map(self.value, v)) + b"e"
        if isinstance(v, tuple):
            return b"(" + b"".join(map(self.value, v)) + b"t"
        raise DataError(f"torch.save of a {type(v).__name__}", "a file holds tensors, numbers, "
                        "texts and containers of these", DO)  # fmt: skip


def save(obj: Any, f: Any, parameter: type) -> None:
    """Write Tensors in containers to a path or a file, as PyTorch can read them."""
    writer = Writer(parameter)
    pickle = b"\x80\x02" + writer.value(obj) + b"."
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, data in records(pickle, writer):
            archive.writestr(f"archive/{name}", data)
    if hasattr(f, "write"):
        f.write(memory.getvalue())
    else:
        files.write_whole(f, lambda file: file.write(memory.getvalue()))


def records(pickle: bytes, writer: Writer) -> Iterator[tuple[str, bytes]]:
    """The files in the zip."""
    yield "data.pkl", pickle
    yield "byteorder", b"little"
    for key, buf in writer.buffers.values():
        yield f"data/{key}", bytes(buf.raw)
    yield "version", b"3\n"
