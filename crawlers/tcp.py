"""Questions over TCP: for truncated replies, and the framing that zone transfers share."""

import socket
import struct
from collections.abc import Iterator

from crawlers import wire
from crawlers.servers import Server
from crawlers.wire import Malformed, Reply


def connect(server: Server, timeout_s: float) -> socket.socket:
    """A connected stream socket; raises ``OSError``."""
    return socket.create_connection((server.address, server.port), timeout=timeout_s)


def send_message(sock: socket.socket, message: bytes) -> None:
    """Send one message with its length in front."""
    sock.sendall(struct.pack("!H", len(message)) + message)


def read_messages(sock: socket.socket) -> Iterator[bytes]:
    """Whole messages until the peer closes; raises ``Malformed`` when cut within one."""
    buffer = bytearray()
    while True:
        while len(buffer) >= 2:
            length = buffer[0] << 8 | buffer[1]
            if len(buffer) < 2 + length:
                break
            yield bytes(buffer[2 : 2 + length])
            del buffer[: 2 + length]
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
        and packet[2] & 0x80 != 0
        and packet[4:6] == b"\0\1"
        and (packet[12:end] == question or packet[12:end].lower() == question.lower())
    )


def ask(server: Server, query_id: int, question: bytes, timeout_s: float) -> Reply:
    """One question over TCP; raises ``OSError`` or ``Malformed``."""
    with connect(server, timeout_s) as sock:
        send_message(sock, wire.encode_query(query_id, question))
        for packet in read_messages(sock):
            if matches(packet, query_id, question):
                return wire.read_reply(packet, len(question))
    raise Malformed("the server closed without an answer")
