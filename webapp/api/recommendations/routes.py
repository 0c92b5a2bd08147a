"""REST API v1: recommendations of the best k regions for uploaded samples."""

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import Field, Query, Status
from ninja.errors import HttpError
from pydantic import ConfigDict

from core.errors import BadInput
from tasks.clients import suggestions, uploads
from tasks.recommendations import celery_tasks, client_latencies, from_domains
from webapp.api.framework.files import table_file
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, exactly_one, schema
from webapp.store.access.visibility import may_manage, owner_of
from webapp.store.models import Recommendation
from webapp.store.recommendations import services
from webapp.store.recommendations.services import CURVE_COLUMNS, curve_rows

router = Router(tags=["recommendations"])
Name = Annotated[str, Field(min_length=1, max_length=300)]
Names = Annotated[list[Name], Field(max_length=1000)]
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, le=1e12)]
Table = Annotated[
    str, Field(min_length=1, max_length=20_000_000), schema(contentMediaType="text/csv")
]
# Sizes of sets: 5, 1..8 or 1,3,5.
_SIZES = "[0-9]{1,4}([.][.][0-9]{1,4})?"
Sizes = Annotated[str, Field(max_length=100), schema(pattern=f"^({_SIZES}(, *{_SIZES})*)?$")]


class OptionsIn(Body):
    """Options; every field is an option of ``manage.py regions recommend``."""

    k: Annotated[int, Field(ge=1, le=9_999)] | Sizes | None = None
    objective: Literal["latency", "throughput"] = "latency"
    percentile: Annotated[float, Field(gt=0, lt=100)] | None = None
    worst_country: bool = False
    missing: Literal["penalty", "exclude"] = "penalty"
    penalty: Amount | None = None
    include: Names = []
    exclude: Names = []
    provider: Names = []
    per_provider: Annotated[int, Field(ge=1, le=10_000)] | None = None
    country: Names = []
    continent: Names = []
    presence: Annotated[list[Name], Field(max_length=50)] = []
    price_ceiling: Amount | None = None
    min_zones: Annotated[int, Field(ge=1, le=20)] | None = None
    min_isps: Annotated[int, Field(ge=1, le=1000)] | None = None
    max_carbon: Annotated[float, Field(ge=0, le=10_000)] | None = None
    front: bool = False
    budget: Amount | None = None
    joint_budget: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    joint_cost: Amount | None = None
    survive_loss: bool = False
    after_loss_ms: Annotated[float, Field(ge=0.001, le=1e6)] | None = None
    after_loss_share: Annotated[float, Field(ge=0, le=0.999)] | None = None
    current: Names = []
    traffic_gb: Amount | None = None
    between_gb: Amount | None = None
    region_availability: Share | None = None
    zone_availability: Share | None = None
    provider_availability: Share | None = None
    time_limit_s: Annotated[float, Field(ge=0.01, le=120)] | None = None
    within: Annotated[float, Field(ge=0, le=0.2)] | None = None
    draws: Annotated[int, Field(ge=0, le=1000)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] | None = None
    outlook: bool = True


_NULL = {"type": "null"}
_ONE_QUESTION = exactly_one(
    {
        "samples": ({"type": "string"}, _NULL),
        "audience": ({"type": ["string", "object"]}, _NULL),
    }
)


class RecommendationIn(OptionsIn):
    """Options and input tables, each the text of a CSV file.

    Either ``samples``, or an ``audience`` for which measured or modelled samples are taken.
    """

    model_config = ConfigDict(json_schema_extra=_ONE_QUESTION)

    samples: Annotated[str, Field(min_length=1), schema(contentMediaType="text/csv")] | None = None
    audience: Table | Annotated[dict[Name, float], Field(max_length=100_000)] | None = None
    source: Annotated[str, Field(max_length=120)] = "auto"
    weights: Table | dict[Name, float] | None = None
    regions: Table | None = None
    clients: Table | None = None
    isps: Table | None = None
    prices: Table | None = None
    price_list: Annotated[str, Field(max_length=1_000_000)] | None = None
    populations: Table | None = None
    beside: str | None = None
    domains: Table | None = None
    group_clients: Table | None = None
    carbon: Table | None = None


_FILES = (
    *("samples", "weights", "regions", "clients", "isps", "prices", "price_list", "populations"),
    *("beside", "domains", "group_clients", "carbon"),
)


@router.post(
    "/recommendations",
    response={201: "recommendations.Recommendation", 202: "recommendations.Recommendation"},
)
def create_recommendation(
    request: HttpRequest, asked: RecommendationIn, response: HttpResponse
) -> Any:
    """Find the best regions: 201 with the answer if it is soon found, else 202; see ``Location``.

    ``Prefer: respond-async`` leaves it to a worker; ``Idempotency-Key`` makes a retry safe.
    """
    given = asked.model_dump(exclude_unset=True)
    audience, source = given.pop("audience", None), given.pop("source", client_latencies.AUTO)
    files = {name: _bytes(given.pop(name)) for name in _FILES if given.get(name) is not None}
    options = {name: value for name, value in given.items() if name not in _FILES}
    origin = services.Origin(owner_of(request.user))
    if audience is not None:
        files, options, origin = _for_audience(request, audience, source, files, options)
    elif "samples" not in files:
        raise BadInput("give samples, or an audience", field="samples")
    key = request.headers.get("Idempotency-Key")
    at_once = "respond-async" not in request.headers.get("Prefer", "")
    row = celery_tasks.create(files, options, key, at_once=at_once, origin=origin)
    response["Location"] = f"/api/v1/recommendations/{row.token}"
    return Status(201 if row.finished_at else 202, _document(row))


def _for_audience(
    request: HttpRequest,
    audience: str | dict[str, float],
    source: str,
    files: dict[str, bytes],
    options: dict[str, Any],
) -> tuple[dict[str, bytes], dict[str, Any], services.Origin]:
    """Return files, options and origin for clients by country, city or network."""
    for name in ("samples", "weights", "clients", "populations"):
        if name in files:
            raise BadInput("an audience has its own samples and weights", field=name)
    given = from_domains.read_clients(audience)
    found, usual, about = from_domains.without_domains(
        given.weights, source, options.get("current", ()), request.user
    )
    origin = services.Origin(owner_of(request.user), source={**about, "clients": given.about()})
    return {**found, **files}, {**usual, **options, **_current(usual)}, origin


def _current(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return regions in use by the names that the samples have for them."""
    return {"current": options["current"]} if "current" in options else {}


_FILE_BODY = {
    "requestBody": {
        "required": True,
        "description": "An access log, analytics table, probe selection or list; plain or gzip.",
        "content": {"application/octet-stream": {"schema": {"type": "string"}}},
    }
}


@router.post(
    "/client-weights",
    response={200: "recommendations.ClientWeights"},
    operation_id="read_client_weights",
    openapi_extra=_FILE_BODY,
)
def read_client_weights(
    request: HttpRequest, by: Literal["country", "city", "network"] = "city"
) -> Any:
    """Client weights of the file in the body, for ``audience``; nothing of it is stored.

    Requests of a log are counted ``by`` city, country or network.
    """
    limit = uploads.max_log_bytes(is_anonymous=owner_of(request.user) is None)
    return uploads.read_upload(request.body, "upload", by, limit).as_json()


@router.get(
    "/client-places",
    response={200: "recommendations.ClientPlaces"},
    operation_id="suggest_clients",
)
def suggest_clients(
    request: HttpRequest, q: Annotated[str, Field(max_length=suggestions.MAX_LETTERS)] = ""
) -> Any:
    """Countries, cities and networks by prefix of their names, for the keys of ``audience``."""
    return {"results": [asdict(found) for found in suggestions.suggest(q)]}


def _bytes(given: str | dict[str, float]) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("client", "weight"))
    writer.writerows(given.items())
    return out.getvalue().encode("utf-8", "surrogatepass")


@router.get(
    "/recommendations",
    response={200: "Page[recommendations.ListedRecommendation]"},
)
def list_recommendations(request: HttpRequest, page: Query[Page]) -> Any:
    """List own recommendations, newest first; empty without an account."""
    rows = services.owned_by(request.user, limit=None)
    return paginate(rows, page, attrgetter("token"), _without_result)


def _without_result(row: Recommendation) -> dict[str, Any]:
    return {k: v for k, v in _document(row).items() if k != "result"}


@router.get(
    "/recommendations/{token}",
    response={200: "recommendations.Recommendation", 304: None},
)
def get_recommendation(request: HttpRequest, token: str) -> Any:
    """State and answer; ``ETag`` changes when they do."""
    document = _document(_known(request, token))
    text = json.dumps(document, sort_keys=True).encode()
    tag = f'"{hashlib.sha256(text).hexdigest()[:24]}"'
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    return JsonResponse(document, headers={"ETag": tag})


@router.post(
    "/recommendations/{token}/variants",
    response={200: "recommendations.Variant"},
)
def vary_recommendation(request: HttpRequest, token: str, asked: OptionsIn) -> Any:
    """Compute again with changed options for the same samples; nothing is stored."""
    row = _known(request, token)
    if row.result is None:
        raise HttpError(409, "it is not answered yet")
    found = celery_tasks.vary(row, asked.model_dump(exclude_unset=True))
    return {"options": {**row.options, **asked.model_dump(exclude_unset=True)}, "result": found}


@router.delete(
    "/recommendations/{token}",
    response={204: None},
    openapi_extra=ACCOUNT,
)
def delete_recommendation(request: HttpRequest, token: str) -> Any:
    """Delete an own recommendation with its files and share link."""
    row = _own(request, token)
    services.delete(row)
    return Status(204, None)


@router.post(
    "/recommendations/{token}/share",
    response={200: "common.ShareAddress"},
    openapi_extra=ACCOUNT,
)
def share_recommendation(request: HttpRequest, token: str) -> Any:
    """Create the share link, or return the existing one."""
    secret = services.share(_own(request, token))
    return {"link": request.build_absolute_uri(f"/recommendations/shared/{secret}/")}


@router.delete(
    "/recommendations/{token}/share",
    response={204: None},
    openapi_extra=ACCOUNT,
)
def unshare_recommendation(request: HttpRequest, token: str) -> Any:
    """Revoke the share link."""
    services.revoke_share(_own(request, token))
    return Status(204, None)


@router.get(
    "/recommendations/{token}/curve.{kind}",
    response={200: "files"},
    operation_id="export_recommendation_curve",
)
def get_curve(request: HttpRequest, token: str, kind: str) -> Any:
    """Export one row per set size as ``csv``, ``jsonl`` or ``parquet``."""
    row = _known(request, token)
    if row.result is None:
        raise Http404("it is not answered yet")
    return table_file(f"regions-{row.token[:8]}", kind, CURVE_COLUMNS, curve_rows(row))


def _own(request: HttpRequest, token: str) -> Recommendation:
    """Return an own recommendation; anonymous ones cannot be changed."""
    row = _known(request, token)
    if row.owner_id is None or not may_manage(row, request.user):
        raise Http404("there is no such recommendation")
    return row


def _known(request: HttpRequest, token: str) -> Recommendation:
    row = services.find(token, request.user)
    if row is None:
        raise Http404("there is no such recommendation")
    return row


def _document(row: Recommendation) -> dict[str, Any]:
    base = f"/api/v1/recommendations/{row.token}"
    return {
        "id": row.token,
        "title": row.title,
        "survey": row.survey.slug if row.survey else None,
        "source": row.source,
        "shared": row.is_shared,
        "status": row.state,
        "created_at": row.created_at.isoformat(),
        "started_at": row.started_at.isoformat() if row.started_at else None,
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
        "progress": row.progress,
        "error": row.error,
        "options": row.options,
        "files": row.files,
        "result": row.result,
        "links": {"self": base, "curve": f"{base}/curve.csv", "variants": f"{base}/variants"},
    }
