"""The texts of the Engine's errors: gradients that would be wrong, invalid operands.

The Engine decides when to raise; this file only builds the errors. `op` is an Op, `x` one of its
inputs, `g` a gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor._storage.array_like import is_tensor
from tutor.errors import ArgumentError, DomainError, DTypeError, GraphError, ShapeError


def no_graph() -> GraphError:
    return GraphError(
        "backward() from a tensor that does not require grad",
        "no input it was computed from requires grad, or it was computed under no_grad(), or it is "
        "a result of tutor.jit that had its backward() already",
        "write Tensor(..., requires_grad=True) for what you want the gradient of; under tutor.jit "
        "call backward() inside or outside, once",
    )


def several_numbers(root: Any) -> GraphError:
    return GraphError(
        f"backward() from a tensor of shape {root.shape}",
        f"a gradient exists of one number, this holds {root.numel()}",
        "reduce it first (.sum() or .mean()), or pass gradient= of the same shape",
    )


def other_seed(root: Any, gradient: Any) -> ShapeError:
    return ShapeError(
        f"backward(gradient=...) from shape {root.shape}, {root.buf.dtype.name}",
        f"the gradient has shape {gradient.shape}, {gradient.buf.dtype.name}",
        "give a gradient of the same shape and dtype",
    )


def freed(op: Any) -> GraphError:
    return GraphError(
        f"backward() through {type(op).__name__}",
        "an earlier backward() has freed what it saved",
        "compute the result anew before each backward(); if you do want to walk one"
        " graph twice, give the first call retain_graph=True (it keeps the memory)",
    )


def stale(op: Any, state_of: Callable[[Any], tuple[Any, ...]]) -> GraphError:
    """The error for the first value that `op` saved and whose state has changed since."""
    saved = zip(op.saves, op.saved, op.states, strict=True)
    name, t, state = next(entry for entry in saved if state_of(entry[1]) != entry[2])
    file, line = t.buf.changed_at or ("?", 0)
    return GraphError(
        f"backward() through {type(op).__name__}, which saved its {name!r}"
        f" (shape {t.shape}) for the derivative",
        f"that value was changed in place afterwards, in {file}, line {line}"
        if state_of(t)[0] is state[0] and state_of(t)[1] != state[1]
        else "that tensor was given another buf, shape, strides or offset afterwards",
        "write x = x + 1 instead of changing x, change a x.copy(), or make the change"
        " after backward()",
    )


def not_kept(count: int) -> GraphError:
    return GraphError(
        f"the numbers of an op's input, {count} in all",
        "nobody has kept them: a graph remembers what made an input, its shape and its dtype, and"
        " the numbers only where a derivative needs them",
        "keep the tensor itself, or compute in `with tutor.keep_graph():`, which keeps all inputs",
    )


def gradient_changed(who: str) -> GraphError:
    return GraphError(
        f"{who}, given a gradient",
        "it has changed the gradient in place, which other ops may share",
        "write g = g * 2 in place of g *= 2, and return it",
    )


def wrong_count(op: Any, count: int) -> GraphError:
    return GraphError(
        f"the gradients of {type(op).__name__} for {len(op.needs)} inputs",
        f"its backward returned {count}",
        "return one for each input, None where there is none",
    )


def wrong_shape(op: Any, x: Any, gx: Any) -> ShapeError:
    return ShapeError(
        f"the gradient of {type(op).__name__} for an input of shape {x.shape}",
        f"its backward returned shape {gx.shape}",
        "return a gradient of the input's shape, or of the shape it was stretched to",
    )


def wrong_dtype(op: Any, x: Any, gx: Any) -> DTypeError:
    return DTypeError(
        f"the gradient of {type(op).__name__} for an input of {x.dtype.name}",
        f"its backward returned {gx.buf.dtype.name}",
        "cast it to the input's dtype",
    )


def no_hook(hook: Any) -> DTypeError:
    return DTypeError(
        f"register_hook({hook!r:.60})",
        f"{type(hook).__name__} cannot be called",
        "give a function of one argument, the gradient: lambda g: g * 2",
    )


def nothing_to_hook() -> GraphError:
    return GraphError(
        "a hook on a tensor that does not require grad",
        "no gradient will ever come by",
        "call requires_grad_() first, or hook a tensor that is computed from one",
    )


def hooks_result(g: Any, other: Any) -> GraphError:
    return GraphError(
        f"a hook on the gradient of shape {g.shape}, {g.dtype.name}",
        f"it returned {other!r:.60}",
        "return a Tensor of the same shape and dtype, or None to change nothing",
    )


def no_gradient_of(x: Any, value: Any) -> DTypeError:
    found = f"{type(value).__name__} {value!r:.40}"
    if is_tensor(value):
        found = f"{value.dtype.name} of shape {value.shape}"
    return DTypeError(
        f"x.grad = ..., where x is {x.dtype.name} of shape {x.shape}",
        "x itself" if value is x else found,
        "give another Tensor of this dtype and shape, or None to start anew",
    )


def read_only(t: Any) -> DomainError:
    return DomainError(
        f"to write into a Tensor of shape {t.shape}",
        "its memory is read-only: a constant's, or another library's",
        "write into a .copy()",
    )


def no_tensor(op: Any) -> ShapeError | DTypeError:
    if not op.inputs:
        return ShapeError(f"{op.name} of no tensors", "an empty list", "give at least one")
    kinds = ", ".join(type(x).__name__ for x in op.inputs)
    return DTypeError(f"{op.name} of {kinds}", "none is a Tensor", "write Tensor(...)")


def check_operands(op: Any) -> None:
    """ArgumentError for too few or too many operands. DTypeError if the op does not promote its
    operands and the first one is not a Tensor."""
    count, least, most = len(op.inputs), op.least, op.most
    if not count and most is None:
        raise no_tensor(op)
    if count < least or (most is not None and count > most):
        span = f"{least}" if most == least else f"{least} to {most}" if most else f"{least} or more"
        raise ArgumentError(
            f"{op.name} of {count} operands",
            f"it takes {span}",
            f"give {', '.join(op.takes)}" if op.takes else "leave them out",
        )
    if op.promotes is None:
        check_tensors(op, op.inputs[:1])


def check_tensors(op: Any, inputs: tuple[Any, ...]) -> None:
    for x in inputs:
        if not is_tensor(x):
            kinds = ", ".join(type(x).__name__ for x in op.inputs)
            raise DTypeError(
                f"{op.name} of {kinds}", f"{type(x).__name__} is no Tensor", "write Tensor(...)"
            )


def wrong_operand(op: Any, i: int, wanted: Any) -> DTypeError:
    return DTypeError(
        f"{op.name} of {', '.join(x.buf.dtype.name for x in op.inputs)}",
        f"operand {i + 1} is {op.inputs[i].buf.dtype.name}, not {wanted.name}",
        f"cast it first: .cast({wanted.name!r})",
    )


def leaf_in_place(itself: bool, what: str) -> GraphError:
    return GraphError(
        f"{what}, in place, where a gradient is wanted",
        f"{'it is' if itself else 'it shares the memory of'} a leaf that requires a gradient",
        "change a copy: x = x.copy(); to change a parameter by hand, do it under no_grad()",
    )


def scattered_root(root: Any, what: str) -> GraphError:
    return GraphError(
        f"{what}, in place, of a part of a tensor of shape {root.shape}",
        f"that tensor is not laid out row by row: its strides are {root.strides}",
        "take the part from a copy: x = x.contiguous()",
    )


def root_is_gone(x: Any) -> GraphError:
    line = f", at {x.buf.changed_at[0]}:{x.buf.changed_at[1]}" if x.buf.changed_at else ""
    return GraphError(
        f"an op that reads a view of shape {x.shape}",
        f"its memory has been changed in place since{line}, and the tensor it was taken from is "
        "gone, so that the graph cannot follow",
        "keep that tensor in a variable, or take the view after the change",
    )


def no_memory(owner: Any) -> DTypeError:
    return DTypeError(
        "a Buffer over the memory of another object",
        f"{type(owner).__name__} {owner!r:.60} shows no memory",
        "give bytes, a bytearray, an array.array or a NumPy array",
    )
