"""Work in a thread beside the main work of a drill, until the block ends."""

import threading
from collections.abc import Callable
from typing import Any, Self


class Background:
    """A thread that runs until the block ends; ``enter`` calls work, such as on a machine."""

    def __init__(self, enter: Callable[[Callable[[], Any]], Any] = lambda work: work()) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=enter, args=(self.run,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def run(self) -> None:
        """Work until ``_stopped`` is set."""
        raise NotImplementedError
