"""torch.autograd: gradients, one's own functions, and derivatives of functions."""

from __future__ import annotations

from typing import Any

from tutor import Function as PlainFunction
from tutor import autograd as ours
from tutor.core.engine.grad_mode import enable_grad, no_grad, set_grad_enabled
from tutor.errors import ArgumentError
from tutor.ops.movement import stack
from tutor.profiler.anomaly import detect_anomaly
from tutor.torch.carrier import Plain, tag, watch
from tutor.torch.signatures import spoken

__all__ = ["detect_anomaly", "enable_grad", "no_grad", "set_grad_enabled"]


@spoken
def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
         allow_unused=None, is_grads_batched=False, materialize_grads=False):  # fmt: skip
    """d outputs / d x for each x of `inputs`, a tuple."""
    if is_grads_batched:
        raise ArgumentError("grad(is_grads_batched=True)", "tutor has no batched backward",
                            "loop over the rows of grad_outputs")  # fmt: skip
    unused = bool(allow_unused) or materialize_grads
    found = ours.grad(outputs, inputs, grad_outputs, retain_graph=retain_graph,
                      create_graph=create_graph, allow_unused=unused)  # fmt: skip
    if not materialize_grads:
        return found
    row = zip([inputs] if isinstance(inputs, Plain) else inputs, found, strict=True)
    return tuple(Plain.zeros_like(x) if g is None else g for x, g in row)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False):
    """`t.backward()` of each."""
    row = [tensors] if isinstance(tensors, Plain) else list(tensors)
    seeds = [grad_tensors] if isinstance(grad_tensors, Plain) else grad_tensors or [None] * len(row)
    for i, (t, g) in enumerate(zip(row, seeds, strict=True)):
        keep = retain_graph if i == len(row) - 1 else True
        t.backward(g, retain_graph=keep, create_graph=create_graph)


saved: Any = vars(PlainFunction)["saved_tensors"]


class Context(PlainFunction):
    """The `ctx` of one call: tutor's Function over the tensors among the arguments."""

    gradcheck = False  # a straight-through gradient is meant

    @staticmethod
    def forward(ctx: Any, *tensors: Any, owner: Any, given: tuple[Any, ...]) -> Any:
        """The owner's forward of all arguments."""
        rest = iter(tensors)
        args = [tag(next(rest)) if isinstance(x, Plain) else x for x in given]
        ctx.owner, ctx.which = owner, [isinstance(x, Plain) for x in given]
        ctx.needs_input_grad = tuple(isinstance(x, Plain) and x.requires_grad for x in given)
        out = owner.forward(ctx, *args)
        if not isinstance(out, Plain):
            raise ArgumentError(f"{owner.__name__}.apply", f"forward gave {type(out).__name__}",
                                "let it give one Tensor; stack several")  # fmt: skip
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """The owner's gradients of the tensors."""
        found = ctx.owner.backward(ctx, tag(g))
        row = found if isinstance(found, tuple) else (found,)
        slopes = [
            Plain.zeros_like(g) if s is None else s
            for s, is_tensor in zip(row, ctx.which, strict=True)
            if is_tensor
        ]
        return tuple(slopes) if len(slopes) > 1 else slopes[0]

    @property
    def saved_tensors(self) -> Any:
        """What forward saved."""
        return tag(saved.fget(self))


class Function:
    """One's own op: `forward(ctx, ...)` and `backward(ctx, g)`, static methods; one result."""

    forward: Any
    backward: Any

    @classmethod
    def apply(cls, *inputs: Any) -> Any:
        """The result of forward, with a place in the graph."""
        tensors = [x for x in inputs if isinstance(x, Plain)]
        return tag(Context.apply(*tensors, owner=cls, given=inputs))


class functional:  # noqa: N801 - PyTorch's module of that name
    """torch.autograd.functional: derivatives of a function of tensors."""

    @staticmethod
    def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False):
        """All derivatives of func's result, a tensor for each input."""
        row = (inputs,) if isinstance(inputs, Plain) else tuple(inputs)
        leaves = [leaf(x, create_graph) for x in row]
        out = func(*leaves)
        flat = out.reshape(-1)
        slopes: list[list[Any]] = [[] for _ in row]
        for i in range(flat.shape[0]):
            found = grad(flat[i], leaves, retain_graph=True, create_graph=create_graph,
                         allow_unused=True)  # fmt: skip
            for place, x, g in zip(slopes, leaves, found, strict=True):
                place.append(Plain.zeros_like(x) if g is None else g)
        made = tuple(
            tag(Plain.reshape(stack(rows), (*out.shape, *x.shape)))
            for rows, x in zip(slopes, row, strict=True)
        )
        return made[0] if isinstance(inputs, Plain) else made

    @staticmethod
    def hessian(func, inputs, create_graph=False, strict=False, vectorize=False):
        """All second derivatives of func's single number, for one input."""
        if not isinstance(inputs, Plain):
            raise ArgumentError("hessian of several inputs", "tutor.torch takes one tensor",
                                "join them with torch.cat")  # fmt: skip

        def slope(x: Any) -> Any:
            found = grad(func(x), [x], create_graph=True, allow_unused=True)[0]
            return Plain.zeros_like(x) if found is None else found

        return functional.jacobian(slope, inputs, create_graph)


def leaf(x: Any, create_graph: bool) -> Any:
    """x as the start of a graph; x itself if derivatives lead further."""
    if create_graph and x.requires_grad:
        return x
    return tag(Plain.detach(x)).requires_grad_()


watch(__name__)
