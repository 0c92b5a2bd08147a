"""A server in a child process for as long as a ``with`` block lasts: for tests and demos."""

import contextlib
import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from core.errors import BadInput, Unavailable
from testbed.model import World
from testbed.server import serve

# Indexing a world of scale 1/1 takes half a minute on a slow core.
_START_S = 300.0
_STOP_S = 5.0


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
    context = multiprocessing.get_context("fork")  # the child inherits the world uncopied
    here, there = context.Pipe(duplex=False)
    child = context.Process(
        target=_serve_child, args=(world, tuple(addresses), port, there), daemon=True
    )
    child.start()
    there.close()
    try:
        yield Running(tuple(addresses), _await_port(here), child.pid or 0)
    finally:
        child.terminate()
        child.join(_STOP_S)
        here.close()


def _await_port(here: Connection) -> int:
    try:
        word = here.recv() if here.poll(_START_S) else Unavailable("no server within five minutes")
    except EOFError as error:
        raise Unavailable("the testbed server stopped while starting") from error
    if isinstance(word, Exception):
        raise word
    return int(word)


def _serve_child(world: World, addresses: tuple[str, ...], port: int, parent: Connection) -> None:
    try:
        serve(world, addresses, port, ready=parent.send)
    except (BadInput, Unavailable) as error:
        parent.send(error)
