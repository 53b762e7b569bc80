"""Settings with a separate value in each context, and the `with` blocks that change them.

Is a graph recorded? Which backend is in use? Every thread and every asyncio task has its own answer
(a ContextVar). A new thread starts with the default. A new task starts with its creator's value: if
created inside a block, it is in that block until the block ends.

No exception may leave a setting changed, and a KeyboardInterrupt can come between any two
bytecodes. So `__enter__` and `__exit__` cannot be written in Python: the interrupt might come
before their first bytecode. C code is not interrupted, and this design relies on it:

- `with block:` first looks up `__enter__` and `__exit__`. Only these look-ups run Python: they
  create a Block that is not in force yet. Entering is then a call of `ContextVar.set`, and leaving
  a call of a lock's `__exit__`.
- A Block is in force while its lock is locked. Reads skip inactive blocks.
- From Python 3.14 on a `with` statement can be interrupted between entering and the block, and then
  never calls `__exit__`. But it has looked `__exit__` up before, and drops that reference: so there
  a Block is in force only while the reference is alive.
- tutor itself changes settings only in a copy of the context (`Setting.during`), as decorated
  functions do. Nothing has to be restored then, however the call ends.
"""

from __future__ import annotations

import sys
import types
from _thread import allocate_lock, get_ident
from collections.abc import Callable, Generator
from contextvars import Context, ContextVar, copy_context
from functools import partial, wraps
from typing import Any, Generic, TypeVar
from weakref import ref

from tutor.errors import DomainError

T = TypeVar("T")
R = TypeVar("R")  # the result of a C function
F = TypeVar("F", bound=Callable[..., Any])

# From 3.14 on a `with` statement looks up __exit__ before __enter__.
EXIT_FIRST = sys.version_info >= (3, 14)


# In co_flags: generators, coroutines, asynchronous generators, and awaitable generators.
IN_STEPS = 0x20 | 0x80 | 0x200 | 0x100


class Block(Generic[T]):
    """One entry into a `with` block: it sets the value of the setting while its lock is locked."""

    __slots__ = ("before", "held", "release", "value")
    before: T | Block[T]  # the value when it was entered
    held: Callable[[], bool]
    release: Callable[..., None]

    def __init__(self, value: T, before: T | Block[T]) -> None:
        lock = allocate_lock()
        lock.acquire()
        self.value, self.before = value, before
        self.held, self.release = lock.locked, lock.__exit__

    def handed_out(self) -> Callable[..., None]:
        """The function that leaves the block; dropping this only reference ends it as well."""
        release, locked = self.release, self.held
        del self.release
        there = ref(release)
        self.held = lambda: locked() and there() is not None
        return release


class Setting(Generic[T]):
    """`Setting(name, default)`: a separate value in each context."""

    def __init__(self, name: str, default: T, block: type[Block[T]] = Block) -> None:
        self.block = block
        self.variable: ContextVar[T | Block[T]] = ContextVar(name, default=default)

    def get(self) -> T:
        """The value here and now."""
        found = self.in_force()
        return found.value if isinstance(found, Block) else found

    def in_force(self) -> T | Block[T]:
        """The innermost block in force, or the value if there is no block."""
        last = found = self.variable.get()
        while isinstance(found, Block) and not found.held():
            found = found.before
        if found is not last:
            self.variable.set(found)
        return found

    def set(self, value: T) -> None:
        """Set the value from here on; inside a block, until it ends."""
        found = self.in_force()
        if isinstance(found, Block):
            block = self.block(value, found.before)
            block.held = found.held
            self.variable.set(block)
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

    def entering(self, block: Block[T], within: Entered[T]) -> Callable[[], Any]:
        """A C function that enters the block."""
        return partial(self.variable.set, block)

    def entered(self, block: Block[T]) -> bool:
        """Is the block among those in force here?"""
        found = self.in_force()
        while isinstance(found, Block):
            if found is block:
                return True
            found = found.before
        return False


class Shared(Generic[T]):
    """Blocks in force for the whole process, any number of them at once."""

    def __init__(self) -> None:
        self.blocks: dict[Block[T], Entered[T]] = {}  # in order of entry

    def values(self) -> list[T]:
        """The values of the blocks in force, oldest first. Removes blocks that have ended."""
        found = list(self.blocks)
        for block in found:
            if not block.held():
                self.blocks.pop(block, None)
        return [block.value for block in found if block.held()]

    def entering(self, block: Block[T], within: Entered[T]) -> Callable[[], Entered[T]]:
        return partial(self.blocks.setdefault, block, within)

    def entered(self, block: Block[T]) -> bool:
        return block in self.blocks


def runs_in_steps(function: Any, *kinds: str) -> bool:
    """Is it a generator or coroutine function, or one of these `kinds`? `inspect` takes as long to
    import as half the core, so it is not used for a `def` that neither yields nor awaits."""
    plain = isinstance(function, types.FunctionType) and not function.__code__.co_flags & IN_STEPS
    if plain and "_is_coroutine_mark" not in vars(function):
        return False
    import inspect

    return any(
        getattr(inspect, f"is{kind}function")(function)
        for kind in kinds or ("generator", "coroutine")
    )


class _LookUp(Generic[R]):
    """The descriptor behind `__enter__` and `__exit__`: returns a C function made by `find`."""

    def __init__(self, find: Callable[[Entered[Any]], Callable[..., Any]]) -> None:
        self.find = find

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Entered[Any] | None, owner: type) -> Callable[..., R]:
        if instance is None:  # contextlib.ExitStack looks it up on the class
            return lambda within, *exception: getattr(within, self.name)(*exception)
        return self.find(instance)


def _enter(within: Entered[T]) -> Callable[[], Any]:
    to_enter, to_leave = within.looked_up()
    while to_enter and not to_enter[-1].held():
        to_enter.pop()
    if to_enter:
        block = to_enter.pop()
    else:
        to_leave.append(block := within.block())
    return within.setting.entering(block, within)


def _leave(within: Entered[T]) -> Callable[..., None]:
    to_enter, to_leave = within.looked_up()
    while EXIT_FIRST and to_leave and not within.setting.entered(to_leave[-1]):
        to_leave.pop()  # __enter__ was looked up but never called
    if to_leave:
        return to_leave.pop().release
    if not EXIT_FIRST:
        raise DomainError("leaving a block", "it was not entered", "write `with block:`")
    to_enter.append(block := within.block())
    return block.handed_out()


class Entered(Generic[T]):
    """A reusable, reentrant context manager."""

    def __init__(self, setting: Setting[T] | Shared[T], value: T) -> None:
        self.setting, self.value = setting, value
        self._looked_up: dict[int, tuple[list[Block[T]], list[Block[T]]]] = {}

    __enter__: _LookUp[Any] = _LookUp(_enter)
    __exit__: _LookUp[None] = _LookUp(_leave)

    def block(self) -> Block[T]:
        """The Block for the next entry."""
        return Block(self.value, self.value)

    def looked_up(self) -> tuple[list[Block[T]], list[Block[T]]]:
        """This thread's Blocks with one half looked up: only __exit__, only __enter__."""
        return self._looked_up.setdefault(get_ident(), ([], []))


class Within(Entered[T]):
    """`with Within(setting, value):`, also a decorator of functions, generators (applied to each
    of their steps) and coroutines."""

    setting: Setting[T]

    def __init__(self, setting: Setting[T], value: T) -> None:
        super().__init__(setting, value)

    def block(self) -> Block[T]:
        return self.setting.block(self.value, self.setting.in_force())

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
