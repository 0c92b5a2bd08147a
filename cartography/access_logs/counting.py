"""Read access logs and count requests by country, city and network of the clients.

The results are counts of cells with at least ``MIN_CLIENTS`` different clients.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cartography.access_logs.cells import MIN_CLIENTS, Cells, Pseudonyms
from cartography.access_logs.lines import LogForm, recognise
from cartography.addresses.intervals import Labels
from cartography.addresses.matching import AddressMap
from cartography.asn.tables import OriginTable
from cartography.geolocation.tables import PlaceTable
from cartography.traffic.readers.line_blocks import Source
from core.errors import BadInput
from core.files import GZIP_MAGIC, CutStream, DamagedStream, inflate

_MAPPED_HIGH, _MAPPED = np.uint64(0), np.uint64(0xFFFF)
_PIECE_BYTES = 1024 * 1024
# Cells: country alone, with a city, with a network. Of a key the upper half is the country.
KINDS = ("country", "city", "network")
_Table = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class LogFile:
    """What became of one file: its form, lines, and wrong lines by reason."""

    name: str
    form: str
    n_lines: int
    n_read: int
    wrong: dict[str, dict[str, Any]]
    damage: str = ""


@dataclass(frozen=True, slots=True)
class ClientCounts:
    """Requests by country, and in each country by city and by network; cells below the floor are
    in ``withheld`` (country) or in the rest of their country, under the empty name."""

    files: list[LogFile] = field(default_factory=list)
    countries: dict[str, int] = field(default_factory=dict)
    cities: _Table = field(default_factory=dict)
    networks: _Table = field(default_factory=dict)
    # Requests of clients without a place in the tables.
    unmatched: int = 0
    # Requests of countries with fewer different clients than the floor.
    withheld: int = 0

    def weights(self, by: str) -> dict[str, float]:
        """Return requests by ``DE``, ``DE/Berlin`` or ``DE/AS64500``; what is left of a country
        is under its code."""
        if by == "country":
            return {code: float(count) for code, count in self.countries.items()}
        table = self.cities if by == "city" else self.networks
        return {
            f"{code}/{name}" if name else code: float(count)
            for code, cells in table.items()
            for name, count in cells.items()
        }


class ClientCounter:
    """One import of any number of files."""

    def __init__(self, places: PlaceTable, origins: Sequence[OriginTable]) -> None:
        """Take the tables of the installation; of ``origins`` the first is for IPv4, the last for
        IPv6, and none where there is no route table."""
        self._places, self._origins = places, origins
        codes = sorted({place.country for place in places.places})
        numbers = {code: number for number, code in enumerate(codes)}
        self._codes = codes
        names = sorted({place.city for place in places.places})
        cities = {name: number for number, name in enumerate(names)}
        self._names = names
        # The last entry is that of the label -1.
        own = [(numbers[p.country], cities[p.city]) for p in places.places]
        self._country = np.array([n for n, _ in own] + [-1], np.int64)
        self._city = np.array([n for _, n in own] + [-1], np.int64)
        self._asns = [_single_origins(table) for table in origins]
        self._cells = {kind: Cells() for kind in KINDS}
        self._pseudonyms = Pseudonyms()
        self._unmatched = 0
        self._files: list[LogFile] = []

    def read(self, path: Path) -> LogFile:
        """Read one file; raise ``BadInput`` naming line and reason where it is no access log."""
        return self._read(Source(path), path.name)

    def read_bytes(self, data: bytes, name: str, max_bytes: int) -> LogFile:
        """Read an upload of at most ``max_bytes`` unpacked; raise ``BadInput``."""
        return self._read(_Upload(data, max_bytes), name)

    def _read(self, source: Source, name: str) -> LogFile:
        blocks = source.blocks()
        first = next(blocks, None)
        if first is None:
            raise BadInput(f"{name}: the log is empty")
        form = recognise(first)
        n_lines = n_read = 0
        wrong: tuple[int, str] | None = None
        for block in chain([first], blocks):
            clients = form.read(block)
            sound = clients.sound()
            n_lines += len(block.lines) - clients.n_comments
            n_read += sound.shape[1]
            wrong = wrong or clients.first_wrong()
            clients.count_wrong(source.tally)
            self._count(sound)
        if wrong and 2 * n_read < n_lines:
            raise BadInput(
                f"{wrong[1]}; {n_lines - n_read:,} of {n_lines:,} lines are not of the form "
                f"{form.name}",
                line=wrong[0],
            )
        found = _describe(source, name, form, n_lines, n_read)
        self._files.append(found)
        return found

    def _count(self, halves: NDArray[np.uint64]) -> None:
        is_ipv4 = (halves[0] == _MAPPED_HIGH) & (halves[1] >> np.uint64(32) == _MAPPED)
        for own, family in ((is_ipv4, 4), (~is_ipv4, 6)):
            if own.any():
                self._count_family(np.ascontiguousarray(halves[:, own]), family)

    def _count_family(self, halves: NDArray[np.uint64], family: int) -> None:
        labels = _match(self._places.addresses, halves, family)
        country = self._country[labels]
        known = country >= 0
        self._unmatched += int((~known).sum())
        if not known.any():
            return
        labels, country = labels[known], country[known]
        halves = np.ascontiguousarray(halves[:, known])
        hashes = self._pseudonyms.hash(halves)
        upper = country << np.int64(32)
        self._cells["country"].add(country, hashes)
        self._cells["city"].add(upper | self._city[labels], hashes)
        self._cells["network"].add(upper | self._networks(halves, family), hashes)

    def _networks(self, halves: NDArray[np.uint64], family: int) -> NDArray[np.int64]:
        """Return the origin AS of each address; 0 without exactly one."""
        if not self._origins:
            return np.zeros(halves.shape[1], np.int64)
        at = 0 if family == 4 else -1
        labels = _match(self._origins[at].addresses, halves, family)
        found: NDArray[np.int64] = self._asns[at][labels]
        return found

    def counts(self) -> ClientCounts:
        """Return the counts of all files so far."""
        countries, withheld = {}, 0
        for key, count, n_clients in self._cells["country"].rows():
            if n_clients < MIN_CLIENTS:
                withheld += count
            else:
                countries[self._codes[key]] = count
        return ClientCounts(
            list(self._files),
            countries,
            self._table("city", countries),
            self._table("network", countries),
            self._unmatched,
            withheld,
        )

    def _table(self, kind: str, countries: dict[str, int]) -> _Table:
        rows: dict[str, list[tuple[str, int, int]]] = {}
        for key, count, n_clients in self._cells[kind].rows():
            number = key & 0xFFFFFFFF
            name = self._names[number] if kind == "city" else f"AS{number}" if number else ""
            rows.setdefault(self._codes[key >> 32], []).append((name, count, n_clients))
        return {code: merge_small_cells(rows[code]) for code in countries}


def merge_small_cells(rows: list[tuple[str, int, int]]) -> dict[str, int]:
    """Return counts of (name, count, different clients) rows; small ones are in the rest, ``""``.

    Where the rest itself would have too few clients, the smallest other cell joins it, since the
    rest is the difference of a total and its cells.
    """
    kept = sorted((r for r in rows if r[0] and r[2] >= MIN_CLIENTS), key=lambda r: (-r[1], r[0]))
    rest = [r for r in rows if not r[0] or r[2] < MIN_CLIENTS]
    while rest and kept and sum(n for _, _, n in rest) < MIN_CLIENTS:
        rest.append(kept.pop())
    found = {name: count for name, count, _ in kept}
    if rest:
        found[""] = sum(count for _, count, _ in rest)
    return found


def _match(addresses: AddressMap, halves: NDArray[np.uint64], family: int) -> Labels:
    if family == 4:
        return addresses.match_ipv4((halves[1] & np.uint64(0xFFFFFFFF)).astype(np.uint32))
    return addresses.match_ipv6(halves[0], halves[1])


def _single_origins(table: OriginTable) -> NDArray[np.int64]:
    """Return the AS of each label, 0 where there are several; the last entry is for none."""
    single = [own[0] if len(own) == 1 else 0 for own in table.origins]
    return np.array([*single, 0], np.int64)


def _describe(source: Source, name: str, form: LogForm, n_lines: int, n_read: int) -> LogFile:
    return LogFile(name, form.name, n_lines, n_read, source.tally.as_json(), source.damage)


class _Upload(Source):
    """Bytes in memory, read as a file is."""

    def __init__(self, data: bytes, max_bytes: int) -> None:
        super().__init__(Path())
        self._data, self._max_bytes = data, max_bytes

    def chunks(self) -> Iterator[bytes]:
        """The plain bytes in pieces; raise ``BadInput`` beyond the limit."""
        pieces = (
            self._data[at : at + _PIECE_BYTES] for at in range(0, len(self._data), _PIECE_BYTES)
        )
        if not self._data.startswith(GZIP_MAGIC):
            yield from pieces
            return
        try:
            yield from inflate(pieces, self._max_bytes)
        except CutStream:
            self.damage = "the gzip ends early; what it holds was read"
        except DamagedStream:
            self.damage = "the gzip is broken; the part before it was read"
