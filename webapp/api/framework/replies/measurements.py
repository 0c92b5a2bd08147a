# ruff: noqa: D101
"""Response schemas of measurement campaigns and their tables."""

from datetime import datetime
from typing import Literal

from ninja import Schema
from pydantic import JsonValue

from webapp.api.framework.replies.common import CellPage, Columns, Rows
from webapp.api.framework.replies.details import (
    CampaignSummary,
    PlannedSchedule,
    PredictedCost,
)

CampaignState = Literal["planned", "running", "paused", "stopped", "finished", "failed"]


class UnitCounts(Schema):
    ended: int
    of: int


class CampaignProgress(Schema):
    """Slots by outcome; ``coverage`` is the share of ended ones that were measured."""

    planned: int
    ok: int
    failed: int
    missed: int
    late: int
    out: int
    waiting: int
    coverage: float | None
    units: UnitCounts
    round: int | None
    rounds: int
    trouble: str
    elapsed_s: float
    left_s: float | None


class Campaign(Schema):
    campaign: str
    name: str
    state: str
    preset: str
    synthetic: bool
    label: str
    created_at: datetime
    starts_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    vantages: int
    targets: int
    seed: int
    error: str
    progress: CampaignProgress
    predicted: PredictedCost
    summary: CampaignSummary
    is_public: bool
    page: str


class CampaignPlan(Schema):
    """What a campaign would send: totals, and why it would be refused."""

    name: str
    schedule: PlannedSchedule
    predicted: PredictedCost
    refusals: list[str]


class VantageSlots(Schema):
    vantage: str
    planned: int
    ok: int
    failed: int
    missed: int
    late: int
    coverage: float | None
    first: datetime | None
    last: datetime | None


class RoundSlots(Schema):
    round: int
    planned: int
    ok: int
    failed: int
    missed: int
    late: int
    coverage: float | None
    first: datetime | None
    last: datetime | None


class Coverage(Schema):
    """Slots by vantage point and by round, and reasons of failed and missed ones."""

    vantages: list[VantageSlots]
    rounds: list[RoundSlots]
    reasons: dict[str, dict[str, int]]


class Activity(Schema):
    name: str
    probe: str
    options: dict[str, JsonValue]


class Preset(Schema):
    """A schedule that comes with the product."""

    name: str
    title: str
    round_s: float
    rounds: int
    activities: list[Activity]


class CampaignVisibility(Schema):
    campaign: str
    is_public: bool


class Target(Schema):
    name: str
    host: str
    provider: str
    region: str


class MeasuredCampaign(Schema):
    """A campaign by its results."""

    id: str
    name: str
    status: str
    synthetic: bool
    label: str
    vantages: int
    targets: list[Target]
    schedule: PlannedSchedule
    started_at: datetime | None
    finished_at: datetime | None
    summary: CampaignSummary
    is_public: bool
    page: str


class CampaignTableSummary(Schema):
    id: str
    headline: str
    n: int


class MeasuredCampaignWithTables(MeasuredCampaign):
    tables: list[CampaignTableSummary]
    files: list[str]


class MeasuredRows(CellPage):
    """Raw samples or paths of a pair."""

    id: str
    measurement: str
    synthetic: bool
    label: str


class CampaignTable(MeasuredRows):
    """A part of a table; ``next_offset`` is the offset of the rows that follow."""

    total: int
    offset: int
    next_offset: int | None


class ComparedPairs(Schema):
    before: str
    after: str
    synthetic: bool
    columns: Columns
    rows: Rows
