"""Cloud tables: range files in, placements of addresses out, by longest prefix.

Which of several labels is shown, and what nested prefixes inherit, is a stated rule: see
``cartography.placement.label_rules`` and ``docs/methods/ranges.md``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cartography.addresses import table_file
from cartography.addresses.intervals import (
    NO_LABEL,
    Column,
    Intervals,
    Labels,
    flatten,
    read_prefixes,
)
from cartography.addresses.matching import AddressMap
from cartography.addresses.prefixes import BITS, write_prefix
from cartography.gc_pause import many_rows
from cartography.placement.label_rules import Labeller
from cartography.ranges.range_file import RangeFile
from core.records import Placement
from core.statuses import AddressKind

_KIND = "cloud"


@dataclass(frozen=True)
class Prefixes:
    """The prefixes of a table, those of IPv4 first; a label is a position among them.

    ``shown`` is the position of the prefix that a placement names: its own, or the rented one
    around it.
    """

    firsts: dict[int, Column]
    lengths: NDArray[np.uint8]
    shown: Labels
    meanings: Labels

    def text(self, label: int) -> str:
        """The prefix that a label shows."""
        position = int(self.shown[label])
        n_ipv4 = len(self.firsts[4])
        family, at = (4, position) if position < n_ipv4 else (6, position - n_ipv4)
        column = self.firsts[family]
        high = 0 if column.high is None else int(column.high[at])
        return write_prefix(family, (high << 64) | int(column.low[at]), int(self.lengths[position]))


class PrefixTable:
    """A compiled table of any number of range files; immutable, so threads may share it."""

    def __init__(
        self, addresses: AddressMap, prefixes: Prefixes, meanings: Sequence[Placement]
    ) -> None:
        self.addresses = addresses
        self.prefixes = prefixes
        self.meanings = meanings
        self._at = lru_cache(maxsize=1 << 16)(self._label)

    @classmethod
    def build(cls, files: Sequence[RangeFile]) -> "PrefixTable":
        """Compile range files; their order does not matter. Raises ``ValueError`` for an
        entry that is not a prefix, which ``read_ranges`` never lets through."""
        labeller = Labeller()
        with many_rows():
            rows = _group(files, labeller)
            parts = {family: _compile(rows[family], labeller) for family in BITS}
        return cls(*_join(parts), labeller.meanings)

    @classmethod
    def open(cls, path: Path) -> "PrefixTable":
        """A table that was written; raises ``BadInput`` when the file is damaged, ``OSError``
        when it is not there."""
        found = table_file.open_map(path, _KIND)
        arrays = found.arrays
        prefixes = Prefixes(
            {
                4: Column(4, arrays["prefix4"]),
                6: Column(6, arrays["prefix6_low"], arrays["prefix6_high"]),
            },
            arrays["lengths"],
            arrays["shown"],
            arrays["meanings"],
        )
        return cls(found.addresses, prefixes, [_meaning(m) for m in found.document["meanings"]])

    def write(self, path: Path) -> str:
        """Write the table as one file that ``open`` maps; returns the digest of its contents."""
        own = self.prefixes
        arrays = {
            "prefix4": own.firsts[4].low,
            "prefix6_low": own.firsts[6].low,
            "prefix6_high": own.firsts[6].high,
            "lengths": own.lengths,
            "shown": own.shown,
            "meanings": own.meanings,
        }
        document = {"meanings": [_plain(meaning) for meaning in self.meanings]}
        return table_file.write_map(path, _KIND, self.addresses, arrays, document)

    def place(self, address: str) -> Placement:
        """Return the place of one address; text that is not an address has none."""
        return self._placement(address, self.addresses.find(address))

    def place_many(self, addresses: Sequence[str]) -> list[Placement]:
        """Placements in the order of ``addresses``; equal addresses share one."""
        distinct = list(dict.fromkeys(addresses))
        labels = self.addresses.find_texts(distinct).tolist()
        known = {a: self._placement(a, n) for a, n in zip(distinct, labels, strict=True)}
        return [known[address] for address in addresses]

    def boundaries(self, version: int) -> list[int]:
        """Where the intervals of one family begin, as numbers: every edge of the table."""
        return self.addresses.families[version].starts.numbers()

    def label_table(self) -> pa.Table:
        """What each label means, in the order of labels: to join with a column of labels."""
        n_labels = len(self.prefixes.lengths)
        columns: dict[str, Any] = {
            "label": pa.array(range(n_labels), pa.int32()),
            "prefix": [self.prefixes.text(label) for label in range(n_labels)],
        }
        rows = [_plain(meaning) for meaning in self.meanings]
        chosen = pa.array(self.prefixes.meanings)
        for name in _FIELDS:
            kind = pa.list_(pa.string()) if name == "services" else pa.string()
            columns[name] = pa.array([row[name] for row in rows], kind).take(chosen)
        return pa.table(columns)

    def _placement(self, address: str, label: int) -> Placement:
        if label < 0:
            return Placement(address)
        # Spelled out: dataclasses.replace takes three times as long, and this runs per address.
        found, prefix = self._at(label)
        return Placement(
            address,
            found.provider,
            found.service,
            found.services,
            found.region,
            found.border_group,
            prefix,
            found.as_of,
            found.kind,
            found.region_as_published,
        )

    def _label(self, label: int) -> tuple[Placement, str]:
        return self.meanings[int(self.prefixes.meanings[label])], self.prefixes.text(label)


_FIELDS = (
    "provider",
    "service",
    "services",
    "region",
    "border_group",
    "as_of",
    "kind",
    "region_as_published",
)


def _plain(meaning: Placement) -> dict[str, Any]:
    row = asdict(meaning)
    row |= {"as_of": str(meaning.as_of), "services": list(meaning.services)}
    return {name: row[name] for name in _FIELDS}


def _meaning(row: dict[str, Any]) -> Placement:
    kinds = {
        "services": tuple(row["services"]),
        "as_of": date.fromisoformat(row["as_of"]),
        "kind": AddressKind(row["kind"]),
    }
    return Placement("", **(row | kinds))


@dataclass(frozen=True)
class _Rows:
    """The distinct prefixes of one family in order, wide ones first; ``stated`` are the numbers of
    the statements on each.
    """

    firsts: Column
    lengths: NDArray[np.uint8]
    stated: list[tuple[int, ...]]


def _group(files: Iterable[RangeFile], labeller: Labeller) -> dict[int, _Rows]:
    """All prefixes with the statements on them, by family."""
    by_text: dict[str, tuple[int, ...]] = {}
    for file in files:
        number_of = labeller.numbers(file.as_of)
        for entry in file.entries:
            text, number = entry[0], number_of(entry)
            stated = by_text.get(text)
            if stated is None:
                by_text[text] = (number,)
            elif number not in stated:
                by_text[text] = (*stated, number)
    return {
        family: _sort(family, [(t, n) for t, n in by_text.items() if (":" in t) == (family == 6)])
        for family in BITS
    }


def _sort(family: int, rows: list[tuple[str, tuple[int, ...]]]) -> _Rows:
    firsts, lengths = read_prefixes(family, [text for text, _ in rows])
    keys = firsts.keys()
    order = np.lexsort((lengths, keys))
    keys, lengths = keys[order], lengths[order]
    stated = [rows[at][1] for at in order.tolist()]
    fresh = np.ones(len(rows), dtype=np.bool_)
    fresh[1:] = (keys[1:] != keys[:-1]) | (lengths[1:] != lengths[:-1])
    # One prefix in two spellings is one prefix.
    for at in np.flatnonzero(~fresh).tolist()[::-1]:
        stated[at - 1] = tuple({*stated[at - 1], *stated[at]})
    kept = np.flatnonzero(fresh)
    firsts = Column.from_keys(family, keys[kept])
    return _Rows(firsts, lengths[kept], [stated[at] for at in kept.tolist()])


_Part = tuple[Column, NDArray[np.uint8], Intervals, Labels, Labels]


def _compile(rows: _Rows, labeller: Labeller) -> _Part:
    """Flatten the prefixes of one family and label them, the outer ones first."""
    nest = flatten(rows.firsts, rows.lengths)
    meanings: list[int] = []
    shown: list[int] = []
    known = labeller.known
    for at, (stated, parent) in enumerate(zip(rows.stated, nest.parents.tolist(), strict=True)):
        around = meanings[parent] if parent >= 0 else NO_LABEL
        meaning, is_outer = known.get((stated, around)) or labeller.label(stated, around)
        meanings.append(meaning)
        shown.append(shown[parent] if is_outer else at)
    return rows.firsts, rows.lengths, nest.intervals, _labels(shown), _labels(meanings)


def _labels(numbers: list[int]) -> Labels:
    return np.fromiter(numbers, dtype=np.int32, count=len(numbers))


def _join(parts: dict[int, _Part]) -> tuple[AddressMap, Prefixes]:
    """Both families in one numbering of labels."""
    (first4, length4, ipv4, shown4, meaning4), (first6, length6, ipv6, shown6, meaning6) = (
        parts[4],
        parts[6],
    )
    base = np.int32(len(length4))
    prefixes = Prefixes(
        {4: first4, 6: first6},
        np.concatenate([length4, length6]),
        np.concatenate([shown4, shown6 + base]),
        np.concatenate([meaning4, meaning6]),
    )
    return AddressMap(ipv4, ipv6.shift(base)), prefixes
