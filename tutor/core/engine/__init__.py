"""Engine: runs an Op, keeps the graph, walks it backward.

Forward, `run` (forward.py): *prepare* a Step (promote the operands, infer the result, allocate a
Buffer), *emit* it (look up the kernel and let it fill the Buffer: tutor/backends/step.py, which all
kernel calls of a process pass through), and *remember* the Op if a gradient may be wanted.

Backward, `backward` (backward.py): visit the recorded Ops newest first, hand each the gradient of
its result, and pass on the gradients it returns, down to the leaves. The Engine has no formulas.

In place, `write` (writing.py): overwrite numbers, and have the graph follow.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from tutor._storage import bounds_checks
from tutor._util import twins
from tutor._util.typing import Nested, Number, TensorLike
from tutor.core.engine.backward import Backward
from tutor.core.engine.writing import Writing
from tutor.core.op import OPS, Op
from tutor.core.tensor import TensorBase
from tutor.errors import unknown

T = TypeVar("T", bound=TensorBase)


class Engine(Writing, Backward):
    """The one `engine` of a process."""


engine = Engine()


@overload
def apply(name: str, x: T, *others: TensorLike, **params: Any) -> T: ...
@overload
def apply(name: str, x: Number | Nested, y: T, *others: TensorLike, **params: Any) -> T: ...
@overload
def apply(name: str, *inputs: TensorLike, **params: Any) -> Any: ...
def apply(name: str, *inputs: TensorLike, **params: Any) -> Any:
    """Run an op by its name in the catalogue: `apply("mul", x, y)` is `Mul(x, y).apply()`."""
    op = OPS.get(name)
    if op is None:
        raise unknown("the op", name, OPS, "tutor.OPS")
    try:
        return op(*inputs, **params).apply()
    except Exception:
        bounds_checks.check_all(inputs, name)  # names an operand that was tampered with
        raise


apply = twins.of_engine(engine, apply)  # TUTOR_NATIVE=0 keeps the Python Engine
Op.execute = staticmethod(engine.run)
