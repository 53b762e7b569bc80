"""Commands: the requests to a device from one run of a Program, ready to be repeated.

    commands = noting.commands      # capture.py: kernels were called, ran, and were recorded
    commands.run(buffers)           # the same on other memory

Much of the cost of a kernel call is Python: choosing its text, its arguments, temporary memory. All
that is the same each time. So each launch has a kernel object of its own, whose arguments stay set,
and a run sets only those that changed since the run before: memory of inputs and outputs, and
numbers on the host. (OpenCL calls this a command buffer, CUDA a graph.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any


class Live:
    """A number on the host, read by `read(buf)` in each run, as an argument of a launch."""

    __slots__ = ("buf", "read")

    def __init__(self, buf: Any, read: Callable[[Any], Any]) -> None:
        self.buf, self.read = buf, read


class Launch:
    """A kernel object of its own, with its arguments. `lives`: those read again in each run."""

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
    """The same commands, with consecutive launches without Live arguments merged into one."""
    for plain, some in groupby(commands, lambda c: type(c) is Launch and not c.lives):
        if plain:
            yield partial(_launched, [(c.kernel, c.grid) for c in some])
        else:
            yield from some


def _launched(launches: list[tuple[Any, Any]], commands: Commands) -> None:
    commands.place.launch_all(launches)


class Question:
    """A question to the device: calling it starts copying the answer, without waiting."""

    def __init__(self, memory: Any, refuse: Callable[[bytes], None], number: int) -> None:
        self.memory, self.refuse, self.number = memory, refuse, number
        self.host = bytearray(memory.nbytes)
        self.copied: Any = None

    def __call__(self, commands: Commands) -> None:
        self.copied = commands.place.copy_out(self.host, self.memory.data)

    def answered(self, commands: Commands) -> None:
        """Wait for the answer. If it is bad, `refuse` raises, for the step that asked."""
        commands.place.wait(self.copied)
        if any(self.host):
            try:
                self.refuse(bytes(self.host))
            except Exception as error:
                commands.clear(self.memory)
                error.step = self.number  # type: ignore[attr-defined]
                raise


class Commands:
    """A recorded run. Several threads may run it, one at a time."""

    def __init__(self, pool: Any) -> None:
        self.copies, self.place = pool.copies, pool.place
        self.all: list[Callable[[Commands], None]] = []  # in the order in which they run
        self.kept: list[Any] = []  # memory that arguments refer to
        self.buffers: Sequence[Any] = ()  # of the current or latest run
        self.held: list[Any] = []  # the memory of each Buffer, as set in the arguments
        self.uses: list[list[tuple[Any, int]]] = []  # for each Buffer: kernel, argument
        self.indexes: dict[int, int] = {}  # id of a Buffer or its memory -> its index

    def index(self, thing: Any) -> int | None:
        """The index of this Buffer, or of the one with this memory, in a run; None if not there."""
        return self.indexes.get(id(thing))

    def current(self, buf: Any) -> Any:
        """The Buffer of this run that corresponds to the recorded one."""
        i = self.index(buf)
        return buf if i is None else self.buffers[i]

    def data(self, buf: Any) -> Any:
        """A Buffer's memory as kernels receive it; None if it is on the host."""
        memory = buf.memory.keep()
        return memory.data if memory.device == self.place.name else None

    def clear(self, memory: Any) -> None:
        """Fill the memory with zeros."""
        self.copies.write(memory.data, memoryview(bytes(memory.nbytes)), 0)

    def run(self, buffers: Sequence[Any]) -> None:
        """Run all commands again. An error of a kernel has the number of its step."""
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
