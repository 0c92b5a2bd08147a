"""One TCP connection: length-prefixed questions in, answers and zone transfers out."""

import socket
from collections.abc import Iterator

from testbed.server.message import AXFR, IXFR, Malformed, read_query, refusal
from testbed.server.responder import Responder
from testbed.server.transfer import transfer_stream, with_length

_CHUNK_BYTES = 65_536
# A client that sends more than this without waiting for answers is cut off.
_MAX_PENDING_BYTES = 1 << 20


class Stream:
    """Reads, answers and writes without blocking; ``waiting`` means that output is pending."""

    def __init__(self, connection: socket.socket, responder: Responder) -> None:
        self.connection = connection
        self._responder = responder
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._transfer: Iterator[bytes] | None = None
        self._closing = False

    @property
    def waiting(self) -> bool:
        return bool(self._outgoing) or self._transfer is not None

    def step(self, readable: bool) -> bool:
        """Do what can be done now; false when the connection is over."""
        if readable and not self._read():
            return False
        self._answer()
        self._write()
        return not (self._closing and not self.waiting)

    def _read(self) -> bool:
        try:
            data = self.connection.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._incoming += data
        return bool(data) and len(self._incoming) <= _MAX_PENDING_BYTES

    def _answer(self) -> None:
        while len(self._incoming) >= 2 and self._transfer is None and not self._closing:
            length = int.from_bytes(self._incoming[:2], "big")
            if len(self._incoming) < 2 + length:
                return
            packet = bytes(self._incoming[2 : 2 + length])
            del self._incoming[: 2 + length]
            self._process(packet)

    def _process(self, packet: bytes) -> None:
        try:
            query = read_query(packet)
        except Malformed as problem:
            if problem.code is None:
                self._closing = True
            else:
                self._outgoing += with_length(refusal(packet, problem.code))
            return
        if query.type in (AXFR, IXFR):
            zone = self._responder.authority.zones.get(query.name)
            silent = zone is not None and zone.fault == "silent"
            self._transfer = None if silent else transfer_stream(zone, query)
            return
        reply = self._responder.stream_reply(query)
        if reply is not None:
            self._outgoing += with_length(reply)

    def _write(self) -> None:
        while self.waiting:
            self._refill()
            if not self._outgoing:
                break
            try:
                sent = self.connection.send(self._outgoing[:_CHUNK_BYTES])
            except BlockingIOError:
                return
            del self._outgoing[:sent]
        self._answer_rest()

    def _answer_rest(self) -> None:
        if self._incoming and not self._closing:
            self._answer()

    def _refill(self) -> None:
        while self._transfer is not None and len(self._outgoing) < _CHUNK_BYTES:
            chunk = next(self._transfer, None)
            if chunk is None:
                self._transfer = None
            elif chunk:
                self._outgoing += chunk
            else:
                self._transfer, self._closing = None, True
