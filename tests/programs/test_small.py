"""The small jit: what it leaves is what the function leaves, and what the large one does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_jit import SGD, Adam, Case, Dropout, Momentum, bits

import tutor
from tutor import Tensor
from tutor.errors import GraphError, RecordError, ShapeError
from tutor.programs import small
from tutor.programs.small import SmallJit

pytestmark = pytest.mark.usefixtures("backend")


def trained(case: type[Case], jit: Callable[[Any], Any]) -> list[Any]:
    """All losses, and after each call the parameters, their gradients and the optimizer's state."""
    this, found = case(), []
    step = jit(this.step)
    for call in range(6):
        this.before(call)
        found.append((bits(step(*this.arguments(call))), this.left()))
    return found


@pytest.mark.parametrize("case", [SGD, Momentum, Adam, Dropout])
def test_each_call_leaves_what_the_function_and_the_large_one_leave(case: type[Case]) -> None:
    found = trained(case, SmallJit)
    assert found == trained(case, lambda f: f)
    assert found == trained(case, tutor.jit)


def test_from_the_third_call_on_no_line_of_the_function_runs() -> None:
    lines = []

    def f(x: Tensor) -> Tensor:
        lines.append(x)
        return (x * 2 + 1).relu()

    jitted = SmallJit(f)
    results = [jitted(Tensor([-2.0, float(call)])) for call in range(5)]
    assert len(lines) == 2
    assert [step.kernel for step in jitted.steps] == ["mul", "add", "relu"]
    assert [t.tolist() for t in results] == [[0.0, 2.0 * call + 1] for call in range(5)]


def test_an_argument_of_another_kind_is_refused() -> None:
    jitted = SmallJit(lambda x: x + 1)
    for _ in range(3):
        jitted(Tensor([1.0, 2.0]))
    for other in (Tensor([1.0]), Tensor([1, 2])):
        with pytest.raises(ShapeError, match=r"recorded over float32 \(2,\)"):
            jitted(other)


def test_a_result_that_is_no_tensor_is_refused() -> None:
    jitted: Any = SmallJit(lambda x: (x, x))  # type: ignore[arg-type, return-value]
    with pytest.raises(RecordError, match="return one Tensor"):
        jitted.record((Tensor([1.0]),))


def test_a_graph_that_has_saved_what_it_writes_knows() -> None:
    w = Tensor([1.0, 2.0])

    def f(x: Tensor) -> Tensor:
        w.copy_(w + x)
        return w

    jitted, v = SmallJit(f), Tensor([3.0, 4.0], requires_grad=True)
    for _ in range(3):
        loss = (v * w).sum()
        jitted(Tensor([1.0, 1.0]))
        with pytest.raises(GraphError, match="in place"):
            loss.backward()


def test_it_is_small() -> None:
    assert len(Path(str(small.__file__)).read_text(encoding="utf-8").splitlines()) <= 80
