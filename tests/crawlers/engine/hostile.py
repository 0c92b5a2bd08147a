"""A name server whose every byte a test decides, on real sockets."""

import contextlib
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

ELSEWHERE = "127.0.0.9"
GOOD, POISON = "192.0.2.1", "203.0.113.66"


class Query(NamedTuple):
    """One query as it came; ``count`` says for the how manieth time its question came."""

    packet: bytes
    peer: tuple[str, int]
    name: str
    count: int

    @property
    def question(self):
        return self.packet[12 : self.packet.index(b"\0", 12) + 5]


class Hostile:
    """Calls ``on_udp(server, query)`` for each datagram, ``on_tcp(server, connection)`` for each
    connection; these send what they like, from the right socket or from two wrong ones."""

    def __init__(self, on_udp, on_tcp=None):
        self.on_udp: Callable = on_udp
        self.on_tcp: Callable | None = on_tcp
        self.asked = Counter()
        self.peers = set()
        self.udp, self.stream = _bind_both()
        self.port = self.udp.getsockname()[1]
        self.other_port = _bind_udp("127.0.0.1", 0)
        self.elsewhere = _bind_udp(ELSEWHERE, self.port)
        self.open = True
        self.threads = []

    def __enter__(self):
        self.start(self._serve_udp)
        if self.on_tcp:
            self.start(self._serve_tcp)
        return self

    def __exit__(self, *_):
        self.open = False
        for sock in (self.udp, self.stream, self.other_port, self.elsewhere):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for thread in self.threads:
            thread.join(timeout=5)

    def start(self, work, *arguments):
        """Run something beside the test until it ends by itself."""
        thread = threading.Thread(target=self._quietly, args=(work, *arguments), daemon=True)
        self.threads.append(thread)
        thread.start()

    def send(self, packet, query):
        """From the address and port that were asked."""
        self.udp.sendto(packet, query.peer)

    def send_later(self, delay_s, packet, query):
        """The same, after a while."""

        def wait_and_send():
            time.sleep(delay_s)
            self.send(packet, query)

        self.start(wait_and_send)

    def _quietly(self, work, *arguments):
        # A closed socket is how work ends; anything else is a fault of the test and is shown.
        try:
            work(*arguments)
        except OSError:
            if self.open:
                raise

    def _serve_udp(self):
        while self.open:
            packet, peer = self.udp.recvfrom(4096)
            if not packet:
                continue
            name = read_name(packet)
            self.asked[name] += 1
            self.peers.add(peer)
            self.on_udp(self, Query(packet, peer, name, self.asked[name]))

    def _serve_tcp(self):
        while self.open:
            connection, _ = self.stream.accept()
            self.start(self._talk, connection)

    def _talk(self, connection):
        connection.settimeout(5)
        with connection, contextlib.suppress(ConnectionError, TimeoutError):
            self.on_tcp(self, connection)


def read_tcp_query(connection):
    """The query on a fresh connection."""
    size = struct.unpack("!H", _read(connection, 2))[0]
    packet = _read(connection, size)
    return Query(packet, connection.getpeername(), read_name(packet), 1)


def framed(message):
    """A message with its length in front."""
    return struct.pack("!H", len(message)) + message


def read_name(packet):
    """The name in the question, in lower case."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode("latin-1").lower())
        at += 1 + packet[at]
    return ".".join(labels)


def reply(query, *records, flags=0x8580, counts=None, question=None):
    """A reply to a query from encoded records; flags, counts and question may lie."""
    counts = counts or (1, len(records), 0, 0)
    question = query.question if question is None else question
    return query.packet[:2] + struct.pack("!5H", flags, *counts) + question + b"".join(records)


def record(data, kind=1, owner=b"\xc0\x0c", length=None, rrclass=1, ttl=60):
    """A record; its length may lie."""
    length = len(data) if length is None else length
    return owner + struct.pack("!HHIH", kind, rrclass, ttl, length) + data


def address(text=GOOD):
    """The data of an A record."""
    return socket.inet_aton(text)


def good(query):
    """The right answer."""
    return reply(query, record(address()))


def poison(query):
    """An answer that must never be believed."""
    return reply(query, record(address(POISON)))


def _read(connection, size):
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise ConnectionError("closed by the engine")
        data += chunk
    return data


def _bind_udp(host, port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
    sock.bind((host, port))
    return sock


def _bind_both():
    # A port that is free for streams may be taken for datagrams.
    for _ in range(50):
        stream = socket.create_server(("127.0.0.1", 0), backlog=64)
        try:
            return _bind_udp("127.0.0.1", stream.getsockname()[1]), stream
        except OSError:
            stream.close()
    raise OSError("no port is free for both")
