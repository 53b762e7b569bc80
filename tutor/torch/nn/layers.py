"""The layers of tutor.nn with PyTorch's signatures, first numbers, and `inplace=True`."""

from __future__ import annotations

import math
from typing import Any

import tutor
from tutor import nn as ours
from tutor.nn import init
from tutor.torch.carrier import Plain, tag
from tutor.torch.nn import functional as F  # noqa: N812
from tutor.torch.nn.module import LAYERS, Module, ModuleClass, claim
from tutor.torch.nn.table import LAYERS as TEXT
from tutor.torch.signatures import Adapter, changed, unable
from tutor.torch.table import rows

CLASSES: dict[str, Any] = {}


def layer(name: str, text: str) -> Any:
    """The class of that name: tutor's, with PyTorch's signature."""
    base: Any = getattr(ours, name)
    adapter = Adapter(name, f"self, {text}" if text else "self", base.__init__)

    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        given = adapter.given((self, *args), options)
        values = adapter.values(given, "self")
        if values.get("dtype", 0) is None:
            del values["dtype"]
        activation = values.get("activation")
        if callable(activation):
            values["activation"] = getattr(activation, "__name__", activation)
        base.__init__(self, **values)
        if given.get("inplace"):
            self.inplace = True
        claim(self, True)
        if hasattr(self, "reset_parameters"):
            self.reset_parameters()

    space: dict[str, Any] = {"__init__": __init__, "__module__": __name__, "__doc__": base.__doc__}
    if "inplace" in adapter.defaults:
        space |= {"inplace": False, "forward": overwriting(name, base.forward)}
    space |= STARTS.get(name, {})
    return ModuleClass(name, (Module, base), space)


def overwriting(name: str, forward: Any) -> Any:
    """The forward of a layer that may overwrite its input."""

    def run(self: Any, x: Any) -> Any:
        if self.inplace:
            return changed(name, lambda t: forward(self, t))(x)
        return forward(self, x)

    return run


# ---- the first numbers, where PyTorch's differ ---------------------------------------------------


def uniform(t: Any, bound: float) -> None:
    """Uniform in +-bound."""
    if t is not None:
        init.uniform_(t, -bound, bound)


def kaiming(self: Any) -> None:
    """Weights and bias uniform in +-1/sqrt(fan_in)."""
    fan_in = math.prod(self.weight.shape[1:])
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    uniform(self.weight, bound)
    uniform(self.bias, bound)


def embedding_start(self: Any) -> None:
    """Normal with variance 1; the padding's row is 0."""
    init.normal_(self.weight)
    if self.padding_idx is not None:
        with tutor.no_grad():
            self.weight[self.padding_idx] = 0.0


def attention_start(self: Any) -> None:
    """Glorot-uniform projections, biases of 0."""
    init.xavier_uniform_(self.in_proj_weight)
    if self.in_proj_bias is not None:
        init.zeros_(self.in_proj_bias)
        init.zeros_(self.out_proj.bias)


CONVOLUTIONS = [f"{kind}{n}d" for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)]
STARTS: dict[str, dict[str, Any]] = {
    name: {"reset_parameters": kaiming} for name in ("Linear", *CONVOLUTIONS)
} | {
    "Embedding": {"reset_parameters": embedding_start},
    "MultiheadAttention": {"reset_parameters": attention_start},
}  # fmt: skip


def pooled(name: str) -> Any:
    """The forward of a max pool: the function of nn.functional, whose gradient is PyTorch's."""
    function = getattr(F, name)
    if name.startswith("adaptive"):
        return lambda self, x: function(x, self.output_size, self.return_indices)
    return lambda self, x: function(x, **self.options)


def square_mask(sz, device=None, dtype=None):
    """-inf above the diagonal: no place sees a later one."""
    return tag(Plain.triu(Plain.full((sz, sz), -math.inf), 1))


for _n in (1, 2, 3):
    STARTS[f"MaxPool{_n}d"] = {"forward": pooled(f"max_pool{_n}d")}
    STARTS[f"AdaptiveMaxPool{_n}d"] = {"forward": pooled(f"adaptive_max_pool{_n}d")}
STARTS["BCELoss"] = {
    "forward": lambda self, input, target: F.binary_cross_entropy(
        input, target, self.weight, reduction=self.reduction
    )
}
STARTS["Transformer"] = {"generate_square_subsequent_mask": staticmethod(square_mask)}


# ---- containers ----------------------------------------------------------------------------------


class Sequential(Module, ours.Sequential):
    """One layer after another."""

    def __init__(self, *layers: Any) -> None:
        ours.Sequential.__init__(self, *layers)

    def forward(self, input):
        """The result of the last layer."""
        for module in self.layers:
            input = module(input)
        return input


class ModuleList(Module, ours.ModuleList):
    """Modules in a list."""

    def __init__(self, modules: Any = None) -> None:
        ours.ModuleList.__init__(self, () if modules is None else modules)


class ModuleDict(Module, ours.ModuleDict):
    """Modules by name."""

    def __init__(self, modules: Any = None) -> None:
        ours.ModuleDict.__init__(self, dict(modules) if modules else None)

    def pop(self, key: str) -> Any:
        """Remove a module, and return it."""
        found = self[key]
        del self[key]
        return found


class ParameterList(Module, ours.ParameterList):
    """Parameters in a list."""

    def __init__(self, values: Any = None) -> None:
        ours.ParameterList.__init__(self, () if values is None else list(values))

    def checked(self, layer: Any) -> Any:
        """The Tensor as a Parameter of this wing."""
        return tag(ours.ParameterList.checked(self, layer))


class Identity(Module):
    """y = x, whatever it was made with."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Takes anything."""

    def forward(self, input):
        """x"""
        return input


for _name, _text, _ in rows(TEXT):
    CLASSES[_name] = layer(_name, _text)
    LAYERS[getattr(ours, _name)] = CLASSES[_name]
for _class in (Sequential, ModuleList, ModuleDict, ParameterList, Identity):
    CLASSES[_class.__name__] = _class
    LAYERS[getattr(ours, _class.__name__)] = _class


def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, **options):
    """An Embedding with these rows."""
    for name, value in options.items():
        raise unable("Embedding.from_pretrained", name, value, None)
    made = cls(*embeddings.shape, padding_idx=padding_idx)
    Plain.assign(made.weight, Plain.detach(embeddings))
    made.weight.requires_grad_(not freeze)
    return made


_from_pretrained: Any = from_pretrained
CLASSES["Embedding"].from_pretrained = classmethod(_from_pretrained)
