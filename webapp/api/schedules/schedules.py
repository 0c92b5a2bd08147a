"""REST API v1: schedules of an account, their runs and events."""

from operator import attrgetter
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Field, Query, Status
from ninja.errors import HttpError
from pydantic import ConfigDict

from tasks.schedules import starting
from webapp.api.framework.documents import tagged
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, Name, TimeZone, exactly_one, schema
from webapp.api.schedules.documents import run_json, schedule_json
from webapp.store.access.visibility import owner_of
from webapp.store.models import Schedule
from webapp.store.schedules import events, payloads, services, timing

router = Router(tags=["schedules"])
# Five fields, or a name for frequent ones.
_CRON = r"^\s*(@(hourly|daily|weekly|monthly)|\S+(\s+\S+){4})\s*$"
Cron = Annotated[str, Field(min_length=1, max_length=120), schema(pattern=_CRON)]
Minutes = Annotated[int, Field(ge=timing.MIN_INTERVAL_MINUTES, le=timing.MAX_INTERVAL_MINUTES)]
_NULL = {"type": "null"}
_TIMES: dict[str, Any] = {
    "cron": ({"type": "string"}, _NULL),
    "interval_minutes": ({"type": "integer"}, _NULL),
}
# When a run is due is given in one of two fields.
_ONE_TIME = exactly_one(_TIMES)
_NOT_BOTH: dict[str, Any] = {
    "required": list(_TIMES),
    "properties": {name: given for name, (given, _) in _TIMES.items()},
}
# Rows of the newest runs and events that are listed.
MAX_ROWS = 10_000


class ScheduleIn(Body):
    """What recurs, and when: by a cron expression in a time zone, or every so many minutes.

    ``request`` has the fields of the body that starts one survey, campaign or audit. A survey of
    a list that another survey had is ``{"survey": ID}``, a copy of a campaign ``{"campaign": ID}``.
    """

    model_config = ConfigDict(json_schema_extra=_ONE_TIME)

    name: Name
    kind: Literal["survey", "campaign", "audit"]
    request: dict[str, Any]
    cron: Cron | None = None
    interval_minutes: Minutes | None = None
    time_zone: TimeZone = "UTC"


class ScheduleChange(Body):
    """What changes of a schedule; fields that are left out stay."""

    model_config = ConfigDict(json_schema_extra={"not": _NOT_BOTH})

    name: Name | None = None
    cron: Cron | None = None
    interval_minutes: Minutes | None = None
    time_zone: TimeZone | None = None
    is_active: bool | None = None


def require_account(request: HttpRequest) -> Any:
    """The account of the requester; 401 without one."""
    user = owner_of(request.user)
    if user is None:
        raise HttpError(401, "send a token: schedules and alerts belong to an account")
    return user


def set_fields(body: Body) -> dict[str, Any]:
    """The fields that a change names."""
    return body.model_dump(exclude_unset=True)


def _own(request: HttpRequest, slug: str) -> Schedule:
    row = services.find_schedule(slug, request.user)
    if row is None:
        raise Http404("you have no such schedule")
    return row


@router.get(
    "/schedules",
    response={200: "Page[schedules.Schedule]"},
)
def list_schedules(request: HttpRequest, page: Query[Page]) -> Any:
    """Own schedules by name; empty without an account."""
    rows = list(services.schedules_of(request.user))
    return paginate(rows, page, attrgetter("slug"), schedule_json)


@router.post(
    "/schedules",
    response={201: "schedules.Schedule"},
    openapi_extra=ACCOUNT,
)
def create_schedule(request: HttpRequest, given: ScheduleIn, response: HttpResponse) -> Any:
    """Make a schedule; it is due at the first time after now."""
    owner = require_account(request)
    asked = starting.check_request(given.kind, given.request, owner)
    recurrence = services.Recurrence(given.cron or "", given.interval_minutes, given.time_zone)
    row = services.create_schedule(
        owner, given.name, (given.kind, asked), recurrence, timezone.now()
    )
    document = schedule_json(row)
    response["Location"] = document["links"]["self"]
    return Status(201, document)


@router.get(
    "/schedules/{slug}",
    response={200: "schedules.Schedule", 304: None},
    openapi_extra=ACCOUNT,
)
def get_schedule(request: HttpRequest, slug: str) -> Any:
    """A schedule with its next due times; ``ETag`` changes when they do."""
    return tagged(request, schedule_json(_own(request, slug)))


@router.patch(
    "/schedules/{slug}",
    response={200: "schedules.Schedule"},
    openapi_extra=ACCOUNT,
)
def change_schedule(request: HttpRequest, slug: str, change: ScheduleChange) -> Any:
    """Rename, pause (``is_active``) or resume a schedule, or change when it is due."""
    row = _own(request, slug)
    wanted = {k: v for k, v in set_fields(change).items() if v is not None}
    services.change_schedule(row, wanted, timezone.now())
    return schedule_json(row)


@router.delete(
    "/schedules/{slug}",
    response={204: None},
    openapi_extra=ACCOUNT,
)
def delete_schedule(request: HttpRequest, slug: str) -> Any:
    """Delete a schedule with its time line; what its runs made stays."""
    _own(request, slug).delete()
    return Status(204, None)


@router.post(
    "/schedules/{slug}/runs",
    response={202: "schedules.ScheduleRun"},
    openapi_extra=ACCOUNT,
)
def run_schedule(request: HttpRequest, slug: str) -> Any:
    """Run a schedule now, beside its due times; it starts within a minute."""
    return Status(202, run_json(services.run_now(_own(request, slug), timezone.now())))


@router.get(
    "/schedules/{slug}/runs",
    response={200: "Page[schedules.ScheduleRun]"},
    operation_id="list_schedule_runs",
    openapi_extra=ACCOUNT,
)
def list_runs(request: HttpRequest, slug: str, page: Query[Page]) -> Any:
    """Runs of a schedule, the newest first."""
    rows = _own(request, slug).runs.select_related("survey", "campaign", "audit", "previous")
    return paginate(list(rows[:MAX_ROWS]), page, attrgetter("pk"), run_json)


@router.get(
    "/schedules/{slug}/events",
    response={200: "Page[schedules.ScheduleEvent]"},
    operation_id="list_schedule_events",
    openapi_extra=ACCOUNT,
)
def list_events(request: HttpRequest, slug: str, page: Query[Page]) -> Any:
    """What changed between runs, the newest first; the ids are those of webhooks."""
    rows = events.events_of(_own(request, slug)).select_related("schedule")
    return paginate(list(rows[:MAX_ROWS]), page, attrgetter("event_id"), payloads.event_document)
