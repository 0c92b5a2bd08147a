"""REST API v1: vantage points; enrolment of machines, administration by operators."""

from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal

import ninja
from django.conf import settings
from django.http import Http404, HttpRequest
from ninja import Field, Query, Status
from ninja.errors import HttpError

from core.errors import BadInput
from tasks.platform.valkey_urls import authority
from tasks.vantage_admin import enrolment
from webapp.api.framework import problems
from webapp.api.framework.authentication import require_operator
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import MACHINE, OPERATOR, Router
from webapp.api.framework.strict_bodies import Body, schema
from webapp.store.models import VantagePoint
from webapp.store.vantages import services
from webapp.store.vantages.documents import document

router = Router(tags=["vantage points"])


PointName = Annotated[str, Field(max_length=63), schema(pattern=f"^{services.NAME.pattern}$")]
# A code of two letters.
Country = Annotated[str, Field(max_length=2), schema(pattern="^([A-Za-z]{2})?$")]
_PLACE = "^[^\\x00-\\x1f\\x7f]{{0,{}}}$"
# A provider, its region and, if known, a zone.
_CLOUD = "^([a-z0-9-]{1,40}/[a-z0-9-]{1,60}(/[a-z0-9-]{1,60})?)?$"
_LIMITS = {
    "probes_per_s": {"type": "number", "exclusiveMinimum": 0, "maximum": 100_000},
    "bytes_per_day": {"type": "number", "minimum": 0, "maximum": 10**15},
    "from_hour": {"type": "integer", "minimum": 0, "maximum": 23},
    "to_hour": {"type": "integer", "minimum": 0, "maximum": 24},
}
PointLimits = Annotated[dict[str, Any], schema(properties=_LIMITS, additionalProperties=False)]


class JoinIn(Body):
    """A one-time token."""

    token: str = Field(max_length=200)
    version: str = Field("", max_length=40)


class SelfCheckIn(Body):
    """What the machine can measure; ``icmp`` is empty if echo requests are not permitted."""

    icmp: Literal["", "ping socket", "raw socket"]
    raw: bool
    ipv4: bool
    ipv6: bool
    mtu: int | None = Field(None, ge=68, le=2**31)
    clock_synchronized: bool | None = None
    clock_error_ms: float | None = Field(None, ge=0, le=1e9)


class PresenceIn(Body):
    """Presence message, sent on start and hourly."""

    password: str = Field(max_length=200)
    version: str = Field("", max_length=40)
    self_check: SelfCheckIn | None = None


class InviteIn(Body):
    """A new vantage point: its location and limits."""

    name: PointName
    city: Annotated[str, schema(pattern=_PLACE.format(80))] = ""
    country: Country = ""
    continent: Country = ""
    lat: Annotated[float, Field(ge=-90, le=90)] | None = None
    lon: Annotated[float, Field(ge=-180, le=180)] | None = None
    provider: Annotated[str, schema(pattern=_PLACE.format(120))] = ""
    asn: Annotated[int, Field(ge=1, lt=2**32)] | None = None
    cloud: Annotated[str, schema(pattern=_CLOUD)] = ""
    limits: PointLimits = {}


@router.get(
    "/vantage-points",
    response={200: "Page[vantages.VantagePoint]"},
    operation_id="list_vantage_points",
)
def list_points(request: HttpRequest, page: Query[Page]) -> Any:
    """List visible vantage points; addresses are included for operators."""
    show = partial(document, operator=services.is_operator(request.user))
    return paginate(list(services.points(request.user)), page, attrgetter("name"), show)


@router.post(
    "/vantage-points",
    response={201: "vantages.NewVantagePoint"},
    operation_id="create_vantage_point",
    openapi_extra=OPERATOR,
)
def invite(request: HttpRequest, body: InviteIn) -> Any:
    """Create a vantage point; returns its one-time token and the enrolment command."""
    require_operator(request)
    values = body.dict(exclude={"name", "limits"})
    point, token = enrolment.invite(body.name, values, body.limits)
    return Status(201, _with_token(request, point, token))


@router.post(
    "/vantage-points/join",
    response={200: "vantages.VantageIdentity"},
    operation_id="join_vantage_point",
    openapi_extra=MACHINE,
)
def join(request: HttpRequest, body: JoinIn) -> Any:
    """For machines: exchange a one-time token for an identity; it works once."""
    joined = enrolment.join(body.token, request.META.get("REMOTE_ADDR"), body.version)
    host, _, port = settings.LINKS_ADDRESS.rpartition(":")
    return {
        "name": joined.point.name,
        "host": host.strip("[]"),
        "port": int(port),
        "user": enrolment.USER + joined.point.name,
        "password": joined.password,
        "authority": authority(),
        "limits": joined.point.limits,
    }


@router.get(
    "/vantage-points/{name}",
    response={200: "vantages.VantagePoint"},
    operation_id="get_vantage_point",
)
def get_point(request: HttpRequest, name: str) -> Any:
    """One vantage point."""
    return document(_get_point(request, name), operator=services.is_operator(request.user))


@router.post(
    "/vantage-points/{name}/presence",
    response={200: "vantages.Presence"},
    operation_id="report_presence",
    openapi_extra=MACHINE,
)
def presence(request: HttpRequest, name: str, body: PresenceIn) -> Any:
    """For machines: report presence; the site records the source address."""
    address = request.META.get("REMOTE_ADDR")
    try:
        found = body.self_check.dict() if body.self_check else None
        seen = services.Seen(address, body.version, found)
        point = services.record_presence(name, body.password, seen)
    except BadInput as error:
        return problems.problem(401, "unknown-vantage-point", str(error))
    return {"name": point.name, "state": point.state, "address": point.public_address}


@router.post(
    "/vantage-points/{name}/token",
    response={200: "vantages.NewVantagePoint"},
    operation_id="create_join_token",
    openapi_extra=OPERATOR,
)
def new_token(request: HttpRequest, name: str) -> Any:
    """A new one-time token for one that is not joined; older ones are void."""
    point = _get_point_as_operator(request, name)
    return _with_token(request, point, services.new_token(point))


@router.patch(
    "/vantage-points/{name}/limits",
    response={200: "vantages.VantagePoint"},
    operation_id="change_vantage_point_limits",
    openapi_extra=OPERATOR,
)
def change_limits(request: HttpRequest, name: str, body: ninja.Body[PointLimits]) -> Any:
    """Change limits; they reach the vantage point with its next heartbeat."""
    point = _get_point_as_operator(request, name)
    enrolment.change_limits(point, body)
    return document(point, operator=True)


@router.post(
    "/vantage-points/{name}/drain",
    response={200: "vantages.VantagePoint"},
    operation_id="drain_vantage_point",
    openapi_extra=OPERATOR,
)
def drain(request: HttpRequest, name: str) -> Any:
    """Drain: finish current work, accept no new work."""
    return _changed(enrolment.drain, request, name)


@router.post(
    "/vantage-points/{name}/resume",
    response={200: "vantages.VantagePoint"},
    operation_id="resume_vantage_point",
    openapi_extra=OPERATOR,
)
def resume(request: HttpRequest, name: str) -> Any:
    """Accept work again."""
    return _changed(enrolment.resume, request, name)


@router.post(
    "/vantage-points/{name}/revoke",
    response={200: "vantages.VantagePoint"},
    operation_id="revoke_vantage_point",
    openapi_extra=OPERATOR,
)
def revoke(request: HttpRequest, name: str) -> Any:
    """Revoke at once; a new token is needed to join again."""
    return _changed(enrolment.revoke, request, name)


def _changed(act: Any, request: HttpRequest, name: str) -> dict[str, Any]:
    point = _get_point_as_operator(request, name)
    try:
        act(point)
    except BadInput as error:
        # The request is well formed; the vantage point is in a state that does not allow it.
        raise HttpError(409, str(error)) from error
    return document(point, operator=True)


def _get_point(request: HttpRequest, name: str) -> VantagePoint:
    point = services.point(name, request.user)
    if point is None:
        raise Http404(f"there is no vantage point {name!r}")
    return point


def _get_point_as_operator(request: HttpRequest, name: str) -> VantagePoint:
    require_operator(request)
    return _get_point(request, name)


def _with_token(request: HttpRequest, point: VantagePoint, token: str) -> dict[str, Any]:
    site = request.build_absolute_uri("/").rstrip("/")
    return {
        **document(point, operator=True),
        "token": token,
        "command": f"python -m tasks.vantage.joining {site} {token}",
        "hours": services.TOKEN_LIFE.total_seconds() / 3600,
    }
