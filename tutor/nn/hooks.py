"""Hooks: functions called whenever a layer is called, or a gradient passes it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tutor._util import checks
from tutor.core.engine import apply
from tutor.methods.tensor import Tensor

Hook = Callable[..., Any]


class HookHandle:
    """Removes a hook: by `handle.remove()`, or at the end of `with handle:`."""

    def __init__(self, hooks: list[Hook], hook: Hook) -> None:
        self.hooks, self.hook, self.is_there = hooks, hook, True

    def remove(self) -> None:
        """Remove the hook; a second call does nothing. A hook that was registered twice has two
        handles, and is called until both are removed."""
        if self.is_there:
            del self.hooks[next(i for i, hook in enumerate(self.hooks) if hook is self.hook)]
        self.is_there = False

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one module. It has no attributes by name, so the walk over a model's parts, and
    thus state_dict, finds nothing in it."""

    __slots__ = ("after", "backward", "before")

    def __init__(self) -> None:
        self.before: list[Hook] = []
        self.after: list[Hook] = []
        self.backward: list[Hook] = []

    def add(self, hooks: list[Hook], hook: Hook) -> HookHandle:
        hooks.append(checks.function("a hook", hook))
        return HookHandle(hooks, hook)

    def call(self, module: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """module.forward(*inputs, **options) between its hooks. A hook's return value, unless None,
        replaces the inputs (before forward) or the result (after it)."""
        for hook in tuple(self.before):
            other = hook(module, inputs)
            if other is not None:
                inputs = other if isinstance(other, tuple) else (other,)
        watch = Passing(module, tuple(self.backward)) if self.backward else None
        if watch:
            inputs = tuple(map(watch.entering, inputs))
        result = module.forward(*inputs, **options)
        for hook in tuple(self.after):
            other = hook(module, inputs, result)
            result = result if other is None else other
        return watch.leaving(result) if watch else result


class Passing:
    """One call of a module whose backward hooks wait for its gradients.

    The gradients of its results come first. Once those of all its inputs have come (at once, if no
    input wants one), the hooks are called with tuples of gradients, None where one is missing. A
    hook may return other gradients of the inputs. With several inputs this changes only the last
    gradient to arrive: the earlier ones have already been passed on.
    """

    def __init__(self, module: Any, hooks: tuple[Hook, ...]) -> None:
        self.module, self.hooks = module, hooks
        self.inputs: list[Tensor | None] = []  # their gradients, as they arrive
        self.results: list[Tensor | None] = []
        self.wanted = 0

    def entering(self, x: Any) -> Any:
        """A view of the input, whose gradient belongs to this call alone."""
        self.inputs.append(None)
        if not isinstance(x, Tensor) or not x.requires_grad:
            return x
        own, place = apply("expand", x, shape=x.shape), len(self.inputs) - 1
        self.wanted += 1
        own.register_hook(functools.partial(self.arrived, place))
        return own

    def leaving(self, result: Any) -> Any:
        for place, z in enumerate(result if isinstance(result, tuple) else (result,)):
            self.results.append(None)
            if isinstance(z, Tensor) and z.requires_grad:
                z.register_hook(functools.partial(self.left, place))
        return result

    def left(self, place: int, g: Tensor) -> None:
        self.results[place] = g
        if not self.wanted:
            self.tell()

    def arrived(self, place: int, g: Tensor) -> Tensor | None:
        self.inputs[place] = g
        if sum(x is not None for x in self.inputs) < self.wanted:
            return None
        told = self.tell()
        return None if told is None else told[place]

    def tell(self) -> tuple[Tensor | None, ...] | None:
        """Call the hooks. Returns the inputs' new gradients, or None if they are unchanged."""
        given, changed = tuple(self.inputs), False
        for hook in self.hooks:
            other = hook(self.module, given, tuple(self.results))
            if other is not None:
                given, changed = other if isinstance(other, tuple) else (other,), True
        self.inputs = [None] * len(self.inputs)  # for another backward() through this call
        return given if changed else None
