"""Data model of the emulated Internet: places, names, zones and the world."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from core.statuses import AddressKind

# Reaction of a zone to a transfer request.
ALLOW, REFUSE, CUT = "allow", "refuse", "cut"
# Fault of a zone for every query; empty where it answers.
SERVFAIL, SILENT, MISSING = "servfail", "silent", "missing"
# Fault of the first query for a name; later ones are answered.
DROP_FIRST, SERVFAIL_FIRST = "drop-first", "servfail-first"


@dataclass(frozen=True, slots=True)
class Place:
    """True place of an address; ``zone`` is the letter of an identified zone.

    ``zone`` is ``None`` where the study did not identify the zone.
    """

    provider: str | None
    service: str | None
    region: str | None
    zone: str | None
    kind: AddressKind


OTHER_PLACE = Place(None, None, None, None, AddressKind.OTHER)


@dataclass(slots=True)
class Name:
    """One name of a zone: its CNAME chain, then the addresses at the end of it.

    ``hidden`` is the reason why the technique cannot find the name; empty when it can.
    """

    fqdn: str
    cnames: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    addresses6: tuple[str, ...] = ()
    hidden: str = ""

    @property
    def is_dangling(self) -> bool:
        """Whether it is an alias to a released target."""
        return bool(self.cnames) and not self.addresses and not self.addresses6


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A wildcard for names below ``at`` (the apex or deeper) that do not exist.

    ``width`` addresses of the pool are given at a time; a pool wider than that rotates. With
    ``per_name`` every name is a distinct alias below the only one of ``cnames``.
    """

    at: str
    cnames: tuple[str, ...]
    pool: tuple[str, ...]
    width: int
    per_name: bool = False

    @property
    def kind(self) -> str:
        if self.cnames:
            return "cname"
        return "rotating" if self.width < len(self.pool) else "static"


@dataclass(slots=True)
class Zone:
    """One domain of the list with everything below it."""

    domain: str
    rank: int
    names: list[Name] = field(default_factory=list)
    servers: tuple[str, ...] = ()
    transfer: str = REFUSE
    fault: str = ""
    wildcard: Wildcard | None = None
    # Wildcards below that one, each at a different level.
    nested: tuple[Wildcard, ...] = ()
    # Further records of the domain's own name by type (CAA, DS, MX), as presentation texts.
    records: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def wildcards(self) -> tuple[Wildcard, ...]:
        """All wildcards of the zone."""
        return ((self.wildcard,) if self.wildcard else ()) + self.nested

    def wildcard_above(self, fqdn: str) -> Wildcard | None:
        """Return the lowest wildcard with a level above a name, if any."""
        above = (card for card in self.wildcards if fqdn.endswith(f".{card.at}"))
        return max(above, key=lambda card: len(card.at), default=None)


@dataclass(slots=True)
class World:
    """An emulated Internet with known truth; equal inputs give an equal world.

    ``zones`` are in the order of the domain list; ``hosts`` maps name-server names to their
    addresses (none: the name does not resolve); ``places`` holds every address in a
    published prefix; ``injected_faults`` maps names to the fault of their first query.
    """

    spec: str
    scale: Fraction
    seed: int
    zones: list[Zone]
    hosts: dict[str, tuple[str, ...]]
    places: dict[str, Place]
    ranges: tuple["PublishedRanges", ...]
    as_of: date
    origin: str = ""
    injected_faults: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    # What an audit has to find: (rule, domain, discriminator); empty where nothing was planted.
    violations: list[tuple[str, str, str]] = field(default_factory=list)
    # What no crawl sees: (domain, country, weight) of customers, times by country and region,
    # and routes of each region by ISP.
    customers: list[tuple[str, str, float]] = field(default_factory=list)
    rtt_ms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    routes: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Specification, scale and seed in one word, such as ``imc2013@1/100#1``."""
        return f"{self.spec}@{scale_text(self.scale)}#{self.seed}"

    def place(self, address: str) -> Place:
        """Return the place of ``address``; addresses outside every published prefix are other."""
        return self.places.get(address, OTHER_PLACE)

    def names(self) -> Iterator[tuple[Zone, Name]]:
        """Every name with its zone, hidden ones included."""
        for zone in self.zones:
            for name in zone.names:
                yield zone, name

    def domain_list(self) -> bytes:
        """The ranked domain list as CSV: ``rank,domain``."""
        return "".join(f"{zone.rank},{zone.domain}\n" for zone in self.zones).encode()


def scale_text(scale: Fraction) -> str:
    """Format a scale as ``1/100``."""
    return f"{scale.numerator}/{scale.denominator}"


@dataclass(frozen=True, slots=True)
class PublishedRange:
    """One published prefix: who, where (the provider's own region code) and for what."""

    prefix: str
    provider: str
    service: str | None
    region: str | None


@dataclass(frozen=True, slots=True)
class PublishedRanges:
    """The prefixes that one provider publishes; ``source`` names the file."""

    provider: str
    entries: tuple[PublishedRange, ...]
    source: str = ""
