"""Can a call be replayed? Only if it changed nothing but Tensors and read nothing unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tutor.errors import RecordError
from tutor.programs.captured_state import Reached
from tutor.programs.guards import StatePlace, shown
from tutor.programs.kinds import is_same
from tutor.programs.ran import SCAFFOLDING, Ran, of_numpy


def check_unchanged(before: Reached, moves: Callable[[StatePlace], bool]) -> None:
    """RecordError if the call changed anything but a Tensor, which a replay would not repeat."""
    for place in before.places.values():
        now = place.get()
        if is_same(now, place.value) or moves(place):
            continue
        raise RecordError(
            f"to record a call that changes {place.path}",
            f"it was {shown(place.value)}, and is {shown(now)} now; a replay runs no Python",
            "change it outside of the jitted function, or keep it in a Tensor",
        )
    guards: list[Any] = [*before.keys.values(), *before.things.values(), *before.contents.values()]
    for guard in guards:
        if (path := guard.changed()) is not None:
            raise RecordError(
                f"to record a call that puts something into {guard.path} or takes it away",
                f"{path} is not what it was before; a replay runs no Python",
                "return the Tensor, and keep it outside of the jitted function",
            )


def check_known(after: Reached, ran: Ran) -> None:
    """RecordError if the call read something that cannot be checked for changes."""
    for where, why in (*ran.unknown, *after.unknown.items(), *_unread(after, ran)):
        raise RecordError(
            f"to replay what {where} gives",
            f"it {why}",
            "read it outside of the jitted function, and hand over what it gave",
        )


def _unread(reached: Reached, ran: Ran) -> Iterator[tuple[str, str]]:
    """Code that ran although no name leads to it: its location, and the message."""
    for key, (code, module) in ran.codes.items():
        if key not in reached.codes and not (module in SCAFFOLDING or of_numpy(module)):
            place = f"{code.co_filename}:{code.co_firstlineno}"
            yield place, f"{code.co_qualname} ran, and no name leads to it"
