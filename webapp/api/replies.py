# ruff: noqa: D101
"""Shapes of good answers, for the OpenAPI document: what a client may rely on.

Answers are made elsewhere; nothing is checked against these at run time. Fields that are not
named here may come beside those that are.
"""

from datetime import datetime
from typing import Any, Literal

from ninja import Schema
from pydantic.json_schema import models_json_schema

from webapp.store.services import Plan as PlanRow

Columns = list[str]
Rows = list[list[Any]]


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
    rejected: list[dict[str, Any]]
    n_rejected: int
    duplicates: int
    estimated_queries: int
    counters: dict[str, Any]
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
    geometry: dict[str, Any] | None
    properties: dict[str, Any]


class Features(Schema):
    type: Literal["FeatureCollection"]
    features: list[Feature]


class Domains(Schema):
    rows: list[dict[str, Any]]
    total: int
    page: int
    pages: int


class Domain(Schema):
    domain: str
    rank: int
    names: Domains
    servers: list[dict[str, Any]]
    depends: list[dict[str, Any]]
    labels: list[dict[str, Any]]


class Name(Schema):
    name: str
    domain: str
    technique: str
    lookups: list[dict[str, Any]]
    placements: list[dict[str, Any]]
    fronts: list[dict[str, Any]]


class Quota(Schema):
    limit: int
    used: int


class Limits(Schema):
    active_surveys: Quota
    active_surveys_of_yours: Quota
    domains_per_survey: int


class Account(Schema):
    name: str
    token: dict[str, Any] | None
    active_surveys: int


class History(Schema):
    domain: str
    count: int
    next: str | None
    results: list[dict[str, Any]]


class CellPage(Schema):
    columns: Columns
    rows: Rows


class CountedCells(CellPage):
    total: int
    first: int


class Recommendation(Schema):
    id: str
    title: str
    survey: str | None
    source: dict[str, Any]
    shared: bool
    status: Literal["awaiting", "queued", "running", "finished", "failed"]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: dict[str, Any]
    error: str
    options: dict[str, Any]
    files: list[str]
    result: dict[str, Any] | None
    links: dict[str, str]


class RecommendationRow(Schema):
    id: str
    title: str
    status: str
    created_at: datetime
    options: dict[str, Any]
    links: dict[str, str]


class Variant(Schema):
    options: dict[str, Any]
    result: dict[str, Any]


class ShareAddress(Schema):
    link: str


class Campaign(Schema):
    campaign: str
    name: str
    state: str
    is_public: bool
    page: str
    progress: dict[str, Any]


class CampaignPlan(Schema):
    name: str
    schedule: dict[str, Any]
    predicted: dict[str, Any]
    refusals: list[str]


class Coverage(Schema):
    vantages: list[dict[str, Any]]
    rounds: list[dict[str, Any]]
    reasons: Any


class WideCampaign(Schema):
    id: str
    name: str
    status: str
    synthetic: bool
    label: str
    vantages: int
    targets: list[dict[str, Any]]
    schedule: dict[str, Any]
    started_at: datetime | None
    finished_at: datetime | None
    summary: dict[str, Any]
    is_public: bool
    page: str


class WideCampaignWithTables(WideCampaign):
    tables: list[dict[str, Any]]
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


class Pool(Schema):
    key: str
    name: str
    is_analysed: bool
    headlines: dict[str, str]
    share: str | None
    links: dict[str, str]


class NewPool(Pool):
    token: str


class Token(Schema):
    id: int
    name: str


class NewToken(Schema):
    id: int
    token: str


class PoolShare(Schema):
    page: str
    api: str


class Instance(Schema):
    id: int
    name: str
    machine: str
    verdict: str
    n_reports: int


class Report(Schema):
    report_id: str


class Log(Schema):
    id: int
    name: str


class NewLog(Schema):
    id: int
    series: list[dict[str, Any]]


class Findings(Schema):
    is_analysed: bool


class Series(Schema):
    results: list[dict[str, Any]]


class Plan(Schema):
    accepted: int
    duplicates: int
    rejected: list[dict[str, Any]]
    n_rejected: int
    notes: list[str]
    n_words: int
    estimated_queries: int
    estimated_s: float


assert set(Plan.model_fields) == set(PlanRow.__dataclass_fields__)


class _List:
    """A page of a list of some shape."""

    def __init__(self, of: type[Schema] | None) -> None:
        self.of = of


_SCREENING = "/screening/pools/{key}"
_SHARED = "/screening/shared/{secret}"
_SHAPES: dict[str, type[Schema] | _List] = {
    "post /plan": Plan,
    "get /surveys": _List(Survey),
    "get /surveys/{slug}": Survey,
    "post /surveys/{slug}/cancel": Survey,
    "put /surveys/{slug}/visibility": Survey,
    "get /surveys/{slug}/tables": _List(AboutTable),
    "get /surveys/{slug}/tables/{table}": Table,
    "get /surveys/{slug}/regions.geojson": Features,
    "get /surveys/{slug}/domains": Domains,
    "get /surveys/{slug}/domains/{domain}": Domain,
    "get /surveys/{slug}/names/{name}": Name,
    "get /surveys/{slug}/outages.{kind_of_file}": CountedCells,
    "get /domains/{domain}/history": History,
    "get /limits": Limits,
    "get /account": Account,
    "get /captures": _List(None),
    "get /compare/{before}/{after}/moves.{kind}": CountedCells,
    "get /recommendations": _List(RecommendationRow),
    "post /recommendations": Recommendation,
    "get /recommendations/{token}": Recommendation,
    "post /recommendations/{token}/variants": Variant,
    "post /recommendations/{token}/share": ShareAddress,
    "get /measurements": _List(Campaign),
    "post /measurements": Campaign,
    "get /measurements/{slug}": Campaign,
    "post /measurements/plan": CampaignPlan,
    "get /measurements/{slug}/coverage": Coverage,
    "post /measurements/{slug}/clone": Campaign,
    "post /measurements/{slug}/pause": Campaign,
    "post /measurements/{slug}/resume": Campaign,
    "post /measurements/{slug}/stop": Campaign,
    "get /wide-area": _List(WideCampaign),
    "get /wide-area/{slug}": WideCampaignWithTables,
    "get /wide-area/{slug}/tables/{table}": WideTable,
    "get /wide-area/{slug}/samples.{kind}": WideTable,
    "get /wide-area/{slug}/paths.{kind}": WideTable,
    "get /wide-area-comparison/{before}/{after}.{kind}": CellPage,
    "get /vantage-points": _List(VantagePoint),
    "post /vantage-points": VantagePoint,
    "get /vantage-points/{name}": VantagePoint,
    "get /screening/pools": _List(Pool),
    "post /screening/pools": NewPool,
    f"get {_SCREENING}": Pool,
    f"patch {_SCREENING}": Pool,
    f"get {_SCREENING}/tokens": _List(Token),
    f"post {_SCREENING}/tokens": NewToken,
    f"put {_SCREENING}/share": PoolShare,
    f"get {_SCREENING}/instances": _List(Instance),
    f"get {_SCREENING}/instances.{{kind}}": CellPage,
    f"patch {_SCREENING}/instances/{{instance}}": Instance,
    f"get {_SCREENING}/reports": _List(Report),
    f"get {_SCREENING}/findings": Findings,
    f"post {_SCREENING}/findings": Findings,
    f"get {_SCREENING}/logs": _List(Log),
    f"post {_SCREENING}/logs": NewLog,
    f"get {_SHARED}": Pool,
    f"get {_SHARED}/instances": _List(Instance),
    f"get {_SHARED}/findings": Findings,
    "post /screening/verdict": Series,
}


def shapes() -> dict[str, Any]:
    """Components of the OpenAPI document, by name."""
    models = {m.of if isinstance(m, _List) else m for m in _SHAPES.values()} - {None}
    wanted = sorted(((m, "serialization") for m in models if m), key=lambda row: row[0].__name__)
    _, found = models_json_schema(wanted, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    return dict(found["$defs"])


def shape_of(method: str, path: str) -> dict[str, Any] | None:
    """The schema of a good JSON answer; None where it is described at the operation itself."""
    found = _SHAPES.get(f"{method} {path.removeprefix('/api/v1')}")
    if found is None:
        return None
    if not isinstance(found, _List):
        return {"$ref": f"#/components/schemas/{found.__name__}"}
    of = found.of
    items = {"$ref": f"#/components/schemas/{of.__name__}"} if of else {"type": "string"}
    return {
        "type": "object",
        "required": ["count", "next", "results"],
        "properties": {
            "count": {"type": "integer"},
            "next": {"type": ["string", "null"]},
            "results": {"type": "array", "items": items},
        },
    }
