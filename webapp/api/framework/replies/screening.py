# ruff: noqa: D101
"""Response schemas of pools of screened machines."""

from datetime import datetime
from typing import Literal

from ninja import Schema

from webapp.api.framework.replies.details import (
    CallFigures,
    CpuFigures,
    FindingFigures,
    Host,
    LatencySeries,
    ReportSummary,
)
from webapp.store.screening.selectors import InstanceRow
from webapp.store.screening.views import BatteryView, StallView


class Pool(Schema):
    """A pool; ``low`` and ``high`` are stalls per 100 s, ``verdicts`` counts its machines."""

    key: str
    name: str
    is_mine: bool
    is_public: bool
    low: float
    high: float
    wanted: int
    price: float
    currency: str
    contributes: bool
    n_instances: int
    n_reports: int
    verdicts: dict[str, int]
    analysed_at: datetime | None
    created_at: datetime
    last_report_at: datetime | None
    is_analysed: bool
    headlines: dict[str, str]
    share: str | None
    links: dict[str, str]


class GoodShareRow(Schema):
    """Machines of a group; ``p999_ms`` is the median of their 99.9th percentiles of sleeps."""

    group: str
    provider: str
    code: str
    place: str
    pools: int
    n: int
    good: int
    share: float
    low: float
    high: float
    effective: float
    p999_ms: float | None
    p999_low_ms: float | None
    p999_high_ms: float | None


class InstanceType(Schema):
    """An instance type over accounts that contribute; ``p999_ms`` is the median of machines."""

    provider: str
    instance_type: str
    n: int
    tenants: int
    good: int
    share: float
    low: float
    high: float
    p999_ms: float | None
    p999_low_ms: float | None
    p999_high_ms: float | None
    published_at: datetime


class PublicationLimits(Schema):
    """The least number of accounts and machines of a type, and the most of one account."""

    tenants: int
    machines: int
    share: float


class InstanceTypes(Schema):
    """Instance types that are shown, best first."""

    limits: PublicationLimits
    rows: list[InstanceType]


class GoodShares(Schema):
    """Groups, best first; ``unplaced`` machines did not report the field of the group.

    ``correlation`` is that of verdicts within pools, null where no group has machines of two pools.
    """

    by: Literal["region", "zone", "type", "cpu"]
    rows: list[GoodShareRow]
    correlation: float | None
    machines: int
    pools: int
    unjudged: int
    unplaced: int


class NewPool(Pool):
    """A new pool with its first token, which is never shown again."""

    token: str


class NewPoolToken(Schema):
    """A pool token with its secret, which is never shown again."""

    id: int
    token: str


class PoolShare(Schema):
    page: str
    api: str


class PoolReport(Schema):
    """A report without its histograms."""

    report_id: str
    instance: int
    name: str
    started_at: datetime
    received_at: datetime
    has_sleeps: bool
    has_network: bool
    has_battery: bool
    verdict: str
    per_100s: float | None
    cause: str
    summary: ReportSummary


class NewLog(Schema):
    id: int
    series: list[LatencySeries]


class LogVerdicts(Schema):
    """Figures and verdict of each series of a log."""

    results: list[LatencySeries]


class Findings(Schema):
    """Findings by section; each has figures, or a ``reason`` why it has none."""

    is_analysed: bool
    causes: FindingFigures | None = None
    calibration: FindingFigures | None = None
    persistence: FindingFigures | None = None
    nights: FindingFigures | None = None
    heatmap: FindingFigures | None = None


class Finding(Schema):
    """One section of the findings; without figures it has a ``reason``."""


class CpuHistogram(Schema):
    """A virtual CPU; rows of the histogram are low µs, high µs and count."""

    cpu: int
    figures: CpuFigures
    histogram: list[list[float | None]]
    stalls: list[StallView]
    causes: dict[str, dict[str, float]]


class CallHistogram(Schema):
    """Calls to one server at one rate; the histogram is as that of a CPU."""

    caller: str
    server: str
    figures: CallFigures
    histogram: list[list[float | None]]


class InstanceDetail(Schema):
    """A machine and one of its reports; without a report only its calls are known."""

    instance: InstanceRow
    report: PoolReport | None
    reports: list[PoolReport]
    cpus: list[CpuHistogram]
    calls: list[CallHistogram]
    battery: list[BatteryView]
    host: Host
    pressure_us: dict[str, dict[str, int]]
    causes: dict[str, str]


class ChosenInstance(Schema):
    """A machine in a group of the choice, and why it is there."""

    instance: InstanceRow
    why: str


class LaunchEstimate(Schema):
    """Machines to launch per good one, with a 90 % interval, and what they cost."""

    k: float | None
    low: float | None
    high: float | None
    launches: int
    wasted: float | None
    cost: float | None
    expected_cost: float | None


class Choice(Schema):
    """Every machine of a pool in one of five groups."""

    wanted: int
    chosen: list[ChosenInstance]
    spare: list[ChosenInstance]
    terminate: list[ChosenInstance]
    measure_again: list[ChosenInstance]
    own_load: list[ChosenInstance]
    expected_bad: float | None
    missing: int
    called: int
    launched: int
    factor: LaunchEstimate | None
    reason: str
    headline: str


class AgentReport(Schema):
    """A report as its agent sent it; ``/screening/schema`` describes all of it."""

    report_id: str
    agent_version: str
    host: Host


SectionName = Literal["causes", "calibration", "persistence", "nights", "heatmap"]
