"""Files that stay open for later readers, until they are replaced, deleted or displaced."""

import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")
# An open file that was deleted uses disk space until it is closed.
CHECK_S = 30.0
State = tuple[int, int, int]


class OpenFiles(Generic[T]):
    """What ``make`` has opened, by path; threads may share it.

    At most ``most`` files are open, the least recently used are closed first. Every ``CHECK_S``
    seconds files are closed that were deleted or replaced; a file in use is closed after it.
    """

    def __init__(self, make: Callable[[Path], T], most: int) -> None:
        self._make, self._most = make, most
        self._open: OrderedDict[Path, tuple[State, T]] = OrderedDict()
        self._lock = Lock()
        self._checked_s = time.monotonic()

    def get(self, path: Path) -> T:
        """Return the open file; raises ``OSError`` where there is none, and as ``make``."""
        state = _state_of(path)
        with self._lock:
            self._close_deleted(time.monotonic())
            found = self._open.get(path)
            if found is not None and found[0] == state:
                self._open.move_to_end(path)
                return found[1]
        made = self._make(path)
        with self._lock:
            self._open[path] = state, made
            self._open.move_to_end(path)
            while len(self._open) > self._most:
                self._open.popitem(last=False)
        return made

    def _close_deleted(self, now_s: float) -> None:
        if now_s - self._checked_s < CHECK_S:
            return
        self._checked_s = now_s
        for path in [p for p, (state, _) in self._open.items() if not _is_now(p, state)]:
            del self._open[path]


def _is_now(path: Path, state: State) -> bool:
    try:
        return _state_of(path) == state
    except OSError:
        return False


def _state_of(path: Path) -> State:
    about = path.stat()
    return about.st_ino, about.st_mtime_ns, about.st_size
