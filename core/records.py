"""Records that travel between stages: frozen, and with no behaviour beyond derivation."""

from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from core.statuses import AddressKind, DnsStatus, Technique


# A crawl makes millions of these two, and a named tuple is made in a fifth of a frozen
# dataclass's time.
class Record(NamedTuple):
    """One resource record; names in lower case without the final dot, ``data`` as text."""

    name: str
    type: str
    ttl: int
    data: str


class Answer(NamedTuple):
    """What became of one DNS question, failures included.

    ``answers`` holds the whole CNAME chain in order; ``at`` is seconds since the epoch (UTC);
    ``rtt_ms`` belongs to the reply that was accepted and is ``None`` when there was none.
    """

    name: str
    type: str
    status: DnsStatus
    answers: tuple[Record, ...] = ()
    authorities: tuple[Record, ...] = ()
    resolver: str = ""
    protocol: str = "udp"
    attempts: int = 1
    rtt_ms: float | None = None
    at: float = 0.0

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(r.data for r in self.answers if r.type in ("A", "AAAA"))

    @property
    def cnames(self) -> tuple[str, ...]:
        """Targets of the CNAME chain, in order."""
        return tuple(r.data for r in self.answers if r.type == "CNAME")

    def as_json(self) -> dict[str, Any]:
        """The stable JSON form of ``resolve``."""
        return {
            **self._asdict(),
            "answers": [r._asdict() for r in self.answers],
            "authorities": [r._asdict() for r in self.authorities],
        }


@dataclass(frozen=True, slots=True)
class Lookup:
    """An answer with its domain and the source of its name.

    ``technique`` is the first source that had the name, ``sources`` are all of them.
    """

    domain: str
    technique: Technique
    answer: Answer
    sources: tuple[Technique, ...] = ()


@dataclass(frozen=True, slots=True)
class DomainEntry:
    """One accepted line of a domain list; ``rank`` is the list's own or the position."""

    domain: str
    rank: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Rejection:
    """One part of an input that could not be used, and why."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class DomainOutcome:
    """What enumeration did for one domain; every count is a number of names.

    ``asked`` = ``found`` + ``nxdomain`` + ``nodata`` + ``wildcard_filtered`` + failures;
    ``suspected`` are those of ``wildcard_filtered`` that no random name was answered like.
    ``probes`` questions were sent about wildcards, at ``levels`` levels of the zone.
    """

    domain: str
    rank: int
    transfer: str  # "OK", a DnsStatus, or "SKIPPED"
    wildcard: bool
    asked: int
    found: int
    nxdomain: int
    nodata: int
    wildcard_filtered: int
    failed: tuple[tuple[str, int], ...] = ()  # (status, count)
    queries: int = 0
    name_servers: tuple[str, ...] = ()
    suspected: int = 0
    probes: int = 0
    levels: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Location of one address, with the prefix and table as evidence.

    ``services`` are all services published for the address, most specific first; ``service``
    is the one shown. No published prefix: ``provider`` is ``None`` and ``kind`` is other.
    """

    address: str
    provider: str | None = None
    service: str | None = None
    services: tuple[str, ...] = ()
    region: str | None = None
    border_group: str | None = None
    prefix: str | None = None
    as_of: date | None = None
    kind: AddressKind = AddressKind.OTHER
    region_as_published: str | None = None


@dataclass(frozen=True, slots=True)
class Front:
    """One front-end label of a name, with its evidence.

    ``instance`` is what the paper counts for the feature: an address, or the logical name.
    """

    name: str
    provider: str
    label: str
    rule: str
    evidence: str
    instance: str


@dataclass(frozen=True, slots=True)
class NameServerPlace:
    """One name server of a domain at one address (empty when it did not resolve)."""

    domain: str
    server: str
    status: DnsStatus
    placement: Placement
