"""Addresses that fall unambiguously into one published prefix, or into none at all."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, ip_network
from math import gcd

from core.errors import BadInput
from core.statuses import AddressKind
from testbed.world.model import Place, PublishedRange, PublishedRanges

# What a provider's own table calls rented capacity; the other services are nobody's front end.
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

Spot = tuple[str, str, str | None]  # provider, use, region
Span = tuple[int, int]  # first address and the one after the last
_OTHER: Spot = ("", COMPUTE, None)


@dataclass(slots=True)
class Supply:
    """Free addresses of one spot, handed out scattered over all its prefixes."""

    spans: list[Span]
    capacity: int
    step: int
    given: int = 0

    def next(self) -> str | None:
        """The next address, or ``None`` when all are given."""
        if self.given >= self.capacity:
            return None
        offset = (self.given + 1) * self.step % self.capacity
        self.given += 1
        for first, end in self.spans:
            if offset < end - first:
                return str(IPv4Address(first + offset))
            offset -= end - first
        return None


def _supply(spans: list[Span]) -> Supply:
    capacity = sum(end - first for first, end in spans)
    step = max(1, int(capacity * 0.618)) | 1  # the golden cut scatters well
    while gcd(step, capacity) != 1:
        step += 2 if capacity % 2 == 0 else 1
    return Supply(spans, capacity, step)


@dataclass(slots=True)
class AddressBook:
    """Hands out each address once and remembers where it stands."""

    supplies: dict[Spot, Supply]
    places: dict[str, Place] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    replaced: dict[tuple[str, str], str] = field(default_factory=dict)

    def region(self, provider: str, region: str) -> str:
        """``region`` if the provider publishes it, else a stand-in (said in ``notes``)."""
        if (provider, COMPUTE, region) in self.supplies:
            return region
        known = self.replaced.get((provider, region))
        return self._stand_in(provider, region) if known is None else known

    def _stand_in(self, provider: str, region: str) -> str:
        present = {
            place: supply.capacity
            for (who, use, place), supply in self.supplies.items()
            if who == provider and use == COMPUTE and place is not None
        }
        if not present:
            raise BadInput(
                f"no usable prefix of {provider}: give its range file or leave all range files out",
                field="range_files",
            )
        chosen = max(sorted(present), key=lambda place: present[place])
        self.replaced[provider, region] = chosen
        self.notes.append(f"{provider} publishes no prefix for {region}: {chosen} stands in for it")
        return chosen

    def compute(self, provider: str, region: str, zone: str | None = None) -> str:
        """A new address of rented capacity."""
        real = self.region(provider, region)
        kept = zone if real == region else None
        place = Place(provider, _SHOWN.get(provider), real, kept, AddressKind.CLOUD)
        return self._give((provider, COMPUTE, real), place)

    def cdn(self) -> str:
        """A new CloudFront address."""
        place = Place("aws", CLOUDFRONT, None, None, AddressKind.CDN)
        return self._give(("aws", CLOUDFRONT, None), place)

    def dns(self) -> str:
        """A new address of Route 53, or of CloudFront where a table lists no Route 53."""
        if ("aws", ROUTE53, None) not in self.supplies:
            return self.cdn()
        place = Place("aws", ROUTE53, None, None, AddressKind.CLOUD)
        return self._give(("aws", ROUTE53, None), place)

    def other(self) -> str:
        """An address outside every published prefix; given again once all are used."""
        supply = self.supplies[_OTHER]
        supply.given %= supply.capacity
        address = supply.next()
        assert address is not None
        return address

    def _give(self, spot: Spot, place: Place) -> str:
        supply = self.supplies.get(spot)
        if supply is None:
            raise BadInput(
                f"no prefix for {spot[0]} {spot[2] or spot[1]}: give a range file that has one",
                field="range_files",
            )
        address = supply.next()
        if address is None:
            raise BadInput(
                f"the prefixes for {spot[0]} {spot[2] or spot[1]} hold only {supply.capacity} "
                "addresses: choose a smaller scale",
                field="scale",
            )
        self.places[address] = place
        return address


def open_book(ranges: Sequence[PublishedRanges]) -> AddressBook:
    """An address book over published ranges; IPv6 prefixes are not drawn from."""
    entries = [e for table in ranges for e in table.entries if ":" not in e.prefix]
    spans: dict[Spot, list[Span]] = defaultdict(list)
    free = [(int(n[0]), int(n[-1]) + 1) for n in map(IPv4Network, _OTHER_BLOCKS)]
    for first, end, active in _sweep(entries):
        free = _without(free, first, end)
        spot = _spot_of(active)
        if spot is not None:
            spans[spot].append((first, end))
    if not free:
        raise BadInput("the range files cover all space for other hosting", field="range_files")
    spans[_OTHER] = free
    return AddressBook({spot: _supply(found) for spot, found in spans.items()})


def _without(free: list[Span], first: int, end: int) -> list[Span]:
    if not any(a < end and first < b for a, b in free):
        return free
    pieces = [piece for a, b in free for piece in ((a, min(b, first)), (max(a, end), b))]
    return [(a, b) for a, b in pieces if a < b]


def _spot_of(active: Sequence[PublishedRange]) -> Spot | None:
    """The one use that all covering prefixes agree on; ``None`` when they do not."""
    providers = {e.provider for e in active}
    if len(providers) != 1:
        return None
    provider = providers.pop()
    special = {e.service for e in active} - _GENERIC.get(provider, frozenset())
    if special:
        return _special_spot(provider, special, active)
    regions = {e.region for e in active if e.region not in (None, "", "GLOBAL")}
    rented = provider != "aws" or any(e.service == "EC2" for e in active)
    return (provider, COMPUTE, regions.pop()) if rented and len(regions) == 1 else None


def _special_spot(
    provider: str, special: set[str | None], active: Sequence[PublishedRange]
) -> Spot | None:
    service = special.pop()
    alone = not special and all(e.service in (service, "AMAZON") for e in active)
    return (provider, str(service), None) if alone and service in _SPECIAL else None


def _sweep(entries: Sequence[PublishedRange]) -> list[tuple[int, int, list[PublishedRange]]]:
    """Elementary intervals that some prefix covers, each with every prefix that covers it."""
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


def checked_ranges(ranges: Sequence[PublishedRanges]) -> tuple[PublishedRanges, ...]:
    """The ranges as a tuple; raises ``BadInput`` on a prefix that is none."""
    for table in ranges:
        for entry in table.entries:
            try:
                ip_network(entry.prefix, strict=False)
            except ValueError as error:
                raise BadInput(str(error), field=table.source or table.provider) from error
    return tuple(ranges)
