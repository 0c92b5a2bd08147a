"""Longest-prefix match: published prefixes flattened to disjoint intervals, one set per family.

A prefix keeps every service that is published for it, and a nested prefix inherits those of the
prefixes around it. The label shown is that of the most specific prefix; within one prefix a
specific service goes before the provider's collective one.
"""

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from cartography.ranges.form import RangeEntry, RangeFile
from core.records import Placement
from core.statuses import AddressKind

# Collective labels say only that the block is the provider's.
_COLLECTIVE = {"AMAZON", "AzureCloud", "Google"}
# Where several specific services share one prefix, what a customer runs things on comes first.
_FIRST = ("EC2", "CLOUDFRONT", "Google Cloud")
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_KIND_ORDER = {AddressKind.CLOUD: 0, AddressKind.CDN: 1, AddressKind.CORPORATE: 2}


@dataclass(frozen=True, slots=True)
class _Dated:
    entry: RangeEntry
    as_of: date


@dataclass(frozen=True, slots=True)
class _Intervals:
    """Disjoint intervals in order: interval i runs from ``starts[i]`` to the next start."""

    starts: list[int]
    values: list[int]

    def find(self, number: int) -> int:
        """The label of the interval that holds ``number``, -1 for none."""
        position = bisect_right(self.starts, number) - 1
        return self.values[position] if position >= 0 else -1


class PrefixTable:
    """A compiled table of any number of range files."""

    def __init__(self, labels: list[Placement], v4: _Intervals, v6: _Intervals) -> None:
        self._labels = labels
        self._families = {4: v4, 6: v6}

    @classmethod
    def build(cls, files: Sequence[RangeFile]) -> "PrefixTable":
        """Compile range files; the order of files does not matter."""
        grouped: dict[_Network, list[_Dated]] = {}
        for file in files:
            for entry in file.entries:
                network = ipaddress.ip_network(entry.prefix)
                grouped.setdefault(network, []).append(_Dated(entry, file.as_of))
        labels: list[Placement] = []
        v4 = _flatten([n for n in grouped if n.version == 4], grouped, labels)
        v6 = _flatten([n for n in grouped if n.version == 6], grouped, labels)
        return cls(labels, v4, v6)

    def place(self, address: str) -> Placement:
        """Where one address stands; text that is no address is placed nowhere."""
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return Placement(address)
        if parsed.version == 6 and parsed.ipv4_mapped:
            parsed = parsed.ipv4_mapped
        label = self._families[parsed.version].find(int(parsed))
        return replace(self._labels[label], address=address) if label >= 0 else Placement(address)

    def place_many(self, addresses: Sequence[str]) -> list[Placement]:
        """Placements in the order of ``addresses``; equal addresses are looked up once."""
        known = {address: self.place(address) for address in dict.fromkeys(addresses)}
        return [known[address] for address in addresses]

    def boundaries(self, version: int) -> list[int]:
        """Starts of all intervals of one family, for tests at every edge."""
        return list(self._families[version].starts)


def _flatten(
    networks: list[_Network], grouped: dict[_Network, list[_Dated]], labels: list[Placement]
) -> _Intervals:
    """Sweep over nested prefixes; after a child ends its parent is opened again."""
    starts: list[int] = []
    values: list[int] = []
    open_ones: list[tuple[int, int]] = []  # (first address behind the prefix, label)

    def mark(at: int, label: int) -> None:
        if starts and starts[-1] == at:
            values[-1] = label
        else:
            starts.append(at)
            values.append(label)

    def close_until(at: int) -> None:
        while open_ones and open_ones[-1][0] <= at:
            end, _ = open_ones.pop()
            mark(end, open_ones[-1][1] if open_ones else -1)

    for network in sorted(networks, key=lambda n: (int(n.network_address), n.prefixlen)):
        first = int(network.network_address)
        close_until(first)
        parent = labels[open_ones[-1][1]] if open_ones else None
        labels.append(_label(network, grouped[network], parent))
        mark(first, len(labels) - 1)
        open_ones.append((first + network.num_addresses, len(labels) - 1))
    close_until(2**129)
    return _Intervals(starts, values)


def _label(network: _Network, rows: Iterable[_Dated], parent: Placement | None) -> Placement:
    ordered = sorted(rows, key=_preference)
    shown = ordered[0]
    services = [d.entry.service for d in ordered]
    regional = next((d.entry for d in ordered if d.entry.region), None)
    same = parent if parent and parent.provider == shown.entry.provider else None
    own = Placement(
        address="",
        provider=shown.entry.provider,
        service=shown.entry.service,
        services=tuple(dict.fromkeys([*services, *(same.services if same else ())])),
        region=regional.region if regional else None,
        border_group=next((d.entry.border_group for d in ordered if d.entry.border_group), None),
        prefix=str(network),
        as_of=shown.as_of,
        kind=shown.entry.kind,
        region_as_published=(regional or shown.entry).region_as_published,
    )
    if own.region is None and same and own.kind == same.kind:
        # A service's own small block inside a region's block stands in that region.
        return replace(
            own, region=same.region, region_as_published=same.region_as_published
        )
    return own


def _preference(dated: _Dated) -> tuple[int, int, int, str, str]:
    entry = dated.entry
    first = _FIRST.index(entry.service) if entry.service in _FIRST else len(_FIRST)
    return (
        entry.service in _COLLECTIVE,
        _KIND_ORDER.get(entry.kind, 3),
        first,
        entry.provider,
        entry.service,
    )
