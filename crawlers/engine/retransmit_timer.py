"""Retransmit timer, congestion window and rest of each server, and the rate limit of each zone.

The time-out of a first try follows the smoothed round trip of its server (after RFC 6298).
"""

from dataclasses import dataclass, field
from math import ceil, log

# A first try is given up early, since one lost packet must not hold a batch back; the last tries
# wait for the whole time-out, so a slow server is never taken for a dead one.
_FLOOR_S = 0.06
_STEP = 1.25
_QUIET_TRIES = 20
_ADAPT_EVERY_S, _SHRINK, _GROW, _LEAST_ROOM = 0.1, 0.7, 1.03, 256
_SHORTEST_REST_S, _LONGEST_REST_S = 5.0, 300.0
# A congestion window begins with what fits into the usual receive buffer of a server's socket. At
# its least, one question in flight represents each eighth of the longest time-out of a server that
# answers eight a second.
_FIRST_WINDOW, _LEAST_WINDOW, _WINDOW_STEP = 256, 16, 16
# Resolvers leave some names unanswered, and lines lose packets: that much is no congestion.
_MOST_MISSED, _LEAST_COUNTED, _REMEMBERED = 0.1, 16, 256


@dataclass(slots=True)
class ZoneLimit:
    """When each zone may be queried next: one query each ``1 / rate`` seconds."""

    rate: float
    free_at: dict[str, float] = field(default_factory=dict)

    def reserve(self, zone: str, now: float) -> float:
        """The time from which the next query about ``zone`` may go."""
        if len(self.free_at) > 100_000:
            self.free_at = {z: at for z, at in self.free_at.items() if at > now}
        at = max(now, self.free_at.get(zone, 0.0))
        self.free_at[zone] = at + 1 / self.rate
        return at


@dataclass(slots=True)
class ReceiveWindow:
    """How many questions may be in flight: fewer as soon as replies found no space here.

    A process that does not get its core for a while finds its sockets' buffers full, and asking
    again would fill them again.
    """

    most: int
    size: int = 0
    overflows: int = 0
    due_at: float = 0.0

    def __post_init__(self) -> None:
        self.size = self.most

    def is_due(self, now: float) -> bool:
        return now >= self.due_at

    def adapt(self, now: float, overflows: int) -> None:
        """Record how many replies found no space so far."""
        self.due_at = now + _ADAPT_EVERY_S
        if overflows > self.overflows:
            self.size = max(min(self.most, _LEAST_ROOM), int(self.size * _SHRINK))
        else:
            self.size = min(self.most, int(self.size * _GROW) + 1)
        self.overflows = overflows


@dataclass(slots=True)
class CongestionWindow:
    """How many queries may be unanswered at one server (RFC 8085 section 3.1.1, after RFC 5681).

    It grows with each answer, and is halved, at most once per round trip, where more than a tenth
    of the queries stay without an answer within their time-out.
    """

    most: int
    size: float = 0.0
    answered: int = 0
    missed: int = 0
    reduced_at: float = 0.0
    # When a reply came to a query after its timeout.
    late_at: float = 0.0

    def __post_init__(self) -> None:
        self.size = float(min(self.most, _FIRST_WINDOW))

    def note_answers(self, n: int) -> None:
        """Count answers that came in time."""
        self.answered += n
        if self.size >= self.most or self.missed > _MOST_MISSED / 2 * self.answered:
            return
        # Up to the first reduction the window doubles per round trip, later it grows linearly.
        step = n * _WINDOW_STEP / self.size if self.reduced_at else n
        self.size = min(self.most, self.size + step)

    def was_congested(self, since: float) -> bool:
        """Whether the server has been slow and the window was halved for it."""
        return self.reduced_at > since and self.late_at > since

    def note_missing(self, sent_at: float, now: float, in_flight: int) -> None:
        """Count a query after its timeout; ``in_flight`` are the others still unanswered."""
        if sent_at < self.reduced_at:
            return
        self.missed += 1
        total = self.answered + self.missed
        if self.missed >= _LEAST_COUNTED and self.missed > _MOST_MISSED * total:
            used = min(self.size, in_flight + self.missed)
            self.size = max(min(_LEAST_WINDOW, self.most), used / 2)
            self.reduced_at = now
            self.answered = self.missed = 0
        elif total > max(_REMEMBERED, 2 * self.size):
            # Queries that were sent together time out together: fewer than a window of answers
            # beside them would make a few lost ones of many look like congestion.
            self.answered //= 2
            self.missed //= 2


@dataclass(slots=True)
class RoundTripEstimator:
    """Smoothed round-trip time of one server and the time-outs that follow (after RFC 6298)."""

    limit_s: float
    first_s: float
    mean_s: float = 0.0
    spread_s: float = 0.0

    def learn(self, rtt_s: float) -> None:
        """Record one round trip of a first try."""
        if not self.mean_s:
            self.mean_s, self.spread_s = rtt_s, rtt_s / 2
            return
        self.spread_s += (abs(rtt_s - self.mean_s) - self.spread_s) / 4
        self.mean_s += (rtt_s - self.mean_s) / 8

    def timeout_s(self, tries: int) -> float:
        """How long to wait for the answer to try number ``tries`` (from 0).

        Rounded up to one of few values, so that one queue per value keeps deadlines in order.
        """
        if tries >= 2:
            return self.limit_s
        early = max(_FLOOR_S, 2 * self.mean_s + 4 * self.spread_s) if self.mean_s else self.first_s
        wait_s = early * (4 if tries else 1)
        rounded_s = _FLOOR_S * _STEP ** ceil(log(max(wait_s, _FLOOR_S) / _FLOOR_S, _STEP))
        return min(self.limit_s, rounded_s)


@dataclass(slots=True)
class Health:
    """Whether a server is worth asking: after many silent tries in a row it is left alone.

    The rest doubles each time, from 5 seconds to 5 minutes, and one answer ends it.
    """

    silent: int = 0
    rest_s: float = _SHORTEST_REST_S
    rests_until: float = 0.0

    def note_answer(self) -> None:
        self.silent, self.rest_s, self.rests_until = 0, _SHORTEST_REST_S, 0.0

    def note_silence(self, now: float) -> None:
        self.silent += 1
        if self.silent >= _QUIET_TRIES and now >= self.rests_until:
            self.rests_until = now + self.rest_s
            self.rest_s = min(_LONGEST_REST_S, self.rest_s * 2)

    def rests(self, now: float) -> bool:
        return now < self.rests_until
