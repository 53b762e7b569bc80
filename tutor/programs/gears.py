"""Gears: how a jitted function runs calls that cannot be replayed, or never are."""

from __future__ import annotations

import os
import sys
import warnings

from tutor.errors import RecordError

LONGEST = 1024  # calls without an attempt to record
BETWEEN = 15  # of these, calls in a row without a look at whether they are known
IN_VAIN = 8  # recordings in a row that were never replayed, before it rests


def say(text: str, warn: bool, frames: int = 5) -> None:
    """Print the text under TUTOR_DEBUG; otherwise, if `warn`, issue a warning at the line `frames`
    frames up, which calls the jitted function."""
    if os.environ.get("TUTOR_DEBUG"):
        print(f"tutor: {text}", file=sys.stderr)
    elif warn:
        warnings.warn(f"tutor.jit: {text}", stacklevel=frames)


class Eager:
    """Why calls of one kind run as without jit. Each failed attempt doubles `rest`, the number of
    calls before the next attempt, by when the obstacle may be gone."""

    def __init__(self, why: RecordError, before: Eager | None = None) -> None:
        self.why = why
        self.rest: int = min(2 * before.rest, LONGEST) if before else 1
        self.left = self.rest

    def goes_on(self) -> bool:
        """Does this call still rest? Counts it."""
        self.left -= 1
        return self.left >= 0


class Attempts:
    """Consecutive recordings without a replay between them. A recording takes about as long as
    fifty steps, so after IN_VAIN of them, unknown calls rest as in `Eager`, until a replay shows
    that recording pays."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict  # then it never rests
        self.count = self.replayed = 0  # recordings, and the number of replays before them
        self.gear: Eager | None = None

    def rest(self, replayed: int) -> bool:
        """Does this call run as without jit, though it could be recorded? Counts it."""
        self._renew(replayed)
        return self.gear is not None and self.gear.goes_on()

    def _renew(self, replayed: int) -> None:
        if replayed != self.replayed:
            self.count, self.replayed, self.gear = 0, replayed, None

    def again(self, name: str, cause: str, replayed: int) -> None:
        """Note that the function is to be recorded again. TUTOR_DEBUG prints why; otherwise a
        single warning says that recording does not pay."""
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
