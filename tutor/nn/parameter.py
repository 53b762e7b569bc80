"""Parameters: which Tensors of a model are trained, and which are only saved with it.

One rule: a parameter is a `Parameter`. A plain Tensor that requires a gradient becomes one, itself,
where it is an attribute (or an item of a list or a dict there) of

- a Module, when its `__init__` ends. What is set later, in `forward` for example, stays as it is;
- any other object, when the walk over a model's parts finds it.

Buffers are saved, but not trained: of a Module those that it registers, of any other object each
Tensor that is neither a parameter nor the result of an op with a graph.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator
from typing import Any

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import ArgumentError, DTypeError
from tutor.methods.tensor import Tensor

STARTING = "starting_up"  # in the attributes of a Module whose __init__ has not ended


@spelled
class Parameter(Tensor):
    """A trainable Tensor over the same numbers, outside any graph: a new leaf. It stays a parameter
    while it is frozen. DTypeError for anything but a float Tensor."""

    __slots__ = ()

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        x = checks.tensor("Parameter(data)", data)
        self.buf, self.shape, self.strides, self.offset = x.buf, x.shape, x.strides, x.offset
        self._grad = self.op = None
        self.requires_grad = False
        self.requires_grad_(bool(requires_grad))


def is_parameter(t: object) -> bool:
    """Is it a Parameter, or a leaf that requires a gradient of a class made from Tensor?"""
    if isinstance(t, Parameter):
        return True
    return isinstance(t, Tensor) and type(t) is not Tensor and t.requires_grad and t.op is None


def adopt(t: Any) -> None:
    """Make a plain Tensor that requires a gradient a Parameter; anything else stays as it is."""
    if type(t) is Tensor and t.requires_grad and t.op is None:
        t.__class__ = Parameter


class ModuleClass(ABCMeta):
    """The class of Module's class: it makes a module's Tensors Parameters when `__init__` ends.

    It is an ABCMeta, so that a module may also be an abstract base class. Only then does the class
    have what ABCMeta stores in it.
    """

    __instancecheck__, __subclasscheck__ = type.__instancecheck__, type.__subclasscheck__

    def __new__(mcls, name: str, bases: tuple[type, ...], space: Any, **more: Any) -> ModuleClass:
        abstract = any("_abc_impl" in vars(base) for given in bases for base in given.__mro__)
        kind: Any = ABCMeta if abstract else type
        made: ModuleClass = kind.__new__(mcls, name, bases, space, **more)
        return made

    def __call__(cls, *args: Any, **options: Any) -> Any:
        made: Any = cls.__new__(cls, *args, **options)  # type: ignore[arg-type]
        if isinstance(made, cls):
            vars(made)[STARTING] = True
            made.__init__(*args, **options)
            vars(made).pop(STARTING, None)
            for t in tensors_in(vars(made)):
                adopt(t)
        return made


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The Tensors in dicts, lists and tuples in each other, not those of other objects."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(inner)


def check_attribute(module: Any, name: str, value: Any) -> None:
    """DTypeError for an attribute that would silently end a parameter or a buffer."""
    own = vars(module)
    before = own.get(name)
    if STARTING in own:
        adopt(before)
        adopt(value)
    if isinstance(before, Parameter) and value is not None and not is_parameter(value):
        raise not_one(f"{type(module).__name__}.{name} = {checks.said(value)}", "parameter")
    if name in module.buffers_named and not (value is None or isinstance(value, Tensor)):
        raise not_one(f"{type(module).__name__}.{name} = {checks.said(value)}", "buffer")


def not_one(asked: str, kind: str) -> DTypeError:
    """The error for a value that is no parameter (or no buffer), where one is needed."""
    give = "give an nn.Parameter(t), or None; to change its numbers, write .assign(t) or .copy_(t)"
    if kind == "buffer":
        give = "give a Tensor, or None"
    return DTypeError(asked, f"it is the name of a {kind}, and this is none", give)


def attribute(asked: str, name: object) -> str:
    """The name, if it can be an attribute's and part of a path. ArgumentError otherwise."""
    if not isinstance(name, str) or not name or "." in name:
        raise ArgumentError(
            f"{asked}({name!r:.60})", "that is no name", "give a word without a dot"
        )
    return name


def free(module: object, asked: str, name: object, fits: Callable[[Any], bool]) -> str:
    """The name for an attribute. ArgumentError if it is invalid, or has a value of another kind."""
    found = attribute(asked, name)
    before = getattr(module, found, None)
    if before is not None and not fits(before):
        raise ArgumentError(
            f"{asked}({found!r})", f"the model has {checks.said(before)} there", "choose another"
        )
    return found
