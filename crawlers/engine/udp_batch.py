"""Many datagrams in one call to the kernel, by ``sendmmsg`` and ``recvmmsg``.

Each call to the kernel costs about as much as all that the engine does with a packet. Where the
two calls are absent (they are Linux's), sockets are used one packet at a time.
"""

import ctypes
import errno
import socket
import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Protocol

BATCH = 64
# We announce 1232 bytes; what is longer than this was not wanted and is cut.
LONGEST_REPLY = 4_096
_LONGEST_QUERY = 512
_CELLS = range(0, BATCH * LONGEST_REPLY, LONGEST_REPLY)
_TRIES = 4
# An error of an earlier packet that is reported at the next call.
_PASSING = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EINTR)


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.POINTER(_Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """Linux's ``struct mmsghdr``: one message, and how many bytes it got."""

    _fields_ = (("header", _Header), ("length", ctypes.c_uint))


class _Batch:
    """Buffers and headers of ``BATCH`` messages, reused from call to call."""

    def __init__(self, cell_octets: int) -> None:
        self.data = bytearray(BATCH * cell_octets)
        self._pin = (ctypes.c_char * len(self.data)).from_buffer(self.data)
        self.base = ctypes.addressof(self._pin)
        self._vectors = (_Vector * BATCH)()
        self.messages = (_Message * BATCH)()
        for i in range(BATCH):
            self._vectors[i].base = self.base + i * cell_octets
            self._vectors[i].length = cell_octets
            self.messages[i].header.vectors = ctypes.pointer(self._vectors[i])
            self.messages[i].header.vector_count = 1
        # The same memory as numbers: pairs of address and length, and the lengths received.
        self.words = memoryview(self._vectors).cast("B").cast("Q")
        words = memoryview(self.messages).cast("B").cast("I")
        self.lengths = words[_Message.length.offset // 4 :: ctypes.sizeof(_Message) // 4]


class Datagrams(Protocol):
    """Sends and receives on connected sockets that do not block."""

    def send(self, sock: socket.socket, packets: Sequence[bytes]) -> int:
        """Send at most ``BATCH`` packets of at most 512 bytes; returns how many went out."""

    def receive(self, sock: socket.socket) -> list[bytes]:
        """At most ``BATCH`` packets that wait at a socket."""


class BatchSockets:
    """One call to the kernel for a batch; one object serves all sockets of an engine."""

    def __init__(self) -> None:
        library: Any = ctypes.CDLL(None, use_errno=True)
        self._send, self._receive = library.sendmmsg, library.recvmmsg
        self._outgoing, self._incoming = _Batch(_LONGEST_QUERY), _Batch(LONGEST_REPLY)
        self._view = memoryview(self._incoming.data)

    def send(self, sock: socket.socket, packets: Sequence[bytes]) -> int:
        packets = packets[:BATCH]
        if not packets:
            return 0
        batch, n = self._outgoing, len(packets)
        joined = b"".join(packets)
        lengths = array("Q", map(len, packets))
        batch.data[: len(joined)] = joined
        batch.words[1 : 2 * n : 2] = lengths
        batch.words[0 : 2 * n : 2] = array("Q", accumulate(lengths[:-1], initial=batch.base))
        return _call(self._send, sock, batch, n)

    def receive(self, sock: socket.socket) -> list[bytes]:
        n = _call(self._receive, sock, self._incoming, BATCH, None)
        view, lengths = self._view, self._incoming.lengths[:n]
        return [view[at : at + size].tobytes() for at, size in zip(_CELLS, lengths, strict=False)]


def _call(function: Any, sock: socket.socket, batch: _Batch, n: int, *rest: Any) -> int:
    """Return the number of messages sent; a late error of an earlier packet is retried."""
    for _ in range(_TRIES):
        done = function(sock.fileno(), batch.messages, n, socket.MSG_DONTWAIT, *rest)
        if done >= 0:
            return int(done)
        if ctypes.get_errno() not in _PASSING:
            break
    return 0


class OneByOne:
    """The same for systems without those calls."""

    def send(self, sock: socket.socket, packets: Sequence[bytes]) -> int:
        packets = packets[:BATCH]
        for sent, packet in enumerate(packets):
            if not _sends(sock, packet):
                return sent
        return len(packets)

    def receive(self, sock: socket.socket) -> list[bytes]:
        packets: list[bytes] = []
        for _ in range(BATCH):
            try:
                packets.append(sock.recv(LONGEST_REPLY))
            except BlockingIOError:
                break
            except OSError:
                continue
        return packets


def _sends(sock: socket.socket, packet: bytes) -> bool:
    for _ in range(_TRIES):
        try:
            return sock.send(packet) >= 0
        except OSError as error:
            if error.errno not in _PASSING:
                break
    return False


def open_datagrams() -> Datagrams:
    """The faster of the two that this system has."""
    has_calls = sys.platform == "linux" and ctypes.sizeof(ctypes.c_void_p) == 8
    try:
        return BatchSockets() if has_calls else OneByOne()
    except (AttributeError, OSError):
        return OneByOne()
