"""Names: how a call refers to its Tensors, and which names refer to the same Tensor.

An argument is a different Tensor at each call, and so is the content of a place that the call sets:
`state.h = h`, `p.grad`. A Program has one slot per Buffer, so it is right only if exactly the names
that shared a Tensor, or a Buffer, when it was recorded share one now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from tutor.errors import RecordError
from tutor.methods.tensor import Tensor
from tutor.programs.call import Walk
from tutor.programs.captured_state import Reached
from tutor.programs.guards import StatePlace, dict_of, hooks_of
from tutor.programs.program import Slot
from tutor.programs.record import Recorder


class Argument(NamedTuple):
    """A Tensor of a call by number: the arguments, followed by the Tensors in places. As the holder
    of a StatePlace it represents that Tensor."""

    number: int


class EarlierResult(NamedTuple):
    """In the results: the same Tensor as an earlier result."""

    number: int


def of_call(place: StatePlace, tensors: Sequence[Any]) -> StatePlace:
    holder = place.holder
    return place._replace(holder=tensors[holder.number]) if type(holder) is Argument else place


def moves(place: StatePlace) -> bool:
    """Does its Tensor differ at each call? True for gradients and places that the call has set."""
    if place.key == "_grad" and isinstance(place.holder, Tensor):
        return True
    now = place.get()
    tensors = [x is None or isinstance(x, Tensor) for x in (now, place.value)]
    return now is not place.value and all(tensors)


# ---- before the call, and after it ---------------------------------------------------------------


class Before:
    """The Tensors that exist before a call: `arguments`, and those `reached`."""

    def __init__(self, reached: Reached, arguments: Sequence[Tensor]) -> None:
        self.reached, self.arguments = reached, arguments
        self.grads = [t._grad for t in arguments]
        grads = [grad for grad in self.grads if grad is not None]
        tensors = [*arguments, *grads, *reached.tensors.values()]
        self._looks = [(t, _attributes(t)) for t in tensors]

    def check(self) -> None:
        """RecordError if the call changed more of a Tensor than its numbers."""
        for t, before in self._looks:
            now = _attributes(t)
            for name, value in before.items():
                if now[name] != value:
                    raise RecordError(
                        f"to record a call that changes {name} of a Tensor of shape {t.shape}",
                        "the Tensor was there before; of such ones a replay changes numbers alone",
                        "do it outside of the jitted function, or to a Tensor made in it",
                    )


def _attributes(t: Tensor) -> dict[str, Any]:
    return {"buf": id(t.buf), "shape": t.shape, "strides": t.strides, "offset": t.offset,
            "requires_grad": t.requires_grad, "hooks": hooks_of(t)}  # fmt: skip


class Moving:
    """The places whose Tensor differs from call to call.

    `places` are where the call found and left Tensors, `grads` the places of gradients; `fixed`, by
    id, are the Tensors that are also reached another way, so that they stay the same.
    `asked`: may the function read gradients by name?
    """

    def __init__(self, before: Before) -> None:
        reached, arguments = before.reached, before.arguments
        self.asked = reached.is_named("grad")
        moving = [place for place in reached.places.values() if moves(place)]
        ways = Counter(id(place.value) for place in moving)
        self.fixed = {i: t for i, t in reached.tensors.items() if reached.ways[i] > ways[i]}
        self.places = [place for place in moving if place.key != "_grad"]
        self.places.sort(key=lambda place: place.value is None)  # as Names numbers them
        holders: dict[int, Any] = dict(self.fixed)
        there = [*arguments, *(p.value for p in self.places)]
        for i, t in enumerate(there):
            if t is not None:
                holders.setdefault(id(t), Argument(i))
        found = {id(place.holder): place for place in moving if place.key == "_grad"}
        for i, (t, grad) in enumerate(zip(arguments, before.grads, strict=True)):
            found.setdefault(id(t), StatePlace(t, "_grad", grad, f"argument {i + 1}.grad"))
        self.grads = [place._replace(holder=holders[i]) for i, place in found.items()
                      if i in holders]  # fmt: skip
        # A write to one of these is visible through all fixed Tensors over it.
        buffers = [*(t.buf for t in self.fixed.values()), *reached.buffers]
        self.buffers = {id(buf): buf for buf in buffers}

    def changed(self, arguments: Sequence[Tensor]) -> Iterator[tuple[StatePlace, Any]]:
        """The places where the call has changed or removed the Tensor, each with the new value."""
        tensors = [*arguments, *(place.value for place in self.places)]
        for place in (*self.places, *self.grads):
            now = of_call(place, tensors).get()
            if now is place.value:
                continue
            if now is not None and now.op is not None:
                raise RecordError(
                    f"to record what is kept in {place.path}",
                    "it still has its graph, which a replay does not make",
                    "keep x.detach() there",
                )
            yield place, now

    def sorted(
        self, read: Collection[int]
    ) -> tuple[list[StatePlace], list[StatePlace], list[StatePlace]]:
        """The places from which a replay takes Tensors; the gradients whose numbers no kernel has
        read (their Buffers' ids are not in `read`); and the empty places. Unread gradients do not
        count if only the library's code names them, since it checks for a gradient wherever it
        reads one."""
        each = [*self.places, *self.grads]
        there = [place for place in each if place.value is not None]
        parted: tuple[list[StatePlace], list[StatePlace]] = [], []
        for place in there:
            parted[place.key == "_grad" and id(place.value.buf) not in read].append(place)
        if not self.asked:
            parted[1].clear()
        return *parted, [place for place in each if place.value is None]


class Names:
    """The Tensors of a recorded call: its `arguments`, followed by those read from `places`.
    `buffers`: the Buffers of the fixed Tensors, by id."""

    def __init__(
        self, arguments: Sequence[Tensor], places: Sequence[StatePlace], moving: Moving
    ) -> None:
        self.places = [place._replace(value=None) for place in places]  # keep no Tensor alive
        self.buffers, self._fixed = moving.buffers, moving.fixed
        self._looks = [_look_of(place.value) for place in places]
        tensors = [*arguments, *(place.value for place in places)]
        self._may_meet = bool(places) or any(id(t.buf) in self.buffers for t in arguments)
        self._same = self._which(tensors)

    def tensors(self, arguments: Sequence[Tensor]) -> list[Any]:
        """The corresponding Tensors of another call."""
        found: list[Any] = list(arguments)
        for place in self.places:
            found.append(of_call(place, found).get())
        return found

    def why_not(self, tensors: Sequence[Any]) -> str | None:
        """The difference from the recorded call, or None. (The Call's key is known to be equal.)"""
        if not self._may_meet:
            return None
        found = tensors[len(tensors) - len(self.places) :]
        for place, t, look in zip(self.places, found, self._looks, strict=True):
            if not isinstance(t, Tensor) or _look_of(t) != look:
                return place.path
        if self._which(tensors) != self._same:
            return "which of its Tensors are one and the same"
        return None

    def _which(self, tensors: Sequence[Any]) -> list[Any]:
        """For each Tensor: the first index with the same Tensor, and its id if it is fixed."""
        first: dict[int, int] = {}
        return [
            (first.setdefault(id(t), i), id(t) if id(t) in self._fixed else None)
            for i, t in enumerate(tensors)
        ]


def _look_of(t: Tensor) -> tuple[Any, ...]:
    """Everything visible of a Tensor except its numbers and the location of its memory."""
    buf = t.buf
    return (type(t), t.shape, t.strides, t.offset, len(buf), buf.dtype, buf.device, t.requires_grad,
            t.op is None, hooks_of(t))  # fmt: skip


# ---- the results of a call -----------------------------------------------------------------------


class Made(NamedTuple):
    """A Tensor that a call returns: over `slot`; or `known`, that is an Argument, a Tensor that
    existed before, or an EarlierResult."""

    slot: Slot | None
    walk: Walk = ()
    requires_grad: bool = False
    known: Any = None
    kind: type[Tensor] = Tensor  # its class, unless that adds attributes


def known_to(tensors: Sequence[Any], moving: Moving) -> dict[int, Any]:
    """For each Tensor that existed before, by id, how a replay finds it: an Argument, or itself."""
    known: dict[int, Any] = {}
    for i, t in enumerate(tensors):
        known.setdefault(id(t), Argument(i))
    known.update(moving.fixed)
    return known


def made_again(note: Recorder, known: dict[int, Any], handed_out: Sequence[Tensor]) -> list[Made]:
    """How a replay makes each of these."""
    made = []
    for i, t in enumerate(handed_out):
        if id(t) in known:
            made.append(Made(None, known=known[id(t)]))
            continue
        known[id(t)] = EarlierResult(i)
        offset = t.offset - note.starts.get(id(t.buf), 0)
        walk, kind = (t.shape, t.strides, offset), type(t) if dict_of(t) is None else Tensor
        made.append(Made(note.slot_of(t.buf), walk, t.requires_grad, kind=kind))
    return made
