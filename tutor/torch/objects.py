"""What a Tensor of this wing is beside its numbers: its graph, dtype, device, and how it prints."""

from __future__ import annotations

from typing import Any

from tutor import dtype as dtypes
from tutor.core.engine import engine
from tutor.dtype import DType
from tutor.errors import ArgumentError, DTypeError, GraphError
from tutor.methods import inplace
from tutor.torch.carrier import GRADIENT, SHAPE, Plain, Size, device, inside, tag

CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
    "int": "int32", "long": "int64", "short": "int16", "char": "int8", "byte": "uint8",
    "bool": "bool",
}  # fmt: skip
LEGACY = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
    "IntTensor": "int32", "LongTensor": "int64", "ShortTensor": "int16", "ByteTensor": "uint8",
    "CharTensor": "int8", "BoolTensor": "bool",
}  # fmt: skip


class Handle:
    """What `register_hook` returns: `handle.remove()` removes the hook."""

    def __init__(self, remove: Any) -> None:
        self.remove = remove


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Add the gradient of this number to `.grad` of every leaf behind it."""
    if inputs is not None:
        raise ArgumentError("backward(inputs=)", "tutor.torch does not have it",
                            "write torch.autograd.grad(loss, inputs)")  # fmt: skip
    engine.backward(self, gradient, retain_graph, create_graph)


def register_hook(self, hook):
    """Call `hook(gradient)` in each backward(); a result replaces the gradient."""
    return Handle(Plain.register_hook(self, lambda gradient: hook(tag(gradient))))


def detach_(self):
    """Take this tensor out of its graph; a view keeps its numbers."""
    self.op, self._base = None, None
    GRADIENT.__set__(self, False)
    return self


def dtype_of(value: Any) -> Any:
    """The dtype of a dtype, of its name as `torch.float32`, or of torch.FloatTensor."""
    if isinstance(value, DType) or value is None:
        return value
    if isinstance(value, type):
        return dtypes.of({bool: "bool", int: "int64", float: "float64"}.get(value, value))
    name = str(getattr(value, "__name__", value)).removeprefix("torch.")
    return dtypes.of(LEGACY.get(name, name))


def to(self, *targets, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """x in another dtype, on another device, or both; x itself if nothing changes."""
    for target in targets:
        if isinstance(target, Plain):
            dtype, device = target.dtype, target.buf.device
        elif isinstance(target, (DType, type)):
            dtype = target
        elif isinstance(target, str):
            device = target
    out = self
    if device is not None:
        out = Plain.to(out, device_of(device))
    if dtype is not None:
        out = Plain.cast(out, dtype_of(dtype))
    return Plain.clone(out) if copy and out is self else out


def device_of(name: Any) -> str:
    """The name of a device that tutor has; ArgumentError for "cuda" and the like."""
    return str(device(name))


def type_(self, dtype, non_blocking):
    """The name of its class in PyTorch, `torch.FloatTensor`; x in another dtype."""
    if dtype is not None:
        return Plain.cast(self, dtype_of(dtype))
    names = {name: legacy for legacy, name in LEGACY.items()}
    return f"torch.{names.get(self.dtype.name, self.dtype.name)}"


def numpy(self, force):
    """A NumPy array over the same memory. GraphError if a gradient is required, as in PyTorch."""
    if self.requires_grad and not force:
        raise GraphError("x.numpy() of a tensor that requires grad", "an array has no graph",
                         "write x.detach().numpy()")  # fmt: skip
    return Plain.numpy(Plain.detach(self))


def as_subclass(self, cls):
    """The same numbers, in the same graph, as a Tensor of another class: tutor.Tensor, say."""
    view = Plain.reshape(self, self.shape) if self.requires_grad else Plain.detach(self)
    view.__class__ = cls
    return view


def data_ptr(self):
    """A number that tells memories apart: equal for views that begin at one place."""
    return id(self.buf) + self.offset * self.dtype.itemsize


def text(self):
    """As PyTorch prints it, except for the layout of large tensors."""
    shown = Plain.__repr__(self).replace("Tensor(", "tensor(", 1)
    return shown.replace("dtype=tutor.", "dtype=torch.")


def deepcopy(self, memo):
    """A copy with memory of its own; the result of an op has none, as in PyTorch."""
    if self.op is not None:
        raise GraphError("copy.deepcopy of the result of an op", "its graph cannot be copied",
                         "write x.detach().clone()")  # fmt: skip
    if id(self) not in memo:
        memo[id(self)] = new = Plain.copy(Plain.detach(self))
        new.__class__ = type(self)
        GRADIENT.__set__(new, GRADIENT.__get__(self))
        new._grad = None if self._grad is None else Plain.copy(self._grad)
    return memo[id(self)]


# ---- properties ----------------------------------------------------------------------------------


def _shape(self: Any) -> Any:
    found = SHAPE.__get__(self)
    return found if inside() else Size(found)


def _set_requires_grad(self: Any, on: bool) -> None:
    if inside():
        GRADIENT.__set__(self, on)
        return
    if on and not self.dtype.is_float:
        raise DTypeError(f"requires_grad of {self.dtype.name}", "only floats have derivatives",
                         "write x.float() first")  # fmt: skip
    if self.op is not None and not on:
        raise GraphError("x.requires_grad = False", "an op made this tensor", "use x.detach()")
    GRADIENT.__set__(self, bool(on))


def _set_data(self: Any, value: Any) -> None:
    if inside() or (value.shape == self.shape and value.dtype is self.dtype):
        inplace.set_data(self, value)
        return
    new = Plain.detach(value)
    self.buf, self.strides, self.offset = new.buf, new.strides, new.offset
    SHAPE.__set__(self, SHAPE.__get__(new))


def _device(self: Any) -> Any:
    name = Plain.device.fget(self)
    return name if inside() else device(name)


PROPERTIES: dict[str, property] = {
    "shape": property(_shape, lambda self, value: SHAPE.__set__(self, value)),
    "requires_grad": property(lambda self: GRADIENT.__get__(self), _set_requires_grad),
    "grad": property(lambda self: tag(self._grad), Plain.grad.fset),
    "data": property(lambda self: tag(Plain.detach(self)), _set_data),
    "device": property(_device),
    "T": property(lambda self: tag(Plain.T.fget(self))),
    "mT": property(lambda self: tag(Plain.transpose(self))),
    "H": property(lambda self: tag(Plain.transpose(self))),
    "grad_fn": property(lambda self: self.op),
    "is_cuda": property(lambda self: False),
    "is_sparse": property(lambda self: False),
    "is_quantized": property(lambda self: False),
    "is_cpu": property(lambda self: self.buf.device == "cpu"),
    "itemsize": property(lambda self: self.dtype.itemsize),
    "nbytes": property(lambda self: self.dtype.itemsize * self.numel()),
    "retains_grad": property(lambda self: self.op is not None and self.op.kept is not None),
    "real": property(lambda self: self),
}


METHODS: dict[str, Any] = {
    "register_hook(self, hook)": register_hook,
    "retain_grad(self)": lambda x: (Plain.retain_grad(x), None)[1],
    "detach_(self)": detach_,
    "type(self, dtype=None, non_blocking=False)": type_,
    "type_as(self, other)": lambda x, y: Plain.cast(x, y.dtype),
    "numpy(self, *, force=False)": numpy,
    "cuda(self, *args)": lambda x, args: device("cuda"),  # raises
    "cpu(self, memory_format=None)": lambda x, how: Plain.to(x, "cpu"),
    "copy_(self, src, non_blocking=False)": lambda x, y, how: Plain.copy_(x, y),
    "share_memory_(self)": lambda x: x,
    "pin_memory(self, device=None)": lambda x, place: x,
    "is_pinned(self)": lambda x: False,
    "is_complex(self)": lambda x: False,
    "is_signed(self)": lambda x: x.dtype.kind in ("int", "float"),
    "is_floating_point(self)": lambda x: x.dtype.is_float,
    "storage_offset(self)": lambda x: x.offset,
    "data_ptr(self)": data_ptr,
    "element_size(self)": lambda x: x.dtype.itemsize,
    "nelement(self)": lambda x: x.numel(),
    "get_device(self)": lambda x: -1,
    "is_same_size(self, other)": lambda x, y: x.shape == y.shape,
    **{f"{name}(self, memory_format=None)": lambda x, how, dtype=dtype: Plain.cast(x, dtype)
       for name, dtype in CASTS.items()},
}  # fmt: skip
