"""Modules: objects that hold parameters, found by walking attributes. No base class is needed.

A Parameter is what `parameters()` returns and an optimizer moves; a buffer is state that is saved
with it, as a batch norm's running mean. tutor.nn.parameter has the rule for which Tensor is which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DeviceLike, DTypeLike, TensorLike
from tutor.dtype import of as dtype_of
from tutor.errors import DataError, DTypeError, MissingForwardError, OutOfRangeError
from tutor.interop import from_torch
from tutor.interop.pytorch import is_foreign
from tutor.methods.tensor import Tensor
from tutor.nn import parts
from tutor.nn.hooks import Hook, HookHandle, Hooks
from tutor.nn.parameter import ModuleClass, check_attribute, free, is_parameter, not_one
from tutor.nn.summary import Summary


@spelled
def get_parameters(model: object) -> list[Tensor]:
    """The parameters of a model, as an optimizer takes them, frozen ones too.

    `model` is any object: the walk visits its attributes, and lists, tuples and dicts in them.
    """
    return [state.tensor for state in parts.state_of(model) if state.trained]


@spelled
def state_dict(model: object) -> dict[str, Tensor]:
    """The parameters and buffers of a model by name, as they are (not copies). A Tensor that is in
    it twice (tied weights) has both names."""
    return {s.name: s.tensor for s in parts.state_of(model, every_name=True) if s.saved}


class Loaded(NamedTuple):
    """The names that load_state_dict(strict=False) skipped."""

    missing_keys: list[str]
    unexpected_keys: list[str]


@spelled
def load_state_dict(model: object, state: Mapping[str, TensorLike], strict: bool = True) -> Loaded:
    """Overwrite the model's Tensors with those of the same names, and return the names that have no
    counterpart. The state may also contain arrays, or be a PyTorch model's state_dict().

    DataError, and nothing is changed, if names or shapes differ. strict=False skips names that only
    one side has. A Tensor that is in the model twice (tied weights) may have one of its names in
    the state, or all of them with the same numbers.
    """
    own = state_dict(model)
    found: Any = state
    if isinstance(state, Mapping):
        found = {n: from_torch(t) if is_foreign(t) else t for n, t in state.items()}
    if not (isinstance(state, Mapping) and all(isinstance(t, Tensor) for t in found.values())):
        raise DTypeError(
            "to load a state into a model",
            f"{checks.said(state)}",
            "give a dict of Tensors by name",
        )
    both = [name for name in own if name in found]
    first: dict[int, str] = {}  # of the names that a Tensor has in the model, the first one found
    for name in both:
        first.setdefault(id(own[name]), name)
    missing = sorted(n for n in own.keys() - found.keys() if id(own[n]) not in first)
    extra = sorted(found.keys() - own.keys())
    extra += [n for n in both if not alike(found, n, first[id(own[n])])]
    wrong = [n for n in both if own[n].shape != found[n].shape]
    if (strict and (missing or extra)) or wrong:
        shapes = "; ".join(f"{n} is {found[n].shape} there, {own[n].shape} here" for n in wrong)
        raise DataError(
            "to load a state into a model",
            f"missing: {missing or 'none'}; not in the model: {extra or 'none'}; {shapes}",
            "build the model with the sizes it was saved with",
        )
    for name in both:
        own[name].assign(found[name])
    return Loaded(missing, extra)


def alike(state: Mapping[str, Tensor], name: str, other: str) -> bool:
    """Do both names have the same numbers in the state?"""
    a, b = state[name].detach(), state.get(other)
    return b is not None and a.shape == b.shape and bool(((a == b) | (a != a) & (b != b)).all())


@spelled
def train(model: object, mode: bool = True) -> None:
    """Set every part of a model to training (or evaluation) mode, which changes dropout and batch
    norm. Works on any object; `Module.train` and `Module.eval` are the same as methods."""
    for _, part in parts.named_modules(model):
        if isinstance(part, Module) or hasattr(part, "training"):
            part.training = bool(mode)


@spelled
class Module(metaclass=ModuleClass):
    """An optional base class: `model(x)` calls `forward`, and the functions of `nn` for models
    (state_dict, for example) are also methods.
    It prints as the list of its layers, and in a notebook as a table: see tutor.nn.summary.

    Calling `super().__init__()` is optional: a Module's own attributes start with the class's
    defaults below.
    """

    training: bool = True  # set by train() and eval()
    hooks: Hooks | None = None  # created with the first hook
    buffers_named: tuple[str, ...] = ()  # by register_buffer: never trained
    not_saved: tuple[str, ...] = ()  # those of them with persistent=False

    def __call__(self, *inputs: Any, **options: Any) -> Tensor:
        if self.hooks is None:
            return self.forward(*inputs, **options)
        result: Tensor = self.hooks.call(self, inputs, options)
        return result

    def forward(self, *inputs: Any) -> Tensor:
        """Defined by a subclass: `model(x)` calls it, between the hooks. MissingForwardError if it
        is missing."""
        kind = type(self).__name__
        raise MissingForwardError(
            f"{kind}()(...)", f"{kind} has no forward(self, ...)", "write one: it is what a call of"
            " the module computes"
        )  # fmt: skip

    # ---- its parts -------------------------------------------------------------------------------

    def parameters(self) -> list[Tensor]:
        """The parameters, frozen ones too, each once."""
        return get_parameters(self)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """(name, parameter) of each, as in `encoder.0.weight`; all names start with `prefix`."""
        return ((name, t) for name, t, trained, _ in parts.state_of(self, prefix) if trained)

    def buffers(self) -> list[Tensor]:
        """The state that is not trained."""
        return [t for _, t in self.named_buffers()]

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) of each; all names start with `prefix`."""
        return ((name, t) for name, t, trained, _ in parts.state_of(self, prefix) if not trained)

    def modules(self) -> list[Any]:
        """The model itself, and every layer or other object with attributes in it, each once."""
        return [part for _, part in self.named_modules()]

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """(path, module) of each, as in `encoder.0`; "" is the model itself."""
        return parts.named_modules(self, prefix)

    def children(self) -> list[Any]:
        """The direct submodules: those inside no other submodule."""
        return [part for _, part in self.named_children()]

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """(path, module) of each child."""
        inside: tuple[str, ...] = ()
        for path, part in self.named_modules():
            if path and not path.startswith(inside):
                inside = (*inside, f"{path}.")
                yield path, part

    def get_submodule(self, target: str) -> Any:
        """The module at that path, as in `encoder.0`. OutOfRangeError if there is none."""
        found = dict(self.named_modules())
        if not isinstance(target, str) or target not in found:
            names = ", ".join(name for name in found if name) or "none"
            raise OutOfRangeError(
                f"get_submodule({target!r})", f"the modules are {names}", "give one of these paths"
            )
        return found[target]

    def add_module(self, name: str, module: Any) -> None:
        """`setattr(model, name, module)`. ArgumentError for an invalid name, or one with a dot."""
        setattr(self, free(self, "add_module", name, callable), module)

    register_module = add_module

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """`setattr(model, name, param)` for a Parameter or None. DTypeError for anything else."""
        asked = "register_parameter(param)"
        if param is not None and not is_parameter(checks.tensor(asked, param)):
            raise not_one(f"register_parameter({name!r:.60}, a Tensor)", "parameter")
        setattr(self, free(self, "register_parameter", name, is_parameter), param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Set an attribute that is state: never trained, and saved unless persistent=False. It is
        the Tensor without its graph. DTypeError for anything but a Tensor or None."""
        if tensor is not None:
            tensor = checks.tensor("register_buffer(tensor)", tensor).detach()
        known = self.buffers_named
        setattr(self, free(self, "register_buffer", name, lambda _: name in known), tensor)
        self.buffers_named = (*(n for n in known if n != name), name)
        not_saved = tuple(n for n in self.not_saved if n != name)
        self.not_saved = not_saved if persistent else (*not_saved, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """DTypeError for a plain Tensor in the place of a parameter."""
        check_attribute(self, name, value)
        super().__setattr__(name, value)

    # ---- changing every part ---------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set `training` of every part to `mode`. Returns the model."""
        train(self, mode)
        return self

    def eval(self) -> Self:
        """`train(False)`: dropout drops nothing, batch norm uses its running statistics."""
        return self.train(False)

    def apply(self, fn: Callable[[Any], object]) -> Self:
        """Call `fn(module)` for every module in it, the inner ones first. Returns the model."""
        checks.function("Module.apply(fn)", fn)
        for child in self.children():
            if isinstance(child, Module):
                child.apply(fn)
            else:
                fn(child)
        fn(self)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear all gradients (or, with set_to_none=False, overwrite them with 0)."""
        for p in self.parameters():
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad.zero_()

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze all parameters, or make them trainable (again). Returns the model."""
        for p in self.parameters():
            p.requires_grad_(bool(requires_grad))
        return self

    def to(
        self, target: Tensor | DTypeLike | DeviceLike | None = None,
        dtype: DTypeLike | None = None, *, device: DeviceLike | None = None,
    ) -> Self:  # fmt: skip
        """Move every Tensor of the model, in place, to another device, cast its parameters and
        buffers (the floats) to another float dtype, or both: `to("opencl")`, `to("float64")`,
        `to("opencl", "float64")`, and `to(x)` for the Tensor x's device and dtype. Returns the
        model.

        Gradients move to the other device; a cast drops them. An optimizer's state follows to the
        device at its next step but keeps its dtype, so create the optimizer after a cast.
        DeviceError, DTypeError."""
        place, wanted = parts.wanted(target, dtype, device)
        if wanted is not None:
            self._cast(wanted)
        if place is not None:
            parts.move(self, place)
        return self

    def _cast(self, dtype: DTypeLike) -> None:
        wanted = dtype_of(dtype)
        if not wanted.is_float:
            raise DTypeError(
                f"a model in {wanted.name}", "only floats can be trained", "give a float dtype"
            )
        for _, t, *_ in parts.state_of(self):
            if t.dtype.is_float and t.dtype is not wanted:
                new = t.detach().cast(wanted)
                t.grad = None
                t.buf, t.strides, t.offset = new.buf, new.strides, new.offset

    def cpu(self) -> Self:
        """`to("cpu")`"""
        return self.to("cpu")

    def float(self) -> Self:
        """`to("float32")`"""
        return self.to("float32")

    def double(self) -> Self:
        """`to("float64")`"""
        return self.to("float64")

    def half(self) -> Self:
        """`to("float16")`"""
        return self.to("float16")

    def bfloat16(self) -> Self:
        """`to("bfloat16")`"""
        return self.to("bfloat16")

    # ---- hooks -----------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(module, inputs)` before each call of this module; its return value, unless
        None, replaces the inputs. `handle.remove()` removes the hook."""
        self.hooks = self.hooks or Hooks()
        return self.hooks.add(self.hooks.before, hook)

    def register_forward_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(module, inputs, output)` after each call; its return value, unless None,
        replaces the output."""
        self.hooks = self.hooks or Hooks()
        return self.hooks.add(self.hooks.after, hook)

    def register_full_backward_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(module, grad_input, grad_output)` in each backward() that passes this module:
        see tutor.nn.hooks.Passing."""
        self.hooks = self.hooks or Hooks()
        return self.hooks.add(self.hooks.backward, hook)

    # ---- saving and showing ----------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and buffers by name, as they are (not copies)."""
        return state_dict(self)

    def load_state_dict(self, state_dict: Mapping[str, TensorLike], strict: bool = True) -> Loaded:
        """Overwrite the Tensors with those of the same names: nn.load_state_dict(model, state).
        DataError, and nothing is changed, if names or shapes differ."""
        return load_state_dict(self, state_dict, strict)

    def __repr__(self) -> str:
        return repr(Summary(self))

    def _repr_html_(self) -> str:
        return Summary(self)._repr_html_()
