"""Facts of one domain as records, each with an example of the raw row behind it."""

from dataclasses import dataclass, field
from datetime import date, datetime

# Statuses of a question that was answered, be it by a denial.
ANSWERED = ("NOERROR", "NODATA", "NXDOMAIN")


@dataclass(frozen=True, slots=True)
class Deployment:
    """Addresses of a domain's names in one provider, region and kind.

    ``provider`` and ``region`` are ``None`` outside published prefixes; ``as_of`` is the oldest
    range table that was used; ``name``, ``address`` and ``prefix`` are one of the rows.
    """

    provider: str | None
    region: str | None
    kind: str
    names: int
    addresses: int
    as_of: date | None
    name: str
    address: str
    prefix: str


@dataclass(frozen=True, slots=True)
class ProviderSet:
    """Names of a domain that have addresses with exactly these providers (``other``: none)."""

    providers: frozenset[str]
    kinds: frozenset[str]
    names: int
    name: str


@dataclass(frozen=True, slots=True)
class ZoneUse:
    """Cloud addresses of a domain in one availability zone; ``zone`` is empty where unknown."""

    provider: str
    region: str
    zone: str
    addresses: int
    confidence: float
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Server:
    """One address of one name server of a domain."""

    server: str
    status: str
    address: str
    provider: str | None
    kind: str
    prefix: str
    as_of: date | None


@dataclass(frozen=True, slots=True)
class DanglingName:
    """A name with an alias to a missing name of a provider."""

    name: str
    provider: str
    rule: str
    missing: str
    claimable: bool


@dataclass(frozen=True, slots=True)
class Exposure:
    """What the outage of one provider, region, zone or name-server operator does to a domain."""

    kind: str
    provider: str
    target: str
    down: int
    part: int
    names: int
    silent: bool


@dataclass(frozen=True, slots=True)
class RecordAnswer:
    """The answer to one question that an audit asks beside the survey: CAA, DS, MX or AAAA.

    ``name`` is where the question was answered (CAA climbs the tree); ``values`` are empty where
    the record does not exist; ``status`` is a ``DnsStatus``.
    """

    type: str
    name: str
    status: str
    values: tuple[str, ...]
    at: datetime | None


@dataclass(slots=True)
class DomainFacts:
    """Everything that rules read about one domain."""

    domain: str
    rank: int
    transfer: str = ""
    wildcard: bool = False
    asked: int = 0
    found: int = 0
    failed: int = 0
    observed_at: datetime | None = None
    ipv6_names: int = 0
    ipv6_name: str = ""
    deployments: list[Deployment] = field(default_factory=list)
    provider_sets: list[ProviderSet] = field(default_factory=list)
    zones: list[ZoneUse] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)
    dangling: list[DanglingName] = field(default_factory=list)
    exposures: list[Exposure] = field(default_factory=list)
    customers: dict[str, float] = field(default_factory=dict)
    records: dict[str, RecordAnswer] = field(default_factory=dict)

    @property
    def hosted_names(self) -> int:
        """Names with at least one address."""
        return sum(group.names for group in self.provider_sets)

    @property
    def in_regions(self) -> list[Deployment]:
        """Deployments with a published region and that no CDN hides."""
        return [d for d in self.deployments if d.kind == "cloud" and d.region is not None]

    @property
    def in_cloud(self) -> list[Deployment]:
        """Deployments in the published cloud or CDN ranges of a provider."""
        return [d for d in self.deployments if d.kind in ("cloud", "cdn")]
