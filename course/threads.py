"""Threads on one memory, a step at a time: what chapter 15 enumerates the orders of.

A thread is a function without arguments that makes a generator. What it yields is what it asks of
the machine, and is done in one step that nothing can come between:

    yield "load", "n"                what is stored at n
    yield "add", a, b                a + b
    yield "store", "n", value
    yield "swap", "n", old, new      stores `new` if `old` is there; True if it was
    yield "lock", "m"                waits until nobody has m, then has it
    yield "unlock", "m"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tutor.errors import DomainError

Thread = Callable[[], Any]  # which gives a generator
Order = tuple[int, ...]

LONGEST = 60  # steps of one thread
AGAIN = 2  # times that a thread may ask the same while nothing changes; then it waits
WORDS = {"load": 1, "add": 2, "store": 2, "swap": 3, "lock": 1, "unlock": 1}


class Moment:
    """Threads and their memory, at one moment. It never changes: step(i) makes another one."""

    def __init__(
        self,
        threads: Sequence[Thread],
        memory: Mapping[str, Any] | None = None,
        heard: tuple[tuple[Any, ...], ...] = (),
        asked: tuple[tuple[Any, ...], ...] = (),
        requests: tuple[Any, ...] = (),
    ) -> None:
        self.threads, self.memory = tuple(threads), dict(memory or {})
        nothing = ((),) * len(self.threads)
        self.heard = heard or nothing  # the answers that each thread has had
        self.asked = asked or nothing  # what each has asked since the memory changed last
        self.requests = requests or tuple(map(self._request, range(len(self.threads))))

    def _request(self, i: int) -> tuple[Any, ...] | None:
        """What thread i asks for next; None where it has ended."""
        thread = self.threads[i]()
        if not hasattr(thread, "send"):
            raise _wrong(type(thread).__name__, "a thread is a function that yields its steps")
        try:
            wanted = next(thread)
            for answer in self.heard[i]:
                wanted = thread.send(answer)
        except StopIteration:
            return None
        if len(self.heard[i]) >= LONGEST:
            raise _wrong(f"more than {LONGEST} steps", "look for a loop that never ends")
        known = isinstance(wanted, tuple) and bool(wanted) and wanted[0] in WORDS
        if not known or len(wanted) != 1 + WORDS[wanted[0]]:
            raise _wrong(f"yield {wanted!r}", f"a step is one of {', '.join(WORDS)}, as listed")
        if wanted[0] in ("load", "swap") and wanted[1] not in self.memory:
            raise _wrong(f"yield {wanted!r}", f"there is {', '.join(map(str, self.memory))}")
        return tuple(wanted)

    @property
    def ended(self) -> bool:
        """Whether all threads have come to their end."""
        return not any(self.requests)

    def ready(self) -> list[int]:
        """The threads that can take a step: not those that have ended, or that wait."""
        return [i for i, wanted in enumerate(self.requests) if wanted and not self._waits(i)]

    def _waits(self, i: int) -> bool:
        """For a lock that is taken, or in a loop that asks for the same until it changes."""
        what, place, *_ = self.requests[i] or ("", "")
        if what == "lock":
            return bool(self.memory.get(place))
        return self.asked[i].count(self.requests[i]) >= AGAIN

    def step(self, i: int) -> Moment:
        """The moment after the next step of thread i."""
        if i not in self.ready():
            raise _wrong(f"step({i})", f"ready() gives {self.ready()}")
        wanted = self.requests[i] or ("",)
        memory, answer = dict(self.memory), None
        match wanted:
            case ("load", place):
                answer = memory[place]
            case ("add", a, b):
                answer = a + b
            case ("store", place, value):
                memory[place] = value
            case ("swap", place, old, new):
                answer = memory[place] == old
                memory[place] = new if answer else memory[place]
            case (what, place):
                memory[place] = what == "lock"
        heard = (*self.heard[:i], (*self.heard[i], answer), *self.heard[i + 1 :])
        asked = self.asked if memory == self.memory else ()
        if asked and wanted[0] in ("load", "swap"):
            asked = (*asked[:i], (*asked[i], wanted), *asked[i + 1 :])
        then = Moment(self.threads, memory, heard, asked, self.requests)
        then.requests = (*self.requests[:i], then._request(i), *self.requests[i + 1 :])
        return then

    @property
    def state(self) -> Any:
        """Two moments of the same threads with the same state have the same future."""
        places = sorted(self.memory.items(), key=str)
        return tuple(places), self.heard, self.asked

    def __repr__(self) -> str:
        return f"Moment of {len(self.threads)} threads, memory {self.memory}"


def _wrong(found: str, to_do: str) -> DomainError:
    return DomainError("the steps of a thread", found, to_do)


def ends(moment: Moment) -> list[tuple[Order, Moment]]:
    """Every way in which it can end: each moment at which no thread can take a step, once, with
    one of the shortest orders that lead there. All interleavings are covered, as moments in the
    same state are gone on with only once."""
    found, seen = [], {moment.state}
    level: list[tuple[Order, Moment]] = [((), moment)]
    while level:
        following = []
        for order, now in level:
            ready = now.ready()
            if not ready:
                found.append((order, now))
            for i in ready:
                then = now.step(i)
                if then.state not in seen:
                    seen.add(then.state)
                    following.append(((*order, i), then))
        level = following
    return found


def orders(lengths: Sequence[int]) -> list[Order]:
    """All orders of threads with so many steps each: [2, 1] gives 001, 010 and 100."""
    if not any(lengths):
        return [()]
    found = []
    for i, count in enumerate(lengths):
        if count:
            rest = [*lengths[:i], count - 1, *lengths[i + 1 :]]
            found += [(i, *order) for order in orders(rest)]
    return found
