"""Commands: what a device was asked for in one run of a Program, to be asked for again.

    commands = Commands(pool)
    with commands.noting(buffers, still): ...    # kernels are called: they run, and are noted
    commands.run(buffers)                        # the same on other memory

Much of what a kernel call costs is Python: which text, which arguments, memory for what is between.
All that is the same each time. So each launch is kept as a kernel object of its own, whose
arguments stay set, and a run sets those that are others than in the run before: the memory of what
goes in and comes out, and numbers of the host. (OpenCL calls the like a command buffer, CUDA a
graph.)

- Memory that is taken while noting is the list's own and goes back to the pool with it: all passes
  one queue, so one run does not disturb the next.
- A number of the host is no constant: it is a `Live`, and asked for again in each run.
- An `ask` waits for an answer of the device, as where an index may be refused. If it is about
  memory that no step writes, it is asked before all else, once, and waited for by the first launch
  that is given that memory: the device need not stand still meanwhile.
- What reads or writes memory of the device in any other way cannot be noted: `lost` says so, and
  the steps are called one by one as before.
"""

from __future__ import annotations

import contextlib
import struct
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit


class _Now(threading.local):
    """The list that this thread notes its launches in; None: in none."""

    commands: Commands | None = None


NOW = _Now()


@contextlib.contextmanager
def unnoted() -> Iterator[Commands | None]:
    """Nothing in the block is noted. It is given the list."""
    commands, NOW.commands = NOW.commands, None
    try:
        yield commands
    finally:
        NOW.commands = commands


class Live:
    """A number that a launch takes from the host: `read(buf)`, in each run."""

    __slots__ = ("buf", "read")

    def __init__(self, buf: Any, read: Callable[[Any], Any]) -> None:
        self.buf, self.read = buf, read


def live(buf: Any, read: Callable[[Any], Any]) -> Any:
    """The number `read(buf)`, for an argument of a launch."""
    commands = NOW.commands
    if commands is None or id(buf) in commands.constants:
        return read(buf)
    return Live(buf, read)


def once(what: Any, operands: Sequence[Any], make: Callable[[], Any]) -> Any:
    """`make()`, which computes `what` of these operands; while noting, what it has made of them
    before, unless a step has written to one of them since."""
    commands = NOW.commands
    if commands is None:
        return make()
    walks = [(x.shape, x.strides, x.offset) for x in operands]
    key = ((what, *walks), *[id(x.buf) for x in operands])
    if key not in commands.known:
        commands.known[key] = make(), operands
    return commands.known[key][0]


def decided(buf: Any) -> None:
    """Which launches there are depends on what stands in this Buffer of the host."""
    if NOW.commands is not None and NOW.commands.index(buf) is not None:
        NOW.commands.lost = True


class Arena:
    """Memory of one list, as a Pool gives it: what was given back is taken again by the same list
    alone."""

    def __init__(self, pool: Any) -> None:
        self.pool, self.place, self.copies = pool, pool.place, pool.copies
        self.free: dict[int, list[Any]] = {}
        self.blocks: list[tuple[Any, int, int]] = []

    def take(self, nbytes: int) -> tuple[Any, int]:
        for size, waiting in self.free.items():
            if waiting and size // 2 <= nbytes <= size:
                return waiting.pop(), size
        block, size = self.pool.take(nbytes)
        self.blocks.append((block, size, nbytes))
        return block, size

    def give_back(self, block: Any, size: int, nbytes: int) -> None:
        self.free.setdefault(size, []).append(block)

    def __del__(self) -> None:
        for block in self.blocks:
            self.pool.give_back(*block)


class Launch:
    """One kernel object, which keeps its arguments. `lives`: which of them are asked for."""

    __slots__ = ("grid", "kernel", "lives")

    def __init__(self, compiled: Any, grid: Sequence[Any], args: Sequence[Any]) -> None:
        self.kernel, self.grid = compiled.again(), grid
        self.lives: list[tuple[int, str, Live]] = []
        for at, (kind, arg) in enumerate(zip(compiled.types, args, strict=True)):
            if type(arg) is Live:
                self.lives.append((at, kind, arg))
            else:
                self.kernel.set_arg(at, arg if kind is None else struct.pack(kind, arg))

    def __call__(self, commands: Commands) -> None:
        for at, kind, one in self.lives:
            number = one.read(commands.current(one.buf))
            self.kernel.set_arg(at, struct.pack(kind, number))
        commands.place.launch(self.kernel, self.grid)


def in_rows(commands: Iterable[Any]) -> Iterator[Callable[[Commands], None]]:
    """The same, with launches whose arguments all stay as they are put together to one command."""
    for plain, some in groupby(commands, lambda c: type(c) is Launch and not c.lives):
        if plain:
            yield partial(_launched, [(c.kernel, c.grid) for c in some])
        else:
            yield from some


def _launched(launches: list[tuple[Any, Any]], commands: Commands) -> None:
    commands.place.launch_all(launches)


class Question:
    """Ask for an answer: called, it has the answer copied to the host, and does not wait."""

    def __init__(self, memory: Any, refuse: Callable[[bytes], None], number: int) -> None:
        self.memory, self.refuse, self.number = memory, refuse, number
        self.host = bytearray(memory.nbytes)
        self.copied: Any = None

    def __call__(self, commands: Commands) -> None:
        self.copied = commands.place.copy_out(self.host, self.memory.data)

    def answered(self, commands: Commands) -> None:
        """Wait for the answer. `refuse` raises if it is a bad one, for the step that asked."""
        commands.place.wait(self.copied)
        if any(self.host):
            try:
                self.refuse(bytes(self.host))
            except Exception as error:
                commands.clear(self.memory)
                error.step = self.number  # type: ignore[attr-defined]
                raise


class Commands:
    """What was noted. Several threads may run it: one after another."""

    def __init__(self, pool: Any) -> None:
        self.pool, self.place, self.arena = pool, pool.place, Arena(pool)
        self.first: list[Callable[[Commands], None]] = []  # questions that come before all else
        self.then: list[Callable[[Commands], None]] = []
        self.all: list[Callable[[Commands], None]] = []  # the same, as they are run
        self.asked: set[Any] = set()
        self.open: dict[int, Question] = {}  # by the memory that it is about, by id
        self.number = 0  # of the step that is being noted
        self.known: dict[Any, tuple[Any, Any]] = {}  # what `once` has made, and of what
        self.lost = False
        self.kept: list[Any] = []  # memory that arguments are set to
        self.buffers: Sequence[Any] = ()  # those of the run in progress
        self.held: list[Any] = []  # the memory of each Buffer, as arguments are set now
        self.uses: list[list[tuple[Any, int]]] = []  # of each Buffer: kernel, argument
        self.indexes: dict[int, int] = {}  # of a Buffer or its memory, by id: which one it is
        self.still: frozenset[int] = frozenset()
        self.constants: frozenset[int] = frozenset()

    # ---- noting ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def noting(
        self, buffers: Sequence[Any], still: Collection[int], constants: Sequence[Any]
    ) -> Iterator[None]:
        """Note what this thread launches. `buffers`: what a run is given each time; `still` are the
        numbers of those that no step writes. `constants` are never written by anybody."""
        self.kept.append(constants)
        self.constants = frozenset(map(id, constants))
        self.buffers = tuple(buffers)
        self.held = [buf.memory for buf in buffers]
        self.uses = [[] for _ in buffers]
        self.indexes = {id(buf): i for i, buf in enumerate(buffers)}
        memories = [self.data(buf) for buf in buffers]
        there = [(id(m), i) for i, m in enumerate(memories) if m is not None]
        self.indexes |= dict(there)
        self.still = frozenset(id(memories[i]) for i in still)
        self.lost = len(dict(there)) != len(there)  # two in the same memory: which one is meant?
        NOW.commands = self
        try:
            yield
        finally:
            NOW.commands = None
        self.then += [question.answered for question in self.open.values()]
        self.all = list(in_rows((*self.first, *self.then)))
        self.buffers = ()

    def data(self, buf: Any) -> Any:
        """The memory of a Buffer, as kernels are given it; None if it is the host's."""
        memory = buf.memory.keep()
        return memory.data if memory.device == self.place.name else None

    def index(self, thing: Any) -> int | None:
        """Which of the Buffers that a run is given this is, or whose memory; None: none of them."""
        return self.indexes.get(id(thing))

    def launch(self, compiled: Any, grid: Sequence[Any], args: Sequence[Any]) -> None:
        """Note a launch over work-items, in groups, from one on; and run it."""
        for arg in args:
            if id(arg) in self.open:
                self.then.append(self.open.pop(id(arg)).answered)
        made = Launch(compiled, grid, args)
        for at, (kind, arg) in enumerate(zip(compiled.types, args, strict=True)):
            i = self.index(arg) if kind is None else None
            if i is not None:
                self.uses[i].append((made.kernel, at))
            elif kind is None or type(arg) is Live:
                self.kept.append(arg)
        self.then.append(made)
        made(self)

    def put(self, memory: Any, payload: bytes) -> None:
        """Note that these bytes, which are the same in each run, go to the device."""

        def again(commands: Commands) -> None:
            self.pool.copies.write(memory.data, memoryview(payload), 0)

        self.then.append(again)
        self.kept.append(memory)
        again(self)

    def step(self, number: int, step: Step) -> None:
        """Note a step, and run it: its launches, or all of it where the host has a part in it."""
        self.number = number
        if step.device == self.place.name and step.kernel != "transfer":
            emit(step)
        else:
            self.then.append(partial(self.emit, step))
            self.kept.append(step)
            with unnoted():
                emit(step)
        self.forget(step)

    def emit(self, step: Step, _: Commands) -> None:
        """That step on what is there now."""
        over = [Operand(self.current(x.buf), x.shape, x.strides, x.offset) for x in step.operands]
        emit(step.over(over))

    def forget(self, step: Step) -> None:
        """What was computed of Buffers that the step has written does not hold any more."""
        written = {id(x.buf) for x in step.writes}
        self.known = {
            key: found for key, found in self.known.items() if written.isdisjoint(key[1:])
        }

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
        begin = len(self.then)
        self.clear(memory)
        run()
        question = Question(memory, refuse, self.number)
        self.then.append(question)
        self.kept.append(memory)
        question(self)
        question.answered(self)
        if early:
            self.first += self.then[begin:]
            del self.then[begin:]
            self.open[id(about)] = question
        else:
            self.then.append(question.answered)

    def clear(self, memory: Any) -> None:
        self.pool.copies.write(memory.data, memoryview(bytes(memory.nbytes)), 0)

    # ---- running ---------------------------------------------------------------------------------

    def current(self, buf: Any) -> Any:
        """What stands where that Buffer stood while this was noted."""
        i = self.index(buf)
        return buf if i is None else self.buffers[i]

    def run(self, buffers: Sequence[Any]) -> None:
        """All of it again. What a kernel refuses is raised, with the number of its step."""
        with self.place.lock:
            self.buffers = buffers
            try:
                for i, buf in enumerate(buffers):
                    if buf.memory is not self.held[i]:
                        self.held[i], data = buf.memory, self.data(buf)
                        for kernel, at in self.uses[i]:
                            kernel.set_arg(at, data)
                for command in self.all:
                    command(self)
                self.place.flush()
            finally:
                self.buffers = ()
