"""Tensor: the class that users create, compute with and differentiate.

    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> x.T.strides, x.T.buf is x.buf
    ((1, 2), True)
    >>> (x * x).sum().backward()
    >>> x.grad
    Tensor([[2., 4.],
            [6., 8.]])

It inherits the box of tutor/core/tensor.py through a chain of classes, each of which adds methods:
operators, constructors, elementwise functions, views, selection, reductions, and so on up to the
protocols of other libraries. Each of these classes calls only its bases; none knows this one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import engine
from tutor.core.tensor import TensorBase
from tutor.methods.interop import Interop


@spelled
class Tensor(Interop):
    """`Tensor(data, shape=None, strides=None, offset=0, requires_grad=False, *, dtype=None)`.

    `data` is a number, (nested) lists, an array or another Tensor, all copied, or a Buffer, which
    is shared and walked by the shape, strides (default: row-major) and offset, counted in elements.
    Raises ShapeError if these reach outside the Buffer, DTypeError if data are not numbers.
    """

    __slots__ = ()

    # ---- gradients -------------------------------------------------------------------------------

    def backward(self, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
                 create_graph: bool = False) -> None:  # fmt: skip
        """Add the gradient of this number to `.grad` of every leaf behind it: Engine.backward."""
        engine.backward(self, gradient, retain_graph, create_graph)

    def retain_grad(self) -> Tensor:
        """Keep `.grad` in the next backward(), although this tensor is not a leaf."""
        if self.op is not None:
            self.op.kept = weakref.ref(self)
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Callable[[], None]:
        """Call `hook(gradient)` in each backward() that reaches this tensor; a result other than
        None replaces the gradient. Returns a function that removes the hook."""
        return engine.hook(self, hook)


TensorBase.public = Tensor
