"""A TCP name server on loopback that follows a script: real sockets, any bytes, any manners."""

import socket
import struct
import threading
import time
from contextlib import suppress

import dns.message
import dns.rrset

CLOSE = object()
RESET = object()
HOLD = object()


def framed(message):
    """A message with its length in front."""
    data = message if isinstance(message, bytes) else message.to_wire(max_size=65_535)
    return struct.pack("!H", len(data)) + data


def rrset(owner, kind, *data):
    return dns.rrset.from_text(owner, 300, "IN", kind, *data)


def transfer(query, records, per_message=3):
    """The messages of a zone transfer; records are rrsets with their SOA first and last."""
    for i in range(0, len(records), per_message):
        message = dns.message.make_response(query)
        message.answer += records[i : i + per_message]
        yield framed(message)


class Scripted:
    """Calls ``script(query)`` for each query; sends what it yields, and obeys CLOSE, RESET, HOLD.

    ``asked`` holds (time, question name) of each query, ``most`` the most connections at once.
    """

    def __init__(self, script, address="127.0.0.1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.script = script
        self.listener = socket.create_server((address, 0), family=family, backlog=500)
        self.address, self.port = address, self.listener.getsockname()[1]
        self.asked = []
        self.queries = []
        self.open = self.most = self.connections = 0
        self.lock = threading.Lock()
        self.ended = threading.Event()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.ended.set()
        with suppress(OSError):
            # Closing alone would not wake the thread that accepts.
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        self._count(1)
        try:
            with sock, suppress(OSError):
                stream = sock.makefile("rb")
                while len(size := stream.read(2)) == 2:
                    if not self._answer(sock, stream.read(*struct.unpack("!H", size))):
                        break
        finally:
            self._count(-1)

    def _count(self, step):
        with self.lock:
            self.open += step
            self.connections += step > 0
            self.most = max(self.most, self.open)

    def _answer(self, sock, data):
        query = dns.message.from_wire(data)
        with self.lock:
            self.queries.append(query)
            self.asked.append((time.monotonic(), query.question[0].name.to_text(True)))
        for part in self.script(query):
            if part is CLOSE:
                return False
            if part is RESET:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            if part is HOLD:
                self.ended.wait(30)
                return False
            sock.sendall(part)
        return True
