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


class Failed(Exception):
    """A repetition has no result, and why."""


class Repetition(Background):
    """A thread that does the same until the block ends, and compares each result with the first."""

    kind = ""

    def __init__(self, enter: Callable[[Callable[[], Any]], Any]) -> None:
        super().__init__(enter)
        self.done = 0
        self.faults: list[str] = []

    def run(self) -> None:
        """Repeat until stopped, then look for what should not be left."""
        first: Any = None
        while not self._stopped.is_set():
            key = f"{self.kind}-{self.done}"
            try:
                found = self.perform(key)
                first = first or found
                if found != first:
                    fault = f"{str(found)[:200]} instead of {str(first)[:200]}"
                    self.faults.append(f"{key}: {fault}")
            except Failed as error:
                self.faults.append(f"{key}: {error}")
            self.done += 1
        if left := self.find_left():
            self.faults.append(left)

    def perform(self, key: str) -> Any:
        """Return the result of one, with this idempotency key; raises ``Failed``."""
        raise NotImplementedError

    def find_left(self) -> str:
        """Return what is stored at the end but should not be, or nothing."""
        raise NotImplementedError
