"""REST API v1: the zones of a survey's addresses, and their sources."""

from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest
from ninja import Field, Query, Schema, Status

from tasks.zones import celery_tasks, crowding
from tasks.zones.campaign import measure
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body
from webapp.api.surveys.lookup import get_ended_own_survey, get_survey
from webapp.store.access.visibility import may_manage
from webapp.store.models import Survey, ZoneSource
from webapp.store.zones import services

router = Router(tags=["zones"])
MAX_TEXT = 30_000_000


class ZoneObservationsIn(Body):
    """A file of observations as a text: CSV with a header, JSON Lines or JSON."""

    kind: Literal["samples", "targets", "rtts", "zone_ids"]
    name: Annotated[str, Field(max_length=200)] = ""
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]


@router.get(
    "/surveys/{slug}/zones",
    response={200: "surveys.Zones"},
    operation_id="get_survey_zones",
)
def get_zones(request: HttpRequest, slug: str) -> Any:
    """How the zones of a survey's addresses were inferred, with coverage by region.

    Sources and accounts are listed for those who manage the survey.
    """
    survey = get_survey(request, slug)
    return zones_json(survey, may_manage(survey, request.user))


def zones_json(survey: Survey, is_own: bool) -> dict[str, Any]:
    """The document of a survey's zones."""
    row = services.inference(survey)
    summary = row.summary if row else {}
    return {
        "survey": survey.slug,
        "state": row.state if row else "none",
        "error": row.error if row else "",
        "observed_at": row.observed_at if row else None,
        "finished_at": row.finished_at if row else None,
        "total": summary.get("total"),
        "regions": summary.get("regions", []),
        "crowding": crowding.crowded_zones(crowding.known_zones(survey.slug)),
        "accounts": summary.get("accounts", []) if is_own else [],
        "sources": [source_json(s) for s in services.sources(survey)] if is_own else [],
    }


def source_json(source: ZoneSource) -> dict[str, Any]:
    """One source of observations."""
    return {
        "id": source.pk,
        "kind": source.kind,
        "name": source.name,
        "rows": source.rows,
        "created_at": source.created_at,
    }


@router.post(
    "/surveys/{slug}/zones/observations",
    response={202: "surveys.Zones"},
    operation_id="add_zone_observations",
    openapi_extra=ACCOUNT,
)
def add_observations(request: HttpRequest, slug: str, given: ZoneObservationsIn) -> Any:
    """Add observations, replacing earlier ones of this kind and name; zones are inferred again."""
    survey = get_ended_own_survey(request, slug)
    celery_tasks.add_file(survey, given.kind, given.name, given.text.encode())
    return Status(202, zones_json(survey, is_own=True))


@router.post(
    "/surveys/{slug}/zones/measure",
    response={202: "surveys.Zones"},
    operation_id="measure_survey_zones",
    openapi_extra=ACCOUNT,
)
def measure_zones(request: HttpRequest, slug: str) -> Any:
    """Start a campaign from the vantage points in zones of each region that the survey uses."""
    survey = get_ended_own_survey(request, slug)
    measure(survey, request.user)
    return Status(202, zones_json(survey, is_own=True))


class SourceQuery(Schema):
    """Which source."""

    source: int = Field(ge=1, le=2**53)


@router.delete(
    "/surveys/{slug}/zones/observations",
    response={204: None},
    operation_id="remove_zone_observations",
    openapi_extra=ACCOUNT,
)
def remove_observations(request: HttpRequest, slug: str, query: Query[SourceQuery]) -> Any:
    """Remove a source; zones are inferred again from the others."""
    survey = get_ended_own_survey(request, slug)
    if not services.remove_source(survey, query.source):
        raise Http404(f"there is no source {query.source}")
    celery_tasks.request(survey)
    return Status(204, None)
