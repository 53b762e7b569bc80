"""Names of PyTorch and NumPy that tutor does not have, and what to write instead.

    >>> import tutor
    >>> tutor.equal
    Traceback (most recent call last):
    tutor.interop.missing_names.MissingNameError: asked: tutor.equal
    found: tutor has no such name; PyTorch has
    to do: write bool((x == y).all())

The error is an AttributeError: hasattr() is False as for any other missing name.
"""

from __future__ import annotations

import sys

from tutor.errors import TutorError

# By where the name is looked up: the name, and what to write instead.
TENSOR = {
    "byte": "x.cast('uint8')",
    "char": "x.cast('int8')",
    "cuda": "x.to('opencl'), or another of tutor.devices.names()",
    "data_ptr": "x.buf, the memory that x walks over",
    "is_cuda": "x.device != 'cpu'",
    "is_sparse": "False: every Tensor is dense",
    "new_full": "Tensor.full(shape, value, dtype=x.dtype, device=x.device)",
    "new_ones": "Tensor.ones(shape, dtype=x.dtype, device=x.device)",
    "new_tensor": "Tensor(data, dtype=x.dtype, device=x.device)",
    "new_zeros": "Tensor.zeros(shape, dtype=x.dtype, device=x.device)",
    "short": "x.cast('int16')",
    "unbind": "list(x.movedim(axis, 0))",
}
TUTOR = {
    "FloatTensor": "Tensor(data, dtype='float32')",
    "LongTensor": "Tensor(data, dtype='int64')",
    "as_tensor": "Tensor(data), which copies, or tutor.from_numpy(array), which shares",
    "cuda": "tutor.devices.names(), and x.to(name)",
    "empty": "tutor.zeros(shape)",
    "empty_like": "tutor.zeros_like(x)",
    "equal": "bool((x == y).all())",
    "full_like": "Tensor.full(x.shape, value, dtype=x.dtype, device=x.device)",
    "is_tensor": "isinstance(x, Tensor)",
    "numel": "x.numel()",
    "rand_like": "Tensor.rand(*x.shape)",
    "randn_like": "Tensor.randn(*x.shape)",
    "unbind": "list(x.movedim(axis, 0))",
    "vmap": "the batch as the first axis: operators broadcast",
}
MODULE = {
    "cuda": "model.to('opencl'), or another of tutor.devices.names()",
    "get_parameter": "dict(model.named_parameters())[name]",
    "share_memory": "tutor.distributed: ranks have models of their own",
}
ROW = {"pop": "del model[i]", **MODULE}
NN = {
    "DataParallel": "tutor.distributed.DataParallel",
    "EmbeddingBag": "nn.Embedding, and .sum(1) or .mean(1)",
    "ParameterDict": "a dict of nn.Parameter, as an attribute",
    "ZeroPad2d": "F.pad(x, (left, right, top, bottom))",
}
FUNCTIONAL = {
    "unfold": "x.unfold(2, size, step).unfold(3, size, step), windows as views",
    "upsample": "F.interpolate",
}
OPTIM = {
    "Adamax": "optim.Adam(params, amsgrad=True)",
    "Rprop": "optim.Lion(params), which also steps by signs",
    "SparseAdam": "optim.Adam(params): gradients are dense",
    "swa_utils": "optim.EMA",
}
SCHEDULES = {
    "CyclicLR": "LambdaLR(optimizer, f), with f(t) the rate as a share of the initial one",
    "MultiplicativeLR": "LambdaLR(optimizer, f), with the product of the factors up to t as f(t)",
}
TABLES: dict[str, dict[str, str]] = {
    "Tensor": TENSOR, "tutor": TUTOR, "Module": MODULE, "Sequential": ROW, "ModuleList": ROW,
    "ModuleDict": {"clear": "nn.ModuleDict()", "pop": "del model[name]", **MODULE},
    "tutor.nn": NN, "tutor.nn.functional": FUNCTIONAL, "tutor.optim": OPTIM,
    "tutor.optim.lr_scheduler": SCHEDULES,
}  # fmt: skip


class MissingNameError(TutorError, AttributeError):
    """A name that PyTorch or NumPy has, and tutor writes otherwise."""


def missing(kinds: tuple[str, ...], name: str, plain: str) -> AttributeError:
    """The error for a name that the first of these does not have: an AttributeError that says
    `plain` unless a table has what to write."""
    for kind in kinds:
        if name in TABLES.get(kind, ()):
            found = f"{kinds[0]} has no such name; PyTorch has"
            return MissingNameError(f"{kinds[0]}.{name}", found, f"write {TABLES[kind][name]}")
    return AttributeError(plain)


class Explained:
    """Stands in a class for a name that it does not have. (A `__getattr__` would slow down every
    other attribute.) What a subclass or an object calls by this name comes first, as usual."""

    def __init__(self, owner: str, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, value: object, kind: type) -> None:
        raise missing((kind.__name__, self.owner), self.name, "")


def explain(kind: type) -> None:
    """Have the missing names of that class explained; dir() does not list them."""
    names = TABLES[kind.__name__]

    def listed(self: object) -> list[str]:
        return [name for name in object.__dir__(self) if name not in names]

    for name in names:
        setattr(kind, name, Explained(kind.__name__, name))
    setattr(kind, "__dir__", listed)  # noqa: B010 - to a type checker it is no attribute


def of_object(value: object, name: str) -> AttributeError:
    """The error for an attribute that an object does not have."""
    kinds = tuple(kind.__name__ for kind in type(value).__mro__)
    return missing(kinds, name, f"{kinds[0]!r} object has no attribute {name!r}")


def watch(module: str) -> None:
    """Have a missing name of that module explained. (Set here: to a type checker such a function
    would mean that the module has every name.)"""

    def absent(name: str) -> None:
        raise missing((module,), name, f"module {module!r} has no attribute {name!r}")

    vars(sys.modules[module])["__getattr__"] = absent
