"""Sockets of an engine: connected ones for its own servers, shared ones for all others.

The kernel drops what comes to a connected socket from any other source; on a shared socket the
source of each packet chooses the channel. So a reply can only meet questions that were sent to
where it came from.
"""

import contextlib
import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from crawlers.engine.config import Question
from crawlers.engine.nameservers import Server
from crawlers.engine.rate_limit import Limiter
from crawlers.engine.retransmit_timer import CongestionWindow, Health, RoundTripEstimator
from crawlers.engine.udp_batch import LONGEST_REPLY, open_datagrams

if TYPE_CHECKING:
    from crawlers.engine.retry import PendingQuery

# When queries were sent, their ids and their channel.
Silence = tuple[float, Sequence[bytes], "Channel"]
# The question section as it was sent, when, and the question or slot that waits.
Waiting = tuple[bytes, float, "Question | PendingQuery"]
# What one small packet takes of a socket's buffer, in the kernel's own accounting.
_OCTETS_PER_REPLY = 2_048
_LEAST_BUFFER_OCTETS = 4 << 20
_SO_RCVBUFFORCE = 33
# Linux's memory figures of a socket: nine numbers, the last of them packets that found no space.
_SO_MEMINFO, _MEMINFO = 55, struct.Struct("=9I")
_PER_TURN = 64


class Peer:
    """One server as the engine sees it: sockets, round-trip times, health, limit.

    ``held`` are slots that wait for space in ``window``, or for a permission, which ``gate`` gives
    not before ``opens_at``.
    """

    __slots__ = (
        *(
            "channels",
            "compiled_in_flight",
            "edns",
            "gate",
            "health",
            "held",
            "is_own",
            "label",
            "opens_at",
            "row",
            "rtt",
        ),
        *("server", "turn", "window"),
    )

    def __init__(
        self,
        server: Server,
        rtt: RoundTripEstimator,
        gate: Limiter | None,
        window: CongestionWindow,
    ) -> None:
        self.server = server
        self.label = str(server)
        self.rtt = rtt
        self.health = Health()
        self.gate = gate
        self.window = window
        # One of the engine's own servers, in place of one that was found on the way.
        self.is_own = False
        self.held: deque[PendingQuery] = deque()
        self.opens_at = 0.0
        self.edns = True
        # Queries that a compiled loop has in flight at this server.
        self.compiled_in_flight = 0
        # Its row in the memory of a compiled loop with found servers, 0 for none.
        self.row = 0
        self.channels: list[Channel] = []
        self.turn = 0

    def next_channel(self) -> "Channel":
        """The peer's sockets in turn."""
        self.turn += 1
        return self.channels[self.turn % len(self.channels)]

    @property
    def in_flight(self) -> int:
        """Queries that are waited for within their first time-out."""
        return self.compiled_in_flight + sum([len(channel.pending) for channel in self.channels])

    @property
    def free_slots(self) -> int:
        """How many queries may be sent now."""
        return int(self.window.size) - self.in_flight

    def acquire(self, now: float) -> bool:
        """Get the permission for one query, where the server has a limit."""
        if self.gate is None:
            return True
        wait_s = self.gate.acquire(now) if now >= self.opens_at else 0.0
        if wait_s > 0:
            self.opens_at = now + wait_s
        return now >= self.opens_at


class Channel:
    """One socket towards one peer; ``pending`` maps the id of a query to what waits for it.

    ``overdue`` are queries after their first timeout; their replies are still accepted.
    """

    __slots__ = ("overdue", "peer", "pending", "send", "send_batch")

    def __init__(
        self,
        peer: Peer,
        send: Callable[[bytes], int],
        send_batch: Callable[[Sequence[bytes]], int],
    ) -> None:
        self.peer = peer
        self.send = send
        self.send_batch = send_batch
        self.pending: dict[bytes, Waiting] = {}
        self.overdue: dict[bytes, tuple[bytes, float, PendingQuery]] = {}


class Sockets:
    """All open sockets of one engine."""

    def __init__(self, per_server: int, window: int) -> None:
        self.per_server = per_server
        self._buffer_octets = max(_LEAST_BUFFER_OCTETS, window * _OCTETS_PER_REPLY // per_server)
        self._datagrams = open_datagrams()
        self._poll = select.epoll()
        self._connected: dict[int, tuple[socket.socket, Channel]] = {}
        self._shared: dict[int, tuple[socket.socket, dict[tuple[str, int], Channel]]] = {}
        self._families: dict[int, list[int]] = {}

    def connect(self, peer: Peer) -> None:
        """Open the peer's own sockets."""
        for _ in range(self.per_server):
            sock = self._open(_family(peer.server))
            sock.connect((peer.server.address, peer.server.port))
            channel = Channel(peer, sock.send, partial(self._datagrams.send, sock))
            peer.channels.append(channel)
            self._connected[sock.fileno()] = (sock, channel)

    def share(self, peer: Peer) -> None:
        """Give the peer a place on the sockets that all found servers share."""
        family = _family(peer.server)
        where = (peer.server.address, peer.server.port)
        for number in self.open_shared(family):
            sock, channels = self._shared[number]
            send = _sender(sock, where)
            channel = channels[where] = Channel(peer, send, partial(_send_each, send))
            peer.channels.append(channel)

    def open_shared(self, family: int) -> list[int]:
        """File descriptors of the sockets that all found servers of a family share."""
        if family not in self._families:
            opened = [self._open(family) for _ in range(self.per_server)]
            self._shared.update({s.fileno(): (s, {}) for s in opened})
            self._families[family] = [s.fileno() for s in opened]
        return self._families[family]

    def shared_channel(self, number: int, where: tuple[str, int]) -> "Channel | None":
        """The channel of a shared socket for packets from an address, if known."""
        return self._shared[number][1].get(where)

    def remove(self, peer: Peer) -> None:
        """Take a shared peer's place away."""
        where = (peer.server.address, peer.server.port)
        for _, channels in self._shared.values():
            channels.pop(where, None)

    def _open(self, family: int) -> socket.socket:
        sock = socket.socket(family, socket.SOCK_DGRAM)
        sock.setblocking(False)
        try:
            sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, self._buffer_octets)
        except OSError:
            # Only root may go beyond the system's limit.
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._buffer_octets)
        self._poll.register(sock.fileno(), select.EPOLLIN)
        return sock

    def receive(self, wait_s: float) -> Iterator[tuple[Channel | None, list[bytes]]]:
        """Packets that arrived, by channel (none: from a source that was not asked)."""
        for number, _ in self._poll.poll(wait_s):
            yield from self.receive_from(number)

    def receive_from(self, number: int) -> Iterator[tuple["Channel | None", list[bytes]]]:
        """The same from one socket, without waiting."""
        if number in self._connected:
            sock, channel = self._connected[number]
            yield channel, self._datagrams.receive(sock)
        elif number in self._shared:
            yield from _sort(*self._shared[number])

    def receive_shared(self) -> Iterator[tuple[Channel | None, list[bytes]]]:
        """The same from sockets that found servers share, without waiting."""
        for sock, channels in self._shared.values():
            yield from _sort(sock, channels)

    def connected(self) -> list[tuple[int, Channel]]:
        """File descriptors of the engine's own servers, with their channels."""
        return [(number, channel) for number, (_, channel) in self._connected.items()]

    def descriptors(self) -> list[int]:
        """File descriptors of all open sockets."""
        return [*self._connected, *self._shared]

    def count_overflows(self) -> int:
        """Packets that arrived and found no space, since the sockets were opened; 0 if unknown."""
        total = 0
        for sock, _ in [*self._connected.values(), *self._shared.values()]:
            try:
                figures = sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
                total += _MEMINFO.unpack(figures)[-1]
            except (OSError, struct.error):
                return 0
        return total

    def channels(self) -> Iterator[Channel]:
        for _, channel in self._connected.values():
            yield channel
        for _, channels in self._shared.values():
            yield from channels.values()

    def close(self) -> None:
        for sock, _ in [*self._connected.values(), *self._shared.values()]:
            sock.close()
        self._connected.clear()
        self._shared.clear()
        self._poll.close()


def _family(server: Server) -> int:
    return socket.AF_INET6 if server.is_ipv6 else socket.AF_INET


def _sender(sock: socket.socket, where: tuple[str, int]) -> Callable[[bytes], int]:
    sendto = sock.sendto
    return lambda packet: sendto(packet, where)


def _send_each(send: Callable[[bytes], int], packets: Sequence[bytes]) -> int:
    for sent, packet in enumerate(packets):
        try:
            send(packet)
        except OSError:
            return sent
    return len(packets)


def _sort(
    sock: socket.socket, channels: dict[tuple[str, int], Channel]
) -> Iterator[tuple[Channel | None, list[bytes]]]:
    by_source: dict[tuple[str, int], list[bytes]] = {}
    for _ in range(_PER_TURN):
        try:
            packet, source = sock.recvfrom(LONGEST_REPLY)
        except BlockingIOError:
            break
        except OSError:
            continue
        by_source.setdefault(source[:2], []).append(packet)
    for where, packets in by_source.items():
        yield channels.get(where), packets
