"""`@tutor.jit`: run a function once, record it once, and from then on replay what it did.

    @tutor.jit
    def step(x, y):
        loss = model(x).cross_entropy(y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

The first call runs normally. The second is recorded (record.py), with everything that it reads and
leaves behind (ran.py, captured_state.py, trace.py). From the third call on, the kernels run one
after another, without Python, as long as everything that was read is unchanged (guards.py). A call
for which that cannot be proved runs as without jit. docs/jit.md follows one training step all the
way, and lists what is compared.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Collection
from typing import Any, overload

from tutor._util.keyword_aliases import spelled
from tutor.backends.step import WATCHES, mode
from tutor.errors import RecordError
from tutor.programs.call import JitCall, Key, differs, modes, run_within, within
from tutor.programs.gears import BETWEEN, LONGEST, Attempts, Eager, say
from tutor.programs.guards import UnforeseenError, weak
from tutor.programs.passes import known
from tutor.programs.program import Program
from tutor.programs.ran import Ran
from tutor.programs.shortcut import Shortcut, caller_of, shortened
from tutor.programs.trace import Trace, record
from tutor.random import redirected

MOST_TRACES = 8  # kept for arguments of one kind; the least recently run one is dropped
MOST_KINDS = 64  # of arguments; the least recently called one is dropped
UNTRIED = 3  # never replayed Traces kept of one kind: their objects may be gone
_tick = itertools.count()
told: list[Callable[[Jitted], object]] = []  # called with each function that has been recorded


class Jitted(Shortcut):  # type: ignore[misc]  # the base is chosen when tutor is imported
    """A function under `tutor.jit`.

    `stats()` counts its calls, and `explain()` says why each was run, recorded or replayed;
    `program` is the Program of the last call, `recorded` the same before any pass; `function` is
    the original function, and `name` its name.
    """

    __call__: Callable[..., Any]
    _replayed: int  # the number of replayed calls
    _rested: int  # the number of calls passed straight to the function, without any check
    _shortcut: Any  # repeats the latest recorded call without Python, or None

    def __init__(
        self,
        function: Callable[..., Any],
        passes: Collection[str] | None = None,
        strict: bool = False,
    ) -> None:
        known(passes)
        self.passes, self.strict = passes, strict
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        self._traces: dict[Key, list[Trace]] = {}
        self._ran = Ran()  # in all calls that were observed
        self._gears: dict[Key, Eager] = {}  # kinds of arguments that are not recorded
        self._resting: Eager | None = None  # set if nothing is recorded at all
        self._story: list[str] = []  # why each recording was made
        self._warm = self._warned = False
        self._counts = {"eager": 0, "recorded": 0, "refused": 0}
        self._latest: tuple[Any, Key, Any] = (None, (), None)  # a Trace, its mode, its twin
        self._attempts = Attempts(strict)
        self._shown: dict[str, str] = {}  # the arguments of the latest recording
        self._since = 0  # replays before the latest Trace
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: `self` is one more argument."""
        return self if instance is None else types.MethodType(self, instance)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """`self(*args, **kwargs)`. In the middle of training, most calls never get here: the C++
        `self._shortcut` replays them."""
        if within.get() or redirected() or (WATCHES and mode.get() is not None):
            # Part of another jitted function, and thus of its Program; noted by lazy(); or drawing
            # from a random stream that exists for this call alone, as a loader's batch does.
            return self.function(*args, **kwargs)
        trace, where, twin = self._latest  # read at once: another thread may set it
        if twin and not kwargs and where == modes():
            made = twin.again(args)
            if made is not None:
                self._replayed += 1
                self._shortcut = shortened(trace, twin, where)
                return trace.rebuild(made)
        if self._resting is not None and self._resting.goes_on():
            return self._eager(args, kwargs, self._resting, LONGEST)
        call = JitCall(args, kwargs)
        trace, why = self._known(call)
        if trace is not None:
            return self._replay(trace, call)
        if not self._warm:  # afterwards, anything that only a first call creates exists
            self._warm = True
            self._counts["eager"] += 1
            run = lambda: self._ran.run(lambda: self.function(*args, **kwargs))  # noqa: E731
            return run_within(run)
        gear = self._gears.get(call.key)
        if gear is not None and gear.goes_on():
            return self._eager(args, kwargs)
        if self._attempts.rest(self._replayed):
            return self._eager(args, kwargs, self._attempts.gear, BETWEEN)
        with self._lock:
            trace, why = self._known(call)  # another thread may have recorded it just now
            if trace is None:
                return self._record(call, why)
        return self._replay(trace, call)

    def _known(self, call: JitCall) -> tuple[Trace | None, str | None]:
        """The Trace that replays such a call; or None, and what has changed since."""
        why = None
        for trace in self._traces.get(call.key, ()):
            why = trace.why_not(call.tensors)
            if why is None:
                return trace, None
        return None, why

    def _replay(self, trace: Trace, call: JitCall) -> Any:
        self._replayed += 1
        self._remember(trace, call)
        return trace.run(call.tensors, call.windows)

    def _eager(self, args: Any, kwargs: Any, gear: Eager | None = None, most: int = 0) -> Any:
        """Run as without jit. While the gear goes on, at `most` this many of the next calls do so
        without any check."""
        self._counts["eager"] += 1
        if gear is not None:
            gear.left -= self._rest(min(gear.left, most))
        return self.function(*args, **kwargs)

    def _record(self, call: JitCall, why: str | None) -> Any:
        before, self._shown = self._shown, call.shown()
        cause = f"{why} has changed" if why else differs(before, self._shown)
        if self._traces:
            self._attempts.again(self.name, cause, self._replayed)
        roots = [(self.function, self.name), *call.roots]
        result, trace = record(self.function, call, roots, self.passes, self.strict, self._ran)
        if isinstance(trace, RecordError):
            return self._refuse(call, trace.with_traceback(None), result)  # which holds the call
        self._gears.pop(call.key, None)
        self._resting = None
        gone = functools.partial(_forget, weakref.ref(self), call.key)
        trace.roots = [weak(root, gone) for root, _ in call.roots]
        traces = self._traces.setdefault(call.key, [])
        self._remember(trace, call)
        untried = [other for other in traces if not other.replayed][UNTRIED - 1 :]
        traces[:] = [trace, *(t for t in traces if t not in untried)]
        if len(traces) > MOST_TRACES:
            traces.remove(min(traces, key=lambda t: t.used))
        while len(self._traces) > MOST_KINDS:
            self._traces.pop(min(self._traces, key=self._last))
        self._counts["recorded"] += 1
        self._story.append(f"recording {self._counts['recorded']}: {cause}")
        del self._story[:-MOST_KINDS]
        for tell in told:
            tell(self)
        return result

    def _refuse(self, call: JitCall, why: RecordError, result: Any) -> Any:
        """The call has run, but a replay would differ: shift down a gear."""
        if isinstance(why, UnforeseenError):  # nothing is wrong; the next call is recorded
            self._counts["eager"] += 1
            return result
        if self.strict:
            raise why
        self._counts["eager"] += 1
        self._counts["refused"] += 1
        before = self._gears.pop(call.key, self._resting)
        self._gears[call.key] = gear = Eager(why, before)
        while len(self._gears) > MOST_KINDS:
            self._gears.pop(next(iter(self._gears)))
        if not self._traces:
            self._resting = gear
        text = f"{self.name} runs as without jit: {why.asked}: {why.found}. To do: {why.do}"
        say(text, warn=not self._warned)
        self._warned = True
        return result

    def forget(self, key: Key) -> None:
        """Drop everything recorded for this kind of arguments."""
        gone = self._traces.pop(key, ())
        self._gears.pop(key, None)
        if self._latest[0] in gone:
            self._latest, self._shortcut = (None, (), None), None

    def _last(self, key: Key) -> int:
        """The time of the last such call."""
        return max(trace.used for trace in self._traces[key])

    def _remember(self, trace: Trace, call: JitCall) -> None:
        """Make this trace the latest one; from now on its twin, if any, is tried first."""
        trace.used, before = next(_tick), self._latest[0]
        if before is not None and self._replayed > self._since:
            before.replayed = True
        if trace is not before:
            self._since, self._shortcut = self._replayed, None
            caller = caller_of(trace, call) if call.plain else None
            self._latest = trace, call.key[0], caller

    def explain(self) -> str:
        """Why calls ran as they did: the gear, the reason for each recording and its guards, and
        the calls that were not recorded, with the reason."""
        lines = [f"{self.name}: {self.gear}", *self._story]
        vain = [self._attempts.gear] if self._attempts.gear else []
        for gear in [*self._gears.values(), *vain]:
            lines.append(f"as without jit: {gear.why.asked}: {gear.why.found}")
            lines.append(f"  to do: {gear.why.do}")
        for traces in self._traces.values():
            for trace in traces:
                lines += trace.explain(self.passes)
        return "\n".join(lines)

    @property
    def gear(self) -> str:
        """How calls run now: "replay", "eager", or "first" if nothing has been recorded yet."""
        if self._gears and not self._traces:
            return "eager"
        return "replay" if self._traces else "first"

    @property
    def program(self) -> Program:
        """The Program of the last call that was recorded or replayed, after all passes."""
        return self._trace().program

    @property
    def recorded(self) -> Program:
        """The same Program as recorded, before any pass."""
        return self._trace().recorded

    @property
    def backwards(self) -> list[Program]:
        """The Programs that the backward of such a call replays if the results have a graph: one
        for each part of the graph and each kind of gradient seen so far."""
        graph = self._trace().graph
        return graph.programs if graph else []

    def source(self) -> str:
        """The Program as C: one function per step, each with your line that it came from.
        With TUTOR_CC=1 this code runs, if there is a C compiler."""
        from tutor.programs.source import text  # not imported with tutor, to save time

        return text.source(self.program)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """A copy or pickle is a function that has not been called yet, since recordings refer to
        this memory. A module's global is pickled by its name, as functions are."""
        place: Any = sys.modules.get(getattr(self, "__module__", ""))
        path = getattr(self, "__qualname__", "")
        for name in path.split("."):
            place = getattr(place, name, None)
        return path if place is self else (_made_of, (self.function, self.passes, self.strict))

    def _trace(self) -> Trace:
        trace: Trace | None = self._latest[0]
        if trace is None:
            raise RecordError(
                f"the Program of {self.name}",
                "nothing has been recorded yet",
                "call it twice: the first call runs as ever, the second is recorded",
            )
        return trace

    def stats(self) -> dict[str, int]:
        """The number of calls that ran eagerly, were recorded, were replayed; of the eager calls
        that could not be recorded; of recordings kept; and of steps in the last recording."""
        traces = sum(map(len, self._traces.values()))
        trace = self._latest[0]
        steps = len(trace.program) if trace else 0
        counts = {**self._counts, "eager": self._counts["eager"] + self._rested}
        counts["replayed"] = self._replayed
        return {**counts, "traces": traces, "steps": steps}

    def __repr__(self) -> str:
        return f"jit({self.function!r})"


def _forget(function: Callable[[], Jitted | None], key: Key, _: object) -> None:
    """An object in the key of a kind of calls is gone, so no such call can come again."""
    jitted = function()
    if jitted is not None:
        jitted.forget(key)


@overload
def jit(
    function: Callable[..., Any], *, passes: Collection[str] | None = None, strict: bool = False
) -> Jitted: ...
@overload
def jit(
    function: None = None, *, passes: Collection[str] | None = None, strict: bool = False
) -> Callable[[Callable[..., Any]], Jitted]: ...
@spelled
def jit(
    function: Any = None, *, passes: Collection[str] | None = None, strict: bool = False
) -> Any:
    """`@tutor.jit`: replay what a function did instead of running it again.

    Each call returns the function's own result and has its effects, gradients included, bit for
    bit; from the third call on, none of its Python runs. A module stays a module, with the same
    parameters by the same names. `passes` names those that improve the Program
    (tutor.programs.passes.PASSES; None: all; (): none). A call that cannot be replayed runs as
    without jit, and one warning says why; `strict` raises it as a RecordError. RecordError if
    `function` cannot be called.
    """
    if function is None:
        return functools.partial(Jitted, passes=passes, strict=strict)
    if not callable(function):
        raise RecordError(f"tutor.jit({function!r:.40})", "it cannot be called",
                          "give a function, or write @tutor.jit above one")  # fmt: skip
    return _made_of(function, passes, strict)


def _made_of(function: Any, passes: Collection[str] | None, strict: bool) -> Jitted:
    modules = sys.modules.get("tutor.nn.module")  # if it is not loaded, there is no module
    if modules and isinstance(function, modules.Module):
        made = _kind_of_module()(function, passes, strict)
        made.is_made = True
        return made
    return Jitted(function, passes, strict)


@functools.cache
def _kind_of_module() -> type[Jitted]:
    from tutor.programs.modules import OfModule  # not imported for a plain function

    return type("JittedModule", (Jitted, OfModule), {})
