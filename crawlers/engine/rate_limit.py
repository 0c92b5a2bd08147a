"""Rate limits per server: permissions to send, in evenly spaced slots that are reserved ahead.

A pace grants several slots per call, so that the workers of one survey can share a limit through a
store; a ``RateLimiter`` hands a grant out query by query and lets late slots expire. No server
receives more than 1.05 times its limit in any second, wherever the second begins.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

ZONE_PREFIX = "zone:"
# A permission lapses this long after its time. Whatever is sent then lies at most this far from
# its slot, so a second holds at most 3 % more queries than slots, however workers hang.
LATE_S = 0.03
# Slots are spaced for this much lateness: the rest is for clocks read by different workers, and
# for a process that loses its core between looking at the clock and sending.
_ALLOWANCE_S = 0.04
_OVERSHOOT = 1.05
# The longest reservation, so that a killed worker wastes little of the limit.
AHEAD_S = 2.0
# The most that one grant holds: long enough to ask the store rarely, short enough to waste little.
_GRANT_S = 0.1
_KEPT_KEYS = 10_000
_MOST_UNLIMITED = 1_000
# After a grant that came too late to be used.
_SHORTEST_WAIT_S = 0.0005


class Grant(NamedTuple):
    """``size`` queries: number i may be sent from ``first_at + i * interval_s`` on.

    Each lapses ``LATE_S`` after its time, the last at ``expires_at``; times are those of
    ``time.monotonic``. A size of 0 means: request again at ``first_at``.
    """

    first_at: float
    size: int
    interval_s: float
    expires_at: float


class Pace(Protocol):
    """Gives permissions; safe to share between threads."""

    def reserve(self, key: str, wanted: int) -> Grant:
        """At most ``wanted`` permissions for a server ``127.0.0.1:5300`` or ``zone:a.example``.

        Raises ``Unavailable`` where permissions are kept elsewhere and cannot be had for long.
        """
        ...


class Rates(NamedTuple):
    """Queries per second for each server and each zone; ``None`` is no limit."""

    server_qps: float | None = None
    zone_qps: float | None = None

    def interval_s(self, key: str) -> float:
        """Time between two slots of a key; 0 without a limit."""
        rate = self.zone_qps if key.startswith(ZONE_PREFIX) else self.server_qps
        return spacing_s(rate) if rate else 0.0


def spacing_s(rate_qps: float) -> float:
    """Time between slots such that no second holds more than 1.05 times ``rate_qps``.

    Below 20 queries a second that means one query less than a plain division would allow.
    """
    whole = math.floor(rate_qps * _OVERSHOOT + 1e-9)
    return max(1 / rate_qps, (1 + _ALLOWANCE_S) / max(1, whole) if rate_qps >= 1 else 0.0)


def unlimited(now: float, wanted: int) -> Grant:
    """A grant where nothing is limited."""
    return Grant(now, wanted, 0.0, math.inf)


def grant_at(first_at: float, size: int, interval_s: float) -> Grant:
    """A grant of ``size`` slots from ``first_at`` on."""
    last = first_at + max(0, size - 1) * interval_s
    return Grant(first_at, size, interval_s, last + LATE_S)


class LocalRateLimits:
    """Permissions of one process: the next free slot of each key."""

    def __init__(self, rates: Rates, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rates = rates
        self._monotonic = monotonic
        self._free_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def reserve(self, key: str, wanted: int) -> Grant:
        """The next slots of ``key``; never raises."""
        interval_s = self._rates.interval_s(key)
        with self._lock:
            now = self._monotonic()
            if not interval_s:
                return unlimited(now, wanted)
            # Unreserved slots stay valid for half of the time that a slot may be late.
            first_at = max(self._free_at.get(key, 0.0), now - LATE_S / 2)
            if first_at - now > AHEAD_S:
                return Grant(first_at - AHEAD_S, 0, interval_s, first_at)
            self._drop_expired(now)
            self._free_at[key] = first_at + wanted * interval_s
            return grant_at(first_at, wanted, interval_s)

    def _drop_expired(self, now: float) -> None:
        if len(self._free_at) > _KEPT_KEYS:
            self._free_at = {k: t for k, t in self._free_at.items() if t > now - LATE_S}


class RateLimiter:
    """What one sender does with the permissions of one key; not shared between threads.

    The first grant holds one permission, and each that was used up is followed by one of twice
    the size: a server that is queried once costs the others nothing.
    """

    __slots__ = (
        *("_again_at", "_interval_s", "_key", "_lapsed", "_left", "_monotonic", "_next_at"),
        *("_pace", "_size"),
    )

    def __init__(
        self, pace: Pace, key: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._pace = pace
        self._key = key
        self._monotonic = monotonic
        self._left = self._size = self._lapsed = 0
        self._next_at = self._again_at = self._interval_s = 0.0

    def acquire(self, now: float) -> float:
        """Take one permission: 0 when one query may be sent now, else the seconds to wait.

        ``now`` is a fresh ``time.monotonic``. Raises ``Unavailable`` as the pace does.
        """
        self._drop_lapsed(now)
        if not self._left:
            if now < self._again_at:
                return self._again_at - now
            self._reserve()
            now = self._monotonic()
            self._drop_lapsed(now)
            if not self._left:
                return max(_SHORTEST_WAIT_S, self._again_at - now)
        if now < self._next_at:
            return self._next_at - now
        self._left -= 1
        self._next_at += self._interval_s
        return 0.0

    def acquire_many(self, now: float, wanted: int) -> tuple[int, float]:
        """At most so many permissions that may be used now, or none and the seconds to wait."""
        wait_s = self.acquire(now)
        if wait_s > 0:
            return 0, wait_s
        more = min(wanted - 1, self._left)
        if more > 0 and self._interval_s:
            more = min(more, max(0, math.floor((now - self._next_at) / self._interval_s) + 1))
        self._left -= more
        self._next_at += more * self._interval_s
        return 1 + more, 0.0

    def release(self, n: int) -> None:
        """Give back the last ``n`` permissions, which were not used."""
        self._left += n
        self._next_at -= n * self._interval_s

    def _drop_lapsed(self, now: float) -> None:
        late_s = now - LATE_S - self._next_at
        if self._left and late_s > 0 and self._interval_s:
            lapsed = min(self._left, math.ceil(late_s / self._interval_s))
            self._left -= lapsed
            self._lapsed += lapsed
            self._next_at += lapsed * self._interval_s

    def _reserve(self) -> None:
        most = max(1, int(_GRANT_S / self._interval_s)) if self._interval_s else _MOST_UNLIMITED
        self._size = min(most, max(1, 2 * (self._size - self._lapsed)))
        grant = self._pace.reserve(self._key, self._size)
        self._left, self._lapsed = grant.size, 0
        self._next_at = self._again_at = grant.first_at
        self._interval_s = grant.interval_s


class TotalRateLimiter:
    """The limit of one server below a limit of all servers together: both have to permit a query.

    ``server`` is absent where only the total is limited.
    """

    __slots__ = ("_server", "_total")

    def __init__(self, total: RateLimiter, server: RateLimiter | None) -> None:
        self._total = total
        self._server = server

    def acquire(self, now: float) -> float:
        """As ``RateLimiter.acquire``."""
        return self.acquire_many(now, 1)[1]

    def acquire_many(self, now: float, wanted: int) -> tuple[int, float]:
        """As ``RateLimiter.acquire_many``; what the server may not use is left to others."""
        permitted, wait_s = self._total.acquire_many(now, wanted)
        if self._server is None or not permitted:
            return permitted, wait_s
        used, wait_s = self._server.acquire_many(now, permitted)
        self._total.release(permitted - used)
        return used, wait_s

    def release(self, n: int) -> None:
        """As ``RateLimiter.release``."""
        self._total.release(n)
        if self._server is not None:
            self._server.release(n)


Limiter = RateLimiter | TotalRateLimiter


def await_turn(pace: Pace, key: str, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait until one query may be sent: for a thread with a TCP question or a zone transfer.

    Raises ``Unavailable`` as the pace does.
    """
    gate = RateLimiter(pace, key)
    while (wait_s := gate.acquire(time.monotonic())) > 0:
        sleep(wait_s)
