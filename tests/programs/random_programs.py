"""Random programs: straight lines of tensor code, drawn as data, that any mode can run.

`lines(draw)` gives a list of Lines; `Machine(seed).run(lines, x)` runs them on a list of Tensors.
All that is drawn is in the Lines: so the same program runs eagerly, lazily and jitted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

import tutor
from tutor import Tensor, optim

ROWS, COLUMNS = 4, 6


class Line(NamedTuple):
    what: str
    a: int  # which of the tensors there are so far, modulo their number
    b: int
    number: float


ONE = ("exp", "relu", "tanh", "neg", "abs", "sigmoid", "copy")
TWO = ("add", "sub", "mul", "maximum", "div")
NUMBERS = ("add_number", "mul_number", "power")
SHAPED = ("turned", "row", "every_second", "backwards", "flat", "stretched", "column_sum", "mean",
          "softmax", "product", "picked", "joined", "padded", "masked", "cast")  # fmt: skip
WRITES = ("add_in_place", "write_row", "write_into_state", "shift_in_place", "clip_in_place")
DRAWS = ("dropout", "noise")
LEARNS = ("learn", "second_derivative", "accumulate")

ALL = ONE + TWO + NUMBERS + SHAPED + WRITES + DRAWS + LEARNS

lines = st.lists(
    st.builds(
        Line,
        st.sampled_from(ALL),
        st.integers(0, 30),
        st.integers(0, 30),
        st.sampled_from([0.5, -1.0, 2.0, 0.0]),
    ),
    min_size=1,
    max_size=12,
)


class Machine:
    """State that outlives a call: parameters with their optimizer, and a running sum."""

    def __init__(self, adam: bool) -> None:
        tutor.manual_seed(11)
        self.w = Tensor.randn(COLUMNS, COLUMNS).requires_grad_()
        self.c = Tensor.randn(COLUMNS).requires_grad_()
        self.total = Tensor.zeros(ROWS, COLUMNS)
        params = [self.w, self.c]
        self.optimizer = optim.Adam(params, lr=0.01) if adam else optim.SGD(params, 0.01, 0.9)
        self.hooked: Any = self.w.register_hook(lambda g: g * 0.5)

    def run(self, lines: tuple[Line, ...], x: Tensor) -> list[Tensor]:
        """Whole tensors (ROWS, COLUMNS) are handed on; all that was made is returned."""
        whole, made = [x], []
        for line in lines:
            a, b = (whole[i % len(whole)] for i in (line.a, line.b))
            result = getattr(self, line.what)(a, b, line.number)
            made.append(result)
            if result.shape == (ROWS, COLUMNS) and result.dtype is x.dtype:
                whole.append(result)
        return made

    def seen(self) -> list[Any]:
        """All that a call leaves behind."""
        p = [self.w, self.c]
        state = [t for _, t in sorted(self.optimizer.state_dict().items())]
        return [*p, *[q.grad for q in p], self.total, *state, tutor.random.get_state()]

    # ---- the lines -------------------------------------------------------------------------------

    def exp(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return (a * 0.1).exp()

    def relu(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a.relu()

    def tanh(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a.tanh()

    def neg(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return -a

    def abs(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a.abs()

    def sigmoid(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a.sigmoid()

    def copy(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a.copy()

    def add(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a + b

    def sub(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a - b

    def mul(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a * b

    def maximum(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a.maximum(b)

    def div(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a / b

    def add_number(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a + n

    def mul_number(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return n * a

    def power(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a**2

    def turned(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return (a.T + b.T).T

    def row(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a[1] * b[2]

    def every_second(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a[::2, 1:4] + b[1::2, 2:5]

    def backwards(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a[::-1, ::-1] + b

    def flat(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a.T.reshape(ROWS, COLUMNS) * b

    def stretched(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a + b[:, 0:1] * b[0]

    def column_sum(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a - b.sum(0)

    def mean(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a - b.mean(-1, keepdims=True)

    def softmax(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a.softmax(-1)

    def product(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return (a @ b.T) @ a

    def picked(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a[tutor.arange(ROWS)] + a[Tensor([1, 0, 3, 3])]

    def joined(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return tutor.cat([a[:2], b[2:]], axis=0)

    def padded(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a[1:3].pad(((1, 1), (0, 0)), n)

    def masked(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return tutor.where(a > b, a, n)

    def cast(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return (a.cast("float16").cast("float32") > b).cast("float32") * a

    def add_in_place(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        a = a.detach()
        a += b.detach()
        return a

    def write_row(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        a = a.copy().detach()
        a[1] = b.detach()[0] * n
        return a

    def write_into_state(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        self.total[:2] += a.detach()[2:]
        self.total[3] = n
        return self.total * 1

    def shift_in_place(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        a = a.detach()
        a[1:] = a[:-1]
        return a + b.detach()

    def clip_in_place(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        self.total.assign(self.total.clip(-1.0, 1.0))
        return self.total + a.detach()

    def dropout(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a * (Tensor.rand(ROWS, COLUMNS) < 0.5).cast(a.dtype)

    def noise(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        return a + n * Tensor.randn(ROWS, COLUMNS)

    def loss(self, a: Tensor) -> Tensor:
        loss: Tensor = ((a.detach() @ self.w + self.c).tanh() ** 2).mean()
        return loss

    def learn(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        loss = self.loss(a)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def accumulate(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        self.loss(b).backward()
        assert self.c.grad is not None
        return self.c.grad * 1

    def second_derivative(self, a: Tensor, b: Tensor, n: float) -> Tensor:
        (first,) = tutor.grad(self.loss(a), [self.c], create_graph=True)
        (second,) = tutor.grad((first * first).sum(), [self.c])
        return second


def bits(value: Any) -> Any:
    """Everything that can be seen of it, in a form that compares to the bit."""
    if isinstance(value, Tensor):
        numbers = value.detach().copy().cpu()
        return value.shape, value.dtype.name, bytes(numbers.buf.raw)
    return [bits(v) for v in value] if isinstance(value, (list, tuple)) else value
