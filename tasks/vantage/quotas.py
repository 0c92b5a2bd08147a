"""What a vantage point may do: probes a second, bytes a day, hours of the day; kept on the spot.

The limits come from the site and are kept here too, so that no scheduler's mistake exceeds them.
"""

import json
import math
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.clock import Clock, SystemClock
from core.errors import BadInput, NephoscopeError

# Half a second's worth may go at once: a ping of five packets is one thing.
_BURST_S = 0.5


class LimitReached(NephoscopeError):
    """The vantage point may do no more now; ``field`` names the limit."""

    permanent = False

    def __init__(self, message: str, field: str) -> None:
        self.field = field
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Limits:
    """Probes (packets, requests, questions) a second; bytes a UTC day; hours [from, to) in UTC.

    Hours that end before they begin go over midnight; 0 to 24 is always.
    """

    probes_per_s: float = 200.0
    bytes_per_day: int = 10_000_000_000
    from_hour: int = 0
    to_hour: int = 24

    def as_json(self) -> dict[str, Any]:
        """The stable JSON form."""
        return asdict(self)

    def allows_hour(self, hour: int) -> bool:
        """Whether anything may be measured in an hour of the day."""
        if self.from_hour < self.to_hour:
            return self.from_hour <= hour < self.to_hour
        return hour >= self.from_hour or hour < self.to_hour


def limits_of(values: Mapping[str, Any]) -> Limits:
    """Parse limits from JSON, with defaults for missing fields; raises ``BadInput``."""
    unknown = set(values) - set(Limits.__slots__)
    if unknown:
        raise BadInput(f"no such limit: {', '.join(sorted(unknown))}", field="limits")
    limits = Limits(**values)
    checks = {
        "probes_per_s": _is_number(limits.probes_per_s) and 0 < limits.probes_per_s <= 100_000,
        "bytes_per_day": _is_number(limits.bytes_per_day) and 0 <= limits.bytes_per_day <= 10**15,
        "from_hour": limits.from_hour in range(24),
        "to_hour": limits.to_hour in range(25) and limits.to_hour != limits.from_hour,
    }
    for name, right in checks.items():
        if not right:
            raise BadInput(f"{getattr(limits, name)!r} cannot be; see {_HINTS[name]}", field=name)
    return limits


_HINTS = {
    "probes_per_s": "probes a second: more than 0, at most 100,000",
    "bytes_per_day": "bytes a day: 0 or more",
    "from_hour": "hours in UTC: 0 to 23",
    "to_hour": "hours in UTC: 0 to 24, other than the first hour",
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


class Budget:
    """Keeps limits in one process; what was spent today outlives it in a file."""

    def __init__(
        self, limits: Limits, path: Path | None = None, clock: Clock | None = None
    ) -> None:
        self.limits = limits
        self._path = path
        self._clock: Clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._free_at = self._clock.monotonic()
        self._day, self._spent = self._read()

    def spend(self, probes: int = 1, n_bytes: int = 0) -> None:
        """Wait until so much may be sent, and count it; raises ``LimitReached``.

        ``n_bytes`` is the most that a transfer may take; ``refund`` returns the rest.
        """
        with self._lock:
            self._check_hour()
            self._count(n_bytes)
            wait_s = self._reserve(probes)
        if wait_s > 0:
            self._clock.sleep(wait_s)

    def refund(self, n_bytes: int) -> None:
        """Return bytes that were counted and not used."""
        with self._lock:
            self._count(-n_bytes)

    @property
    def spent_bytes(self) -> int:
        """Bytes of this UTC day."""
        with self._lock:
            self._count(0)
            return self._spent

    def _check_hour(self) -> None:
        hour = self._clock.now().hour
        if not self.limits.allows_hour(hour):
            raise LimitReached(
                f"nothing is measured here at {hour}:00 UTC, only from "
                f"{self.limits.from_hour}:00 to {self.limits.to_hour}:00",
                "hours",
            )

    def _count(self, n_bytes: int) -> None:
        today = self._clock.now().date().isoformat()
        if today != self._day:
            self._day, self._spent = today, 0
        if n_bytes > 0 and self._spent + n_bytes > self.limits.bytes_per_day:
            raise LimitReached(
                f"{self._spent:,} of {self.limits.bytes_per_day:,} bytes of today are used",
                "bytes_per_day",
            )
        self._spent = max(0, self._spent + n_bytes)
        if n_bytes and self._path:
            self._path.write_text(json.dumps([self._day, self._spent]))

    def _reserve(self, probes: int) -> float:
        now = self._clock.monotonic()
        since = max(self._free_at, now - _BURST_S)
        self._free_at = since + probes / self.limits.probes_per_s
        return max(0.0, since - now)

    def _read(self) -> tuple[str, int]:
        try:
            day, spent = json.loads((self._path or Path()).read_text())
            return str(day), int(spent)
        except (OSError, ValueError, TypeError):
            return "", 0
