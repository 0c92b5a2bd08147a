"""What recurs: the request of a schedule is checked when it is made, and started when it is due.

A start that is repeated after a crash finds what was started before, by an idempotency key that is
made of schedule and due time.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from core.errors import BadInput, NephoscopeError
from tasks.audits.submission import NO_PREVIOUS, NewAudit, resolve, start_audit
from tasks.campaigns import commands
from tasks.resolution.engine_factory import Resolving, count_words
from tasks.resolution.options import resolving_from
from tasks.surveys.submission import submit
from webapp.store.access.visibility import visible
from webapp.store.audits.services import TooManyAudits
from webapp.store.campaigns import services as campaign_services
from webapp.store.models import Schedule, ScheduleRun, Survey
from webapp.store.schedules import services
from webapp.store.surveys import services as survey_services
from webapp.store.surveys.uploads import load_entries

Request = dict[str, Any]
Kind = Schedule.Kind
_AUDIT_FIELDS: dict[str, Any] = {
    "domains": (str, list),
    "domain_list": str,
    "policy": str,
    "policy_document": str,
    "campaign": str,
    "fail_on": str,
    "strict": bool,
    "list_path": str,
    "options": dict,
    "public": bool,
}
_SURVEY_FIELDS = {"domains", "survey", "axfr", "aaaa", "public"}


class NotNow(NephoscopeError):
    """A limit is reached for the moment; the run is started later."""

    permanent = False


@dataclass(frozen=True, slots=True)
class Recurring:
    """How requests of one kind are checked and started."""

    check: Callable[[Mapping[str, Any], Any], Request]
    # Returns the column of a run and what it links to.
    start: Callable[[ScheduleRun], dict[str, Any]]


def check_request(kind: str, request: Mapping[str, Any], user: Any) -> Request:
    """A request as it is stored, complete in itself; raises ``BadInput`` naming the field."""
    if kind not in RECURRING:
        raise BadInput(f"must be one of {', '.join(RECURRING)}", field="kind")
    return RECURRING[kind].check(request, user)


def start(run: ScheduleRun) -> dict[str, Any]:
    """Start what a run is about, once; raises ``BadInput``, or another error to try later."""
    return RECURRING[run.schedule.kind].start(run)


def key_of(run: ScheduleRun) -> str:
    """The idempotency key of a run."""
    return f"{run.schedule.slug[-40:]}/{run.due_at.isoformat()}"


def name_of(run: ScheduleRun) -> str:
    """The name of what a run starts: that of the schedule and the local due time."""
    local = run.due_at.astimezone(ZoneInfo(run.schedule.time_zone))
    return f"{run.schedule.name[:160]}, {local:%Y-%m-%d %H:%M}"


def _check_survey(request: Mapping[str, Any], user: Any) -> Request:
    unknown = sorted(request.keys() - _SURVEY_FIELDS)
    if unknown:
        raise BadInput(
            f"unknown; there are {', '.join(sorted(_SURVEY_FIELDS))}", field=f"request.{unknown[0]}"
        )
    if bool(request.get("survey")) == bool(request.get("domains")):
        raise BadInput("give one of domains and survey", field="request.domains")
    for field in ("axfr", "aaaa", "public"):
        if not isinstance(request.get(field, False), bool):
            raise BadInput("must be true or false", field=f"request.{field}")
    domains = _domains(request, user)
    _check_list(domains.encode("utf-8", "surrogatepass"))
    own = {k: request[k] for k in ("axfr", "aaaa", "public") if k in request}
    return {"axfr": True, "aaaa": True, "public": False, **own, "domains": domains}


def _check_list(data: bytes) -> None:
    try:
        survey_services.plan_survey(data, 0)
    except BadInput as error:
        raise BadInput(str(error), field="request.domains") from error


def _domains(request: Mapping[str, Any], user: Any) -> str:
    """The list as text, also where it is that of a survey, which may be deleted later."""
    slug = request.get("survey")
    if slug:
        survey = visible(Survey.objects.filter(slug=str(slug)), user).first()
        if survey is None:
            raise BadInput(f"there is no survey {slug!r}", field="request.survey")
        entries = load_entries(survey.slug, 0, survey.n_domains)
        return "\n".join(f"{e.rank},{e.domain}" for e in sorted(entries, key=lambda e: e.rank))
    given = request["domains"]
    if isinstance(given, str):
        return given
    if isinstance(given, list) and all(isinstance(line, str) for line in given):
        return "\n".join(given)
    raise BadInput("must be a text or a list of names", field="request.domains")


def _start_survey(run: ScheduleRun) -> dict[str, Any]:
    request, owner = run.schedule.request, run.schedule.owner
    options: Resolving = resolving_from(
        {"no_axfr": not request["axfr"], "no_aaaa": not request["aaaa"]}
    )
    try:
        survey = survey_services.create_survey(
            request["domains"].encode("utf-8", "surrogatepass"),
            name=name_of(run),
            options=options.as_json(),
            n_words=count_words(options),
            idempotency_key=key_of(run),
            maker=survey_services.Requester(user=owner, is_public=request["public"]),
        )
    except survey_services.TooManySurveys as error:
        raise NotNow(str(error)) from error
    submit(survey)
    return {"survey": survey}


def _check_campaign(request: Mapping[str, Any], user: Any) -> Request:
    """A definition, or ``campaign``: the name of one to repeat."""
    asked = {k: v for k, v in request.items() if k not in ("idempotency_key", "starts_at")}
    if "campaign" in asked:
        row = commands.find(str(asked.pop("campaign")), user)
        asked = campaign_services.variant_of(row, asked)
        if not commands.is_staff(user):
            asked.pop("allow", None)
    found = commands.plan(asked, user)
    if found.refusals:
        raise BadInput("; ".join(found.refusals[:3]), field="request.limits")
    return asked


def _start_campaign(run: ScheduleRun) -> dict[str, Any]:
    owner = run.schedule.owner
    if campaign_services.count_open(owner) >= commands.MOST_OPEN and not commands.is_staff(owner):
        raise NotNow(f"{commands.MOST_OPEN} of your campaigns wait or run")
    key = key_of(run)
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "big")
    asked = {"seed": seed, **run.schedule.request, "name": name_of(run), "idempotency_key": key}
    return {"campaign": commands.start(asked, owner)}


def _check_audit(request: Mapping[str, Any], user: Any) -> Request:
    """The fields of an audit; a finished survey is none of them, as it never changes."""
    unknown = sorted(request.keys() - _AUDIT_FIELDS.keys())
    if unknown:
        raise BadInput(
            f"unknown; there are {', '.join(sorted(_AUDIT_FIELDS))}", field=f"request.{unknown[0]}"
        )
    for field, kind in _AUDIT_FIELDS.items():
        if field in request and not isinstance(request[field], kind):
            raise BadInput("is of another type than an audit takes", field=f"request.{field}")
    resolve(new_audit(request), survey_services.Requester(user=user))
    if not request.get("domain_list"):
        _check_list(new_audit(request).domains)
    return dict(request)


def new_audit(request: Mapping[str, Any], **more: Any) -> NewAudit:
    """The audit that a request describes."""
    own = {k: v for k, v in request.items() if k not in ("domains", "policy_document", "public")}
    domains = request.get("domains") or ""
    text = domains if isinstance(domains, str) else "\n".join(map(str, domains))
    document = str(request.get("policy_document", ""))
    return NewAudit(
        **own,
        **more,
        domains=text.encode("utf-8", "surrogatepass"),
        policy_document=document.encode("utf-8", "surrogatepass"),
    )


def _start_audit(run: ScheduleRun) -> dict[str, Any]:
    """An audit that is compared with that of the last run with data."""
    before = services.last_compared(run)
    previous = before.audit.slug if before and before.audit else NO_PREVIOUS
    asked = new_audit(run.schedule.request, name=name_of(run), previous=previous)
    maker = survey_services.Requester(
        user=run.schedule.owner, is_public=bool(run.schedule.request.get("public"))
    )
    try:
        return {"audit": start_audit(asked, maker, key_of(run))}
    except (TooManyAudits, survey_services.TooManySurveys) as error:
        raise NotNow(str(error)) from error


RECURRING: dict[str, Recurring] = {
    Kind.SURVEY: Recurring(_check_survey, _start_survey),
    Kind.CAMPAIGN: Recurring(_check_campaign, _start_campaign),
    Kind.AUDIT: Recurring(_check_audit, _start_audit),
}
