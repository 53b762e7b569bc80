"""Layers made of layers, and those that only change the shape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self, SupportsIndex

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axis, Sizes
from tutor.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tutor.interop.missing_names import of_object
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module
from tutor.nn.parameter import Parameter, attribute, is_parameter

Layer = Callable[[Tensor], Tensor]


class Row(Module):
    """The base of Sequential and ModuleList: `layers`, a list. Its parts are named by position,
    `0.weight`, or by `names`. A Module that is set as an attribute is the layer of that name: one
    more, or in the place of the one that had it."""

    layers: list[Any]
    names: list[str]  # of the layers; empty if named by position

    def checked(self, layer: Any) -> Any:
        """The layer; an error unless it can be called."""
        return checks.function(f"a layer of {type(self).__name__}", layer)

    def keys(self) -> list[str]:
        """The names of the layers."""
        return self.names or [str(i) for i in range(len(self.layers))]

    def named_parts(self) -> Iterator[tuple[str, Any]]:
        """The layers, and all other attributes."""
        yield from zip(self.keys(), self.layers, strict=True)
        yield from ((n, v) for n, v in vars(self).items() if n not in ("layers", "names"))

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def at(self, place: SupportsIndex) -> int:
        """An index, counted from the front."""
        found, n = layout.whole_number(place, f"{type(self).__name__}[...]"), len(self)
        if not -n <= found < n:
            raise OutOfRangeError(
                f"{type(self).__name__}[{found}]", f"{n} layers", f"give a place from {-n} to "
                f"{n - 1}" if n else "append one first"
            )  # fmt: skip
        return found % n

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        """One layer; for a slice, a module of the same kind that shares these layers."""
        if not isinstance(place, slice):
            return self.layers[self.at(place)]
        part = object.__new__(type(self))
        vars(part).update(vars(self), layers=self.layers[place], names=self.names[place])
        return part

    def __setitem__(self, place: SupportsIndex, layer: Any) -> None:
        self.layers[self.at(place)] = self.checked(layer)

    def __delitem__(self, place: SupportsIndex | slice) -> None:
        found = place if isinstance(place, slice) else self.at(place)
        for row in (self.layers, self.names) if self.names else (self.layers,):
            del row[found]

    def __getattr__(self, name: str) -> Any:
        """A layer by its name."""
        if "layers" in vars(self) and name in self.keys():
            return self.layers[self.keys().index(name)]
        raise of_object(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.keys() if "layers" in vars(self) else None
        if known is None or not (isinstance(value, Module) or name in known):
            super().__setattr__(name, value)
        elif name in known:
            self.layers[known.index(name)] = self.checked(value)
        else:
            self.layers.append(self.checked(value))
            self.names = [*known, name] if self.names or name != str(len(known)) else []

    def __delattr__(self, name: str) -> None:
        if name in vars(self):
            super().__delattr__(name)
        elif name in self.keys():
            del self[self.keys().index(name)]
        else:
            getattr(self, name)  # raises

    def add_module(self, name: str, module: Any) -> None:
        """Append a layer of that name, or put it in the place of the one that has it."""
        attribute("add_module", name)
        if name in self.keys() or isinstance(module, Module):
            super().add_module(name, module)
        else:
            self.append(module)
            self.names = [*self.keys()[:-1], name]

    register_module = add_module

    def append(self, module: Any) -> Self:
        """Append a layer. Returns self. DTypeError if it cannot be called (in a ParameterList: if
        it is no Tensor)."""
        return self.insert(len(self), module)

    def insert(self, index: int, module: Any) -> Self:
        """Insert a layer before that index, as in a list. Returns self."""
        place = layout.whole_number(index, "insert(index)")
        self.layers.insert(place, self.checked(module))
        if self.names:
            counted = map(str, itertools.count(len(self.names)))
            self.names.insert(place, next(name for name in counted if name not in self.names))
        return self

    def extend(self, modules: Iterable[Any]) -> Self:
        """Append all of these. Returns self."""
        for module in several("extend(modules)", modules):
            self.append(module)
        return self

    __iadd__ = extend

    def __add__(self, other: Iterable[Any]) -> Self:
        """Another row: these layers, then the others."""
        both: Self = self[:]
        return both.extend(other)


def several(asked: str, given: Any) -> list[Any]:
    if isinstance(given, (str, bytes, Mapping, Tensor)) or not hasattr(given, "__iter__"):
        raise DTypeError(asked, f"{checks.said(given)} is no list", "give a list of layers")
    return list(given)


@spelled
class Sequential(Row):
    """One layer after another: z = layers[-1](... layers[1](layers[0](x)))

    `Sequential(a, b, ...)`, or `Sequential({"first": a, "second": b})`. The layers are also
    attributes, and a Module set as one is a layer: `model.head = nn.Linear(8, 2)`. `model[0]` is a
    layer, `model[1:]` a Sequential of the same layers under the same names. DTypeError for layers
    that cannot be called.
    """

    def __init__(self, *layers: Layer | Mapping[str, Layer]) -> None:
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)):
            raise DTypeError(
                "Sequential([...])", "the layers are in one list", "write Sequential(*layers)"
            )
        self.names = []
        if len(layers) == 1 and isinstance(layers[0], Mapping):
            self.names = [attribute("Sequential", name) for name in layers[0]]
            layers = tuple(layers[0].values())
        self.layers = [self.checked(layer) for layer in layers]

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        part = super().__getitem__(place)
        if isinstance(place, slice):
            part.names = self.keys()[place]
        return part

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@spelled
class ModuleList(Row):
    """Layers in a list: `model.blocks[0]`, `for block in model.blocks`. A plain list also works."""

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        self.names = []
        self.layers = [self.checked(module) for module in several("ModuleList", modules)]


@spelled
class ParameterList(Row):
    """Parameters in a list; a plain Tensor is made one. A plain list also works."""

    def __init__(self, values: Iterable[Tensor] = ()) -> None:
        self.names = []
        self.layers = [self.checked(value) for value in several("ParameterList", values)]

    def checked(self, layer: Any) -> Any:
        """The Tensor as Parameter; DTypeError for anything else."""
        t = checks.tensor("a value of ParameterList", layer)
        return t if is_parameter(t) else Parameter(t)


@spelled
class ModuleDict(Module):
    """Layers by name, `model.heads["left"]` or `model.heads.left`. A plain dict also works."""

    layers: dict[str, Any]

    def __init__(self, modules: Mapping[str, Any] | None = None) -> None:
        self.layers = {}
        self.update(modules or {})

    def __getattr__(self, name: str) -> Any:
        """A layer by its name."""
        if name in vars(self).get("layers", ()):
            return self.layers[name]
        raise of_object(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """A Module that is set as an attribute is the layer of that name."""
        if "layers" in vars(self) and (isinstance(value, Module) or name in self.layers):
            self[name] = value
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.layers:
            del self[name]
        else:
            super().__delattr__(name)

    def add_module(self, name: str, module: Any) -> None:
        """`model[name] = module`"""
        self[name] = module

    register_module = add_module

    def named_parts(self) -> Iterator[tuple[str, Any]]:
        """The layers, and all other attributes."""
        yield from self.layers.items()
        yield from ((name, v) for name, v in vars(self).items() if name != "layers")

    def update(self, modules: Mapping[str, Any]) -> None:
        """Add all of these, replacing layers of the same names. DTypeError for anything but a dict
        of layers, ArgumentError for a name with a dot."""
        if not isinstance(modules, Mapping):
            raise DTypeError("ModuleDict", checks.said(modules), "give a dict of layers by name")
        for name, module in modules.items():
            self[name] = module

    def __setitem__(self, key: str, module: Any) -> None:
        self.layers[attribute("ModuleDict", key)] = checks.function("a module", module)

    def _known(self, key: str) -> str:
        if key not in self.layers:
            names = ", ".join(self.layers) or "empty"
            raise ArgumentError(
                f"ModuleDict[{key!r:.60}]", f"it is {names}", "give one of its names"
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return self.layers[self._known(key)]

    def __delitem__(self, key: str) -> None:
        del self.layers[self._known(key)]

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.layers)

    def __contains__(self, key: str) -> bool:
        return key in self.layers

    def keys(self) -> list[str]:
        """The names, in the order of insertion."""
        return list(self.layers)

    def values(self) -> list[Any]:
        """The layers, in that order."""
        return list(self.layers.values())

    def items(self) -> list[tuple[str, Any]]:
        """(name, layer) of each, in that order."""
        return list(self.layers.items())


@spelled
class Identity(Module):
    """y = x"""

    def __init__(self) -> None:
        """Takes no settings."""

    def forward(self, x: Tensor) -> Tensor:
        return x


@spelled
class Flatten(Module):
    """(N, ...) -> (N, product of the rest): the axes from `start` to `end` become one."""

    def __init__(self, start: int = 1, end: int = -1) -> None:
        self.start = layout.whole_number(start, "Flatten(start=...)")
        self.end = layout.whole_number(end, "Flatten(end=...)")

    def forward(self, x: Tensor) -> Tensor:
        checks.at_least("Flatten", x, 1)
        if (self.start, self.end) == (1, -1):  # (N,) has no rest: (N, 1)
            return x.reshape((x.shape[0], math.prod(x.shape[1:])))
        return x.flatten(self.start, self.end)


@spelled
class Unflatten(Module):
    """The axis `axis` becomes several, of `unflattened_size`: the reverse of Flatten. ShapeError if
    the sizes do not multiply to the axis's size."""

    def __init__(self, axis: Axis, unflattened_size: Sizes) -> None:
        self.axis = layout.whole_number(axis, "Unflatten(axis=...)")
        self.sizes = layout.whole_numbers(unflattened_size, "Unflatten(unflattened_size=...)")

    def forward(self, x: Tensor) -> Tensor:
        axis = layout.axis_of(self.axis, checks.tensor("Unflatten", x).ndim)
        whole = x.shape[axis]
        if -1 not in self.sizes and math.prod(self.sizes) != whole:
            raise ShapeError(
                f"Unflatten of axis {self.axis}, of size {whole}, to {self.sizes}",
                f"that is {math.prod(self.sizes)} numbers", "their product must be the axis's size"
            )  # fmt: skip
        return x.reshape((*x.shape[:axis], *self.sizes, *x.shape[axis + 1 :]))
