"""The servers of a hierarchy on loopback: one process, one UDP socket per address.

Streams are served where answers by UDP are cut short.

Plain answers are precomputed, since a measured resolver shares its machine with this process.
"""

import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import Unavailable
from testbed.generate.forked_servers import serve_in_child
from testbed.hierarchy.internet import Hierarchy, Nameservers, ServerBehaviour, ServerReply
from testbed.server.answers import Row
from testbed.server.message import TYPE_NAMES, TYPES, Malformed, Query, read_query

TTL_S = 3_600
_CODES = {**TYPES, "DNAME": 39}
_TRUNCATED = 0x0200
_TCP_IDLE_S = 5.0
_RECEIVE_BUFFER_BYTES = 4 << 20
_DRAIN = 64
_START_S = 60.0
_OPT = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"
# Opcode and flags zero, one question, one additional record: what an iterating resolver sends.
_PLAIN_HEAD = b"\0\0\0\1\0\0\0\0\0\1"


def encode_name(name: str) -> bytes:
    """The wire form of a name."""
    labels = name.encode("ascii").split(b".") if name else []
    return b"".join(bytes((len(label),)) + label for label in labels) + b"\0"


def _encode_data(rtype: str, data: str) -> bytes:
    if rtype == "A":
        return socket.inet_aton(data)
    if rtype == "AAAA":
        return socket.inet_pton(socket.AF_INET6, data)
    if rtype == "TXT":
        return bytes((len(data),)) + data.encode("ascii")
    if rtype == "SOA":
        host, mailbox, *numbers = data.split(" ")
        tail = b"".join(int(n).to_bytes(4, "big") for n in numbers)
        return encode_name(host) + encode_name(mailbox) + tail
    return encode_name(data)


def _encode_row(row: Row, asked: str, end: int) -> bytes:
    """Encode one record; an owner within the question becomes a compression pointer."""
    owner, rtype, data = row
    if owner and (asked == owner or asked.endswith("." + owner)):
        where = (0xC000 | (end - len(owner) - 2)).to_bytes(2, "big")
    else:
        where = encode_name(owner)
    content = _encode_data(rtype, data)
    fixed = _CODES[rtype].to_bytes(2, "big") + b"\0\1" + TTL_S.to_bytes(4, "big")
    return where + fixed + len(content).to_bytes(2, "big") + content


def encode_reply(reply: ServerReply, query: Query) -> bytes:
    """The whole message but for its id."""
    end = 12 + len(query.raw) - 4
    sections = (reply.answers, reply.authorities, reply.additionals)
    rows = [_encode_row(row, query.name, end) for section in sections for row in section]
    flags = 0x8000 | 0x0400 * reply.authoritative | 0x0100 * query.recursion | reply.code
    counts = (1, *map(len, sections[:2]), len(reply.additionals) + query.edns)
    head = flags.to_bytes(2, "big") + b"".join(n.to_bytes(2, "big") for n in counts)
    return head + query.raw + b"".join(rows) + (_OPT if query.edns else b"")


class PacketResponder:
    """Answers packets for all addresses of one hierarchy."""

    def __init__(self, world: Hierarchy) -> None:
        self._servers = Nameservers(world)
        self._manner = world.behaviour
        self._held = {a: frozenset(apexes) for a, apexes in world.held.items()}
        # Servers with a special behaviour skip the fast path.
        self._plain = {
            a: h for a, h in self._held.items() if world.behaviour(a) is ServerBehaviour.PLAIN
        }
        self._ready: dict[bytes, tuple[str, bytes]] = {}
        for zone in world.zones.values():
            for (owner, rtype), data in zone.rows.items():
                if rtype == "A" and "*" not in owner and zone.cut_above(owner) is None:
                    self._prepare(zone.apex, owner, data)

    def _prepare(self, apex: str, owner: str, data: tuple[str, ...]) -> None:
        raw = encode_name(owner) + b"\0\1\0\1"
        query = Query(0, owner, 1, 1, False, raw, 1232, True)
        reply = ServerReply(answers=tuple((owner, "A", address) for address in data))
        self._ready[raw] = (apex, encode_reply(reply, query))

    def respond(self, address: str, packet: bytes, *, by_udp: bool = True) -> bytes | None:
        """The reply of one address; ``None`` is silence."""
        if packet[2:12] == _PLAIN_HEAD:
            ready = self._ready.get(packet[12:-11])
            if ready is not None and ready[0] in self._plain.get(address, ()):
                return packet[:2] + ready[1]
        try:
            query = read_query(packet)
        except Malformed:
            return None
        if by_udp and self._manner(address) is ServerBehaviour.TRUNCATING:
            flags = 0x8400 | _TRUNCATED
            return packet[:2] + flags.to_bytes(2, "big") + b"\0\1\0\0\0\0\0\0" + query.raw
        rtype = TYPE_NAMES.get(query.type, "")
        reply = self._servers.ask(address, query.name, rtype)
        return None if reply is None else packet[:2] + encode_reply(reply, query)


def _open(world: Hierarchy, port: int) -> dict[int, tuple[socket.socket, str]]:
    """Listening sockets by number: one for datagrams per address, and few for streams."""
    opened: dict[int, tuple[socket.socket, str]] = {}
    for address in world.addresses():
        kinds = [socket.SOCK_DGRAM]
        if world.behaviour(address) is ServerBehaviour.TRUNCATING:
            kinds.append(socket.SOCK_STREAM)
        for kind in kinds:
            try:
                sock = _listen(address, port, kind)
            except OSError as error:
                reason = error.strerror or str(error)
                raise Unavailable(f"cannot listen on {address} port {port}: {reason}") from error
            opened[sock.fileno()] = (sock, address)
    return opened


def _listen(address: str, port: int, kind: socket.SocketKind) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, kind)
    sock.setblocking(False)
    if kind is socket.SOCK_STREAM:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, port))
        sock.listen()
    else:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        sock.bind((address, port))
    return sock


def _accept(responder: PacketResponder, listener: socket.socket, address: str) -> None:
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        threading.Thread(
            target=_serve_connection, args=(responder, connection, address), daemon=True
        ).start()


def _serve_connection(responder: PacketResponder, connection: socket.socket, address: str) -> None:
    """Answer on one connection until the client closes it."""
    with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
        connection.settimeout(_TCP_IDLE_S)
        while len(head := stream.read(2)) == 2:
            reply = responder.respond(
                address, stream.read(int.from_bytes(head, "big")), by_udp=False
            )
            if reply is not None:
                connection.sendall(len(reply).to_bytes(2, "big") + reply)


def _drain(responder: PacketResponder, sock: socket.socket, address: str) -> None:
    for _ in range(_DRAIN):
        try:
            packet, sender = sock.recvfrom(4096)
        except OSError:
            return  # nothing left, or an ICMP error about an earlier reply
        reply = responder.respond(address, packet)
        if reply is not None:
            with contextlib.suppress(OSError):
                sock.sendto(reply, sender)


def serve(world: Hierarchy, port: int, ready: Callable[[], None]) -> None:
    """Answer until the process is ended; raises ``Unavailable`` where an address is taken."""
    responder = PacketResponder(world)
    opened = _open(world, port)
    with select.epoll() as poll:
        for fd in opened:
            poll.register(fd, select.EPOLLIN)
        ready()
        while True:
            for fd, _ in poll.poll():
                sock, address = opened[fd]
                act = _drain if sock.type is socket.SOCK_DGRAM else _accept
                act(responder, sock, address)


@dataclass(frozen=True, slots=True)
class Serving:
    """A hierarchy that is being served."""

    roots: tuple[str, ...]
    port: int
    pid: int

    def cpu_s(self) -> float:
        """Return the CPU seconds used by the servers."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(world: Hierarchy, port: int) -> Iterator[Serving]:
    """Serve a hierarchy from a child process; raises ``Unavailable``."""

    def answer(ready: Callable[[str], None]) -> None:
        serve(world, port, lambda: ready("ready"))

    with serve_in_child(answer, _START_S) as (pid, _):
        yield Serving(world.roots, port, pid)
