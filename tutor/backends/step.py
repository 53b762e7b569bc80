"""Step: one kernel call as data; and `emit`, which every watched kernel call passes through.

    >>> from tutor import Tensor, watch
    >>> seen = []
    >>> with watch(lambda step, go: (seen.append(str(step)), go())):
    ...     y = Tensor([1.0, 2.0]).exp().sum()
    >>> seen
    ['exp float32 (2,) -> (2,)', 'sum float32 (2,) axis=(0,) -> ()']

All code that needs a kernel makes a Step and emits it: ops, derivatives, optimizers, random
numbers, casts, in-place writes, a Buffer's own arithmetic. So there is one place to watch what a
process computes, and it shows what really runs. While no observer watches, C++ may call kernels
without `emit`: in the Engine's twin, in a recorded Program's plan (tutor/programs/replay.py) and in
a deferred step (tutor/programs/lazy_buffers.py). A transfer between devices is one Step; the copies
it makes are part of it (transfers.py).

This file is below the Engine, because Buffers and the conformance suite also emit Steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, NoReturn

from tutor._storage.layout import Shape
from tutor._storage.memory import keep_ahead
from tutor._util.context_settings import Around, Setting, Within
from tutor._util.hooks import Hook
from tutor._util.typing import Walked
from tutor.backends import registry
from tutor.backends.registry import Kernel
from tutor.backends.signatures import Signature, signature_of
from tutor.dtype import DType
from tutor.errors import DomainError, TutorError

NONE: Mapping[str, object] = {}


class Step:
    """One call: `kernel`, looked up for `dtype`, fills `out` from `ins` with `params`. `where` is
    the file and line of the user's code that caused it, if known."""

    __slots__ = ("dtype", "ins", "kernel", "operands", "out", "params", "reads", "signature",
                 "where", "writes")  # fmt: skip
    signature: Signature  # the kernel's row in signatures.py
    operands: tuple[Walked, ...]  # out, then the inputs
    reads: tuple[Walked, ...]  # the operands that it reads
    writes: tuple[Walked, ...]  # the operands that it writes: out, then others it updates

    def __init__(
        self, kernel: str, dtype: DType, out: Walked, ins: tuple[Walked, ...] = (),
        params: Mapping[str, object] = NONE, where: tuple[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.dtype, self.out, self.ins, self.params = kernel, dtype, out, ins, params
        self.where = where

    def __getattr__(self, name: str) -> Any:
        """Computes the derived attributes on first use."""
        if name == "operands":
            self.operands = (self.out, *self.ins)
        elif name == "signature":
            self.signature = signature_of(self.kernel)
        elif name in ("reads", "writes"):
            self.reads, self.writes = self._effects()
        else:
            raise AttributeError(f"a Step has no {name}", name=name, obj=self)
        return getattr(self, name)

    def _effects(self) -> tuple[tuple[Walked, ...], tuple[Walked, ...]]:
        row, out, ins = self.signature, self.out, self.ins
        if row.form == "update":  # after the first input, those of letter T
            each = zip(ins[1:], row.types[2:], strict=False)
            return self.operands, (out, *[x for x, t in each if t == "T"])
        if row.form == "draw":
            return ins, (out, ins[1])  # the counter
        results = int(str(self.params["results"])) if row.form == "fused" else row.results
        end = len(ins) + 1 - results  # the last inputs are further results
        return ins[:end], (out, *ins[end:])

    @property
    def device(self) -> str:
        """The device of out's memory, which is where the kernel runs."""
        return str(self.out.buf.device)

    def over(self, operands: Sequence[Walked]) -> Step:
        """The same call on other `operands`: out, then the inputs."""
        out, *ins = operands
        return Step(self.kernel, self.dtype, out, tuple(ins), self.params, self.where)

    @property
    def layouts(self) -> tuple[tuple[Shape, Shape, DType], ...]:
        """Shape, strides and dtype: of out, then of the inputs."""
        return tuple([(x.shape, x.strides, x.buf.dtype) for x in (self.out, *self.ins)])

    @property
    def nbytes(self) -> int:
        """Bytes read and written: tutor/backends/costs.py."""
        count: int = on_step.costs().nbytes(self.kernel, self.layouts)
        return count

    @property
    def flops(self) -> int | None:
        """Floating-point operations, None if unknown: tutor/backends/costs.py."""
        count: int | None = on_step.costs().flops(self.kernel, self.layouts, self.params)
        return count

    def __repr__(self) -> str:
        parts = [self.kernel, self.dtype.name, *(str(tuple(x.shape)) for x in self.ins)]
        params = [f"{name}={value}" for name, value in self.params.items()]
        return " ".join([*parts, *params, "->", str(tuple(self.out.shape))])


def emit(step: Step, kernel: Kernel | None = None) -> None:
    """Run the step, and show it to all observers. Pass `kernel` to run another kernel than the one
    of the backend in use, to compare the two."""
    run = kernel or registry.kernel(step.kernel, step.dtype, step.device)
    if WATCHES:
        _watched(step, run)
    else:
        run(step.out, *step.ins, **step.params)


# ---- hook: who watches a step --------------------------------------------------------------------


def _no_costs() -> NoReturn:
    raise TutorError("what a step costs", "nothing here knows it", "write `import tutor`")


class OnStep(Hook):
    """What the trunk asks about a step, beside WATCHES and `mode`."""

    costs: Callable[[], Any] = staticmethod(_no_costs)  # the module tutor.backends.costs


on_step = OnStep()  # answered by tutor/__init__.py

Observer = Callable[[Step, Callable[[], None]], object]

WATCHES: dict[object, Within[Any]] = {}  # empty without observers: a step costs nothing extra
_watching: Setting[Any] = Setting("tutor.watching", None, WATCHES)
_observing: ContextVar[bool] = ContextVar("tutor.observing", default=False)


class watch(Around[Observer]):  # noqa: N801 - read as a verb: with watch(observer)
    """`with watch(observer):` calls `observer(step, go)` for each kernel call of the process.

    `go()` runs the kernel and must be called exactly once (else DomainError): `step.out` is filled
    after it, not before. An exception in the observer is raised by the call. Kernels that the
    observer runs itself are not shown to any observer. All threads are watched. Watches may be
    nested: the inner one is closer to the kernel. Also `@watch(observer)` for a function.
    """

    does = "watched"

    def __init__(self, observer: Observer) -> None:
        if not callable(observer):
            raise DomainError(
                f"watch({observer!r:.40})",
                f"{type(observer).__name__} cannot be called",
                "give a function observer(step, go), which calls go() once",
            )
        super().__init__(_watching, observer)


def watchers() -> list[Observer]:
    """The current observers, outermost first."""
    return [within.value for within in list(WATCHES.values()) if isinstance(within, watch)]


def _watched(step: Step, kernel: Kernel) -> None:
    note = mode.get()
    if note is not None:
        return note(step, kernel)
    go = partial(kernel, step.out, *step.ins, **step.params)
    observers = [] if _observing.get() else watchers()
    if observers:
        for x in step.operands:
            keep_ahead(x.buf)
    for observer in reversed(observers):
        go = partial(_observed, observer, step, go)
    return go()


def _observed(observer: Observer, step: Step, go: Callable[[], None]) -> None:
    """Call the observer, in a context of its own in which no observer is called."""
    calls: list[None] = []

    def once() -> None:
        calls.append(None)
        if len(calls) == 1:
            go()

    def observe() -> None:
        _observing.set(True)
        observer(step, once)

    copy_context().run(observe)
    if len(calls) != 1:
        raise DomainError(
            f"to watch {step.kernel}",
            f"the observer called go() {len(calls)} times",
            "call it once: that is what lets the kernel run",
        )


# ---- a mode in which steps do not run ------------------------------------------------------------

Note = Callable[[Step, Kernel], None]


# The function that receives the steps of a context instead of their kernels; None: they run. Its
# blocks are in WATCHES, where `emit` and its twin in C++ look, so outside of them it costs nothing.
mode: Setting[Note | None] = Setting("tutor.mode", None, WATCHES)


class Noting(Around[Note | None]):
    """`with Noting(note):` calls `note(step, kernel)` for each step of this context instead of
    running it. Also a decorator of functions."""

    does = "noted"

    def __init__(self, note: Note) -> None:
        super().__init__(mode, note)
