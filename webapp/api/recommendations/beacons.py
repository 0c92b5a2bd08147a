"""REST API v1: beacons, by which browsers of own visitors measure round trips to regions."""

from dataclasses import asdict
from operator import attrgetter
from typing import Annotated, Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Status
from ninja.errors import HttpError

from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, schema
from webapp.store.access.visibility import owner_of
from webapp.store.models import Beacon
from webapp.store.recommendations import beacons

router = Router(tags=["recommendations"])
Text = Annotated[str, Field(min_length=1, max_length=beacons.MAX_URL)]

Url = Annotated[Text, schema(pattern="^\\s*[Hh][Tt][Tt][Pp][Ss]?://")]


class BeaconIn(Body):
    """A beacon: URLs of the targets by region, and the origins of the pages with its script.

    ``sample_share`` is the share of page views that measure.
    """

    name: Annotated[str, Field(min_length=1, max_length=120), schema(pattern="[^\\s]")]
    targets: Annotated[
        dict[Text, Url], Field(max_length=beacons.MAX_TARGETS), schema(minProperties=1)
    ]
    origins: Annotated[list[Url], Field(max_length=beacons.MAX_ORIGINS), schema(minItems=1)]
    sample_share: Annotated[float, Field(gt=0, le=1)] = 0.01
    max_reports_per_day: Annotated[int, Field(ge=1, le=beacons.MAX_REPORTS_PER_DAY)] = 10_000


@router.get("/beacons", response={200: "Page[recommendations.ListedBeacon]"})
def list_beacons(request: HttpRequest, page: Query[Page]) -> Any:
    """List own beacons, newest first; empty without an account."""
    rows = beacons.owned_by(owner_of(request.user))
    return paginate(rows, page, attrgetter("key"), lambda row: _document(request, row))


@router.post("/beacons", response={201: "recommendations.Beacon"}, openapi_extra=ACCOUNT)
def create_beacon(request: HttpRequest, given: BeaconIn, response: HttpResponse) -> Any:
    """Create a beacon; its script may be used at once."""
    owner = owner_of(request.user)
    if owner is None:
        raise HttpError(401, "send a token: beacons belong to accounts")
    row = beacons.create(owner, beacons.Settings(**given.model_dump()))
    response["Location"] = f"/api/v1/beacons/{row.key}"
    return Status(201, {**_document(request, row), "medians": []})


@router.get("/beacons/{key}", response={200: "recommendations.Beacon"}, openapi_extra=ACCOUNT)
def get_beacon(request: HttpRequest, key: str) -> Any:
    """Settings of an own beacon, and its medians by country and region."""
    row = _own(request, key)
    found = [asdict(median) for median in beacons.medians(row)]
    return {**_document(request, row), "medians": found}


@router.delete("/beacons/{key}", response={204: None}, openapi_extra=ACCOUNT)
def delete_beacon(request: HttpRequest, key: str) -> Any:
    """Delete an own beacon with its counts; its script and reports are then answered by 404."""
    _own(request, key).delete()
    return Status(204, None)


def _own(request: HttpRequest, key: str) -> Beacon:
    row = beacons.find_own(key, owner_of(request.user))
    if row is None:
        raise Http404("you have no such beacon")
    return row


def _document(request: HttpRequest, row: Beacon) -> dict[str, Any]:
    script = request.build_absolute_uri(f"/beacon/{row.key}.js")
    return {
        "id": row.key,
        "name": row.name,
        "targets": dict(row.targets),
        "origins": row.origins,
        "sample_share": row.sample_share,
        "max_reports_per_day": row.max_reports_per_day,
        "reports_today": beacons.reports_today(row),
        "created_at": row.created_at.isoformat(),
        "snippet": beacons.snippet(script),
        "links": {"self": f"/api/v1/beacons/{row.key}", "script": script},
    }
