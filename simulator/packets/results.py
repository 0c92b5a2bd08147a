"""What a simulation gives: arrays by flow and by link, samples, and what it cost."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LinkResults:
    """Shape (links,) each, in the numbering of the network.

    Offered packets are ``accepted`` + ``dropped``; accepted ones were ``delivered``, ``discarded``
    by CoDel or are ``in_flight`` at the end, which includes those that wait. ``busy`` is the share
    of time in transmission, ``wait_s`` the mean time from acceptance to transmission.
    """

    accepted: Counts
    delivered: Counts
    dropped: Counts
    discarded: Counts
    marked: Counts
    in_flight: Counts
    bytes: Counts
    busy: Floats
    wait_s: Floats


@dataclass(frozen=True, slots=True)
class FlowResults:
    """Results by flow, in the order given, shape (flows,).

    ``completion_s`` runs from the start of a flow to the arrival of its last byte, NaN if it did
    not end; ``acknowledged_s`` to the acknowledgement of all bytes. ``bytes`` are those received
    once, after the warm-up; ``early`` packets arrived before one with a smaller number. ``rtts``
    has rows of (time in s, flow, round-trip time in s). ``backlog_bytes`` has a row per sample and
    a column per watched link. ``realised_load`` is the mean busy share of the links from hosts.
    """

    completion_s: Floats
    acknowledged_s: Floats
    bytes: Counts
    sent: Counts
    resent: Counts
    marked: Counts
    dropped: Counts
    timeouts: Counts
    early: Counts
    links: LinkResults
    rtts: Floats
    backlog_bytes: Counts
    duration_s: float
    warm_up_s: float
    realised_load: float
    traversals: int
    events: int
    most_active: int
    most_packets: int
    memory_bytes: int
    cpu_s: float

    @property
    def goodput_bps(self) -> Floats:
        """Bits per second that each flow received from the warm-up to the end of the run."""
        return 8 * self.bytes / max(self.duration_s - self.warm_up_s, 1e-12)


def join_subflows(found: FlowResults, connections: NDArray[np.int32]) -> FlowResults:
    """Results by connection from those by subflow, the rows of a connection one behind the other.

    A connection ends with its last subflow, and does not end if one of them does not; counts are
    sums. ``connections`` has the number of each flow, as ``split_subflows`` gives it.
    """
    first = np.flatnonzero(np.diff(connections, prepend=connections[0] - 1))
    joined: dict[str, Any] = {
        name: np.maximum.reduceat(getattr(found, name), first)
        for name in ("completion_s", "acknowledged_s")
    }
    for name in ("bytes", "sent", "resent", "marked", "dropped", "timeouts", "early"):
        joined[name] = np.add.reduceat(getattr(found, name), first)
    joined["rtts"] = found.rtts.copy()
    joined["rtts"][:, 1] = connections[found.rtts[:, 1].astype(np.int64)]
    return replace(found, **joined)
