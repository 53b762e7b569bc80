"""L-BFGS: steps that use the curvature, estimated from the gradients of the last steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn, TypeVar, overload

from tutor._storage import bounds_checks
from tutor._util import checks
from tutor._util.callers import user_line
from tutor._util.keyword_aliases import spelled
from tutor.core.engine.grad_mode import recording
from tutor.errors import DataError, DomainError, DTypeError, GraphError
from tutor.methods.tensor import Tensor
from tutor.ops.movement import cat
from tutor.optim.limits import RATE, Limit
from tutor.optim.line_search import Point, strong_wolfe
from tutor.optim.optimizer import Optimizer, Params, alike

T = TypeVar("T")
CURVED = 1e-10  # pairs with a product up to it say nothing about the curvature


@spelled
class LBFGS(Optimizer):
    """L-BFGS (Liu & Nocedal 1989; Nocedal & Wright 2006, "Numerical optimization", chapters 3 and
    7): a quasi-Newton method, for losses without noise

    p <- p - t H g,   H about the inverse of the second derivative of the loss

    H is never formed. With the last `history_size` pairs s = p - p_before and y = g - g_before, it
    is (I - r s yᵀ) H_before (I - r y sᵀ) + r s sᵀ with r = 1 / yᵀs, and starts as yᵀs / yᵀy times I
    (algorithm 7.4). Each step makes up to `max_iter` such moves, with up to `max_eval` calls of
    `closure` (1.25 max_iter if None; one more if a search has begun). It ends earlier if no number
    of g is above `tolerance_grad`, or if the parameters or the loss changed by less than
    `tolerance_change`.

    t is lr (for the very first move min(1, 1 / Σ|g|) lr); line_search_fn="strong_wolfe" starts a
    line search there and uses its result. There is one group of parameters, all of one dtype;
    those without a gradient do not move. It reads numbers, so it cannot be recorded.
    """

    limits: Mapping[str, Limit] = {"lr": RATE, "tolerance_grad": RATE, "tolerance_change": RATE}

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        self.max_iter = whole("max_iter", max_iter)
        self.max_eval = max_iter * 5 // 4 if max_eval is None else whole("max_eval", max_eval)
        self.history_size = whole("history_size", history_size)
        if line_search_fn not in (None, "strong_wolfe"):
            raise DomainError(f"LBFGS with line_search_fn={line_search_fn!r}",
                              "there is no such search", 'use None or "strong_wolfe"')  # fmt: skip
        self.line_search_fn = line_search_fn
        super().__init__(params, lr)
        self._check_dtypes(self.params)
        self.moves = 0  # made in all steps
        self.pairs: list[tuple[Tensor, Tensor]] = []  # s and y, the oldest first
        self.last: tuple[Tensor, Tensor] | None = None  # the last move, and the gradient before it

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Raises GraphError: there is only one group."""
        raise GraphError("LBFGS with another group of parameters",
                         "its curvature is that of all parameters together",
                         "give all of them when it is made")  # fmt: skip

    def _check_dtypes(self, params: list[Tensor]) -> None:
        names = sorted({p.dtype.name for p in params})
        if len(self.param_groups) > 1:
            self.add_param_group({})
        if len(names) > 1:
            raise DTypeError(f"LBFGS over parameters of {' and '.join(names)}",
                             "they are moved as one row of numbers",
                             "bring the model to one dtype")  # fmt: skip

    # ---- a step ----------------------------------------------------------------------------------

    @overload
    def step(self, closure: None = None) -> NoReturn: ...
    @overload
    def step(self, closure: Callable[[], T]) -> T: ...
    def step(self, closure: Callable[[], T] | None = None) -> T:
        """Make up to `max_iter` moves. `closure` clears the gradients, computes the loss, calls
        backward() and returns the loss. Returns the closure's first result, before any move.

        If it is interrupted, the parameters are where the last complete move left them.
        """
        if closure is None:
            raise GraphError("LBFGS.step() without a closure",
                             "it evaluates the loss several times in a step",
                             "give a function that calls zero_grad(), computes the loss, calls "
                             "backward() and returns it")  # fmt: skip
        here = user_line()
        loss: T = recording.during(True, closure)
        recording.during(False, self._minimize, closure, loss, here)
        self.steps += 1
        return loss

    def _minimize(self, closure: Callable[[], Any], loss: Any, here: Any) -> None:
        evaluations, moves = 0, 0

        def look(row: Tensor, d: Tensor, t: float) -> Point:
            """The point at row + t d."""
            nonlocal evaluations
            evaluations += 1
            self._put(row + t * d, here)
            value = value_of(recording.during(True, closure))
            g = self._gradient()
            return Point(t, value, dot(g, d), g)

        now = Point(0.0, value_of(loss), 0.0, self._gradient())
        evaluations += 1
        while largest(now.gradient) > self.tolerance_grad and moves < self.max_iter:
            g, d = now.gradient, self._direction(now.gradient)
            start = Point(0.0, now.value, dot(g, d), g)
            if not start.slope <= -self.tolerance_change:  # not downhill, or nan
                break
            row, t = self._row(), self.lr
            if self.moves == 0:
                t *= min(1.0, 1.0 / g.abs().sum().item())
            last = moves + 1 == self.max_iter
            try:
                if self.line_search_fn is not None:
                    rest = self.max_eval - evaluations
                    now = strong_wolfe(partial(look, row, d), start, t, largest(d), rest)
                else:  # nobody needs the loss after the last move
                    now = Point(t, 0.0, 0.0, g) if last else look(row, d, t)
            except BaseException:
                self._put(row, here)
                raise
            move = now.t * d
            self._put(row + move, here)
            self.last, moves, self.moves = (move, g), moves + 1, self.moves + 1
            if last or evaluations >= self.max_eval or self._still(move, now.value - start.value):
                break

    def _still(self, move: Tensor, change: float) -> bool:
        """Did the parameters, or the loss, hardly change?"""
        least = self.tolerance_change
        return largest(move) <= least or abs(change) < least

    def _direction(self, g: Tensor) -> Tensor:
        """- H g, by the two loops of algorithm 7.4, after adding the pair of the last move."""
        if self.last is not None:
            s, y = self.last[0], g - self.last[1]
            if dot(s, y) > CURVED:
                self.pairs = [*self.pairs, (s, y)][-self.history_size :]
            self.last = None
        d = -g
        known = [(s, y, 1 / dot(s, y)) for s, y in self.pairs]
        shares = []
        for s, y, rho in reversed(known):
            shares.append(rho * dot(s, d))
            d = d - shares[-1] * y
        if known:
            s, y, _ = known[-1]
            d = d * (dot(s, y) / dot(y, y))
        for (s, y, rho), share in zip(known, reversed(shares), strict=True):
            d = d + (share - rho * dot(y, d)) * s
        return d

    # ---- all parameters as one row ---------------------------------------------------------------

    def _row(self) -> Tensor:
        row: Tensor = cat([p.detach().flatten() for p in self.params])
        return row

    def _gradient(self) -> Tensor:
        """The gradient of all parameters as one row; 0 for those without one."""
        grads = [p.like(0) if p.grad is None else p.grad for p in self.params]
        row: Tensor = cat([g.detach().flatten() for g in grads])
        return row

    def _put(self, row: Tensor, here: tuple[str, int] | None) -> None:
        at = 0
        for p in self.params:
            p.buf.touch(here)
            p.assign(row[at : at + p.numel()].reshape(p.shape))
            at += p.numel()

    # ---- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Steps and moves made, the settings, the pairs `s.i` and `y.i`, and the last move and the
        gradient before it, `move` and `gradient`: enough for an exact continuation."""
        state = {**super().state_dict(), "moves": self.moves}
        for i, (s, y) in enumerate(self.pairs):
            state |= {f"s.{i}": s, f"y.{i}": y}
        if self.last is not None:
            state["move"], state["gradient"] = self.last
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`. DataError, and nothing is changed, unless it is from an LBFGS over
        equally many numbers of this dtype."""
        row = self._row()
        asked = f"to load a state into LBFGS over {row.numel()} numbers"
        do = "load what state_dict() of an LBFGS over the same model gave"
        state = dict(checks.state(asked, state, do))
        moves, count = state.pop("moves", None), sum(name.startswith("s.") for name in state)
        pairs = [(state.pop(f"s.{i}", None), state.pop(f"y.{i}", None)) for i in range(count)]
        last = [state.pop(name) for name in ("move", "gradient") if name in state]
        rows = [*last, *(t for pair in pairs for t in pair)]
        if type(moves) is not int or moves < 0 or len(last) == 1 or not all(
            alike(row, t) for t in rows
        ):  # fmt: skip
            raise DataError(
                asked,
                "missing, or of another shape or dtype: moves, a pair s.i and y.i, or move and "
                "gradient",
                do,
            )
        super().load_state_dict(state)
        self.moves = moves
        self.pairs = [(s.copy(), y.copy()) for s, y in pairs][-self.history_size :]
        self.last = (last[0].copy(), last[1].copy()) if last else None


def whole(name: str, value: object) -> int:
    if type(value) is int and value >= 1:
        return value
    raise DomainError(f"LBFGS with {name}={value!r:.40}", "it must be a whole number of 1 or more",
                      "use, for example, 20")  # fmt: skip


def dot(a: Tensor, b: Tensor) -> float:
    value: float = (a * b).sum().item()
    return value


def largest(row: Tensor) -> float:
    """The largest |number|."""
    value: float = row.abs().max().item()
    return value


def value_of(loss: Any) -> float:
    bounds_checks.opened("LBFGS.step, which looks at the loss")
    if isinstance(loss, Tensor) and loss.numel() == 1:
        return float(loss.item())
    if isinstance(loss, (int, float)):
        return float(loss)
    raise GraphError(f"LBFGS.step(closure) with a closure that returned a {type(loss).__name__}",
                     "it is no loss", "let the closure return the loss: a Tensor of one number, "
                     "or a number")  # fmt: skip
