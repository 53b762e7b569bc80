"""nn.Module by PyTorch's rules: Parameters and Modules that are attributes, and registered buffers.

Nothing is looked for in lists and dicts. The layers are those of tutor.nn, each a class of its own
here, whose calls tag what goes in and what comes out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from tutor.errors import ArgumentError, DTypeError
from tutor.methods.conversions import is_device
from tutor.nn import Module as PlainModule
from tutor.nn.parameter import ModuleClass as PlainClass
from tutor.nn.parameter import Parameter as PlainParameter
from tutor.nn.parts import named_modules, state_of
from tutor.torch.carrier import Parameter, Plain, inside, missing, tag
from tutor.torch.objects import device_of, dtype_of

LAYERS: dict[type, type] = {}  # by our class of a layer, the class here


class ModuleClass(PlainClass):
    """Makes what an `__init__` leaves behind this wing's. Every module of tutor is a Module."""

    def __instancecheck__(cls, value: object) -> bool:  # noqa: N805 - of a metaclass
        return type.__instancecheck__(PlainModule if cls is Module else cls, value)

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
    if fresh and inner_one and hasattr(module, "reset_parameters"):  # after its layers' own
        module.reset_parameters()


def seconds(pairs: Any) -> Iterator[Any]:
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
        if "layers" in vars(self) and name in self._modules:
            return self._modules[name]
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise missing("nn.Module", name)

    # ---- its parts -------------------------------------------------------------------------------

    def named_parts(self) -> Iterator[tuple[str, Any]]:
        """Its Parameters, buffers and Modules by name: what tutor.nn's walk over a model finds."""
        items = getattr(super(), "named_parts", vars(self).items)()
        kinds = (PlainParameter, PlainModule)
        return ((n, tag(v)) for n, v in items if n in self.buffers_named or isinstance(v, kinds))

    def _parts(self, kind: Any, buffers: bool = False) -> dict[str, Any]:
        known = self.buffers_named
        return {n: v for n, v in self.named_parts()
                if (n in known) == buffers and isinstance(v, kind)}  # fmt: skip

    _parameters = property(lambda self: self._parts(PlainParameter))
    _buffers = property(lambda self: self._parts(object, True))
    _modules = property(lambda self: self._parts(PlainModule))

    def named_modules(self, memo=None, prefix="", remove_duplicate=True) -> Iterator[Any]:  # type: ignore[override]
        """(path, module) of each; "" is the model itself."""
        return named_modules(self, prefix, not remove_duplicate)

    def named_children(self) -> Iterator[Any]:
        """(name, module) of each direct submodule."""
        first: dict[int, Any] = {}
        for pair in self._modules.items():
            first.setdefault(id(pair[1]), pair)
        return iter(first.values())

    def _named(self, trained: bool, prefix: str, recurse: bool, once: bool) -> Iterator[Any]:
        for name, t, is_trained, _ in state_of(self, prefix, every_name=not once):
            own = name.removeprefix(prefix).lstrip(".")
            if is_trained == trained and (recurse or "." not in own):
                yield name, t

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True) -> Iterator[Any]:
        """(name, parameter) of each."""
        return self._named(True, prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True) -> Iterator[Any]:
        """(name, buffer) of each."""
        return self._named(False, prefix, recurse, remove_duplicate)

    def modules(self) -> Any:
        """Each module, the model itself first."""
        return seconds(self.named_modules())

    def children(self) -> Any:
        """Each direct submodule."""
        return seconds(self.named_children())

    def parameters(self, recurse=True) -> Any:
        """Each parameter, of this module alone with recurse=False."""
        return seconds(self.named_parameters("", recurse))

    def buffers(self, recurse=True) -> Any:
        """Each buffer, of this module alone with recurse=False."""
        return seconds(self.named_buffers("", recurse))

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

    def to(self, target=None, dtype=None, non_blocking=False, *, device=None,
           memory_format=None) -> Any:  # fmt: skip
        """Move the model to a device, cast its floats, or both, in place."""
        target, device = (device_of(t) if is_device(t) else t for t in (target, device))
        return super().to(target, dtype_of(dtype), device=device)

    def cuda(self, device=None) -> Any:
        """There is no CUDA device here."""
        return self.to(device_of("cuda"))

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
        for name, t in super().state_dict().items():
            found[prefix + name] = t if keep_vars else tag(Plain.detach(t))
        return found

    def load_state_dict(self, state_dict, strict=True, assign=False) -> Any:
        """Overwrite the Tensors with those of the same names. DataError if they do not fit."""
        return super().load_state_dict(state_dict, strict)

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


__all__ = ["Module", "Parameter"]
