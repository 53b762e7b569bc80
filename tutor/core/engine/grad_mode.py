"""Whether a graph is recorded: a setting of each thread and asyncio task, on by default.

    with no_grad(): ...        # for a block; also @no_grad() for a function
    with enable_grad(): ...    # inside no_grad(): record again
    set_grad_enabled(False)    # from here on, or for a block

A block restores the mode on any exception; with the native part even on an interrupt while it is
entered or left (tutor/_util/context_settings.py).
"""

from __future__ import annotations

from _thread import _local
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar, overload

from tutor._util.context_settings import Block, F, Setting, Within
from tutor.core.op.catalogue import on_op

T = TypeVar("T")

recording = Setting("tutor.core.engine.grad_mode", True)
_found = recording.variable.get


def is_grad_enabled() -> bool:
    """Would an op that runs here and now be recorded if one of its operands requires grad?"""
    found = _found()
    return found is True or (found is not False and recording.get())


class _Recording(Within[bool]):
    def __init__(self, on: bool) -> None:
        super().__init__(recording, on)


@overload
def no_grad(function: None = None) -> Within[bool]: ...
@overload
def no_grad(function: F) -> F: ...
def no_grad(function: F | None = None) -> Within[bool] | F:
    """`with no_grad():` or `@no_grad()`: compute without recording a graph, as for evaluation.
    Results do not require grad, and tensors may be changed in place."""
    return _Recording(False) if function is None else _Recording(False)(function)


@overload
def enable_grad(function: None = None) -> Within[bool]: ...
@overload
def enable_grad(function: F) -> F: ...
def enable_grad(function: F | None = None) -> Within[bool] | F:
    """`with enable_grad():` or `@enable_grad()`: record again inside a `no_grad()`."""
    return _Recording(True) if function is None else _Recording(True)(function)


@overload
def inference_mode(mode: bool = True) -> Within[bool]: ...
@overload
def inference_mode(mode: F) -> F: ...
def inference_mode(mode: bool | F = True) -> Within[bool] | F:
    """Another name for `no_grad()`: a stricter mode would gain nothing here. (In PyTorch a tensor
    computed in inference mode can never join a graph later; here it can, as a leaf.)"""
    return no_grad(mode) if callable(mode) else _Recording(not mode)


class set_grad_enabled(_Recording):  # noqa: N801 - a statement that reads as a verb
    """`set_grad_enabled(mode)` sets the mode from here on, `with set_grad_enabled(mode):` for the
    block.

    In both spellings the call itself sets the mode. An exception between that call and the entry
    of the block therefore leaves the new mode in force. `no_grad` has no such gap.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self.before: list[bool | Block[bool]] = [recording.in_force()]
        recording.set(self.value)

    def block(self) -> Block[bool]:
        return Block(self.value, self.before.pop() if self.before else recording.in_force())

    def __call__(self, function: Any) -> Any:
        """As a decorator it sets the mode inside the function only."""
        if self.before:
            recording.variable.set(self.before.pop())
        return super().__call__(function)


class _Walk(_local):
    """Per thread: the functions to call after the current backward(). None outside a backward()
    and during any other kind of walk."""

    todo: list[Callable[[], object]] | None = None


_walk = _Walk()


def walking(create_graph: bool, function: Callable[..., T], *args: Any, stores: bool = False) -> T:
    """Run `function(*args)`, which walks a graph backward, in a context of its own. It is recorded
    if `create_graph`, and runs without autocast: each gradient is computed in the dtype its op ran
    in. `stores` marks a backward(), which stores `.grad`."""
    context = recording.context(create_graph)
    if on_op.casts:
        context.run(on_op.cast_nothing)
    outer = _walk.todo
    todo: list[Callable[[], object]] | None = [] if stores else None
    _walk.todo = todo
    try:
        result = context.run(function, *args)
    finally:
        _walk.todo = outer
    if todo:
        for follow in todo:
            follow()
    return result


def following() -> list[Callable[[], object]] | None:
    """For a hook: the list of functions to call once the current backward() has stored every
    `.grad`. The hook may append to it. None if the current walk is not a backward()."""
    return _walk.todo


def asking(create_graph: bool) -> Callable[..., Any]:
    """The function `ask(hook, g)` that calls the hooks of a walk. In a recorded walk they become
    part of its graph; otherwise they run in the caller's mode, so a hook may walk its own graph."""
    return _call if create_graph else copy_context().run


def _call(hook: Callable[..., Any], *args: Any) -> Any:
    return hook(*args)
