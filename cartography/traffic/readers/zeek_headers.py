"""Parse the headers of Zeek's text format, which may change within a log.

Blocks of lines are split into runs of rows under one header.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cartography.traffic.readers.line_blocks import Block

_HASH = ord("#")


@dataclass(frozen=True, slots=True)
class Header:
    """The header that the lines since the last ``#separator`` declare for the rows that follow."""

    separator: str = "\t"
    set_separator: str = ","
    empty: str = "(empty)"
    unset: str = "-"
    path: str = ""
    fields: tuple[str, ...] = ()

    def after(self, line: str) -> "Header":
        """The header after one more ``#`` line; remarks and dates change nothing."""
        if line.startswith("#separator "):
            return Header(separator=_unescape(line.removeprefix("#separator ").rstrip("\n")))
        name, *values = line.rstrip("\n").split(self.separator)
        if not values:
            return self
        if name == "#fields":
            return replace(self, fields=_distinct(values))
        known = {
            "#set_separator": "set_separator",
            "#empty_field": "empty",
            "#unset_field": "unset",
            "#path": "path",
        }
        if name not in known:
            return self
        changed: dict[str, Any] = {known[name]: values[0]}
        return replace(self, **changed)


@dataclass(frozen=True, slots=True)
class Run:
    """Rows in a row under one header, with their line numbers."""

    header: Header
    data: bytes
    lines: NDArray[np.int64]


def split_runs(block: Block, header: Header) -> Iterator[tuple[Header, Run | None]]:
    """Runs of a block; the header in force after each comes with it."""
    starts = _line_starts(block.data)
    array = np.frombuffer(block.data, np.uint8)
    marked = np.flatnonzero(array[starts] == _HASH)
    bounds = np.append(starts, len(block.data))
    pieces: list[tuple[int, int]] = []
    under, first = header, 0
    for row in [*marked.tolist(), len(starts)]:
        if row > first:
            if pieces and header != under:
                yield header, _run(block, under, bounds, pieces)
                pieces = []
            under = header
            pieces.append((first, row))
        first = row + 1
        if row < len(starts):
            text = block.data[bounds[row] : bounds[row + 1]].decode("utf-8", "replace")
            header = header.after(text)
    yield header, _run(block, under, bounds, pieces) if pieces else None


def _run(
    block: Block, header: Header, bounds: NDArray[np.int64], pieces: list[tuple[int, int]]
) -> Run:
    if pieces == [(0, len(block.lines))]:
        return Run(header, block.data, block.lines)
    data = b"".join(block.data[bounds[a] : bounds[b]] for a, b in pieces)
    return Run(header, data, np.concatenate([block.lines[a:b] for a, b in pieces]))


def _line_starts(data: bytes) -> NDArray[np.int64]:
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    starts = np.append(0, ends + 1)
    return starts[starts < len(data)]


def _unescape(text: str) -> str:
    if text == "\\t":
        return "\t"  # as converters of other logs write it
    if text.startswith("\\x") and len(text) == 4:
        try:
            return chr(int(text[2:], 16))
        except ValueError:
            return "\t"
    return text[:1] or "\t"


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Each name once: repeated columns are not read."""
    return tuple(n if names.index(n) == i else f"{n}#{i}" for i, n in enumerate(names))
