"""Engine: runs an Op, keeps the graph, walks it backward.

Forward, `run` (forward.py): *prepare* a Step (bring the operands together, infer the result, take a
Buffer), *emit* it (look the kernel up and let it fill the Buffer: tutor/backends/step.py, where all
kernel calls of a process pass), and *remember* the Op if somebody may ask for a gradient.

Backward, `backward` (backward.py): visit the recorded Ops newest first, hand each the gradient of
its result, and pass on what it returns, until only leaves are left. No formula is known here.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from tutor._storage import bounds_checks
from tutor._util import twins
from tutor._util.typing import Nested, Number, TensorLike
from tutor.core.engine.backward import Backward
from tutor.core.engine.forward import Forward
from tutor.core.op import OPS, Op
from tutor.core.tensor import TensorBase
from tutor.errors import unknown

T = TypeVar("T", bound=TensorBase)


class Engine(Forward, Backward):
    """The one `engine` of a process."""


engine = Engine()


@overload
def apply(name: str, x: T, *others: TensorLike, **params: Any) -> T: ...
@overload
def apply(name: str, x: Number | Nested, y: T, *others: TensorLike, **params: Any) -> T: ...
@overload
def apply(name: str, *inputs: TensorLike, **params: Any) -> Any: ...
def apply(name: str, *inputs: TensorLike, **params: Any) -> Any:
    """Run the op of that name from the catalogue: `apply("mul", x, y)` is `Mul(x, y).apply()`."""
    op = OPS.get(name)
    if op is None:
        raise unknown("the op", name, OPS, "tutor.OPS")
    try:
        return op(*inputs, **params).apply()
    except Exception:
        bounds_checks.check_all(inputs, name)  # was it for an operand that was tampered with?
        raise


apply = twins.of_engine(engine, apply)  # TUTOR_NATIVE=0 leaves the Engine as it is
Op.execute = staticmethod(engine.run)
