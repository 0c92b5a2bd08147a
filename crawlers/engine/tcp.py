"""Questions over TCP: for truncated replies, and the framing that zone transfers share."""

import socket
import struct
import time
from collections.abc import Iterator

from crawlers.dns.message import Malformed
from crawlers.engine.nameservers import Server


def connect(server: Server, timeout_s: float) -> socket.socket:
    """A connected stream socket; raises ``OSError``."""
    return socket.create_connection((server.address, server.port), timeout=timeout_s)


def send_message(sock: socket.socket, message: bytes) -> None:
    """Send one message with its length in front."""
    sock.sendall(struct.pack("!H", len(message)) + message)


def read_messages(sock: socket.socket, deadline: float) -> Iterator[bytes]:
    """Yield whole messages until the peer closes; raise ``Malformed`` when cut within one.

    ``deadline`` is a monotonic time, so that single bytes do not extend the wait; after it
    ``TimeoutError`` is raised.
    """
    buffer = bytearray()
    while True:
        while len(buffer) >= 2:
            length = buffer[0] << 8 | buffer[1]
            if len(buffer) < 2 + length:
                break
            yield bytes(buffer[2 : 2 + length])
            del buffer[: 2 + length]
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        sock.settimeout(left_s)
        chunk = sock.recv(65_536)
        if not chunk:
            if buffer:
                raise Malformed("the connection was cut within a message")
            return
        buffer += chunk


def matches(packet: bytes, query_id: int, question: bytes) -> bool:
    """Whether a packet is a reply to exactly this question."""
    end = 12 + len(question)
    return (
        len(packet) >= end
        and packet[0] == query_id >> 8
        and packet[1] == query_id & 0xFF
        and packet[2] & 0xF8 == 0x80  # a reply, to a plain question
        and packet[4:6] == b"\0\1"
        and (packet[12:end] == question or packet[12:end].lower() == question.lower())
    )


def ask(server: Server, query: bytes, question: bytes, timeout_s: float) -> bytes:
    """The reply to one query over TCP; raises ``OSError`` or ``Malformed``."""
    deadline = time.monotonic() + timeout_s
    with connect(server, timeout_s) as sock:
        send_message(sock, query)
        for packet in read_messages(sock, deadline):
            if matches(packet, query[0] << 8 | query[1], question):
                return packet
    raise Malformed("the server closed without an answer")
