"""Tensor: what a user makes, calculates with, and asks for gradients.

    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> x.T.strides, x.T.buf is x.buf
    ((1, 2), True)
    >>> (x * x).sum().backward()
    >>> x.grad
    Tensor([[2., 4.],
            [6., 8.]])

It inherits the box of tutor/core/tensor.py, and floor by floor what hangs on it: operators, ways to
make one, functions of each element, views, selection, reductions, and so on up to what other
libraries ask. Each of these classes calls what its bases have, and none knows of this one.
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

    `data` is a number, (nested) lists, an array, another Tensor: copied; or a Buffer: shared, and
    walked by the given shape, strides (default: row-major) and offset, counted in elements. Raises
    ShapeError where those reach outside of the Buffer, DTypeError for what is no number.
    """

    __slots__ = ()

    # ---- gradients -------------------------------------------------------------------------------

    def backward(self, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
                 create_graph: bool = False) -> None:  # fmt: skip
        """Add the gradient of this number to `.grad` of every leaf behind it: Engine.backward."""
        engine.backward(self, gradient, retain_graph, create_graph)

    def retain_grad(self) -> Tensor:
        """Keep `.grad` here too in the next backward(), though this tensor is no leaf."""
        if self.op is not None:
            self.op.kept = weakref.ref(self)
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Callable[[], None]:
        """Call `hook(gradient)` in each backward() that gets here; what it returns, unless None,
        goes on in its place. Returns a function that removes the hook."""
        return engine.hook(self, hook)


TensorBase.public = Tensor
