"""Tracing: calls a model once and records every Op that it runs.

It sees the op level of DESIGN's four boxes: names from the catalogue, Tensors, parameters. (Kernel
calls, which tutor.watch shows, know no views.) During a trace the Engine's twin in C++ gives way to
the Engine in Python, which computes the same and shows each Op that has run to its observers.

A value is identified by its walk: Buffer, version, shape, strides, offset. So `x.detach()`, which
no Op makes, is x; and a value that was overwritten in place no longer has an Op, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from threading import RLock
from typing import Any, NamedTuple, NoReturn

from tutor._storage import bounds_checks
from tutor._util.callers import user_line
from tutor.backends import simd_cpp
from tutor.backends.step import Step, watch
from tutor.core.engine.forward import OBSERVERS
from tutor.core.engine.grad_mode import no_grad
from tutor.core.op import Op
from tutor.errors import ExportError
from tutor.methods.tensor import Tensor

ASKED = "to export a model to ONNX"
Walk = tuple[int, int, tuple[int, ...], tuple[int, ...], int]


class Node(NamedTuple):
    """One Op: `inputs` and `out` are indices of values."""

    op: str
    inputs: tuple[int, ...]
    params: Mapping[str, Any]
    out: int
    where: tuple[str, int]  # the user's line


class OpTrace:
    """The Ops of one call, in order, and the values between them."""

    def __init__(self, inputs: Sequence[Tensor], named: Iterable[tuple[str, Tensor]]) -> None:
        self.values: list[Tensor] = []  # kept alive, so that their Buffers are not reused
        self.known: dict[Walk, int] = {}
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}  # by the value they make
        self.made: set[int] = set()  # the ids of their Buffers
        self.inputs = [self.add(x) for x in inputs]
        self.made.update(id(x.buf) for x in inputs)
        self.unseen: dict[int, Step] = {}  # kernel calls on these, by the id of their result
        self.names: dict[int, str] = {}
        for name, t in named:
            self.names.setdefault(self.number(t), name)
        self.outputs: list[int] = []

    def add(self, x: Tensor) -> int:
        """A new value. (An alias, so later changes to x itself are not seen.)"""
        self.values.append(x.detach())
        self.known[walk(x)] = number = len(self.values) - 1
        return number

    def number(self, x: Tensor) -> int:
        """The index of a value; one that no Op has made is a new leaf."""
        found = self.known.get(walk(x))
        if found is None and id(x.buf) in self.made:
            file, line = user_line()
            raise ExportError(
                f"{ASKED}, at {file}:{line}",
                f"a Tensor of shape {x.shape} was changed in place, or walks memory as no op does",
                "compute a new one: y = y + x in place of y += x",
            )
        if found is None and id(x.buf) in self.unseen:
            file, line = user_line()
            raise ExportError(
                f"{ASKED}, at {file}:{line}",
                f"a Tensor that the kernel {self.unseen[id(x.buf)].kernel} made, and no op",
                "compute it in another way, or outside of the model",
            )
        return self.add(x) if found is None else found

    def note(self, op: Op, out: Tensor) -> None:
        """Observe an Op that has run."""
        if tracing.get() is not self:
            return
        inputs = tuple([self.number(x) for x in op.inputs])
        if walk(out) in map(walk, op.inputs):  # a view that changes nothing
            return
        self.made.add(id(out.buf))
        node = Node(op.name, inputs, dict(op.params), self.add(out), user_line())
        self.nodes.append(node)
        self.makers[node.out] = node

    def watch(self, step: Step, go: Callable[[], None]) -> None:
        """Observe a kernel call. Refused: random numbers, which differ in each call, and counts
        that depend on numbers. Results computed from values are recorded: they must not be taken
        for constants if no op made them."""
        if tracing.get() is self:
            if step.signature.form == "draw":
                file, line = user_line()
                raise ExportError(
                    f"{ASKED}: random numbers at {file}:{line}",
                    "the file would have the same ones in every call",
                    "draw them outside, and hand them over as an argument",
                )
            if step.kernel == "nonzero":
                refuse("positions of what is true, as in t[mask],")
            bounds_checks.closed.set(None)  # in this copy of the context kernels may read
            if any(id(x.buf) in self.made or id(x.buf) in self.unseen for x in step.reads):
                self.unseen.update({id(x.buf): step for x in step.writes})
        go()

    def needed(self) -> list[Node]:
        """The nodes that the outputs depend on, except those that depend on neither an input nor a
        named Tensor: their results are constants."""
        moving = {*self.inputs, *self.names}
        for node in self.nodes:
            if moving.intersection(node.inputs):
                moving.add(node.out)
        wanted, found = set(self.outputs), []
        for node in reversed(self.nodes):
            if node.out in wanted and node.out in moving:
                found.append(node)
                wanted.update(node.inputs)
        return found[::-1]


def walk(x: Tensor) -> Walk:
    return id(x.buf), x.buf.version, x.shape, x.strides, x.offset


ALONE = RLock()  # one thread at a time may do without the twin
tracing: ContextVar[OpTrace | None] = ContextVar("tutor.tracing", default=None)


def trace(
    model: Callable[..., Any], inputs: Sequence[Tensor], named: Iterable[tuple[str, Tensor]]
) -> OpTrace:
    """The OpTrace of `model(*inputs)`; the `named` Tensors become leaves with a name."""
    found = OpTrace(inputs, named)

    def run() -> None:
        tracing.set(found)
        bounds_checks.closed.set(refuse)
        with watch(found.watch):
            result = model(*inputs)
        found.outputs = [found.number(t) for t in tensors_in(result)]

    with ALONE, engine_in_python(found.note), no_grad():
        copy_context().run(run)
    return found


@contextmanager
def engine_in_python(observer: Callable[[Op, Tensor], None]) -> Iterator[None]:
    """Runs Ops with the Engine in Python, in all threads, and shows each to the observer."""
    simd_cpp.use_twins(False)
    OBSERVERS.append(observer)
    try:
        yield
    finally:
        OBSERVERS.remove(observer)
        simd_cpp.use_twins(True)


def refuse(asked: str) -> NoReturn:
    """Refuse to read numbers in Python: they would become constants of the file."""
    file, line = user_line()
    raise ExportError(
        f"{ASKED}: {asked} at {file}:{line}",
        "the numbers of this one call would be written into the file",
        "compute with Tensors throughout: tutor.where for `if`, sum() for a loop over numbers",
    )


def tensors_in(result: Any) -> list[Tensor]:
    """The Tensors in a result, at any depth of tuples, lists and dicts; None is left out."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, Mapping):
        return [t for part in result.values() for t in tensors_in(part)]
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in tensors_in(part)]
    if result is None:
        return []
    raise ExportError(
        ASKED, f"its result holds a {type(result).__name__}", "return Tensors, or tuples of them"
    )
