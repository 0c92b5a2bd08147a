"""Temporary signal handlers.

The previous handlers are restored at the end, so that neither a caller in the same process nor a
child that is forked later inherits a handler that refers to a block that has ended.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def caught(act: Callable[[], object], *numbers: signal.Signals) -> Iterator[None]:
    """Call ``act`` on each of these signals; outside the main thread, install nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(number, lambda *_: act()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
