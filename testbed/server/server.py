"""A real DNS server for a world, over UDP and TCP on loopback addresses."""

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.errors import BadInput, Unavailable
from core.signals import STOPPING, caught
from testbed.generate.forked_servers import serving_apart
from testbed.server.answers import Authority
from testbed.server.responder import Responder
from testbed.server.tcp_stream import Stream
from testbed.world.model import World

DEFAULT_PORT = 5300
# A crawler's burst must fit while this process is not on a core.
_RECEIVE_BUFFER_BYTES = 4 << 20
# Datagrams taken from one socket before the others get their turn.
_DRAIN = 512
_POLL_S = 0.2
_BACKLOG = 128
_LAST_PORT = 65_535
_MAX_STREAMS = 512
# A port that is free for TCP may be taken for UDP; with port 0 another one is tried.
_PORT_TRIALS = 20
# Indexing a world of scale 1/1 takes half a minute on a slow core.
_START_S = 300.0


class StopSign(Protocol):
    """Whatever says that it is time to stop: an event of threads or of processes."""

    def is_set(self) -> bool: ...


@dataclass(slots=True)
class _House:
    """The open sockets of a running server."""

    selector: selectors.BaseSelector
    responder: Responder
    opened: list[socket.socket] = field(default_factory=list)
    streams: dict[Stream, None] = field(default_factory=dict)


def serve(
    world: World,
    addresses: Sequence[str] = ("127.0.0.1",),
    port: int = DEFAULT_PORT,
    ready: Callable[[int], None] | None = None,
    stop: StopSign | None = None,
) -> None:
    """Answer until ``stop`` is set or, in the main thread, SIGTERM or SIGINT arrives.

    ``ready`` is called with the port once all addresses listen (port 0 asks for a free one).
    Raises ``BadInput`` for an address outside loopback, ``Unavailable`` when one is taken.
    """
    for address in addresses:
        if not (address.startswith("127.") or address == "::1"):
            raise BadInput(f"{address} is not loopback, and an emulated Internet stays at home")
    if not 0 <= port <= _LAST_PORT:
        raise BadInput(f"{port} is not a port from 1 to {_LAST_PORT}", field="port")
    halted = threading.Event()
    with caught(halted.set, *STOPPING), selectors.DefaultSelector() as selector:
        house = _House(selector, Responder(Authority(world)))
        try:
            bound = _open(house, addresses, port)
            if ready is not None:
                ready(bound)
            while not halted.is_set() and not (stop is not None and stop.is_set()):
                _turn(house)
        finally:
            _close(house)


def _open(house: _House, addresses: Sequence[str], port: int) -> int:
    for _ in range(_PORT_TRIALS if port == 0 else 1):
        try:
            bound = port
            for address in addresses:
                bound = _open_pair(house, address, bound)
            return bound
        except OSError as error:
            _close(house)
            reason = error.strerror or str(error)
    where = f"port {port}" if port else "any free port"
    raise Unavailable(f"cannot listen on {', '.join(addresses)}, {where}: {reason}")


def _open_pair(house: _House, address: str, port: int) -> int:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    house.opened.append(listener)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    bound = int(listener.getsockname()[1])
    listener.listen(_BACKLOG)
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    house.opened.append(datagrams)
    datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    datagrams.bind((address, bound))
    for opened, act in ((listener, _accept), (datagrams, _drain)):
        opened.setblocking(False)
        house.selector.register(opened, selectors.EVENT_READ, act)
    return bound


def _close(house: _House) -> None:
    for stream in list(house.streams):
        _drop(house, stream)
    for opened in house.opened:
        with contextlib.suppress(KeyError, ValueError):
            house.selector.unregister(opened)
        opened.close()
    house.opened.clear()


def _turn(house: _House) -> None:
    for key, mask in house.selector.select(_POLL_S):
        if isinstance(key.data, Stream):
            _serve_stream(house, key.data, mask)
        else:
            key.data(house, key.fileobj)


def _drain(house: _House, datagrams: socket.socket) -> None:
    receive, send, respond = datagrams.recvfrom, datagrams.sendto, house.responder.respond
    for _ in range(_DRAIN):
        try:
            packet, sender = receive(4096)
        except BlockingIOError:
            return
        except OSError:
            continue  # an ICMP error about an earlier reply
        reply = respond(packet)
        if reply is not None:
            with contextlib.suppress(OSError):
                send(reply, sender)


def _accept(house: _House, listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        connection.setblocking(False)
        if len(house.streams) >= _MAX_STREAMS:
            _drop(house, next(iter(house.streams)))  # the oldest has had its time
        stream = Stream(connection, house.responder)
        house.streams[stream] = None
        house.selector.register(connection, selectors.EVENT_READ, stream)


def _serve_stream(house: _House, stream: Stream, mask: int) -> None:
    if stream not in house.streams:
        return  # dropped earlier in this turn
    try:
        alive = stream.step(readable=bool(mask & selectors.EVENT_READ))
    except OSError:
        alive = False
    if not alive:
        _drop(house, stream)
        return
    wanted = selectors.EVENT_WRITE if stream.waiting else selectors.EVENT_READ
    house.selector.modify(stream.connection, wanted, stream)


def _drop(house: _House, stream: Stream) -> None:
    with contextlib.suppress(KeyError, ValueError):
        house.selector.unregister(stream.connection)
    stream.connection.close()
    house.streams.pop(stream, None)


@dataclass(frozen=True, slots=True)
class Running:
    """A running server: where to ask it."""

    addresses: tuple[str, ...]
    port: int
    pid: int

    @property
    def address(self) -> str:
        """The first of its addresses."""
        return self.addresses[0]


@contextlib.contextmanager
def running(
    world: World, addresses: Sequence[str] = ("127.0.0.1",), port: int = 0
) -> Iterator[Running]:
    """Serve ``world`` from a child process; raises ``Unavailable`` or ``BadInput``."""

    def answer(ready: Callable[[int], None]) -> None:
        serve(world, addresses, port, ready)

    with serving_apart(answer, _START_S) as (pid, bound):
        yield Running(tuple(addresses), bound, pid)
