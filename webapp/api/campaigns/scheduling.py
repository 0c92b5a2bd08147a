"""REST API v1: plan, start, monitor and end measurement campaigns."""

import hashlib
import json
from operator import attrgetter, itemgetter
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import get_script_prefix
from ninja import Field, Query, Status
from ninja.errors import HttpError

from tasks.campaigns import commands
from webapp.api.accounts.sharing import get_own_or_error
from webapp.api.campaigns.lookup import campaign_or_404
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, schema
from webapp.store.access.visibility import owner_of
from webapp.store.accounts import deletion
from webapp.store.campaigns import progress, selectors
from webapp.store.campaigns.plans import (
    ACTIVITY_PATTERN,
    LIMIT_NAMES,
    MAX_ROUNDS,
    MAX_TARGETS,
    MAX_VANTAGES,
    ROUND_S,
    TARGET_FIELDS,
    presets,
)
from webapp.store.models import Campaign

router = Router(tags=["measurements"])


Rounds = Annotated[int, Field(ge=1, le=MAX_ROUNDS)]
RoundSeconds = Annotated[float, Field(ge=ROUND_S[0], le=ROUND_S[1])]
Filled = Annotated[str, Field(min_length=1)]
# The preset is chosen by default.
_PRESETS = ["", *presets()]
_TARGET_TYPES = {
    **dict.fromkeys(TARGET_FIELDS, {"type": "string", "maxLength": 255}),
    "port": {"type": "integer", "minimum": 0, "maximum": 65_535},
    "family": {"enum": [0, 4, 6]},
}
Target = (
    Annotated[
        dict[str, Any],
        schema(required=["host"], properties=_TARGET_TYPES, additionalProperties=False),
    ]
    | Filled
)
Targets = (
    Annotated[list[Target], Field(min_length=1, max_length=MAX_TARGETS)]
    | Annotated[str, Field(min_length=1, max_length=5_000_000)]
)
Vantages = Annotated[list[Filled], Field(min_length=1, max_length=MAX_VANTAGES)]
Limits = Annotated[
    dict[str, Annotated[float, Field(ge=0)]], schema(propertyNames={"enum": LIMIT_NAMES})
]
# An address or a network in CIDR notation.
Network = Annotated[str, schema(pattern="^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$")]
Moment = Annotated[str, Field(max_length=40), schema(format="date-time")]


class ActivityIn(Body):
    """One probe that every vantage point runs at every target."""

    name: Annotated[str, schema(pattern=ACTIVITY_PATTERN)] | None = None
    probe: Filled
    options: dict[str, Any] = {}
    slot_s: Annotated[float, Field(ge=0.01, le=86_400)] = 1.0
    clients: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    strict: bool = False
    jitter: Annotated[float, Field(ge=0, le=0.9)] = 0.0
    times: Annotated[int, Field(ge=0, le=MAX_ROUNDS)] = 0
    window_s: Annotated[float, Field(ge=0, le=ROUND_S[1])] = 0.0
    offsets_s: list[Annotated[float, Field(ge=0, le=1e9)]] = []


class CampaignScheduleIn(Body):
    """Rounds and what is measured in each, as presets have them."""

    round_s: RoundSeconds = 900.0
    rounds: Rounds = 1
    activities: Annotated[list[ActivityIn], Field(min_length=1)]
    groups: Annotated[int, Field(ge=0, le=10_000)] = 0
    title: Annotated[str, Field(max_length=200)] = ""


class CampaignChange(Body):
    """What is different in a copy of a campaign; fields that are left out stay."""

    name: str = Field("", max_length=200)
    preset: Annotated[str, Field(max_length=40), schema(enum=_PRESETS)] = ""
    schedule: CampaignScheduleIn | None = None
    rounds: Rounds | None = None
    round_s: RoundSeconds | None = None
    activities: list[Filled] = []
    targets: Targets | None = None
    vantages: Vantages | None = None
    limits: Limits = {}
    allow: list[Network] = []
    deny: list[Network] = []
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    starts_at: Moment | None = None
    label: str = Field("", max_length=200)
    public: bool = False


class CampaignIn(CampaignChange):
    """Definition of a campaign; every field is an option of ``manage.py campaign``.

    It has a ``preset`` or a ``schedule``. A ``public`` campaign is visible to everyone, others to
    their creator only.
    """

    targets: Targets
    vantages: Vantages


def _set_fields(given: CampaignChange) -> dict[str, Any]:
    return {k: v for k, v in given.model_dump(exclude_unset=True).items() if v is not None}


def _user(request: HttpRequest) -> Any:
    user = owner_of(request.user)
    if user is None:
        raise HttpError(401, "send a token: only people with an account measure from here")
    return user


def _document(row: Campaign) -> dict[str, Any]:
    return {
        **progress.as_json(row),
        "is_public": row.owner_id is None,
        "page": f"{get_script_prefix()}wide-area/{row.slug}/",
    }


@router.get(
    "/measurements",
    response={200: "Page[measurements.Campaign]"},
    operation_id="list_measurements",
)
def list_campaigns(request: HttpRequest, page: Query[Page]) -> Any:
    """Measurement campaigns that you may see, newest first."""
    return paginate(selectors.campaigns(request.user, None), page, attrgetter("slug"), _document)


@router.get(
    "/measurements/presets",
    response={200: "Page[measurements.Preset]"},
    operation_id="list_measurement_presets",
)
def list_presets(request: HttpRequest, page: Query[Page]) -> Any:
    """Schedules that come with the product."""
    rows = [{"name": name, **data} for name, data in presets().items()]
    return paginate(rows, page, itemgetter("name"), dict)


@router.post(
    "/measurements/plan",
    response={200: "measurements.CampaignPlan"},
    operation_id="plan_measurement",
    openapi_extra=ACCOUNT,
)
def plan_campaign(request: HttpRequest, asked: CampaignIn) -> Any:
    """Predict the schedule and cost of a campaign; nothing is sent or stored."""
    found = commands.plan(_set_fields(asked), _user(request))
    return {
        "name": found.name,
        "schedule": found.schedule.as_json(),
        "predicted": found.predicted,
        "refusals": found.refusals,
    }


@router.post(
    "/measurements",
    response={201: "measurements.Campaign"},
    operation_id="create_measurement",
    openapi_extra=ACCOUNT,
)
def create_campaign(request: HttpRequest, asked: CampaignIn, response: HttpResponse) -> Any:
    """Start a campaign; watch ``Location``. ``Idempotency-Key`` makes a retry safe."""
    key = {"idempotency_key": request.headers.get("Idempotency-Key", "")}
    row = commands.start({**_set_fields(asked), **key}, _user(request))
    response["Location"] = f"/api/v1/measurements/{row.slug}"
    return Status(201, _document(row))


@router.get(
    "/measurements/{slug}",
    response={200: "measurements.Campaign", 304: None},
    operation_id="get_measurement",
)
def get_campaign(request: HttpRequest, slug: str) -> Any:
    """State, progress and coverage; ``ETag`` changes when they do."""
    document = _document(campaign_or_404(request, slug))
    tag = _tag(document)
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    return JsonResponse(document, headers={"ETag": tag})


def _tag(document: dict[str, Any]) -> str:
    """Compute the entity tag; elapsed and remaining time are left out of it."""
    counts = {k: v for k, v in document["progress"].items() if k not in ("elapsed_s", "left_s")}
    text = json.dumps({**document, "progress": counts}, sort_keys=True, default=str)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


@router.delete(
    "/measurements/{slug}",
    response={204: None},
    operation_id="delete_measurement",
    openapi_extra=ACCOUNT,
)
def delete_campaign(request: HttpRequest, slug: str) -> Any:
    """Stop a campaign and delete it with its results; its creator only."""
    found = get_own_or_error(request, "campaign", slug)
    deletion.remove(found, request.user)
    return Status(204, None)


@router.get(
    "/measurements/{slug}/coverage",
    response={200: "measurements.Coverage"},
    operation_id="get_measurement_coverage",
)
def get_coverage(request: HttpRequest, slug: str) -> Any:
    """Count slots by outcome per vantage point and per round, with failure reasons."""
    row = campaign_or_404(request, slug)
    return {
        "vantages": progress.by_vantage(row),
        "rounds": progress.by_round(row),
        "reasons": progress.reasons(row),
    }


@router.post(
    "/measurements/{slug}/clone",
    response={201: "measurements.Campaign"},
    operation_id="clone_measurement",
    openapi_extra=ACCOUNT,
)
def clone_campaign(
    request: HttpRequest, slug: str, changed: CampaignChange, response: HttpResponse
) -> Any:
    """Start a copy of a campaign with changed fields."""
    user = _user(request)
    row = commands.clone(campaign_or_404(request, slug), _set_fields(changed), user)
    response["Location"] = f"/api/v1/measurements/{row.slug}"
    return Status(201, _document(row))


@router.post(
    "/measurements/{slug}/pause",
    response={200: "measurements.Campaign"},
    operation_id="pause_measurement",
    openapi_extra=ACCOUNT,
)
def pause_campaign(request: HttpRequest, slug: str) -> Any:
    """Pause dispatch; units that were sent are measured to their end."""
    return _change(request, slug, "pause")


@router.post(
    "/measurements/{slug}/resume",
    response={200: "measurements.Campaign"},
    operation_id="resume_measurement",
    openapi_extra=ACCOUNT,
)
def resume_campaign(request: HttpRequest, slug: str) -> Any:
    """Resume a paused campaign."""
    return _change(request, slug, "resume")


@router.post(
    "/measurements/{slug}/stop",
    response={200: "measurements.Campaign"},
    operation_id="stop_measurement",
    openapi_extra=ACCOUNT,
)
def stop_campaign(request: HttpRequest, slug: str) -> Any:
    """Stop a campaign early; its results are kept."""
    return _change(request, slug, "stop")


def _change(request: HttpRequest, slug: str, action: str) -> dict[str, Any]:
    user, row = _user(request), campaign_or_404(request, slug)
    if not commands.may_change(row, user):
        raise HttpError(403, "only the owner of this campaign may change it")
    if not commands.ACTIONS[action](row):
        raise HttpError(409, f"it is {row.state}, and cannot {action}")
    return _document(row)
