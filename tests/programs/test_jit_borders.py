"""The borders of what is recorded: refusals, bytes, results, and jitted functions as things."""

from __future__ import annotations

import array
import contextlib
import copy
import ctypes
import hashlib
import pickle
import struct
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import tutor
from tutor import Tensor, nn
from tutor._storage.memory import PythonHolder
from tutor.errors import GraphError, RecordError, TutorError

STRICT = {"strict": True}


def bits(t: Tensor) -> tuple[Any, ...]:
    return t.shape, t.dtype.name, t.detach().cpu().copy().buf.raw.tobytes()


def counted(jitted: Any) -> tuple[int, int]:
    return jitted.stats()["recorded"], jitted.stats()["replayed"]


# ---- refusals ------------------------------------------------------------------------------------


def excepts(x: Tensor) -> Tensor:
    try:
        return x * x.sum().item()
    except Exception:
        return x * 0


def excepts_all(x: Tensor) -> Tensor:
    try:
        return x * 2 if x.sum() > 0 else x
    except BaseException:
        return x * 0


def suppresses(x: Tensor) -> Tensor:
    with contextlib.suppress(Exception):
        x = x * x.tolist()[0]
    return x + 1


def returns_at_last(x: Tensor) -> Tensor:
    y = x + 1
    try:
        y = x * float(x[0])
    finally:
        return y  # noqa: B012


def goes_on_to_the_next(x: Tensor) -> Tensor:
    for way in (lambda: x * x.buf[0], lambda: x * 3):
        try:
            return way()
        except TutorError:
            continue
    return x


def raises_another(x: Tensor) -> Tensor:
    try:
        return x * x.max().item()
    except RecordError:
        raise ValueError("no number") from None


def asks_twice(x: Tensor) -> Tensor:
    found = []
    for ask in (lambda: x.sum().item(), lambda: x[x > 0]):
        with contextlib.suppress(RecordError):
            found.append(ask())
    return x * len(found)


def leaves_it_to_a_caller(x: Tensor) -> Tensor:
    try:
        return excepts(x) * x.sum().item()
    except RecordError:
        return x


@pytest.mark.parametrize(
    "function",
    [excepts, excepts_all, suppresses, returns_at_last, goes_on_to_the_next, raises_another,
     asks_twice, leaves_it_to_a_caller],
)  # fmt: skip
def test_a_refusal_cannot_be_caught(function: Callable[..., Any]) -> None:
    """What the function does with the error no eager call does."""
    jitted, x = tutor.jit(function, **STRICT), Tensor([1.0, -2.0, 3.0])
    jitted(x)
    for _ in range(2):
        with pytest.raises(RecordError, match=r"test_borders\.py:"):
            jitted(x)
    assert counted(jitted) == (0, 0)
    assert bits(jitted.function(x)) == bits(function(x))


BYTES: dict[str, Callable[[Tensor], Any]] = {  # ways to a number that pass no method of a Tensor
    "raw": lambda x: x * x.buf.raw.cast("f")[0],
    "raw of a result": lambda x: x * (x * 2).buf.raw.cast("f")[0],
    "memoryview": lambda x: x * memoryview(x.buf).cast("B").cast("f")[0],
    "struct": lambda x: x * struct.unpack_from("f", x.buf)[0],
    "bytes": lambda x: x * bytes(x.buf)[3],
    "array": lambda x: x * array.array("f", bytes(x.buf))[0],
    "address": lambda x: x * ctypes.c_float.from_address(x.buf.address).value,
    "ctypes": lambda x: x * ctypes.c_float.from_buffer(x.buf).value,
    "a write": lambda x: (memoryview(x.buf).cast("B").__setitem__(3, 0), x * 2)[1],
    "digest": lambda x: hashlib.sha1(x.buf).hexdigest(),
}


@pytest.mark.host
@pytest.mark.parametrize("name", BYTES)
def test_bytes_are_numbers_too(name: str) -> None:
    if issubclass(tutor.Buffer, PythonHolder) and sys.version_info < (3, 12):
        pytest.skip("the buffer protocol of a class in Python")
    jitted, x = tutor.jit(BYTES[name], **STRICT), Tensor([1.0, -2.0, 3.0])
    jitted(x)
    with pytest.raises(RecordError, match=r"the bytes of a Buffer at .*test_borders\.py:"):
        jitted(x)
    assert BYTES[name](x) is not None


def test_constants_that_are_made_inside_are_no_bytes_that_are_read() -> None:
    jitted = tutor.jit(lambda x: Tensor([1.0, 2.0]) + x.buf.dtype.itemsize * x + len(x.buf))
    for _ in range(3):
        assert jitted(Tensor([1.0, 2.0])).tolist() == [7.0, 12.0]
    assert counted(jitted) == (1, 1)


# ---- results -------------------------------------------------------------------------------------


class Lines(list):  # type: ignore[type-arg]
    """What has only methods of its own."""

    def __init__(self, first: Any, *others: Any) -> None:
        super().__init__((first, *others))

    def first(self) -> Any:
        return self[0]


class Two(tuple):  # type: ignore[type-arg]
    def __new__(cls, x: Any) -> Two:
        return super().__new__(cls, (x, x * 2))


class Named(NamedTuple):
    x: Any
    y: Any


class Output(OrderedDict[str, Any]):
    def __init__(self, x: Any, y: Any) -> None:
        super().__init__(y=y, x=x)


class Counted(dict[str, Any]):
    def __setitem__(self, key: str, value: Any) -> None:
        raise TypeError("it cannot be changed")


RESULTS: dict[str, Callable[[Tensor], Any]] = {
    "a list": lambda x: [x * 2, 3, "text"],
    "a list of a class": lambda x: Lines(x * 2, x + 1),
    "a tuple of a class": lambda x: Two(x * 3),
    "a named tuple": lambda x: Named(x * 2, y=(x, None)),
    "an OrderedDict": lambda x: OrderedDict(b=x * 2, a=x),
    "a class of an OrderedDict": lambda x: Output(x * 2, x + 1),
    "a defaultdict": lambda x: defaultdict(list, {"a": x * 2}),
    "a Counter": lambda x: Counter(a=2, b=1),
    "a dict of a class": lambda x: Counted(a=x * 2),
    "one in another": lambda x: Lines(Output(x * 2, Two(x)), {"a": Lines(1)}),
    "nothing in it": lambda x: Lines(()),
    "a view": lambda x: Lines(x[1:], x),
    "the same twice": lambda x: [y := x * 2, y],
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_of_the_class_that_the_function_gives(name: str, grad: bool) -> None:
    w = Tensor([1.0], requires_grad=grad)
    function = RESULTS[name]
    jitted = tutor.jit(lambda x: function(x * w))
    given = [Tensor([1.0, 2.0, call]) for call in range(4)]
    found = [jitted(x) for x in given]
    for call, (x, made) in enumerate(zip(given, found, strict=True)):
        assert looks(made) == looks(function(x * w)), f"call {call + 1}"
    assert counted(jitted) == (1, 2)


def looks(value: Any) -> Any:
    if isinstance(value, Tensor):
        return bits(value)
    parts = value
    if isinstance(value, dict):
        parts = [part for item in value.items() for part in item]
    inner = [looks(part) for part in parts] if isinstance(parts, (list, tuple)) else value
    return type(value), inner, getattr(value, "default_factory", None)


def test_two_results_that_are_one_stay_one() -> None:
    jitted = tutor.jit(RESULTS["the same twice"])
    for _ in range(4):
        a, b = jitted(Tensor([1.0]))
        assert a is b


HELD = SimpleNamespace(items=[1.0, 2.0], named={"a": 1}, both=([1.0],))


class Marked(list):  # type: ignore[type-arg]
    def __init__(self, items: Any, mark: str) -> None:
        super().__init__(items)
        self.mark = mark


NOT_MADE: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "a list that is state": (lambda x: HELD.items, (), "there before"),
    "a dict that is state": (lambda x: [x, HELD.named], (), "there before"),
    "a list in a tuple that is state": (lambda x: HELD.both, (), "there before"),
    "a list among the arguments": (lambda x, given: given, ([1.0],), "there before"),
    "a list with an attribute": (lambda x: Marked([x], "a"), (), "Marked"),
    "a set": (lambda x: {1.0}, (), "set"),
}


@pytest.mark.parametrize("name", NOT_MADE)
def test_results_that_a_replay_does_not_make(name: str) -> None:
    function, given, says = NOT_MADE[name]
    jitted, x = tutor.jit(function, **STRICT), Tensor([1.0])
    first = jitted(x, *given)
    if "that is state" in name or "arguments" in name:
        assert first is function(x, *given) or name == "a dict that is state"
    with pytest.raises(RecordError, match=says):
        jitted(x, *given)


# ---- views of arguments --------------------------------------------------------------------------

BIG = 8
VIEWS: dict[str, tuple[Callable[[Tensor], Any], Callable[[Tensor, int], Tensor]]] = {
    "rows": (lambda x: x[1:], lambda big, n: big[n : n + 4]),
    "turned": (lambda x: x.T, lambda big, n: big[n : n + 4]),
    "reshaped": (lambda x: x.reshape(-1), lambda big, n: big[n : n + 2]),
    "one row": (lambda x: x[1], lambda big, n: big[n : n + 4]),
    "of what it has changed": (lambda x: x.mul_(2)[1:], lambda big, n: big[n : n + 4]),
    "in a list": (lambda x: [x * 2, x[:1]][1], lambda big, n: big[n : n + 4]),
    "of the whole": (lambda x: x[1:3], lambda big, n: big),
    "the argument": (lambda x: x, lambda big, n: big[n : n + 4]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_comes_out_is_over_the_memory_that_went_in(name: str) -> None:
    """What is written through it is seen by who has saved the whole for a gradient."""
    function, part = VIEWS[name]
    jitted = tutor.jit(function)
    for call in range(4):
        big = Tensor([[float(8 * i + j) for j in range(2)] for i in range(BIG)])
        w = Tensor([[2.0, 3.0]], requires_grad=True)
        view = jitted(part(big, call))
        assert view.buf is big.buf
        saved, version = (big * w).sum(), big.buf.version
        view += 1
        assert big.buf.version == version + 1
        with pytest.raises(GraphError, match="changed in place"):
            saved.backward()
        same = Tensor([[float(8 * i + j) for j in range(2)] for i in range(BIG)])
        other = function(part(same, call))
        other += 1
        assert big.tolist() == same.tolist()
    assert counted(jitted) == (1, 2)


# ---- jitted functions are things that are copied and kept ----------------------------------------


@tutor.jit
def global_step(x: Tensor) -> Tensor:
    return x * 2


def plain_step(x: Tensor) -> Tensor:
    return x * 3


class Owner(nn.Module):
    def __init__(self) -> None:
        self.w = nn.Parameter(Tensor([2.0])) if hasattr(nn, "Parameter") else Tensor([2.0])
        self.run = tutor.jit(self.forward)
        self.other = tutor.jit(plain_step)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.w

    @tutor.jit
    def method(self, x: Tensor) -> Tensor:
        return x * self.w + 1


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "pickled twice": lambda thing: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(thing)))),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("called", [0, 1, 2, 4])
def test_jitted_functions_are_copied(way: str, called: int) -> None:
    x = Tensor([1.0, 2.0])
    things = global_step, tutor.jit(plain_step, passes=("dead",)), Owner.method, tutor.jit(Owner())
    for thing in things:
        given = (Owner(), x) if thing is Owner.method else (x,)
        for _ in range(called):
            thing(*given)
        other = COPIES[way](thing)
        assert (other is thing) == (thing in (global_step, Owner.method))
        wanted = bits(thing(*given))
        assert [bits(other(*given)) for _ in range(4)] == [wanted] * 4
        if other is not thing:
            assert (other.name, other.passes) == (thing.name, thing.passes)
            assert counted(other) == (1, 2)


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "pickled twice"])
@pytest.mark.parametrize("called", [0, 2, 4])
def test_a_module_that_has_a_jitted_function_is_copied(way: str, called: int) -> None:
    owner, x = Owner(), Tensor([1.0, 2.0])
    for _ in range(called):
        owner.run(x), owner.other(x), owner.method(x)
    other = COPIES[way](owner)
    with tutor.no_grad():
        other.w.fill_(5.0)
    for _ in range(4):
        assert other.run(x).tolist() == [5.0, 10.0]  # its own weight, not the other's
        assert other.method(x).tolist() == [6.0, 11.0]
        assert owner.run(x).tolist() == [2.0, 4.0]
        assert other.other(x).tolist() == [3.0, 6.0]


# ---- what a call changes of a Tensor beside its numbers ------------------------------------------

P = SimpleNamespace()
INSIDE: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "requires_grad of state": (lambda x: P.p.requires_grad_(not P.p.requires_grad),
                               "requires_grad"),
    "requires_grad of an argument": (lambda x: x.requires_grad_(not x.requires_grad) * 1,
                                     "requires_grad"),
    "a hook of state": (lambda x: (P.q.register_hook(abs), x * 2)[1], "hooks"),
    "memory of state": (lambda x: (setattr(P.p, "buf", (x * 2).buf), x * 1)[1], "buf"),
    "memory of an argument": (lambda x: (setattr(x, "buf", (x * 2).buf), x * 1)[1], "buf"),
    "the shape of state": (lambda x: (setattr(P.p, "shape", P.p.shape[::-1]), x * 1)[1], "shape"),
    "where state begins": (lambda x: (setattr(P.r, "offset", 1 - P.r.offset), x + P.r)[1],
                           "offset"),
}  # fmt: skip


@pytest.mark.parametrize("name", INSIDE)
def test_a_replay_changes_numbers_alone(name: str) -> None:
    P.p, P.q = Tensor([[1.0, 2.0, 3.0]]), Tensor([1.0], requires_grad=True)
    P.r = Tensor([1.0, 2.0, 3.0, 4.0])[:3]
    function, what = INSIDE[name]
    jitted = tutor.jit(lambda x: (P.p, P.q, P.r) and function(x), **STRICT)
    jitted(Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(RecordError, match=f"a call that changes {what} of a Tensor"):
        jitted(Tensor([1.0, 2.0, 3.0]))


def test_what_is_as_before_in_the_end_is_no_change() -> None:
    P.q = Tensor([1.0], requires_grad=True)

    def f(x: Tensor) -> Tensor:
        P.q.requires_grad_(False)
        remove = None
        y = x * P.q
        P.q.requires_grad_()
        remove = P.q.register_hook(lambda g: g * 2)
        (P.q * 3).sum().backward()
        remove()
        return y

    jitted = tutor.jit(f)
    for call in range(1, 5):
        assert jitted(Tensor([4.0])).tolist() == [4.0]
        assert P.q.grad.tolist() == [6.0 * call]
    assert counted(jitted)[1] >= 1
