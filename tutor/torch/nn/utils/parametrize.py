"""torch.nn.utils.parametrize: a parameter computed from others."""

from __future__ import annotations

from typing import Any

from tutor.torch.carrier import Parameter, watch
from tutor.torch.nn.layers import ModuleDict, ModuleList
from tutor.torch.nn.module import ModuleClass


class ParametrizationList(ModuleList):
    """The steps from `original` (or `original0`, `original1`, ...) to the parameter."""

    def __init__(self, steps: Any, original: Any) -> None:
        super().__init__(steps)
        for step in reversed(list(steps)):
            original = step.right_inverse(original) if hasattr(step, "right_inverse") else original
        several = isinstance(original, (tuple, list))
        row = enumerate(original) if several else [("", original)]
        self.stored = [f"original{i}" for i, _ in row]
        for name, t in zip(self.stored, original if several else [original], strict=True):
            made = t if isinstance(t, Parameter) else Parameter(t.detach())
            setattr(self, name, made)

    def forward(self):
        """The parameter's value."""
        first, *rest = list(self)
        value = first(*(getattr(self, name) for name in self.stored))
        for step in rest:
            value = step(value)
        return value


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """`module.tensor_name` is `parametrization(original)` from now on, at each access."""
    if not is_parametrized(module):
        kind: Any = type(module)
        module.__class__ = ModuleClass(f"Parametrized{kind.__name__}", (kind,), {})
        module.parametrizations = ModuleDict()
    if tensor_name in module.parametrizations:
        found = module.parametrizations[tensor_name]
        found.append(parametrization)
        return module
    original = vars(module).pop(tensor_name)
    module.parametrizations[tensor_name] = ParametrizationList([parametrization], original)
    setattr(type(module), tensor_name, property(lambda self: self.parametrizations[tensor_name]()))
    return module


def is_parametrized(module, tensor_name=None):
    """Is the parameter of that name (or any) computed?"""
    found = vars(module).get("parametrizations")
    return found is not None and (tensor_name is None or tensor_name in found)


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """A Parameter again: the present value, or the original."""
    found = module.parametrizations[tensor_name]
    value = found().detach() if leave_parametrized else found.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    setattr(module, tensor_name, value if isinstance(value, Parameter) else Parameter(value))
    if not module.parametrizations:
        del module.parametrizations
        module.__class__ = type(module).__mro__[1]
    return module


watch(__name__)
