"""Audits: the list, one audit, its findings, one finding."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from core.errors import BadInput
from tasks.audits.documents import MEDIA
from webapp.pages.audits import wording
from webapp.pages.surveys.domains import page_number
from webapp.pages.surveys.views import progress_of
from webapp.store.audits import findings, policies, selectors
from webapp.store.models import Audit
from webapp.store.surveys import selectors as survey_selectors
from webapp.store.surveys.evidence import page_place

SHOWN_AUDITS = 200
# Findings of each rule on the first page, and on a page of the list.
FIRST_FINDINGS, PAGE_FINDINGS = 5, 50
# How long a finding is accepted unless another day is chosen.
USUAL_DAYS = 90
DOWNLOADS = (
    ("sarif", "SARIF", "code scanning"),
    ("sarif-github", "SARIF for GitHub", "without accepted findings"),
    ("junit", "JUnit XML", "test reports"),
    ("gitlab", "GitLab", "Code Quality"),
    ("markdown", "Markdown", "to read"),
    ("csv", "CSV", "spreadsheets"),
    ("json", "JSON", "everything; the baseline of a later audit"),
)
_FILTERS = ("category", "severity", "rule", "state", "subject")


@require_GET
def audits(request: HttpRequest) -> HttpResponse:
    """Every audit that the reader may see, newest first."""
    rows = list(selectors.listed(request.user)[:SHOWN_AUDITS])
    return render(request, "audits/list.html", {"section": "audits", "rows": rows})


@never_cache
@require_GET
def audit(request: HttpRequest, slug: str) -> HttpResponse:
    """One audit: its findings by rule, or how far it is."""
    row = audit_or_404(request, slug)
    context = frame(request, row)
    if not row.is_final:
        return render(request, "audits/progress.html", context | _progress(request, row))
    if row.state not in selectors.JUDGED:
        return render(request, "audits/failed.html", context)
    reader = wording.Reader.of(row, request.user)
    context |= {
        "headline": wording.headline(row),
        "severities": wording.severities(row),
        "counts": row.report["summary"],
        "passing": _passing(row),
        "sections": _sections(row, reader),
        "changes": _changes(row, reader, request.user),
        "problems": row.report["suppression_problems"],
        "downloads": [one for one in DOWNLOADS if one[0] in MEDIA],
        "policy": row.report["policy"],
        "source": row.report["source"],
        "reader": reader,
    }
    return render(request, "audits/audit.html", context)


def audit_or_404(request: HttpRequest, slug: str) -> Audit:
    """The audit if it is visible to the reader, else raise ``Http404``."""
    row = selectors.find(slug, request.user)
    if row is None:
        raise Http404("no such audit")
    return row


def frame(request: HttpRequest, row: Audit) -> dict[str, Any]:
    """What all pages of an audit share."""
    is_own = row.maker_id is not None and row.maker_id == request.user.pk
    return {"section": "audits", "audit": row, "is_own": is_own}


def _progress(request: HttpRequest, row: Audit) -> dict[str, Any]:
    """The counters of the survey that runs first, if any, where the reader may see them."""
    if row.state != Audit.State.SURVEYING or row.survey is None:
        return {}
    survey = survey_selectors.survey(row.survey.slug, request.user)
    return {"surveyed": survey, **progress_of(survey)} if survey else {}


def _passing(row: Audit) -> int:
    """Domains that pass every rule that applies to them."""
    counts = row.report
    others = ("domains_failing", "domains_open", "domains_not_judged")
    return int(counts["summary"]["domains"]) - sum(counts[name] for name in others)


def _sections(row: Audit, reader: wording.Reader) -> list[dict[str, Any]]:
    """Groups of findings with their first rows, by category; new findings are listed in theirs."""
    found = []
    for category in ("finding", "not-judged", "suppressed"):
        groups = [group for group in row.groups if group["category"] == category]
        title, text = wording.CATEGORIES[category]
        if groups:
            shown = [_group(row, group, reader) for group in groups]
            n = sum(group["n"] for group in groups)
            section = {"id": category, "title": title, "text": text, "n": n, "groups": shown}
            found.append(section)
    return found


def _group(row: Audit, group: dict[str, Any], reader: wording.Reader) -> dict[str, Any]:
    rows = findings.read_rows(row, group["first"], min(group["n"], FIRST_FINDINGS))
    query = {"category": group["category"], "rule": group["rule"], "severity": group["severity"]}
    return {
        **group,
        "rows": [wording.shown_finding(one, reader) for one in rows],
        "more": max(0, group["n"] - len(rows)),
        "query": urlencode(query),
    }


def _changes(row: Audit, reader: wording.Reader, user: Any) -> dict[str, Any] | None:
    """What differs from the audit before, or from a baseline that was sent; ``None`` without."""
    before = row.previous
    new = [g for g in row.groups if g["category"] == "finding" and g["new"]]
    moved = [g for g in row.groups if g["category"] in ("resolved", "stale")]
    changes = {"new": new, "moved": [_group(row, group, reader) for group in moved]}
    if before is None:
        return changes if new or moved else None
    compared = before.survey if wording.Reader.of(before, user).survey else None
    return {
        **changes,
        "before": before if wording.is_open(before, user) else None,
        "at": before.created_at,
        "surveys": compared if reader.survey and compared != row.survey else None,
    }


@never_cache
@require_GET
def finding_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Findings of an audit, filtered, page by page."""
    row = judged_or_404(request, slug)
    asked = {name: request.GET.get(name, "")[:255] for name in _FILTERS}
    places = findings.places(row, findings.Filter(**asked))
    page = page_place(len(places), page_number(request), PAGE_FINDINGS)
    reader = wording.Reader.of(row, request.user)
    first = (page["page"] - 1) * PAGE_FINDINGS
    shown = findings.read_places(row, places[first : first + PAGE_FINDINGS])
    context = {
        **frame(request, row),
        "rows": [wording.shown_finding(one, reader) for one in shown],
        "page": page,
        "asked": asked,
        "params": urlencode({k: v for k, v in asked.items() if v}),
        "rules": sorted({group["rule"] for group in row.groups}),
        "severities": wording.SEVERITIES,
        "categories": [(key, title) for key, (title, _) in wording.CATEGORIES.items()],
    }
    return render(request, "audits/findings.html", context)


def judged_or_404(request: HttpRequest, slug: str) -> Audit:
    """An audit that has findings, else raise ``Http404``."""
    row = audit_or_404(request, slug)
    if row.state not in selectors.JUDGED:
        raise Http404("this audit has no findings")
    return row


@never_cache
@require_http_methods(["GET", "POST"])
def finding(request: HttpRequest, slug: str, row: int) -> HttpResponse:
    """One finding with all of its evidence; its maker accepts it here for later audits."""
    found = judged_or_404(request, slug)
    stored = findings.read_rows(found, row, 1)
    if not stored:
        raise Http404("no such finding")
    context = {
        **frame(request, found),
        "f": wording.shown_finding(stored[0], wording.Reader.of(found, request.user)),
        "category": wording.CATEGORIES[stored[0]["category"]][0],
        "may_accept": request.user.is_authenticated and stored[0]["category"] == "finding",
        "usual_end_text": (timezone.now().date() + timedelta(days=USUAL_DAYS)).isoformat(),
        "typed": request.POST,
    }
    if request.method == "GET":
        return render(request, "audits/finding_page.html", context)
    if not context["may_accept"]:
        raise PermissionDenied
    try:
        _accept(request, stored[0])
    except BadInput as error:
        context["error"] = str(error)
        return render(request, "audits/finding_page.html", context, status=422)
    return redirect(f"{reverse('audit-suppressions')}?changed=new")


def _accept(request: HttpRequest, stored: dict[str, Any]) -> None:
    """Save a suppression of this finding; raises ``BadInput``."""
    given = {name: request.POST.get(name, "").strip() for name in ("reason", "owner", "expires")}
    of_finding = {name: stored[name] for name in ("rule", "subject", "fingerprint")}
    policies.create_suppression(request.user, {**given, **of_finding})
