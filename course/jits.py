"""Jits for the bug hunt of chapter 16: right ones, and such that have one of four real faults.

Each is built on the learner's own library: it needs `traced`, `replayed`, `evaluate` and Tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[[Any], Any]  # make(f) is f, jitted


def jits(lib: Any) -> dict[str, tuple[str, Make]]:
    """For each jit, by a name: what is wrong with it, or "right"; and how it is made."""

    class Clean:
        """Keyed by shapes and dtypes, with guards; nothing is wrong with it."""

        first = 1  # the call that is recorded

        def __init__(self, f: Any) -> None:
            self.f, self.programs, self.calls = f, {}, 0  # type: ignore[var-annotated]

        def key(self, inputs: Any) -> Any:
            return tuple((t.shape, t.buf.dtype) for t in inputs)

        def record(self, inputs: Any) -> Any:
            return lib.traced(self.f, *inputs)

        def replay(self, program: Any, inputs: Any) -> Any:
            return lib.replayed(program, inputs)

        def __call__(self, *inputs: Any) -> Any:
            self.calls += 1
            if self.calls < self.first:
                return self.f(*inputs)
            known = self.programs.setdefault(self.key(inputs), [])
            for program in known:
                result = self.replay(program, inputs)
                if result is not None:
                    return result
            known.append(self.record(inputs))
            return lib.replayed(known[-1], inputs)

    class Second(Clean):
        """Recorded at its second call, as tutor's small jit is."""

        first = 2

    return {
        "f itself": ("right", lambda f: f),
        "clean": ("right", Clean),
        "recorded at the second call": ("right", Second),
        **_aliasing(lib, Clean),
        **_stale(lib, Clean),
        **_reusing(lib, Clean),
        **_blind(lib, Clean),
    }


def _copy(lib: Any, t: Any) -> Any:
    """The same numbers, in memory of their own."""
    out = lib.zeros(t.shape, t.buf.dtype)
    out.fill(t.values())
    return out


def _aliasing(lib: Any, clean: Any) -> dict[str, tuple[str, Make]]:
    """Results that share memory with later ones."""

    class Same(clean):  # type: ignore[misc]
        """One piece of memory for all results of a shape, from some call on."""

        since, pieces = 1, 1

        def __init__(self, f: Any) -> None:
            super().__init__(f)
            self.memory: dict[Any, list[Any]] = {}

        def __call__(self, *inputs: Any) -> Any:
            result = super().__call__(*inputs)
            if self.calls < self.since:
                return result
            places = self.memory.setdefault((result.shape, result.buf.dtype), [])
            if len(places) < self.pieces:
                places.append(_copy(lib, result))
                return places[-1]
            place = places[self.calls % self.pieces]
            place.fill(result.values())
            return place

    class Third(Same):
        since = 3

    class Two(Same):
        pieces = 2

    return {
        "one memory for all results": ("alias", Same),
        "one memory, from the third call on": ("alias", Third),
        "two pieces of memory, by turns": ("alias", Two),
    }


def _stale(lib: Any, clean: Any) -> dict[str, tuple[str, Make]]:
    """Numbers of a tensor as they were."""

    def frozen(program: Any) -> Any:
        """The program with copies of its constants."""
        lines = [
            line._replace(params={"tensor": _copy(lib, line.params["tensor"])})
            if line.op == "constant"
            else line
            for line in program.lines
        ]
        return program._replace(lines=lines)

    class Frozen(clean):  # type: ignore[misc]
        def record(self, inputs: Any) -> Any:
            return frozen(super().record(inputs))

    class Later(clean):  # type: ignore[misc]
        """Fetches the numbers until its third call, and then no more."""

        def replay(self, program: Any, inputs: Any) -> Any:
            if self.calls >= 3 and not hasattr(self, "cold"):
                known = [p for programs in self.programs.values() for p in programs]
                self.cold = {id(p): frozen(p) for p in known}
            return super().replay(getattr(self, "cold", {}).get(id(program), program), inputs)

    return {
        "constants copied": ("stale", Frozen),
        "constants copied at the third call": ("stale", Later),
    }


def _reusing(lib: Any, clean: Any) -> dict[str, tuple[str, Make]]:
    """A program for a shape or a dtype that it was not recorded for."""

    class Reusing(clean):  # type: ignore[misc]
        """Brings the numbers into the shape and dtype of the first call with the same key."""

        def __init__(self, f: Any) -> None:
            super().__init__(f)
            self.recorded: dict[Any, Any] = {}

        def __call__(self, *inputs: Any) -> Any:
            old = self.recorded.setdefault(self.key(inputs), inputs)
            if len(old) != len(inputs):
                return super().__call__(*inputs)
            return super().__call__(*[self.fitted(t, o) for t, o in zip(inputs, old, strict=True)])

        def fitted(self, t: Any, old: Any) -> Any:
            if (t.shape, t.buf.dtype) == (old.shape, old.buf.dtype):
                return t
            out = lib.zeros(old.shape, old.buf.dtype)
            out.fill((list(t.values()) + [0.0] * out.numel())[: out.numel()])
            return out

    class Anything(Reusing):
        def key(self, inputs: Any) -> Any:
            return len(inputs)

    class Numel(Reusing):
        def key(self, inputs: Any) -> Any:
            return tuple((t.numel(), t.buf.dtype) for t in inputs)

    class Shape(Reusing):
        def key(self, inputs: Any) -> Any:
            return tuple(t.shape for t in inputs)

    return {
        "one program for all": ("reused", Anything),
        "as many numbers, another shape": ("reused", Numel),
        "the same shape, another dtype": ("reused", Shape),
    }


def _blind(lib: Any, clean: Any) -> dict[str, tuple[str, Make]]:
    """Branches that are not taken."""

    class Blind(clean):  # type: ignore[misc]
        looks = 0  # at how many of its guards

        def record(self, inputs: Any) -> Any:
            program = super().record(inputs)
            return program._replace(guards=program.guards[: self.looks])

    class First(Blind):
        looks = 1

    class Once(clean):  # type: ignore[misc]
        """Stops looking after its third call."""

        def replay(self, program: Any, inputs: Any) -> Any:
            seen = program if self.calls < 4 else program._replace(guards=[])
            return super().replay(seen, inputs)

    return {
        "no guard": ("branch", Blind),
        "one guard of several": ("branch", First),
        "guards until the third call": ("branch", Once),
    }
