"""Group: all ranks of a program, as one of them sees the others; it keeps collectives in order.

Each collective gets a number. Before a byte of a Tensor moves, the ranks exchange notes: which
call, with what, and where (note.py). If the notes differ, or one does not come in time, every rank
raises DistError, which names the rank, the difference and the line. After that no rank can know
what the others have, so the group stays broken: every further call raises the same error at once.

    with wait=False: [all_reduce #7] [all_reduce #8]          a thread runs them in order,
    backward: ------------------------------------->          beside the program

Every transport uses this thread, rather than MPI's own requests, because MPI moves most bytes only
during calls, and because the additions between two exchanges are ours: such a request would wait
for the program's next call. Kernels and waiting let other Python threads run.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextvars import Context
from types import TracebackType
from typing import Any, Generic, TypeVar

from tutor.backends import registry
from tutor.distributed.note import Note
from tutor.distributed.threads import Callers, UnorderedError
from tutor.distributed.transport import Absent, Reasons, Transport
from tutor.errors import DistError, DomainError

R = TypeVar("R")
TIMEOUT, VARIABLE = 30.0, "TUTOR_DIST_TIMEOUT"
AGAIN = "see what it printed last; then start all ranks again, from a checkpoint"
CHILD = "this process is a child that was forked off: it is no rank"
IN_THE_RANK = "call it in the rank itself, and hand the child what came of it"
ONE_CALLER = (
    "call all of them from one thread; another one may, if it was started after the last of them,"
    " until it ends"
)
SAME = "let all ranks make the same calls in the same order, with the same shapes and dtypes"


class Handle(Generic[R]):
    """A collective that may still be in progress: `wait()` returns its result or raises its error.
    Do not touch its tensors until then. If it fails and nobody waits for it, the rank prints the
    error at its end."""

    def __init__(self, group: Group, note: Note) -> None:
        self._group, self._note, self._process = group, note, os.getpid()
        self._done = threading.Event()
        self._result: R
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether it is over, successfully or not: then `wait()` returns at once."""
        return self._done.is_set()

    def wait(self) -> R:
        """Wait for the result and return it."""
        if not self._done.is_set():
            if self._process != os.getpid():  # its thread exists only in the parent
                raise self._group.refusal(self._note, CHILD, IN_THE_RANK)
            self._done.wait()
        if self._error is not None:
            self._group.is_heard = True
            raise self._error
        return self._result

    def _run(self, work: Callable[[], R]) -> None:
        try:
            self._result = work()
        except BaseException as error:  # raised in wait()
            self._error = error
            self._group.unheard = self._group.unheard or error
        self._done.set()


class Group:
    """The ranks of a transport."""

    def __init__(self, transport: Transport, timeout: float) -> None:
        self.transport, self.timeout = transport, timeout
        self.rank, self.size = transport.rank, transport.size
        self.number = 0  # of the latest collective
        self.latest: dict[int, Note] = {}  # by rank
        self.broken: DistError | None = None
        self.unheard: BaseException | None = None  # the first error of a Handle
        self.is_heard = False  # has the program seen the error?
        self.is_child = False  # is this a forked child, which is no rank?
        self._begin()
        atexit.register(self._end)
        if self.size > 1:
            sys.excepthook = self._raised(sys.excepthook)

    def _begin(self) -> None:
        """Start with an empty queue and no thread."""
        self._turn = threading.RLock()  # its owner runs a collective
        self._callers = Callers()
        self._queue: queue.SimpleQueue[tuple[Handle[Any], Callable[[], Any]] | None]
        self._queue = queue.SimpleQueue()
        self._counting = threading.Lock()
        self._left = 0  # collectives the thread has still to do
        self._thread: threading.Thread | None = None
        self._context = Context()  # outside any lazy block or recording: these kernels run now

    def forked(self) -> None:
        """Reset in the child of a fork: the thread and the lock owners stayed in the parent."""
        self._begin()
        self.unheard = None
        if self.size > 1:
            self.is_child = True
            atexit.unregister(self._end)
            self.transport.leave()

    # ---- one after the other ---------------------------------------------------------------------

    def call(self, note: Note, move: Callable[[], R]) -> R:
        """Run a collective: the result of `move()`, once all ranks have come to it."""
        with self._called(note):
            if self._left:  # earlier ones come first
                return self._started(note, move).wait()
            return self._take_turn(note, move, registry.current())

    def start(self, note: Note, move: Callable[[], R]) -> Handle[R]:
        """The same in the background; returns a Handle."""
        with self._called(note):
            return self._started(note, move)

    @contextlib.contextmanager
    def _called(self, note: Note) -> Iterator[None]:
        """This thread calls a collective. Refused in a forked child, and if another thread is the
        caller."""
        if self.is_child:
            raise self.refusal(note, CHILD, IN_THE_RANK)
        try:
            with self._callers.calling() if self.size > 1 else contextlib.nullcontext():
                yield
        except UnorderedError as other:
            me, it = threading.current_thread().name, self.latest.get(self.rank)
            found = (
                f"thread {me!r} of this rank calls it, and {other} calls collectives, the latest"
                f" {it}: which of them comes first may be another one on each rank"
            )
            self.broken = self.broken or self.refusal(note, found, ONE_CALLER)
            self.transport.tell({self.rank: f"calls collectives in two threads, one at {it}"})
            self.is_heard = True
            raise self.broken from None
        except BaseException:
            self.is_heard = True
            raise

    def _started(self, note: Note, move: Callable[[], R]) -> Handle[R]:
        handle, backend = Handle[R](self, note), registry.current()
        with self._counting:
            self._left += 1
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="tutor.distributed", daemon=True
                )
                self._thread.start()
            self._queue.put((handle, lambda: self._next(note, move, backend)))
        return handle

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            handle, work = job
            handle._run(work)

    def _next(self, note: Note, move: Callable[[], R], backend: str) -> R:
        """Run the next job of the queue; it is counted until just before its handle is done."""
        try:
            return self._take_turn(note, move, backend)
        finally:
            with self._counting:
                self._left -= 1

    def _take_turn(self, note: Note, move: Callable[[], R], backend: str) -> R:
        with self._turn:
            if self.broken:
                raise self._once_more(note)
            self.number += 1
            note = note._replace(number=self.number)
            try:
                self._compare(note)
                if self.broken:  # meanwhile, by another thread
                    raise self._once_more(note)
                return self._context.run(_on, backend, move)
            except Absent as absent:
                self.broken = self._missed(note, absent.reasons)
                self.transport.tell(absent.reasons)
                raise self.broken from None
            except BaseException as error:
                if not self.broken:  # an interrupt, or no memory
                    error.add_note(f"in {self._asked(note)}")
                    why = f"has left {note}, by {_told(error)}"
                    self.broken = self._missed(note, {self.rank: why})
                    self.transport.tell({self.rank: why})
                raise

    def _compare(self, note: Note) -> None:
        """Compare the calls of all ranks; DistError if they differ."""
        notes = [Note.read(said) for said in self.transport.meet(note.written(), self.timeout)]
        self.latest = dict(enumerate(notes))
        others = {r: said for r, said in enumerate(notes) if said.agreed != note.agreed}
        if others:
            calls = [f"rank {r} calls {said}" for r, said in others.items()]
            found = "; ".join(calls[:3]) + (f"; and {len(calls) - 3} more" if calls[3:] else "")
            self.broken = DistError(self._asked(note), found, SAME)
            raise self.broken

    # ---- what is said of a failure ---------------------------------------------------------------

    def _asked(self, note: Note) -> str:
        return f"{note}, on rank {self.rank} of {self.size}"

    def _missed(self, note: Note, reasons: Reasons) -> DistError:
        """The error for ranks that did not come."""
        said = []
        for rank, why in [*reasons.items()][:3]:
            last = self.latest.get(rank)
            where = f"the latest it came to is {last}" if last else "it has come to none so far"
            said.append(f"rank {rank} {why}; {where}")
        if len(reasons) > 3:
            said.append(f"and {len(reasons) - 3} more")
        late = any("has not come" in why for why in reasons.values())
        do = f"{SAME}; where a rank only takes long, let the others wait: {VARIABLE}=600"
        return DistError(self._asked(note), "; ".join(said), do if late else AGAIN)

    def _once_more(self, note: Note) -> DistError:
        assert self.broken
        found = f"the ranks are apart since {self.broken.asked}: {self.broken.found}"
        return self.refusal(note, found, AGAIN)

    def refusal(self, note: Note, found: str, do: str) -> DistError:
        """The error for a collective that was not started."""
        return DistError(self._asked(note._replace(number=self.number + 1)), found, do)

    # ---- the end of the program ------------------------------------------------------------------

    def _raised(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """Print an exception that ends this rank as usual, then report it to the others."""

        def told(kind: type[BaseException], error: BaseException, trace: TracebackType) -> None:
            hook(kind, error, trace)
            if self.is_child:
                return
            self._say_unheard()
            self.is_heard = True
            if not self.broken:
                self.broken = DistError(f"rank {self.rank}", f"it has ended by {_told(error)}")
                place = _place(trace)
                self.transport.tell({self.rank: f"has ended by {_told(error)}, at {place}"})

        return told

    def _say_unheard(self) -> bool:
        """Print the error of a Handle that was never waited for, unless the program has seen it."""
        if self.unheard is None or self.is_heard:
            return False
        print("In a collective with wait=False, which nobody has waited for:", file=sys.stderr)
        traceback.print_exception(self.unheard)
        return True

    def _end(self) -> None:
        """Finish the started collectives, since other ranks take part in them; not after a failure.
        If the failure is first reported here, exit with code 1: so late, the only way is to end at
        once, as MPI_Abort does."""
        if self._thread:
            self._queue.put(None)
            self._thread.join(1.0 if self.broken else None)
        is_news = self._say_unheard()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # the stream is gone
                stream.flush()
        self.transport.close(self.broken is None)
        if is_news:
            os._exit(1)


def _on(backend: str, move: Callable[[], R]) -> R:
    registry.set_backend(backend)
    return move()


def _told(error: BaseException) -> str:
    """An exception in one line."""
    first = str(error).strip().partition("\n")[0][:200]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _place(trace: TracebackType | None) -> str:
    """The innermost line of the user's program."""
    place = "?"
    while trace is not None:
        frame = trace.tb_frame
        if not str(frame.f_globals.get("__name__")).startswith("tutor."):
            place = f"{frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def seconds(given: float | None) -> float:
    """The seconds to wait for others: `given`, else TUTOR_DIST_TIMEOUT. DomainError unless > 0."""
    said = os.environ.get(VARIABLE) or TIMEOUT if given is None else given
    try:
        found = float(said)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 < found < math.inf:
        raise DomainError(
            f"ranks that wait {said!r} seconds for each other",
            "that is no number of seconds above 0",
            f"give one to dist.init(timeout=), or set {VARIABLE} to one, such as 30",
        )
    return found
