"""A call of a jitted function: its arguments, taken apart, and a key for their kinds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from tutor._storage.array_like import is_scalar
from tutor._storage.device_memory import CPU
from tutor._storage.memory import Memory
from tutor.backends import devices, registry
from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit
from tutor.core.buffer import Buffer
from tutor.core.engine.casting import CASTING, autocast_dtype
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.methods.tensor import Tensor
from tutor.programs.guards import hooks_of, shown
from tutor.programs.kinds import PLAIN, exact, members

Walk = tuple[Any, ...]
Key = tuple[Any, ...]

# Is a jitted function running here? Then a jitted function that it calls becomes part of it.
within: ContextVar[bool] = ContextVar("tutor.jit", default=False)


def run_within(function: Callable[[], Any]) -> Any:
    """`function()`, as the body of a jitted function. It runs in the caller's context, so context
    variables that it sets stay set."""
    before = within.set(True)
    try:
        return function()
    finally:
        within.reset(before)


def walk_of(t: Tensor) -> Walk:
    """The layout, memory size, dtype and device of a Tensor, which two calls must share."""
    return t.shape, t.strides, t.offset, len(t.buf), t.buf.dtype, t.buf.device


class BufferWindow(NamedTuple):
    """A stretch of an argument's Buffer: `size` numbers from `start` on. `first` is the number of
    the first argument over the same Buffer."""

    start: int
    size: int
    first: int

    def over(self, buf: Buffer) -> Buffer:
        """These numbers as a separate Buffer that shares the memory; on a device it is a copy on
        that device, which `put_back` copies back."""
        if self.size == len(buf):
            return buf
        if buf.device != CPU:
            part = Buffer.empty(self.size, buf.dtype, buf.device)
            self._copy(Operand(part, (self.size,), (1,), 0), self._here(buf))
            return part
        dtype, size = buf.dtype, buf.dtype.itemsize
        raw = buf.raw[self.start * size : (self.start + self.size) * size]
        return Buffer.over(Memory.borrow(raw, self.size, size, dtype.format), dtype)

    def put_back(self, part: Buffer, buf: Buffer) -> None:
        """Copy the numbers of a copy made by `over` back to their origin."""
        if part is not buf and buf.device != CPU:
            self._copy(self._here(buf), Operand(part, (self.size,), (1,), 0))

    def _here(self, buf: Buffer) -> Operand:
        return Operand(buf, (self.size,), (1,), self.start)

    def _copy(self, out: Operand, x: Operand) -> None:
        emit(Step("copy", x.buf.dtype, out, (x,)))


def windows(tensors: Sequence[Tensor]) -> list[BufferWindow]:
    """For each argument, the stretch of its Buffer that it uses. For rows of a larger Tensor,
    `images[i : i + 32]`, it is only those rows, so it does not matter which ones they are.
    Arguments over one Buffer, `text[i : i + 32]` and `text[i + 1 : i + 33]`, share a stretch, from
    the first of their numbers to the last."""
    firsts: dict[int, int] = {}
    found: list[BufferWindow] = []
    for i, t in enumerate(tensors):
        size, whole, first = math.prod(t.shape), len(t.buf), firsts.setdefault(id(t.buf), i)
        inside = 0 <= t.offset <= whole - size  # otherwise the op reports the error
        part = size < whole and t.is_contiguous() and inside
        found.append(BufferWindow(t.offset, size, first) if part else BufferWindow(0, whole, first))
    if len(firsts) == len(found):
        return found
    for first in firsts.values():
        group = [w for w in found if w.first == first]
        start = min(w.start for w in group)
        union = BufferWindow(start, max(w.start + w.size for w in group) - start, first)
        found = [union if w.first == first else w for w in found]
    return found


def modes() -> tuple[Any, ...]:
    """All settings of a context that decide how ops run in it: the backend, the default device for
    new Tensors, whether a graph is built, autocast."""
    cast = autocast_dtype() if CASTING else None
    device = devices.default() if devices.IN_USE else None
    return registry.current(), device, is_grad_enabled(), cast


class JitCall:
    """Arguments, taken apart: `tensors`, objects (`roots`), and a `key` for the kinds of them all:
    two calls with the same key differ at most in the numbers in their Tensors."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.roots: list[tuple[Any, str]] = []
        self.containers: list[Any] = []
        kinds = [self._kind(a) for a in args]
        named = [(name, self._kind(a)) for name, a in kwargs.items()] if kwargs else ()
        self.windows = windows(self.tensors)
        walks = [
            (t.shape, t.strides, t.offset - w.start, w.size, t.buf.dtype, t.buf.device,
             t.requires_grad, t.op is None, w.first if w.first == i else (w.first, self.first(t)))
            for i, (t, w) in enumerate(zip(self.tensors, self.windows, strict=True))
        ]  # fmt: skip
        self.key = (modes(), *kinds, *named, *walks)
        self.args, self.kwargs = args, kwargs
        self.plain = all(type(a) is Tensor and not a.requires_grad for a in args) and not kwargs

    def _kind(self, value: Any) -> Any:
        kind = type(value)
        if kind is Tensor or isinstance(value, Tensor):
            return self._note(value)
        if kind in PLAIN:
            return kind, exact(value)
        parts = members(value)
        if parts is not None:
            if kind not in (list, tuple, dict):
                self.roots.append((kind, f"the class {kind.__qualname__}"))
            for number, other in enumerate(self.containers):
                if other is value:
                    return kind, number
            self.containers.append(value)
            if isinstance(parts, dict):
                return kind, tuple([(type(k), exact(k), self._kind(v)) for k, v in parts.items()])
            return kind, tuple([self._kind(v) for v in parts])
        if is_scalar(value):
            return kind, str(value.dtype), value.tobytes()
        self.roots.append((value, f"argument {len(self.roots) + 1}"))
        return id(value)

    def first(self, t: Tensor) -> int:
        """The number of the first argument that is this very Tensor."""
        return next(i for i, other in enumerate(self.tensors) if other is t)

    def _note(self, t: Tensor) -> Any:
        self.tensors.append(t)
        hooks = hooks_of(t) if t.requires_grad else ()
        self.roots += [(hook, f"a hook of argument {len(self.tensors)}") for hook in hooks]
        return (type(t), *map(id, hooks)) if hooks or type(t) is not Tensor else 0

    def contents(self) -> list[Any]:
        """The ids of the items in the containers among the arguments."""
        parts = [members(c) for c in self.containers]
        return [[*map(id, p.values()), *p] if isinstance(p, dict) else [*map(id, p or ())]
                for p in parts]  # fmt: skip

    def shown(self) -> dict[str, str]:
        """Each argument by its number or name, described for a person to compare."""
        named = {f"argument {i}": a for i, a in enumerate(self.args, 1)}
        return {name: _shown(value) for name, value in {**named, **self.kwargs}.items()}


def _shown(value: Any, deep: int = 3) -> str:
    """A description of the value: `deep` levels of nesting, and four items of each."""
    if isinstance(value, Tensor):
        grad = ", which requires a gradient," if value.requires_grad else ""
        return f"a Tensor{grad} of {value.dtype.name} and shape {value.shape}"
    parts = members(value)
    if parts is None:
        return f"{value.dtype} {value!s:.60}" if is_scalar(value) else shown(value)
    items = parts.items() if isinstance(parts, dict) else (("", v) for v in parts)
    first = itertools.islice(items, 4 if deep else 0)
    each = [f"{key}: {_shown(v, deep - 1)}" if key != "" else _shown(v, deep - 1)
            for key, v in first]  # fmt: skip
    more = ["..."] * (len(parts) > len(each))
    return f"{type(value).__name__}({', '.join([*each, *more])})"


def differs(before: dict[str, str], now: dict[str, str]) -> str:
    """The argument in which a call differs from the previously recorded one, as text."""
    if not before:
        return "it is the first"
    for name, text in now.items():
        if name in before and before[name] != text:
            return f"{name} is {text}; it was {before[name]}"
    if before.keys() != now.keys():
        return f"it has {len(now)} arguments; it had {len(before)}"
    return "another object, order, layout or mode, or memory that two arguments share"
