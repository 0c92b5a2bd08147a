"""Which shape the good answers of each operation have, for the OpenAPI document."""

from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

from webapp.api import machine_shapes, shapes
from webapp.api.problems import Problem
from webapp.store.pools import InstanceRow, LogRow, TokenRow
from webapp.store.services import Plan

_MODE: Literal["serialization"] = "serialization"
_SCREENING = "/screening/pools/{key}"
_SHARED = "/screening/shared/{secret}"
_SHAPES: dict[str, Any] = {
    "post /plan": Plan,
    "get /surveys": shapes.Page[shapes.Survey],
    "get /surveys/{slug}": shapes.Survey,
    "post /surveys/{slug}/cancel": shapes.Survey,
    "put /surveys/{slug}/visibility": shapes.Survey,
    "get /surveys/{slug}/tables": shapes.Page[shapes.AboutTable],
    "get /surveys/{slug}/tables/{table}": shapes.Table,
    "get /surveys/{slug}/regions.geojson": shapes.Features,
    "get /surveys/{slug}/domains": shapes.Domains,
    "get /surveys/{slug}/domains/{domain}": shapes.Domain,
    "get /surveys/{slug}/names/{name}": shapes.Name,
    "get /surveys/{slug}/outages.{kind_of_file}": shapes.CountedCells,
    "get /domains/{domain}/history": shapes.History,
    "get /limits": shapes.Limits,
    "get /account": shapes.Account,
    "get /captures": shapes.Page[str],
    "get /compare/{before}/{after}/moves.{kind}": shapes.CountedCells,
    "get /recommendations": shapes.Page[shapes.RecommendationRow],
    "post /recommendations": shapes.Recommendation,
    "get /recommendations/{token}": shapes.Recommendation,
    "post /recommendations/{token}/variants": shapes.Variant,
    "post /recommendations/{token}/share": shapes.ShareAddress,
    "get /measurements": shapes.Page[machine_shapes.Campaign],
    "post /measurements": machine_shapes.Campaign,
    "get /measurements/{slug}": machine_shapes.Campaign,
    "post /measurements/plan": machine_shapes.CampaignPlan,
    "get /measurements/{slug}/coverage": machine_shapes.Coverage,
    "post /measurements/{slug}/clone": machine_shapes.Campaign,
    "post /measurements/{slug}/pause": machine_shapes.Campaign,
    "post /measurements/{slug}/resume": machine_shapes.Campaign,
    "post /measurements/{slug}/stop": machine_shapes.Campaign,
    "get /wide-area": shapes.Page[machine_shapes.WideCampaign],
    "get /wide-area/{slug}": machine_shapes.WideCampaignWithTables,
    "get /wide-area/{slug}/tables/{table}": machine_shapes.WideTable,
    "get /wide-area/{slug}/samples.{kind}": machine_shapes.WideTable,
    "get /wide-area/{slug}/paths.{kind}": machine_shapes.WideTable,
    "get /wide-area-comparison/{before}/{after}.{kind}": shapes.ComparedPairs,
    "get /vantage-points": shapes.Page[machine_shapes.VantagePoint],
    "post /vantage-points": machine_shapes.NewVantagePoint,
    "get /vantage-points/{name}": machine_shapes.VantagePoint,
    "get /screening/pools": shapes.Page[machine_shapes.Pool],
    "post /screening/pools": machine_shapes.NewPool,
    f"get {_SCREENING}": machine_shapes.Pool,
    f"patch {_SCREENING}": machine_shapes.Pool,
    f"get {_SCREENING}/tokens": shapes.Page[TokenRow],
    f"post {_SCREENING}/tokens": machine_shapes.NewToken,
    f"put {_SCREENING}/share": machine_shapes.PoolShare,
    f"get {_SCREENING}/instances": shapes.Page[InstanceRow],
    f"get {_SCREENING}/instances.{{kind}}": shapes.CellPage,
    f"patch {_SCREENING}/instances/{{instance}}": InstanceRow,
    f"get {_SCREENING}/reports": shapes.Page[machine_shapes.Report],
    f"get {_SCREENING}/findings": machine_shapes.Findings,
    f"post {_SCREENING}/findings": machine_shapes.Findings,
    f"get {_SCREENING}/logs": shapes.Page[LogRow],
    f"post {_SCREENING}/logs": machine_shapes.NewLog,
    f"get {_SHARED}": machine_shapes.Pool,
    f"get {_SHARED}/instances": shapes.Page[InstanceRow],
    f"get {_SHARED}/findings": machine_shapes.Findings,
    "post /screening/verdict": machine_shapes.Series,
    "post /surveys": shapes.Survey,
    "get /surveys/{slug}/report.json": shapes.Summary,
    "get /surveys/{slug}/links": shapes.Page[shapes.Link],
    "post /surveys/{slug}/links": shapes.Link,
    "get /surveys/{slug}/outages.{kind_of_file} 202": shapes.NotIndexed,
    "get /range-tables": shapes.Page[shapes.RangeTable],
    "get /captures/{name}": shapes.Capture,
    "get /captures/{name}/tables/{table}.{kind}": shapes.CaptureTable,
    "get /compare/{before}/{after}": shapes.Comparison,
    "get /compare/{before}/{after} 202": shapes.Comparing,
    "get /compare/{before}/{after}/tables/{table}.{kind}": shapes.ChangedTable,
    "put /measurements/{slug}/visibility": shapes.CampaignVisibility,
    "get /measurements/{slug}/links": shapes.Page[shapes.Link],
    "post /measurements/{slug}/links": shapes.Link,
    "get /measurements/presets": shapes.Page[shapes.Preset],
    "post /vantage-points/join": machine_shapes.Joined,
    "post /vantage-points/{name}/presence": machine_shapes.Presence,
    "post /vantage-points/{name}/token": machine_shapes.NewVantagePoint,
    "patch /vantage-points/{name}/limits": machine_shapes.VantagePoint,
    "post /vantage-points/{name}/drain": machine_shapes.VantagePoint,
    "post /vantage-points/{name}/resume": machine_shapes.VantagePoint,
    "post /vantage-points/{name}/revoke": machine_shapes.VantagePoint,
    "post /networks/finds": machine_shapes.Find,
    "get /networks/finds/{name}": machine_shapes.Find,
    "post /networks/finds/{name}/enlist": machine_shapes.Enlisted,
    f"get {_SCREENING}/instances/{{instance}}": machine_shapes.InstanceReports,
    f"get {_SCREENING}/reports/{{report_id}}": machine_shapes.SentReport,
    f"get {_SCREENING}/choice": machine_shapes.Choice,
    f"get {_SCREENING}/findings/{{section}}": machine_shapes.Finding,
    f"get {_SHARED}/instances/{{instance}}": machine_shapes.InstanceReports,
    f"get {_SHARED}/choice": machine_shapes.Choice,
}


@cache
def describe() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Schemas of good JSON answers by operation, as in ``get /limits``, and all components."""
    kinds = {**_SHAPES, "": Problem}
    adapters = [(name, _MODE, TypeAdapter(kind)) for name, kind in kinds.items()]
    found, definitions = TypeAdapter.json_schemas(
        adapters, ref_template="#/components/schemas/{model}"
    )
    return {name: found[name, _MODE] for name in _SHAPES}, dict(definitions["$defs"])


def shapes_of(method: str, path: str) -> dict[int, Any]:
    """Schemas of good JSON answers of an operation by status code."""
    name, known = f"{method} {path.removeprefix('/api/v1')}", describe()[0]
    every = {status: known.get(f"{name} {status}", known.get(name)) for status in (200, 201, 202)}
    return {status: schema for status, schema in every.items() if schema is not None}
