"""Response schemas of successful answers by operation, for the OpenAPI document."""

from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

from webapp.api.framework import measurement_schemas, schemas
from webapp.api.framework.problems import Problem
from webapp.api.framework.replies import audits, schedules
from webapp.store.screening.selectors import InstanceRow, LogRow, TokenRow
from webapp.store.surveys.services import Plan

_MODE: Literal["serialization"] = "serialization"
_SCREENING = "/screening/pools/{key}"
_SHARED = "/screening/shared/{secret}"
_SHAPES: dict[str, Any] = {
    "post /plan": Plan,
    "get /surveys": schemas.Page[schemas.Survey],
    "get /surveys/{slug}": schemas.Survey,
    "post /surveys/{slug}/cancel": schemas.Survey,
    "put /surveys/{slug}/visibility": schemas.Survey,
    "get /surveys/{slug}/tables": schemas.Page[schemas.AboutTable],
    "get /surveys/{slug}/tables/{table}": schemas.Table,
    "get /surveys/{slug}/regions.geojson": schemas.Features,
    "get /surveys/{slug}/domains": schemas.Domains,
    "get /surveys/{slug}/domains/{domain}": schemas.Domain,
    "get /surveys/{slug}/names/{name}": schemas.Name,
    "get /surveys/{slug}/outages.{kind_of_file}": schemas.CountedCells,
    "get /domains/{domain}/history": schemas.History,
    "get /limits": schemas.Limits,
    "get /account": schemas.Account,
    "get /captures": schemas.Page[str],
    "get /compare/{before}/{after}/moves.{kind}": schemas.CountedCells,
    "get /recommendations": schemas.Page[schemas.RecommendationRow],
    "post /recommendations": schemas.Recommendation,
    "get /recommendations/{token}": schemas.Recommendation,
    "post /recommendations/{token}/variants": schemas.Variant,
    "post /recommendations/{token}/share": schemas.ShareAddress,
    "get /measurements": schemas.Page[measurement_schemas.Campaign],
    "post /measurements": measurement_schemas.Campaign,
    "get /measurements/{slug}": measurement_schemas.Campaign,
    "post /measurements/plan": measurement_schemas.CampaignPlan,
    "get /measurements/{slug}/coverage": measurement_schemas.Coverage,
    "post /measurements/{slug}/clone": measurement_schemas.Campaign,
    "post /measurements/{slug}/pause": measurement_schemas.Campaign,
    "post /measurements/{slug}/resume": measurement_schemas.Campaign,
    "post /measurements/{slug}/stop": measurement_schemas.Campaign,
    "get /wide-area": schemas.Page[measurement_schemas.WideCampaign],
    "get /wide-area/{slug}": measurement_schemas.WideCampaignWithTables,
    "get /wide-area/{slug}/tables/{table}": measurement_schemas.WideTable,
    "get /wide-area/{slug}/samples.{kind}": measurement_schemas.WideTable,
    "get /wide-area/{slug}/paths.{kind}": measurement_schemas.WideTable,
    "get /wide-area-comparison/{before}/{after}.{kind}": schemas.ComparedPairs,
    "get /vantage-points": schemas.Page[measurement_schemas.VantagePoint],
    "post /vantage-points": measurement_schemas.NewVantagePoint,
    "get /vantage-points/{name}": measurement_schemas.VantagePoint,
    "get /screening/pools": schemas.Page[measurement_schemas.Pool],
    "post /screening/pools": measurement_schemas.NewPool,
    f"get {_SCREENING}": measurement_schemas.Pool,
    f"patch {_SCREENING}": measurement_schemas.Pool,
    f"get {_SCREENING}/tokens": schemas.Page[TokenRow],
    f"post {_SCREENING}/tokens": measurement_schemas.NewToken,
    f"put {_SCREENING}/share": measurement_schemas.PoolShare,
    f"get {_SCREENING}/instances": schemas.Page[InstanceRow],
    f"get {_SCREENING}/instances.{{kind}}": schemas.CellPage,
    f"patch {_SCREENING}/instances/{{instance}}": InstanceRow,
    f"get {_SCREENING}/reports": schemas.Page[measurement_schemas.Report],
    f"get {_SCREENING}/findings": measurement_schemas.Findings,
    f"post {_SCREENING}/findings": measurement_schemas.Findings,
    f"get {_SCREENING}/logs": schemas.Page[LogRow],
    f"post {_SCREENING}/logs": measurement_schemas.NewLog,
    f"get {_SHARED}": measurement_schemas.Pool,
    f"get {_SHARED}/instances": schemas.Page[InstanceRow],
    f"get {_SHARED}/findings": measurement_schemas.Findings,
    "post /screening/verdict": measurement_schemas.Series,
    "post /audits": audits.Audit,
    "post /audits/plan": audits.AuditPlan,
    "get /audits": schemas.Page[audits.Audit],
    "get /audits/{slug}": audits.Audit,
    "get /audits/{slug}/findings": audits.AuditFindings,
    "get /audits/{slug}/report": audits.AuditReport,
    "get /audits/{slug}/report.{kind}": audits.AuditReport,
    "put /audits/{slug}/visibility": audits.AuditVisibility,
    "get /audits/{slug}/links": schemas.Page[schemas.Link],
    "post /audits/{slug}/links": schemas.Link,
    "get /domain-lists": schemas.Page[audits.DomainList],
    "post /domain-lists": audits.DomainList,
    "get /domain-lists/{slug}": audits.DomainList,
    "patch /domain-lists/{slug}": audits.DomainList,
    "get /audit-rules": schemas.Page[audits.AuditRule],
    "get /audit-policies": schemas.Page[audits.AuditPolicy],
    "get /audit-policies/schema": audits.JsonSchema,
    "post /audit-policies": audits.AuditPolicyWithDocument,
    "get /audit-policies/{slug}": audits.AuditPolicyWithDocument,
    "patch /audit-policies/{slug}": audits.AuditPolicyWithDocument,
    "get /audit-suppressions": schemas.Page[audits.Suppression],
    "post /audit-suppressions": audits.Suppression,
    "patch /audit-suppressions/{number}": audits.Suppression,
    "get /schedules": schemas.Page[schedules.Schedule],
    "post /schedules": schedules.Schedule,
    "get /schedules/{slug}": schedules.Schedule,
    "patch /schedules/{slug}": schedules.Schedule,
    "get /schedules/{slug}/runs": schemas.Page[schedules.ScheduleRun],
    "post /schedules/{slug}/runs": schedules.ScheduleRun,
    "get /schedules/{slug}/events": schemas.Page[schedules.ScheduleEvent],
    "get /alert-endpoints": schemas.Page[schedules.AlertEndpoint],
    "post /alert-endpoints": schedules.NewAlertEndpoint,
    "get /alert-endpoints/{slug}": schedules.AlertEndpoint,
    "patch /alert-endpoints/{slug}": schedules.AlertEndpoint,
    "post /alert-endpoints/{slug}/secret": schedules.NewAlertEndpoint,
    "post /alert-endpoints/{slug}/test": schedules.AlertDelivery,
    "get /alert-endpoints/{slug}/deliveries": schemas.Page[schedules.AlertDelivery],
    "post /alert-endpoints/{slug}/deliveries/{message_id}/resend": schedules.AlertDelivery,
    "post /surveys": schemas.Survey,
    "get /surveys/{slug}/report.json": schemas.Summary,
    "get /surveys/{slug}/links": schemas.Page[schemas.Link],
    "post /surveys/{slug}/links": schemas.Link,
    "get /surveys/{slug}/outages.{kind_of_file} 202": schemas.NotIndexed,
    "get /range-tables": schemas.Page[schemas.RangeTable],
    "get /captures/{name}": schemas.Capture,
    "get /captures/{name}/tables/{table}.{kind}": schemas.CaptureTable,
    "get /compare/{before}/{after}": schemas.Comparison,
    "get /compare/{before}/{after} 202": schemas.Comparing,
    "get /compare/{before}/{after}/tables/{table}.{kind}": schemas.ChangedTable,
    "put /measurements/{slug}/visibility": schemas.CampaignVisibility,
    "get /measurements/{slug}/links": schemas.Page[schemas.Link],
    "post /measurements/{slug}/links": schemas.Link,
    "get /measurements/presets": schemas.Page[schemas.Preset],
    "post /vantage-points/join": measurement_schemas.VantageIdentity,
    "post /vantage-points/{name}/presence": measurement_schemas.Presence,
    "post /vantage-points/{name}/token": measurement_schemas.NewVantagePoint,
    "patch /vantage-points/{name}/limits": measurement_schemas.VantagePoint,
    "post /vantage-points/{name}/drain": measurement_schemas.VantagePoint,
    "post /vantage-points/{name}/resume": measurement_schemas.VantagePoint,
    "post /vantage-points/{name}/revoke": measurement_schemas.VantagePoint,
    "post /networks/finds": measurement_schemas.NetworkSearch,
    "get /networks/finds/{name}": measurement_schemas.NetworkSearch,
    "post /networks/finds/{name}/enlist": measurement_schemas.EnlistedPoints,
    f"get {_SCREENING}/instances/{{instance}}": measurement_schemas.InstanceReports,
    f"get {_SCREENING}/reports/{{report_id}}": measurement_schemas.SentReport,
    f"get {_SCREENING}/choice": measurement_schemas.Choice,
    f"get {_SCREENING}/findings/{{section}}": measurement_schemas.Finding,
    f"get {_SHARED}/instances/{{instance}}": measurement_schemas.InstanceReports,
    f"get {_SHARED}/choice": measurement_schemas.Choice,
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
