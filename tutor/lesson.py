"""The names of first lessons, spelled as these spell them.

    from tutor.lesson import *

    W1, W2 = Tensor.randn(784, 128) * 0.02, Tensor.randn(128, 10) * 0.02
    for x, y in batches(mnist):
        ...

Everything is tutor's own under another name, but for three things: `mnist`, whose images are rows
of 784 numbers from 0 to 1; `custom_op` and `Context`, an op from two functions. Importing this
module also makes the import paths of lessons work: `from tutor.tensor import Tensor`,
`from tinygrad.nn import Linear` (unless tinygrad itself is installed: its own names are then used,
and a warning says so). `tutor.tensor([1])` and `tutor.jit(f)` stay what they are.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from typing import Any

import tutor
from tutor import Buffer, Tensor, backward, data, nn, ops, optim
from tutor.backends import devices
from tutor.core.op import Op
from tutor.errors import GraphError
from tutor.functions.custom import Function
from tutor.nn import Conv2d, Linear, get_parameters
from tutor.optim import SGD, Adam
from tutor.programs.jit import jit as TinyJit  # noqa: N812 - as lessons call it

__all__ = [
    "SGD", "Adam", "Add", "Buffer", "Context", "Conv2d", "CrossEntropy", "Device", "Linear",
    "MatMul", "Mul", "Op", "ReLU", "Softmax", "Tensor", "TinyJit", "backward", "batches",
    "custom_op", "get_parameters", "mnist", "nn", "optim", "tutor",
]  # fmt: skip

Add, CrossEntropy, MatMul, Mul, ReLU, Softmax = (
    getattr(ops, name) for name in ("Add", "CrossEntropy", "MatMul", "Mul", "ReLU", "Softmax")
)

# ---- data ----------------------------------------------------------------------------------------


class Digits:
    """MNIST, or tutor's own digits where there is none, loaded on first use: float32 (n, 784) from
    0 to 1 and labels uint8 (n,). `test` is the test set in the same form."""

    def __init__(self, split: str) -> None:
        self.split = split

    @functools.cached_property
    def _both(self) -> tuple[Tensor, Tensor]:
        found = _both_splits()
        images, labels = found[f"{self.split}_images"], found[f"{self.split}_labels"]
        return images.reshape(len(images), -1).cast("float32") / 255, labels

    @property
    def images(self) -> Tensor:
        return self._both[0]

    @property
    def labels(self) -> Tensor:
        return self._both[1]

    @functools.cached_property
    def test(self) -> Digits:
        return Digits("test")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: Any) -> tuple[Tensor, Tensor]:
        return self.images[i], self.labels[i]


@functools.cache
def _both_splits() -> dict[str, Any]:
    return data.load()._asdict()


mnist = Digits("train")


def batches(
    dataset: Any, size: int = 64, shuffle: bool = True, seed: int = 0, epoch: int = 0
) -> Iterator[tuple[Tensor, Tensor]]:
    """(x, y) of `size` rows each from a data set that has `images` and `labels`, such as `mnist`,
    or from a pair of them; the last batch may be shorter: `data.batches`."""
    images, labels = dataset if isinstance(dataset, tuple) else (dataset.images, dataset.labels)
    return data.batches(images, labels, size=size, shuffle=shuffle, seed=seed, epoch=epoch)


# ---- ops from functions --------------------------------------------------------------------------


class Context(Op, abstract=True):
    """`out._ctx = Context([x], backward)`: `out` was computed from x, in any way, and `backward(g)`
    returns the gradient of x, given that of `out` (of several parents, a tuple of them).

    It is a node like any other. Nobody can compare its formula with what computed `out`; for an op
    of `custom_op` the first backward does. GraphError if the parents are not Tensors.
    """

    name, differentiable = "context", True

    def __init__(self, parents: Any, backward: Callable[[Tensor], Any]) -> None:
        others = [type(x).__name__ for x in parents if not isinstance(x, Tensor)]
        if others:
            raise GraphError(
                "Context(parents, backward)", f"{', '.join(others)} among the parents",
                "give a list of the Tensors that the result was computed from",
            )  # fmt: skip
        super().__init__(*parents)
        self.formula = backward

    def backward(self, g: Any, /, *saved: Any) -> Any:
        return self.formula(g)


def custom_op(
    forward: Callable[..., Tensor], backward: Callable[..., Any]
) -> Callable[..., Tensor]:
    """An op from two functions: `forward(*xs)` computes a Tensor without a graph, and
    `backward(g, *xs)` returns the gradient of each x, given that of the result.

    Its first backward is compared with `forward`, and a RuntimeWarning reports a difference
    (tutor/functions/doubt.py); `tutor.testing.gradcheck` compares it wherever you like.
    """

    def run(ctx: Function, *xs: Tensor) -> Tensor:
        ctx.save_for_backward(*xs)
        return forward(*xs)

    def differentiate(ctx: Function, g: Tensor) -> Any:
        return backward(g, *ctx.saved_tensors)

    methods = {"forward": staticmethod(run), "backward": staticmethod(differentiate)}
    cls: Any = type(forward.__name__, (Function,), methods | {"__module__": forward.__module__})
    apply: Callable[..., Tensor] = cls.apply
    return apply


# ---- devices -------------------------------------------------------------------------------------


class DeviceNames:
    """`Device.DEFAULT`: the device on which Tensors are made; it may be set, in any case."""

    @property
    def DEFAULT(self) -> str:  # noqa: N802 - as lessons call it
        return devices.of(None).upper()

    @DEFAULT.setter
    def DEFAULT(self, name: str) -> None:  # noqa: N802
        tutor.set_default_device(name.lower())


Device = DeviceNames()


# ---- import paths --------------------------------------------------------------------------------

PATHS: dict[str, tuple[str, ...]] = {
    "": ("Tensor", "TinyJit", "Device", "nn"),
    ".tensor": ("Tensor",),
    ".jit": ("TinyJit",),
    ".device": ("Device",),
    ".nn": ("Linear", "Conv2d", "optim"),
    ".nn.optim": ("SGD", "Adam"),
    ".nn.state": ("get_parameters",),
}  # the module's name below the package: what is imported from there


def _open(package: str) -> None:
    """Have `from package.tensor import Tensor` and its like find these names. A module stands in
    sys.modules alone and is no attribute of the package: `tutor.tensor` stays the function."""
    for path, names in PATHS.items():
        name = package + path
        if name not in sys.modules:
            sys.modules[name] = module_from_spec(ModuleSpec(name, None, is_package=True))
        inside = vars(sys.modules[name])
        inside.update({name: globals()[name] for name in names if name not in inside})


_open("tutor")
if find_spec("tinygrad") is None:
    _open("tinygrad")
else:
    warnings.warn("tinygrad is installed: `import tinygrad` finds it, and not tutor", stacklevel=2)
