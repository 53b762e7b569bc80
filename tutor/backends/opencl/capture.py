"""Noting: kernels run as usual, and each request to their device is recorded.

    noting = Noting(pool)
    with noting.on(buffers, still, early, constants):
        noting.begin(0)             # for each step of the Program, before its temps are created
        noting.step(step)
    noting.commands                 # commands.py; None if `noting.lost`

- Memory taken meanwhile belongs to the command list and returns to the pool with it: all work goes
  through one queue, so one run does not disturb the next.
- A number on the host is not a constant: it becomes a `Live`, read again in each run.
- An `ask` waits for an answer from the device, for example whether an index is valid. If it is
  about memory that no step writes, it is asked once, at the beginning, and only the first launch
  that uses that memory waits for the answer: meanwhile the device is not idle.
- A step that depends only on such memory moves to the beginning as well, with memory of its own: so
  questions about an index that was cast can be asked early.
- Any other access to memory of the device cannot be recorded: it sets `lost`, and the steps are
  then called one by one as before.
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
    """The Noting that records this thread's launches; None: they are not recorded."""

    noting: Noting | None = None


NOW = _Now()


@contextlib.contextmanager
def unnoted() -> Iterator[Noting | None]:
    """Record nothing in this block; yields the Noting that would have."""
    noting, NOW.noting = NOW.noting, None
    try:
        yield noting
    finally:
        NOW.noting = noting


def live(buf: Any, read: Callable[[Any], Any]) -> Any:
    """The number `read(buf)`, as an argument of a launch; a Live while recording."""
    noting = NOW.noting
    if noting is None or id(buf) in noting.constants:
        return read(buf)
    return Live(buf, read)


def decided(buf: Any) -> None:
    """Declare that the choice of launches depends on the contents of this host Buffer."""
    if NOW.noting is not None and NOW.noting.commands.index(buf) is not None:
        NOW.noting.lost = True


class Noting:
    """One run of a Program that is being recorded."""

    def __init__(self, pool: Any) -> None:
        self.arena = pool.arena()
        self.commands = Commands(pool)
        self.commands.kept.append(self.arena)
        self.first: list[Callable[[Commands], None]] = []  # commands before all others
        self.then: list[Callable[[Commands], None]] = []
        self.to = self.then  # the list that launches are appended to
        self.asked: set[Any] = set()
        self.open: dict[int, Question] = {}  # by id of the memory asked about
        self.met: set[int] = set()  # those awaited, except at the beginning
        self.number = 0  # the step being recorded
        self.lost = False
        self.still: set[int] = set()  # ids of memory that no step writes until it is freed
        self.early: Collection[int] = ()
        self.constants: frozenset[int] = frozenset()

    @contextlib.contextmanager
    def on(
        self, buffers: Sequence[Any], still: Collection[int], early: Collection[int],
        constants: Sequence[Any],
    ) -> Iterator[None]:  # fmt: skip
        """Record this thread's launches. `buffers`: the arguments of each run; `still`: the indexes
        of those that no step writes; `early`: the numbers of this device's steps that depend only
        on them and write a temp; `constants` are never written at all."""
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
        self.lost = len(dict(there)) != len(there)  # two share memory: ambiguous
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
        """Record a launch over `grid`, and run it."""
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
        """Wait, before the next command, for the answer to the question about that memory."""
        if about not in self.open or (about in self.met and self.to is not self.first):
            return
        self.to.append(self.open[about].answered)
        if self.to is self.first:
            del self.open[about]
        else:
            self.met.add(about)

    def put(self, memory: Any, payload: bytes) -> None:
        """Record a copy of these bytes, which are the same in each run, to the device."""

        def again(commands: Commands) -> None:
            commands.copies.write(memory.data, memoryview(payload), 0)

        self.to.append(again)
        self.commands.kept.append(memory)
        again(self.commands)

    def begin(self, number: int) -> None:
        """Start the step with that number: memory taken from here on is for it."""
        self.number, self.arena.fresh = number, number in self.early

    def step(self, step: Step) -> None:
        """Record a step and run it: its launches, or the whole step if the host is involved."""
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
        """A temp has been freed: the next owner of its memory may write it."""
        self.still.discard(id(block))

    def ask(
        self, memory: Any, run: Callable[[], None], refuse: Callable[[bytes], None], about: Any,
        key: Any,
    ) -> None:  # fmt: skip
        """Record a question: `run` puts an answer into `memory`, which is zero before, and after
        every answer that is not refused. `about`: the memory that it asks about."""
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
    """Run that step on the current Buffers."""
    over = [Operand(commands.current(x.buf), x.shape, x.strides, x.offset) for x in step.operands]
    emit(step.over(over))
