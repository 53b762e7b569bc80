"""tutor.jit in miniature: all of its mechanism, none of its checks.

    step = SmallJit(train)
    step(x, y)              # runs normally, so anything created only once now exists
    step(x, y)              # runs normally, and each kernel call is recorded
    step(x, y)              # only those kernel calls run, and no line of `train`

A Step holds the Buffers that its kernel reads and writes. Repeating the calls runs the kernels over
the same memory: parameters continue from their current values, a gradient overwrites the last one.
Arguments are copied in, and results are copied out.

It assumes what the full version checks (jit.py): that no name the function reads has since been
bound to another object, that arguments differ only in their numbers, and that no `if` would decide
differently. It also keeps the memory of every Step for good, and does not optimize the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor.backends.step import Step, emit, watch
from tutor.errors import RecordError, ShapeError
from tutor.methods.tensor import Tensor


class SmallJit:
    """`function`, which takes Tensors and returns one, recorded and replayed."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        self.function, self.calls = function, 0
        self.inputs: list[Tensor] = []
        self.steps: list[Step] = []

    def __call__(self, *args: Tensor) -> Tensor:
        """The result of `function(*args)`, without its graph. ShapeError if an argument's shape or
        dtype differs from the recorded call, RecordError if the result is not a Tensor."""
        self.calls += 1
        if self.calls == 1:
            return self.function(*args).detach()
        if self.calls == 2:
            self.record(args)
        else:
            self.replay(args)
        return self.result.copy()

    def record(self, args: tuple[Tensor, ...]) -> None:
        """Run the function over memory of our own, and record each Step."""

        def note(step: Step, go: Callable[[], Any]) -> None:
            self.steps.append(step)
            go()

        self.inputs = [x.detach().copy() for x in args]
        with watch(note):
            result = self.function(*self.inputs)
        if not isinstance(result, Tensor):
            raise RecordError("to record a function in small", f"it gives a {type(result)}",
                              "return one Tensor, or take tutor.jit")  # fmt: skip
        self.result = result.detach()

    def replay(self, args: tuple[Tensor, ...]) -> None:
        """Copy the arguments over those of the recorded call, and repeat its Steps."""
        for mine, x in zip(self.inputs, args, strict=True):
            if (x.shape, x.dtype) != (mine.shape, mine.dtype):
                raise ShapeError(f"to replay over {x.dtype.name} {x.shape}",
                                 f"it was recorded over {mine.dtype.name} {mine.shape}",
                                 "make another for that, or take tutor.jit")  # fmt: skip
            mine.copy_(x)
        for step in self.steps:
            for operand in step.writes:
                operand.buf.touch()  # makes graphs that saved it stale
            emit(step)
