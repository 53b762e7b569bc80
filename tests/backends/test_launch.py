"""The short way from operands to a result, against the long way that it stands in for.

A Launcher of simd_cpp makes the Tensor in one call, or answers None. The Engine without it, which
calls the same kernels step by step, is the oracle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Tensor, no_grad
from tutor.backends import registry, simd_cpp
from tutor.backends.signatures import SIGNATURES
from tutor.core.buffer import Buffer
from tutor.core.engine import apply
from tutor.core.op import OPS, Op
from tutor.dtype import DType, bool_, float32, float64, int32
from tutor.errors import AxisError, DomainError, OutOfMemoryError, ShapeError

TABLE = simd_cpp.table(simd_cpp.level())
LAUNCHERS = {name: k.launcher for (name, _), k in TABLE.items() if k.launcher is not None}
POINTWISE = sorted(n for n in LAUNCHERS if n != "matmul" and not SIGNATURES[n].params)
ALONG = sorted(n for n in LAUNCHERS if SIGNATURES[n].params)  # reductions, softmax


@pytest.fixture(autouse=True)
def simd() -> Iterator[None]:
    with tutor.use_backend("simd"):
        yield


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """f, called while there are no launchers."""

    class Empty(dict):
        def __setitem__(self, name: str, launcher: Any) -> None:
            pass

    def call(f: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patch:
            backend = registry._setting.get()
            patch.setattr(backend, "launchers", Empty())
            patch.setattr(backend, "kernels", {})
            return f()

    return call


def state(t: Tensor) -> tuple[Any, ...]:
    """All that a Tensor is made of."""
    op = t.op
    graph = op and (op.name, op.needs, [version for _, version, *_ in op.states], op.params)
    return (
        type(t), type(t.buf), bytes(t.buf.raw), t.buf.dtype, t.buf.version, t.buf.changed_at,
        t.shape, t.strides, t.offset, t.grad, t.requires_grad, graph,
    )  # fmt: skip


def layouts(dtype: DType) -> list[Tensor]:
    """Twelve numbers, as (3, 4), lying in memory in many ways; and other shapes."""
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> Tensor:
        return Tensor(rng.integers(0, 3, shape), dtype=dtype)

    return [
        numbers(3, 4), numbers(4, 3).T, numbers(3, 8)[:, ::2], numbers(3, 4)[::-1],
        numbers(1, 4).expand(3, 4), numbers(3, 1).expand(3, 4), numbers(5, 4)[1:4],
        numbers(4), numbers(), numbers(0, 4), numbers(4, 0), numbers(1, 4), numbers(1, 1).T,
    ]  # fmt: skip


def test_what_can_be_launched() -> None:
    assert {"add", "mul", "exp", "where", "eq", "relu_grad", "matmul"} <= set(LAUNCHERS)
    assert {"sum", "mean", "argmax", "softmax"} <= set(ALONG)
    assert not {"fill", "cast", "scan", "linear", "sgd", "cat"} & set(LAUNCHERS)
    for name, launcher in LAUNCHERS.items():
        assert len(launcher) == len(SIGNATURES[name].dtypes)
        assert OPS[name].kernel == name
        assert OPS[name].forward is Op.forward
        if name not in ALONG:  # a preparation of its own would be passed over
            assert OPS[name].__init__ is Op.__init__


@pytest.mark.parametrize("name", POINTWISE)
def test_launched_or_not_is_the_same(name: str, long_way: Callable[..., Any]) -> None:
    types = SIGNATURES[name].types[1:]
    launched = 0
    for dtype in (float32, float64, int32, bool_):
        if dtype not in SIGNATURES[name].dtypes:
            continue
        given = [layouts(bool_ if letter == "b" else dtype) for letter in types]
        alike = [x.shape for x in given[0]]
        for places in itertools.product(range(len(alike)), repeat=len(types)):
            if len({alike[i] for i in places}) > 1 or (len(types) == 3 and places[1] % 3):
                continue
            ins = [tensors[i] for tensors, i in zip(given, places, strict=True)]
            if name in ("floor_divide", "remainder", "fmod") and not dtype.is_float:
                ins[1] = ins[1] + 1
            found = LAUNCHERS[name](*ins)
            assert state(found) == state(long_way(lambda x=ins: apply(name, *x)))
            launched += 1
    assert launched >= 20


@pytest.mark.parametrize("name", ALONG)
def test_along_axes(name: str, long_way: Callable[..., Any]) -> None:
    launched = 0
    for dtype in SIGNATURES[name].dtypes:
        for x in layouts(dtype):
            several = () if "softmax" in name else (None, (0, 1), ())
            for axis in (0, 1, -1, *several):
                try:
                    op = OPS[name](x, axis=axis)
                except AxisError:
                    continue
                found = LAUNCHERS[name](x, **op.params)
                if found is None:
                    # nothing to reduce, or a number that must be made a row of one first
                    assert x.numel() == 0 or (not x.shape and "softmax" in name)
                else:
                    assert state(found) == state(long_way(op.apply))
                    launched += 1
        for params in ({}, {"axis": 9}, {"axis": (0, 0)}, {"axis": None}, {"axis": 0, "other": 1}):
            assert LAUNCHERS[name](x, **params) is None
    assert launched >= 20


@pytest.mark.parametrize("dtype", [float32, float64, int32])
def test_matrices(dtype: DType, long_way: Callable[..., Any]) -> None:
    def numbers(*shape: int) -> Tensor:
        return Tensor(np.arange(np.prod(shape)).reshape(shape) % 7, dtype=dtype)

    for m, k, n in itertools.product((0, 1, 5), (0, 3), (1, 4)):
        for x, y in ((numbers(m, k), numbers(k, n)), (numbers(k, m).T, numbers(n, k).T)):
            assert state(LAUNCHERS["matmul"](x, y)) == state(long_way(lambda x=x, y=y: x @ y))


@pytest.mark.parametrize("name", ["add", "mul", "pow", "where"])
@pytest.mark.parametrize("dtype", [float32, float64])
def test_numbers(name: str, dtype: DType, long_way: Callable[..., Any]) -> None:
    x = Tensor([[0.5, 2.0], [3.0, 4.0]], dtype=dtype).T
    first = [x > 1] if name == "where" else []
    for number in (2, 0.1, -0.0, 1e300, float("inf"), -float("inf"), 2**53 - 1, -(2**30) - 1):
        for ins in ([*first, x, number], [*first, number, x]):
            found = LAUNCHERS[name](*ins)
            if found is None:
                assert (number, dtype) == (1e300, float32)
            else:
                assert state(found) == state(long_way(lambda i=ins: apply(name, *i)))


def test_what_takes_more_than_the_kernel_is_left_to_the_engine() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0], requires_grad=True)
    add, matmul, where = (LAUNCHERS[n] for n in ("add", "matmul", "where"))
    whole, wide = Tensor([1, 2]), Tensor([1.0, 2.0], dtype="float64")

    class Derived(Tensor):
        pass

    for ins in (
        (), (x,), (x, x, x), (x, Tensor([1.0])), (x, Tensor([[1.0, 2.0]])), (x, whole), (x, wide),
        (1, 2), (x, True), (x, 1e39), (x, 2**60), (whole, 1), (x, None), (x, [1.0, 2.0]),
        (x, np.float32(1)), (x, np.ones(2, "f")), (x, Derived([1.0, 2.0])), (x, x.buf),
        (Tensor([1.0], dtype="float16"), 1.0),
    ):  # fmt: skip
        assert add(*ins) is None
    assert add(x, x, out=x) is None
    assert add(y, 1.0).requires_grad  # and the Engine records it
    assert matmul(x, x) is None
    assert matmul(Tensor.ones(2, 3), Tensor.ones(2, 3)) is None
    assert matmul(Tensor.ones(2, 3), 2.0) is None
    assert where(x, x, x) is None
    assert where(x > 1, x, wide) is None
    assert where(True, x, x) is None
    assert LAUNCHERS["exp"](whole) is None  # it becomes float32 first


def test_a_broken_tensor_is_refused() -> None:
    x, broken = Tensor([1.0, 2.0]), Tensor([1.0, 2.0])
    broken.offset = 1
    assert LAUNCHERS["add"](x, broken) is None
    with pytest.raises(tutor.errors.TutorError, match="reaches"):
        x + broken
    broken.shape = [2]
    assert LAUNCHERS["neg"](broken) is None
    del broken.buf
    assert LAUNCHERS["neg"](broken) is None


def test_what_the_kernel_refuses() -> None:
    x = Tensor([1, 2])
    with pytest.raises(DomainError):
        LAUNCHERS["floor_divide"](x, x - 1)


def test_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Tensor(Buffer([1.0]), (2**40,), (0,))
    assert LAUNCHERS["add"](x, x) is None
    with pytest.raises(OutOfMemoryError):
        x + x


def test_the_graph(long_way: Callable[..., Any]) -> None:
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])
    for f in (lambda: x * y, lambda: y * x, lambda: x * 2.0, lambda: -x, lambda: x.tanh()):
        f()  # from the second call on a launcher is there
        found, expected = f(), long_way(f)
        assert state(found) == state(expected)
        assert found.op is not None
        with no_grad():
            assert state(f()) == state(long_way(f))
        found.sum().backward()
        gradient, x.grad = x.grad, None
        expected.sum().backward()
        assert state(gradient) == state(x.grad)
        x.grad = None
    assert (x > y).op is None
    assert not (x.detach() * y).requires_grad


def test_launchers_are_those_of_the_backend_in_use() -> None:
    x = Tensor([1.0, 2.0])
    assert x + x is not None
    assert (
        registry.in_use().launchers["add"] is registry.lookup("add", "simd_cpp", float32).launcher
    )
    with tutor.use_backend("python"):
        assert x + x is not None
        assert not registry.in_use().launchers
    calls = []

    def observer(kernel: registry.Kernel, name: str, dtype: DType) -> registry.Kernel:
        return lambda *operands, **params: (calls.append(name), kernel(*operands, **params))

    registry.observe(observer)
    try:
        assert (x + x).tolist() == [2, 4]
    finally:
        registry.observe(observer, False)
    assert calls == ["add"]


def test_a_table_with_a_row_of_another_backend_has_no_launcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mine(out: Any, x: Any, y: Any) -> None:
        TABLE["sub", float32](out, x, y)

    monkeypatch.setitem(registry._tables, "mixed", {**TABLE, ("add", float32): mine})
    with tutor.use_backend("mixed"):
        x = Tensor([1.0, 2.0])
        assert (Tensor([1.0], dtype="float64") + Tensor([1.0], dtype="float64")).item() == 2
        assert (x + x).tolist() == [0, 0]
        assert (x + x).tolist() == [0, 0]
        assert "add" not in registry.in_use().launchers
        assert (x * x).tolist() == [1, 4]
        assert "mul" in registry.in_use().launchers


def test_errors_are_the_engines() -> None:
    with pytest.raises(ShapeError, match="inner sizes differ"):
        Tensor.ones(2, 3) @ Tensor.ones(2, 3)
    with pytest.raises(ShapeError):
        Tensor.ones(2, 3) + Tensor.ones(2, 2)
