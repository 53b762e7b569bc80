"""`x += y` by its twin in C++ and by Python: the same numbers, count of changes, and refusals."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Tensor, no_grad
from tutor.core.engine import apply
from tutor.errors import ShapeError, TutorError

_simd = pytest.importorskip("tutor.backends.simd_cpp._simd")
pytestmark = pytest.mark.skipif(apply is not _simd.apply, reason="TUTOR_NATIVE=0")

OPERATORS = {
    "add": operator.iadd, "sub": operator.isub, "mul": operator.imul, "div": operator.itruediv,
    "floor_divide": operator.ifloordiv, "remainder": operator.imod, "pow": operator.ipow,
    "bitwise_and": operator.iand, "bitwise_left_shift": operator.ilshift,
}  # fmt: skip


@pytest.fixture(autouse=True)
def simd() -> Iterator[None]:
    with tutor.use_backend("simd"):
        _ = Tensor([1.0]) + 1  # the step after a watch that is over forgets it
        yield


def base(dtype: str = "float32") -> Tensor:
    """Sixty numbers, of which each case takes its x, and some their y."""
    return Tensor(np.random.default_rng(1).integers(1, 5, 60), dtype=dtype)


# What is changed: (name, x of the base, whether the twin does it for floats).
TARGETS: dict[str, tuple[Callable[[Tensor], Tensor], bool]] = {
    "rows": (lambda b: b[:12].reshape(3, 4), True),
    "behind an offset": (lambda b: b[24:36].reshape(3, 4), True),
    "one axis": (lambda b: b[8:12], True),
    "one number": (lambda b: b[5], True),
    "axes of size 1": (lambda b: b[:4].reshape(1, 4).T.T, True),
    "transposed": (lambda b: b[:12].reshape(4, 3).T, False),
    "every second": (lambda b: b[:24].reshape(3, 8)[:, ::2], False),
    "backwards": (lambda b: b[:12][::-1], False),
    "nothing": (lambda b: b[:0], False),
    "stretched": (lambda b: b[:1].expand(4), False),  # refused
}

# What it is changed by, of the base and x: (name, y, whether the twin does it for float32).
OTHERS: dict[str, tuple[Callable[[Tensor, Tensor], Any], bool]] = {
    "an int": (lambda b, x: 3, True),
    "a float": (lambda b, x: 1.5, True),
    "a bool": (lambda b, x: True, True),
    "itself": (lambda b, x: x, True),
    "another": (lambda b, x: x.copy() * 2, True),
    "integers": (lambda b, x: x.copy().cast("int16"), True),
    "behind it": (lambda b, x: b[40], True),
    "before it": (lambda b, x: b[0:1] if x.offset else x.copy(), True),
    "one of its numbers": (lambda b, x: x.reshape(-1)[:1], False),
    "itself, backwards": (lambda b, x: x[..., ::-1] if x.ndim else x[None], False),
    "a wider dtype": (lambda b, x: x.cast("float64"), False),
    "a list": (lambda b, x: [2.0], False),
    "too many axes": (lambda b, x: Tensor([[[[2.0]]]]), False),
    "a shape that does not fit": (lambda b, x: Tensor([1.0] * 7), False),
    "a number beyond its range": (lambda b, x: 1e39, True),
    "no operand": (lambda b, x: "3", False),
}


def outcome(f: Callable[[Any, Any], Any], target: str, other: str, dtype: str) -> Any:
    """The base afterwards, with its count of changes and where the last was made; or the error."""
    b = base(dtype)
    x = TARGETS[target][0](b)
    y = OTHERS[other][0](b, x)
    error: Any = None
    try:
        z = f(x, y)
        assert z is x
    except TutorError as refused:
        error = type(refused), str(refused)
    except TypeError as refused:
        error = type(refused)
    return bytes(b.buf.raw), b.buf.version, b.buf.changed_at, error


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name", OPERATORS)
def test_the_twin_and_python_do_the_same(name: str, dtype: str) -> None:
    f = OPERATORS[name]
    for target in TARGETS:
        for other in OTHERS:
            found = outcome(f, target, other, dtype)
            _simd.use_twin(False)
            try:
                expected = outcome(f, target, other, dtype)
            finally:
                _simd.use_twin(True)
            assert found == expected, f"{target}, {other}"


@pytest.mark.parametrize("target", TARGETS)
def test_the_twin_does_what_is_simple_and_nothing_else(target: str) -> None:
    for other, (make, simple) in OTHERS.items():
        b = base()
        x = TARGETS[target][0](b)
        y = make(b, x)
        before = bytes(b.buf.raw)
        fits = not (x.ndim == 0 and other == "before it")  # b[0:1] has an axis more
        done = _simd.change("add", x, y)
        assert done == (TARGETS[target][1] and simple and fits), other
        assert done or (bytes(b.buf.raw) == before and b.buf.version == 0), other


def test_neighbours_do_not_overlap() -> None:
    b = base()
    assert _simd.change("add", b[12:24], b[:12])
    assert _simd.change("add", b[12:24], b[24:36])
    assert not _simd.change("add", b[12:24], b[1:13])
    assert not _simd.change("add", b[12:24], b[23:35])


def test_integers_are_changed_unless_the_kernel_may_refuse() -> None:
    """A count of batches goes up by one with each of them; a division by 0 stops halfway."""
    count = Tensor(3)
    assert _simd.change("add", count, 1) and count.item() == 4 and count.buf.version == 1
    x = Tensor([7, 8])
    assert _simd.change("mul", x, Tensor([2, 3])) and x.tolist() == [14, 24]
    for name in ("floor_divide", "remainder", "pow", "bitwise_left_shift"):
        assert not _simd.change(name, x, Tensor([2, 0])), name
    assert not _simd.change("add", x, 1.5) and not _simd.change("div", x, 2)
    assert not _simd.change("add", Tensor([1], dtype="uint8"), 300)
    assert x.tolist() == [14, 24] and x.buf.version == 1


def test_gradients_are_as_without_it() -> None:
    p, g = Tensor([1.0, 2.0], requires_grad=True), Tensor([0.5, 0.5], requires_grad=True)
    assert _simd.change("sub", p, 1.0) is False
    assert _simd.change("sub", p.detach(), g) is False
    with no_grad():
        p -= 0.1 * g
        assert _simd.change("sub", p, g) is True
    assert p.requires_grad
    assert p.buf.version == 2
    y = p * p
    with no_grad():
        p *= 2.0
    with pytest.raises(TutorError, match=r"test_native_inplace\.py"):  # the line of the change
        y.sum().backward()


def test_it_leaves_to_others_what_is_theirs() -> None:
    x = Tensor([1.0, 2.0])
    assert _simd.change("no such op", x, 1.0) is False
    assert _simd.change("where", x, 1.0) is False
    assert _simd.change("matmul", x, x) is False
    assert _simd.change("add", [1.0], x) is False
    assert _simd.change("add", tutor.core.tensor.TensorBase, x) is False
    with tutor.use_backend("python_ref"):
        assert _simd.change("add", x, 1.0) is False
    with pytest.raises(TypeError):
        _simd.change("add", x)
    frozen = Tensor(tutor.Buffer.from_memory(bytes(4), dtype="float32", copy=False))
    with pytest.raises(TutorError, match="read-only"):
        frozen += 1.0
    step = tutor.jit(lambda t: (t.mul_(2.0), t + 1)[1])
    assert [step(x).tolist() for _ in range(3)] == [[3.0, 5.0], [5.0, 9.0], [9.0, 17.0]]


# ---- writing: t[key] = value ---------------------------------------------------------------------

KEYS: dict[str, Any] = {
    "a row": 1, "a number": (1, 2), "rows": slice(0, 2), "a column": (slice(None), 1),
    "every second": (slice(None), slice(None, None, 2)), "backwards": slice(None, None, -1),
    "all": ..., "a new axis": (None, 0), "beyond": 7, "nothing": slice(0, 0), "a float": 1.5,
    "positions": [0, 2],
}  # fmt: skip

VALUES: dict[str, Callable[[Tensor], Any]] = {
    "an int": lambda b: 3,
    "a float": lambda b: 2.5,
    "a bool": lambda b: True,
    "far too large": lambda b: 1e39,
    "a number of that memory": lambda b: b[7],
    "a row of that memory": lambda b: b[4:8],
    "a row elsewhere": lambda b: b[40:44],
    "one number": lambda b: Tensor([9], dtype=b.dtype),
    "another dtype": lambda b: Tensor([1.25]),
    "a list": lambda b: [7.0],
    "too many axes": lambda b: b[40:44].reshape(1, 1, 1, 4),
    "five": lambda b: b[40:45],
    "no value": lambda b: "3",
}


def written(target: str, key: Any, value: str, dtype: str) -> Any:
    """The base afterwards, or the error."""
    b = base(dtype)
    t = TARGETS[target][0](b)
    try:
        t[key] = VALUES[value](b)
    except (TutorError, TypeError) as refused:
        return bytes(b.buf.raw), b.buf.version, str(refused)
    return bytes(b.buf.raw), b.buf.version, b.buf.changed_at


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("target", TARGETS)
def test_writing_is_the_same_with_the_twin(target: str, dtype: str) -> None:
    for name, key in KEYS.items():
        for value in VALUES:
            found = written(target, key, value, dtype)
            _simd.use_twin(False)
            try:
                expected = written(target, key, value, dtype)
            finally:
                _simd.use_twin(True)
            assert found == expected, f"{name}, {value}"


def test_python_is_not_asked_for_a_simple_write(monkeypatch: pytest.MonkeyPatch) -> None:
    from tutor.core.engine.forward import Forward

    asked: list[Any] = []
    monkeypatch.setattr(Forward, "call", lambda self, *given, **params: asked.append(given))
    t = base()[:12].reshape(3, 4)
    t[1], t[:, 2], t[::-1, ::2], t[0] = 5.0, t[:, 1].copy(), 1, base()[:4]
    t.zero_()
    assert asked == []
    t[0] = t.reshape(-1)[1:5]  # of the same memory
    t[0] = Tensor([1, 2, 3, 4])  # of another dtype
    assert len(asked) == 2


def test_what_overlaps_itself_is_refused() -> None:
    """Elements that share a place: windows of one memory, which of whose numbers would be left?"""
    for strides in ((1, 1), (2, 1), (-1, 1)):
        b = base()
        before = bytes(b.buf.raw)
        windows = Tensor(b.buf, (3, 3), strides, 10)
        for on in (True, False):
            _simd.use_twin(on)
            try:
                with pytest.raises(ShapeError, match="one number in memory"):
                    windows[...] = base()[:9].reshape(3, 3)
            finally:
                _simd.use_twin(True)
        assert bytes(b.buf.raw) == before
