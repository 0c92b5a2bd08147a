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
