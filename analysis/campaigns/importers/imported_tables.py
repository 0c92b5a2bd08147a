"""What files of others gave: tables of samples and paths, and how much could not be read and why.

Files of JSON are read here whatever their form: one object a line, a list, or one of many lines.
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
    """Samples and paths of files of others; ``reasons`` count what could not be read.

    ``places`` say where vantage points stand, by name, where the files tell it.
    """

    samples: pa.Table
    paths: pa.Table
    reasons: Counter[str]
    places: Mapping[str, Row] = MappingProxyType({})

    @property
    def malformed(self) -> int:
        """How much could not be read."""
        return self.reasons.total()


def imported(samples: Iterable[Row], paths: Iterable[Row], reasons: Mapping[str, int]) -> Imported:
    """Rows as tables of the lake."""
    return Imported(table_of("samples", samples), table_of("paths", paths), Counter(reasons))


def read_objects(path: Path, reasons: Counter[str]) -> Iterator[Any]:
    """JSON values of a file, one a line or all in one; raises ``BadInput`` where it holds none.

    Lines that cannot be read are counted as ``not_json``, what is lost of a packed file as ``cut``.
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
    """One object or list of many lines."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        told = str(error)
        line = getattr(error, "lineno", 1)
        raise BadInput(f"{path.name} is no JSON: {told}", line=line) from error
    return _items(found)


def _lines(path: Path, reasons: Counter[str]) -> Iterator[str]:
    """Lines of a file that may be packed and cut; raises ``BadInput`` where none can be read."""
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
