"""Send batches of paced traceroute packets, and match the reply of each."""

import socket
from collections.abc import Sequence
from typing import Protocol

from core.clock import Clock
from probes.net.deadlines import receive, wait_readable
from probes.packets.hops import Reply
from probes.packets.mda import Send
from probes.packets.traceroute_packets import PacketSocket, sender_of

Place = tuple[int, int]
# Tags are the checksums of datagrams, of which 0 and 0xFFFF mean other things.
_LAST_TAG = 0xFFFE
# Linux gives one address six errors at once and then one a second; later tries wait for that.
_PAUSE_S = (0.0, 0.3, 1.0, 1.0)
# Fewer than one in so many were lost on the way, not kept back by a limit.
_FEW = 4
# An answer may take so many times as long as the slowest so far; never less than so long.
_ROOM, _LEAST_S = 3.0, 0.1


class HopRange(Protocol):
    """The part of a configuration that selects hops and attempts."""

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


def walk(send: Send, reach: HopRange) -> list[Reply]:
    """Trace one flow hop by hop, until the target or too many silent hops; return all replies."""
    replies: list[Reply] = []
    for first in range(reach.first_ttl, reach.max_ttl + 1, reach.window):
        ttls = range(first, min(first + reach.window, reach.max_ttl + 1))
        replies += send([(t, reach.flow) for t in ttls for _ in range(reach.attempts)])
        ends = [r.ttl for r in replies if r.kind not in ("hop", "silent")]
        if ends:
            return [r for r in replies if r.ttl <= min(ends)]
        last_ttl = max((r.ttl for r in replies if r.address), default=reach.first_ttl - 1)
        if ttls[-1] - last_ttl >= reach.silent_hops:
            return [r for r in replies if r.ttl <= last_ttl + reach.silent_hops]
    return replies


class Tracer:
    """Sends packets and matches replies by their tags."""

    def __init__(
        self, wire: PacketSocket, timeout_s: float, interval_s: float, clock: Clock
    ) -> None:
        self._wire, self._clock = wire, clock
        self._timeout_s, self._interval_s = timeout_s, interval_s
        self._tag, self._slowest_s = 0, 0.0
        # Tags of all tries that may still be answered, and of which places nothing has come.
        self._open: dict[int, tuple[int, Place, float]] = {}
        self._wanted: set[int] = set()
        self._found: dict[int, Reply] = {}

    @property
    def source(self) -> str:
        return self._wire.source

    def send(self, places: Sequence[Place]) -> list[Reply]:
        """Send one packet per (hop, flow); raises ``OSError`` when there is no way at all."""
        return self.send_again(places, 1)

    def send_again(self, places: Sequence[Place], attempts: int) -> list[Reply]:
        """The same, and silent places are tried again; a late answer to an early try counts.

        All but the last try are waited for no longer than answers took so far, with space: a lost
        packet would cost the whole time-out otherwise.
        """
        self._open, self._found, self._wanted = {}, {}, set(range(len(places)))
        for number in range(attempts):
            # Where no attempt was answered twice, the hop is silent; where some did, the rest were
            # dropped.
            if not self._wanted or (number > 1 and not self._found):
                break
            self._pause(number, len(places))
            self._try([(i, places[i]) for i in sorted(self._wanted)])
            self._wait(number, attempts)
        silent = (Reply(ttl, flow) for ttl, flow in places)
        return [self._found.get(index, reply) for index, reply in enumerate(silent)]

    def _pause(self, number: int, count: int) -> None:
        """What a router's limit kept back is requested later; a few that were lost, at once."""
        if len(self._wanted) * _FEW >= count:
            pause_s = _PAUSE_S[min(number, len(_PAUSE_S) - 1)]
            self._listen(self._clock.monotonic() + pause_s)

    def _try(self, indexed: Sequence[tuple[int, Place]]) -> None:
        for index, (ttl, flow) in indexed:
            if index not in self._wanted:
                continue
            self._tag = self._tag % _LAST_TAG + 1
            self._open[self._tag] = (index, (ttl, flow), self._clock.monotonic())
            self._wire.send(ttl, flow, self._tag)
            self._listen(self._clock.monotonic() + self._interval_s)

    def _wait(self, number: int, attempts: int) -> None:
        """The whole time-out after the last try, and before a hop counts as silent."""
        began = self._clock.monotonic()
        while True:
            is_last = number == attempts - 1 or (number > 0 and not self._found)
            if not self._receive_ready(began + (self._timeout_s if is_last else self._usual_s())):
                return

    def _usual_s(self) -> float:
        """Return the time-out of all but the last try, from the slowest reply so far."""
        if not self._slowest_s:
            return self._timeout_s
        return min(self._timeout_s, max(_LEAST_S, _ROOM * self._slowest_s))

    def _listen(self, until: float) -> None:
        """Process replies until a deadline, or until none is outstanding."""
        while self._receive_ready(until):
            continue

    def _receive_ready(self, until: float) -> bool:
        """Process pending replies, or wait for the next; return false on time-out or completion."""
        if not self._wanted or not self._open:
            return False
        ready = wait_readable(self._wire.sockets, until, self._clock)
        for sock in ready:
            self._match_reply(sock)
        return bool(ready)

    def _match_reply(self, sock: socket.socket) -> None:
        data, sender, at = receive(sock, self._clock)
        sight = self._wire.read(sock, data, sender_of(sender))
        opened = self._open.pop(sight.tag, None) if sight else None
        if sight is None or opened is None or opened[0] not in self._wanted:
            return
        index, (ttl, flow), left_at = opened
        rtt_s = max(0.0, at - left_at)
        self._slowest_s = max(self._slowest_s, rtt_s)
        self._wanted.discard(index)
        self._found[index] = Reply(ttl, flow, sight.address, rtt_s * 1e3, sight.kind)
