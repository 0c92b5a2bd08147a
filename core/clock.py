"""Time is injected, so that a test can set it."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Wall time in UTC and a monotonic second counter."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class BootTimeClock(SystemClock):
    """The same, but the counter includes time asleep, where the system provides that."""

    def monotonic(self) -> float:
        return time.clock_gettime(_BOOT)


_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class FakeClock:
    """A clock that moves only by explicit calls."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2013, 3, 29, tzinfo=UTC)
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._now + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        self._elapsed += seconds
