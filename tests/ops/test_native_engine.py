"""The Engine and its twin in C++ give the same: numbers, graphs, errors and messages, bit for bit.

The twin (tutor/backends/simd_cpp/engine) is asked first. Where it refuses, the Engine in Python is;
that is meant for what ends in an error, so `handed_over` counts the calls which do not.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ops import CASES, draw

import tutor
from tutor import Tensor, no_grad
from tutor.backends import registry
from tutor.backends.signatures import SIGNATURES
from tutor.backends.step import Step
from tutor.core.engine import Engine, apply, engine
from tutor.core.op import OPS, Op
from tutor.core.op.edges import is_lost
from tutor.dtype import TABLE, DType, bool_, float32, int64
from tutor.errors import TutorError

_simd = pytest.importorskip("tutor.backends.simd_cpp._simd")
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(apply is not _simd.apply, reason="TUTOR_NATIVE=0")


@pytest.fixture(autouse=True)
def simd() -> Iterator[None]:
    with tutor.use_backend("simd"):
        yield


# ---- one call, with the twin and without ---------------------------------------------------------


def tensor_state(t: Tensor) -> tuple[Any, ...]:
    """All that a Tensor is made of, without the graph."""
    buf = t.buf
    return (
        type(t), type(buf), bytes(buf.raw), buf.dtype, buf.version, buf.changed_at, t.shape,
        t.strides, t.offset, t.requires_grad, [type(n) for n in (*t.shape, *t.strides, t.offset)],
    )  # fmt: skip


def state(value: Any) -> Any:
    """A result and the graph behind it, as plain data that can be compared."""
    if isinstance(value, (tuple, list)):
        return [state(v) for v in value]
    if not isinstance(value, Tensor):
        return value
    op = value.op
    if is_lost(value):  # by a graph: only the Op that made it is known
        return value.shape, value.dtype, value.device, value.requires_grad, type(op)
    if op is None:
        return (*tensor_state(value), None)
    states = [(version, *walk) for _, version, *walk in op.states]
    assert [s[0] for s in op.states] == [s.buf for s in op.saved or ()]
    return (
        *tensor_state(value), type(op), op.params, op.needs, op.shape, op.kept, op.hooks, states,
        [(*tensor_state(s), s.op is None) for s in op.saved or ()],
        {name: state(x) for name, x in getattr(op, "__dict__", {}).items()},
        [state(x) for x in op.inputs],
        [(type(edge), edge.shape, edge.dtype, edge.device) for edge in (op, *op.edges)],
    )  # fmt: skip


def outcome(f: Callable[[], Any]) -> Any:
    """What f gives, or how it refuses."""
    try:
        return state(f())
    except TutorError as error:
        return type(error), str(error)
    except Exception as error:
        return type(error)


def check(f: Callable[[], Any]) -> Any:
    """f gives the same with the twin and without; and the twin needs nobody for it."""
    before = _simd.handed_over()
    found = outcome(f)
    handed_over = _simd.handed_over() - before
    _simd.use_twin(False)
    try:
        expected = outcome(f)
    finally:
        _simd.use_twin(True)
    assert found == expected
    assert handed_over == 0
    return found


def numbers(*shape: int, dtype: DType = float32) -> Tensor:
    rng = np.random.default_rng(sum(shape))
    return Tensor(rng.integers(0, 4, shape), dtype=dtype)


def layouts(dtype: DType) -> list[Tensor]:
    """Twelve numbers, as (3, 4), lying in memory in many ways; and other shapes."""

    def n(*shape: int) -> Tensor:
        return numbers(*shape, dtype=dtype)

    return [
        n(3, 4), n(4, 3).T, n(3, 8)[:, ::2], n(3, 4)[::-1], n(1, 4).expand(3, 4),
        n(3, 1).expand(3, 4), n(5, 4)[1:4], n(4), n(), n(0, 4), n(1, 4), n(1, 1).T, n(2, 3, 4),
    ]  # fmt: skip


# ---- every op ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float32, int64, bool_], ids=str)
def test_every_row_of_the_table_of_ops(dtype: DType) -> None:
    for case in CASES:
        for wanted in (False, True):
            arrays = draw(case, "float32")

            def run(arrays: Any = arrays, f: Any = case.f, wanted: bool = wanted) -> Any:
                tutor.manual_seed(0)
                return f(*[
                    Tensor(a).cast(dtype).requires_grad_(wanted and dtype.is_float) for a in arrays
                ])  # fmt: skip

            check(run)


def test_every_row_backward_and_twice() -> None:
    for case in CASES:
        if not case.orders or case.values in ("ints", "bools"):
            continue
        arrays = draw(case)

        def run(arrays: Any = arrays, f: Any = case.f) -> Any:
            xs = [Tensor(a, requires_grad=True) for a in arrays]
            z = f(*xs)
            z.sum().backward(create_graph=True)
            grads = [x.grad for x in xs if x.grad is not None]
            first = state(grads)
            again = [g.sum() for g in grads if g.requires_grad]
            if again:
                sum(again[1:], again[0]).backward()
            return first, [x.grad for x in xs]

        before = _simd.handed_over()
        found = outcome(run)
        assert _simd.handed_over() == before, case.op
        _simd.use_twin(False)
        try:
            assert outcome(run) == found, case.op
        finally:
            _simd.use_twin(True)


UNARY = sorted(n for n, op in OPS.items() if op.kernel and SIGNATURES[op.kernel].types == "TT"
               and not SIGNATURES[op.kernel].params)  # fmt: skip
BINARY = sorted(n for n, op in OPS.items() if op.kernel
                and SIGNATURES[op.kernel].types in ("TTT", "bTT")
                and SIGNATURES[op.kernel].form == "elementwise")  # fmt: skip
REDUCTIONS = sorted(n for n, op in OPS.items() if op.kernel
                    and SIGNATURES[op.kernel].form == "reduce")  # fmt: skip


@pytest.mark.parametrize("dtype", TABLE, ids=str)
def test_every_dtype_and_layout_of_one_operand(dtype: DType) -> None:
    for name, x in itertools.product(UNARY, layouts(dtype)):
        check(lambda x=x, name=name: apply(name, x))
        if dtype.is_float:
            x = x.alias().requires_grad_()
            check(lambda x=x, name=name: apply(name, x))
    for x in layouts(dtype):
        for to in TABLE:
            check(lambda x=x, to=to: x.cast(to))


@pytest.mark.parametrize("name", BINARY)
def test_every_pair_of_layouts(name: str) -> None:
    for x, y in itertools.product(layouts(float32), layouts(float32)):
        check(lambda x=x, y=y: apply(name, x, y))
    for x, y in itertools.product(layouts(int64), layouts(int64)[::3]):
        check(lambda x=x, y=y: apply(name, x, y))


@pytest.mark.parametrize("a", TABLE, ids=str)
def test_every_pair_of_dtypes(a: DType) -> None:
    for b in TABLE:
        x, y = numbers(2, 3, dtype=a), numbers(3, dtype=b)
        for name in ("add", "div", "eq", "pow", "maximum", "matmul", "copysign"):
            check(lambda x=x, y=y, name=name: apply(name, x, y))
        check(lambda x=x, y=y: tutor.where(x > 1, x, y))
        check(lambda x=x, y=y: tutor.cat([x, y.unsqueeze(0)]))
        if a.is_float:
            x.requires_grad_()
            check(lambda x=x, y=y: x * y)


NUMBERS = (
    0, 1, -1, 3, 255, -129, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 2**64, 10**400,
    -(10**400), True, False, 0.0, -0.0, 0.1, 1e-45, 2.0**-133 * 3, 65504.0, 65520.0, 3.39e38, 1e39,
    1e300, -1e308, float("inf"), float("-inf"), float("nan"), 1 + 2**-8, 1 + 2**-9 * 3,
    np.float64(0.3),
)  # fmt: skip


@pytest.mark.parametrize("dtype", TABLE, ids=str)
def test_every_number_beside_every_dtype(dtype: DType) -> None:
    x = numbers(2, 2, dtype=dtype)
    for number in NUMBERS:
        check(lambda number=number: x + number)
        check(lambda number=number: apply("maximum", number, x))
        check(lambda number=number: tutor.where(x > 1, x, number))
        check(lambda number=number: apply("where", True, number, x))
        if dtype.is_float:
            w = x.detach().requires_grad_()
            check(lambda number=number, w=w: w * number)


AXES: tuple[Any, ...] = (
    None, 0, 1, -1, 2, -3, 5, (), (0,), (1, 0), (0, -1), (0, 0), [1], (0, 1, 2), True, 0.5, "0",
    np.int64(1), (np.int64(0), 1), 2**70,
)  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_reduction(name: str) -> None:
    for dtype in (float32, int64, bool_, TABLE[5]):
        for x in layouts(dtype):
            for axis, keepdims in itertools.product(AXES, (False, True)):
                check(lambda x=x, a=axis, k=keepdims: apply(name, x, axis=a, keepdims=k))
    x = numbers(2, 3).requires_grad_()
    for axis, keepdims in itertools.product(AXES, (False, True)):
        check(lambda a=axis, k=keepdims: apply(name, x, axis=a, keepdims=k))
    check(lambda: apply(name, x))
    check(lambda: apply(name, x, dim=1))
    check(lambda: apply(name, x, x))


def test_along_one_axis() -> None:
    for x in layouts(float32):
        for axis in AXES:
            for name in ("softmax", "log_softmax", "argsort", "cummax"):
                check(lambda x=x, a=axis, n=name: apply(n, x, axis=a))
            check(lambda x=x, a=axis: apply("scan", 0.5, x, axis=a))
            check(lambda x=x, a=axis: x.cumsum(a))


# ---- shapes, drawn -------------------------------------------------------------------------------

sizes = st.integers(0, 3)
shapes = st.lists(sizes, max_size=4).map(tuple)


@settings(max_examples=300, deadline=None)
@given(shapes, shapes, shapes)
def test_shapes_that_broadcast_and_those_that_do_not(a: Any, b: Any, c: Any) -> None:
    x, y, z = numbers(*a), numbers(*b), numbers(*c)
    check(lambda: x + y)
    check(lambda: x @ y)
    check(lambda: tutor.where(z > 1, x, y))
    check(lambda: apply("linear", x, y, z))
    check(lambda: apply("cat", x, y, z, axis=-1))
    check(lambda: apply("cross_entropy", x, y.cast(int64) % 1))
    check(lambda: apply("scan", x, y, axis=-1))


@settings(max_examples=300, deadline=None)
@given(shapes, st.lists(st.integers(-2, 6), max_size=5), st.permutations(range(4)))
def test_every_form_of_view(shape: Any, to: Any, order: Any) -> None:
    for wanted in (False, True):
        x = numbers(*shape).requires_grad_(wanted)
        for t in (x, x.permute(order[: x.ndim]) if x.ndim == 4 else x.T):
            check(lambda t=t: t.reshape(to))
            check(lambda t=t: t.reshape(*to))
            check(lambda t=t: t.view(tuple(to)))
            check(lambda t=t: t.reshape(-1))
            check(lambda t=t: t.expand(to))
            check(lambda t=t: t.expand(2, *t.shape))
            check(lambda t=t: t.permute(to))
            check(lambda t=t: t.T)
            check(lambda t=t: t.transpose(*to[:2]))
            check(lambda t=t: t.squeeze(*to[:1]))
            check(lambda t=t: t.squeeze(tuple(to[:2])))
            check(lambda t=t: t.unsqueeze(*to[:1]))
            check(lambda t=t: t.diagonal(*to[:3]))
            check(lambda t=t: t.unfold(*(to + [0, 1])[:3]))
            check(lambda t=t: t.flatten())


ends = st.one_of(st.none(), st.integers(-5, 5), st.just(2**62), st.just(-(2**70)))
parts = st.one_of(
    st.integers(-4, 4), st.builds(slice, ends, ends, ends), st.none(), st.just(...),
    st.integers(-2, 2).map(np.int64), st.integers(-2, 2).map(lambda n: Tensor(n)),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(shapes, st.lists(parts, max_size=5).map(tuple))
def test_every_basic_index(shape: Any, key: Any) -> None:
    for wanted in (False, True):
        x = numbers(*shape).requires_grad_(wanted)
        check(lambda x=x: x[key])
        check(lambda x=x: x.T[key])
        if len(key) == 1:
            check(lambda x=x: x[key[0]])


@settings(max_examples=300, deadline=None)
@given(shapes, shapes, st.integers(-3, 3), st.integers(0, 2))
def test_choosing_by_position(a: Any, b: Any, axis: int, src: int) -> None:
    x, index = numbers(*a), numbers(*b, dtype=int64) % 2
    y = (x, numbers(*b), numbers(*b, dtype=int64))[src]
    check(lambda: apply("gather", x, index, axis=axis))
    check(lambda: apply("index_select", x, index, axis=axis))
    check(lambda: apply("scatter", x, index, y, axis=axis))
    check(lambda: apply("scatter_add", x, index, y, axis=axis))
    check(lambda: apply("gather", x, [0], axis=axis))
    check(lambda: x[index])
    check(lambda: x[index - 1])
    check(lambda: x.detach().requires_grad_()[index])


image = st.tuples(st.integers(0, 2), st.integers(1, 4), st.integers(0, 6), st.integers(0, 6))
steps = st.integers(-1, 3)


@settings(max_examples=300, deadline=None)
@given(image, image, st.lists(steps, min_size=7, max_size=7))
def test_windows(a: Any, b: Any, given: Any) -> None:
    x, w = numbers(*a), numbers(*b)
    names = ("stride_h", "stride_w", "dilation_h", "dilation_w")
    params = {name: n for name, n in zip(names, given, strict=False) if n != -1}
    pool = {"size_h": given[4], "size_w": given[5], **params}
    check(lambda: apply("conv2d", x, w, groups=given[6], **params))
    check(lambda: apply("conv2d_weight", x, w, groups=given[6], size=tuple(given[4:6]), **params))
    check(lambda: apply("max_pool2d", x, **pool))
    check(lambda: apply("max_pool2d_grad", x, w, w, **pool))
    check(lambda: apply("pad", x, widths=((0, given[0]), (given[1], 1), (0, 0), (2, 2))))
    check(lambda: apply("pad", x, widths=given))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(OPS)), st.lists(shapes, max_size=4), st.data())
def test_any_op_of_any_operands(name: str, drawn: Any, data: Any) -> None:
    """Most of these are mistakes: whoever notices it, it is said in the same words."""
    if OPS[name].kernel is None or not OPS[name].__module__.startswith("tutor.ops"):
        return
    dtypes = data.draw(st.lists(st.sampled_from(TABLE), min_size=4, max_size=4))
    xs = [numbers(*shape, dtype=d) for shape, d in zip(drawn, dtypes, strict=False)]
    known = sorted(OPS[name].accepts or ())
    params = {n: data.draw(st.integers(-1, 2)) for n in known if data.draw(st.booleans())}
    params.pop("dtype", None)
    check(lambda: apply(name, *xs, **params))
    check(lambda: OPS[name](*xs, **params).apply())


# ---- the rules and the border --------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(BINARY + REDUCTIONS + ["matmul", "softmax"]), shapes, shapes, shapes)
def test_the_border_takes_what_the_rule_infers_and_nothing_else(
    name: str, a: Any, b: Any, other: Any
) -> None:
    """A kernel called directly: out must have the shape that shape_rules.py says."""
    operands = [numbers(*a), numbers(*b)][: 1 if name in REDUCTIONS or name == "softmax" else 2]
    if name == "softmax" and not a:
        return
    seen: list[Step] = []
    with tutor.watch(lambda step, go: (seen.append(step), go())):
        try:
            apply(name, *operands)
        except TutorError:
            return
    if len(seen) != 1:
        return
    (step,) = seen
    kernel = registry.kernel(step.kernel, step.dtype)
    kernel(step.out, *step.ins, **step.params)
    if other != step.out.shape:
        wrong = Tensor.zeros(*other, dtype=step.out.dtype)
        with pytest.raises(TutorError):
            kernel(wrong, *step.ins, **step.params)


def test_who_watches_sees_the_same_steps() -> None:
    def said() -> list[str]:
        w = numbers(4, 3).requires_grad_()
        seen: list[str] = []
        with tutor.watch(lambda step, go: (seen.append(f"{step} {step.layouts}"), go())):
            z = ((w * 2.0 + numbers(3)).relu() @ numbers(4, 3).T)[1:, ::2].mean(0, keepdims=True)
            z.softmax().sum().backward()
        return seen

    found = check(said)
    assert len(found) > 12


# ---- what surrounds a call -----------------------------------------------------------------------


def test_modes() -> None:
    w = numbers(2, 3).requires_grad_()
    with no_grad():
        assert not (w * 2).requires_grad
        check(lambda: w * 2)
        with tutor.enable_grad():
            assert (w * 2).requires_grad
    check(lambda: w > 1)
    with tutor.use_backend("python"):
        before = _simd.handed_over()
        found = state(w * 2 + w.T.reshape(2, 3))
        assert _simd.handed_over() == before
    again = state(w * 2 + w.T.reshape(2, 3))  # in an assert pytest would keep the operands
    assert found == again
    assert state(Op.execute(OPS["add"](w, 1.0))) == state(w + 1.0)


def test_a_backend_that_is_registered_anew_is_found() -> None:
    table = dict(registry.table("simd_cpp"))
    x = numbers(3)
    registry.register("half_ours", table)
    try:
        with tutor.use_backend("half_ours"):
            assert (x + x).tolist() == (x * 2).tolist()
            registry.register("half_ours", {**table, ("add", float32): table["mul", float32]})
            assert (x + x).tolist() == (x * x).tolist()
    finally:
        del registry._tables["half_ours"]


def test_a_walk_says_what_is_wrong_in_the_same_words() -> None:
    def freed() -> None:
        y = (numbers(3).requires_grad_() * 2).sum()
        y.backward()
        y.backward()

    def stale() -> None:
        w = numbers(3).requires_grad_()
        y = (w * w).sum()
        with no_grad():
            w += 1
        y.backward()

    def changed() -> None:
        w = numbers(3).requires_grad_()
        w.register_hook(lambda g: g.buf.touch())
        (w * 2).sum().backward()

    def counted() -> None:
        class TooMany(Op):
            name = "too_many"

            def forward(self, x: Tensor) -> Tensor:
                return x * 2

            def backward(self, g: Tensor) -> Any:
                return g, g

        try:
            TooMany(numbers(3).requires_grad_()).apply().sum().backward()
        finally:
            del OPS["too_many"]

    def misshapen() -> None:
        class Misshapen(Op):
            name = "misshapen"

            def forward(self, x: Tensor) -> Tensor:
                return x * 2

            def backward(self, g: Tensor) -> Any:
                return numbers(5)

        try:
            Misshapen(numbers(3).requires_grad_()).apply().sum().backward()
        finally:
            del OPS["misshapen"]

    for mistake in (freed, stale, changed, counted, misshapen):
        kind, text = check(mistake)
        assert issubclass(kind, TutorError)
        assert "asked" in text


def test_grad_hooks_and_what_is_kept() -> None:
    def run() -> Any:
        w, b = numbers(2, 3).requires_grad_(), numbers(3).requires_grad_()
        h = (w * 2 + b).retain_grad()
        h.register_hook(lambda g: g * 3)
        w.register_hook(lambda g: g + 1)
        (h * h).sum().backward()
        (w * b).sum().backward()
        return w.grad, b.grad, h.grad

    check(run)


# ---- the classes it makes ------------------------------------------------------------------------

CHANGES = {
    "tutor/core/tensor.py": [
        ('"__weakref__", "_base"', '"__weakref__", "note", "_base"'),
        ("t._base, t._grad, t.op, t.requires_grad = None, None, None, False",
         't._base, t._grad, t.op, t.requires_grad, t.note = None, None, None, False, "new"'),
    ],
    "tutor/core/op/__init__.py": [
        ('"hooks", "kept"', '"hooks", "remark", "kept"'),
        ("        self.params = params\n",
         '        self.params = params\n        self.remark = "op"\n'),
    ],
}  # fmt: skip
SCRIPT = """
import sys
sys.meta_path = [f for f in sys.meta_path if "editable" not in type(f).__module__]  # the copy's own
import tutor
from tutor import Tensor
from tutor.core.buffer import Buffer

class Mine(Tensor):
    __slots__ = ("own",)

class Shelf(Buffer):
    pass

x = Tensor([[1.0, 2.0]], requires_grad=True)
y = (x + x).relu()[0].reshape(-1)
assert y.note == "new" and y.op.remark == "op" and y.op.inputs[0].op.remark == "op"
y.sum().backward()
assert x.grad.note == "new" and x.grad.tolist() == [[2, 2]]
mine = Mine([[1.0, 2.0]])
mine.own = 3
for z in (mine + 1, mine.T, 1 - mine, mine * mine, mine.sum(), mine[0]):
    assert type(z) is Tensor and z.note == "new"
shelf = Shelf([1.0, 2.0])
t = Tensor(shelf)
assert (t + t).tolist() == [2, 4] and type((t + t).buf) is Buffer and t[1:].buf is shelf
from tutor.backends.simd_cpp import _simd
assert _simd.handed_over() == 0
print("all is well")
"""


def test_more_slots_and_classes_built_on_these(tmp_path: Path) -> None:
    """Who adds a slot need not know that there is a twin: its first value is there, too."""
    package = tmp_path / "tutor"
    shutil.copytree(ROOT / "tutor", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_simd.__file__, package / "backends" / "simd_cpp")
    for name, changes in CHANGES.items():
        path = tmp_path / name
        text = path.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
    run = [sys.executable, "-c", SCRIPT]
    found = subprocess.run(run, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
                           capture_output=True, text=True, timeout=60)  # fmt: skip
    assert found.stdout == "all is well\n", found.stderr


def test_the_engine_without_its_twin() -> None:
    script = (
        "from tutor.core.engine import Engine, apply, engine; from tutor import Tensor;"
        "import types; assert isinstance(apply, types.FunctionType);"
        "assert 'run' not in vars(engine); w = Tensor([1.0, 2.0], requires_grad=True);"
        "(w * w).sum().backward(); print(w.grad.tolist())"
    )
    run = [sys.executable, "-c", script]
    found = subprocess.run(run, cwd=ROOT, env={**os.environ, "TUTOR_NATIVE": "0"},
                           capture_output=True, text=True, timeout=60)  # fmt: skip
    assert found.stdout == "[2.0, 4.0]\n", found.stderr
    assert engine.run is not Engine.run


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 30])
def test_any_number_of_operands(count: int) -> None:
    """A few have room on the stack, and share the tuple of who wants a gradient."""
    for wanted in itertools.product((False, True), repeat=min(count, 4)):
        xs = [numbers(1, 2).requires_grad_(wanted[i % len(wanted)]) for i in range(count)]
        found = check(lambda xs=xs: apply("cat", *xs, axis=0))
        assert found[6] == (count, 2)


@pytest.mark.parametrize("more", [0, 1, 20])
def test_any_number_of_parameters(more: int) -> None:
    check(lambda: apply("cat", numbers(1, 2), axis=0, **{f"p{i}": i for i in range(more)}))
    check(
        lambda: apply(
            "max_pool2d",
            numbers(1, 1, 4, 4),
            size_h=2,
            size_w=2,
            stride_h=1,
            stride_w=1,
            dilation_h=1,
            dilation_w=1,
            **{f"p{i}": i for i in range(more)},
        )
    )


def test_another_thread_may_change_what_it_likes() -> None:
    """Operands whose attributes change while they are read end in results or errors."""
    import threading

    x, stop = numbers(64, 64), threading.Event()

    def disturb() -> None:
        for shape in itertools.cycle(((64, 64), (32, 128), (4096,), (2**40,), "no")):
            if stop.is_set():
                return
            x.shape = shape

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(3000):
            for f in (lambda: x + x, lambda: x.T, lambda: x.sum(0), lambda: x @ x):
                with contextlib.suppress(TutorError, TypeError, ValueError):
                    f()
    finally:
        stop.set()
        thread.join()
