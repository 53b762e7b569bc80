"""Shortcut: the fast path that every call of a jitted function tries first.

Its twin in C++ (simd_cpp/replay/shortcut.cpp) repeats the latest recorded call without any Python
if nothing has changed since; otherwise it calls `_call`, which defines the meaning of a call. Here,
without the extension, every call goes to `_call`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tutor._storage.device_memory import CPU
from tutor.backends import devices, simd_cpp
from tutor.core.buffer import Buffer
from tutor.methods.tensor import Tensor
from tutor.programs.call import JitCall, Key, within
from tutor.programs.names import Argument, EarlierResult
from tutor.random import redirection

MOST_ARGUMENTS = 64  # Tensors per call: simd_cpp/replay/arguments.hpp


class PythonShortcut:
    """A callable that passes calls to its method `_call`."""

    _replayed = _rested = 0  # the numbers of calls replayed, and taken by `_rest`
    _shortcut: Any = None  # the latest recording's; never set here

    def _rest(self, count: int) -> int:
        """Pass the next `count` calls straight to `function`; returns how many: here, 0."""
        return 0

    def __init_subclass__(cls) -> None:
        if "_call" in vars(cls):  # directly, as tracebacks and warnings count frames
            setattr(cls, "__call__", vars(cls)["_call"])  # noqa: B010 - no type checker minds


Shortcut: Any = simd_cpp.shortcut() or PythonShortcut


def caller_of(trace: Any, call: JitCall) -> Any:
    """A Caller that repeats a recorded call in C++ if everything about it is of the usual kind: no
    argument is also the function's state, and the only moving places are gradients that are not
    read; else None. `call` is one such call.
    `again(args)` returns no result if `trace.why_not` would give a reason."""
    usual = (
        not trace.names.places
        and all(state is None for _, state in trace.tensors)
        and all(isinstance(p.holder, Argument) for p in trace.empty)
        and all(isinstance(p.holder, Tensor) for p in trace.unread)
        and all(isinstance(p.holder, Tensor) for p, _ in trace.effects)
        and not any(isinstance(m.known, EarlierResult) for m in trace.results)
        and all(m.kind is Tensor for m in trace.results)
        and not any(hooks for _, _, hooks in trace.guards.tensors)
        and all(trace.parts)
        and len(call.tensors) <= MOST_ARGUMENTS
    )
    guards = trace.guards
    if not usual or guards.native is None:
        return None
    arguments = [
        (
            t.shape, t.strides, t.buf.dtype, t.offset - w.start, w.size, t.numel(),
            t.is_contiguous(), at in trace.written, w.first, call.first(t),
            -1 if at is None else at, _elsewhere(t.buf.device),
        )
        for t, w, (at, _) in zip(call.tensors, call.windows, trace.tensors, strict=True)
    ]  # fmt: skip
    whose = {at: w.first for w, (at, _) in zip(call.windows, trace.tensors, strict=True)}
    places = [-1 if m.slot is None else trace.at[m.slot] for m in trace.results]
    results = [
        (at, whose.get(at, -1), *m.walk, m.requires_grad, -1, None)
        if m.slot is not None
        else (-1, -1, None, None, None, None,
              *((m.known.number, None) if isinstance(m.known, Argument) else (-1, m.known)))
        for m, at in zip(trace.results, places, strict=True)
    ]  # fmt: skip
    return simd_cpp.caller(
        arguments,
        guards.native,
        [(t, False) for t in trace.bare] + [(p.holder, True) for p in trace.unread],
        list(trace.names.buffers.values()),
        trace.fixed,
        [
            (at, count, dtype.index, _elsewhere(on) and partial(Buffer.empty, count, dtype, on))
            for at, count, dtype, on in trace.replay.fresh
        ],
        trace.touched,
        results,
        [(p.holder, -1 if which is None else which) for p, which in trace.effects],
        trace.replay.run,
    )


def shortened(trace: Any, caller: Any, where: Key) -> Any:
    """The Caller, which from now on makes the whole call by itself; None if that is impossible: the
    default device is not the host, autocast is in use, or the Program is not run by a Plan of the
    extension."""
    _, device, recording, cast = where
    kernels, run = trace.replay.native()
    at_home = device in (None, CPU) and devices.default() == CPU
    if run is None or not at_home or cast is not None:
        return None
    caller.shorten(
        within, redirection, devices.choice, kernels, run, recording, trace.rebuild,
        trace.replay.note,
    )  # fmt: skip
    return caller


def _elsewhere(device: str) -> str | None:
    """The name of a device; None for the host."""
    return None if device == CPU else device
