# ruff: noqa: D101
"""Response schemas of campaigns, vantage points and pools of screened machines."""

from datetime import datetime
from typing import Any, Literal

from ninja import Schema

from webapp.api.framework.schemas import CellPage, Row
from webapp.store.screening.selectors import InstanceRow
from webapp.store.screening.views import Chosen


class Campaign(Schema):
    campaign: str
    name: str
    state: str
    is_public: bool
    page: str
    progress: Row


class CampaignPlan(Schema):
    name: str
    schedule: Row
    predicted: Row
    refusals: list[str]


class Coverage(Schema):
    vantages: list[Row]
    rounds: list[Row]
    reasons: Any


class WideCampaign(Schema):
    id: str
    name: str
    status: str
    synthetic: bool
    label: str
    vantages: int
    targets: list[Row]
    schedule: Row
    started_at: datetime | None
    finished_at: datetime | None
    summary: Row
    is_public: bool
    page: str


class WideCampaignWithTables(WideCampaign):
    tables: list[Row]
    files: list[str]


class WideTable(CellPage):
    id: str
    measurement: str
    synthetic: bool
    label: str


class VantagePoint(Schema):
    name: str
    state: str
    source: str


class NewVantagePoint(VantagePoint):
    token: str
    command: str
    hours: float


class VantageIdentity(Schema):
    """Credentials of a vantage point; returned once."""

    name: str
    host: str
    port: int
    user: str
    password: str
    authority: str
    limits: Row


class Presence(Schema):
    name: str
    state: str
    address: str | None


class NetworkSearch(Schema):
    """A search at a public network with its results so far."""

    key: str
    state: Literal["waiting", "asking", "ready", "failed"]
    wanted: Row
    error: str
    credits: Row | None
    credits_error: str
    places: list[Row]
    matching: int
    asked_at: datetime
    said_at: datetime | None


class EnlistedPoints(Schema):
    count: int
    results: list[VantagePoint]


class Pool(Schema):
    key: str
    name: str
    is_analysed: bool
    headlines: dict[str, str]
    share: str | None
    links: dict[str, str]


class NewPool(Pool):
    token: str


class NewToken(Schema):
    id: int
    token: str


class PoolShare(Schema):
    page: str
    api: str


class Report(Schema):
    report_id: str


class NewLog(Schema):
    id: int
    series: list[Row]


class Findings(Schema):
    is_analysed: bool


class InstanceReports(Schema):
    """A machine and one of its reports; without a report only its calls are known."""

    instance: InstanceRow
    report: Row | None
    reports: list[Row]
    cpus: list[Row]
    calls: list[Row]
    battery: list[Row]
    host: Row
    pressure_us: dict[str, dict[str, int]]
    causes: dict[str, str]


class Choice(Schema):
    """Every machine of a pool in one of five groups."""

    wanted: int
    chosen: list[Chosen]
    spare: list[Chosen]
    terminate: list[Chosen]
    measure_again: list[Chosen]
    own_load: list[Chosen]
    expected_bad: float | None
    missing: int
    called: int
    launched: int
    factor: Row | None
    reason: str
    headline: str


class SentReport(Schema):
    """A report as its agent sent it; ``/screening/schema`` describes all of it."""


class Finding(Schema):
    """One section of the findings; without figures it has a ``reason``."""


class Series(Schema):
    results: list[Row]
