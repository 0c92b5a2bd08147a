# ruff: noqa: D101
"""Response schemas of surveys, their reports and their tables."""

from datetime import datetime
from typing import Literal

from ninja import Schema
from pydantic import Field

from webapp.api.framework.replies.common import Columns, RejectedLine, Rows
from webapp.api.framework.replies.details import (
    NameCounts,
    RangeTableVersion,
    SecondPassCounts,
    StageTimes,
)


class SurveyLinks(Schema):
    self: str
    events: str
    report: str
    tables: str
    package: str
    page: str


class SurveyCounters(Schema):
    """Progress of a survey; ``failed`` counts queries by status, ``eta_s`` is the time left."""

    domains: int
    domains_done: int
    queries: int
    answered: int
    found: int
    resolved: int
    cloud: int
    failed: dict[str, int]
    stages: dict[str, StageTimes]
    estimated_queries: int
    elapsed_s: float | None
    rate_qps: float | None
    eta_s: float | None


class Survey(Schema):
    """A survey; ``waits`` names what an open one lacks, ``error`` why one ended early."""

    id: str
    name: str
    status: Literal["queued", "running", "finished", "partial", "failed", "cancelled"]
    world: str
    is_public: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    domains: int
    rejected: list[RejectedLine]
    n_rejected: int
    duplicates: int
    estimated_queries: int
    counters: SurveyCounters
    error: str
    waits: str
    links: SurveyLinks


class ZoneAgreementCell(Schema):
    """Targets that each method puts in a zone; ``latency`` is null where it has none."""

    proximity: str
    latency: str | None
    targets: int


class ZoneAgreement(Schema):
    """Round trips beside addresses: ``error`` is mismatches over compared targets."""

    count: int
    match: int
    unknown: int
    mismatch: int
    error: float | None
    matrix: list[ZoneAgreementCell]


class ZoneCoverage(Schema):
    """Addresses with a zone, by method, and the others by reason; shares are of one."""

    targets: int
    identified: int
    coverage: float
    coverage_by_proximity: float
    coverage_by_latency: float
    methods: dict[str, int]
    expected_error: float | None
    unknown: dict[str, int]
    agreement: ZoneAgreement


class ZonePrefixes(Schema):
    """Prefixes of own instances with votes for one zone, or for several."""

    one_zone: int
    several_zones: int


class ZoneThreshold(Schema):
    """Round-trip time in ms below which the zone of a probe is likelier than another zone."""

    probe: str
    other: str
    ms: float


class ZoneRegion(ZoneCoverage):
    """One region with its zones and the rates of errors in what was observed."""

    region: str
    zones: dict[str, int]
    wrong_labels: float
    prefixes: ZonePrefixes
    thresholds_ms: list[ZoneThreshold]
    unmapped_round_trips: int


class ZoneAccount(Schema):
    """Labels of an account with the common zone of each; margins are logarithms."""

    region: str
    account: str
    basis: Literal["reference", "addresses", "zone ids", "round-trip times"]
    samples: int
    zones: dict[str, str]
    margins: dict[str, float]
    eliminated: list[str]
    undetermined: list[str]
    agreeing_pairs: int
    conflicting_pairs: int
    most_pairs: bool


class ZoneSource(Schema):
    """A file of observations, or a campaign from inside clouds."""

    id: int
    kind: Literal["samples", "targets", "rtts", "zone_ids", "campaign"]
    name: str
    rows: int
    created_at: datetime


class ZoneCrowding(Schema):
    """Domains in a zone, and its ``share`` of the uses of its region's known zones by domains.

    ``low`` and ``high`` are the 95 % interval, ``even`` is one by the number of zones, and ``n``
    the number of uses; ``crowded`` zones have an interval above ``even``.
    """

    provider: str
    region: str
    zone: str
    domains: int
    subdomains: int
    only_here: int | None
    share: float
    low: float
    high: float
    even: float
    n: int
    crowded: bool


class Zones(Schema):
    """The inference of zones of a survey's addresses, and what it rests on."""

    survey: str
    state: Literal["none", "waiting", "running", "finished", "failed"]
    error: str
    observed_at: datetime | None
    finished_at: datetime | None
    total: ZoneCoverage | None
    regions: list[ZoneRegion]
    crowding: list[ZoneCrowding]
    accounts: list[ZoneAccount]
    sources: list[ZoneSource]


class SurveyPlan(Schema):
    """What a survey of a list would do and cost.

    ``estimated_queries`` are without wildcards: each zone with one costs ``wildcard_queries`` more,
    as measured on average, and ``max_wildcard_queries`` at most.
    """

    accepted: int
    duplicates: int
    rejected: list[RejectedLine]
    n_rejected: int
    notes: list[str]
    n_words: int
    estimated_queries: int
    estimated_s: float
    wildcard_queries: int
    max_wildcard_queries: int


class SurveyReport(Schema):
    """The whole report of a survey, as the command ``survey --json`` gives it."""

    campaign: str
    state: str
    world: str
    names: NameCounts
    stages: dict[str, StageTimes]
    domains: dict[str, int]
    rejected: list[RejectedLine]
    vantages: dict[str, SecondPassCounts]
    range_tables: list[RangeTableVersion]
    tables: dict[str, "ReportTable"]


class ReportTable(Schema):
    columns: Columns
    rows: Rows
    n: int
    headline: str


class TableSummary(Schema):
    """A table and its finding in one sentence; ``n`` is the number of subjects behind it."""

    id: str
    title: str
    headline: str
    n: int


class Table(Schema):
    """A table of a survey; ``checks`` lists what does not add up in it."""

    id: str
    world: str
    columns: Columns
    rows: Rows
    n: int
    headline: str
    method: str
    source: str
    computed_at: datetime
    checks: list[str]


class Point(Schema):
    type: Literal["Point"]
    coordinates: list[float] = Field(min_length=2, max_length=2)


class RegionProperties(Schema):
    """Columns of the table ``regions``, and the place of the region where it is known."""

    provider: str
    region: str
    domains: int
    subdomains: int
    place: str
    country: str


class RegionFeature(Schema):
    type: Literal["Feature"]
    geometry: Point | None
    properties: RegionProperties


class RegionFeatures(Schema):
    """Regions as GeoJSON (RFC 7946)."""

    type: Literal["FeatureCollection"]
    features: list[RegionFeature]


class Comparing(Schema):
    """Progress of a comparison that is being computed."""

    status: Literal["comparing"]
    state: str


class MemberChange(Schema):
    """Names in a member of a dimension before and after, and how many it won and lost."""

    dimension: str
    member: str
    before: int
    after: int
    lost: int
    won: int


class Flow(Schema):
    """Names and domains that moved from one member to another."""

    before: str
    after: str
    names: int
    domains: int


class Comparison(Schema):
    """What moved between two surveys, by dimension."""

    status: Literal["ready"]
    before: str
    after: str
    population: dict[str, int]
    sums: dict[str, dict[str, int]]
    members: dict[str, list[MemberChange]]
    flows: dict[str, list[Flow]]
    tables: list[str]


class ChangedTable(Schema):
    """Keys, then before, after and change of every column."""

    id: str
    columns: Columns
    rows: Rows
    n_before: int
    n_after: int


class CustomerFile(Schema):
    """Uploaded countries of customers; the name of the file only for who manages the survey."""

    survey: str
    state: Literal["none", "waiting", "running", "finished", "failed"]
    error: str
    name: str
    rows: int
    requested_at: datetime | None
    finished_at: datetime | None
