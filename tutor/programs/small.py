"""tutor.jit in small: all that it does, without all that it asks.

    step = SmallJit(train)
    step(x, y)              # runs as ever: what only a first call makes is there afterwards
    step(x, y)              # runs as ever, and each kernel call is written down
    step(x, y)              # those kernel calls run, and no line of `train`

A Step holds the Buffers that its kernel reads and writes. To make the calls once more is to have
the kernels run over the same memory: parameters go on from where they are, a gradient is put where
the last one was. Arguments go in by a copy, results come out by one.

It believes what the large one finds out (jit.py): that nothing which the function reads was bound
to another object since, that arguments differ in their numbers only, and that no `if` would decide
otherwise. It also keeps the memory of every Step for good, and makes no step shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor.backends.step import Step, emit, watch
from tutor.errors import RecordError, ShapeError
from tutor.methods.tensor import Tensor


class SmallJit:
    """`function`, which takes Tensors and gives one, recorded and replayed."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        self.function, self.calls = function, 0
        self.inputs: list[Tensor] = []
        self.steps: list[Step] = []

    def __call__(self, *args: Tensor) -> Tensor:
        """What `function(*args)` gives, without its graph. ShapeError where an argument is not as
        it was when the function was recorded, RecordError where the result is no Tensor."""
        self.calls += 1
        if self.calls == 1:
            return self.function(*args).detach()
        if self.calls == 2:
            self.record(args)
        else:
            self.replay(args)
        return self.result.copy()

    def record(self, args: tuple[Tensor, ...]) -> None:
        """Run the function over memory of our own, and write down each Step that passes."""

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
        """Put the arguments where those of the recorded call were, and make its Steps again."""
        for mine, x in zip(self.inputs, args, strict=True):
            if (x.shape, x.dtype) != (mine.shape, mine.dtype):
                raise ShapeError(f"to replay over {x.dtype.name} {x.shape}",
                                 f"it was recorded over {mine.dtype.name} {mine.shape}",
                                 "make another for that, or take tutor.jit")  # fmt: skip
            mine.copy_(x)
        for step in self.steps:
            for operand in step.writes:
                operand.buf.touch()  # a graph that has saved it is out of date
            emit(step)
