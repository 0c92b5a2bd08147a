"""Packets as connections: rows as Zeek's logs have them, made without Zeek.

What it cannot see is more than what Zeek sees: certificates, names in QUIC, requests that do not
begin a segment, protocols on unusual ports. See ``docs/methods/traffic.md``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from cartography.traffic.address_cache import write_packed
from cartography.traffic.client_hello import (
    MOST_BYTES,
    is_client_hello,
    parse_host_header,
    parse_server_name,
)
from cartography.traffic.readers.frames import ICMP, ICMP6, TCP, UDP, Segment, read_segment
from cartography.traffic.readers.line_blocks import Source
from cartography.traffic.readers.log_kinds import FIELDS
from cartography.traffic.readers.pcap import read_packets

_TRANSPORTS = {TCP: "tcp", UDP: "udp", ICMP: "icmp", ICMP6: "icmp"}
_FIN, _SYN, _RST, _ACK = 1, 2, 4, 16
# As long as Zeek waits for more of a connection.
_IDLE_S = {TCP: 300.0, UDP: 60.0}
_OTHER_IDLE_S = 60.0
# Rows that are handed on together, and packets between two looks for connections gone silent.
_BATCH = 20_000
_EXPIRY_PACKETS = 100_000
_DNS = 53
# More at once are a scan or a flood: then all are ended, and what continues counts as another.
_MOST_OPEN = 200_000

Ends = tuple[bytes, int, bytes, int]


@dataclass(slots=True)
class Session:
    """One connection so far; the first end of ``ends`` opened it."""

    uid: str
    ends: Ends
    protocol: int
    first_s: float
    last_s: float
    packets: list[int] = field(default_factory=lambda: [0, 0])
    ip_bytes: list[int] = field(default_factory=lambda: [0, 0])
    payload_bytes: list[int] = field(default_factory=lambda: [0, 0])
    hosts: list[str] = field(default_factory=list)
    server_name: str | None = None
    has_hello: bool = False
    hello: bytearray | None = None
    next_sequence: int = 0
    is_over: bool = False

    def add(self, at_s: float, segment: Segment) -> None:
        """Count a packet, and read the client's handshake."""
        side = 0 if (segment.source, segment.source_port) == self.ends[:2] else 1
        self.last_s = max(self.last_s, at_s)
        self.packets[side] += 1
        self.ip_bytes[side] += segment.ip_bytes
        self.payload_bytes[side] += segment.payload_bytes
        if segment.protocol == TCP:
            self.is_over = self.is_over or bool(segment.flags & (_FIN | _RST))
            if side == 0 and segment.payload:
                self._parse_first_payload(segment)

    def _parse_first_payload(self, segment: Segment) -> None:
        payload = segment.payload
        if self.hello is not None:
            if segment.sequence == self.next_sequence:
                self._add_hello_bytes(segment)
        elif not self.has_hello and is_client_hello(payload):
            self.has_hello, self.hello = True, bytearray()
            self._add_hello_bytes(segment)
        elif not self.has_hello:
            host = parse_host_header(payload)
            if host is not None:
                self.hosts.append(host)

    def _add_hello_bytes(self, segment: Segment) -> None:
        """Gather a hello until it is whole."""
        assert self.hello is not None
        self.hello += segment.payload
        self.next_sequence = (segment.sequence + len(segment.payload)) & 0xFFFFFFFF
        self.server_name = parse_server_name(bytes(self.hello))
        if self.server_name is not None or len(self.hello) > MOST_BYTES:
            self.hello = None

    @property
    def service(self) -> str | None:
        if self.has_hello:
            return "ssl"
        if self.hosts:
            return "http"
        return "dns" if self.protocol == UDP and _DNS in (self.ends[1], self.ends[3]) else None


class Sessions:
    """The connections of a capture; ``number`` distinguishes it from others of the same import."""

    def __init__(self, number: int = 0) -> None:
        self._number = number
        self._open: dict[tuple[int, Ends], Session] = {}
        self._ended: list[Session] = []
        self._count = 0

    def read(self, source: Source) -> Iterator[tuple[str, pa.Table]]:
        """Kinds and rows as text, as reading of logs gives them; packets are the lines."""
        number = 0
        for number, packet in enumerate(read_packets(source), 1):
            segment = read_segment(packet)
            if isinstance(segment, str):
                source.tally.add(segment, [number])
                continue
            self._add_packet(packet.at_s, segment)
            if number % _EXPIRY_PACKETS == 0:
                self._expire_idle(packet.at_s)
            if len(self._ended) >= _BATCH:
                yield from self._drain()
        self._ended += self._open.values()
        self._open = {}
        yield from self._drain()

    def _add_packet(self, at_s: float, segment: Segment) -> None:
        there = segment.source, segment.source_port, segment.target, segment.target_port
        back = there[2:] + there[:2]
        key = segment.protocol, min(there, back)
        session = self._open.get(key)
        if session is not None and _starts_new_session(session, at_s, segment):
            self._ended.append(session)
            session = None
        if session is None:
            self._count += 1
            ends = back if _is_reply(segment) else there
            session = Session(f"P{self._number}.{self._count}", ends, segment.protocol, at_s, at_s)
            self._open[key] = session
        session.add(at_s, segment)

    def _expire_idle(self, now_s: float) -> None:
        for key, session in list(self._open.items()):
            if now_s - session.last_s > _IDLE_S.get(session.protocol, _OTHER_IDLE_S):
                self._ended.append(self._open.pop(key))
        if len(self._open) > _MOST_OPEN:
            self._ended += self._open.values()
            self._open = {}

    def _drain(self) -> Iterator[tuple[str, pa.Table]]:
        ended, self._ended = self._ended, []
        for first in range(0, len(ended), _BATCH):
            yield from _tables(ended[first : first + _BATCH])


def _tables(ended: list[Session]) -> Iterator[tuple[str, pa.Table]]:
    yield "conn", _table("conn", [_conn_row(s) for s in ended])
    yield "http", _table("http", [{**_ends(s), "host": h} for s in ended for h in s.hosts])
    hellos = [{**_ends(s), "server_name": s.server_name} for s in ended if s.has_hello]
    yield "ssl", _table("ssl", hellos)


def _starts_new_session(session: Session, at_s: float, segment: Segment) -> bool:
    """Return whether a packet with the same 5-tuple starts another connection."""
    opens = segment.protocol == TCP and segment.flags & (_SYN | _ACK) == _SYN
    idle_s = _IDLE_S.get(segment.protocol, _OTHER_IDLE_S)
    return at_s - session.last_s > idle_s or (opens and session.is_over)


def _is_reply(segment: Segment) -> bool:
    """Return whether the first captured packet of a connection goes back to its originator."""
    if segment.protocol == TCP and segment.flags & _SYN:
        return bool(segment.flags & _ACK)
    # Begun before the capture: well-known ports listen.
    return segment.source_port < 1024 <= segment.target_port


Row = dict[str, str | None]


def _ends(session: Session) -> Row:
    source, source_port, target, target_port = session.ends
    return {
        "ts": f"{session.first_s:.6f}",
        "uid": session.uid,
        "id.orig_h": write_packed(source),
        "id.orig_p": str(source_port),
        "id.resp_h": write_packed(target),
        "id.resp_p": str(target_port),
    }


def _conn_row(session: Session) -> Row:
    counts = (
        ("bytes", session.payload_bytes),
        ("pkts", session.packets),
        ("ip_bytes", session.ip_bytes),
    )
    sizes = {f"{end}_{n}": str(v[i]) for n, v in counts for i, end in enumerate(("orig", "resp"))}
    transport = _TRANSPORTS.get(session.protocol, "unknown_transport")
    return {**_ends(session), **sizes, "proto": transport, "service": session.service}


def _table(kind: str, rows: list[Row]) -> pa.Table:
    columns = {
        name: pa.array([row.get(name) or None for row in rows], pa.string())
        for name in FIELDS[kind]
    }
    return pa.table({**columns, "line": pa.array([0] * len(rows), pa.int64())})
