"""The target and the result record of a probe run, failures included.

A record travels as JSON from a vantage point; nothing in it depends on a database or a queue.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any


class ProbeStatus(StrEnum):
    """How a run, or one attempt of it, ended."""

    OK = "OK"
    TIMEOUT = "TIMEOUT"
    REFUSED = "REFUSED"  # TCP RST or ICMP port unreachable
    UNREACHABLE = "UNREACHABLE"  # a router, or this machine, knows no way
    RESET = "RESET"  # the connection broke off
    NO_NAME = "NO_NAME"  # the name has no address of the wanted family
    FORBIDDEN = "FORBIDDEN"  # an address that must not be probed
    NOT_PERMITTED = "NOT_PERMITTED"  # this machine does not let us open the socket
    MALFORMED = "MALFORMED"  # a reply that is none, or of the wrong size
    TOO_LARGE = "TOO_LARGE"  # more octets than the limit
    TLS = "TLS"  # no trusted connection
    HTTP = "HTTP"  # an answer with another status than 200
    BUSY = "BUSY"  # another transfer to this target is in progress
    NETWORK = "NETWORK"


@dataclass(frozen=True, slots=True)
class Target:
    """A host name or address to probe, a port, and the address family (0: any, 4 or 6)."""

    host: str
    port: int = 0
    family: int = 0
    path: str = "/"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One packet or exchange; ``rtt_ms`` is there exactly when it was answered as it should be."""

    status: ProbeStatus
    rtt_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Fields of every probe's record; ``at`` is seconds since the epoch (UTC).

    ``address`` is the one address that was checked and used, empty when there was none.
    """

    probe: str
    version: int
    target: Target
    address: str = ""
    at: float
    status: ProbeStatus
    reason: str = ""
    method: str = ""

    @property
    def values(self) -> tuple[float, ...]:
        """The measured values, in the unit of the probe; failures have none."""
        return ()

    @property
    def sent(self) -> int:
        """Packets or exchanges begun."""
        return 1

    @property
    def lost(self) -> int:
        """Of those, how many gave no value."""
        return self.sent - len(self.values)

    def as_json(self) -> dict[str, Any]:
        """The stable JSON form."""
        own = asdict(self)
        return {**own, "values": list(self.values), "sent": self.sent, "lost": self.lost}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips(Outcome):
    """Repeated round trips; those without an answer are counted and left out of the mean."""

    attempts: tuple[Attempt, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(a.rtt_ms for a in self.attempts if a.rtt_ms is not None)

    @property
    def sent(self) -> int:
        return len(self.attempts)

    @property
    def mean_ms(self) -> float | None:
        """Mean of the answered ones, as the study takes it; ``None`` without an answer."""
        return fmean(self.values) if self.values else None


def status_of(attempts: tuple[Attempt, ...]) -> ProbeStatus:
    """OK when one attempt was answered, else what most of them ran into."""
    seen = [a.status for a in attempts]
    if ProbeStatus.OK in seen or not seen:
        return ProbeStatus.OK if seen else ProbeStatus.TIMEOUT
    return max(dict.fromkeys(seen), key=seen.count)
