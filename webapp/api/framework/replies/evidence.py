# ruff: noqa: D101
"""Response schemas of domains, names and what was observed of them."""

from datetime import datetime

from ninja import Schema
from pydantic import Field

from webapp.api.framework.replies.common import Page


class NumberedPage(Schema):
    total: int
    page: int
    pages: int


class ListedDomain(Schema):
    """A domain of a survey: names found, those in a cloud, and the status of its transfer."""

    rank: int
    domain: str
    found: int
    cloud: int
    transfer: str
    wildcard: bool
    providers: list[str]


class Domains(NumberedPage):
    """Domains in rank order, 50 a page."""

    rows: list[ListedDomain]
    next: str | None


class ListedName(Schema):
    """A name and its labels; ``keys`` are (kind, provider, value) of the evidence pages."""

    name: str
    technique: str
    providers: list[str]
    addresses: int
    elsewhere: int
    regions: list[str]
    labels: list[str]
    zones: list[str]
    class_: str = Field(alias="class")
    keys: list[list[str]]


class Names(NumberedPage):
    rows: list[ListedName]


class DomainRegion(Schema):
    """Names of a domain in a region, and those that are nowhere else."""

    provider: str
    region: str
    names: int
    only_here: int


class DomainLabel(Schema):
    """Names and instances with a pattern, and one of them."""

    provider: str
    label: str
    names: int
    instances: int
    example: str


class Placement(Schema):
    """An address and the published range that it is in; null where no range has it."""

    domain: str
    address: str
    provider: str | None
    service: str | None
    services: list[str]
    region: str | None
    border_group: str | None
    prefix: str | None
    as_of: str | None
    kind: str


class NamePlacement(Placement):
    name: str


class NameServer(Placement):
    server: str
    status: str


class Domain(Schema):
    """The profile of a domain: queries by outcome, names, name servers, regions and labels."""

    domain: str
    rank: int
    transfer: str
    wildcard: bool
    asked: int
    found: int
    nxdomain: int
    nodata: int
    wildcard_filtered: int
    queries: int
    names: Names
    servers: list[NameServer]
    depends: list[DomainRegion]
    labels: list[DomainLabel]


class Answer(Schema):
    name: str
    type: str
    ttl: int
    data: str


class Lookup(Schema):
    """One DNS query with its answers."""

    domain: str
    name: str
    type: str
    status: str
    technique: str
    answers: list[Answer]
    resolver: str
    protocol: str
    attempts: int
    rtt_ms: float | None
    at: datetime


class Front(Schema):
    """A label of a name with the rule and the evidence that it rests on."""

    domain: str
    name: str
    provider: str
    label: str
    rule: str
    evidence: str
    instance: str


class Name(Schema):
    """All that was observed of one name."""

    name: str
    domain: str
    technique: str
    class_: str = Field(alias="class")
    lookups: list[Lookup]
    placements: list[NamePlacement]
    fronts: list[Front]


class WonAndLost(Schema):
    won: list[str]
    lost: list[str]


class MovedNames(Schema):
    appeared: list[str]
    vanished: list[str]
    moved: list[str]


class DomainVisit(Schema):
    """What one survey found of a domain, and the changes since the one before."""

    survey: str
    world: str
    at: datetime | None
    found: int
    cloud: int
    providers: list[str]
    regions: list[str]
    zones: list[str]
    patterns: list[str]
    name_servers: list[str]
    is_first: bool
    changes: dict[str, WonAndLost]
    names: MovedNames


class DomainHistory(Page[DomainVisit]):
    """Every survey that asked a domain, the newest first."""

    domain: str


class CardHost(Schema):
    """Names of a domain in one provider, region and address kind."""

    provider: str
    region: str
    kind: str
    names: int


class CardOutage(Schema):
    """An outage, and the names of the domain that it takes down wholly or in part."""

    kind: str
    provider: str
    target: str
    down: int
    part: int
    names: int


class CardRule(Schema):
    """What one rule decided; ``points`` are what its finding costs of a hundred."""

    rule: str
    title: str
    outcome: str
    message: str
    severity: str
    points: int
    n: int
    suggestion: str


class CardGrade(Schema):
    """A letter from A to E, empty where too few rules were decided, with its reasons."""

    letter: str
    points: int
    decided: int
    changes_to_a: int
    rules: list[CardRule]


class DomainCard(Schema):
    """One domain by the newest survey that holds it.

    ``mail_operators`` and ``certificate_authorities`` (those that CAA records permit; empty where
    there is no such record) are null if MX or CAA was not asked.
    """

    domain: str
    survey: str
    world: str
    observed_at: datetime | None
    names: int
    hosts: list[CardHost]
    name_servers: int
    dns_operators: list[str]
    cdns: list[str]
    mail_operators: list[str] | None
    certificate_authorities: list[str] | None
    dangling_names: int
    claimable_names: int
    outages: list[CardOutage]
    grade: CardGrade


class NotIndexed(Schema):
    """The index of the survey is not made yet; ``Retry-After`` gives the time of the next try."""

    status: str
    detail: str
