"""The testbed's DNS server: UDP and TCP on loopback, for a whole world at once."""

import contextlib
import hashlib
import multiprocessing
import os
import selectors
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event as ProcessEvent

from core.errors import BadInput, Unavailable
from testbed import wire
from testbed.worlds import World
from testbed.zonedata import Outcome, ZoneData

DEFAULT_PORT = 5300
_DRAIN = 128
_CACHE_LIMIT = 400_000
_TCP_IDLE_S = 10.0
_RECORDS_PER_MESSAGE = 400


class Responder:
    """Turns query packets into reply packets."""

    def __init__(self, world: World) -> None:
        self.data = ZoneData(world)
        self.faults = world.faults
        self.cache: dict[bytes, tuple[int, int, bytes, str]] = {}
        self.seen: set[bytes] = set()
        self.answered = 0

    def reply(self, packet: bytes, *, over_tcp: bool = False) -> bytes | None:
        """The reply to a query, or ``None`` for one that is dropped or is no query."""
        try:
            name, code, end = wire.read_question(packet)
        except (ValueError, IndexError, UnicodeDecodeError):
            return _formerr(packet)
        key = packet[12:end].lower()
        known = self.cache.get(key)
        if known is None:
            known = self._learn(key, name, code, end)
        counts, rcode, body, fault = known
        if fault:
            rcode_now = self._faulty(key, fault)
            if rcode_now is None:
                return None
            if rcode_now:
                counts, rcode, body = 0, rcode_now, b""
        self.answered += 1
        return self._assemble(packet, end, (counts, rcode, body), over_tcp)

    def _learn(self, key: bytes, name: str, code: int, end: int) -> tuple[int, int, bytes, str]:
        outcome = self.data.find(name, wire.TYPE_NAMES.get(code, ""))
        counts, body = wire.encode_body(outcome, name, end - 12)
        rcode = 0 if outcome.exists else 3
        entry = (counts, rcode, body, outcome.fault or self._chance(key, outcome))
        if len(self.cache) >= _CACHE_LIMIT:
            self.cache.clear()
        self.cache[key] = entry
        return entry

    def _chance(self, key: bytes, outcome: Outcome) -> str:
        """Faults that strike a name's first query only, fixed by the name itself."""
        if not outcome.records:
            return ""
        draw = int.from_bytes(hashlib.blake2b(key, digest_size=4).digest(), "big") / 2**32
        if draw < self.faults["drop_first_query"]:
            return "drop"
        if draw < self.faults["drop_first_query"] + self.faults["servfail_first_query"]:
            return "fail"
        return ""

    def _faulty(self, key: bytes, fault: str) -> int | None:
        """0 for a good answer, an rcode, or ``None`` for silence."""
        if fault == "silent":
            return None
        if fault == "servfail":
            return 2
        if key in self.seen:
            return 0
        self.seen.add(key)
        return None if fault == "drop" else 2

    def _assemble(
        self, packet: bytes, end: int, known: tuple[int, int, bytes], over_tcp: bool
    ) -> bytes:
        counts, rcode, body = known
        edns = packet[10:12] != b"\0\0"
        limit = 65_535 if over_tcp else _edns_size(packet, end) if edns else wire.PLAIN_LIMIT
        flags = 0x8580 | rcode
        extra = wire.OPT if edns else b""
        if end + len(body) + len(extra) > limit:
            flags, counts, body = flags | 0x0200, 0, b""
        head = struct.pack("!HHHHHH", 0, flags, 1, counts >> 16, counts & 0xFFFF, 1 if edns else 0)
        return packet[:2] + head[2:] + packet[12:end] + body + extra


def _edns_size(packet: bytes, end: int) -> int:
    if len(packet) >= end + 5 and packet[end : end + 3] == b"\0\0\x29":
        return max(wire.PLAIN_LIMIT, packet[end + 3] << 8 | packet[end + 4])
    return wire.PLAIN_LIMIT


def _formerr(packet: bytes) -> bytes | None:
    if len(packet) < 12 or packet[2] & 0x80:
        return None
    return packet[:2] + b"\x80\x01" + b"\0" * 8


class Server:
    """Sockets of one server on one or more loopback addresses."""

    def __init__(self, world: World, addresses: tuple[str, ...], port: int) -> None:
        for address in addresses:
            if not address.startswith("127.") and address != "::1":
                raise BadInput("the testbed answers on loopback only", field="address")
        self.responder = Responder(world)
        self.selector = selectors.DefaultSelector()
        self.stopping = threading.Event()
        self.port = port
        for address in addresses:
            self._bind(address)

    def _bind(self, address: str) -> None:
        try:
            stream = socket.create_server((address, self.port), backlog=256)
            self.port = stream.getsockname()[1]
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.bind((address, self.port))
        except OSError as error:
            raise Unavailable(
                f"cannot answer on {address}:{self.port}: {error.strerror}; choose --port"
            ) from error
        with contextlib.suppress(OSError):
            udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
        udp.setblocking(False)
        stream.setblocking(False)
        self.selector.register(udp, selectors.EVENT_READ, self._answer_udp)
        self.selector.register(stream, selectors.EVENT_READ, self._accept)

    def run(self) -> None:
        """Answer until ``stop`` is called."""
        while not self.stopping.is_set():
            for key, _ in self.selector.select(0.2):
                key.data(key.fileobj)
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self.selector.close()

    def stop(self) -> None:
        """End ``run`` soon."""
        self.stopping.set()

    def _answer_udp(self, sock: socket.socket) -> None:
        reply = self.responder.reply
        for _ in range(_DRAIN):
            try:
                packet, peer = sock.recvfrom(4096)
            except OSError:
                return
            answer = reply(packet)
            if answer is not None:
                with contextlib.suppress(OSError):
                    sock.sendto(answer, peer)

    def _accept(self, sock: socket.socket) -> None:
        try:
            connection, _ = sock.accept()
        except OSError:
            return
        threading.Thread(target=self._serve_stream, args=(connection,), daemon=True).start()

    def _serve_stream(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, struct.error):
            connection.settimeout(_TCP_IDLE_S)
            while True:
                head = _read_exactly(connection, 2)
                packet = _read_exactly(connection, struct.unpack("!H", head)[0])
                if not self._answer_stream(connection, packet):
                    return

    def _answer_stream(self, connection: socket.socket, packet: bytes) -> bool:
        try:
            name, code, end = wire.read_question(packet)
        except (ValueError, IndexError, UnicodeDecodeError):
            return False
        if code == wire.TYPES["AXFR"]:
            return self._transfer(connection, packet, name, end)
        answer = self.responder.reply(packet, over_tcp=True)
        if answer is None:
            return False
        _send(connection, answer)
        return True

    def _transfer(self, connection: socket.socket, packet: bytes, name: str, end: int) -> bool:
        zone = self.responder.data.zones.get(name)
        if zone is None or zone.fault or zone.transfer == "refused":
            head = struct.pack("!HHHHH", 0x8405, 1, 0, 0, 0)
            _send(connection, packet[:2] + head + packet[12:end])
            return True
        soa = (name, "SOA", name)
        records = [soa, *self.responder.data.transfer(zone), soa]
        if zone.transfer == "cut":
            records = records[: max(1, len(records) // 2)]
        for first in range(0, len(records), _RECORDS_PER_MESSAGE):
            batch = records[first : first + _RECORDS_PER_MESSAGE]
            _send(connection, _transfer_message(packet, name, end, batch))
        return zone.transfer == "allowed"


def _transfer_message(
    packet: bytes, name: str, end: int, records: list[tuple[str, str, str]]
) -> bytes:
    known, at, parts = {name: 12}, end, []
    for owner, rrtype, data in records:
        part = wire.encode_record(owner, rrtype, data, known, at)
        parts.append(part)
        at += len(part)
    head = struct.pack("!HHHHH", 0x8400, 1, len(records), 0, 0)
    return packet[:2] + head + packet[12:end] + b"".join(parts)


def _send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(struct.pack("!H", len(message)) + message)


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise OSError("closed")
        data += chunk
    return data


def serve(
    world: World,
    addresses: tuple[str, ...] = ("127.0.0.1",),
    port: int = DEFAULT_PORT,
    ready: Callable[[int], None] | None = None,
) -> None:
    """Answer for a world until SIGTERM or SIGINT; ``ready`` gets the port."""
    server = Server(world, addresses, port)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    if ready:
        ready(server.port)
    server.run()


def _stop_with(stop: ProcessEvent, server: Server) -> None:
    stop.wait()
    server.stop()


def _serve_child(world: World, port: "multiprocessing.Queue[int]", stop: ProcessEvent) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = Server(world, ("127.0.0.1",), 0)
    threading.Thread(target=_stop_with, args=(stop, server), daemon=True).start()
    port.put(server.port)
    server.run()
    os._exit(0)


@contextlib.contextmanager
def running(world: World) -> Iterator[int]:
    """A server in a process of its own, for tests; gives its port."""
    context = multiprocessing.get_context("fork")
    port: multiprocessing.Queue[int] = context.Queue()
    stop = context.Event()
    child = context.Process(target=_serve_child, args=(world, port, stop), daemon=True)
    child.start()
    try:
        yield port.get(timeout=30)
    finally:
        stop.set()
        child.join(5)
        if child.is_alive():
            child.terminate()
