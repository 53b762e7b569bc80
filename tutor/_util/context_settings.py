"""Settings with a separate value in each context, and the `with` blocks that change them.

Is a graph recorded? Which backend is in use? Every thread and every asyncio task has its own answer
(a ContextVar). A new thread starts with the default. A new task starts with its creator's value: if
created inside a block, it is in that block until the block ends. So leaving a block restores no
older value: it takes the block's entry out of `Setting.blocks`, and reads skip inactive blocks.

A KeyboardInterrupt can come between any two bytecodes. Decorated functions, and tutor itself,
change settings in a copy of the context only (`Setting.during`), so nothing has to be restored. A
`with` block lasts if an interrupt comes between its entry and the end of `__enter__`, or before
`__exit__` has removed the entry: the setting then keeps the block's value in that context. With the
native part neither can happen: `__enter__` and `__exit__` are C++ (simd_cpp/engine/settings.cpp).
"""

from __future__ import annotations

import types
from collections.abc import Callable, Generator
from contextvars import Context, ContextVar, copy_context
from functools import wraps
from typing import Any, Generic, Self, TypeVar

from tutor.errors import DomainError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


# In co_flags: generators, coroutines, asynchronous generators, and awaitable generators.
IN_STEPS = 0x20 | 0x80 | 0x200 | 0x100


class Block(Generic[T]):
    """A value of a setting, in force while `entry` is among the setting's `blocks`."""

    __slots__ = ("before", "entry", "value")

    def __init__(self, value: T, before: T | Block[T], entry: object = None) -> None:
        self.value = value
        self.before = before  # the value when it was entered
        self.entry = entry or object()


class Setting(Generic[T]):
    """`Setting(name, default)`: a separate value in each context. `blocks` are the entries in
    force in the whole process, oldest first; several settings may share this dict."""

    def __init__(
        self,
        name: str,
        default: T,
        blocks: dict[object, Within[Any]] | None = None,
        block: type[Block[T]] = Block,
    ) -> None:
        self.blocks = {} if blocks is None else blocks
        self.block = block
        self.variable: ContextVar[T | Block[T]] = ContextVar(name, default=default)

    def get(self) -> T:
        """The value here and now."""
        found = self.in_force()
        return found.value if isinstance(found, Block) else found

    def in_force(self) -> T | Block[T]:
        """The innermost block in force, or the value if there is no block."""
        last = found = self.variable.get()
        while isinstance(found, Block) and found.entry not in self.blocks:
            found = found.before
        if found is not last:
            self.variable.set(found)
        return found

    def set(self, value: T) -> None:
        """Set the value from here on; inside a block, until it ends."""
        found = self.in_force()
        if isinstance(found, Block):
            self.variable.set(self.block(value, found.before, found.entry))
        else:
            self.variable.set(value)

    def context(self, value: T) -> Context:
        """A copy of the current context in which the setting has that value."""
        context = copy_context()
        context.run(self.variable.set, value)
        return context

    def during(self, value: T, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run `function(*args, **kwargs)` in a copy of the context with that value. Any ContextVar
        that it sets is restored when it ends."""
        return self.context(value).run(function, *args, **kwargs)


def runs_in_steps(function: Any, *kinds: str) -> bool:
    """Is it a function of one of these kinds: "generator", "coroutine", "asyncgen"? `inspect` takes
    as long to import as half the core, so it is not used for a `def` that neither yields nor
    awaits."""
    plain = isinstance(function, types.FunctionType) and not function.__code__.co_flags & IN_STEPS
    if plain and "_is_coroutine_mark" not in vars(function):
        return False
    import inspect

    return any(getattr(inspect, f"is{kind}function")(function) for kind in kinds)


class Within(Generic[T]):
    """`with Within(setting, value):`, reusable and reentrant; also a decorator of functions,
    generators (applied to each of their steps) and coroutines."""

    def __init__(self, setting: Setting[T], value: T) -> None:
        self.setting, self.value = setting, value

    def block(self) -> Block[T]:
        """The Block for the next entry; called before that."""
        return self.setting.block(self.value, self.setting.in_force())

    def __enter__(self) -> Self:
        block = self.block()
        self.setting.variable.set(block)
        self.setting.blocks[block.entry] = self
        return self

    def __exit__(self, *exception: object) -> None:
        del self.setting.blocks[self.innermost()]
        self.ended()

    def ended(self) -> None:
        """Called after a block has been left: lets go of it."""
        self.setting.in_force()

    def innermost(self) -> object:
        """The entry of its innermost block here; else of its latest block in another context.
        DomainError if there is none."""
        blocks, found = self.setting.blocks, self.setting.in_force()
        while isinstance(found, Block):
            if blocks.get(found.entry) is self:
                return found.entry
            found = found.before
        for entry, within in reversed(list(blocks.items())):
            if within is self:
                return entry
        raise DomainError("leaving a block", "it was not entered", "write `with block:`")

    def __call__(self, function: F) -> F:
        called: Callable[..., Any]
        if runs_in_steps(function, "asyncgen"):
            raise DomainError(
                f"{type(self).__name__} as the decorator of {function.__qualname__}",
                "an asynchronous generator has no steps that could be told apart",
                "write `with ...:` inside of it, around what it is meant for",
            )
        if runs_in_steps(function, "coroutine"):

            async def called(*args: Any, **kwargs: Any) -> Any:
                context = self.setting.context(self.value)
                return await _awaited(_steps(context, function(*args, **kwargs)))

        elif runs_in_steps(function, "generator"):

            def called(*args: Any, **kwargs: Any) -> Any:
                context = self.setting.context(self.value)
                return (yield from _steps(context, function(*args, **kwargs)))

        else:

            def called(*args: Any, **kwargs: Any) -> Any:
                return self.setting.during(self.value, function, *args, **kwargs)

        return wraps(function)(called)  # type: ignore[return-value]


class Around(Within[T]):
    """A block whose entry itself has an effect: the Engine looks whether `blocks` is empty. As a
    decorator it makes each call inside such a block; `does` says what happens there."""

    does: str

    def __call__(self, function: F) -> F:
        if runs_in_steps(function, "generator", "coroutine", "asyncgen"):
            name = type(self).__name__
            raise DomainError(
                f"{name} as the decorator of {function.__qualname__}",
                f"what happens between its steps would be {self.does}, too",
                f"write `with {name}(...):` inside of it, around what it is meant for",
            )

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return called  # type: ignore[return-value]


def _steps(context: Context, inner: Any) -> Generator[Any, Any, Any]:
    """The generator or coroutine `inner`, with each of its steps run in `context`. Code between the
    steps runs outside it."""
    step, value = inner.send, None
    try:
        while True:
            request = context.run(step, value)
            try:
                step, value = inner.send, (yield request)
            except GeneratorExit:
                context.run(inner.close)
                raise
            except BaseException as error:
                step, value = inner.throw, error
    except StopIteration as stop:
        return stop.value


@types.coroutine
def _awaited(steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    return (yield from steps)
