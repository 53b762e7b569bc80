"""Gears: how calls of a jitted function are made that cannot be replayed, or never are."""

from __future__ import annotations

import os
import sys
import warnings

from tutor.errors import RecordError

LONGEST = 1024  # calls without an attempt to record
BETWEEN = 15  # calls of those in which nobody looks whether they are known
IN_VAIN = 8  # recordings one after another that were never replayed, before it rests


def say(text: str, warn: bool, frames: int = 5) -> None:
    """TUTOR_DEBUG prints it; without that it is a warning, if any, at the line so many frames up:
    that which calls the jitted function."""
    if os.environ.get("TUTOR_DEBUG"):
        print(f"tutor: {text}", file=sys.stderr)
    elif warn:
        warnings.warn(f"tutor.jit: {text}", stacklevel=frames)


class Eager:
    """Why calls of one kind run as without jit. Each attempt that fails doubles the `rest`, the
    number of calls before the next one: what stood in the way may be gone then."""

    def __init__(self, why: RecordError, before: Eager | None = None) -> None:
        self.why = why
        self.rest: int = min(2 * before.rest, LONGEST) if before else 1
        self.left = self.rest

    def goes_on(self) -> bool:
        """Is this call another one to rest? Counts it."""
        self.left -= 1
        return self.left >= 0


class Attempts:
    """Recordings one after another, without a replay between them. A recording takes as long as
    some fifty steps: after IN_VAIN of them, calls that are not known rest as in `Eager`, until a
    replay shows that it pays."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict  # then there is no rest
        self.count = self.replayed = 0  # how many, and how many replays there were before them
        self.gear: Eager | None = None

    def rest(self, replayed: int) -> bool:
        """Does a call run as without jit, though it could be recorded? Counts it."""
        self._renew(replayed)
        return self.gear is not None and self.gear.goes_on()

    def _renew(self, replayed: int) -> None:
        if replayed != self.replayed:
            self.count, self.replayed, self.gear = 0, replayed, None

    def again(self, name: str, cause: str, replayed: int) -> None:
        """It is to be recorded again. TUTOR_DEBUG says why; without it, one warning tells that it
        is in vain."""
        self._renew(replayed)
        self.count += 1
        say(f"jit records {name} again: {cause}", warn=False)
        if self.count < IN_VAIN:
            return
        why = RecordError(
            f"to record {name}",
            f"{self.count} recordings one after another were never replayed, the last one because "
            f"of this: {cause}",
            "hand over as a Tensor what is another number at each call, and pad or cut batches to "
            "a few sizes",
        )
        if self.count == IN_VAIN and not os.environ.get("TUTOR_DEBUG"):
            how = "is slower than" if self.strict else "mostly runs as"
            say(f"{name} {how} without jit: {why.found}. To do: {why.do}", warn=True)
        self.gear = None if self.strict else Eager(why, self.gear)
