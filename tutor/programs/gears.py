"""Gears: how calls of a jitted function are made that cannot be replayed."""

from __future__ import annotations

from tutor.errors import RecordError

LONGEST = 1024  # calls without an attempt to record


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
