"""REST API v1: plan, start, follow, read and delete audits."""

from dataclasses import asdict
from operator import attrgetter
from typing import Annotated, Any, Literal

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Schema, Status
from ninja.errors import HttpError
from pydantic import ConfigDict

from tasks.audits import documents
from tasks.audits.plan import plan_audit
from tasks.audits.submission import NewAudit, start_audit
from webapp.api.accounts.sharing import get_own_or_error
from webapp.api.audits.documents import audit_json
from webapp.api.audits.policies import Document
from webapp.api.framework.documents import etag_of, tagged
from webapp.api.framework.events import State, event_stream, stream_states
from webapp.api.framework.files import download
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import (
    Body,
    Domains,
    Text,
    document_bytes,
    exactly_one,
    list_bytes,
)
from webapp.store.access.visibility import owner_of
from webapp.store.accounts import deletion
from webapp.store.audits import findings, selectors
from webapp.store.models import Audit
from webapp.store.requests.body_progress import get_body_progress
from webapp.store.surveys.services import Requester

router = Router(tags=["audits"])
SeverityName = Literal["critical", "high", "medium", "low", "info"]
Slug = Annotated[str, Field(max_length=120, pattern="^[-a-zA-Z0-9_]*$")]


# What is judged is given in one of three fields.
_ONE_SOURCE = exactly_one(
    {
        "domains": ({"type": ["array", "string"]}, {"type": "null"}),
        "domain_list": ({"minLength": 1}, {"maxLength": 0}),
        "survey": ({"minLength": 1}, {"maxLength": 0}),
    }
)


class AuditIn(Body):
    """An audit: domains, a saved list or a finished survey, and a policy.

    ``policy`` is a preset or a saved policy; ``policy_document`` is the text of one, TOML or JSON,
    or the JSON document itself, and uses its place. ``previous`` is the audit to compare with:
    empty for the newest of the same list and policy, ``none`` for no comparison. ``baseline`` is an
    earlier JSON report, as text or as it is, to compare with instead.
    """

    model_config = ConfigDict(json_schema_extra=_ONE_SOURCE)

    domains: Domains | None = None
    domain_list: Slug = ""
    survey: Slug = ""
    policy: Slug = "default"
    policy_document: Document | None = None
    campaign: Slug = ""
    previous: Slug = ""
    baseline: Annotated[str, Field(max_length=20_000_000)] | dict[str, Any] | None = None
    name: Annotated[Text, Field(max_length=200)] = ""
    fail_on: SeverityName | None = None
    strict: bool = False
    list_path: Annotated[Text, Field(max_length=400)] = ""
    axfr: bool = True
    aaaa: bool = True
    public: bool = False


def _requester(request: HttpRequest, asked: AuditIn) -> Requester:
    user = owner_of(request.user)
    if user is None and not settings.ANONYMOUS_SURVEYS:
        raise HttpError(401, "send a token: here only people with an account start audits")
    gone = get_body_progress(request).gone
    return Requester(user=user, is_public=asked.public, gone=gone)


def _new_audit(asked: AuditIn) -> NewAudit:
    return NewAudit(
        domains=b"" if asked.domains is None else list_bytes(asked.domains),
        domain_list=asked.domain_list,
        survey=asked.survey,
        policy=asked.policy,
        policy_document=document_bytes(asked.policy_document),
        campaign=asked.campaign,
        previous=asked.previous,
        baseline=document_bytes(asked.baseline),
        name=asked.name,
        fail_on=asked.fail_on or "",
        strict=asked.strict,
        list_path=asked.list_path,
        options={"axfr": asked.axfr, "aaaa": asked.aaaa},
    )


@router.post(
    "/audits",
    response={202: "audits.Audit"},
)
def create_audit(request: HttpRequest, audit: AuditIn, response: HttpResponse) -> Any:
    """Start an audit; poll or stream ``Location``. ``Idempotency-Key`` makes a retry safe."""
    key = request.headers.get("Idempotency-Key")
    row = start_audit(_new_audit(audit), _requester(request, audit), key)
    document = audit_json(row, request.user)
    response["Location"] = document["links"]["self"]
    response["ETag"] = etag_of(document)
    return Status(202, document)


@router.post(
    "/audits/plan",
    response={200: "audits.AuditPlan"},
    operation_id="plan_audit",
)
def plan(request: HttpRequest, audit: AuditIn) -> Any:
    """Predict the cost of an audit; nothing is stored and no query is sent."""
    return asdict(plan_audit(_new_audit(audit), _requester(request, audit)))


class AuditQuery(Page):
    """Which audits of the list; ``status`` and ``domain_list`` filter."""

    status: Annotated[str, Field(max_length=20)] = ""
    domain_list: Slug = ""


@router.get(
    "/audits",
    response={200: "Page[audits.Audit]"},
)
def list_audits(request: HttpRequest, query: Query[AuditQuery]) -> Any:
    """Audits, newest first."""
    rows = selectors.listed(request.user)
    if query.status:
        rows = rows.filter(state=query.status)
    if query.domain_list:
        rows = rows.filter(saved_list__slug=query.domain_list, maker=owner_of(request.user))
    return paginate(list(rows), query, attrgetter("slug"), lambda r: audit_json(r, request.user))


@router.get(
    "/audits/{slug}",
    response={200: "audits.Audit", 304: None},
)
def get_audit(request: HttpRequest, slug: str) -> Any:
    """State, counts and exit code; ``ETag`` changes when they do."""
    return tagged(request, audit_json(_known(request, slug), request.user))


@router.get(
    "/audits/{slug}/events",
    response={200: "text/event-stream"},
    operation_id="stream_audit_events",
)
def audit_events(request: HttpRequest, slug: str) -> Any:
    """Server-sent events: the audit document on change until the audit has ended."""
    _known(request, slug)

    def read() -> State | None:
        row = selectors.find(slug, request.user)
        return None if row is None else (audit_json(row, request.user), row.state, row.is_final)

    return event_stream(str(request.META.get("REMOTE_ADDR", "")), stream_states(read))


class FindingQuery(Schema):
    """Filter and page of findings; ``cursor`` is the ``next`` of the page before."""

    category: Literal["", "finding", "suppressed", "not-judged", "stale", "resolved"] = ""
    severity: SeverityName | Literal[""] = ""
    rule: Annotated[str, Field(max_length=80)] = ""
    state: Literal["", "open", "new", "persisting"] = ""
    # A part of the domain.
    subject: Annotated[str, Field(max_length=255)] = ""
    limit: int = Field(200, ge=1, le=1_000)
    cursor: str = Field("", pattern="^([0-9]{1,9})?$")


@router.get(
    "/audits/{slug}/findings",
    response={200: "audits.AuditFindings"},
    operation_id="list_audit_findings",
)
def list_findings(request: HttpRequest, slug: str, query: Query[FindingQuery]) -> Any:
    """Findings, most severe first, then suppressed ones, those not judged, stale and resolved."""
    row = _judged(request, slug)
    wanted = findings.Filter(**query.dict(exclude={"limit", "cursor"}))
    places = findings.places(row, wanted)
    first = int(query.cursor or 0)
    shown = places[first : first + query.limit]
    more = first + len(shown) < len(places)
    return {
        "count": len(places),
        "next": str(first + len(shown)) if more else None,
        "results": findings.read_places(row, shown),
    }


class ReportQuery(Schema):
    """``list_path`` is the domain list's path in the repository, for SARIF and GitLab."""

    format: Annotated[str, Field(max_length=20)] = ""
    list_path: Annotated[str, Field(max_length=400)] = ""


@router.get(
    "/audits/{slug}/report",
    response={200: "audits.AuditReport"},
    operation_id="get_audit_report",
)
def get_report(request: HttpRequest, slug: str, query: Query[ReportQuery]) -> Any:
    """The whole report in the format that ``Accept`` or ``format`` names; JSON otherwise."""
    form = query.format or documents.negotiate(request.headers.get("Accept", ""))
    answer = _report(request, slug, form, query.list_path)
    answer["Vary"] = "Accept"
    return answer


@router.get(
    "/audits/{slug}/report.{kind}",
    response={200: "audits.AuditReport"},
    operation_id="export_audit_report",
)
def get_report_as(request: HttpRequest, slug: str, kind: str, list_path: str = "") -> Any:
    """The whole report as ``json``, ``sarif``, ``sarif-github``, ``junit``, ``gitlab``,
    ``markdown`` or ``csv``."""
    return _report(request, slug, kind, list_path)


def _report(request: HttpRequest, slug: str, form: str, list_path: str) -> HttpResponse:
    row = _judged(request, slug)
    if form not in documents.MEDIA:
        raise Http404(f"{form!r} is not a format; use {', '.join(documents.MEDIA)}")
    kind, suffix = documents.MEDIA[form]
    return download(f"{slug}.{suffix}", kind, documents.render_stored(row, form, list_path))


@router.delete(
    "/audits/{slug}",
    response={204: None},
    openapi_extra=ACCOUNT,
)
def delete_audit(request: HttpRequest, slug: str) -> Any:
    """Stop and delete an audit with its findings; its survey stays. Its creator only."""
    deletion.remove(get_own_or_error(request, "audit", slug), request.user)
    return Status(204, None)


def _known(request: HttpRequest, slug: str) -> Audit:
    row = selectors.find(slug, request.user)
    if row is None:
        raise Http404(f"there is no audit {slug!r}")
    return row


def _judged(request: HttpRequest, slug: str) -> Audit:
    """An audit with findings; 409 before it has any."""
    row = _known(request, slug)
    if row.state not in selectors.JUDGED:
        raise HttpError(409, f"the audit is {row.state}: it has no findings")
    return row
