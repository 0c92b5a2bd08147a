"""Name servers that note when each query reached them: many loopback addresses, one process.

Every listed label exists in every zone and has a distinct address; nothing else exists, and no zone
is transferred. Arrival times of datagrams are the kernel's, so that a server that waits for a core
shifts none.
"""

import contextlib
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

START_S = 20
_TOP = "shared.test"
_TIMESTAMP = 35  # SO_TIMESTAMPNS of Linux, which is also the kind of the control message.
_SPACE = socket.CMSG_SPACE(16)
_TIME = struct.Struct("@qq")
_LONGEST = 512
_RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
_PER_TURN = 64
_TOP_WIRE = b"\x06shared\x04test\0"
_A, _IN = b"\0\1", b"\0\1"
_NOERROR, _NXDOMAIN, _REFUSED = b"\x85\x80", b"\x85\x83", b"\x81\x85"
_ANSWER = b"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4"
_ONE_ANSWER, _NO_ANSWER = b"\0\1\0\1\0\0\0\0", b"\0\1\0\0\0\0\0\0"


class Counted(NamedTuple):
    """Running servers; ``arrivals`` reads what they noted once they have ended."""

    addresses: tuple[str, ...]
    port: int
    pid: int

    @property
    def servers(self) -> list[str]:
        return [f"{address}:{self.port}" for address in self.addresses]


def zone_name(number: int) -> str:
    """The zone with this number."""
    return f"z{number:05d}.{_TOP}"


def label(number: int) -> str:
    """The label with this number."""
    return f"w{number:05d}"


def names_of(zones: int, labels: int) -> list[str]:
    """Every name that exists: each zone itself, and each label in it."""
    found = []
    for zone in map(zone_name, range(zones)):
        found += [zone, *(f"{label(n)}.{zone}" for n in range(labels))]
    return found


def address_of(name: str) -> str:
    """The only right address of a name."""
    wire = b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"
    return ".".join(map(str, _address(wire)))


def _address(wire: bytes) -> bytes:
    return b"\x0b" + zlib.crc32(wire).to_bytes(4, "big")[:3]


@contextlib.contextmanager
def counting(folder: Path, addresses: Sequence[str], port: int, labels: int) -> Iterator[Counted]:
    """Run the servers in a separate process."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, str(folder), str(port), str(labels), *addresses]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        if not select.select([process.stdout], [], [], START_S)[0] or not process.stdout.readline():
            raise RuntimeError("the counting servers do not start")
        yield Counted(tuple(addresses), port, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=START_S)


def arrivals(folder: Path) -> list[npt.NDArray[np.uint64]]:
    """Arrival times of each server's queries in nanoseconds, in order."""
    return [np.sort(np.fromfile(path, np.uint64)) for path in sorted(folder.glob("*.ns"))]


class _Server:
    """The loop: note, answer."""

    def __init__(self, port: int, labels: int, addresses: Sequence[str]) -> None:
        self.labels = {label(n).encode() for n in range(labels)}
        self.times = [array("Q") for _ in addresses]
        self.sockets = [_open_socket(address, port) for address in addresses]
        self.listening = [socket.create_server((address, port)) for address in addresses]
        self.stopped = False

    def run(self) -> None:
        poll = select.epoll()
        work = {
            s.fileno(): (self._serve, s, t) for s, t in zip(self.sockets, self.times, strict=True)
        }
        work |= {
            s.fileno(): (self._refuse, s, t)
            for s, t in zip(self.listening, self.times, strict=True)
        }
        for number in work:
            poll.register(number, select.EPOLLIN)
        while not self.stopped:
            for number, _ in poll.poll(0.1):
                serve, sock, times = work[number]
                serve(sock, times)

    def _refuse(self, listening: socket.socket, times: array) -> None:
        """Every question over TCP asks for a zone."""
        sock, _ = listening.accept()
        times.append(time.time_ns())
        with sock, contextlib.suppress(OSError):
            sock.settimeout(1)
            packet = sock.recv(_LONGEST)[2:]
            end = packet.find(b"\0", 12) + 5
            reply = packet[:2] + _REFUSED + _NO_ANSWER + packet[12:end]
            sock.sendall(len(reply).to_bytes(2, "big") + reply)

    def _serve(self, sock: socket.socket, times: array) -> None:
        for _ in range(_PER_TURN):
            try:
                packet, control, _, source = sock.recvmsg(_LONGEST, _SPACE)
            except BlockingIOError:
                return
            seconds, nanoseconds = _TIME.unpack(control[0][2])
            times.append(seconds * 1_000_000_000 + nanoseconds)
            reply = self._reply(packet)
            if reply:
                sock.sendto(reply, source)

    def _reply(self, packet: bytes) -> bytes:
        end = packet.find(b"\0", 12) + 5
        if end < 17 or len(packet) < end:
            return b""
        wire = packet[12 : end - 4].lower()
        first, rest = wire[1 : 1 + wire[0]], wire[1 + wire[0] :]
        head = packet[:2]
        if first not in self.labels and rest != _TOP_WIRE:
            return head + _NXDOMAIN + _NO_ANSWER + packet[12:end]
        if packet[end - 4 : end] != _A + _IN:
            return head + _NOERROR + _NO_ANSWER + packet[12:end]
        return head + _NOERROR + _ONE_ANSWER + packet[12:end] + _ANSWER + _address(wire)


def _open_socket(address: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMP, 1)
    sock.setblocking(False)
    sock.bind((address, port))
    return sock


def main() -> None:
    """Serve until asked to stop, then write one file of arrival times per server."""
    folder, port, labels = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    server = _Server(port, labels, sys.argv[4:])

    def stop(*_: object) -> None:
        server.stopped = True

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)
    server.run()
    for number, times in enumerate(server.times):
        (folder / f"{number:03d}.ns").write_bytes(times.tobytes())


if __name__ == "__main__":
    main()
