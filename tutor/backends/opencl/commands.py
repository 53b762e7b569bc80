"""Commands: what a device was asked for in one run of a Program, to be asked for again.

    commands = noting.commands      # capture.py: kernels were called, they ran, and were noted
    commands.run(buffers)           # the same on other memory

Much of what a kernel call costs is Python: which text, which arguments, memory for what is between.
All that is the same each time. So each launch is kept as a kernel object of its own, whose
arguments stay set, and a run sets those that are others than in the run before: the memory of what
goes in and comes out, and numbers of the host. (OpenCL calls the like a command buffer, CUDA a
graph.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any


class Live:
    """A number that a launch takes from the host: `read(buf)`, in each run."""

    __slots__ = ("buf", "read")

    def __init__(self, buf: Any, read: Callable[[Any], Any]) -> None:
        self.buf, self.read = buf, read


class Launch:
    """One kernel object, which keeps its arguments. `lives`: which of them are asked for."""

    __slots__ = ("grid", "kernel", "lives")

    def __init__(self, compiled: Any, grid: Sequence[Any], args: Sequence[Any]) -> None:
        self.kernel, self.grid = compiled.again(), grid
        self.lives: list[tuple[int, str, Live]] = []
        for at, (kind, arg) in enumerate(zip(compiled.types, args, strict=True)):
            if type(arg) is Live:
                self.lives.append((at, kind, arg))
            elif kind is None:
                self.kernel.set_arg(at, arg)
            else:
                compiled.place.set_number(self.kernel, at, struct.pack(kind, arg))

    def __call__(self, commands: Commands) -> None:
        for at, kind, one in self.lives:
            number = one.read(commands.current(one.buf))
            commands.place.set_number(self.kernel, at, struct.pack(kind, number))
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
        self.copies, self.place = pool.copies, pool.place
        self.all: list[Callable[[Commands], None]] = []  # in the order in which they are run
        self.kept: list[Any] = []  # memory that arguments are set to
        self.buffers: Sequence[Any] = ()  # those of the run in progress, or of the latest
        self.held: list[Any] = []  # the memory of each Buffer, as arguments are set now
        self.uses: list[list[tuple[Any, int]]] = []  # of each Buffer: kernel, argument
        self.indexes: dict[int, int] = {}  # of a Buffer or its memory, by id: which one it is

    def index(self, thing: Any) -> int | None:
        """Which of the Buffers that a run is given this is, or whose memory; None: none of them."""
        return self.indexes.get(id(thing))

    def current(self, buf: Any) -> Any:
        """What stands where that Buffer stood while this was noted."""
        i = self.index(buf)
        return buf if i is None else self.buffers[i]

    def data(self, buf: Any) -> Any:
        """The memory of a Buffer, as kernels are given it; None if it is the host's."""
        memory = buf.memory.keep()
        return memory.data if memory.device == self.place.name else None

    def clear(self, memory: Any) -> None:
        """Zeros into all of it."""
        self.copies.write(memory.data, memoryview(bytes(memory.nbytes)), 0)

    def run(self, buffers: Sequence[Any]) -> None:
        """All of it again. What a kernel refuses is raised, with the number of its step."""
        with self.place.lock:
            self.buffers = tuple(buffers)
            for i, buf in enumerate(buffers):
                if buf.memory is not self.held[i]:
                    self.held[i], data = buf.memory, self.data(buf)
                    for kernel, at in self.uses[i]:
                        kernel.set_arg(at, data)
            for command in self.all:
                command(self)
            self.place.flush()
