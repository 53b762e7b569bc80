"""The shortcut: a replayed call that never reaches Python, and what it must not pass over."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tutor
from tutor import Tensor, jit, nn, optim
from tutor.backends import simd_cpp
from tutor.programs.jit import Jitted
from tutor.programs.shortcut import PythonShortcut, Shortcut
from tutor.random import Stream, drawing_from

pytestmark = pytest.mark.skipif(
    Shortcut is PythonShortcut, reason="TUTOR_NATIVE=0, or no extension"
)
X = Tensor([1.0, -2.0, 3.0])


@pytest.fixture(autouse=True)
def simd() -> Iterator[None]:
    with tutor.use_backend("simd_cpp"):
        yield


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions whose calls reached Python, one entry a call."""
    seen: list[str] = []
    real = Jitted._call

    def noted(self: Jitted, *args: Any, **kwargs: Any) -> Any:
        seen.append(self.name)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Jitted, "_call", noted)
    return seen


def replayed(function: Callable[..., Any], *args: Any) -> Jitted:
    """The function, called until Python is out of the way."""
    jitted = jit(function)
    for _ in range(4):
        jitted(*args)
    assert jitted._shortcut is not None and jitted.stats()["replayed"] == 2
    return jitted


def chain(x: Tensor) -> Tensor:
    return (x * 2 + 1).relu()


def test_python_is_out_of_the_way(in_python: list[str]) -> None:
    f = replayed(chain, X)
    del in_python[:]
    for _ in range(5):
        assert f(X).tolist() == [3.0, 0.0, 7.0]
    assert in_python == [] and f.stats()["replayed"] == 7


RESULTS: dict[str, Callable[[Tensor], Any]] = {
    "a Tensor": lambda x: x + 1,
    "an argument": lambda x: x,
    "nothing": lambda x: None,
    "a number": lambda x: 3,
    "a tuple": lambda x: (x + 1, x, 2),
    "a dict": lambda x: {"a": x * 2, "b": [x.sum()]},
    "a view": lambda x: x[1:],
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_comes_out_is_what_the_function_gives(name: str, in_python: list[str]) -> None:
    function = RESULTS[name]
    f = replayed(function, X)
    del in_python[:]
    assert str(f(X)) == str(function(X))
    assert in_python == [] or len(f.program) == 0  # of nothing, nothing is to be gained
    assert (f(X) is X) == (name == "an argument")


def test_arguments_come_out_each_in_its_place(in_python: list[str]) -> None:
    y = Tensor([5.0, 6.0, 7.0])
    f = replayed(lambda x, y: (x + y, y, x), X, y)
    del in_python[:]
    made = f(X, y)
    assert made[1] is y and made[2] is X and in_python == []


def test_a_new_leaf_wants_a_gradient(in_python: list[str]) -> None:
    f = replayed(lambda x: (x * 2).detach().requires_grad_(), X)
    del in_python[:]
    leaf = f(X)
    assert leaf.requires_grad and leaf.is_leaf and in_python == []
    (leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [3.0] * 3


BIG = tutor.arange(48, dtype="float32").reshape(12, 4)
WINDOWS: dict[str, tuple[Callable[..., Any], Callable[[int], list[Tensor]]]] = {
    "rows": (chain, lambda i: [BIG[i : i + 2]]),
    "one row": (chain, lambda i: [BIG[i]]),
    "a text and what follows": (
        lambda x, y: x * 2 + y,
        lambda i: [BIG[i : i + 3], BIG[i + 1 : i + 4]],
    ),
    "handed out": (lambda x: (x + 1, x[1:], x.T), lambda i: [BIG[i : i + 2]]),
    "written": (lambda x: (x.mul_(1.0), x * 2), lambda i: [BIG[i : i + 2]]),
    "beside a whole": (lambda x, y: x @ y, lambda i: [BIG[i : i + 4], SQUARE]),
    "positions": (lambda x, at: x[at], lambda i: [BIG, PLACES[i : i + 3]]),
    "strided": (chain, lambda i: [BIG[:, 1:3]]),
}
SQUARE, PLACES = tutor.eye(4), tutor.arange(12)


def walk(t: Any) -> Any:
    return (t.shape, t.strides, t.offset, t.tolist()) if isinstance(t, Tensor) else t


@pytest.mark.parametrize("name", WINDOWS)
def test_slices_of_a_larger_buffer_take_it_too(name: str, in_python: list[str]) -> None:
    function, arguments = WINDOWS[name]
    f = jit(function)
    for i in range(4):
        f(*arguments(i))
    del in_python[:]
    for i in (5, 2, 8, 0):
        given = arguments(i)
        versions, made = [x.buf.version for x in given], f(*given)
        changed = [x.buf.version - v for x, v in zip(given, versions, strict=True)]
        versions = [x.buf.version for x in given]
        wanted = function(*given)
        assert changed == [x.buf.version - v for x, v in zip(given, versions, strict=True)]
        both = [made, wanted] if isinstance(made, tuple) else [(made,), (wanted,)]
        for a, b in zip(*both, strict=True):
            assert walk(a) == walk(b)
            assert (a.buf is given[0].buf) == (b.buf is given[0].buf)
    assert in_python == []
    other = BIG[3:6] if name != "strided" else BIG[:, 0:2]
    rest = arguments(0)[1:]
    assert walk(jit(chain)(other)) == walk(chain(other))
    if not rest:
        assert str(f(other)) == str(function(other)) and in_python  # another size, or place


@pytest.mark.parametrize("offset", [-4, 45, 2**40, -(2**62)])
def test_a_slice_that_was_moved_out_of_its_memory_is_for_python(
    offset: int, in_python: list[str]
) -> None:
    f = jit(chain)
    for i in range(4):
        f(BIG[i : i + 2])
    x = BIG[3:5]
    x.offset = offset
    del in_python[:]
    try:
        wanted = chain(x).tolist()
    except tutor.errors.TutorError as error:
        with pytest.raises(type(error)):
            f(x)
    else:
        assert f(x).tolist() == wanted
    assert in_python == ["chain"]


def test_an_argument_may_be_given_other_memory_while_it_is_used() -> None:
    """By another thread, in the middle of calls: each sees the old memory or the new."""
    f, x, stop = jit(chain), tutor.ones(4096), threading.Event()
    for _ in range(4):
        f(x)
    wrong: list[Any] = []

    def rebind() -> None:
        for n in range(400):
            x.buf = tutor.full((4096,), float(n % 7)).buf
        stop.set()

    thread = threading.Thread(target=rebind)
    thread.start()
    while not stop.is_set():
        found = set(f(x).tolist())
        if len(found) != 1 or found.pop() not in {2.0 * n + 1 for n in range(7)}:
            wrong.append(found)
    thread.join()
    assert wrong == []


W = Tensor([2.0, 3.0, 4.0], requires_grad=True)
M = tutor.randn(3, 3)


def scaled(x: Tensor) -> Tensor:
    return x * W


def product(x: Tensor) -> Tensor:
    return x @ M


def noisy(x: Tensor) -> Tensor:
    return x + tutor.randn(3)


@contextlib.contextmanager
def watched() -> Iterator[None]:
    with tutor.watch(lambda step, go: go()):
        yield


ELSEWHERE: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[], Any]]] = {
    "no_grad": (scaled, tutor.no_grad),
    "another backend": (chain, lambda: tutor.use_backend("python_ref")),
    "autocast": (product, lambda: tutor.autocast(dtype=tutor.bfloat16)),
    "somebody watches": (chain, watched),
    "a device is chosen": (chain, lambda: tutor.device("cpu")),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_where_ops_run_in_another_way_python_decides(name: str, in_python: list[str]) -> None:
    function, block = ELSEWHERE[name]
    f = replayed(function, X)
    del in_python[:]
    for _ in range(3):
        with block():
            made, wanted = f(X), function(X)
        assert made.tolist() == wanted.tolist()
        assert (made.dtype, made.requires_grad) == (wanted.dtype, wanted.requires_grad)
    assert in_python
    for _ in range(2):  # and outside of the block all is as before
        made, wanted = f(X), function(X)
        assert (made.dtype, made.requires_grad) == (wanted.dtype, wanted.requires_grad)
    del in_python[:]
    f(X)
    assert in_python == []


def test_a_shortcut_that_was_taken_without_a_graph_is_none_with_one(in_python: list[str]) -> None:
    with tutor.no_grad():
        f = replayed(scaled, X)
        del in_python[:]
        assert not f(X).requires_grad and in_python == []
    assert f(X).requires_grad


def test_who_draws_from_another_stream_draws_from_that(in_python: list[str]) -> None:
    f = replayed(noisy, X)
    tutor.manual_seed(5)
    here = [f(X).tolist() for _ in range(2)]
    tutor.manual_seed(5)
    assert [noisy(X).tolist() for _ in range(2)] == here
    state = tutor.random.get_state()
    del in_python[:]
    made, wanted = (drawing_from(Stream(7), function, X) for function in (f, noisy))
    assert made.tolist() == wanted.tolist() and in_python == ["noisy"]
    assert tutor.random.get_state() == state


def test_within_another_jitted_function_it_is_a_part_of_that() -> None:
    f = replayed(chain, X)
    outer = jit(lambda x: f(x) + 1)
    for _ in range(4):
        assert outer(X).tolist() == [4.0, 1.0, 8.0]
    assert len(outer.program) == 1


def test_another_argument_and_another_way_to_name_it(in_python: list[str]) -> None:
    f = replayed(chain, X)
    del in_python[:]
    assert f(x=X).tolist() == [3.0, 0.0, 7.0]
    assert f(Tensor([4.0])).tolist() == [9.0]
    assert f(X.requires_grad_(False)[:2]).tolist() == [3.0, 0.0]
    assert in_python == ["chain"] * 3
    with pytest.raises(TypeError, match="positional argument"):
        f(X, X)


def test_what_has_changed_is_seen(in_python: list[str]) -> None:
    global M
    f, before = replayed(product, X), M
    M = M * 2
    assert f(X).tolist() == (X @ M).tolist()
    M = before


def test_an_error_of_a_kernel_says_its_step_and_line() -> None:
    def choose(x: Tensor, at: Tensor) -> Tensor:
        return x[at] * 2

    at = Tensor([0, 2])
    f = replayed(choose, X, at)
    at[1] = 3
    with pytest.raises(tutor.errors.TutorError) as caught:
        f(X, at)
    assert any("test_shortcut.py" in note and "step 0" in note for note in caught.value.__notes__)
    at[1] = 1
    assert f(X, at).tolist() == [2.0, -4.0]


def test_a_training_step_takes_it_and_leaves_what_python_leaves(in_python: list[str]) -> None:
    found = []
    for wrap in (lambda step: step, jit):
        tutor.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
        optimizer = optim.Adam(model.parameters(), lr=0.1)

        def step(x: Tensor, y: Tensor, model: Any = model, optimizer: Any = optimizer) -> Tensor:
            optimizer.zero_grad()
            loss = model(x).cross_entropy(y)
            loss.backward()
            optimizer.step()
            return loss

        run, x, y = wrap(step), tutor.randn(4, 3), Tensor([0, 1, 1, 0])
        found.append([run(x, y).item() for _ in range(8)])
        found.append([p.tolist() for p in model.parameters()])
        found.append([p.grad.tolist() for p in model.parameters()])
    assert found[:3] == found[3:]
    assert len(in_python) == 3  # one as ever, one recorded, one until all is known


def test_threads_share_it() -> None:
    f, wrong = replayed(chain, X), []

    def many(number: float) -> None:
        x = Tensor([number] * 3)
        for _ in range(300):
            if f(x).tolist() != [2 * number + 1] * 3:
                wrong.append(number)

    threads = [threading.Thread(target=many, args=(float(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and f.stats()["replayed"] == 2 + 8 * 300


def test_it_goes_with_the_function_and_with_its_recordings() -> None:
    held = nn.Linear(3, 3)
    f = jit(lambda model, x: model(x))
    for _ in range(4):
        f(held, X)
    gone = weakref.ref(held)
    del held
    gc.collect()
    assert gone() is None
    f = replayed(chain, X)
    again = weakref.ref(f)
    del f
    gc.collect()
    assert again() is None


def test_a_copy_has_none_of_its_own_and_a_module_keeps_its_names() -> None:
    f = replayed(chain, X)
    assert copy.deepcopy(jit(nn.ReLU()))._shortcut is None
    assert pickle.loads(pickle.dumps(f.function)) is chain
    model = jit(nn.Linear(3, 3))
    model._shortcut, model._replayed = None, 0
    assert "_shortcut" not in vars(model.function)
    block = nn.Linear(3, 3)
    block.shortcut = nn.Linear(3, 3)  # as a residual block calls its own
    assert jit(block).shortcut is block.shortcut
    with pytest.raises(TypeError, match="Caller or None"):
        f._shortcut = 3
    with pytest.raises(TypeError):
        f._replayed = "many"


def test_without_the_extension_every_call_is_python_s() -> None:
    code = (
        "import tutor; from tutor.programs.jit import Jitted; f = tutor.jit(lambda x: x * 2)\n"
        "for _ in range(4): print(f(tutor.Tensor([1.0])).tolist())\n"
        "assert Jitted.__call__ is Jitted._call and f._shortcut is None\n"
        "assert f.stats()['replayed'] == 2\n"
    )
    env = {**os.environ, "TUTOR_NATIVE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[2.0]\n" * 4
    assert simd_cpp.shortcut() is Shortcut
