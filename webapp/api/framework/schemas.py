# ruff: noqa: D101
"""Response schemas of surveys, captures and recommendations.

They describe answers and are not validated at run time. Answers may have further fields.
"""

from datetime import date, datetime
from typing import Any, Generic, Literal, TypeVar

from ninja import Schema

Item = TypeVar("Item")
Row = dict[str, Any]

Columns = list[str]
Rows = list[list[Any]]


class Page(Schema, Generic[Item]):
    """A page of a list."""

    count: int
    next: str | None
    results: list[Item]


class SurveyLinks(Schema):
    self: str
    events: str
    report: str
    tables: str
    page: str


class Survey(Schema):
    id: str
    name: str
    status: Literal["queued", "running", "finished", "partial", "failed", "cancelled"]
    world: str
    is_public: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    domains: int
    rejected: list[Row]
    n_rejected: int
    duplicates: int
    estimated_queries: int
    counters: Row
    error: str
    links: SurveyLinks


class AboutTable(Schema):
    id: str
    title: str
    headline: str
    n: int


class Table(Schema):
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


class Feature(Schema):
    type: Literal["Feature"]
    geometry: Row | None
    properties: Row


class Features(Schema):
    type: Literal["FeatureCollection"]
    features: list[Feature]


class NumberedPage(Schema):
    rows: list[Row]
    total: int
    page: int
    pages: int


class Domains(NumberedPage):
    next: str | None


class Domain(Schema):
    domain: str
    rank: int
    names: NumberedPage
    servers: list[Row]
    depends: list[Row]
    labels: list[Row]


class Name(Schema):
    name: str
    domain: str
    technique: str
    lookups: list[Row]
    placements: list[Row]
    fronts: list[Row]


class Quota(Schema):
    limit: int
    used: int


class Limits(Schema):
    active_surveys: Quota
    active_surveys_of_yours: Quota
    domains_per_survey: int


class Account(Schema):
    name: str
    token: Row | None
    active_surveys: int


class History(Page[Row]):
    domain: str


class CellPage(Schema):
    columns: Columns
    rows: Rows


class CountedCells(CellPage):
    total: int
    first: int


class Summary(Schema):
    """The whole report of a survey, as the command ``survey --json`` gives it."""

    campaign: str
    state: str
    world: str
    names: Row
    stages: Row
    domains: dict[str, int]
    rejected: list[Row]
    vantages: Row
    range_tables: list[Row]
    tables: Row


class RangeTable(Schema):
    provider: str
    variant: str
    as_of: date
    origin: str
    sha256: str
    imported_at: datetime


class Comparison(Schema):
    status: Literal["ready"]
    before: str
    after: str
    population: dict[str, int]
    sums: dict[str, dict[str, int]]
    members: dict[str, list[Row]]
    flows: dict[str, list[Row]]
    tables: list[str]


class Comparing(Schema):
    status: Literal["comparing"]
    state: str


class NotIndexed(Schema):
    status: str
    detail: str


class ChangedTable(CellPage):
    id: str
    n_before: int
    n_after: int


class ComparedPairs(CellPage):
    before: str
    after: str
    synthetic: bool


class Capture(Schema):
    """The whole report of a capture, as the command ``packets report --json`` gives it."""

    tables: dict[str, Row]
    logs: list[Row]


class CaptureTable(CellPage):
    id: str


class Link(Schema):
    """``link`` is empty once the secret key of the site has changed."""

    id: int
    link: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class CampaignVisibility(Schema):
    campaign: str
    is_public: bool


class Preset(Schema):
    """A schedule that comes with the product."""

    name: str


class Recommendation(Schema):
    id: str
    title: str
    survey: str | None
    source: Row
    shared: bool
    status: Literal["awaiting", "queued", "running", "finished", "failed"]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: Row
    error: str
    options: Row
    files: list[str]
    result: Row | None
    links: dict[str, str]


class RecommendationRow(Schema):
    id: str
    title: str
    status: str
    created_at: datetime
    options: Row
    links: dict[str, str]


class Variant(Schema):
    options: Row
    result: Row


class ShareAddress(Schema):
    link: str
