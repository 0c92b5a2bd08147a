"""The result of an import: tables of samples and paths, and unreadable results by reason.

JSON files may hold one object per line, a list, or one object over many lines.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from core.errors import BadInput
from core.files import open_text
from lake.campaigns import table_of

Row = dict[str, Any]


class Imported(NamedTuple):
    """Imported samples and paths; ``reasons`` counts unreadable results by reason.

    ``places`` has the locations of vantage points by name, where the files contain them.
    """

    samples: pa.Table
    paths: pa.Table
    reasons: Counter[str]
    places: Mapping[str, Row] = MappingProxyType({})

    @property
    def malformed(self) -> int:
        """The number of unreadable results."""
        return self.reasons.total()


def build_imported(
    samples: Iterable[Row], paths: Iterable[Row], reasons: Mapping[str, int]
) -> Imported:
    """Convert rows to tables of the lake."""
    return Imported(table_of("samples", samples), table_of("paths", paths), Counter(reasons))


def read_objects(path: Path, reasons: Counter[str]) -> Iterator[Any]:
    """Yield the JSON values of a file, one per line or all in one; raise ``BadInput`` without any.

    Unreadable lines are counted as ``not_json``, a truncated compressed file as ``cut``.
    """
    lines = _lines(path, reasons)
    first = next((line for line in lines if line.strip()), "")
    try:
        found = json.loads(first)
    except (ValueError, RecursionError):
        yield from _whole(path, first + "".join(lines))
        return
    yield from _items(found)
    for line in lines:
        if line.strip():
            try:
                yield from _items(json.loads(line))
            except (ValueError, RecursionError):
                reasons["not_json"] += 1


def _items(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _whole(path: Path, text: str) -> list[Any]:
    """Parse one object or list that spans many lines."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise BadInput(f"{path.name} is not JSON: {error}", line=line) from error
    return _items(found)


def _lines(path: Path, reasons: Counter[str]) -> Iterator[str]:
    """Yield lines of a file, compressed or truncated; raise ``BadInput`` without any."""
    any_line = False
    try:
        with open_text(path) as stream:
            for line in stream:
                any_line = True
                yield line
    except (EOFError, zlib.error, OSError) as error:
        if not any_line:
            raise BadInput(f"{path.name} cannot be read: {error}") from error
        reasons["cut"] += 1
