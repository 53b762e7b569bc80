"""Changes in place: the bits of the op, the same tensor, counted, and refused where a graph is."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Tensor, no_grad
from tutor.errors import (
    DomainError,
    DTypeError,
    GraphError,
    NumberRangeError,
    ShapeError,
    TutorError,
)

pytestmark = pytest.mark.usefixtures("backend")

OPERATORS = {
    "+": (operator.iadd, operator.add), "-": (operator.isub, operator.sub),
    "*": (operator.imul, operator.mul), "/": (operator.itruediv, operator.truediv),
    "//": (operator.ifloordiv, operator.floordiv), "%": (operator.imod, operator.mod),
    "**": (operator.ipow, operator.pow), "@": (operator.imatmul, operator.matmul),
    "&": (operator.iand, operator.and_), "|": (operator.ior, operator.or_),
    "^": (operator.ixor, operator.xor), "<<": (operator.ilshift, operator.lshift),
    ">>": (operator.irshift, operator.rshift),
}  # fmt: skip
BITS = ("&", "|", "^", "<<", ">>")


def bits(t: Tensor) -> bytes:
    return bytes(t.copy().buf.raw)


def numbers(dtype: str, *shape: int) -> Tensor:
    rng = np.random.default_rng(len(shape))
    if dtype.startswith("float"):
        return Tensor(rng.uniform(0.5, 3, shape), dtype=dtype)
    return Tensor(rng.integers(1, 5, shape), dtype=dtype)


@pytest.mark.parametrize(
    ("sign", "dtype"),
    [(sign, dtype) for sign in OPERATORS
     for dtype in ("float32", "float64", "float16", "int64", "uint8")
     if not (sign in BITS and dtype.startswith("float"))],  # bits are of integers
)  # fmt: skip
def test_the_bits_of_the_op_in_the_same_tensor(sign: str, dtype: str) -> None:
    in_place, op = OPERATORS[sign]
    layouts: list[Callable[[], Tensor]] = [
        lambda: numbers(dtype, 3, 3),
        lambda: numbers(dtype, 3, 3).T,
        lambda: numbers(dtype, 6, 3)[::-2],
        lambda: numbers(dtype, 5, 5)[1:4, 2:],
    ]
    others = [numbers(dtype, 3, 3), numbers(dtype, 3, 3).T, numbers(dtype, 3), numbers(dtype, 3, 1)]
    for make in layouts:
        for other in [*others, numbers(dtype), 2]:
            if sign == "@" and getattr(other, "shape", ()) != (3, 3):
                continue
            t = make()
            expected, before, version = op(t, other), t, t.buf.version
            alias = t[:]
            if sign == "/" and not dtype.startswith("float"):
                with pytest.raises(DTypeError, match="result is float32"):
                    in_place(t, other)
                continue
            t = in_place(t, other)
            assert t is before
            assert (t.dtype, t.shape) == (expected.dtype, expected.shape)
            assert bits(t) == bits(alias) == bits(expected)
            assert t.buf.version > version


@pytest.mark.parametrize("sign", OPERATORS)
def test_operands_that_share_memory(sign: str) -> None:
    in_place, op = OPERATORS[sign]
    dtype = "int64" if sign in BITS else "float32"

    def whole() -> Tensor:
        return numbers(dtype, 4, 4)

    pairs: list[Callable[[Tensor], tuple[Tensor, Tensor]]] = [
        lambda t: (t, t.T), lambda t: (t, t), lambda t: (t, t[:]), lambda t: (t, t[::-1]),
        lambda t: (t[:3, :3], t[1:, 1:]), lambda t: (t[1:, 1:], t[:3, :3]),
        lambda t: (t, t[0]), lambda t: (t, t[:, 1:2]),
    ]  # fmt: skip
    for pair in pairs:
        x, y = pair(whole())
        if sign == "@" and (y.ndim != 2 or y.shape[0] != y.shape[1]):
            continue
        expected = op(x.copy(), y.copy())
        in_place(x, y)
        assert bits(x) == bits(expected)


def test_two_buffers_over_one_memory() -> None:
    array = np.arange(6, dtype="float32")
    x, y = Tensor.from_dlpack(array), Tensor.from_dlpack(array[::-1].copy())
    y = Tensor.from_dlpack(array)[::-1]
    expected = (array + array[::-1]).tolist()
    assert x.buf is not y.buf
    x += y
    assert x.tolist() == expected
    x, y = Tensor.from_dlpack(array), Tensor.from_dlpack(array)
    x[1:] = y[:-1]
    assert array.tolist() == [expected[0], *expected[:-1]]


def test_a_parameter_moves_as_by_hand() -> None:
    p, q = (Tensor([1.0, -2.0, 0.5], requires_grad=True) for _ in range(2))
    lr = 0.1
    for _ in range(20):
        for x in (p, q):
            x.grad = None
            (x * x * x + x).sum().backward()
        memory = p.buf
        with no_grad():
            p -= lr * p.grad
            q.assign(q - lr * q.grad)
        assert p.buf is memory
        assert p.requires_grad
        assert bits(p) == bits(q)
    assert p.tolist() != [1.0, -2.0, 0.5]


def test_views_write_through() -> None:
    m = Tensor([[1.0, 2.0], [3.0, 4.0]])
    m[0] += 1
    m[:, 1] *= 10
    m.T[0] -= 5
    assert m.tolist() == [[-3.0, 30.0], [-2.0, 40.0]]
    m[m < 0] += 100
    assert m.tolist() == [[97.0, 30.0], [98.0, 40.0]]
    m[[0, 0], [1, 1]] += 1  # as in NumPy: the place is written twice, not added to twice
    assert m[0, 1].item() == 31
    zero = Tensor(1.0)
    zero += 2
    assert zero.shape == ()
    assert zero.item() == 3
    flags = Tensor([True, False])
    flags |= Tensor([False, False])
    assert flags.tolist() == [True, False]


def test_the_rule_for_dtypes() -> None:
    f = Tensor([1.0])
    f += Tensor([0.1], dtype="float64")  # computed wide, rounded once
    assert f.dtype is tutor.float32
    assert f.item() == (Tensor([1.0]) + Tensor([0.1], dtype="float64")).cast("float32").item()
    f += Tensor([2])
    f *= 2
    assert f.dtype is tutor.float32
    small = Tensor([100], dtype="int8")
    small += Tensor([100])
    assert small.tolist() == [-56]  # integers wrap
    u = Tensor([1], dtype="uint8")
    u += 1
    assert u.tolist() == [2]


def expanded() -> Tensor:
    return Tensor([1.0]).expand(3)


def constant() -> Tensor:
    return Tensor([1.0, 2.0]).wrap(3.0, tutor.float32, (2,))


def leaf() -> Tensor:
    return Tensor([1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize(
    ("make", "change", "error", "words"),
    [
        (leaf, lambda x: operator.iadd(x, 1), GraphError, r"it is a leaf .*x = x\.copy.*no_grad"),
        (leaf, lambda x: operator.imul(x[:1], 2), GraphError, "shares the memory of a leaf"),
        (leaf, lambda x: operator.imatmul(x, x), GraphError, "no_grad"),
        (leaf, lambda x: x.__setitem__(0, 1.0), GraphError, "where a gradient is wanted"),
        (lambda: Tensor([1.0, 1.0]), lambda x: operator.iadd(leaf(), x), GraphError, "no_grad"),
        (leaf, lambda x: x.zero_(), GraphError, "no_grad"),
        (leaf, lambda x: x.clamp_(0, 1), GraphError, "no_grad"),
        (leaf, lambda x: x.fill_(1), GraphError, "no_grad"),
        (lambda: Tensor([1]), lambda x: operator.iadd(x, 0.5), DTypeError, "result is float32"),
        (lambda: Tensor([1]), lambda x: operator.itruediv(x, 2), DTypeError, r"x = x / y"),
        (lambda: Tensor([True]), lambda x: operator.iadd(x, 1), DTypeError, "int64"),
        (lambda: Tensor([1], dtype="uint8"), lambda x: operator.iadd(x, Tensor([1])), DTypeError,
         "int64"),
        (lambda: Tensor([1], dtype="uint8"), lambda x: operator.iadd(x, 300), NumberRangeError,
         "300"),
        (lambda: Tensor([1.0]), lambda x: operator.iadd(x, Tensor([1.0, 2.0])), ShapeError,
         "never changes the shape"),
        (lambda: Tensor.ones(2, 3), lambda x: operator.imatmul(x, Tensor.ones(3, 4)), ShapeError,
         "never changes the shape"),
        (expanded, lambda x: operator.iadd(x, 1), ShapeError, "expanded"),
        (expanded, lambda x: x.zero_(), ShapeError, "expanded"),
        (constant, lambda x: x.zero_(), (ShapeError, DomainError), "copy"),
        (lambda: Tensor([1.0]).wrap(3.0, tutor.float32, (1,)), lambda x: operator.iadd(x, 1),
         (ShapeError, DomainError), "read-only"),
        (lambda: Tensor([7]), lambda x: operator.ifloordiv(x, 0), DomainError, ""),
        (lambda: Tensor([1.0]), lambda x: operator.iadd(x, "a"), TutorError, ""),
        (lambda: Tensor([1.0]), lambda x: operator.iadd(x, None), TutorError, ""),
        (lambda: Tensor([1]), lambda x: x.fill_(0.5), TutorError, ""),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(make: Any, change: Any, error: Any, words: str) -> None:
    x = make()
    before, version = x.tolist(), x.buf.version
    with pytest.raises(error, match=f"(?s){words}") as caught:
        change(x)
    assert str(caught.value).count("\n") >= 2
    assert x.tolist() == before
    assert x.buf.version == version


def test_a_division_by_zero_in_the_middle_changes_nothing() -> None:
    x = Tensor([8, 9, 10])
    with pytest.raises(DomainError):
        x //= Tensor([2, 0, 5])
    assert x.tolist() == [8, 9, 10]


def test_numpy_arrays_are_not_changed_by_tensors() -> None:
    array = np.ones(2)
    with pytest.raises(TypeError):
        array += Tensor([1.0, 2.0])


def test_a_change_under_no_grad_is_noticed_by_the_graph() -> None:
    x = leaf()
    y = x * x
    with no_grad():
        x += 1
    with pytest.raises(GraphError, match="changed in place"):
        y.sum().backward()


def test_the_methods() -> None:
    x = Tensor([1.0, 2.0, 3.0])
    assert x.add_(1) is x
    x.add_(Tensor([1.0, 1.0, 1.0]), alpha=2)
    x.sub_(1).sub_(1, alpha=0.5).mul_(2).div_(4)
    assert x.tolist() == [1.25, 1.75, 2.25]
    assert x.detach().copy().add_([1.0], alpha=2).tolist() == [3.25, 3.75, 4.25]  # [1.0] * 2 is two
    assert x.detach().copy().sub_([1.0, 0.0, 1.0], alpha=2).tolist() == [-0.75, 1.75, 0.25]
    assert x.clamp_(1.5, 2).tolist() == [1.5, 1.75, 2.0]
    assert x.clip_(max=1.75).tolist() == [1.5, 1.75, 1.75]
    assert x.copy_([4, 5, 6]).tolist() == [4.0, 5.0, 6.0]
    assert x.fill_(Tensor(7.0)).tolist() == [7.0] * 3
    assert x.zero_().tolist() == [0.0] * 3
    p = leaf()
    (p * 3).sum().backward()
    gradient = p.grad
    p.grad.zero_()
    p.grad += 2
    p.grad *= 2
    assert p.grad is gradient
    assert p.grad.tolist() == [4.0, 4.0]


def test_data() -> None:
    p = leaf()
    d = p.data
    assert (d.buf is p.buf, d.requires_grad, d.op) == (True, False, None)
    (p * p).sum().backward()
    p.data -= 0.5 * p.grad
    assert p.tolist() == [0.0, 0.0]
    memory, other = p.buf, Tensor([5.0, 6.0])
    p.data = other
    assert (p.buf is memory, p.tolist(), d.tolist()) == (True, [5.0, 6.0], [5.0, 6.0])
    other[0] = 9.0
    assert p.tolist() == [5.0, 6.0]
    y = (p * p).sum()
    p.data[0] = 1.0
    with pytest.raises(GraphError, match="changed in place"):
        y.backward()
    for wrong in (3.0, [1.0, 2.0], Tensor([1.0]), Tensor([1, 2]), None):
        with pytest.raises(DTypeError, match=r"x\.data = y"):
            p.data = wrong
