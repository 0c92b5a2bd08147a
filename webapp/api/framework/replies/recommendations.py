# ruff: noqa: D101
"""Response schemas of recommendations."""

from datetime import datetime
from typing import Literal

from ninja import Schema

from webapp.api.framework.replies.details import (
    LatencySource,
    SolverOptions,
    SolverProgress,
)


class RecommendationLinks(Schema):
    self: str
    curve: str
    variants: str


class ListedRecommendation(Schema):
    id: str
    title: str
    survey: str | None
    source: LatencySource
    shared: bool
    status: Literal["awaiting", "queued", "running", "finished", "failed"]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: SolverProgress
    error: str
    options: SolverOptions
    files: list[str]
    links: RecommendationLinks


class RegionSet(Schema):
    """The best set of ``k`` regions: its value, the proven bound, and whether it is optimal."""

    k: int
    regions: list[str]
    value: float | None
    proven: bool


class Solution(Schema):
    """The document of the command ``regions recommend``."""

    results: list[RegionSet]
    n_clients: int
    n_rounds: int
    n_regions: int


class Recommendation(ListedRecommendation):
    result: Solution | None


class Variant(Schema):
    """The solution for changed options; nothing is stored."""

    options: SolverOptions
    result: Solution


class ClientWeights(Schema):
    """Weights by client as ``audience`` takes them; ``unplaced`` is what has no place."""

    form: str
    weights: dict[str, float]
    unit: str
    unplaced: float
    notes: list[str]
    total: float


class ClientPlace(Schema):
    """A client as ``audience`` takes it."""

    client: str
    kind: Literal["country", "city", "network"]
    name: str


class ClientPlaces(Schema):
    results: list[ClientPlace]


class BeaconLinks(Schema):
    self: str
    script: str


class BeaconMedian(Schema):
    """Median round trip from a country to a region, of ``n`` browsers."""

    country: str
    region: str
    rtt_ms: float
    n: int


class ListedBeacon(Schema):
    """``snippet`` is the element for pages of the origins."""

    id: str
    name: str
    targets: dict[str, str]
    origins: list[str]
    sample_share: float
    max_reports_per_day: int
    reports_today: int
    created_at: datetime
    snippet: str
    links: BeaconLinks


class Beacon(ListedBeacon):
    """With the medians of the last four weeks, each of at least ten browsers."""

    medians: list[BeaconMedian]
