"""A picture of each op: the curve of a function and of its derivative, the table of one of two
numbers, before and after of what moves or chooses numbers. All is computed by the op itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tutor import OPS, Tensor, apply, nn, viz

# Where a function of one number is drawn, if not from -4 to 4.
RANGES = {
    "sqrt": (0, 4), "log": (0.02, 4), "log2": (0.02, 4), "log10": (0.02, 4), "log1p": (-0.98, 3),
    "exp": (-3, 2), "exp2": (-3, 2), "expm1": (-3, 2), "tan": (-1.4, 1.4), "asin": (-1, 1),
    "acos": (-1, 1), "atanh": (-0.99, 0.99), "acosh": (1, 5), "sinh": (-2.5, 2.5),
    "cosh": (-2.5, 2.5), "sign": (-2, 2), "floor": (-2.5, 2.5), "ceil": (-2.5, 2.5),
    "round": (-2.5, 2.5), "trunc": (-2.5, 2.5), "reciprocal": (0.1, 4), "rsqrt": (0.05, 4),
}  # fmt: skip
STEEP = {  # how much of the derivative is drawn
    "sqrt": 5, "log": 8, "log2": 8, "log10": 8, "log1p": 8, "asin": 5, "acos": 5, "acosh": 5,
    "atanh": 8, "reciprocal": 8, "rsqrt": 8,
}  # fmt: skip
# Methods of Tensor that are functions of one number, and composed of several ops.
COMPOSED = (
    "square", "reciprocal", "rsqrt", "elu", "selu", "celu", "leaky_relu", "relu6", "hardtanh",
    "hardsigmoid", "hardswish", "hardshrink", "softshrink",
    "softsign", "tanhshrink", "logsigmoid",
)  # fmt: skip
STEPS = {"sign", "floor", "ceil", "round", "trunc"}
POINTS = 97

ROW = Tensor([[3.0, 1.0, 2.0, 5.0], [0.0, 4.0, 1.0, 2.0]])
WHOLE = Tensor([[3, 1, 2, 5], [0, 4, 1, 2]])
ONES = Tensor.ones(4)
INDEX = Tensor([[3, 1], [0, 2]])
SQUARE = Tensor([[2.0, 1.0], [1.0, 3.0]])
PART = {"sizes": (2, 2), "strides": (4, 2), "start": 1}  # columns 1 and 3 of ROW
IMAGE = Tensor.arange(16, dtype="float32").reshape(1, 1, 4, 4)

# What one sees of the others: the operands, and the result.
SAMPLES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "copy": lambda: (ROW, apply("copy", ROW)),
    "transfer": lambda: (ROW, apply("transfer", ROW, device="cpu")),
    "cast": lambda: (ROW / 2, apply("cast", ROW / 2, dtype="int8")),
    "mul_add": lambda: (ROW, ONES * 2, -ONES, apply("mul_add", ROW, ONES * 2, -ONES)),
    "where": lambda: (ROW > 2, ROW, -ROW, apply("where", ROW > 2, ROW, -ROW)),
    "softmax": lambda: (ROW, ROW.softmax()),
    "log_softmax": lambda: (ROW, ROW.log_softmax()),
    "cross_entropy": lambda: (ROW, Tensor([[3], [0]]), ROW.cross_entropy([3, 0]).reshape(1, 1)),
    "sum": lambda: (ROW, ROW.sum(1, keepdims=True)),
    "prod": lambda: (ROW, ROW.prod(1, keepdims=True)),
    "mean": lambda: (ROW, ROW.mean(1, keepdims=True)),
    "max": lambda: (ROW, ROW.max(1, keepdims=True)),
    "min": lambda: (ROW, ROW.min(1, keepdims=True)),
    "argmax": lambda: (ROW, ROW.argmax(1, keepdims=True)),
    "argmin": lambda: (ROW, ROW.argmin(1, keepdims=True)),
    "scan": lambda: (ROW * 0 + 1, ROW, ROW.cumsum(1)),
    "cummax": lambda: (ROW, ROW.cummax(1)),
    "argsort": lambda: (ROW, ROW.argsort(1)),
    "gather": lambda: (ROW, Tensor([[3], [1]]), ROW.gather(1, [[3], [1]])),
    "index_select": lambda: (ROW, Tensor([[2, 0]]), ROW.index_select(1, [2, 0])),
    "scatter": lambda: (ROW, Tensor([[3], [1]]), ROW.scatter(1, [[3], [1]], 9.0)),
    "scatter_add": lambda: (ROW, Tensor([[3], [1]]), ROW.scatter_add(1, [[3], [1]], ROW[:, 3:])),
    "put": lambda: (ROW, ROW[:, :2] * 0, apply("put", ROW, ROW[:, :2] * 0, **PART)),
    "one_hot": lambda: (Tensor([[2], [0]]), Tensor([2, 0]).one_hot(3)),
    "pad": lambda: (ROW, ROW.pad(((0, 1), (1, 0)))),
    "cat": lambda: (ROW, -ROW, apply("cat", ROW, -ROW, axis=0)),
    "matmul": lambda: (SQUARE, ROW, SQUARE @ ROW),
    "linear": lambda: (ROW[:, :2], SQUARE, apply("linear", ROW[:, :2], SQUARE)),
    "linear_relu": lambda: (ROW[:, :2], -SQUARE, apply("linear_relu", ROW[:, :2], -SQUARE)),
    "layer_norm": lambda: (ROW, apply("layer_norm", ROW, ONES, ONES * 0, eps=1e-5)),
    "group_norm": lambda: (ROW, apply("group_norm", ROW.reshape(1, 2, 4), ONES[:2], ONES[:2] * 0,
                                      groups=2, eps=1e-5)[0]),
    "rms_norm": lambda: (ROW, apply("rms_norm", ROW, ONES, eps=1e-5)),
    "conv2d": lambda: (IMAGE[0, 0], SQUARE, IMAGE.conv2d(SQUARE.reshape(1, 1, 2, 2))[0, 0]),
    "max_pool2d": lambda: (IMAGE[0, 0], IMAGE.max_pool2d(2)[0, 0]),
    "windows": lambda: (ROW[:1], ROW[0].unfold(0, 2)),
    "dropout": lambda: (ROW + 1, apply("dropout", ROW + 1, p=0.5)),
    "nonzero": lambda: (ROW[1:] > 1, (ROW[1] > 1).nonzero()[0].reshape(1, -1)),
    "reshape": lambda: (WHOLE, WHOLE.reshape(4, 2)),
    "transpose": lambda: (WHOLE, WHOLE.transpose(0, 1)),
    "permute": lambda: (WHOLE, WHOLE.permute(1, 0)),
    "unsqueeze": lambda: (WHOLE[:1, :2], WHOLE[0, :2].unsqueeze(1)),
    "squeeze": lambda: (WHOLE[:, :1], WHOLE[:, :1].squeeze(1).reshape(1, 2)),
    "expand": lambda: (WHOLE[:, :1], WHOLE[:, :1].expand(2, 4)),
    "index": lambda: (WHOLE, WHOLE[:, ::-2]),
    "strided": lambda: (WHOLE, apply("strided", WHOLE, **PART)),
    "diagonal": lambda: (WHOLE[:, :2], WHOLE[:, :2].diagonal().reshape(1, 2)),
    "solve": lambda: (SQUARE, Tensor([[4.0], [7.0]]), _linalg().solve(SQUARE, [[4.0], [7.0]])),
    "cholesky": lambda: (SQUARE, _linalg().cholesky(SQUARE)),
    "det": lambda: (SQUARE, _linalg().det(SQUARE).reshape(1, 1)),
    "svdvals": lambda: (SQUARE, _linalg().svdvals(SQUARE).reshape(1, 2)),
    "pinv": lambda: (SQUARE, _linalg().pinv(SQUARE)),
}  # fmt: skip

# Calls of ops that name no kernel, to see which ones run: what makes the operands ready is called
# first, and gives what is then watched.
CALLS: dict[str, Callable[[], Callable[[], Any]]] = {
    "linear": lambda: lambda: apply("linear", ROW, ROW, ROW[:, 0]),
    "linear_relu": lambda: lambda: apply("linear_relu", ROW, ROW, ROW[:, 0]),
    "attention": lambda: lambda: nn.functional.scaled_dot_product_attention(ROW, ROW, ROW),
    "batch_norm": lambda: lambda: nn.functional.batch_norm(ROW, None, None, training=True),
    "rnn": lambda: lambda: nn.RNN(4, 2)(ROW),
    "lstm": lambda: lambda: nn.LSTM(4, 2)(ROW),
    "gru": lambda: lambda: nn.GRU(4, 2)(ROW),
    "scatter_extreme": lambda: lambda: ROW.scatter_reduce(1, INDEX, SQUARE, "amax"),
    "one_hot": lambda: lambda: INDEX.one_hot(4),
    "nonzero": lambda: (ROW > 1).nonzero,
    "dropout": lambda: lambda: apply("dropout", ROW, p=0.5),
    "place": lambda: _backward(lambda x: x[:, 1:]),
    "fold": lambda: _backward(lambda x: x.unfold(1, 2)),
    "solve": lambda: lambda: _linalg().solve(SQUARE, SQUARE),
    "slogdet": lambda: lambda: _linalg().slogdet(SQUARE),
    "qr": lambda: lambda: _linalg().qr(SQUARE),
    "eigh": lambda: lambda: _linalg().eigh(SQUARE),
    "svd": lambda: lambda: _linalg().svd(SQUARE, full_matrices=False),
}
VIEWS = {
    "reshape",
    "transpose",
    "permute",
    "expand",
    "index",
    "windows",
    "strided",
}  # memory says more


def _linalg() -> Any:
    from tutor import linalg

    return linalg


def _backward(view: Callable[[Any], Any]) -> Callable[[], Any]:
    """What goes back through a view: its derivative alone."""
    y = view(ROW.copy().requires_grad_())
    gradient = Tensor.ones(*y.shape)
    return lambda: y.backward(gradient)


def is_of_one(op: Any) -> bool:
    """A function of one real number."""
    row = getattr(op, "signature", None)
    return row is not None and (row.types, row.form, row.params) == ("TT", "elementwise", ()) \
        and op.name not in ("copy", "bitwise_not")  # fmt: skip


def is_of_two(op: Any) -> bool:
    row = getattr(op, "signature", None)
    return row is not None and row.types in ("TTT", "bTT") and row.form == "elementwise"


def figure(name: str) -> viz.Picture | None:
    """The picture of an op; None for one whose result no picture of this size shows."""
    op = OPS[name]
    if name in VIEWS and name in SAMPLES:
        *_, before, after = SAMPLES[name]()
        return viz.shared(before, after, names=["x", "z"])
    if name in SAMPLES:
        *operands, result = SAMPLES[name]()
        taken = op.takes if len(op.takes) >= len(operands) else ("x", "y", "w")
        names = [*taken[: len(operands)], "z"]
        titled = zip(names, [*operands, result], strict=True)
        return viz.row(*(viz.heatmap(t.detach().tolist(), title=title) for title, t in titled))
    if is_of_one(op):
        return curve(name)
    if is_of_two(op):
        return table(name)
    return None


def method_figure(name: str) -> viz.Picture | None:
    """The curve of a method of Tensor that is a function of one number."""
    if name in COMPOSED or (name in OPS and hasattr(Tensor, name) and is_of_one(OPS[name])):
        return curve(name)
    return None


def curve(name: str) -> viz.Picture:
    """z and dz/dx over x."""
    low, high = RANGES.get(name, (-4, 4))
    x = Tensor.linspace(low, high, POINTS, dtype="float64", requires_grad=True)
    z = getattr(x, name)() if name in COMPOSED else apply(name, x)
    series = {name: pairs(x, z, math.inf)}
    if name not in STEPS:
        z.sum().backward()
        series["derivative"] = pairs(x, x.grad, STEEP.get(name, 10))
    return viz.curves(series, title=f"z = {name}(x)", x="x")


def pairs(x: Any, z: Any, most: float) -> list[tuple[float, float]]:
    values = zip(x.detach().tolist(), z.detach().tolist(), strict=True)
    return [(a, b) for a, b in values if math.isfinite(b) and abs(b) <= most]


def table(name: str) -> viz.Picture:
    """z for a few x (rows) and y (columns)."""
    whole = "bitwise" in name
    shift = "shift" in name
    xs = [1, 2, 3, 5] if whole else [-2.0, -0.5, 0.0, 1.0, 2.0]
    ys = [0, 1, 2, 3] if shift else [1, 2, 4, 7] if whole else [-2.0, -0.5, 0.0, 1.0, 2.0]
    z = apply(name, Tensor(xs).unsqueeze(1), Tensor(ys))
    title = f"{name}: x down, y across"
    return viz.heatmap(z.tolist(), xs, ys, title=title)
