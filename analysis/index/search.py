"""Search for text in all names of a survey, in a memory-mapped file of names, shortest first.

Reading on from the beginning meets the closest names first, and a processor reads a million names
faster than a page is drawn, so there is nothing to build and nothing to keep in memory.
"""

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.row_files import open_dataset

_ROWS = 1 << 16
_NAMES = """
SELECT DISTINCT name FROM listed WHERE NOT contains(name, chr(10))
ORDER BY strlen(name), name
"""
_BREAK = b"\n"


def write_names(sources: Sequence[Path], target: Path, memory_mb: int = 1024) -> None:
    """Write all names of files with a column ``name``, each once; a line break before,
    between and behind them."""
    with duckdb.connect(":memory:") as connection, target.open("wb") as file:
        connection.execute(f"SET memory_limit = '{memory_mb}MB'")
        spill = str(target.with_suffix(".spill")).replace("'", "''")
        connection.execute(f"SET temp_directory = '{spill}'")
        file.write(_BREAK)
        if sources:
            connection.register("listed", open_dataset(sources))
            rows = connection.sql(_NAMES)
            for batch in rows.to_arrow_reader(_ROWS):
                file.write(_lines(batch["name"]))


def _lines(names: pa.Array) -> memoryview:
    ended = pc.binary_join_element_wise(names.cast(pa.string()), "", _BREAK.decode())
    _, offsets, text = ended.buffers()
    bounds = np.frombuffer(offsets, np.int32)[ended.offset : ended.offset + len(ended) + 1]
    return memoryview(text)[bounds[0] : bounds[-1]] if len(ended) else memoryview(b"")


class NameFile:
    """A file of ``write_names``; threads may share it."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def closest(self, text: str, limit: int) -> list[str]:
        """Names that hold a text: itself where it is one, then the shortest, then by alphabet."""
        wanted = text.encode("utf-8", "replace")
        if not wanted or _BREAK in wanted:
            return []
        found = [text] if self._has(wanted) else []
        for line in self._holding(wanted):
            if len(found) >= limit:
                break
            if line != wanted:
                found.append(line.decode("utf-8", "replace"))
        return found[:limit]

    def _has(self, name: bytes) -> bool:
        """Return whether a line is this name: by halving, since lines are in order."""
        low, high = 1, len(self._text)
        while low < high:
            begin = self._text.rfind(_BREAK, 0, (low + high) // 2) + 1
            end = self._text.find(_BREAK, begin)
            line = self._text[begin:end]
            if line == name:
                return True
            if (len(line), line) < (len(name), name):
                low = end + 1
            else:
                high = begin
        return False

    def _holding(self, wanted: bytes) -> Iterator[bytes]:
        at = self._text.find(wanted)
        while at >= 0:
            begin = self._text.rfind(_BREAK, 0, at) + 1
            end = self._text.find(_BREAK, at)
            yield self._text[begin:end]
            at = self._text.find(wanted, end)
