"""Every kernel call of a process is a Step, passes through `emit`, and can be watched there."""

from __future__ import annotations

import ast
import contextlib
import gc
import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cube import Cube

import tutor
from tutor import Buffer, Step, Tensor, nn, optim, registry, watch
from tutor._storage.array_like import is_tensor
from tutor.backends.shape_rules import FORMS
from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.backends.step import WATCHES, emit, watchers
from tutor.dtype import DType, float32, float64, int64
from tutor.errors import ArgumentError, DomainError, KernelNotFound, OutOfRangeError, ShapeError
from tutor.testing import conformance

PACKAGE = Path(tutor.__file__).parent
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if "learn" not in path.parts]


@pytest.fixture(autouse=True)
def _nobody_stays_behind() -> Iterator[None]:
    yield
    assert watchers() == []


# ---- emit is the only door -----------------------------------------------------------------------


def uses(path: Path) -> set[str]:
    """Which doors to a kernel a file names: `registry.kernel`, `lookup`, or the call of a row."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in ("kernel", "lookup", "kernels"):
            if isinstance(node.value, ast.Name) and node.value.id in ("registry", "backend"):
                found.add(node.attr)
            if node.attr == "kernels":
                found.add("kernels")
        if isinstance(node, ast.ImportFrom) and node.module == "tutor.backends.registry":
            found |= {alias.name for alias in node.names} & {"kernel", "lookup", "in_use"}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            owner = node.func.value
            name = owner.id if isinstance(owner, ast.Name) else ast.unparse(owner)
            if name.endswith(("table", "rows", "kernels")) or "registry" in name:
                found.add("calls a table's kernel")
    return found


def test_nobody_else_asks_the_registry_for_a_kernel() -> None:
    found = {str(path.relative_to(PACKAGE)): uses(path) for path in FILES}
    found = {name: what for name, what in found.items() if what}
    assert found.pop("backends/step.py") == {"kernel"}
    assert found.pop("ops/native.py") == {"kernel"}  # what C++ emits itself where nobody watches
    assert found.pop("programs/replay.py") == {"kernel", "kernels", "in_use"}  # a Plan's, too
    assert found.pop("programs/together.py") == {"kernel"}  # is it the one that was noted?
    assert found.pop("backends/registry.py") == {"kernels"}
    assert found.pop("backends/simd_cpp/__init__.py") == {"kernels"}  # of the extension: its tables
    assert found.pop("backends/transfers.py") == {"kernel"}  # one Step, its copies and all
    assert found.pop("backends/opencl/fused.py") == {
        "kernels",
        "calls a table's kernel",
    }  # parts
    assert found.pop("doctor/measure.py") == {"lookup"}  # timed by itself
    assert found.pop("testing/matrices.py") == {"lookup"}  # two, to compare them
    assert not found


def work() -> None:
    """A training step, and whatever else makes kernels run."""
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(8, 3))  # fmt: skip
    x, y = Tensor.rand(2, 1, 6, 6), Tensor([0, 2])
    adam = optim.Adam(nn.get_parameters(model), lr=0.1)
    mask = Tensor.rand(2, 3) > 0.5  # dropout
    loss = (model(x) * mask * 2).cross_entropy(y)
    loss.backward()
    adam.step()
    sgd = optim.SGD(nn.get_parameters(model), lr=0.1, momentum=0.9)
    sgd.step()
    w = Tensor.randn(4, 3, requires_grad=True)
    (w[[0, 2]] * w[1:3, ::2].sum() + Cube.apply(w).cast("float64")[0].mean()).sum().backward()
    with tutor.no_grad():
        w[0] = 1.0
        w[[1, 2]] = w[0]
        w += w.grad
        w.zero_()
    a = Buffer([1.0, 2.0])
    a -= 0.5 * a
    a.data = a + a
    print(w, loss, w.softmax(), w.sort(), w.cumsum(0), w.T @ w, end="")
    tutor.randperm(5), Tensor.linspace(0, 1, 5), Tensor.eye(3), tutor.einsum("ij,kj->ik", w, w)


def test_as_many_kernels_run_as_steps_are_emitted(
    backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran, steps = Counter[tuple[str, str]](), Counter[tuple[str, str]]()

    def counted(key: tuple[str, DType], kernel: registry.Kernel) -> registry.Kernel:
        def run(*operands: Any, **params: Any) -> None:
            ran[key[0], key[1].name] += 1
            kernel(*operands, **params)

        return run

    def observer(step: Step, go: Callable[[], None]) -> None:
        steps[step.kernel, step.dtype.name] += 1
        go()

    rows = registry.table(backend)
    registry.register("counted", {key: counted(key, kernel) for key, kernel in rows.items()})
    try:
        with registry.use_backend("counted"), watch(observer):
            work()
    finally:
        del registry._tables["counted"]
    assert ran == steps
    kernels = {kernel for kernel, _ in steps}
    assert kernels >= {"adam", "argsort", "arange", "cast", "conv2d", "conv2d_weight", "copy",
                       "cross_entropy_grad", "fill", "index_select", "linear", "matmul",
                       "max_pool2d_grad", "mul", "normal", "random_bits", "relu_grad", "scan",
                       "scatter", "scatter_add", "sgd", "sub", "sum", "uniform"}  # fmt: skip
    assert steps.total() > 100


def test_conformance_emits_steps_too() -> None:
    seen = Counter[str]()
    table = registry.table("python_ref")
    with watch(lambda step, go: (seen.update([step.kernel]), go())):
        verdict = conformance.check(table, "relu", float32)
    assert verdict.ok
    assert seen["relu"] >= verdict.cases


# ---- a Step --------------------------------------------------------------------------------------


def test_a_step_is_data_and_runs_when_it_is_emitted(backend: str) -> None:
    x, out = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor.zeros(2)
    step = Step("sum", float32, out, (x.T,), {"axis": (1,)})
    assert (step.kernel, step.dtype, step.out, step.ins) == ("sum", float32, out, step.ins)
    assert step.signature is SIGNATURES["sum"]
    assert str(step) == "sum float32 (2, 2) axis=(1,) -> (2,)"
    assert (step.nbytes, step.flops) == (4 * 4 + 2 * 4, 4)
    assert out.tolist() == [0, 0]
    emit(step)
    assert out.tolist() == [4, 6]
    emit(step)
    assert out.tolist() == [4, 6]


def test_a_kernel_is_for_the_memory_of_one_device(backend: str) -> None:
    assert registry.lookup("add", backend, float32, "cpu") is registry.lookup(
        "add", backend, float32
    )
    with pytest.raises(KernelNotFound, match="memory of the device 'cuda'"):
        registry.lookup("add", backend, float32, "cuda")
    registry.register("far", registry.table(backend), device="far away")
    try:
        assert registry.lookup("add", "far", float32, "far away")
        with pytest.raises(KernelNotFound, match="'far away'"), registry.use_backend("far"):
            Tensor([1.0]) + Tensor([1.0])
    finally:
        del registry._tables["far"]


# ---- watching ------------------------------------------------------------------------------------


def test_the_inner_watch_is_nearer_to_the_kernel(backend: str) -> None:
    said: list[str] = []

    def saying(name: str) -> Callable[[Step, Callable[[], None]], None]:
        def observer(step: Step, go: Callable[[], None]) -> None:
            said.append(f"{name} {step.kernel} {step.out.tolist() == [2, 4]}")
            go()
            said.append(f"{name} {step.kernel} {step.out.tolist() == [2, 4]}")

        return observer

    x = Tensor([1.0, 2.0])
    with watch(saying("outer")), watch(saying("inner")):
        x + x
    x + x
    assert [line for line in said if line.endswith("True")] == ["inner add True", "outer add True"]
    assert [line.split()[0] for line in said] == ["outer", "inner", "inner", "outer"]


def test_what_an_observer_computes_is_shown_to_nobody(backend: str) -> None:
    seen: list[str] = []

    def observer(step: Step, go: Callable[[], None]) -> None:
        go()
        seen.append(step.kernel)
        assert Tensor([1.0, 2.0]).exp().sum().item() > 3

    with watch(observer), watch(observer):
        Tensor([1.0]) * Tensor([2.0])
    assert seen == ["mul", "mul"]


@pytest.mark.parametrize("times", [0, 2])
def test_go_is_to_be_called_once(backend: str, times: int) -> None:
    x = Tensor([1.0])
    calls = watch(lambda step, go: [go() for _ in range(times)])
    with pytest.raises(DomainError, match=f"called go\\(\\) {times} times"), calls:
        x + x
    assert (x + x).item() == 2


def test_an_observers_error_is_the_calls(backend: str) -> None:
    def observer(step: Step, go: Callable[[], None]) -> None:
        go()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), watch(observer):
        Tensor([1.0]) + 1


def test_all_threads_are_watched_and_a_watch_may_be_entered_again(backend: str) -> None:
    seen: list[str] = []
    x, one = Tensor([1.0]), watch(lambda step, go: (seen.append(step.kernel), go()))
    with one as entered:
        assert entered is one
        threads = [threading.Thread(target=lambda: x + x) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with one, one:
        x * x
    assert seen == ["add"] * 3 + ["mul"] * 2


def test_as_a_decorator_and_in_an_exit_stack(backend: str) -> None:
    seen: list[str] = []
    x, one = Tensor([1.0]), watch(lambda step, go: (seen.append(step.kernel), go()))

    @one
    def function(t: Tensor) -> Tensor:
        return t + t

    assert function(x).item() == 2
    with contextlib.ExitStack() as stack:
        stack.enter_context(one)
        p = stack.enter_context(tutor.profile())
        x * x
    x - x
    assert seen == ["add", "mul"]
    assert [call.kernel for call in p.calls] == ["mul"]
    with pytest.raises(DomainError, match="decorator"):

        @one
        def steps() -> Iterator[int]:
            yield 1

    with pytest.raises(DomainError, match="observer"):
        watch(3)  # type: ignore[arg-type]


def test_a_block_that_is_over_is_forgotten_and_keeps_nothing(backend: str) -> None:
    class Observer:
        def __call__(self, step: Step, go: Callable[[], None]) -> None:
            go()

    with watch(Observer()):
        Tensor([1.0]) + 1
    Tensor([1.0]) + 1  # nobody watches: what is over is let go of
    assert not WATCHES
    gc.collect()
    assert not [thing for thing in gc.get_objects() if type(thing) is Observer]


# ---- forms and rules -----------------------------------------------------------------------------


def test_every_kernel_has_a_form_and_every_form_a_kernel() -> None:
    assert {signature.form for signature in TABLE_OF_KERNELS} == set(FORMS)
    assert {signature.work for signature in TABLE_OF_KERNELS} == {"computes", "moves", "chooses"}


def own(name: str) -> list[str]:
    """The ops of tutor that define a method of that name themselves, or through their family."""
    found = []
    for op in tutor.OPS.values():
        if op.__module__.startswith("tutor."):
            owner = next(c for c in op.__mro__ if name in c.__dict__)
            found += [op.name] if owner is not tutor.Op else []
    return found


def test_making_an_op_does_nothing_and_running_has_one_way() -> None:
    assert own("__init__") == own("apply") == []
    assert own("infer") == ["linear", "linear_relu"]  # of several kernels, which no form is of
    x = Tensor([1.0, 2.0])
    for op in tutor.OPS.values():
        if op.__module__.startswith("tutor."):
            assert op(x, [1], nonsense="!").inputs == (x, [1])


def test_what_is_a_tensor_is_asked_in_one_way() -> None:
    said = {path.name for path in FILES if re.search(r"hasattr\(\w+, \"over\"\)", path.read_text())}
    assert not said
    x = Tensor([1.0])
    assert is_tensor(x)
    assert not is_tensor(SimpleNamespace(over=x.over, buf=x.buf))


def test_no_rule_reads_numbers() -> None:
    """What `infer`, `layout` and the forms ask for are shapes, strides and dtypes."""

    class Unreadable:
        shape, strides, offset = (2, 3), (3, 1), 0

        class buf:  # noqa: N801
            dtype = float32

        def over(self, *args: Any) -> tuple[Any, ...]:
            return args

    x: Any = Unreadable()
    sample: dict[str, dict[str, Any]] = {
        "reshape": {"shape": (3, -1)}, "permute": {"axes": (1, 0)}, "transpose": {},
        "expand": {"shape": (4, -1, 3)}, "index": {"key": (0, slice(1))}, "unsqueeze": {"axis": 0},
        "squeeze": {}, "diagonal": {"k": 0, "axis1": 0, "axis2": 1},
        "windows": {"axis": 1, "size": 2, "step": 1, "dilation": 1},
        "strided": {"sizes": (2, 2), "strides": (3, 1), "start": 1},
    }  # fmt: skip
    views = {op.name: op for op in tutor.OPS.values() if op.is_view}
    assert set(views) == set(sample)
    for name, params in sample.items():
        assert len(views[name].layout(tutor.Op(), x, **params)) == 3


def test_the_numbers_are_read_only_where_nothing_else_can_say_the_shape(backend: str) -> None:
    x = Tensor([0, 2])
    with tutor.profile() as p:
        assert x.one_hot(3).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert not {call.kernel for call in p.calls} & {"max", "min"}
    for wrong in ([0, -1], [3, 0], [-3, 0]):
        with pytest.raises(OutOfRangeError, match="one_hot into 3 classes"):
            Tensor(wrong).one_hot(3)
    with pytest.raises(ShapeError):
        x.one_hot(-1)


def test_a_wrong_call_of_an_op_says_so(backend: str) -> None:
    x = Tensor([[1.0, 2.0]])
    for call, text in {
        lambda: tutor.apply("sum", x, dim=0): "no parameter 'dim'",
        lambda: tutor.apply("add", x): "takes 2",
        lambda: tutor.apply("exp", x, x): "takes 1",
        lambda: tutor.apply("cummax", x): "without axis",
        lambda: tutor.apply("gather", x, [0]): "without axis",
        lambda: tutor.apply("pad", x, width=1): "no parameter 'width'",
    }.items():
        with pytest.raises(ArgumentError, match=text):
            call()
    with pytest.raises(ShapeError, match="cat of no tensors"):
        tutor.apply("cat")


@pytest.mark.parametrize("axes", list(itertools.chain.from_iterable(
    itertools.combinations(range(3), n) for n in range(4))))  # fmt: skip
def test_keepdims_is_one_op(backend: str, axes: tuple[int, ...]) -> None:
    x = Tensor.rand(2, 3, 4, dtype=float64, requires_grad=True)
    kept, gone = x.sum(axes, keepdims=True), x.sum(axes)
    assert kept.shape == tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    assert kept.op is not None
    assert kept.op.inputs == (x,)
    assert kept.flatten().tolist() == gone.flatten().tolist()
    (kept * kept).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == (kept * 2).expand(x.shape).tolist()
    assert x.argmax(axes, keepdims=True).dtype is int64
