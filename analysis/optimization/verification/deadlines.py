"""The time by which a check has to end."""

import time
from dataclasses import dataclass

from core.errors import NephoscopeError


class UnfinishedCheck(NephoscopeError):
    """A proof was not checked in time; nothing is known of it."""


@dataclass(frozen=True)
class Deadline:
    """A time of the monotonic clock, or None for as long as it takes."""

    until: float | None = None

    def check(self) -> None:
        """Raise UnfinishedCheck when the time has come."""
        if self.until is not None and time.monotonic() > self.until:
            raise UnfinishedCheck("the proof was not checked in time")
