"""Mutual exclusion for parsing large domain lists, with cooperative pauses and cancellation."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.errors import NephoscopeError

# Smaller lists take some milliseconds each.
SMALL_BYTES = 32_000
# How long a request waits for the slot, and how many do: each holds a thread of the server.
WAIT_S, MOST_WAITING = 3.0, 6
RETRY_AFTER_S = 5
# The parser sleeps this long every few milliseconds, so that other threads run.
PAUSE_S = 0.002

_slot = threading.Lock()
_places = threading.Semaphore(MOST_WAITING)


class ListsBusy(NephoscopeError):
    """Another large list is being read."""

    permanent = False


class ClientGone(NephoscopeError):
    """The client has disconnected."""

    permanent = False


@contextmanager
def hold_slot(data: bytes, gone: threading.Event | None = None) -> Iterator[Callable[[], None]]:
    """Hold the slot, if ``data`` needs it, and get what the reader calls between its lines.

    Raises ``ListsBusy`` when the slot stays taken; the pause raises ``ClientGone``.
    """
    if len(data) <= SMALL_BYTES and not data.startswith(b"\x1f\x8b"):
        yield lambda: None
        return
    if not _acquire():
        raise ListsBusy("another large list is being read: send yours again in a few seconds")
    try:
        yield lambda: _pause(gone)
    finally:
        _slot.release()


def _acquire() -> bool:
    """Wait for the slot; false where it stays taken, or too many wait already."""
    if not _places.acquire(blocking=False):
        return False
    try:
        return _slot.acquire(timeout=WAIT_S)
    finally:
        _places.release()


def _pause(gone: threading.Event | None) -> None:
    if gone is not None and gone.is_set():
        raise ClientGone("the client closed the connection")
    time.sleep(PAUSE_S)
