"""REST API v1: pools of screened machines, their tokens, verdicts, findings and logs.

Reports are received by the ASGI endpoint in :mod:`webapp.api.screening.ingest`.
"""

from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Status
from ninja.errors import HttpError

from tasks.screening import celery_tasks, uploaded_log
from webapp.api.framework.files import download, table_file
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import Router
from webapp.api.framework.strict_bodies import Body
from webapp.api.screening import documents as documents
from webapp.api.screening.agent_file import serve_agent
from webapp.store.screening import details, logs, selectors, services, views
from webapp.store.screening.ingest import print_schema
from webapp.store.screening.selectors import PoolRow
from webapp.store.screening.services import LONGEST_DAYS, PoolSettings

router = Router(tags=["screening"])
MOST_ROWS = 1_000
# Strict: neither strings nor booleans are accepted.
Threshold = Annotated[float, Field(strict=True, ge=0, le=100_000)]
Wanted = Annotated[int, Field(strict=True, ge=1, le=100_000)]
Verdict = Literal["", "good", "network-test", "bad", "not-enough"]


class SettingsIn(Body):
    """Settings of a pool; omitted fields are unchanged."""

    name: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    low: Threshold | None = None
    high: Threshold | None = None
    wanted: Wanted | None = None
    price: Annotated[float, Field(strict=True, ge=0, le=1e9)] | None = None
    currency: Annotated[str, Field(max_length=8)] | None = None


class TokenIn(Body):
    """A new token."""

    name: Annotated[str, Field(max_length=80)] = ""
    days: Annotated[int, Field(ge=1, le=LONGEST_DAYS)] | None = None


class LabelIn(Body):
    """Ground truth of a machine, set by its owner."""

    label: Literal["", "good", "bad"]


def _pool(request: HttpRequest, key: str) -> PoolRow:
    row = selectors.find_pool(request.user, key)
    if row is None:
        raise Http404("there is no such pool")
    return row


def _own(request: HttpRequest, key: str) -> PoolRow:
    row = selectors.find_own_pool(request.user, key)
    if row is None:
        raise Http404("you have no such pool")
    return row


@router.get("/agent", response={200: str, 304: None})
def get_agent(request: HttpRequest) -> Any:
    """The agent, one file of Python; ``/agent`` gives it with this site's address written in."""
    return serve_agent(request)


@router.get("/schema", response={200: dict})
def get_schema(request: HttpRequest) -> Any:
    """JSON Schema of the report that agents send."""
    return HttpResponse(print_schema(), content_type="application/schema+json")


_LOG_BODY = {
    "requestBody": {
        "required": True,
        "description": "A log or report, plain or gzip.",
        "content": {"application/octet-stream": {"schema": {"type": "string"}}},
    }
}


@router.post("/verdict", response={200: dict}, openapi_extra=_LOG_BODY)
def evaluate_log(request: HttpRequest) -> Any:
    """Figures and verdict of a log or report in the body, as ``manage.py screening verdict``."""
    return {"results": documents.plain(uploaded_log.summarise(request.body))}


@router.get("/pools", response={200: dict})
def list_pools(request: HttpRequest, page: Query[Page]) -> Any:
    """List visible pools, newest first."""
    show = partial(documents.pool_json, request=request)
    return paginate(selectors.list_pools(request.user), page, attrgetter("key"), show)


@router.post("/pools", response={201: dict})
def create_pool(request: HttpRequest, chosen: SettingsIn, response: HttpResponse) -> Any:
    """Create a pool; its first token is returned only in this answer."""
    if not request.user.is_authenticated:
        raise HttpError(401, "a pool belongs to an account: send its token, or sign in")
    row = services.create_pool(request.user, PoolSettings(**chosen.model_dump()))
    _, secret = services.create_token(row)
    response["Location"] = f"{documents.BASE}/pools/{row.key}"
    return Status(201, {**documents.pool_json(row, request), "token": secret})


@router.get("/pools/{key}", response={200: dict, 304: None})
def get_pool(request: HttpRequest, key: str, response: HttpResponse) -> Any:
    """One pool; ``ETag`` changes when a report or a finding comes."""
    row = _pool(request, key)
    tag = documents.pool_etag(row)
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    response["ETag"] = tag
    return documents.pool_json(row, request)


@router.patch("/pools/{key}", response={200: dict})
def change_pool(request: HttpRequest, key: str, chosen: SettingsIn) -> Any:
    """Change settings; new thresholds re-evaluate all reports."""
    settings = PoolSettings(**chosen.model_dump())
    return documents.pool_json(
        celery_tasks.change_pool(_own(request, key), request.user, settings), request
    )


@router.delete("/pools/{key}", response={204: None})
def delete_pool(request: HttpRequest, key: str) -> Any:
    """Delete a pool with all its data."""
    services.delete_pool(_own(request, key))
    return Status(204, None)


@router.get("/pools/{key}/tokens", response={200: dict})
def list_tokens(request: HttpRequest, key: str, page: Query[Page]) -> Any:
    """Tokens of agents, without their secrets."""
    rows = selectors.list_tokens(_own(request, key))
    return paginate(rows, page, attrgetter("id"), documents.token_json)


@router.post("/pools/{key}/tokens", response={201: dict})
def create_token(request: HttpRequest, key: str, asked: TokenIn) -> Any:
    """A new token; its secret is shown once."""
    pk, secret = services.create_token(_own(request, key), asked.name, asked.days)
    return Status(201, {"id": pk, "token": secret})


@router.delete("/pools/{key}/tokens/{token}", response={204: None})
def revoke_token(request: HttpRequest, key: str, token: int) -> Any:
    """Revoke a token."""
    if not services.revoke_token(_own(request, key), token):
        raise Http404("the pool has no such active token")
    return Status(204, None)


@router.put("/pools/{key}/share", response={200: dict})
def share_pool(request: HttpRequest, key: str) -> Any:
    """Create the share link that gives read access to the pool."""
    secret = services.share_pool(_own(request, key))
    return {
        "page": request.build_absolute_uri(f"/screening/shared/{secret}/"),
        "api": request.build_absolute_uri(f"{documents.BASE}/shared/{secret}"),
    }


@router.delete("/pools/{key}/share", response={204: None})
def unshare_pool(request: HttpRequest, key: str) -> Any:
    """Revoke the share link."""
    services.unshare_pool(_own(request, key))
    return Status(204, None)


@router.get("/pools/{key}/instances", response={200: dict})
def list_instances(request: HttpRequest, key: str, page: Query[Page], verdict: Verdict = "") -> Any:
    """Machines with their newest verdicts, by name."""
    rows = selectors.list_instances(_pool(request, key), verdict)
    return paginate(rows, page, attrgetter("id"), documents.instance_json)


@router.get("/pools/{key}/instances.{kind}", response={200: dict})
def export_instances(request: HttpRequest, key: str, kind: str, verdict: Verdict = "") -> Any:
    """The same as a file: ``csv``, ``jsonl`` or ``parquet``."""
    row = _pool(request, key)
    cells = [documents.instance_cells(one) for one in selectors.list_instances(row, verdict)]
    if kind == "json":
        return {"columns": documents.INSTANCE_COLUMNS, "rows": cells}
    return table_file(f"pool-{key}", kind, documents.INSTANCE_COLUMNS, cells)


@router.get("/pools/{key}/instances/{instance}", response={200: dict})
def get_instance(request: HttpRequest, key: str, instance: int, report: str = "") -> Any:
    """A machine with the histogram, stalls and causes of its newest report, or of ``report``."""
    return _instance(_pool(request, key), instance, report)


def _instance(row: PoolRow, instance: int, report: str) -> Any:
    found = selectors.find_instance(row, instance)
    view = views.instance_view(row, found, report) if found else None
    if view is None:
        raise Http404("the pool has no such machine or report")
    return documents.view_json(view)


@router.patch("/pools/{key}/instances/{instance}", response={200: dict})
def label_instance(request: HttpRequest, key: str, instance: int, asked: LabelIn) -> Any:
    """Set the ground truth of a machine, for calibration."""
    row = _own(request, key)
    found = services.label_instance(row, instance, asked.label)
    one = selectors.find_instance(row, instance)
    if not found or one is None:
        raise Http404("the pool has no such machine")
    return documents.instance_json(one)


@router.delete("/pools/{key}/instances/{instance}", response={204: None})
def delete_instance(request: HttpRequest, key: str, instance: int) -> Any:
    """Delete a machine with its reports."""
    if not services.delete_instance(_own(request, key), instance):
        raise Http404("the pool has no such machine")
    return Status(204, None)


@router.get("/pools/{key}/reports", response={200: dict})
def list_reports(
    request: HttpRequest, key: str, page: Query[Page], instance: int | None = None
) -> Any:
    """The newest reports, at most 1,000."""
    rows = selectors.list_reports(_pool(request, key), instance, MOST_ROWS)
    return paginate(rows, page, attrgetter("report_id"), documents.report_json)


@router.get("/pools/{key}/reports/{report_id}", response={200: dict})
def get_report(request: HttpRequest, key: str, report_id: str) -> Any:
    """Return a report as its agent sent it."""
    body = details.read_body(_pool(request, key), report_id)
    if body is None:
        raise Http404("the pool has no such report")
    return download(f"{report_id}.json", "application/json", body)


@router.get("/pools/{key}/choice", response={200: dict})
def choose(
    request: HttpRequest, key: str, wanted: Annotated[int, Field(ge=1, le=100_000)] | None = None
) -> Any:
    """The best ``wanted`` machines, how many of them may be bad, and K with its cost."""
    return documents.choice_json(views.choose(_pool(request, key), wanted))


@router.get("/pools/{key}/findings", response={200: dict})
def get_findings(request: HttpRequest, key: str) -> Any:
    """Causes, calibration, persistence, nights and heat map, and whether they are up to date."""
    return _findings(_pool(request, key))


def _findings(row: PoolRow) -> dict[str, Any]:
    return {
        "is_analysed": row.is_analysed,
        "analysed_at": row.analysed_at,
        **documents.plain(row.findings),
    }


@router.post("/pools/{key}/findings", response={200: dict})
def analyse(request: HttpRequest, key: str) -> Any:
    """Bring the findings up to date at once, without waiting for a worker."""
    celery_tasks.analyse(_own(request, key).id)
    return _findings(_own(request, key))


@router.get("/pools/{key}/findings/{section}", response={200: dict})
def get_finding(request: HttpRequest, key: str, section: str) -> Any:
    """One of ``causes``, ``calibration``, ``persistence``, ``nights`` and ``heatmap``."""
    found = _pool(request, key).findings.get(section)
    if found is None:
        raise Http404("there is no such finding, or the pool was not analysed yet")
    return documents.plain(found)


@router.get("/pools/{key}/logs", response={200: dict})
def list_logs(request: HttpRequest, key: str, page: Query[Page]) -> Any:
    """Logs of other tools beside the pool's own results."""
    rows = selectors.list_logs(_pool(request, key))
    return paginate(rows, page, attrgetter("id"), documents.log_json)


@router.post("/pools/{key}/logs", response={201: dict}, openapi_extra=_LOG_BODY)
def add_log(request: HttpRequest, key: str, name: str = "") -> Any:
    """Keep the log in the body: HdrHistogram, cyclictest, fio or CSV, plain or gzip."""
    row = _own(request, key)
    series = documents.plain(uploaded_log.summarise(request.body))
    pk = logs.add_log(row, name, request.body, series)
    return Status(201, {"id": pk, "series": series})


@router.delete("/pools/{key}/logs/{log}", response={204: None})
def delete_log(request: HttpRequest, key: str, log: int) -> Any:
    """Delete a log."""
    if not logs.delete_log(_own(request, key), log):
        raise Http404("the pool has no such log")
    return Status(204, None)
