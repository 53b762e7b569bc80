"""The same question asked of two libraries: values, and derivatives of first and second order.

With z = f(x, ...), weights w and directions v, both are asked for

    z,     d s/dx and d s/dw of s = sum w z,     d r/dx and d r/dw of r = sum v_x ds/dx + v_w ds/dw

w is differentiated too: so the second order says something where f is linear, and everything that
backward() computes from the gradient it is given is itself compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from tutor import Tensor
from tutor.core.engine import engine

torch = pytest.importorskip("torch")  # who imports this module is skipped with it
torch.set_num_threads(1)  # everything here is small

Arrays = Sequence[np.ndarray]
Answer = list[np.ndarray]
ORDERS = ("values", "first derivatives", "second derivatives")


class Case(NamedTuple):
    """`name` is an op's or a method's; `torch`, if not given, is f itself, which takes both."""

    name: str
    f: Callable
    shapes: tuple
    torch: Callable | None = None
    values: str = "normal"
    orders: int = 2


# ---- operands ------------------------------------------------------------------------------------

DOMAINS = {
    "normal": lambda a: a,
    "positive": lambda a: np.abs(a) + 0.5,
    "nonzero": lambda a: np.copysign(np.abs(a) + 0.5, a),
    "unit": lambda a: 0.9 * np.tanh(a),
    "above one": lambda a: np.abs(a) + 1.2,
}


def draw(shapes: tuple, values: str) -> Answer:
    """Random arrays; "apart": all numbers at least 0.01 from each other, and from 0."""
    rng = np.random.default_rng(sum(map(len, shapes)))
    arrays = []
    for i, shape in enumerate(shapes):
        a = rng.standard_normal(shape)
        if values == "apart":
            a = (rng.permutation(a.size) * 0.1 - a.size * 0.05 + 0.02 + 0.01 * i).reshape(shape)
        else:
            a = DOMAINS[values](a)
        arrays.append(np.asarray(a))
    return arrays


def spaced(a: np.ndarray) -> np.ndarray:
    """a with other numbers between: spaced(a)[1::2, ..., 1::2] is a."""
    wide = np.full([2 * n + 1 for n in a.shape], 77, a.dtype)
    wide[(slice(1, None, 2),) * a.ndim] = a
    return wide


def every_second(x: Any) -> Any:
    return x[(slice(1, None, 2),) * x.ndim]


# How an operand lies in memory: the leaf that is differentiated, and the view of it that f gets.
LAYOUTS: dict[str, tuple[Callable, Callable]] = {
    "plain": (lambda a: a, lambda x: x),
    "transposed": (lambda a: a.T, lambda x: x.permute(tuple(reversed(range(x.ndim))))),
    "sliced": (spaced, every_second),
    "reversed": (lambda a: np.flip(a), lambda x: x.flip(tuple(range(x.ndim)))),
    "expanded": (lambda a: a[:1], lambda x: x),  # stretched by `ask`, which knows the shapes
}
MIXED = ("reversed", "plain", "transposed", "sliced")  # "mixed": each operand in another way


def layouts_of(case: Case) -> list[str]:
    """All that make sense; stretched numbers are equal, which "apart" must not be."""
    if not any(case.shapes):
        return ["plain"]
    several = ["mixed"] if len(case.shapes) > 1 else []
    return several + [n for n in LAYOUTS if n != "expanded" or case.values != "apart"]


# ---- asking --------------------------------------------------------------------------------------


def as_tutor(a: np.ndarray) -> Tensor:
    return Tensor(np.ascontiguousarray(a).reshape(a.shape), requires_grad=True)


def as_torch(a: np.ndarray) -> Any:
    return torch.tensor(np.array(a), requires_grad=True)


def tutor_slopes(s: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """ds/dx of each leaf; 0 where s does not depend on it."""
    if s.requires_grad:
        s.backward(create_graph=True)
    found = [x.detach().like(0) if x.grad is None else x.grad for x in leaves]
    for x in leaves:
        x.grad = None
    return found


def torch_slopes(s: Any, leaves: list[Any]) -> list[Any]:
    if not s.requires_grad:
        return [torch.zeros_like(x) for x in leaves]
    return list(torch.autograd.grad(s, leaves, create_graph=True, materialize_grads=True))


TUTOR = (as_tutor, tutor_slopes, lambda x: np.array(x.detach().numpy()))
TORCH = (as_torch, torch_slopes, lambda x: x.detach().numpy())


def ask(
    library: tuple, f: Callable, arrays: Arrays, layout: str, orders: int,
    weights: tuple[float, float] = (0.5, 1.5),
) -> list[Answer]:  # fmt: skip
    """[values, first derivatives, second derivatives], as far as `orders` says; w and v are drawn
    from between `weights`."""
    leaf, slopes, read = library
    names = [MIXED[i % len(MIXED)] if layout == "mixed" else layout for i in range(len(arrays))]
    ways = [LAYOUTS[name if a.ndim else "plain"] for name, a in zip(names, arrays, strict=True)]
    xs = [leaf(stored(a)) for (stored, _), a in zip(ways, arrays, strict=True)]
    seen = [view(x).expand(a.shape) for (_, view), x, a in zip(ways, xs, arrays, strict=True)]
    z = f(*seen)
    zs = list(z) if isinstance(z, (tuple, list)) else [z]
    answers = [[read(z) for z in zs]]
    if orders:
        rng = np.random.default_rng(1)
        real = [z for z, values in zip(zs, answers[0], strict=True) if values.dtype.kind == "f"]
        ws = [leaf(rng.uniform(*weights, tuple(z.shape))) for z in real]
        leaves, s = [*xs, *ws], as_number(leaf)
        for z, w in zip(real, ws, strict=True):
            s = s + (z * w).sum()
        for _ in range(orders):
            found = slopes(s, leaves)
            answers.append([read(x) for x in found])
            s = as_number(leaf)
            for x in found:
                s = s + (x * leaf(rng.uniform(*weights, tuple(x.shape))).detach()).sum()
    return answers


def as_number(leaf: Callable) -> Any:
    return leaf(np.array(0.0)).detach()


def graph(f: Callable, arrays: Arrays) -> set[str]:
    """The names of the ops behind f's result."""
    z = f(*map(as_tutor, arrays))
    root = (z[0] if isinstance(z, (tuple, list)) else z).op
    return {op.name for op in engine.order(root)} if root else set()


def compare(ours: Answer, theirs: Answer, tolerance: float, what: str) -> None:
    """Equal to within tolerance * max(1, |theirs|); infinities and nan in the same places."""
    assert len(ours) == len(theirs), what
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape, f"{what}: shape {a.shape}, PyTorch's is {b.shape}"
        assert a.dtype.kind == b.dtype.kind, f"{what}: {a.dtype}, PyTorch's is {b.dtype}"
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=what)
