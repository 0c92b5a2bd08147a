"""Longest-prefix match: range files in, placements of addresses out; one structure per family.

Which of several labels is shown, and what nested prefixes inherit, is a stated rule: see
``docs/methods/ranges.md``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from cartography.addresses import BITS, pack_address, read_prefix
from cartography.intervals import NO_LABEL, Intervals, find_parents, flatten
from cartography.ranges.form import RangeEntry, RangeFile
from core.records import Placement
from core.statuses import AddressKind

# A collective label says only whose block it is. Amazon lists the blocks of some services (S3,
# DynamoDB) as EC2 as well, so that EC2 goes behind every other service but AMAZON.
_COLLECTIVE = {"AMAZON": 2, "AzureCloud": 2, "Google": 2, "EC2": 1}
_KIND_ORDER = {AddressKind.CLOUD: 0, AddressKind.CDN: 1, AddressKind.CORPORATE: 2}
# (first address, length)
_Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Dated:
    entry: RangeEntry
    as_of: date


class PrefixTable:
    """A compiled table of any number of range files; immutable, so threads may share it."""

    def __init__(self, labels: Sequence[Placement], families: dict[int, Intervals]) -> None:
        self._labels = labels
        self._families = families

    @classmethod
    def build(cls, files: Sequence[RangeFile]) -> "PrefixTable":
        """Compile range files; their order does not matter. Raises ``ValueError`` for an
        entry that is no prefix, which ``read_ranges`` never lets through."""
        labels: list[Placement] = []
        rows = _group(files)
        return cls(labels, {family: _compile(family, rows[family], labels) for family in BITS})

    def place(self, address: str) -> Placement:
        """Where one address stands; text that is no address is placed nowhere."""
        return self._place([address])[0]

    def place_many(self, addresses: Sequence[str]) -> list[Placement]:
        """Placements in the order of ``addresses``; equal addresses share one."""
        distinct = list(dict.fromkeys(addresses))
        known = dict(zip(distinct, self._place(distinct), strict=True))
        return [known[address] for address in addresses]

    def boundaries(self, version: int) -> list[int]:
        """Where the intervals of one family begin, as numbers: every edge of the table."""
        return self._families[version].numbers()

    def _place(self, addresses: list[str]) -> list[Placement]:
        packed = [pack_address(address) for address in addresses]
        found = np.full(len(packed), NO_LABEL, dtype=np.int32)
        for intervals in self._families.values():
            size = BITS[intervals.family] // 8
            own = [i for i, key in enumerate(packed) if len(key) == size]
            if own:
                found[own] = intervals.find([packed[i] for i in own])
        return [
            _at(address, self._labels[label]) if label >= 0 else Placement(address)
            for address, label in zip(addresses, found.tolist(), strict=True)
        ]


def _at(address: str, label: Placement) -> Placement:
    # Spelled out: dataclasses.replace takes three times as long, and this runs per address.
    return Placement(
        address,
        label.provider,
        label.service,
        label.services,
        label.region,
        label.border_group,
        label.prefix,
        label.as_of,
        label.kind,
        label.region_as_published,
    )


def _group(files: Iterable[RangeFile]) -> dict[int, dict[_Key, list[_Dated]]]:
    """Entries by family and prefix."""
    by_text: dict[str, list[_Dated]] = {}
    for file in files:
        for entry in file.entries:
            by_text.setdefault(entry.prefix, []).append(_Dated(entry, file.as_of))
    grouped: dict[int, dict[_Key, list[_Dated]]] = {family: {} for family in BITS}
    for text, rows in by_text.items():
        family, first, length = read_prefix(text)
        grouped[family].setdefault((first, length), []).extend(rows)
    return grouped


def _compile(family: int, rows: dict[_Key, list[_Dated]], labels: list[Placement]) -> Intervals:
    """Add a label per prefix to ``labels`` and flatten the prefixes of one family."""
    keys = sorted(rows)
    spans = [(first, first + (1 << (BITS[family] - length)) - 1) for first, length in keys]
    base = len(labels)
    for key, parent in zip(keys, find_parents(spans), strict=True):
        around = labels[base + parent] if parent >= 0 else None
        labels.append(_label(rows[key], around))
    return flatten(family, spans, range(base, len(labels)))


def _label(rows: list[_Dated], around: Placement | None) -> Placement:
    """What is said of one prefix, completed by what is said of the prefix around it."""
    ordered = sorted(rows, key=_preference) if len(rows) > 1 else rows
    shown = ordered[0].entry
    entries = [d.entry for d in ordered if d.entry.provider == shown.provider]
    services = tuple(dict.fromkeys(e.service for e in entries))
    if around and around.provider != shown.provider:
        around = None
    if around and _is_collective(shown.kind, around.kind):
        return replace(around, services=_join(around.services, services))
    region, published, group = _where(entries, around)
    return Placement(
        address="",
        provider=shown.provider,
        service=shown.service,
        services=_join(services, around.services) if around else services,
        region=region,
        border_group=group,
        prefix=shown.prefix,
        as_of=ordered[0].as_of,
        kind=shown.kind,
        region_as_published=published,
    )


def _is_collective(kind: AddressKind, around: AddressKind) -> bool:
    # "All of Google" cut into smaller pieces does not unsay that the block is rented out.
    return kind == AddressKind.CORPORATE and around != AddressKind.CORPORATE


def _join(first: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(first + more))


def _where(
    entries: list[RangeEntry], around: Placement | None
) -> tuple[str | None, str | None, str | None]:
    """Region, region as published and border group of one prefix."""
    # The collective entry comes last and is the provider's word on where a block is.
    regional = next((e for e in reversed(entries) if e.region), entries[0])
    group = next((e.border_group for e in entries if e.border_group), None)
    # A block that is said to be global has no region, whatever lies around it.
    if around is None or regional.region or regional.region_as_published:
        return regional.region, regional.region_as_published, group
    return around.region, around.region_as_published, group or around.border_group


def _preference(dated: _Dated) -> tuple[int, int, str, str, int]:
    """Order of the rows of one prefix, the one that is shown first."""
    entry = dated.entry
    return (
        _COLLECTIVE.get(entry.service, 0),
        _KIND_ORDER.get(entry.kind, 3),
        entry.provider,
        entry.service,
        -dated.as_of.toordinal(),
    )
