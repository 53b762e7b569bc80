"""`with tutor.lazy():` nothing runs until its numbers are needed.

    >>> import tutor
    >>> from tutor import Tensor
    >>> x = Tensor([1.0, 2.0, 3.0])
    >>> with tutor.lazy():
    ...     y = (x * 2 + 1).relu()
    ...     unused = x.exp()
    >>> print(tutor.schedule(y).text())
    t0: temp 3 x float32
    s0: state 3 x float32
    c0: constant 1 x float32
    t1: temp 3 x float32
    c1: constant 1 x float32
    y0: output 3 x float32
    t0[3] = mul.float32(s0[3], c0[3]@0/0)
    t1[3] = add.float32(t0[3], c1[3]@0/0)
    y0[3] = relu.float32(t1[3])
    >>> y.tolist()
    [3.0, 5.0, 7.0]

In the block each step is noted, and its result has a promise instead of memory (lazy_buffers.py).
Reading a result runs the steps that it depends on, each once, in program order; a result that is
never read is never computed. On large memory the steps run together, and a chain like the one above
is a single kernel: together.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from tutor._storage import bounds_checks
from tutor._storage.array_like import is_tensor
from tutor._util.context_settings import Block, F
from tutor._util.keyword_aliases import spelled
from tutor.backends.step import Deferring
from tutor.errors import DTypeError
from tutor.methods.tensor import Tensor
from tutor.programs.capture import note
from tutor.programs.lazy_buffers import Noted, Promise, Why, lasting, needed, run
from tutor.programs.program import Program
from tutor.programs.together import program_of


@overload
def lazy(function: None = None) -> Deferring: ...
@overload
def lazy(function: F) -> F: ...
@spelled
def lazy(function: F | None = None) -> Deferring | F:
    """`with lazy():` or `@lazy()`: note each computation, and run it when its result is needed.

    Reading numbers, shapes that depend on numbers, print, numpy() and a kernel outside the block
    all need results; so does `realize`. Steps pending when the block ends stay pending until then.
    The results equal those without the block, bit for bit.
    """
    return _lazy() if function is None else _lazy()(function)


class _lazy(Deferring):  # noqa: N801 - its name stands in messages
    def __init__(self) -> None:
        super().__init__(note)

    def block(self) -> Block[Any]:
        bounds_checks.opened("tutor.lazy()")
        return super().block()


_lazy.__name__ = "lazy"


@spelled
def realize(*asked: Tensor) -> None:
    """Compute the numbers of all these Tensors, in one schedule. DTypeError for an argument that is
    not a Tensor."""
    run(_makers("realize", asked))
    for tensor in asked:
        tensor.realize()


@spelled
def schedule(*asked: Tensor) -> Schedule:
    """The Program that would run if these Tensors were read now; print it to see each step with its
    line, and why it runs. Nothing runs. DTypeError for an argument that is not a Tensor."""
    return Schedule(needed(_makers("schedule", asked)))


def _makers(name: str, tensors: Iterable[Any]) -> list[Noted]:
    """The pending steps that compute the tensors; tensors with numbers have none."""
    found = []
    for i, tensor in enumerate(tensors):
        if not is_tensor(tensor):
            what = f"argument {i + 1} is of type {type(tensor).__name__}"
            raise DTypeError(f"{name}(...)", what, "give Tensors, one after another")
        bounds_checks.fits(tensor, name)
        promise = tensor.buf.memory
        if type(promise) is Promise and promise.value.maker is not None:
            found.append(promise.value.maker)
    return found


class Schedule(Program):
    """A Program of the pending steps, with the reason why each one runs."""

    __slots__ = ("why",)

    def __init__(self, steps: dict[Noted, Why]) -> None:
        pending = [noted.work.step for noted in steps if noted.work is not None]
        program, _ = program_of(pending, lasting(steps))
        super().__init__(program.steps, program.slots)
        number = {noted: i for i, noted in enumerate(steps)}
        self.why = tuple(
            [f"{what} {number[by]}" if by is not None else what for what, by in steps.values()]
        )

    def __str__(self) -> str:
        head, *lines = super().__str__().splitlines()
        at: dict[
            int, str
        ] = {}  # the lines that begin with a step's number; its code may follow below it
        for i, line in enumerate(lines):
            if len(at) < len(self.why) and line.split()[0] == str(len(at)):
                at[i] = self.why[len(at)]
        wide = max([len(head), *[len(lines[i]) for i in at]])
        rows = [f"{line.ljust(wide)}  {at[i]}" if i in at else line for i, line in enumerate(lines)]
        return "\n".join([f"{head.ljust(wide)}  why", *rows])
