"""REST API v1: pools of screened machines, their tokens, findings and logs.

Reports are received by the ASGI endpoint in :mod:`webapp.api.screening.ingest`.
"""

from dataclasses import asdict
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Status
from ninja.errors import HttpError

from tasks.screening import celery_tasks, good_shares, type_comparison, uploaded_log
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, schema
from webapp.api.screening import documents as documents
from webapp.api.screening.agent_file import serve_agent
from webapp.api.screening.lookup import find_own_pool, find_pool
from webapp.store.requests.texts import VISIBLE_PATTERN
from webapp.store.screening import logs, selectors, services
from webapp.store.screening.ingest import print_schema
from webapp.store.screening.selectors import PoolRow
from webapp.store.screening.services import LONGEST_DAYS, PoolSettings

router = Router(tags=["screening"])
Title = Annotated[str, Field(min_length=1, max_length=120), schema(pattern=VISIBLE_PATTERN)]
# Stalls in 100 s.
MOST_STALLS = 100_000
# Strict: neither strings nor booleans are accepted.
Threshold = Annotated[float, Field(strict=True, ge=0, le=MOST_STALLS)]
Dimension = Literal["region", "zone", "type", "cpu"]
Wanted = Annotated[int, Field(strict=True, ge=1, le=100_000)]


class SettingsIn(Body):
    """Settings of a pool; omitted fields are unchanged. ``low`` is less than ``high``."""

    name: Title | None = None
    low: Annotated[Threshold, Field(lt=MOST_STALLS)] | None = None
    high: Annotated[Threshold, Field(gt=0)] | None = None
    wanted: Wanted | None = None
    price: Annotated[float, Field(strict=True, ge=0, le=1e9)] | None = None
    currency: Annotated[str, Field(max_length=8)] | None = None
    contributes: bool | None = None


class TokenIn(Body):
    """A new token."""

    name: Annotated[str, Field(max_length=80)] = ""
    days: Annotated[int, Field(ge=1, le=LONGEST_DAYS)] | None = None


@router.get(
    "/agent",
    response={200: "text/x-python", 304: None},
    operation_id="get_screening_agent",
)
def get_agent(request: HttpRequest) -> Any:
    """The agent, one file of Python; ``/agent`` gives it with this site's address written in."""
    return serve_agent(request)


@router.get(
    "/schema",
    response={200: "application/schema+json"},
    operation_id="get_screening_schema",
)
def get_schema(request: HttpRequest) -> Any:
    """JSON Schema of the report that agents send."""
    return HttpResponse(print_schema(), content_type="application/schema+json")


_LOG_BODY = {
    "requestBody": {
        "required": True,
        "description": "A log or report, plain or gzip.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "minLength": 1}}},
    }
}


@router.post(
    "/verdict",
    response={200: "screening.LogVerdicts"},
    operation_id="evaluate_log",
    openapi_extra=_LOG_BODY,
)
def evaluate_log(request: HttpRequest) -> Any:
    """Figures and verdict of a log or report in the body, as ``manage.py screening verdict``."""
    return {"results": documents.plain(uploaded_log.summarise(request.body))}


@router.get(
    "/good-shares",
    response={200: "screening.GoodShares"},
)
def get_good_shares(request: HttpRequest, by: Dimension = "region") -> Any:
    """Share of good machines and jitter by region, zone, instance type or CPU model.

    All machines in pools visible to the requester count; intervals are at 95 %.
    """
    return documents.plain(asdict(good_shares.find_table(request.user, by)))


@router.get(
    "/instance-types",
    response={200: "screening.InstanceTypes"},
)
def get_instance_types(request: HttpRequest) -> Any:
    """Public comparison of instance types, over the pools of accounts that contribute.

    Types of too few accounts or machines are withheld; intervals are at 95 %, across accounts.
    """
    rows = [
        {name: value for name, value in row.items() if name not in ("group", "code", "place")}
        | {"instance_type": row["group"]}
        for row in type_comparison.list_rows()
    ]
    return documents.plain({"limits": type_comparison.LIMITS, "rows": rows})


@router.get(
    "/pools",
    response={200: "Page[screening.Pool]"},
)
def list_pools(request: HttpRequest, page: Query[Page]) -> Any:
    """List visible pools, newest first."""
    show = partial(documents.pool_json, request=request)
    return paginate(selectors.list_pools(request.user), page, attrgetter("key"), show)


@router.post(
    "/pools",
    response={201: "screening.NewPool"},
    openapi_extra=ACCOUNT,
)
def create_pool(request: HttpRequest, chosen: SettingsIn, response: HttpResponse) -> Any:
    """Create a pool; its first token is returned only in this answer."""
    if not request.user.is_authenticated:
        raise HttpError(401, "a pool belongs to an account: send its token, or sign in")
    row = services.create_pool(request.user, PoolSettings(**chosen.model_dump()))
    _, secret = services.create_token(row)
    response["Location"] = f"{documents.BASE}/pools/{row.key}"
    return Status(201, {**documents.pool_json(row, request), "token": secret})


@router.get(
    "/pools/{key}",
    response={200: "screening.Pool", 304: None},
)
def get_pool(request: HttpRequest, key: str, response: HttpResponse) -> Any:
    """One pool; ``ETag`` changes when a report or a finding comes."""
    row = find_pool(request, key)
    tag = documents.pool_etag(row)
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    response["ETag"] = tag
    return documents.pool_json(row, request)


@router.patch(
    "/pools/{key}",
    response={200: "screening.Pool"},
    openapi_extra=ACCOUNT,
)
def change_pool(request: HttpRequest, key: str, chosen: SettingsIn) -> Any:
    """Change settings; new thresholds re-evaluate all reports."""
    settings = PoolSettings(**chosen.model_dump())
    return documents.pool_json(
        celery_tasks.change_pool(find_own_pool(request, key), request.user, settings), request
    )


@router.delete(
    "/pools/{key}",
    response={204: None},
    openapi_extra=ACCOUNT,
)
def delete_pool(request: HttpRequest, key: str) -> Any:
    """Delete a pool with all its data."""
    services.delete_pool(find_own_pool(request, key))
    return Status(204, None)


@router.get(
    "/pools/{key}/tokens",
    response={200: "Page[selectors.TokenRow]"},
    operation_id="list_pool_tokens",
    openapi_extra=ACCOUNT,
)
def list_tokens(request: HttpRequest, key: str, page: Query[Page]) -> Any:
    """Tokens of agents, without their secrets."""
    rows = selectors.list_tokens(find_own_pool(request, key))
    return paginate(rows, page, attrgetter("id"), documents.token_json)


@router.post(
    "/pools/{key}/tokens",
    response={201: "screening.NewPoolToken"},
    operation_id="create_pool_token",
    openapi_extra=ACCOUNT,
)
def create_token(request: HttpRequest, key: str, asked: TokenIn) -> Any:
    """A new token; its secret is shown once."""
    pk, secret = services.create_token(find_own_pool(request, key), asked.name, asked.days)
    return Status(201, {"id": pk, "token": secret})


@router.delete(
    "/pools/{key}/tokens/{number}",
    response={204: None},
    operation_id="revoke_pool_token",
    openapi_extra=ACCOUNT,
)
def revoke_token(request: HttpRequest, key: str, number: int) -> Any:
    """Revoke a token."""
    if not services.revoke_token(find_own_pool(request, key), number):
        raise Http404("the pool has no such active token")
    return Status(204, None)


@router.put(
    "/pools/{key}/share",
    response={200: "screening.PoolShare"},
    openapi_extra=ACCOUNT,
)
def share_pool(request: HttpRequest, key: str) -> Any:
    """Create the share link that gives read access to the pool."""
    secret = services.share_pool(find_own_pool(request, key))
    return {
        "page": request.build_absolute_uri(f"/screening/shared/{secret}/"),
        "api": request.build_absolute_uri(f"{documents.BASE}/shared/{secret}"),
    }


@router.delete(
    "/pools/{key}/share",
    response={204: None},
    openapi_extra=ACCOUNT,
)
def unshare_pool(request: HttpRequest, key: str) -> Any:
    """Revoke the share link."""
    services.unshare_pool(find_own_pool(request, key))
    return Status(204, None)


@router.get(
    "/pools/{key}/findings",
    response={200: "screening.Findings"},
    operation_id="get_pool_findings",
)
def get_findings(request: HttpRequest, key: str) -> Any:
    """Causes, calibration, persistence, nights and heat map, and whether they are up to date."""
    return _findings(find_pool(request, key))


def _findings(row: PoolRow) -> dict[str, Any]:
    return {
        "is_analysed": row.is_analysed,
        "analysed_at": row.analysed_at,
        **documents.plain(row.findings),
    }


@router.post(
    "/pools/{key}/findings",
    response={200: "screening.Findings"},
    operation_id="analyse_pool",
    openapi_extra=ACCOUNT,
)
def analyse(request: HttpRequest, key: str) -> Any:
    """Bring the findings up to date at once, without waiting for a worker."""
    celery_tasks.analyse(find_own_pool(request, key).id)
    return _findings(find_own_pool(request, key))


@router.get(
    "/pools/{key}/findings/{section}",
    response={200: "screening.Finding"},
    operation_id="get_pool_finding",
)
def get_finding(request: HttpRequest, key: str, section: str) -> Any:
    """One of ``causes``, ``calibration``, ``persistence``, ``nights`` and ``heatmap``."""
    found = find_pool(request, key).findings.get(section)
    if found is None:
        raise Http404("there is no such finding, or the pool was not analysed yet")
    return documents.plain(found)


@router.get(
    "/pools/{key}/logs",
    response={200: "Page[selectors.LogRow]"},
    operation_id="list_pool_logs",
)
def list_logs(request: HttpRequest, key: str, page: Query[Page]) -> Any:
    """Logs of other tools beside the pool's own results."""
    rows = selectors.list_logs(find_pool(request, key))
    return paginate(rows, page, attrgetter("id"), documents.log_json)


@router.post(
    "/pools/{key}/logs",
    response={201: "screening.NewLog"},
    operation_id="add_pool_log",
    openapi_extra={**_LOG_BODY, **ACCOUNT},
)
def add_log(request: HttpRequest, key: str, name: str = "") -> Any:
    """Keep the log in the body: HdrHistogram, cyclictest, fio or CSV, plain or gzip."""
    row = find_own_pool(request, key)
    series = documents.plain(uploaded_log.summarise(request.body))
    pk = logs.add_log(row, name, request.body, series)
    return Status(201, {"id": pk, "series": series})


@router.delete(
    "/pools/{key}/logs/{log}",
    response={204: None},
    operation_id="delete_pool_log",
    openapi_extra=ACCOUNT,
)
def delete_log(request: HttpRequest, key: str, log: int) -> Any:
    """Delete a log."""
    if not logs.delete_log(find_own_pool(request, key), log):
        raise Http404("the pool has no such log")
    return Status(204, None)
