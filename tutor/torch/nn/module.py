"""nn.Module by PyTorch's rules: Parameters and Modules that are attributes, and registered buffers.

Nothing is looked for in lists and dicts. The layers are those of tutor.nn, each a class of its own
here, whose calls tag what goes in and what comes out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from tutor.dtype import DType
from tutor.errors import ArgumentError, DataError, DTypeError
from tutor.nn import Module as PlainModule
from tutor.nn.parameter import ModuleClass as PlainClass
from tutor.nn.parameter import Parameter as PlainParameter
from tutor.nn.parts import move
from tutor.torch.carrier import Parameter, Plain, inside, missing, tag
from tutor.torch.objects import device_of, dtype_of

LAYERS: dict[type, type] = {}  # by our class of a layer, the class here


class IncompatibleKeys(NamedTuple):
    """The names that load_state_dict(strict=False) skipped."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class ModuleClass(PlainClass):
    """Makes what an `__init__` leaves behind this wing's."""

    def __call__(cls, *args: Any, **options: Any) -> Any:  # noqa: N805 - of a metaclass
        made = super().__call__(*args, **options)
        claim(made, False)
        return made


def claim(module: Any, fresh: bool) -> None:
    """Make all Tensors and layers in a module of ours those of this wing, themselves; layers that
    a fresh layer has made inside also start with PyTorch's numbers."""
    inner_one = type(module) in LAYERS
    module.__class__ = LAYERS.get(type(module), type(module))
    for value in list(vars(module).values()):
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, Plain):
                tag(inner)
            elif isinstance(inner, PlainModule) and not getattr(inner, "_claimed", False):
                claim(inner, fresh)
    vars(module)["_claimed"] = True
    if (
        fresh and inner_one and hasattr(module, "reset_parameters")
    ):  # after those of the layers in it
        module.reset_parameters()


def members(module: Any) -> list[tuple[str, Any]]:
    """The attributes of a module, or its layers by name."""
    named = module.named_parts() if hasattr(type(module), "named_parts") else vars(module).items()
    return list(named)


def unnamed(pairs: Iterator[Any]) -> Iterator[Any]:
    """Only the second of each pair."""
    return (value for _, value in pairs)


def hooked(name: str) -> Any:
    """The method that registers such a hook, whose tensors are tagged before it is called."""

    def method(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        if prepend or with_kwargs or always_call:
            found = "tutor's hooks are called in order, with positional inputs"
            asked = f"{name}(prepend=, with_kwargs=, always_call=)"
            raise ArgumentError(asked, found, "leave them out")
        return getattr(PlainModule, name)(self, lambda *given: hook(*map(tag, given)))

    return method


def cast_to(dtype: str) -> Any:
    """`model.half()` and the like."""
    return lambda self: self.to(dtype_of(dtype))


def listed(find: Any) -> Any:
    """A method that gives an iterator, and a list to tutor's own code."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        found = find(self, *args, **options)
        return list(found) if inside() else found

    return method


class Module(PlainModule, metaclass=ModuleClass):
    """The base of all models: `model(x)` calls `forward`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Takes nothing."""
        if args or options:
            raise ArgumentError(f"{type(self).__name__}.__init__", "nn.Module takes no arguments",
                                "write super().__init__()")  # fmt: skip

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        tag(inputs)
        return tag(super().__call__(*inputs, **tag(options)))

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        before = own.get(name)
        if isinstance(before, PlainParameter) and not (
            value is None or isinstance(value, PlainParameter) or inside()
        ):
            raise DTypeError(f"model.{name} = {type(value).__name__}", "a Parameter is there",
                             "give an nn.Parameter or None, or change p.data")  # fmt: skip
        moves = isinstance(value, (PlainParameter, PlainModule))
        if moves and name in own and not isinstance(before, (PlainParameter, PlainModule)):
            del own[name]
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), "named_parts") and "layers" in vars(self) and name in self._modules:
            return self._modules[name]
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise missing("nn.Module", name)

    # ---- its parts -------------------------------------------------------------------------------

    @property
    def _parameters(self) -> dict[str, Any]:
        return {n: tag(v) for n, v in members(self) if isinstance(v, PlainParameter)
                and n not in self.buffers_named}  # fmt: skip

    @property
    def _buffers(self) -> dict[str, Any]:
        return {n: vars(self)[n] for n in self.buffers_named if n in vars(self)}

    @property
    def _modules(self) -> dict[str, Any]:
        return {n: v for n, v in members(self) if isinstance(v, PlainModule)}

    def named_modules(  # type: ignore[override]
        self, memo=None, prefix="", remove_duplicate=True
    ) -> Iterator[Any]:
        """(path, module) of each; "" is the model itself."""
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            path = f"{prefix}.{name}" if prefix else name
            yield from module.named_modules(memo, path, remove_duplicate)

    def named_children(self) -> Iterator[Any]:
        """(name, module) of each direct submodule."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def _named(self, kind: str, prefix: str, recurse: bool, once: bool) -> Iterator[Any]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=once)
        for path, module in modules if recurse else [(prefix, self)]:
            for name, t in getattr(module, kind).items():
                if t is None or (once and id(t) in seen):
                    continue
                seen.add(id(t))
                yield (f"{path}.{name}" if path else name), t

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True) -> Iterator[Any]:
        """(name, parameter) of each."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True) -> Iterator[Any]:
        """(name, buffer) of each."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    modules = listed(lambda self: unnamed(self.named_modules()))
    children = listed(lambda self: unnamed(self.named_children()))
    parameters = listed(lambda self, recurse=True: unnamed(self.named_parameters("", recurse)))
    buffers = listed(lambda self, recurse=True: unnamed(self.named_buffers("", recurse)))

    def get_submodule(self, target: str) -> Any:
        """The module at that path."""
        found = self
        for name in target.split(".") if target else ():
            if name not in found._modules:
                raise AttributeError(f"{type(found).__name__} has no submodule {name!r}")
            found = found._modules[name]
        return found

    def get_parameter(self, target: str) -> Any:
        """The parameter at that path."""
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._parameters[name]

    def get_buffer(self, target: str) -> Any:
        """The buffer at that path."""
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._buffers[name]

    def register_buffer(self, name, tensor, persistent=True) -> None:
        """State that is not trained; saved unless persistent=False."""
        super().register_buffer(name, tensor, persistent)
        tag(vars(self)[name])

    def register_parameter(self, name, param) -> None:
        """`setattr(model, name, param)`"""
        setattr(self, name, param)

    # ---- changing every part ---------------------------------------------------------------------

    def train(self, mode=True) -> Any:
        """Set `training` of every module."""
        self.training = bool(mode)
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """`train(False)`"""
        return self.train(False)

    def apply(self, fn) -> Any:
        """Call `fn(module)` for every module, the inner ones first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *targets, device=None, dtype=None, non_blocking=False, memory_format=None) -> Any:
        """Move the model to a device, cast its floats, or both, in place."""
        for target in targets:
            if isinstance(target, Plain):
                device, dtype = target.device, target.dtype
            elif isinstance(target, DType):
                dtype = target
            elif target is not None:
                device = target
        if dtype is not None:
            wanted = dtype_of(dtype)
            if wanted is None or not wanted.is_float:
                raise DTypeError(f"model.to({wanted})", "only floats are trained", "give a float")
            for t in (*self.parameters(), *self.buffers()):
                if t.dtype.is_float and t.dtype is not wanted:
                    new = Plain.cast(Plain.detach(t), wanted)
                    t._grad = None
                    t.buf, t.strides, t.offset = new.buf, new.strides, new.offset
        if device is not None:
            move(self, device_of(device))
        return self

    def cuda(self, device=None) -> Any:
        """There is no CUDA device here."""
        return self.to(device_of("cuda"))

    half, bfloat16, float, double = map(cast_to, ("float16", "bfloat16", "float32", "float64"))

    def share_memory(self) -> Any:
        """The model: ranks have memory of their own here."""
        return self

    # ---- hooks -----------------------------------------------------------------------------------

    register_forward_hook = hooked("register_forward_hook")
    register_forward_pre_hook = hooked("register_forward_pre_hook")
    register_full_backward_hook = hooked("register_full_backward_hook")

    # ---- saving and showing ----------------------------------------------------------------------

    def state_dict(self, *, destination=None, prefix="", keep_vars=False) -> Any:
        """The parameters and saved buffers by name, over the same memory, without a graph."""
        found: Any = OrderedDict() if destination is None else destination
        for name, t in state_of(self, prefix):
            found[name] = t if keep_vars else tag(Plain.detach(t))
        return found

    def load_state_dict(self, state_dict, strict=True, assign=False) -> Any:
        """Overwrite the Tensors with those of the same names. DataError if they do not fit."""
        own = dict(state_of(self, ""))
        absent = [n for n in own if n not in state_dict]
        extra = [n for n in state_dict if n not in own]
        both = own.keys() & state_dict.keys()
        wrong = [n for n in both if tuple(own[n].shape) != tuple(state_dict[n].shape)]
        if wrong or (strict and (absent or extra)):
            raise DataError(
                f"Error(s) in loading state_dict for {type(self).__name__}",
                f"missing: {absent}; unexpected: {extra}; other shapes: {wrong}",
                "build the model with the sizes that it was saved with, or pass strict=False",
            )
        for name, t in own.items():
            if name in state_dict:
                Plain.assign(t, Plain.detach(state_dict[name]))
        return IncompatibleKeys(absent, extra)

    def extra_repr(self) -> str:
        """What a layer adds to its line of the model's text."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        inner = [f"({n}): {m!r}".replace("\n", "\n  ") for n, m in self._modules.items()]
        lines = [line for line in (self.extra_repr(), *inner) if line]
        if not inner:
            return f"{self._get_name()}({self.extra_repr()})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def state_of(module: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """(name, tensor) of what is saved; a tied parameter has all its names."""
    for name, t in module._parameters.items():
        yield prefix + name, t
    for name, t in module._buffers.items():
        if t is not None and name not in module.not_saved:
            yield prefix + name, t
    for name, inner in module._modules.items():
        yield from state_of(inner, f"{prefix}{name}.")


__all__ = ["Module", "Parameter"]
