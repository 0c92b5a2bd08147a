"""How fast one server is asked."""

from dataclasses import dataclass


@dataclass(slots=True)
class TokenBucket:
    """At most ``rate`` queries a second, with bursts of a twentieth of a second."""

    rate: float
    tokens: float = 1.0
    filled_at: float = 0.0

    def take(self, now: float) -> bool:
        """Take one token if there is one; ``now`` is a monotonic time in seconds."""
        burst = max(1.0, self.rate / 20)
        if self.filled_at:
            self.tokens = min(burst, self.tokens + (now - self.filled_at) * self.rate)
        self.filled_at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


# A first try is given up early, since one lost packet must not hold a batch back; the last tries
# wait for the whole time-out, so a slow server is never taken for a dead one.
_FLOOR_S = 0.06


@dataclass(slots=True)
class RoundTrip:
    """Smoothed round-trip time of one server and the time-outs that follow (after RFC 6298)."""

    limit_s: float
    first_s: float
    mean_s: float = 0.0
    spread_s: float = 0.0

    def learn(self, rtt_s: float) -> None:
        """Take in one round trip of a first try."""
        if not self.mean_s:
            self.mean_s, self.spread_s = rtt_s, rtt_s / 2
            return
        self.spread_s += (abs(rtt_s - self.mean_s) - self.spread_s) / 4
        self.mean_s += (rtt_s - self.mean_s) / 8

    def timeout_s(self, tries: int) -> float:
        """How long to wait for the answer to try number ``tries`` (from 0)."""
        if tries >= 2:
            return self.limit_s
        early = max(_FLOOR_S, 2 * self.mean_s + 4 * self.spread_s) if self.mean_s else self.first_s
        return min(self.limit_s, early * (4 if tries else 1))
