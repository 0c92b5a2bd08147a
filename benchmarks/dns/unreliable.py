"""A name server that is far away, loses questions and lets others answer early; counts by name.

Four loopback addresses, one process. Every answer comes after a delay, the first question of some
names is lost, and for a few a wrong address answers early with port, id and question right.
"""

import contextlib
import ctypes
import ctypes.util
import json
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.dns.workload import Expected, NameServer, free_port

ADDRESSES = ("127.0.54.1", "127.0.54.2", "127.0.54.3", "127.0.54.4")
LIAR = "127.0.54.66"
POISON = (203, 0, 113, 66)
DELAY_S = 0.05
# Of every thousand names, twenty lose their first question and one is lied about.
LOST_PER_1000, SPOOFED_PER_1000 = 20, 1
MOST_NAMES = 10_000_000
START_S = 20

# Questions wait this long for company: whole batches are received, changed and sent together, so
# that this server is not what is measured.
_PAUSE_S = 0.001
_ROWS, _PACKET_BYTES, _ADDRESS_BYTES = 2_048, 128, 16
_RECEIVE_BUFFER_BYTES = 64 * 1024 * 1024
_DONT_WAIT, _RECEIVE_BUFFER_FORCE, _MEMORY_INFO = 0x40, 33, 55
_SUFFIX, _DIGITS = "lossy.test", 7
# Behind the header, the label's length and its first letter.
_NUMBER = slice(14, 14 + _DIGITS)
_QUESTION_END = 12 + (1 + 1 + _DIGITS) + (1 + 5) + (1 + 4) + 1 + 4
_REPLY_BYTES = _QUESTION_END + 16
_REPLY_COUNTS = np.frombuffer(b"\0\1\0\1\0\0\0\0", np.uint8)
_ANSWER = np.frombuffer(b"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4", np.uint8)
# struct iovec and struct mmsghdr of 64-bit Linux.
_VECTOR = np.dtype([("base", "u8"), ("size", "u8")])
_HEADER = np.dtype(
    [
        ("address", "u8"),
        ("address_size", "u4"),
        ("vector", "u8"),
        ("vectors", "u8"),
        ("control", "u8"),
        ("control_size", "u8"),
        ("flags", "i4"),
    ],
    align=True,
)
_MESSAGE = np.dtype([("header", _HEADER), ("size", "u4")], align=True)

Numbers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.uint8]


class Summary(NamedTuple):
    """What a server saw in its life."""

    questions: int
    lost: int
    spoofs_sent: int
    drops: int


def name_of(number: int) -> str:
    """The name with this number; all are equally long."""
    return f"n{number:0{_DIGITS}d}.{_SUFFIX}"


def truth_of(number: int) -> Expected:
    """The only right answer."""
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return Expected("NOERROR", (), (address,))


def is_lost(numbers: Numbers) -> npt.NDArray[np.bool_]:
    """Which names lose their first question."""
    return numbers * 7_919 % 1_000 < LOST_PER_1000


def is_spoofed(numbers: Numbers) -> npt.NDArray[np.bool_]:
    """Which names are lied about."""
    return numbers * 7_919 % 1_000 >= 1_000 - SPOOFED_PER_1000


@contextlib.contextmanager
def unreliable(folder: Path) -> Iterator[NameServer]:
    """The server in a separate process; what it saw is read with ``summary`` afterwards."""
    port = free_port((*ADDRESSES, LIAR))
    (folder / "summary.json").unlink(missing_ok=True)
    command = [sys.executable, __file__, str(port), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        if not select.select([process.stdout], [], [], START_S)[0] or not process.stdout.readline():
            raise RuntimeError("the unreliable server does not start")
        yield NameServer(ADDRESSES, port, (process.pid,))
    finally:
        process.terminate()
        process.wait(timeout=START_S)


def summary(folder: Path) -> Summary:
    """What the last server in this folder saw."""
    return Summary(**json.loads((folder / "summary.json").read_text()))


def counts(folder: Path, names: int) -> npt.NDArray[np.uint8]:
    """How often each name was queried."""
    return np.fromfile(folder / "counts", np.uint8, names)


class _Batch:
    """Rows of packets with the structures that let one system call move them all."""

    def __init__(self, packets: Rows, peers: Rows) -> None:
        self.packets, self.peers = packets, peers
        rows = np.arange(len(packets), dtype=np.uint64)
        self.vectors = np.zeros(len(packets), _VECTOR)
        self.vectors["base"] = packets.ctypes.data + rows * _PACKET_BYTES
        self.vectors["size"] = _PACKET_BYTES
        self.messages = np.zeros(len(packets), _MESSAGE)
        header = self.messages["header"]
        header["address"] = peers.ctypes.data + rows * _ADDRESS_BYTES
        header["address_size"] = _ADDRESS_BYTES
        header["vector"] = self.vectors.ctypes.data + rows * _VECTOR.itemsize
        header["vectors"] = 1

    def row(self, index: int) -> ctypes.c_void_p:
        """Position of a row's structure in memory."""
        return ctypes.c_void_p(self.messages.ctypes.data + index * _MESSAGE.itemsize)


class _Held(NamedTuple):
    """Answers that wait for their time, in the order of the sockets that send them."""

    due_s: float
    batch: _Batch
    by_socket: list[int]


class _Server:
    """The loop: receive what came, hold it, send what is due."""

    def __init__(self, port: int, folder: Path) -> None:
        self.libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
        self.sockets = [_open_socket(address, port) for address in (*ADDRESSES, LIAR)]
        self.inbox = _Batch(
            np.zeros((_ROWS, _PACKET_BYTES), np.uint8), np.zeros((_ROWS, _ADDRESS_BYTES), np.uint8)
        )
        self.held: deque[_Held] = deque()
        self.folder = folder
        self.counts = np.memmap(folder / "counts", np.uint8, "w+", shape=(MOST_NAMES,))
        self.questions = self.lost = self.spoofs = 0
        self.stopped = False

    def run(self) -> None:
        """Serve until asked to stop, then write the summary."""
        poll = select.poll()
        for sock in self.sockets[:-1]:
            poll.register(sock, select.POLLIN)
        while not self.stopped:
            by_socket = self._receive()
            if sum(by_socket):
                self._count_queries(by_socket)
            now = time.monotonic()
            while self.held and self.held[0].due_s <= now:
                self._send(self.held.popleft())
            if sum(by_socket) < _ROWS and self.held:
                time.sleep(_PAUSE_S)
            elif not self.held:
                poll.poll(100)
        self._leave_summary()

    def _receive(self) -> list[int]:
        by_socket, total = [], 0
        for sock in self.sockets[:-1]:
            room = _ROWS - total
            got = self.libc.recvmmsg(sock.fileno(), self.inbox.row(total), room, _DONT_WAIT, None)
            by_socket.append(max(0, got))
            total += by_socket[-1]
        return by_socket

    def _count_queries(self, by_socket: list[int]) -> None:
        total = sum(by_socket)
        packets, peers = self.inbox.packets[:total], self.inbox.peers[:total]
        digits = packets[:, _NUMBER].astype(np.int64) - ord("0")
        numbers = digits @ (10 ** np.arange(_DIGITS - 1, -1, -1, dtype=np.int64))
        # Whatever is not one of our questions counts as number 0 and gets a useless answer.
        numbers[(numbers < 0) | (numbers >= MOST_NAMES)] = 0
        dropped = is_lost(numbers) & (self.counts[numbers] == 0)
        np.add.at(self.counts, numbers, 1)
        self.questions += total
        self.lost += int(dropped.sum())
        replies = _write_replies(packets, numbers)
        origin = np.repeat(np.arange(len(by_socket)), by_socket)
        self._send_forged(np.flatnonzero(is_spoofed(numbers)), replies, peers, origin)
        kept = np.flatnonzero(~dropped)
        batch = _Batch(replies[kept], peers[kept])
        by_socket = np.bincount(origin[kept], minlength=len(by_socket)).tolist()
        self.held.append(_Held(time.monotonic() + DELAY_S, batch, by_socket))

    def _send_forged(self, rows: Numbers, replies: Rows, peers: Rows, origin: Numbers) -> None:
        for row in rows:
            batch = _Batch(replies[row : row + 1].copy(), peers[row : row + 1].copy())
            batch.packets[0, _REPLY_BYTES - 4 : _REPLY_BYTES] = POISON
            batch.vectors["size"] = _REPLY_BYTES
            # An address that was never asked anything, or another server that may be in use.
            wrong = -1 if self.spoofs % 2 else (int(origin[row]) + 1) % len(ADDRESSES)
            self.libc.sendmmsg(self.sockets[wrong].fileno(), batch.row(0), 1, 0)
            self.spoofs += 1

    def _send(self, held: _Held) -> None:
        held.batch.vectors["size"] = _REPLY_BYTES
        first = 0
        for sock, count in zip(self.sockets, held.by_socket, strict=False):
            end = first + count
            while first < end:
                sent = self.libc.sendmmsg(sock.fileno(), held.batch.row(first), end - first, 0)
                # A client that went away refuses its answer, which is then left out.
                first += max(1, sent)

    def _leave_summary(self) -> None:
        drops = sum(_dropped(sock) for sock in self.sockets)
        found = Summary(self.questions, self.lost, self.spoofs, drops)
        (self.folder / "summary.json").write_text(json.dumps(found._asdict()))


def _write_replies(packets: Rows, numbers: Numbers) -> Rows:
    replies = packets.copy()
    replies[:, 2] = replies[:, 2] & 1 | 0x84
    replies[:, 3] = 0
    replies[:, 4:12] = _REPLY_COUNTS
    replies[:, _QUESTION_END : _QUESTION_END + 12] = _ANSWER
    for index, shift in enumerate((16, 8, 0)):
        replies[:, _QUESTION_END + 13 + index] = numbers >> shift & 255
    replies[:, _QUESTION_END + 12] = 10
    return replies


def _open_socket(address: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _RECEIVE_BUFFER_BYTES)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    sock.bind((address, port))
    return sock


def _dropped(sock: socket.socket) -> int:
    info = np.frombuffer(sock.getsockopt(socket.SOL_SOCKET, _MEMORY_INFO, 36), np.uint32)
    return int(info[8])


def main() -> None:
    """Serve on the given port; print a line when ready; the folder gets counts and summary."""
    server = _Server(int(sys.argv[1]), Path(sys.argv[2]))

    def stop(*_: object) -> None:
        server.stopped = True

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)
    server.run()


if __name__ == "__main__":
    main()
