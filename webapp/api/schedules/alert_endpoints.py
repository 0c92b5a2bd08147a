"""REST API v1: endpoints that alerts are sent to, and the log of deliveries."""

from operator import attrgetter
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Field, Query, Status
from ninja.errors import HttpError

from core.errors import BadInput
from tasks.schedules import celery_tasks
from webapp.api.framework.documents import tagged
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, Name, TimeZone, schema
from webapp.api.schedules.documents import delivery_json, endpoint_json
from webapp.api.schedules.schedules import MAX_ROWS, require_account, set_fields
from webapp.store.models import AlertDelivery, AlertEndpoint, Schedule
from webapp.store.schedules import deliveries, endpoints, services

router = Router(tags=["alerts"])
KindName = Literal[
    "region-changed",
    "zone-changed",
    "pattern-changed",
    "provider-changed",
    "name-servers-changed",
    "isp-changed",
    "path-changed",
    "latency-changed",
    "finding-new",
    "finding-resolved",
    "no-data",
    "recovered",
]
# A URL, or an e-mail address.
_TARGET = r"^\s*(https?://[^\s@]+|[^\s@]+@[^\s@]+)\s*$"
Target = Annotated[str, Field(min_length=1, max_length=1_000), schema(pattern=_TARGET)]
Hour = Annotated[int, Field(ge=0, le=23)]
Repeats = Annotated[int, Field(ge=0, le=1_000)]


class AlertEndpointIn(Body):
    """Where alerts are sent: an https URL, or an e-mail address.

    Without ``kinds`` it gets all kinds of events; without ``schedule`` those of all schedules.
    With ``digest_hour``, in ``time_zone``, it gets one message a day. Alerts about the same matter
    stop after ``quiet_after`` consecutive runs; 0 for no limit.
    """

    name: Name
    format: Literal["webhook", "slack", "email"] = "webhook"
    target: Target
    kinds: list[KindName] | None = None
    schedule: Annotated[str, Field(max_length=120)] | None = None
    quiet_after: Repeats = 3
    digest_hour: Hour | None = None
    time_zone: TimeZone = "UTC"


class AlertEndpointChange(Body):
    """What changes of an endpoint; fields that are left out stay."""

    name: Name | None = None
    target: Target | None = None
    kinds: list[KindName] | None = None
    quiet_after: Repeats | None = None
    digest_hour: Hour | None = None
    time_zone: TimeZone | None = None
    is_active: bool | None = None


def _own(request: HttpRequest, slug: str) -> AlertEndpoint:
    row = endpoints.find_endpoint(slug, request.user)
    if row is None:
        raise Http404("you have no such endpoint")
    return row


def _schedule(request: HttpRequest, slug: str | None) -> Schedule | None:
    if slug is None:
        return None
    row = services.find_schedule(slug, request.user)
    if row is None:
        raise BadInput(f"you have no schedule {slug!r}", field="schedule")
    return row


@router.get(
    "/alert-endpoints",
    response={200: "Page[schedules.AlertEndpoint]"},
    operation_id="list_alert_endpoints",
)
def list_endpoints(request: HttpRequest, page: Query[Page]) -> Any:
    """Own endpoints by name; empty without an account."""
    rows = list(endpoints.endpoints_of(request.user))
    return paginate(rows, page, attrgetter("slug"), endpoint_json)


@router.post(
    "/alert-endpoints",
    response={201: "schedules.NewAlertEndpoint"},
    operation_id="create_alert_endpoint",
    openapi_extra=ACCOUNT,
)
def create_endpoint(request: HttpRequest, given: AlertEndpointIn, response: HttpResponse) -> Any:
    """Make an endpoint; ``secret`` of a webhook is shown this once."""
    owner = require_account(request)
    schedule = _schedule(request, given.schedule)
    fields = {k: v for k, v in given.model_dump().items() if k != "schedule"}
    if given.kinds is None:
        fields.pop("kinds")
    row = endpoints.create_endpoint(owner, fields, timezone.now(), schedule)
    if row.format == AlertEndpoint.Format.EMAIL:
        celery_tasks.request_confirmation(row)
    is_signed = row.format == AlertEndpoint.Format.WEBHOOK
    document = endpoint_json(row, endpoints.secret_of(row.seed) if is_signed else None)
    response["Location"] = document["links"]["self"]
    response["Cache-Control"] = "no-store"
    return Status(201, document)


@router.get(
    "/alert-endpoints/{slug}",
    response={200: "schedules.AlertEndpoint", 304: None},
    operation_id="get_alert_endpoint",
    openapi_extra=ACCOUNT,
)
def get_endpoint(request: HttpRequest, slug: str) -> Any:
    """An endpoint without its secret; ``ETag`` changes when it does."""
    return tagged(request, endpoint_json(_own(request, slug)))


@router.patch(
    "/alert-endpoints/{slug}",
    response={200: "schedules.AlertEndpoint"},
    operation_id="change_alert_endpoint",
    openapi_extra=ACCOUNT,
)
def change_endpoint(request: HttpRequest, slug: str, change: AlertEndpointChange) -> Any:
    """Change an endpoint, disable it or enable it again (``is_active``)."""
    row = _own(request, slug)
    given = set_fields(change)
    wanted = {k: v for k, v in given.items() if v is not None or k == "digest_hour"}
    endpoints.change_endpoint(row, wanted, timezone.now())
    if row.state == AlertEndpoint.State.UNCONFIRMED and "target" in wanted:
        celery_tasks.request_confirmation(row)
    return endpoint_json(row)


@router.delete(
    "/alert-endpoints/{slug}",
    response={204: None},
    operation_id="delete_alert_endpoint",
    openapi_extra=ACCOUNT,
)
def delete_endpoint(request: HttpRequest, slug: str) -> Any:
    """Delete an endpoint with its log; waiting messages are not sent."""
    _own(request, slug).delete()
    return Status(204, None)


@router.post(
    "/alert-endpoints/{slug}/secret",
    response={200: "schedules.NewAlertEndpoint"},
    operation_id="rotate_alert_secret",
    openapi_extra=ACCOUNT,
)
def rotate_secret(request: HttpRequest, slug: str, response: HttpResponse) -> Any:
    """Make a new signing secret, shown this once; the one before signs too for 24 hours."""
    row = _own(request, slug)
    if row.format != AlertEndpoint.Format.WEBHOOK:
        raise HttpError(409, "only signed webhooks have a secret")
    response["Cache-Control"] = "no-store"
    return endpoint_json(row, endpoints.rotate_secret(row, timezone.now()))


@router.post(
    "/alert-endpoints/{slug}/test",
    response={202: "schedules.AlertDelivery"},
    operation_id="send_test_alert",
    openapi_extra=ACCOUNT,
)
def send_test(request: HttpRequest, slug: str) -> Any:
    """Queue a test message behind those that wait."""
    row = _active(request, slug)
    delivery = deliveries.enqueue_test(row, timezone.now())
    celery_tasks.request_delivery(row)
    return Status(202, delivery_json(delivery))


def _active(request: HttpRequest, slug: str) -> AlertEndpoint:
    row = _own(request, slug)
    if row.state != AlertEndpoint.State.ACTIVE:
        raise HttpError(409, f"the endpoint is {row.state}, and nothing is sent to it")
    return row


@router.get(
    "/alert-endpoints/{slug}/deliveries",
    response={200: "Page[schedules.AlertDelivery]"},
    operation_id="list_alert_deliveries",
    openapi_extra=ACCOUNT,
)
def list_deliveries(request: HttpRequest, slug: str, page: Query[Page]) -> Any:
    """Messages to an endpoint, the newest first, with what became of each attempt."""
    rows = deliveries.log_of(_own(request, slug))[:MAX_ROWS]
    return paginate(list(rows), page, attrgetter("message_id"), delivery_json)


@router.post(
    "/alert-endpoints/{slug}/deliveries/{message_id}/resend",
    response={202: "schedules.AlertDelivery"},
    operation_id="resend_alert",
    openapi_extra=ACCOUNT,
)
def resend(request: HttpRequest, slug: str, message_id: str) -> Any:
    """Queue a message again with the same id, behind those that wait."""
    endpoint = _active(request, slug)
    row = endpoints.find_delivery(endpoint, message_id)
    if row is None:
        raise Http404("there is no such delivery of this endpoint")
    deliveries.resend(row, timezone.now())
    celery_tasks.request_delivery(endpoint)
    return Status(202, delivery_json(AlertDelivery.objects.get(pk=row.pk)))
