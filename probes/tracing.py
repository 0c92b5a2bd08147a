"""Batches of traceroute packets go out at a pace; the reply of each comes back in their order."""

from collections.abc import Sequence
from typing import Protocol

from core.clock import Clock
from probes.hops import Reply
from probes.mda import Send
from probes.trace_packets import Wire, sender_of
from probes.waiting import receive, wait_readable

Place = tuple[int, int]
# Tags are the checksums of datagrams, of which 0 and 0xFFFF mean other things.
_LAST_TAG = 0xFFFE
# Linux gives one address six errors at once and then one a second; later tries wait for that.
_PAUSE_S = (0.0, 0.3, 1.0, 1.0)


class Reach(Protocol):
    """What of a configuration says which hops are asked."""

    @property
    def first_ttl(self) -> int: ...
    @property
    def max_ttl(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def attempts(self) -> int: ...
    @property
    def silent_hops(self) -> int: ...
    @property
    def flow(self) -> int: ...


def walk(send: Send, reach: Reach) -> list[Reply]:
    """All replies of one flow, hop after hop, until the target or too many silent hops."""
    replies: list[Reply] = []
    for first in range(reach.first_ttl, reach.max_ttl + 1, reach.window):
        ttls = range(first, min(first + reach.window, reach.max_ttl + 1))
        replies += send([(t, reach.flow) for t in ttls for _ in range(reach.attempts)])
        ends = [r.ttl for r in replies if r.kind not in ("hop", "silent")]
        if ends:
            return [r for r in replies if r.ttl <= min(ends)]
        heard = max((r.ttl for r in replies if r.address), default=reach.first_ttl - 1)
        if ttls[-1] - heard >= reach.silent_hops:
            return [r for r in replies if r.ttl <= heard + reach.silent_hops]
    return replies


class Tracer:
    """Sends packets and matches what comes in by their tags."""

    def __init__(self, wire: Wire, timeout_s: float, interval_s: float, clock: Clock) -> None:
        self._wire, self._clock = wire, clock
        self._timeout_s, self._interval_s = timeout_s, interval_s
        self._tag = 0
        self._open: dict[int, tuple[int, Place, float]] = {}
        self._found: dict[int, Reply] = {}

    @property
    def source(self) -> str:
        return self._wire.source

    def send(self, places: Sequence[Place]) -> list[Reply]:
        """Send one packet per (hop, flow); raises ``OSError`` when there is no way at all."""
        self._open, self._found = {}, {}
        for index, (ttl, flow) in enumerate(places):
            self._tag = self._tag % _LAST_TAG + 1
            self._open[self._tag] = (index, (ttl, flow), self._clock.monotonic())
            self._wire.send(ttl, flow, self._tag)
            self._listen(self._clock.monotonic() + self._interval_s)
        self._listen(self._clock.monotonic() + self._timeout_s)
        silent = (Reply(ttl, flow) for ttl, flow in places)
        return [self._found.get(index, reply) for index, reply in enumerate(silent)]

    def send_again(self, places: Sequence[Place], attempts: int) -> list[Reply]:
        """The same, and silent places are tried again, later each time."""
        replies = self.send(places)
        for number in range(1, attempts):
            silent = [i for i, r in enumerate(replies) if r.address is None]
            # Where nobody answered, the hop is silent; where some did, the rest were dropped.
            if not silent or (number > 1 and len(silent) == len(places)):
                break
            self._clock.sleep(_PAUSE_S[min(number, len(_PAUSE_S) - 1)])
            for index, reply in zip(silent, self.send([places[i] for i in silent]), strict=True):
                replies[index] = reply
        return replies

    def _listen(self, until: float) -> None:
        """Take in replies until a moment comes, or nothing is open any more."""
        while self._open:
            ready = wait_readable(self._wire.sockets, until, self._clock)
            if not ready:
                return
            for sock in ready:
                data, sender, at = receive(sock, self._clock)
                sight = self._wire.read(sock, data, sender_of(sender))
                opened = self._open.pop(sight.tag, None) if sight else None
                if sight and opened:
                    index, (ttl, flow), left_at = opened
                    rtt_ms = max(0.0, at - left_at) * 1e3
                    self._found[index] = Reply(ttl, flow, sight.address, rtt_ms, sight.kind)
