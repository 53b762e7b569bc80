"""Is a graph recorded? Each thread and asyncio task says for itself; it is, unless told otherwise.

    with no_grad(): ...        # for a block; also @no_grad() for a function
    with enable_grad(): ...    # within the other: record again
    set_grad_enabled(False)    # from here on, or for a block

No exception leaves it changed, not even an interrupt at an arbitrary moment:
tutor/_util/context_settings.py explains how.
"""

from __future__ import annotations

from _thread import _local
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar, overload

from tutor._util.context_settings import Block, F, Setting, Within
from tutor.core.engine.casting import CASTING, casting

T = TypeVar("T")

recording = Setting("tutor.core.engine.grad_mode", True)
_found = recording.variable.get


def is_grad_enabled() -> bool:
    """Would an op that is run here and now be recorded, if an operand requires grad?"""
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
    """`with no_grad():` or `@no_grad()`: compute without recording, as evaluation does. Results do
    not require grad, and tensors may be changed in place."""
    return _Recording(False) if function is None else _Recording(False)(function)


@overload
def enable_grad(function: None = None) -> Within[bool]: ...
@overload
def enable_grad(function: F) -> F: ...
def enable_grad(function: F | None = None) -> Within[bool] | F:
    """`with enable_grad():` or `@enable_grad()`: record, though it is within a `no_grad()`."""
    return _Recording(True) if function is None else _Recording(True)(function)


@overload
def inference_mode(mode: bool = True) -> Within[bool]: ...
@overload
def inference_mode(mode: F) -> F: ...
def inference_mode(mode: bool | F = True) -> Within[bool] | F:
    """`no_grad()` by another name: nothing is gained by a stricter mode here. (In PyTorch what was
    computed in it can never take part in a graph later; here it can, as a leaf.)"""
    return no_grad(mode) if callable(mode) else _Recording(not mode)


class set_grad_enabled(_Recording):  # noqa: N801 - a statement that reads as a verb
    """`set_grad_enabled(mode)`: record or not, from here on; `with set_grad_enabled(mode):` only
    for the block.

    In both spellings the call itself sets the mode: until its block is entered it is a statement,
    and an exception in between leaves the mode as it was told. `no_grad` has no such moment.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self.before: list[bool | Block[bool]] = [recording.in_force()]
        recording.set(self.value)

    def block(self) -> Block[bool]:
        return Block(self.value, self.before.pop() if self.before else recording.in_force())

    def __call__(self, function: Any) -> Any:
        """As a decorator it holds within the function alone."""
        if self.before:
            recording.variable.set(self.before.pop())
        return super().__call__(function)


class _Walk(_local):
    """What each thread is in the middle of: what is to follow its backward(); None outside of one,
    and where what walks is another."""

    todo: list[Callable[[], object]] | None = None


_walk = _Walk()


def walking(create_graph: bool, function: Callable[..., T], *args: Any, stores: bool = False) -> T:
    """`function(*args)`, which walks a graph backward, in a context of its own: recorded or not,
    and without autocast, since each gradient is computed in the dtype in which the op was.
    `stores`: it is a backward(), which leaves a `.grad` behind."""
    context = recording.context(create_graph)
    if CASTING:
        context.run(casting.variable.set, None)
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
    """For a hook: the functions that are to be called when the backward() that has called it has
    stored each `.grad`; or None, where what walks is no backward(). It may add to them."""
    return _walk.todo


def asking(create_graph: bool) -> Callable[..., Any]:
    """What calls the hooks of a walk, `ask(hook, g)`: where the walk is recorded, as part of it;
    else in the mode of who asked for the walk, so that a hook may walk a graph of its own."""
    return _call if create_graph else copy_context().run


def _call(hook: Callable[..., Any], *args: Any) -> Any:
    return hook(*args)
