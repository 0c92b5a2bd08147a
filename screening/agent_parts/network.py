"""RPC test over established TCP: 8-byte requests at Poisson times, 2 KB replies, timed.

Both directions carry 29 further bytes, as in the paper. A call's time runs from its sending to the
last byte of its reply; calls do not wait for each other.
"""

from __future__ import annotations

import os
import random
import selectors
import socket
import struct
import time
from collections import deque
from typing import Any

from screening.agent_parts.histograms import find_percentile_us, find_slot

HEADER = struct.Struct("!4sBQQQ")  # magic, kind, number, length of the body, reserved: 29 bytes
MAGIC = b"NPH1"
CALL, ECHO = 1, 2
REQUEST_BYTES, REPLY_BYTES, ECHO_BYTES = 8, 2048, 32_768
PORT = 7420
CONNECTIONS = 256
OVER_NS = 10_000_000
RATES = (100, 200, 500)
LOSS_S = 5.0


def encode_frame(kind: int, number: int, body: bytes) -> bytes:
    """A message with its 29 bytes of header."""
    return HEADER.pack(MAGIC, kind, number, len(body), 0) + body


def serve(host: str, port: int, seconds: float, ready: Any = None) -> int:
    """Answer calls until the time is over; return the number of answers."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(CONNECTIONS)
    if ready:
        ready(listener.getsockname()[1])
    answered, deadline = 0, time.monotonic() + seconds
    reply = os.urandom(REPLY_BYTES)
    with listener, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ, None)
        while time.monotonic() < deadline:
            for key, _ in selector.select(0.2):
                if key.data is None:
                    _accept(listener, selector)
                else:
                    answered += _answer(key.fileobj, key.data, selector, reply)
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
    return answered


def _accept(listener: socket.socket, selector: selectors.BaseSelector) -> None:
    peer, _ = listener.accept()
    if len(selector.get_map()) > CONNECTIONS:
        peer.close()
        return
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.settimeout(LOSS_S)
    selector.register(peer, selectors.EVENT_READ, bytearray())


def _answer(peer: Any, waiting: bytearray, selector: selectors.BaseSelector, reply: bytes) -> int:
    answered = 0
    try:
        data = peer.recv(65536)
        if not data:
            raise ConnectionError
        waiting += data
        for kind, number, body in pop_frames(waiting):
            peer.sendall(encode_frame(kind, number, reply if kind == CALL else body))
            answered += 1
    except (OSError, ValueError):
        selector.unregister(peer)
        peer.close()
    return answered


def pop_frames(waiting: bytearray) -> list[tuple[int, int, bytes]]:
    """Whole messages, taken from the front; ValueError for what is none of ours."""
    frames = []
    while len(waiting) >= HEADER.size:
        magic, kind, number, length, _ = HEADER.unpack_from(waiting)
        if magic != MAGIC or kind not in (CALL, ECHO) or length > ECHO_BYTES:
            raise ValueError("not a message of the network test")
        end = HEADER.size + length
        if len(waiting) < end:
            break
        frames.append((kind, number, bytes(waiting[HEADER.size : end])))
        del waiting[:end]
    return frames


class Peer:
    """One server that is called: its connection, calls under way and times."""

    def __init__(self, host: str, port: int) -> None:
        self.name = f"{host}:{port}"
        self.socket = socket.create_connection((host, port), LOSS_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting = bytearray()
        self.reset()

    def reset(self) -> None:
        """Start a new rate."""
        self.sent: deque[int] = deque()
        self.histogram: dict[int, int] = {}
        self.calls = self.lost = self.over = self.max_ns = self.late = 0

    def call(self, due_ns: int) -> None:
        """Send one request; late is what this client's own stall delayed by 1 ms or more."""
        self.calls += 1
        now_ns = time.monotonic_ns()
        self.late += now_ns - due_ns >= 1_000_000
        try:
            self.socket.sendall(encode_frame(CALL, self.calls, b"\0" * REQUEST_BYTES))
            self.sent.append(now_ns)
        except OSError:
            self.lost += 1

    def receive(self) -> None:
        """Time the replies that have come."""
        try:
            data = self.socket.recv(65536)
        except OSError:
            data = b""
        now_ns = time.monotonic_ns()
        if not data:
            raise ConnectionError(self.name + " closed the connection")
        self.waiting += data
        for _ in pop_frames(self.waiting):
            self.add(now_ns - self.sent.popleft())

    def add(self, rtt_ns: int) -> None:
        """Count one round trip."""
        slot = find_slot(rtt_ns)
        self.histogram[slot] = self.histogram.get(slot, 0) + 1
        self.over += rtt_ns >= OVER_NS
        self.max_ns = max(self.max_ns, rtt_ns)

    def describe(self, rate: int, seconds: float) -> dict[str, Any]:
        """The report's entry of one server at one rate; calls without reply are lost."""
        answered = sum(self.histogram.values())
        quantiles = (("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999))
        return {
            "server": self.name,
            "rate": rate,
            "seconds": round(seconds, 3),
            "calls": self.calls,
            "answered": answered,
            "lost": self.calls - answered,
            "late": self.late,
            "over_10ms": self.over,
            "max_us": round(self.max_ns / 1000, 3),
            **{key: find_percentile_us(self.histogram, q, self.max_ns) for key, q in quantiles},
            "histogram": sorted(map(list, self.histogram.items())),
        }


def call_servers(
    addresses: list[tuple[str, int]], rates: tuple[int, ...], seconds: float, seed: int = 0
) -> list[dict[str, Any]]:
    """Call all servers at every rate; OSError when one cannot be reached at the start."""
    chance = random.Random(seed or None)
    peers = [Peer(*address) for address in addresses]
    found = []
    try:
        for rate in rates:
            for peer in peers:
                peer.reset()
            _drive(peers, rate, seconds, chance)
            found += [peer.describe(rate, seconds) for peer in peers]
    finally:
        for peer in peers:
            peer.socket.close()
    return found


def _drive(peers: list[Peer], rate: int, seconds: float, chance: random.Random) -> None:
    start_ns = time.monotonic_ns()
    end_ns = start_ns + int(seconds * 1e9)
    due_ns = [start_ns + int(chance.expovariate(rate) * 1e9) for _ in peers]
    alive = set(range(len(peers)))
    # Only select() waits for less than a millisecond.
    with selectors.SelectSelector() as selector:
        for at, peer in enumerate(peers):
            selector.register(peer.socket, selectors.EVENT_READ, at)
        while alive:
            now_ns = time.monotonic_ns()
            open_calls = any(peers[at].sent for at in alive)
            if now_ns >= end_ns and (not open_calls or now_ns >= end_ns + LOSS_S * 1e9):
                return
            for at in alive:
                while due_ns[at] <= now_ns and due_ns[at] < end_ns:
                    peers[at].call(due_ns[at])
                    due_ns[at] += int(chance.expovariate(rate) * 1e9)
            _wait(selector, peers, alive, max(min(due_ns), now_ns))


def _wait(
    selector: selectors.BaseSelector, peers: list[Peer], alive: set[int], until_ns: int
) -> None:
    wait_s = min(max(until_ns - time.monotonic_ns(), 0) / 1e9, 0.05)
    for key, _ in selector.select(wait_s):
        try:
            peers[key.data].receive()
        except (OSError, ValueError):
            selector.unregister(key.fileobj)
            alive.discard(key.data)


def echo(host: str, port: int) -> float:
    """Milliseconds for 32 KB there and back."""
    with socket.create_connection((host, port), LOSS_S) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body, start = os.urandom(ECHO_BYTES), time.monotonic_ns()
        peer.sendall(encode_frame(ECHO, 1, body))
        need = HEADER.size + ECHO_BYTES
        while need > 0:
            data = peer.recv(65536)
            if not data:
                raise ConnectionError("closed")
            need -= len(data)
        return round((time.monotonic_ns() - start) / 1e6, 4)
