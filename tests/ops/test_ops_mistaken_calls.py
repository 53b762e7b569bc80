"""A mistaken call of any op of the catalogue ends in a typed error, in both Engines, in one text.

Each op is called as it is meant, and then with one thing changed: an operand too few or too many, a
parameter that is missing or of a value that means nothing, an operand of another shape. Some of
these are fine, and have a result; whatever is not must end in a TutorError.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tutor import Tensor, manual_seed, use_backend
from tutor.core.engine import apply
from tutor.core.op import OPS
from tutor.dtype import bool_, float16, float32, int64
from tutor.errors import TutorError

try:
    from tutor.backends.simd_cpp import _simd

    is_twin = apply is _simd.apply
except ImportError:
    is_twin = False

Call = tuple[tuple[Any, ...], dict[str, Any]]  # operands and parameters


def numbers(*shape: int, dtype: Any = float32) -> Tensor:
    count = 1
    for n in shape:
        count *= n
    return (Tensor.arange(count) % 3).reshape(shape).cast(dtype)


STRIDES = {"stride_h": 1, "stride_w": 2, "dilation_h": 1, "dilation_w": 1}
WINDOW = {"size_h": 2, "size_w": 1, **STRIDES}
ROW = numbers(3)
INDEX = numbers(2, 3, dtype=int64) % 2

# A call of each op as it is meant; of those that are not here, one of as many rows as it takes.
MEANT: dict[str, Call] = {
    "attention": (
        (numbers(2, 3), numbers(4, 3), numbers(4, 2), numbers(2, 4)),
        {"scale": 0.5, "causal": True},
    ),
    "group_norm": ((numbers(2, 6, 2), numbers(6), numbers(6)), {"groups": 3, "eps": 0.1}),
    "batch_norm": ((numbers(2, 3, 2), numbers(3), numbers(3)), {"eps": 0.1}),
    "dropout": ((numbers(2, 3),), {"p": 0.5, "at": Tensor([3, 5], dtype="uint64")}),
    "layer_norm": ((numbers(2, 3), numbers(3), numbers(3)), {"eps": 0.1}),
    "rms_norm": ((numbers(2, 3), numbers(3)), {"eps": 0.1}),
    "rnn": ((numbers(2, 1, 3), numbers(3, 3), numbers(1, 3)), {"relu": True}),
    "lstm": ((numbers(2, 1, 4, 3), numbers(4, 3, 3), numbers(2, 1, 3)), {}),
    "gru": ((numbers(2, 1, 3, 3), numbers(3, 3, 3), numbers(3, 3), numbers(1, 3)), {}),
    "argsort": ((ROW,), {"axis": 0, "descending": True}),
    "cast": ((ROW,), {"dtype": int64}),
    "cat": ((ROW, ROW), {"axis": 0}),
    "scatter_extreme": (
        (numbers(2, 3), INDEX, numbers(2, 3)), {"axis": 0, "largest": True, "include_self": True},
    ),
    "conv2d": ((numbers(1, 2, 3, 3), numbers(2, 1, 2, 2)), {**STRIDES, "groups": 2}),
    "conv2d_weight": (
        (numbers(1, 2, 3, 3), numbers(1, 2, 2, 1)), {**STRIDES, "groups": 2, "size": (2, 2)},
    ),
    "cross_entropy": ((numbers(2, 3), numbers(2, dtype=int64)), {"reduction": "mean"}),
    "cross_entropy_grad": (
        (numbers(2, 3), numbers(2, dtype=int64), numbers(2)), {"scale": 0.5},
    ),
    "cummax": ((ROW,), {"axis": 0}),
    "diagonal": ((numbers(2, 3),), {"k": 1, "axis1": 0, "axis2": 1}),
    "expand": ((ROW,), {"shape": (2, 3)}),
    "fold": ((numbers(2, 3, 2),), {"shape": (2, 4), "axis": 1, "step": 1, "dilation": 1}),
    "gather": ((numbers(2, 3), INDEX), {"axis": 0}),
    "index": ((numbers(2, 3),), {"key": (0, slice(1, 3))}),
    "index_select": ((numbers(2, 3), numbers(4, dtype=int64)), {"axis": 1}),
    "linear": ((numbers(2, 3), numbers(4, 3), numbers(4)), {}),
    "linear_relu": ((numbers(2, 3), numbers(4, 3), numbers(4)), {}),
    "log_softmax": ((ROW,), {"axis": 0}),
    "matmul": ((numbers(2, 3), numbers(3, 4)), {}),
    "max_pool2d": ((numbers(1, 2, 3, 3),), WINDOW),
    "max_pool2d_grad": ((numbers(1, 2, 3, 3), numbers(1, 2, 2, 2), numbers(1, 2, 2, 2)), WINDOW),
    "one_hot": ((numbers(2, 3, dtype=int64) % 2,), {"classes": 4}),
    "pad": ((numbers(2, 3),), {"widths": ((0, 1), (1, 0)), "value": 2}),
    "permute": ((numbers(2, 3),), {"axes": (1, 0)}),
    "place": ((numbers(2),), {"view": "index", "shape": (2, 3), "key": (slice(None), 1)}),
    "put": ((numbers(2, 3), numbers(2)), {"sizes": (2,), "strides": (3,), "start": 1}),
    "reshape": ((numbers(2, 3),), {"shape": (3, -1), "copy": True}),
    "scan": ((ROW, ROW), {"axis": 0}),
    "scatter": ((numbers(2, 3), INDEX, numbers(2, 3)), {"axis": 0}),
    "scatter_add": ((numbers(2, 3), INDEX, numbers(2, 3)), {"axis": 0}),
    "softmax": ((ROW,), {"axis": 0}),
    "squeeze": ((numbers(2, 1),), {"axis": 1}),
    "strided": ((numbers(2, 3),), {"sizes": (2,), "strides": (3,), "start": 1}),
    "transfer": ((ROW,), {"device": "cpu"}),
    "transpose": ((numbers(2, 3),), {"a": 0, "b": 1}),
    "unsqueeze": ((ROW,), {"axis": 0}),
    "where": ((ROW > 0, ROW, ROW), {}),
    "windows": ((numbers(2, 4),), {"axis": 1, "size": 2, "step": 1, "dilation": 1}),
    **{name: ((numbers(2, 3, dtype=int64), 1), {}) for name in OPS if name.startswith("bitwise")},
    "bitwise_not": ((ROW > 0,), {}),
    **{
        name: ((numbers(2, 3),), {"axis": (0, 1), "keepdims": True})
        for name in ("argmax", "argmin", "max", "mean", "min", "prod", "sum")
    },
}  # fmt: skip

VALUES: tuple[Any, ...] = (
    0, 1, -1, 2, -2, 5, 2**50, 2**62, 2**63 - 1, 2**63, -(2**63), 2**70, -(2**70), 10**400,
    0.0, 0.5, -1.5, 1e300, float("nan"), float("inf"), True, False, None, 1j, object(), int,
    "", "x", "mean", "index", "place", "add", "float32", b"1", float32, ...,
    (), (0,), (0, 0), (1,), (-1,), (-1, -1), (0.5,), ("x",), (1, 2, 3), (1,) * 17,
    (2**63, 1), (2**40, 2**40), (0, 2**62), ((0, 0),), ((1,), (2,)), ((-1, 0), (0, 0)),
    ((2**62, 2**62), (0, 0)), ((0.5, 0), (0, 0)), [0], [], {}, {0}, range(2),
    slice(None), slice(0, 2, 0), slice("a", None),
    Tensor(1), Tensor(0.5), Tensor([0, 1]), (Tensor(1), Tensor(0)),
)  # fmt: skip
OPERANDS: tuple[Any, ...] = (
    numbers(), numbers(0), numbers(1), numbers(5), numbers(2, 0), numbers(2, 3, 4),
    numbers(1, 1, 1, 1), numbers(1, 2, 0, 3), numbers(2, 3, dtype=int64),
    numbers(2, 3, dtype=bool_), numbers(2, dtype=int64) - 9, numbers(*[1] * 16),
    numbers(4, dtype=float16), 0, -1, True, 0.5, 2**70, 10**400, -(10**400), float("nan"), 1j,
    None, "x", b"1", (), [], [1, 2], [[1], [2, 3]], ["x"], {}, object(), int,
)  # fmt: skip


def meant(name: str) -> Call:
    return MEANT.get(name, ((ROW,) * len(OPS[name].takes), {}))


def of_the_library() -> list[str]:
    return sorted(n for n, op in OPS.items() if op.__module__.startswith("tutor.ops"))


def changed(name: str) -> Iterator[Call]:
    """The call, and each that differs from it in one thing."""
    inputs, params = meant(name)
    yield inputs, params
    for count in range(5):
        yield (inputs * 5)[:count], params
        yield (inputs * 5)[:count], {}
        for one in OPERANDS[:4]:
            yield (one,) * count, params
    for missing in params:
        yield inputs, {n: v for n, v in params.items() if n != missing}
    yield inputs, {**params, "nobody": 1}
    for param, value in itertools.product(sorted(OPS[name].accepts or params), VALUES):
        yield inputs, {**params, param: value}
    for i, value in itertools.product(range(len(inputs)), OPERANDS):
        yield (*inputs[:i], value, *inputs[i + 1 :]), params


def outcome(call: Call, name: str, spelled_out: bool) -> Any:
    """The result, or the typed error; as text what must not be."""
    inputs, params = call
    manual_seed(0)  # for dropout, that draws
    try:
        z = OPS[name](*inputs, **params).apply() if spelled_out else apply(name, *inputs, **params)
    except TutorError as error:
        if error.asked and error.found and error.do:
            return type(error), str(error)
        return f"not in three parts: {error}"
    except Exception as error:
        return repr(error)
    return z.shape, z.dtype, bytes(z.contiguous().buf.raw) if z.numel() < 10**6 else None


def text(call: Call) -> str:
    inputs, params = call
    shapes = [str(x.shape) if isinstance(x, Tensor) else repr(x) for x in inputs]
    return f"{', '.join(shapes)}; {params}"[:200]


def test_the_calls_that_are_meant_have_a_result() -> None:
    for name in of_the_library():
        assert not isinstance(outcome(meant(name), name, False), str)
        op = OPS[name]
        asked = set(op.required if op.accepts is None else op.accepts) - {"before", "scale"}
        assert asked <= {*meant(name)[1], "scale"}, f"{name} has parameters that are not changed"


@pytest.mark.parametrize("name", of_the_library())
def test_a_mistaken_call_ends_in_a_typed_error(name: str) -> None:
    with use_backend("python"):
        found = [(call, outcome(call, name, False)) for call in changed(name)]
    wrong = [f"{text(call)}: {result}" for call, result in found if isinstance(result, str)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(not is_twin, reason="there is no twin, or TUTOR_NATIVE=0")
@pytest.mark.parametrize("name", of_the_library())
def test_the_twin_says_the_same(name: str) -> None:
    wrong = []
    with use_backend("simd"):
        for call, spelled_out in itertools.product(changed(name), (False, True)):
            found = outcome(call, name, spelled_out)
            _simd.use_twin(False)
            try:
                expected = outcome(call, name, spelled_out)
            finally:
                _simd.use_twin(True)
            if isinstance(found, str) or found != expected:
                wrong.append(f"{text(call)}: {found}; without it: {expected}")
    assert not wrong, "\n".join(wrong)
