"""The Tensor of this wing: a tutor.Tensor whose methods keep PyTorch's conventions.

It has the same slots, so a result becomes one without a copy: `tag` sets its class. Which of the
two conventions a method follows depends on the code that calls it. The library's own code, in any
module of `tutor` outside this wing, was written for NumPy's conventions (`x.max(1)` is a Tensor),
and gets them also for a Tensor of this class; everybody else gets PyTorch's (`x.max(1)` is a pair).
"""

from __future__ import annotations

import sys
from typing import Any

from tutor import dtype as dtypes
from tutor._storage.array_like import is_number
from tutor.core.tensor import TensorBase
from tutor.dtype import DType
from tutor.errors import ArgumentError
from tutor.interop.missing_names import MissingNameError
from tutor.methods.tensor import Tensor as PlainTensor
from tutor.nn.parameter import Parameter as PlainParameter

HERE = __name__.rpartition(".")[0]
caller = sys._getframe
Plain: Any = PlainTensor  # tutor's Tensor: its methods keep NumPy's conventions
SHAPE = vars(TensorBase)["shape"]
GRADIENT = vars(TensorBase)["requires_grad"]


class Size(tuple[int, ...]):
    """A shape: a tuple that prints as PyTorch's does."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        count = 1
        for size in self:
            count *= size
        return count

    def __getitem__(self, place: Any) -> Any:
        found = tuple.__getitem__(self, place)
        return Size(found) if isinstance(place, slice) else found

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"


class device(str):  # noqa: N801 - PyTorch's name
    """`torch.device("cpu")`: a name that every function of tutor takes as a device."""

    __slots__ = ()

    def __new__(cls, type: Any = "cpu", index: int | None = None) -> device:
        name = str(type) if index is None else f"{type}:{index}"
        kind = name.partition(":")[0]
        if kind in ("cuda", "mps", "xpu", "meta"):
            found = f"tutor has no device {kind!r}"
            do = "test torch.cuda.is_available(), or write 'cpu'"
            raise ArgumentError(f"torch.device({name!r})", found, do)
        return str.__new__(cls, "cpu" if kind == "cpu" else name)

    @property
    def type(self) -> str:
        """`cpu` of `cpu:0`."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """0 of `opencl:0`, None if the name has no number."""
        number = self.partition(":")[2]
        return int(number) if number else None

    def __repr__(self) -> str:
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{number})"

    def __enter__(self) -> device:
        return self

    def __exit__(self, *error: Any) -> None:
        """Nothing to undo: "cpu" is where tensors are made."""


def inside(depth: int = 2) -> bool:
    """Is the code that called the caller tutor's own, outside this wing?"""
    name: str = caller(depth).f_globals.get("__name__", "")
    return name.startswith("tutor.") and not name.startswith(HERE)


class Tensor(PlainTensor):
    """`torch.Tensor(3)`: uninitialized numbers in PyTorch, zeros here; `torch.Tensor(data)`:
    float32 numbers. Its methods are in tutor/torch/methods.py and the modules beside it."""

    __slots__ = ()

    def __init__(self, *data: Any, **options: Any) -> None:
        if inside():
            super().__init__(*data, **options)
            return
        options.pop("device", None)
        if options:
            raise ArgumentError(f"torch.Tensor({', '.join(options)}=...)", "it takes data or sizes",
                                "write torch.tensor(data, ...)")  # fmt: skip
        sizes = data if all(isinstance(n, int) for n in data) else None
        if len(data) == 1 and isinstance(data[0], Size):
            sizes = data[0]
        if data and sizes is None:
            made = data[0] if isinstance(data[0], Plain) else Plain(data[0], dtype="float32")
            made = made.detach()
        else:
            made = Plain.zeros(*(sizes or (0,)))
        self.buf, self.strides, self.offset = made.buf, made.strides, made.offset
        SHAPE.__set__(self, SHAPE.__get__(made))
        self._base = self._grad = self.op = None
        GRADIENT.__set__(self, False)

    def __getattr__(self, name: str) -> Any:
        raise missing("Tensor", name)


class Parameter(PlainParameter, Tensor):
    """A trainable Tensor: `nn.Parameter(data, requires_grad=True)`. Data that requires a gradient,
    or is the result of an op, is detached."""

    __slots__ = ()

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        x = Plain.zeros(0) if data is None else data
        PlainParameter.__init__(self, x.detach() if isinstance(x, Plain) else x, False)
        self._base = None
        GRADIENT.__set__(self, False)
        self.requires_grad_(requires_grad)


CLASSES: dict[type, type] = {Plain: Tensor, PlainParameter: Parameter}


def tag(value: Any) -> Any:
    """The value, with every Tensor of tutor's in it made one of this wing, itself."""
    kind = type(value)
    if kind is Plain or kind is PlainParameter:
        value.__class__ = CLASSES[kind]
    elif kind is tuple or kind is list or (isinstance(value, tuple) and kind is not Size):
        for inner in value:
            tag(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            tag(inner)
    return value


# ---- dtypes --------------------------------------------------------------------------------------

CATEGORY = {"bool": 0, "uint": 1, "int": 1, "float": 2}


def meeting(a: DType, b: DType) -> DType:
    """The higher of two categories (bool, integer, float) as it is; in one, the dtype of both."""
    if CATEGORY[a.kind] != CATEGORY[b.kind]:
        return a if CATEGORY[a.kind] > CATEGORY[b.kind] else b
    return dtypes.promote(a, b)


def result_type(*values: Any) -> DType:
    """PyTorch's rule: a tensor without axes counts only if its category is higher than that of the
    others, a Python number only if it is higher than that of all tensors."""
    ranks: list[DType | None] = [None, None, None]
    for value in values:
        if isinstance(value, Plain):
            rank, found = (0 if SHAPE.__get__(value) else 1), value.dtype
        else:
            rank, found = 2, dtypes.of_number(value)
        before = ranks[rank]
        ranks[rank] = found if before is None else meeting(before, found)
    result: DType | None = None
    for found in (r for r in ranks if r is not None):
        if result is None or CATEGORY[found.kind] > CATEGORY[result.kind]:
            result = found
    if result is None:
        raise ArgumentError("torch.result_type()", "no operands", "give tensors or numbers")
    return result


def promoted(*values: Any) -> tuple[Any, ...]:
    """The operands with their tensors cast to the common dtype."""
    tensors = [v for v in values if isinstance(v, Plain)]
    known = all([isinstance(v, Plain) or is_number(v) for v in values])
    if known and len({t.dtype for t in tensors}) <= 1:
        return values
    if not known:
        raise ArgumentError(
            f"an operation on {', '.join(type(v).__name__ for v in values)}",
            "one of them is neither a tensor nor a number", "write torch.tensor(...) around it"
        )  # fmt: skip
    wanted = result_type(*values)
    return tuple(v.cast(wanted) if isinstance(v, Plain) else v for v in values)


# ---- names that are not here --------------------------------------------------------------------


def missing(where: str, name: str) -> AttributeError:
    """The error for a name that the wing does not have."""
    if name.startswith("__"):
        return AttributeError(f"{where!r} has no attribute {name!r}")
    from tutor.torch.missing import INSTEAD  # a long table, only needed here

    found = "tutor.torch has no such name"
    do = INSTEAD.get(name, "docs/torch.md lists the names; compose it from those")
    return MissingNameError(f"torch.{where}.{name}" if where else f"torch.{name}", found, do)


def watch(module: str) -> None:
    """Have the missing names of that module explained."""
    where = module.removeprefix(HERE).lstrip(".")

    def absent(name: str) -> None:
        raise missing(where, name)

    vars(sys.modules[module])["__getattr__"] = absent
