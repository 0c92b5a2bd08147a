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
from testbed.generate.forked_servers import serve_in_child
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


class StopEvent(Protocol):
    """An event of threads or of processes that stops the server."""

    def is_set(self) -> bool: ...


@dataclass(slots=True)
class _ServerState:
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
    stop: StopEvent | None = None,
) -> None:
    """Answer until ``stop`` is set or, in the main thread, SIGTERM or SIGINT arrives.

    ``ready`` is called with the port once all addresses listen (port 0 asks for a free one).
    Raises ``BadInput`` for an address outside loopback, ``Unavailable`` when one is taken.
    """
    for address in addresses:
        if not (address.startswith("127.") or address == "::1"):
            raise BadInput(f"{address} is not loopback, and an emulated Internet stays on loopback")
    if not 0 <= port <= _LAST_PORT:
        raise BadInput(f"{port} is not a port from 1 to {_LAST_PORT}", field="port")
    halted = threading.Event()
    with caught(halted.set, *STOPPING), selectors.DefaultSelector() as selector:
        state = _ServerState(selector, Responder(Authority(world)))
        try:
            bound = _open(state, addresses, port)
            if ready is not None:
                ready(bound)
            while not halted.is_set() and not (stop is not None and stop.is_set()):
                _poll_sockets(state)
        finally:
            _close(state)


def _open(state: _ServerState, addresses: Sequence[str], port: int) -> int:
    for _ in range(_PORT_TRIALS if port == 0 else 1):
        try:
            bound = port
            for address in addresses:
                bound = _open_pair(state, address, bound)
            return bound
        except OSError as error:
            _close(state)
            reason = error.strerror or str(error)
    where = f"port {port}" if port else "any free port"
    raise Unavailable(f"cannot listen on {', '.join(addresses)}, {where}: {reason}")


def _open_pair(state: _ServerState, address: str, port: int) -> int:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    state.opened.append(listener)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    bound = int(listener.getsockname()[1])
    listener.listen(_BACKLOG)
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    state.opened.append(datagrams)
    datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    datagrams.bind((address, bound))
    for opened, act in ((listener, _accept), (datagrams, _drain)):
        opened.setblocking(False)
        state.selector.register(opened, selectors.EVENT_READ, act)
    return bound


def _close(state: _ServerState) -> None:
    for stream in list(state.streams):
        _drop(state, stream)
    for opened in state.opened:
        with contextlib.suppress(KeyError, ValueError):
            state.selector.unregister(opened)
        opened.close()
    state.opened.clear()


def _poll_sockets(state: _ServerState) -> None:
    for key, mask in state.selector.select(_POLL_S):
        if isinstance(key.data, Stream):
            _serve_stream(state, key.data, mask)
        else:
            key.data(state, key.fileobj)


def _drain(state: _ServerState, datagrams: socket.socket) -> None:
    receive, send, respond = datagrams.recvfrom, datagrams.sendto, state.responder.respond
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


def _accept(state: _ServerState, listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        connection.setblocking(False)
        if len(state.streams) >= _MAX_STREAMS:
            _drop(state, next(iter(state.streams)))  # the oldest has had its time
        stream = Stream(connection, state.responder)
        state.streams[stream] = None
        state.selector.register(connection, selectors.EVENT_READ, stream)


def _serve_stream(state: _ServerState, stream: Stream, mask: int) -> None:
    if stream not in state.streams:
        return  # dropped earlier in this turn
    try:
        alive = stream.step(readable=bool(mask & selectors.EVENT_READ))
    except OSError:
        alive = False
    if not alive:
        _drop(state, stream)
        return
    wanted = selectors.EVENT_WRITE if stream.waiting else selectors.EVENT_READ
    state.selector.modify(stream.connection, wanted, stream)


def _drop(state: _ServerState, stream: Stream) -> None:
    with contextlib.suppress(KeyError, ValueError):
        state.selector.unregister(stream.connection)
    stream.connection.close()
    state.streams.pop(stream, None)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Addresses, port and process of a running server."""

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
) -> Iterator[RunningServer]:
    """Serve ``world`` from a child process; raises ``Unavailable`` or ``BadInput``."""

    def answer(ready: Callable[[int], None]) -> None:
        serve(world, addresses, port, ready)

    with serve_in_child(answer, _START_S) as (pid, bound):
        yield RunningServer(tuple(addresses), bound, pid)
