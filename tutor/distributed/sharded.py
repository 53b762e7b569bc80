"""Sharded: an optimizer whose state is dealt out to the ranks (Rajbhandari et al. 2020, "ZeRO:
memory optimizations toward training trillion parameter models", stage 1).

    parameters, one after another   | w w w w w w w w w w | b b |
    rank 0's, of 2                  | w w w w w w |
    rank 1's                                      | w w w w | b b |

With DataParallel every rank has the same gradients, takes the same step, and stores the same state:
for Adam two numbers per parameter. Here each rank stores and updates only its own part; then all
ranks share the updated parts. If the optimizer updates each number independently, the result is the
same to the bit. The price is one all_gather of the parameters in each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self

from tutor._util import checks
from tutor.core.engine.grad_mode import recording
from tutor.distributed.collectives import all_gather
from tutor.distributed.ranks import rank, size
from tutor.dtype import DType
from tutor.errors import DataError, DomainError, GraphError
from tutor.methods.tensor import Tensor
from tutor.ops.movement import concatenate
from tutor.optim import SGD, Adadelta, Adagrad, Adam, AdamW, Lion, NAdam, Optimizer, RAdam, RMSprop

# These update each number of a parameter from its own gradient and state.
ELEMENTWISE = (SGD, Adam, AdamW, NAdam, RAdam, RMSprop, Adagrad, Adadelta, Lion)


class ParameterPart(NamedTuple):
    """A rank's part of a parameter: its numbers `start` to `end`, flattened."""

    whole: Tensor
    start: int
    end: int
    own: Tensor  # a view of the same memory


class Sharded(Optimizer):
    """`Sharded(optim.Adam, params, lr=0.001)`: that optimizer, its state split among ranks.

    It is used like the optimizer itself: `step`, `zero_grad`, `lr`, `param_groups`; `params` are
    Tensors or groups, as there. `state_dict` is that of the whole optimizer and loads on any number
    of ranks; all ranks must call it together, as they do `step`. DomainError for an optimizer that
    does not update each number independently.
    """

    inner: Optimizer  # over the pieces; it has the settings, the state and the step count
    pieces: list[ParameterPart]

    def __new__(cls, *args: Any, **options: Any) -> Self:
        return object.__new__(cls)

    def __init__(self, kind: type[Optimizer], params: Iterable[Any], **settings: Any) -> None:
        if kind not in ELEMENTWISE:
            names = ", ".join(one.__name__ for one in ELEMENTWISE)
            raise DomainError(f"dist.Sharded({getattr(kind, '__name__', kind)!s:.60}, ...)",
                              "it cannot be given pieces of parameters: it is none of those that "
                              "move each number by itself", f"use one of {names}")  # fmt: skip
        listed = list(params)
        groups: list[Any] = listed
        if not (listed and isinstance(listed[0], Mapping)):
            groups = [{"params": listed}]
        wholes = [p for group in groups for p in group["params"]]
        pieces = cut(wholes)
        rest = iter(pieces)
        dealt = [{**g, "params": [next(rest).own for _ in g["params"]]} for g in groups]
        vars(self).update(inner=kind(dealt, **settings), pieces=pieces)

    def __getattribute__(self, name: str) -> Any:
        """Everything not defined here is the inner optimizer's."""
        if name in OWN or name.startswith("__"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "inner"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.inner, name, value)

    @property
    def params(self) -> list[Tensor]:  # type: ignore[override]
        """The whole parameters."""
        return [piece.whole for piece in self.pieces]

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """DomainError: the parameters have already been cut, all together."""
        raise DomainError("to add parameters to a Sharded optimizer", "the others are cut already",
                          "make it with all groups of parameters")  # fmt: skip

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or with set_to_none=False set them to zero."""
        for piece in self.pieces:
            piece.own._grad = None
            if set_to_none:
                piece.whole._grad = None
            elif piece.whole._grad is not None:
                piece.whole._grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update this rank's part of the parameters that have a gradient, and get the rest from
        others. Gradients must be the same on all ranks. GraphError if a parameter has moved."""
        if closure is not None:
            checks.function("Sharded.step(closure)", closure)
        result = None if closure is None else recording.during(True, closure)
        for whole, start, end, own in self.pieces:
            if own.buf is not whole.buf:
                raise GraphError(
                    "a step of a Sharded optimizer",
                    "a parameter has other memory than when it was made",
                    "make the optimizer after what moves or casts the model",
                )
            g = whole.grad
            own._grad = None if g is None else g.detach().reshape(-1)[start:end]
        self.inner.step()
        moved = gathered(self.pieces, [piece.own for piece in self.pieces])
        for piece, now in zip(self.pieces, moved, strict=True):
            if piece.whole.grad is not None:
                piece.whole.detach().copy_(now)
        return result

    def state_dict(self) -> dict[str, Any]:
        """The `state_dict` of the optimizer without shards, gathered from all ranks."""
        state = self.inner.state_dict()
        for name in self.inner.slots:
            own = self.inner.state[name]
            if all(t.shape == p.own.shape for t, p in zip(own, self.pieces, strict=True)):
                wholes = gathered(self.pieces, own)
                state.update({f"{name}.{i}": t for i, t in enumerate(wholes)})
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load this rank's part of a state from `state_dict`, of any number of ranks or of the
        optimizer itself. DataError, with nothing changed, if it does not fit."""
        own = dict(state)
        for name in self.inner.slots:
            for i, (t, piece) in enumerate(zip(self.inner.state[name], self.pieces, strict=True)):
                there = state.get(f"{name}.{i}")
                if t.shape != piece.own.shape or not isinstance(there, Tensor):
                    continue
                if there.shape != piece.whole.shape:
                    raise DataError(
                        "to load a state into a Sharded optimizer",
                        f"{name}.{i} has shape {there.shape}, its parameter {piece.whole.shape}",
                        "load what state_dict() of the same optimizer over the same model gave",
                    )
                own[f"{name}.{i}"] = there.reshape(-1)[piece.start : piece.end]
        self.inner.load_state_dict(own)


OWN = {*vars(Sharded), "inner", "pieces"}


def share(count: int) -> int:
    """How many of `count` numbers each rank has; the last ranks may have fewer."""
    return -(-count // size())


def cut(wholes: list[Tensor]) -> list[ParameterPart]:
    """This rank's piece of each parameter. All parameters of one dtype are cut as one row."""
    totals: dict[DType, int] = {}
    for p in wholes:
        if not isinstance(p, Tensor) or not p.is_contiguous():
            raise GraphError("dist.Sharded over parameters", f"one of them is {checks.said(p)}, "
                             "whose numbers do not stand in a row, to be cut into pieces",
                             "give what get_parameters(model) gives, made contiguous")  # fmt: skip
        totals[p.dtype] = totals.get(p.dtype, 0) + p.numel()
    at, pieces = dict.fromkeys(totals, 0), []
    for p in wholes:
        own = share(totals[p.dtype])
        first = rank() * own - at[p.dtype]
        start, end = (min(max(edge, 0), p.numel()) for edge in (first, first + own))
        view = Tensor(p.buf, (end - start,), (1,), p.offset + start, requires_grad=True)
        pieces.append(ParameterPart(p, start, end, view))
        at[p.dtype] += p.numel()
    return pieces


def gathered(pieces: list[ParameterPart], own: list[Tensor]) -> list[Tensor]:
    """The whole tensors, gathered from the pieces of all ranks."""
    wholes: list[Tensor] = [piece.whole for piece in pieces]
    for dtype in dict.fromkeys(piece.whole.dtype for piece in pieces):
        members = [i for i, piece in enumerate(pieces) if piece.whole.dtype is dtype]
        count = share(sum(pieces[i].whole.numel() for i in members))
        row = concatenate([own[i].detach() for i in members])
        padding = Tensor.zeros(count - len(row), dtype=row.dtype)
        flat, at = all_gather(concatenate([row, padding])).reshape(-1), 0
        for i in members:
            shape, n = pieces[i].whole.shape, pieces[i].whole.numel()
            wholes[i] = flat[at : at + n].reshape(shape)
            at += n
    return wholes
