"""Promises: what a Buffer has in place of memory while the steps that fill it have not run.

    Buffer -> Promise -> Value -> Noted -> the Values that it reads -> ... back in time

A Place is memory, there already or not yet. What stands in it at one time is a Value: the one that
was there before, or what a noted step leaves there. A step that writes into a place makes the next
Value of it, and the Buffer gets a Promise of that one. So all arrows point back in time, nothing
here is a circle, and what nobody can ask for any more is gone at once, with the steps for it.

Who asks for a Value has these steps run, in the order in which they were noted: the one that makes
it; those that make what this one reads; and, if it writes over another Value, those that make that
one and all that are still to read it. (A step knows weakly who is still to read: who is gone, is
gone.) A step has run as soon as its memory is in its places, all at one instant: an interrupt
leaves it either done or as it was. Steps one after another that only fill new memory may run
together (together.py says how): then they are done at one instant, and what is only needed between
them never has a place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from typing import Any, NamedTuple, TypeVar
from weakref import ref

from tutor._storage import bounds_checks
from tutor._storage.memory import kept
from tutor._util.atomic import Turns, at_once
from tutor.backends import simd_cpp
from tutor.backends.registry import Kernel, Operand
from tutor.backends.step import Step, emit, mode, watchers
from tutor.core.buffer import Buffer
from tutor.dtype import DType
from tutor.errors import TutorError
from tutor.programs.program import Slot, walks
from tutor.programs.record import recorder
from tutor.programs.together import MOST, are_worth_it, filled, may_join

T = TypeVar("T")
_turns = Turns()  # to run steps
_serials = itertools.count()


class Place(Slot):
    """Memory for `count` numbers of `dtype`. `value` is a Buffer that has it, None before there is
    any. (A Slot, so that steps over places can be read as those of a Program can.)"""

    __slots__ = ()

    def __init__(
        self, count: int, dtype: DType, buf: Buffer | None = None, device: str = "cpu"
    ) -> None:
        super().__init__("temp", count, dtype, buf, device)


class Value:
    """What stands in `place` once `maker` has run (None: already), until a step writes there."""

    __slots__ = ("__weakref__", "closed", "handle", "maker", "place", "readers", "room")

    def __init__(self, place: Place, maker: Noted | None = None) -> None:
        self.place, self.maker = place, maker
        self.closed = False  # has the memory been handed out?
        self.handle: ref[Promise] | None = None
        self.readers: list[ref[Noted]] | None = None  # those that read it, or write over it
        self.room = 8  # for as many of them, before those that are done are forgotten

    def waiting(self) -> Iterator[Noted]:
        """The steps that are still to read it, or write over it."""
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
    """What a Buffer has in place of memory: tutor/_storage/memory.py says what is asked of it."""

    __slots__ = ("__weakref__", "count", "device", "format", "value")

    def __init__(self, value: Value) -> None:
        place = value.place
        self.count, self.format, self.device = place.count, place.dtype.format, place.device
        self.value = value
        value.handle = ref(self)

    @property
    def is_waited_for(self) -> bool:
        """Are there steps that are still to read it, or to write over it?"""
        return any(True for _ in self.value.waiting())

    def keep(self) -> Any:
        """The Memory, for who may write to it: whoever was to read it before has done so."""
        self.value.closed = True  # from here on, who notes a step with it has it run
        return self._run(self.value.waiting())

    def read(self) -> Any:
        """The Memory, for who looks at it now: others may still wait to read it."""
        return self._run(())

    def _run(self, others: Iterable[Noted]) -> Any:
        maker, place = self.value.maker, self.value.place
        run([maker] if maker else [], others)
        return place.value.memory


class Work(NamedTuple):
    """What a noted step is to do: as long as it is there, it is still to be done."""

    step: Step  # over places
    kernel: Kernel
    reads: tuple[Value, ...]
    overwrites: tuple[Value, ...]
    makes: tuple[ref[Value], ...]


class Noted:
    """A step that is to run when what it makes is asked for. `error`: why it never will."""

    __slots__ = ("__weakref__", "error", "serial", "where", "work")

    def __init__(self, where: tuple[str, int]) -> None:
        self.serial, self.where = next(_serials), where
        self.work: Work | None = None
        self.error: Exception | None = None


# ---- to run what was noted -----------------------------------------------------------------------


class Why(NamedTuple):
    """Why a step runs: who asks for what it makes is `by`; None: the user."""

    what: str
    by: Noted | None


def needed(asked: Iterable[Noted]) -> dict[Noted, Why]:
    """The steps that must run so that the asked ones have run, in order; and why each."""
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
    """Have run what was asked for, and what it needs; and others, whose errors are told to who
    asks for them. What an asked step raises, or one that it needs, is raised when all that can run
    has run."""
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
    """Run all of it, and put into `errors` what each of the wanted ones came to."""
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
    failed.clear()  # an error refers to these frames, which are not to refer to it


def _may_join(noted: Noted, failed: dict[Noted | None, Exception]) -> bool:
    work = noted.work
    if work is None or not may_join(work.step, work.kernel):
        return False
    makers = [value.maker for value in (*work.reads, *work.overwrites) if value.maker is not None]
    return not any(maker in failed or maker.error is not None for maker in makers)


def _run_joined(joined: list[Noted], failed: dict[Noted | None, Exception]) -> None:
    """Run these steps together where that is worth it, else one by one; `joined` is empty then."""
    group = dict.fromkeys(joined)
    joined.clear()
    if not _are_run_together(group, failed):
        for noted in group:
            _run(noted, failed)


def _are_run_together(group: Collection[Noted], failed: dict[Noted | None, Exception]) -> bool:
    """Have the steps been run as one Program? What it fills is in its places, and all of them are
    done, at one instant. False: nothing has happened, or who watches has asked for some of it."""
    steps = [noted.work.step for noted in group if noted.work is not None]
    if len(steps) < len(group) or not are_worth_it(steps):
        return False
    watched = bool(watchers())
    try:
        made = copy_context().run(_apart, partial(filled, steps, lasting(group)))
    except Exception as error:
        if watched:  # to run them once more would be to hide what an observer has raised
            failed.update(dict.fromkeys(group, error))
        return watched
    if any(noted.work is None for noted in group):
        return False
    done = [partial(setattr, place, "value", buf) for place, buf in made.items()]
    at_once(*done, *[partial(setattr, noted, "work", None) for noted in group])
    return True


def lasting(steps: Collection[Noted]) -> set[Slot]:
    """The places of what these steps make that somebody may ask for when they have run."""
    found: set[Slot] = set()
    for noted in steps:
        for value in [made() for made in noted.work.makes] if noted.work is not None else []:
            if value is not None and (
                (value.handle is not None and value.handle() is not None)
                or any(reader not in steps for reader in value.waiting())
            ):  # a Buffer has it, or a step that does not run yet will read it
                found.add(value.place)
    return found


def _run(noted: Noted, failed: dict[Noted | None, Exception]) -> None:
    """Run one step, if what it needs is there. Where it fails, `failed` says why."""
    work = noted.work
    if work is None:  # it was asked for by who watches
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
    for value in work.overwrites:  # what they were to read is gone
        for reader in set(value.waiting()) & failed.keys():
            reader.error, reader.work = failed[reader].with_traceback(None), None


def _call(noted: Noted, work: Work) -> None:
    """Call the kernel. What it has filled is in its places, and the step done, at one instant.

    A kernel of C++ that nobody watches is called within that instant, and so past `emit`."""
    step, kernel = work.step, work.kernel
    plain = not watchers() and simd_cpp.is_native(kernel)  # no Python runs in it: no interrupt
    fresh: dict[Slot, Buffer] = {}
    for w in step.writes:
        place: Any = w.buf
        if place.value is None:
            fresh[place] = Buffer.empty(place.count, place.dtype, place.device)
        elif not plain and place not in fresh:  # it could be left half done: so it writes to a copy
            payload = kept(place.value, "a copy", reading=True).raw
            fresh[place] = Buffer.from_memory(payload, dtype=place.dtype, device=place.device)
    operands = [Operand(fresh.get(w.buf, w.buf.value), *w[1:]) for w in walks(step)]
    done = [partial(setattr, place, "value", buf) for place, buf in fresh.items()]
    done.append(partial(setattr, noted, "work", None))
    if plain:
        at_once(partial(kernel, *operands, **step.params), *done)
    else:
        copy_context().run(_apart, partial(emit, step.over(operands), kernel))
        at_once(*done)


def _apart(function: Callable[[], T]) -> T:
    """In a context of its own, whatever mode the one is in that asks: for it was noted before."""
    mode.variable.set(None)
    recorder.set(None)
    bounds_checks.closed.set(None)
    return function()


def _name_line(error: Exception, where: tuple[str, int]) -> None:
    """Let the error say where the step was noted: it is raised where somebody asks."""
    line = "{}, line {}".format(*where)
    if isinstance(error, TutorError):
        error.asked = f"{error.asked}, in {line}"
        error.args = (error.asked, error.found, error.do)
    else:
        error.add_note(f"by a step that was noted in {line}")
