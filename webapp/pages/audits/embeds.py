"""An audit on other sites: a badge, and a summary to be shown in a frame."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from tasks.audits.command import ExitCode
from webapp.pages.audits import wording
from webapp.pages.audits.views import audit_or_404, frame, judged_or_404
from webapp.pages.embeds.badges import Badge, Fill, days_old, respond_with_badge
from webapp.pages.embeds.framing import framable
from webapp.store.access.visibility import SharedReader
from webapp.store.audits import selectors
from webapp.store.models import Audit

_FILLS = {
    ExitCode.CLEAN: Fill.GOOD,
    ExitCode.FINDINGS: Fill.BAD,
    ExitCode.NOT_JUDGED: Fill.UNKNOWN,
}


@require_safe
def badge(request: HttpRequest, slug: str) -> HttpResponse:
    """Numbers of open findings and the age of the audit, or of the newest one like it."""
    row = _shown(request, audit_or_404(request, slug))
    return respond_with_badge(request, _badge_of(row), is_public=row.owner_id is None)


def _shown(request: HttpRequest, row: Audit) -> Audit:
    """The audit, or with ``?newest=1`` the newest of the same list, policy and maker.

    The newest one is as visible as the one of the address; a share link opens that one alone.
    """
    if request.GET.get("newest") != "1" or isinstance(request.user, SharedReader):
        return row
    saved = row.saved_list if row.maker_id else None
    newest = selectors.newest_like(row.owner, row.maker, row.list_sha256, saved, row.policy_name)
    return newest or row


def _badge_of(row: Audit) -> Badge:
    label = f"audit: {row.policy_name}"
    if row.state not in selectors.JUDGED:
        return Badge(label, "failed" if row.is_final else "running", Fill.UNKNOWN)
    parts = [f"{s['n']:,} {s['name']}" for s in wording.severities(row) if s["n"]]
    not_judged = row.report["summary"]["not_judged"]
    if not parts and not not_judged:
        parts = ["no findings"]
    if not_judged:
        parts.append(f"{not_judged:,} not judged")
    text = f"{', '.join(parts)} · {days_old(row.finished_at)}"
    return Badge(label, text, _FILLS[ExitCode(row.exit_code or 0)])


@framable("audit")
@require_safe
def embed(request: HttpRequest, slug: str) -> HttpResponse:
    """Headline, numbers and rules with findings, for a frame of another site."""
    row = judged_or_404(request, slug)
    context = {
        **frame(request, row),
        "headline": wording.headline(row),
        "severities": wording.severities(row),
        "counts": row.report["summary"],
        "groups": [group for group in row.groups if group["category"] == "finding"],
    }
    return render(request, "embeds/audit.html", context)
