"""Testbed servers in child processes, forked so that a world is inherited without a copy."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from core.errors import NephoscopeError, Unavailable

_STOP_S = 5.0
Serve = Callable[[Callable[[Any], None]], None]


@contextmanager
def serve_in_child(serve: Serve, within_s: float) -> Iterator[tuple[int, Any]]:
    """Run ``serve(ready)`` in a child; yield its process id and the value passed to ``ready``.

    Raises what the server raised before it was ready, or ``Unavailable`` after ``within_s`` of
    silence. The child ends with the block, whatever signals it or its parent handle.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(serve, there), daemon=True)
    child.start()
    there.close()
    try:
        yield child.pid or 0, _wait_until_ready(here, within_s)
    finally:
        child.terminate()
        child.join(_STOP_S)
        if child.is_alive():
            child.kill()
            child.join()
        here.close()


def _wait_until_ready(line: Connection, within_s: float) -> Any:
    try:
        word = line.recv() if line.poll(within_s) else Unavailable(f"no server in {within_s:.0f} s")
    except EOFError as error:
        raise Unavailable("the testbed server stopped while starting") from error
    if isinstance(word, Exception):
        raise word
    return word


def _run(serve: Serve, line: Connection) -> None:
    # The parent ends this process; reset handlers inherited through the fork.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        serve(line.send)
    except NephoscopeError as error:
        line.send(error)
