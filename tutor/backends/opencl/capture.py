"""Noting: kernels are called, they run, and what they ask of their device is noted.

    noting = Noting(pool)
    with noting.on(buffers, still, early, constants):
        noting.begin(0)             # for each step of the Program: then its temps are made
        noting.step(step)
    noting.commands                 # commands.py; None if `noting.lost`

- Memory that is taken meanwhile is the list's own and goes back to the pool with it: all passes one
  queue, so one run does not disturb the next.
- A number of the host is no constant: it is a `Live`, and asked for again in each run.
- An `ask` waits for an answer of the device, as where an index may be refused. If it is about
  memory that no step writes, it is asked at the beginning, once, and waited for by the first launch
  that is given that memory: the device need not stand still meanwhile.
- A step that depends on such memory alone goes to the beginning, too, with memory of its own: so
  what is asked about an index that was cast can be asked early.
- What reads or writes memory of the device in any other way cannot be noted: `lost` says so, and
  the steps are called one by one as before.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

from tutor.backends.opencl.commands import Commands, Launch, Live, Question, in_rows
from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit


class _Now(threading.local):
    """What this thread notes its launches in; None: in nothing."""

    noting: Noting | None = None


NOW = _Now()


@contextlib.contextmanager
def unnoted() -> Iterator[Noting | None]:
    """Nothing in the block is noted. It is given what would have noted it."""
    noting, NOW.noting = NOW.noting, None
    try:
        yield noting
    finally:
        NOW.noting = noting


def live(buf: Any, read: Callable[[Any], Any]) -> Any:
    """The number `read(buf)`, for an argument of a launch."""
    noting = NOW.noting
    if noting is None or id(buf) in noting.constants:
        return read(buf)
    return Live(buf, read)


def decided(buf: Any) -> None:
    """Which launches there are depends on what stands in this Buffer of the host."""
    if NOW.noting is not None and NOW.noting.commands.index(buf) is not None:
        NOW.noting.lost = True


class Noting:
    """One run of a Program that is noted."""

    def __init__(self, pool: Any) -> None:
        self.arena = pool.arena()
        self.commands = Commands(pool)
        self.commands.kept.append(self.arena)
        self.first: list[Callable[[Commands], None]] = []  # what comes before all else
        self.then: list[Callable[[Commands], None]] = []
        self.to = self.then  # where launches are noted
        self.asked: set[Any] = set()
        self.open: dict[int, Question] = {}  # by the memory that it is about, by id; and those
        self.met: set[int] = set()  # of them that are waited for, but not at the beginning
        self.number = 0  # of the step that is being noted
        self.lost = False
        self.still: set[int] = set()  # memory that no step writes, as long as it has it, by id
        self.early: Collection[int] = ()
        self.constants: frozenset[int] = frozenset()

    @contextlib.contextmanager
    def on(
        self, buffers: Sequence[Any], still: Collection[int], early: Collection[int],
        constants: Sequence[Any],
    ) -> Iterator[None]:  # fmt: skip
        """Note what this thread launches. `buffers`: what a run is given each time; `still` are the
        numbers of those that no step writes, `early` those of this device's steps that depend on
        them alone, and write a temp. `constants` are never written by anybody."""
        commands = self.commands
        commands.kept.append(constants)
        self.constants = frozenset(map(id, constants))
        commands.buffers = tuple(buffers)
        commands.held = [buf.memory for buf in buffers]
        commands.uses = [[] for _ in buffers]
        commands.indexes = {id(buf): i for i, buf in enumerate(buffers)}
        memories = [commands.data(buf) for buf in buffers]
        there = [(id(m), i) for i, m in enumerate(memories) if m is not None]
        commands.indexes |= dict(there)
        self.still, self.early = {id(memories[i]) for i in still}, early
        self.lost = len(dict(there)) != len(there)  # two in the same memory: which one is meant?
        NOW.noting, self.arena.let_go = self, self.ended
        try:
            yield
        finally:
            NOW.noting = self.arena.let_go = None
            commands.buffers = ()
        self.then += [one.answered for about, one in self.open.items() if about not in self.met]
        commands.all = list(in_rows((*self.first, *self.then)))

    # ---- what kernels tell it --------------------------------------------------------------------

    def launch(self, compiled: Any, grid: Sequence[Any], args: Sequence[Any]) -> None:
        """Note a launch over work-items, in groups, from one on; and run it."""
        for arg in args:
            self.wait_for(id(arg))
        made = Launch(compiled, grid, args)
        for at, (kind, arg) in enumerate(zip(compiled.types, args, strict=True)):
            i = self.commands.index(arg) if kind is None else None
            if i is not None:
                self.commands.uses[i].append((made.kernel, at))
            elif kind is None or type(arg) is Live:
                self.commands.kept.append(arg)
        self.to.append(made)
        made(self.commands)

    def wait_for(self, about: int) -> None:
        """Wait, before what is noted next, for the answer to what was asked about that memory."""
        if about not in self.open or (about in self.met and self.to is not self.first):
            return
        self.to.append(self.open[about].answered)
        if self.to is self.first:
            del self.open[about]
        else:
            self.met.add(about)

    def put(self, memory: Any, payload: bytes) -> None:
        """Note that these bytes, which are the same in each run, go to the device."""

        def again(commands: Commands) -> None:
            commands.copies.write(memory.data, memoryview(payload), 0)

        self.to.append(again)
        self.commands.kept.append(memory)
        again(self.commands)

    def begin(self, number: int) -> None:
        """The step of that number is next; from here on memory is taken for it."""
        self.number, self.arena.fresh = number, number in self.early

    def step(self, step: Step) -> None:
        """Note a step, and run it: its launches, or all of it where the host has a part in it."""
        if step.device == self.commands.place.name and step.kernel != "transfer":
            if self.number in self.early:
                self.to = self.first
                self.still |= {id(self.commands.data(x.buf)) for x in step.writes}
            try:
                emit(step)
            finally:
                self.to = self.then
        else:
            self.then.append(partial(_emitted, step))
            self.commands.kept.append(step)
            with unnoted():
                emit(step)

    def ended(self, block: Any) -> None:
        """A temp has gone: whoever has that memory next may write it."""
        self.still.discard(id(block))

    def ask(
        self, memory: Any, run: Callable[[], None], refuse: Callable[[bytes], None], about: Any,
        key: Any,
    ) -> None:  # fmt: skip
        """Note a question: `run` makes an answer in `memory`, which holds zeros before, and after
        any answer that is not refused. `about`: the memory that it is about."""
        early = id(about) in self.still
        if early and (id(about), key) in self.asked:
            return
        self.asked.add((id(about), key))
        to, asking = self.to, list[Callable[[Commands], None]]()
        self.to = asking
        self.commands.clear(memory)
        run()
        question = Question(memory, refuse, self.number)
        asking.append(question)
        self.to = to
        self.commands.kept.append(memory)
        question(self.commands)
        question.answered(self.commands)
        if early:
            self.first += asking
            self.open[id(about)] = question
            self.met.discard(id(about))
        else:
            to += [*asking, question.answered]


def _emitted(step: Step, commands: Commands) -> None:
    """That step on what is there now."""
    over = [Operand(commands.current(x.buf), x.shape, x.strides, x.offset) for x in step.operands]
    emit(step.over(over))
