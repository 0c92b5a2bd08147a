"""Parse files of prefixes and their origin ASes: the formats of pyasn, CAIDA and iptoasn.

Files may be gzipped. The result has prefixes or ranges with their sets of origins; errors name the
line.
"""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cartography.addresses.prefixes import BITS, pack_address, read_prefix
from cartography.asn.lines import Regular, read_regular
from cartography.ranges.gzip_file import unpack
from core.errors import BadInput

# Highest number that a 32-bit AS number has; iptoasn writes 0 for unannounced prefixes.
_LAST_ASN = (1 << 32) - 1
_COMMENT = (b";", b"#")
# Several origins of one prefix: 1_2 (CAIDA), {1,2} (a route's AS set), 1,2 or 1 2.
_SEPARATORS = re.compile(rb"[_,{} ]+")
_COUNT = re.compile(rb"^; *Prefixes *: *(\d+) *\r?$", re.M)
Origins = tuple[int, ...]
# (family, first, length, origins)
PrefixRow = tuple[int, int, int, Origins]
# (family, first, last, origins)
RangeRow = tuple[int, int, int, Origins]


@dataclass(frozen=True, slots=True)
class OriginFile:
    """A whole file: plain lines of IPv4 prefixes in columns, all others as rows.

    A file holds prefixes, which nest, or ``ranges``, which do not.
    """

    regular: Regular
    prefixes: tuple[PrefixRow, ...] = ()
    ranges: tuple[RangeRow, ...] = ()

    @property
    def n_lines(self) -> int:
        return len(self.regular.firsts) + len(self.prefixes) + len(self.ranges)


def is_origin_file(data: bytes) -> bool:
    """Return whether bytes look like a file of prefixes and AS numbers, sound or damaged."""
    line = next((text for _, text in _lines(data[:65536])), b"")
    return b"\t" in line and pack_address(_text(re.split(rb"[\t/]", line)[0])) != b""


def read_origins(data: bytes) -> OriginFile:
    """Parse a file; raise ``BadInput`` that names the line."""
    plain = unpack(data)
    if not is_origin_file(plain):
        raise BadInput("this is no file of prefixes and AS numbers, separated by tabs")
    first = next(text for _, text in _lines(plain))
    n_columns = first.count(b"\t") + 1
    if n_columns == 2:
        regular, others = read_regular(plain)
        rows = tuple(_prefix_row(number, line) for number, line in others)
        file = OriginFile(regular, prefixes=tuple(row for row in rows if row))
        _check_count(plain, file.n_lines)
        return file
    nothing = read_regular(b"")[0]
    if n_columns == 3:
        return OriginFile(
            nothing, prefixes=tuple(_pfx2as_row(n, text) for n, text in _lines(plain))
        )
    rows5 = (_range_row(number, text) for number, text in _lines(plain))
    return OriginFile(nothing, ranges=tuple(row for row in rows5 if row[3] != (0,)))


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    # Line by line, since many only want the first.
    for number, line in enumerate(io.BytesIO(data), 1):
        text = line.strip()
        if text and not text.startswith(_COMMENT):
            yield number, text


def _check_count(plain: bytes, n_lines: int) -> None:
    """The header of pyasn's files gives the number of prefixes."""
    stated = _COUNT.search(plain[:4096])
    if stated and int(stated[1]) != n_lines:
        raise BadInput(
            f"the header says {int(stated[1]):,} prefixes and {n_lines:,} follow; is it cut off?"
        )


def _text(data: bytes) -> str:
    return data.decode("ascii", "replace")


def _prefix_row(number: int, line: bytes) -> PrefixRow | None:
    text = line.strip()
    if not text or text.startswith(_COMMENT):
        return None
    prefix, tab, origins = text.partition(b"\t")
    if not tab:
        raise BadInput(
            "a prefix and its AS are separated by a tab; is the file cut off?", line=number
        )
    return _row(number, _text(prefix), origins)


def _pfx2as_row(number: int, line: bytes) -> PrefixRow:
    cells = line.split(b"\t")
    if len(cells) != 3:
        raise BadInput(
            f"it has {len(cells)} columns instead of 3; is the file cut off?", line=number
        )
    return _row(number, f"{_text(cells[0])}/{_text(cells[1])}", cells[2])


def _row(number: int, prefix: str, origins: bytes) -> PrefixRow:
    if "/" not in prefix:
        raise BadInput(f"{prefix!r} has no length", line=number)
    try:
        family, first, length = read_prefix(prefix)
    except ValueError as error:
        raise BadInput(f"{prefix!r} is not a prefix: {error}", line=number) from error
    return family, first, length, _origins(number, origins)


def _range_row(number: int, line: bytes) -> RangeRow:
    cells = line.split(b"\t")
    if len(cells) != 5:
        raise BadInput(
            f"it has {len(cells)} columns instead of 5; is the file cut off?", line=number
        )
    first, last = (pack_address(_text(cell)) for cell in cells[:2])
    if not first or len(first) != len(last) or first > last:
        raise BadInput("the first two columns are not a range of addresses", line=number)
    family = 4 if len(first) == BITS[4] // 8 else 6
    return family, int.from_bytes(first), int.from_bytes(last), _origins(number, cells[2])


def _origins(number: int, text: bytes) -> Origins:
    parts = [part for part in _SEPARATORS.split(text.strip()) if part]
    if not parts or not all(part.isdigit() and int(part) <= _LAST_ASN for part in parts):
        raise BadInput(f"{_text(text)!r} is not an AS number, nor several", line=number)
    return tuple(sorted({int(part) for part in parts}))


def rows_of(file: OriginFile) -> list[PrefixRow]:
    """All prefixes of a file as rows, those of its columns first."""
    plain = file.regular
    columns = (plain.firsts.tolist(), plain.lengths.tolist(), plain.origins.tolist())
    rows: list[PrefixRow] = [(4, a, b, (asn,)) for a, b, asn in zip(*columns, strict=True)]
    return [*rows, *file.prefixes]


def join_origins(rows: Iterable[PrefixRow]) -> list[PrefixRow]:
    """Rows with each prefix once, and all origins that are given for it."""
    joined: dict[tuple[int, int, int], Origins] = {}
    for family, first, length, origins in rows:
        key = (family, first, length)
        known = joined.get(key)
        joined[key] = origins if known is None else tuple(sorted({*known, *origins}))
    return [(*key, origins) for key, origins in joined.items()]


def has_repeated_prefixes(firsts: NDArray[np.uint32], lengths: NDArray[np.uint8]) -> bool:
    """Whether a prefix occurs in the columns twice."""
    keys = (firsts.astype(np.uint64) << np.uint64(6)) | lengths
    ordered = np.sort(keys, kind="stable")
    return bool((ordered[1:] == ordered[:-1]).any())
