"""Packets of traceroutes over UDP, ICMP or TCP: sent from raw sockets, recognised in replies.

Only what load balancers do not look at changes from packet to packet: the UDP checksum, the
sequence number of an echo request (with its checksum held), the TCP sequence number.
"""

import random
import socket
from contextlib import ExitStack
from typing import Any, NamedTuple

from probes.net.ssrf_guard import Endpoint
from probes.packets import headers
from probes.packets.headers import ICMP, ICMP6, TCP, UDP
from probes.packets.raw_syn import packed_addresses, source_of

# The port that traceroutes over UDP have always begun with.
UDP_PORT = 33_434
PROTOCOLS = ("udp", "icmp", "tcp")
_CODES = {
    4: {0: "net", 1: "host", 2: "protocol", 9: "prohibited", 10: "prohibited", 13: "prohibited"},
    6: {0: "net", 1: "prohibited", 3: "host"},
}


class ReceivedReply(NamedTuple):
    """Contents of a received packet: the tag of ours, its sender, and its role."""

    tag: int
    address: str
    kind: str


class PacketSocket:
    """Open raw sockets towards one endpoint; use it as a context, which raises
    ``PermissionError`` where raw sockets are closed and ``OSError`` without a way."""

    def __init__(self, endpoint: Endpoint, protocol: str, first_port: int = 0) -> None:
        self.endpoint, self.protocol = endpoint, protocol
        self._stack = ExitStack()
        self._ports: dict[int, int] = {}
        self._base = random.SystemRandom().getrandbits(16)
        self._port = endpoint.port or (UDP_PORT if protocol == "udp" else 80)
        self.source = ""

    def __enter__(self) -> "PacketSocket":
        with ExitStack() as stack:
            own = ICMP if self.endpoint.family == 4 else ICMP6
            self._errors = stack.enter_context(self._raw(own))
            number = {"udp": UDP, "icmp": own, "tcp": TCP}[self.protocol]
            self._out = self._errors if number == own else stack.enter_context(self._raw(number))
            self.source = source_of(self.endpoint)
            self._ends = packed_addresses(self.endpoint, self.source)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def sockets(self) -> list[socket.socket]:
        """What replies come in by."""
        return [self._errors] if self._out is self._errors else [self._errors, self._out]

    def send(self, ttl: int, flow: int, tag: int) -> None:
        """Send one packet; raises ``OSError``."""
        level, option = (
            (socket.IPPROTO_IP, socket.IP_TTL)
            if self.endpoint.family == 4
            else (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS)
        )
        self._out.setsockopt(level, option, ttl)
        self._out.sendto(self._packet(flow, tag), (self.endpoint.address, 0))

    def read(self, sock: socket.socket, data: bytes, sender: str) -> ReceivedReply | None:
        """Match a packet to one of ours; nothing when it is about something else."""
        family = self.endpoint.family
        body = headers.strip_ipv4(data) if family == 4 else data
        if sock is not self._errors:
            return self._direct(body, sender)
        quote = headers.read_quote(family, body)
        if quote is not None:
            return self._quoted(quote, sender)
        echo = headers.read_echo(family, body) if self.protocol == "icmp" else None
        if echo is None or sender != self.endpoint.address or echo[0] != self._base:
            return None
        return ReceivedReply(echo[1], sender, "target")

    def _raw(self, protocol: int) -> socket.socket:
        return socket.socket(self.endpoint.domain, socket.SOCK_RAW, protocol)

    def _packet(self, flow: int, tag: int) -> bytes:
        if self.protocol == "icmp":
            payload = headers.balanced_payload(tag, flow)
            return headers.echo_request(self.endpoint.family, self._base, tag, payload)
        ports = (self._source_port(flow), self._port)
        if self.protocol == "udp":
            return headers.udp_datagram(self._ends, ports, tag)
        return headers.syn_segment(self._ends, ports, self._base << 16 | tag)

    def _source_port(self, flow: int) -> int:
        """A port that is ours for as long as the flow is used."""
        if flow not in self._ports:
            kind = socket.SOCK_DGRAM if self.protocol == "udp" else socket.SOCK_STREAM
            held = self._stack.enter_context(socket.socket(self.endpoint.domain, kind))
            held.bind((self.source, 0))
            self._ports[flow] = held.getsockname()[1]
        return self._ports[flow]

    def _quoted(self, quote: headers.Quote, sender: str) -> ReceivedReply | None:
        tag = self._tag(quote)
        if tag is None:
            return None
        family = self.endpoint.family
        if quote.type == headers.TIME_EXCEEDED[family]:
            # The target may itself be a router that sends this error about a packet to it.
            return ReceivedReply(tag, sender, "hop")
        if sender == self.endpoint.address and quote.code == headers.PORT_UNREACHABLE[family]:
            return ReceivedReply(tag, sender, "target")
        return ReceivedReply(tag, sender, _CODES[family].get(quote.code, "other"))

    def _tag(self, quote: headers.Quote) -> int | None:
        """The number that we gave the quoted packet, if it is ours."""
        first, second, third, fourth = (
            int.from_bytes(quote.transport[i : i + 2], "big") for i in (0, 2, 4, 6)
        )
        if quote.destination != self._ends[1]:
            return None
        if self.protocol == "icmp":
            return fourth if third == self._base else None
        if first not in self._ports.values() or second != self._port:
            return None
        if self.protocol == "udp":
            return fourth if quote.protocol == UDP else None
        return fourth if quote.protocol == TCP and third == self._base else None

    def _direct(self, body: bytes, sender: str) -> ReceivedReply | None:
        """The target's own answer over the probed protocol."""
        if sender != self.endpoint.address or self.protocol != "tcp":
            return None
        segment = headers.read_segment(body)
        if segment is None or segment.source_port != self._port:
            return None
        before = (segment.acknowledged - 1) & 0xFFFFFFFF
        if segment.port not in self._ports.values() or before >> 16 != self._base:
            return None
        return ReceivedReply(before & 0xFFFF, sender, "target")


def sender_of(address: Any) -> str:
    """The plain text of a sender's address."""
    return str(address[0]).partition("%")[0]
