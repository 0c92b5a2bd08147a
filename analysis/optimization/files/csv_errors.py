"""Find the first error of a CSV file and its line.

Used after the fast Arrow reader has rejected the file without a line number.
"""

import csv
import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from core.errors import BadInput
from core.files import GZIP_MAGIC, open_text

# The decoder's substitute for invalid UTF-8.
NO_TEXT = "\N{REPLACEMENT CHARACTER}"
OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs"}
# Characters of a cell that a message quotes at most.
MAX_LETTERS = 40


def refuse(path: Path, names: Sequence[str], number: str, fallback: str) -> BadInput:
    """Return the error of a rejected file, with its line if known.

    ``names`` are columns of names, ``number`` is a column of optional non-negative numbers.
    """
    if path.suffix != ".gz" and _head_of(path) == GZIP_MAGIC:
        return BadInput(f"{path.name}: this is packed; give it as it was before gzip")
    try:
        with open_text(path, "utf-8-sig", newline="") as stream:
            line, text = next(_faults(stream, (*names, number)), (None, fallback))
    except (EOFError, zlib.error):
        line, text = None, "the packed file is damaged or cut off"
    except (OSError, csv.Error) as error:
        line, text = None, f"this is not CSV: {error}"
    return BadInput(f"{path.name}: {text}", line=line)


def _head_of(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(2)


def _faults(stream: TextIO, columns: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    rows = csv.reader(stream)
    header = next(rows, None)
    if header is None:
        yield 1, f"the file is empty; it needs the columns {', '.join(columns)}"
        return
    lacking = [name for name in columns if name not in header]
    if lacking:
        yield 1, _header_fault(header, lacking, columns)
        return
    places = [header.index(name) for name in columns]
    try:
        for row in rows:
            if row and (text := _row_fault(row, len(header), places, columns)):
                yield rows.line_num, text
    except csv.Error as error:
        yield rows.line_num, f"this line cannot be read: {error}"


def _header_fault(header: list[str], lacking: list[str], columns: tuple[str, ...]) -> str:
    first = header[0] if header else ""
    needed = f"the columns are {', '.join(columns)}"
    for mark, word in OTHER_SEPARATORS.items():
        if mark in first:
            return f"columns are between {word}; put commas: {needed}"
    if NO_TEXT in first or "\0" in first:
        return f"this is not text in UTF-8; save it as such: {needed}"
    alike = [h for h in header if h.strip().lower() == lacking[0]]
    hint = f", there is {alike[0]!r}" if alike else ""
    return f"the column {lacking[0]!r} is missing{hint}; {needed}"


def _row_fault(row: list[str], wide: int, places: list[int], columns: tuple[str, ...]) -> str:
    if len(row) != wide:
        return f"{len(row)} columns, where the first line has {wide}"
    cells = [row[place] for place in places]
    for name, cell in zip(columns[:-1], cells[:-1], strict=True):
        if NO_TEXT in cell:
            return f"the {name} {_short(cell)} is not text in UTF-8"
        if not cell and name != "round":
            return f"the {name} is empty"
    return _number_fault(columns[-1], cells[-1])


def _number_fault(name: str, cell: str) -> str:
    if cell in ("", "nan", "NaN"):
        return ""
    try:
        value = float(cell) if "_" not in cell else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        return f"the {name} {_short(cell)} is not a number"
    if math.isinf(value):
        return f"the {name} {_short(cell)} is not finite"
    return f"the {name} {_short(cell)} is below zero" if value < 0 else ""


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= MAX_LETTERS else f"{cell[:MAX_LETTERS]}…")
