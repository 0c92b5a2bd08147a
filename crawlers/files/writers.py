"""Writers of the bulk resolver's results: JSON lines or a Parquet file, both resumable.

``mark`` flushes everything written so far and returns its position; a writer opened with a mark
drops what follows it.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from core.errors import Unavailable
from crawlers.engine.config import Lines, Result
from crawlers.files.jsonl import LineWriter

# Less than the lines of one step, so that these are written without a copy.
_BUFFER_OCTETS = 1 << 16
_MARK_EVERY_S = 2.0


class Sink(Protocol):
    """What results are written to."""

    def write(self, results: Sequence[Result]) -> None:
        """Take results in."""

    def write_lines(self, lines: Lines) -> None:
        """Take results in that are JSON lines already."""

    def is_due(self, now: float) -> bool:
        """Whether it is time for the next mark."""

    def mark(self, now: float) -> dict[str, Any]:
        """Make all that was written safe; returns where that ends. Raises ``Unavailable``."""

    def finish(self) -> None:
        """Complete the output; raises ``Unavailable``."""


class LineSink:
    """JSON lines in a file or on a stream that is open already."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._lines = LineWriter()
        self._marked_at = 0.0

    @classmethod
    def open(cls, path: Path, mark: dict[str, Any] | None = None) -> "LineSink":
        """A new file, or one that continues behind ``mark``; raises ``Unavailable``."""
        try:
            if mark is None:
                return cls(path.open("wb", buffering=_BUFFER_OCTETS))
            handle = path.open("r+b", buffering=_BUFFER_OCTETS)
            handle.truncate(mark["octets"])
            handle.seek(0, os.SEEK_END)
        except OSError as error:
            raise Unavailable(f"cannot write {path}: {error.strerror}") from error
        return cls(handle)

    def write(self, results: Sequence[Result]) -> None:
        self._handle.write(self._lines.write(results).encode())

    def write_lines(self, lines: Lines) -> None:
        self._handle.write(lines.text)

    def is_due(self, now: float) -> bool:
        self._marked_at = self._marked_at or now
        return now - self._marked_at >= _MARK_EVERY_S

    def mark(self, now: float) -> dict[str, Any]:
        self._marked_at = now
        self._handle.flush()
        os.fsync(self._handle.fileno())
        return {"octets": self._handle.tell()}

    def finish(self) -> None:
        self._handle.flush()
