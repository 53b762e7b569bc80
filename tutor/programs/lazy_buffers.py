"""Promises: placeholders for a Buffer's memory until the steps that fill it have run.

    Buffer -> Promise -> LazyValue -> Noted -> the values that it reads -> ... back in time

A place is memory: a Slot, whose `value` is the Buffer with it, or None until it is allocated. Its
content at one time is a LazyValue: the initial content, or the result of a noted step. A step that
writes into a place creates its next value, and the Buffer gets a Promise of that value. So all
references point back in time, there are no cycles, and a value that can no longer be read is freed
at once, along with its steps.

Reading a value runs these steps, in the order in which they were noted: the step that makes it; the
steps that make its inputs; and, if it overwrites another value, the steps that make that value and
all steps that have yet to read it. (A value refers to these readers weakly, so dropped ones do not
count.) A step has run once its memory is in its places, all at one instant: an interrupt leaves it
either done or not started. Consecutive steps that only fill new memory may run together
(together.py says how): then they are all done at one instant, and intermediate results never get a
place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from typing import Any, NamedTuple, TypeVar
from weakref import ref

from tutor._storage import bounds_checks
from tutor._util.atomic import Turns, at_once
from tutor.backends import simd_cpp
from tutor.backends.registry import Kernel, Operand
from tutor.backends.step import Step, emit, mode, watchers
from tutor.core.buffer import Buffer
from tutor.errors import TutorError
from tutor.programs.program import Slot, copied, walks
from tutor.programs.record import recorder
from tutor.programs.together import MOST, are_worth_it, filled, may_join

T = TypeVar("T")
_turns = Turns()  # to run steps
_serials = itertools.count()


class LazyValue:
    """The content of `place` after `maker` has run (None: now), until a step writes there."""

    __slots__ = ("__weakref__", "closed", "handle", "maker", "place", "readers", "room")

    def __init__(self, place: Slot, maker: Noted | None = None) -> None:
        self.place, self.maker = place, maker
        self.closed = False  # has the memory been exposed?
        self.handle: ref[Promise] | None = None
        self.readers: list[ref[Noted]] | None = None  # the steps that read or overwrite it
        self.room = 8  # readers until the finished ones are dropped

    def waiting(self) -> Iterator[Noted]:
        """The pending steps that read or overwrite it."""
        for reader in tuple(self.readers or ()):
            noted = reader()
            if noted is not None and noted.work is not None:
                yield noted

    def add(self, noted: Noted) -> None:
        if self.readers is None:
            self.readers = []
        elif len(self.readers) >= self.room:
            self.readers = list(map(ref, self.waiting()))
            self.room = 2 * len(self.readers) + 8
        self.readers.append(ref(noted))


class Promise:
    """A stand-in for a Buffer's memory; tutor/_storage/memory.py defines the interface."""

    __slots__ = ("__weakref__", "count", "device", "format", "value")

    def __init__(self, value: LazyValue) -> None:
        place = value.place
        self.count, self.format, self.device = place.count, place.dtype.format, place.device
        self.value = value
        value.handle = ref(self)

    @property
    def is_waited_for(self) -> bool:
        """Are there pending steps that read or overwrite it?"""
        return any(True for _ in self.value.waiting())

    def keep(self) -> Any:
        """The Memory, for writing: all pending reads of it have run."""
        self.value.closed = True  # from here on, a noted step that uses it runs at once
        return self._run(self.value.waiting())

    def read(self) -> Any:
        """The Memory, for reading now: other reads may stay pending."""
        return self._run(())

    def _run(self, others: Iterable[Noted]) -> Any:
        maker, place = self.value.maker, self.value.place
        run([maker] if maker else [], others)
        return place.value.memory


class PendingWork(NamedTuple):
    """The work of a noted step; a step that still has it is pending."""

    step: Step  # over places
    kernel: Kernel
    reads: tuple[LazyValue, ...]
    overwrites: tuple[LazyValue, ...]
    makes: tuple[ref[LazyValue], ...]


class Noted:
    """A step that runs when its result is read. `error`: why it never will."""

    __slots__ = ("__weakref__", "error", "serial", "where", "work")

    def __init__(self, where: tuple[str, int]) -> None:
        self.serial, self.where = next(_serials), where
        self.work: PendingWork | None = None
        self.error: Exception | None = None


# ---- running noted steps -------------------------------------------------------------------------


class Why(NamedTuple):
    """Why a step runs: the step `by` reads its result; None: the user does."""

    what: str
    by: Noted | None


def needed(asked: Iterable[Noted]) -> dict[Noted, Why]:
    """The steps that must run for the `asked` ones, in order, and the reason for each."""
    why: dict[Noted, Why] = {}
    unseen = [(noted, Why("asked for", None)) for noted in asked]
    while unseen:
        noted, reason = unseen.pop()
        work = noted.work
        if work is None or noted in why:
            continue
        why[noted] = reason
        makers = [(v.maker, Why("read by", noted)) for v in work.reads]
        makers += [(v.maker, Why("written into by", noted)) for v in work.overwrites]
        unseen += [(maker, reason) for maker, reason in makers if maker is not None]
        for value in work.overwrites:
            reason = Why("reads what is overwritten by", noted)
            unseen += [(reader, reason) for reader in value.waiting() if reader is not noted]
    return dict(sorted(why.items(), key=lambda item: item[0].serial))


def run(asked: Iterable[Noted], others: Iterable[Noted] = ()) -> None:
    """Run the `asked` steps and `others`, with the steps that they need. The error of an asked
    step, or of a step that it needs, is raised once everything that can run has run; errors of the
    others are raised when their results are read."""
    wanted, also = list(asked), list(others)
    errors: list[Exception | None] = []
    if all(noted.work is None for noted in (*wanted, *also)):
        errors += [noted.error for noted in wanted]
    else:
        _turns.take(partial(_run_all, wanted, also, errors))
    error = next(filter(None, errors), None)
    if error is not None:
        errors.clear()
        try:
            raise error
        finally:
            del error


def _run_all(wanted: list[Noted], others: list[Noted], errors: list[Exception | None]) -> None:
    """Run all of them, and append to `errors` the error, or None, of each wanted step."""
    failed: dict[Noted | None, Exception] = {}
    joined: list[Noted] = []
    for noted in needed([*wanted, *others]):
        if _may_join(noted, failed):
            joined.append(noted)
            if len(joined) < MOST:
                continue
            _run_joined(joined, failed)
        else:
            _run_joined(joined, failed)
            _run(noted, failed)
    _run_joined(joined, failed)
    errors += [failed.get(noted) or noted.error for noted in wanted]
    failed.clear()  # an error refers to these frames, so they must not refer to it


def _may_join(noted: Noted, failed: dict[Noted | None, Exception]) -> bool:
    work = noted.work
    if work is None or not may_join(work.step, work.kernel):
        return False
    makers = [value.maker for value in (*work.reads, *work.overwrites) if value.maker is not None]
    return not any(maker in failed or maker.error is not None for maker in makers)


def _run_joined(joined: list[Noted], failed: dict[Noted | None, Exception]) -> None:
    """Run these steps together if that pays, else one by one; then `joined` is empty."""
    group = dict.fromkeys(joined)
    joined.clear()
    if not _are_run_together(group, failed):
        for noted in group:
            _run(noted, failed)


def _are_run_together(group: Collection[Noted], failed: dict[Noted | None, Exception]) -> bool:
    """Run the steps as one Program, if that pays. Its results are in their places, and all steps
    are done, at one instant. False: nothing has run, or a watcher has read one of the results."""
    steps = [noted.work.step for noted in group if noted.work is not None]
    if len(steps) < len(group) or not are_worth_it(steps):
        return False
    watched = bool(watchers())
    try:
        made = copy_context().run(_apart, partial(filled, steps, lasting(group)))
    except Exception as error:
        if watched:  # running them again would hide the observer's error
            failed.update(dict.fromkeys(group, error))
        return watched
    if any(noted.work is None for noted in group):
        return False
    done = [partial(setattr, place, "value", buf) for place, buf in made.items()]
    at_once(*done, *[partial(setattr, noted, "work", None) for noted in group])
    return True


def lasting(steps: Collection[Noted]) -> set[Slot]:
    """The places of those results of these steps that may be read after they have run."""
    found: set[Slot] = set()
    for noted in steps:
        for value in [made() for made in noted.work.makes] if noted.work is not None else []:
            if value is not None and (
                (value.handle is not None and value.handle() is not None)
                or any(reader not in steps for reader in value.waiting())
            ):  # a Buffer has it, or a step that does not run now will read it
                found.add(value.place)
    return found


def _run(noted: Noted, failed: dict[Noted | None, Exception]) -> None:
    """Run one step, if its inputs are there. If it fails, `failed` gets the error."""
    work = noted.work
    if work is None:  # a watcher has had it run
        return
    for value in (*work.reads, *work.overwrites):
        maker = value.maker
        if maker is not None and maker.error is not None:
            failed.setdefault(maker, maker.error)
        if maker in failed:
            failed[noted] = failed[maker]
            return
    try:
        _call(noted, work)
    except Exception as error:
        _name_line(error, noted.where)
        failed[noted] = error
        return
    for value in work.overwrites:  # the value they were to read is gone
        for reader in set(value.waiting()) & failed.keys():
            reader.error, reader.work = failed[reader].with_traceback(None), None


def _call(noted: Noted, work: PendingWork) -> None:
    """Call the kernel. Its results are in their places, and the step is done, at one instant.

    An unwatched C++ kernel is called within that instant, and thus bypasses `emit`."""
    step, kernel = work.step, work.kernel
    plain = not watchers() and simd_cpp.is_native(kernel)  # no Python runs in it: no interrupt
    fresh: dict[Slot, Buffer] = {}
    for w in step.writes:
        place: Any = w.buf
        if place.value is None:
            fresh[place] = Buffer.empty(place.count, place.dtype, place.device)
        elif not plain and place not in fresh:  # it may be interrupted, so it writes to a copy
            fresh[place] = copied(place.value)
    operands = [Operand(fresh.get(w.buf, w.buf.value), *w[1:]) for w in walks(step)]
    done = [partial(setattr, place, "value", buf) for place, buf in fresh.items()]
    done.append(partial(setattr, noted, "work", None))
    if plain:
        at_once(partial(kernel, *operands, **step.params), *done)
    else:
        copy_context().run(_apart, partial(emit, step.over(operands), kernel))
        at_once(*done)


def _apart(function: Callable[[], T]) -> T:
    """Call it in a neutral context, whatever the reader's mode: the steps were noted earlier."""
    mode.variable.set(None)
    recorder.set(None)
    bounds_checks.closed.set(None)
    return function()


def _name_line(error: Exception, where: tuple[str, int]) -> None:
    """Add to the error the line that noted the step; it is raised where the result is read."""
    line = "{}, line {}".format(*where)
    if isinstance(error, TutorError):
        error.asked = f"{error.asked}, in {line}"
        error.args = (error.asked, error.found, error.do)
    else:
        error.add_note(f"by a step that was noted in {line}")
