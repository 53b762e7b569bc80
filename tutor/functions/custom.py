"""Ops that you write yourself, in PyTorch's spelling: `forward(ctx, ...)` and `backward(ctx, g)`.

    >>> class Cube(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * x * x * 3
    >>> x = Tensor([2.0], requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    Tensor([12.])

It is a plain Op underneath. Saved tensors are checked as in every other op: changing one in place
before backward raises GraphError.
"""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from typing import Any

from tutor.core.engine.grad_mode import recording
from tutor.core.op import Op, state_of
from tutor.core.op.catalogue import on_op
from tutor.errors import GraphError
from tutor.functions import doubt  # noqa: F401 - it looks at each class once
from tutor.methods.tensor import Tensor

# The op whose backward is running, and its saved tensors: a ContextVar, so that nothing has to be
# cleaned up, however backward ends.
_saved: ContextVar[tuple[Any, tuple[Tensor, ...]]] = ContextVar("tutor.saved", default=(None, ()))


class Function(Op, abstract=True):
    """A base class with two static methods to fill in.

    `forward(ctx, *inputs, **params)` returns one Tensor. It runs without a graph, so any code will
    do, NumPy included. `ctx.save_for_backward(...)` saves Tensors; other attributes of `ctx` hold
    anything else. `backward(ctx, g)` returns one gradient per input, or None for an input without
    one. `tutor.testing.gradcheck(Cube.apply, x)` checks it. The first backward is compared with the
    forward in any case, and a warning reports a difference, unless the class sets
    `gradcheck = False` (tutor/functions/doubt.py).
    """

    __slots__ = ("__dict__",)  # attributes of `ctx`: this object is the context

    def __init_subclass__(cls) -> None:
        formulas = cls.__dict__.get("forward"), cls.__dict__.get("backward")
        if not all(isinstance(f, staticmethod) for f in formulas):
            raise GraphError(
                f"class {cls.__name__}(Function)",
                "forward or backward is missing, or is no static method",
                "write both with @staticmethod above, their first argument is ctx",
            )
        forward, backward = (f.__func__ for f in formulas)  # type: ignore[union-attr]
        # An Op's own methods get the Op, here the context, as `self`.
        cls.forward, cls.backward = _computed(forward), _differentiated(backward)  # type: ignore
        cls.name = f"{cls.__module__}.{cls.__qualname__}"
        cls.differentiable = True
        on_op.made(cls)

    @classmethod
    def apply(cls, *inputs: Tensor, **params: Any) -> Tensor:
        """Run it on these Tensors; pass everything else that `forward` needs by keyword."""
        others = [type(x).__name__ for x in inputs if not isinstance(x, Tensor)]
        if others or not inputs:
            raise GraphError(
                f"{cls.__name__}.apply",
                f"{', '.join(others)} among the inputs" if others else "no inputs",
                "give Tensors by position, and parameters by keyword, as forward(ctx, x, *, n)",
            )
        result: Tensor = Op.execute(cls(*inputs, **params))
        return result

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """The tensors passed to `save_for_backward`, available while `backward` runs."""
        whose, saved = _saved.get()
        if whose is not self:
            raise GraphError(
                f"ctx.saved_tensors of {type(self).__name__}",
                "its backward is not running",
                "read it in backward(ctx, g); what was saved is freed when that is done",
            )
        return saved

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Save these tensors: inputs, the result or any others. `backward` finds them, in this
        order, in `ctx.saved_tensors`."""
        self.to_save = [(t, state_of(t)) for t in tensors]

    def record(self, out: Any, needs: tuple[bool, ...], serial: int) -> None:
        """Store the saved tensors where every Op has them, for the Engine to check and free."""
        kept, inputs = self.__dict__.pop("to_save", []), {id(t.buf) for t in self.inputs}
        super().record(out, needs, serial)
        results = [t.buf is out.buf and id(t.buf) not in inputs for t, _ in kept]
        # Other classes declare these attributes; here they are set in each call.
        self.saves = tuple(  # type: ignore[misc]
            f"saved_tensors[{i}]" for i in range(len(kept))
        )
        self.save_positions = tuple(  # type: ignore[misc]
            -1 if result else 0 for result in results
        )
        self.saved = tuple(
            t.alias() if result else t for (t, _), result in zip(kept, results, strict=True)
        )
        self.states = tuple(state for _, state in kept)


def _computed(forward: Any) -> Any:
    def run(ctx: Function, *inputs: Any, **params: Any) -> Tensor:
        out = recording.during(False, forward, ctx, *inputs, **params)
        if not isinstance(out, Tensor):
            raise GraphError(
                f"{type(ctx).__name__}.forward",
                f"it returned {type(out).__name__}",
                "return one Tensor, for example Tensor(array)",
            )
        # Even if forward returns one of its inputs, the result is a new tensor.
        return out.alias()

    return run


def _differentiated(backward: Any) -> Any:
    def run(ctx: Function, g: Tensor, *saved: Tensor) -> Any:
        context = copy_context()
        context.run(_saved.set, (ctx, saved))
        return context.run(backward, ctx, g)

    return run
