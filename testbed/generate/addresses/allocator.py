"""Addresses that fall unambiguously into one published prefix, or into none at all."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, ip_network
from math import gcd

from core.errors import BadInput
from core.statuses import AddressKind
from testbed.world.model import Place, PublishedRange, PublishedRanges

# Services of rented capacity in a provider's table; other services are no front ends.
_GENERIC: dict[str, frozenset[str | None]] = {
    "aws": frozenset({"EC2", "AMAZON"}),
    "azure": frozenset({"AzureCloud", "Azure", "AZURE", "", None}),
    "google": frozenset({"Google Cloud", "", None}),
}
_SHOWN = {"aws": "EC2", "azure": "AzureCloud", "google": "Google Cloud"}
CLOUDFRONT, ROUTE53, COMPUTE = "CLOUDFRONT", "ROUTE53", "COMPUTE"
_SPECIAL = frozenset({CLOUDFRONT, ROUTE53})
# Documentation (RFC 5737) and benchmark (RFC 2544) space: no provider rents it out.
_OTHER_BLOCKS = ("198.18.0.0/15", "203.0.113.0/24", "198.51.100.0/24", "192.0.2.0/24")

AddressUse = tuple[str, str, str | None]  # provider, use, region
AddressRange = tuple[int, int]  # first address and the one after the last
_OTHER: AddressUse = ("", COMPUTE, None)


@dataclass(slots=True)
class AddressSpace:
    """Unallocated addresses of one use, allocated scattered over all its prefixes."""

    spans: list[AddressRange]
    capacity: int
    step: int
    allocated: int = 0

    def next(self) -> str | None:
        """Return the next address, or ``None`` when all are allocated."""
        if self.allocated >= self.capacity:
            return None
        offset = (self.allocated + 1) * self.step % self.capacity
        self.allocated += 1
        for first, end in self.spans:
            if offset < end - first:
                return str(IPv4Address(first + offset))
            offset -= end - first
        return None


def _build_space(spans: list[AddressRange]) -> AddressSpace:
    capacity = sum(end - first for first, end in spans)
    step = max(1, int(capacity * 0.618)) | 1  # the golden ratio scatters well
    while gcd(step, capacity) != 1:
        step += 2 if capacity % 2 == 0 else 1
    return AddressSpace(spans, capacity, step)


@dataclass(slots=True)
class AddressAllocator:
    """Allocates each address once and records its place."""

    spaces: dict[AddressUse, AddressSpace]
    places: dict[str, Place] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    substitutes: dict[tuple[str, str], str] = field(default_factory=dict)

    def region(self, provider: str, region: str) -> str:
        """Return ``region`` if the provider publishes it, else a substitute noted in ``notes``."""
        if (provider, COMPUTE, region) in self.spaces:
            return region
        known = self.substitutes.get((provider, region))
        return self._substitute_region(provider, region) if known is None else known

    def _substitute_region(self, provider: str, region: str) -> str:
        present = {
            place: space.capacity
            for (who, use, place), space in self.spaces.items()
            if who == provider and use == COMPUTE and place is not None
        }
        if not present:
            raise BadInput(
                f"no usable prefix of {provider}: give its range file or leave all range files out",
                field="range_files",
            )
        chosen = max(sorted(present), key=lambda place: present[place])
        self.substitutes[provider, region] = chosen
        self.notes.append(f"{provider} publishes no prefix for {region}: {chosen} replaces it")
        return chosen

    def compute_address(self, provider: str, region: str, zone: str | None = None) -> str:
        """Allocate an address of rented capacity."""
        real = self.region(provider, region)
        kept = zone if real == region else None
        place = Place(provider, _SHOWN.get(provider), real, kept, AddressKind.CLOUD)
        return self._allocate((provider, COMPUTE, real), place)

    def cdn_address(self) -> str:
        """Allocate a CloudFront address."""
        place = Place("aws", CLOUDFRONT, None, None, AddressKind.CDN)
        return self._allocate(("aws", CLOUDFRONT, None), place)

    def dns_address(self) -> str:
        """Allocate an address of Route 53, or of CloudFront where no Route 53 is listed."""
        if ("aws", ROUTE53, None) not in self.spaces:
            return self.cdn_address()
        place = Place("aws", ROUTE53, None, None, AddressKind.CLOUD)
        return self._allocate(("aws", ROUTE53, None), place)

    def other_address(self) -> str:
        """Allocate an address outside every published prefix; reused once all are allocated."""
        space = self.spaces[_OTHER]
        space.allocated %= space.capacity
        address = space.next()
        assert address is not None
        return address

    def _allocate(self, use: AddressUse, place: Place) -> str:
        space = self.spaces.get(use)
        if space is None:
            raise BadInput(
                f"no prefix for {use[0]} {use[2] or use[1]}: give a range file that has one",
                field="range_files",
            )
        address = space.next()
        if address is None:
            raise BadInput(
                f"the prefixes for {use[0]} {use[2] or use[1]} hold only {space.capacity} "
                "addresses: choose a smaller scale",
                field="scale",
            )
        self.places[address] = place
        return address


def build_allocator(ranges: Sequence[PublishedRanges]) -> AddressAllocator:
    """An address allocator over published ranges; IPv6 prefixes are not drawn from."""
    entries = [e for table in ranges for e in table.entries if ":" not in e.prefix]
    spans: dict[AddressUse, list[AddressRange]] = defaultdict(list)
    free = [(int(n[0]), int(n[-1]) + 1) for n in map(IPv4Network, _OTHER_BLOCKS)]
    for first, end, active in _elementary_intervals(entries):
        free = _subtract_interval(free, first, end)
        use = _classify(active)
        if use is not None:
            spans[use].append((first, end))
    if not free:
        raise BadInput("the range files cover all space for other hosting", field="range_files")
    spans[_OTHER] = free
    return AddressAllocator({use: _build_space(found) for use, found in spans.items()})


def _subtract_interval(free: list[AddressRange], first: int, end: int) -> list[AddressRange]:
    if not any(a < end and first < b for a, b in free):
        return free
    pieces = [piece for a, b in free for piece in ((a, min(b, first)), (max(a, end), b))]
    return [(a, b) for a, b in pieces if a < b]


def _classify(active: Sequence[PublishedRange]) -> AddressUse | None:
    """Return the use that all covering prefixes agree on; ``None`` when they do not."""
    providers = {e.provider for e in active}
    if len(providers) != 1:
        return None
    provider = providers.pop()
    special = {e.service for e in active} - _GENERIC.get(provider, frozenset())
    if special:
        return _classify_special(provider, special, active)
    regions = {e.region for e in active if e.region not in (None, "", "GLOBAL")}
    rented = provider != "aws" or any(e.service == "EC2" for e in active)
    return (provider, COMPUTE, regions.pop()) if rented and len(regions) == 1 else None


def _classify_special(
    provider: str, special: set[str | None], active: Sequence[PublishedRange]
) -> AddressUse | None:
    service = special.pop()
    alone = not special and all(e.service in (service, "AMAZON") for e in active)
    return (provider, str(service), None) if alone and service in _SPECIAL else None


def _elementary_intervals(
    entries: Sequence[PublishedRange],
) -> list[tuple[int, int, list[PublishedRange]]]:
    """Return the elementary intervals of the prefixes, each with its covering prefixes."""
    events: dict[int, list[tuple[bool, int]]] = defaultdict(list)
    for index, entry in enumerate(entries):
        network = IPv4Network(entry.prefix, strict=False)
        first = int(network.network_address)
        events[first].append((True, index))
        events[first + network.num_addresses].append((False, index))
    pieces: list[tuple[int, int, list[PublishedRange]]] = []
    active: dict[int, None] = {}
    start = 0
    for at in sorted(events):
        if active:
            pieces.append((start, at, [entries[i] for i in active]))
        for opens, index in events[at]:
            if opens:
                active[index] = None
            else:
                active.pop(index, None)
        start = at
    return pieces


def validate_ranges(ranges: Sequence[PublishedRanges]) -> tuple[PublishedRanges, ...]:
    """Return the ranges as a tuple; raise ``BadInput`` on a malformed prefix."""
    for table in ranges:
        for entry in table.entries:
            try:
                ip_network(entry.prefix, strict=False)
            except ValueError as error:
                raise BadInput(str(error), field=table.source or table.provider) from error
    return tuple(ranges)
