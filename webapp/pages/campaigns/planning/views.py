"""Measurement campaigns: a new one with its plan, a running one with its progress, and its end."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.campaigns import commands
from webapp.pages.campaigns.frame import frame_or_404
from webapp.pages.campaigns.planning.formatting import (
    FIELDS,
    coverage_sentence,
    plan_sentence,
    state_sentence,
)
from webapp.pages.campaigns.planning.forms import CampaignForm
from webapp.pages.surveys.domains import page_number
from webapp.pages.ui import formatting
from webapp.pages.ui.access import signed_in
from webapp.pages.ui.table_page import Cell, Column, Grid, Row
from webapp.pages.vantages.credits import costs
from webapp.pages.vantages.formatting import choices_of, point_sentence
from webapp.store.campaigns import progress as campaign_progress
from webapp.store.campaigns import selectors
from webapp.store.campaigns.plans import Definition
from webapp.store.models import Campaign, VantagePoint
from webapp.store.surveys import drafts
from webapp.store.vantages import services
from webapp.store.vantages.documents import Health, health_of

SECTION = "campaigns"
SHOWN = 100
# The schedule and the number of vantage points that are proposed where all are synthetic.
TRIAL, TRIAL_VANTAGES = "trial", 12
# At most so many own vantage points of a campaign are checked for silence.
_MOST_OWN = 1_000
_SILENT = (Health.STALE, Health.LOST, Health.REVOKED)
_VANTAGES = (
    Column("vantage", "Vantage point"),
    Column("planned", "Planned", numeric=True, is_spare=True),
    Column("ok", "Answered", numeric=True, is_spare=True),
    Column("failed", "Failed", numeric=True, is_spare=True),
    Column("missed", "Missed", numeric=True),
    Column("late", "Late", numeric=True, is_spare=True),
    Column("coverage", "Coverage so far", numeric=True),
)


@signed_in
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form; sent, it shows the plan and its cost before anything is measured."""
    return _form_or_plan(request, None)


@signed_in
@require_http_methods(["GET", "POST"])
def clone(request: HttpRequest, slug: str) -> HttpResponse:
    """The same form, filled with the request of a campaign."""
    return _form_or_plan(request, _known(request, slug))


def _form_or_plan(request: HttpRequest, before: Campaign | None) -> HttpResponse:
    names = commands.working_vantages(request.user)
    if request.method == "GET":
        return _show_form(request, CampaignForm(vantages=names, kept=bool(before)), before)
    form = CampaignForm(request.POST, vantages=names, kept=bool(before))
    if not form.is_valid():
        return _show_form(request, form, before)
    asked = form.asked()
    if before and "preset" not in asked:
        asked["schedule"] = commands.schedule_again(before, asked)
    try:
        plan = commands.plan(asked, request.user)
    except BadInput as error:
        form.add_error(FIELDS.get((error.field or "").partition(".")[0]), str(error))
        return _show_form(request, form, before)
    return _show_plan(request, plan, asked, before)


def _show_form(request: HttpRequest, form: CampaignForm, before: Campaign | None) -> HttpResponse:
    names = [name for name, _ in form.fields["vantages"].choices]  # type: ignore[attr-defined]
    points = services.points_named(names)
    chosen = request.POST.getlist("vantages") if form.is_bound else _chosen(points, before)
    is_trial = not before and all(p.source == VantagePoint.Source.SYNTHETIC for p in points)
    context = {
        "is_trial": is_trial,
        "chosen_preset": form["preset"].value() or _default_preset(before, is_trial),
        "section": SECTION,
        "form": form,
        "before": before,
        "groups": choices_of(points, set(chosen)),
        "targets": form["targets"].value() or _default_targets(before, is_trial),
        "name": form["name"].value() or (f"{before.name}, again" if before else ""),
    }
    status = 422 if form.errors else 200
    return render(request, "campaigns/planning/new.html", context, status=status)


def _default_preset(before: Campaign | None, is_trial: bool) -> str:
    if before is not None:
        return ""
    return TRIAL if is_trial else "latency"


def _default_targets(before: Campaign | None, is_trial: bool) -> str:
    if before is not None:
        return commands.targets_csv(before)
    return commands.trial_targets_csv() if is_trial else ""


def _chosen(points: list[VantagePoint], before: Campaign | None) -> list[str]:
    """Return the default vantage points: own machines, since others cost credits.

    Where all are synthetic, some of all continents.
    """
    if before is not None:
        return list(before.vantages)
    own = [p.name for p in points if p.source == VantagePoint.Source.OWN]
    outside = [p.name for p in points if p.source != VantagePoint.Source.SYNTHETIC]
    placed = [p.name for p in points if not (p.detail or {}).get("cloud")]
    return own or outside or placed[:: max(1, len(placed) // TRIAL_VANTAGES)][:TRIAL_VANTAGES]


def _show_plan(
    request: HttpRequest, plan: Definition, asked: dict[str, Any], before: Campaign | None
) -> HttpResponse:
    again = ("clone-campaign", [before.slug]) if before else ("new-campaign", [])
    context = {
        "section": SECTION,
        "plan": plan,
        "predicted": plan.predicted,
        "sentence": plan_sentence(plan.predicted),
        "traffic": formatting.size(plan.predicted["octets"]),
        "per_vantage": formatting.size(plan.predicted["per_vantage"]["octets_per_day"]),
        "per_target": formatting.size(plan.predicted["per_target"]["octets_per_day"]),
        "activities": [_activity(a) for a in plan.predicted["activities"]],
        "costs": costs(plan.predicted["credits"]),
        "draft": drafts.save_draft(json.dumps(asked).encode(), str(request.user.pk)),
        "once": uuid4().hex,
        "before": before,
        "again": reverse(again[0], args=again[1]),
    }
    status = 422 if plan.refusals else 200
    return render(request, "campaigns/planning/plan.html", context, status=status)


def _activity(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "size": formatting.size(row["octets"]),
        "window": formatting.duration(row["window_s"]),
    }


@signed_in
@require_POST
def run(request: HttpRequest) -> HttpResponse:
    """Start the campaign of a plan that was shown."""
    names = commands.working_vantages(request.user)
    try:
        asked = json.loads(drafts.load_draft(request.POST.get("draft", "")))
        asked["idempotency_key"] = request.POST.get("once", "")
        asked["public"] = request.POST.get("publish") == "on"
        before = selectors.campaign(request.POST.get("before", ""), request.user)
        made = commands.start(asked, request.user, cloned_from=before)
    except NephoscopeError as error:
        form = CampaignForm({}, vantages=names)
        form.full_clean()
        form.errors.clear()
        form.add_error(None, str(error))
        return _show_form(request, form, None)
    return HttpResponseRedirect(reverse("campaign-progress", args=[made.slug]))


@never_cache
@require_GET
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    """How far a campaign is: slots by how they ended, in all and by vantage point."""
    frame = frame_or_404(request, slug)
    row = frame.row
    progress = _progress(request, row)
    listed = campaign_progress.by_vantage(row)
    page = page_number(request)
    shown = listed[(page - 1) * SHOWN : page * SHOWN]
    missing = [r["vantage"] for r in listed if r["missed"] and not r["ok"]][:20]
    linked = _linked(request, [*missing, *(r["vantage"] for r in shown)])
    rows = tuple(_row(r, linked) for r in shown)
    more = {
        **progress,
        "grid": Grid("coverage", "Slots by vantage point", _VANTAGES, rows),
        "pager": {"page": page, "pages": max(1, -(-len(listed) // SHOWN))},
        "rounds": campaign_progress.by_round(row)[-12:],
        "coverage_sentence": coverage_sentence(listed),
        "may_change": commands.may_change(row, request.user),
        "missing": [(name, linked.get(name, "")) for name in missing],
        "cloned_from": _cloned_from(request, row),
    }
    return render(request, "campaigns/planning/progress.html", frame.context(request, **more))


def _linked(request: HttpRequest, names: list[str]) -> dict[str, str]:
    """Addresses of those vantage points that this reader may open; a link's visitor opens none."""
    found = services.points(request.user).filter(name__in=set(names))
    return {
        name: reverse("vantage-point", args=[name]) for name in found.values_list("name", flat=True)
    }


def _cloned_from(request: HttpRequest, row: Campaign) -> Campaign | None:
    """What it was cloned from, where the reader may see that as well."""
    before = row.cloned_from
    return before and selectors.campaign(before.slug, request.user)


@never_cache
@require_GET
def part(request: HttpRequest, slug: str) -> HttpResponse:
    """The headline and the live figures alone."""
    row = _known(request, slug)
    context = {"m": row, **_progress(request, row), "cloned_from": _cloned_from(request, row)}
    answer = render(request, "campaigns/planning/part.html", context)
    answer["X-Campaign-State"] = row.state
    return answer


def _silent(request: HttpRequest, row: Campaign) -> list[str]:
    """Return sentences on the campaign's own vantage points that are silent while it runs."""
    if row.is_final or row.state == Campaign.State.WAITING:
        return []
    own = services.points(request.user).filter(source=VantagePoint.Source.OWN)
    found = own.filter(name__in=row.vantages[:_MOST_OWN])
    return [point_sentence(p, h) for p in found if (h := health_of(p)) in _SILENT]


def _progress(request: HttpRequest, row: Campaign) -> dict[str, Any]:
    found = campaign_progress.progress(row)
    ended = found["ok"] + found["failed"] + found["missed"]
    whole = found["planned"] or 1
    return {
        "p": found,
        "ended": ended,
        "done_share": ended / whole,
        "reasons": campaign_progress.reasons(row),
        "sentence": state_sentence(row, found),
        "silent": _silent(request, row),
        "is_live": not row.is_final,
        "can_pause": row.state == Campaign.State.RUNNING,
        "can_resume": row.state == Campaign.State.PAUSED,
    }


def _row(progress: dict[str, Any], linked: Mapping[str, str]) -> Row:
    share, ended = progress["coverage"], sum(progress[c] for c in ("ok", "failed", "missed"))
    counts = ("planned", "ok", "failed", "missed", "late")
    name = progress["vantage"]
    return Row(
        (
            Cell(name, name, href=linked.get(name, "")),
            *(
                Cell(
                    formatting.count(progress[c]), progress[c], kind="count", is_spare=c != "missed"
                )
                for c in counts
            ),
            Cell(
                "nothing yet" if share is None else formatting.share_of(share, ended),
                share or 0,
                kind="share",
                bar=share,
            ),
        ),
        anchor=name,
    )


@signed_in
@require_POST
def act(request: HttpRequest, slug: str, action: str) -> HttpResponse:
    """Pause, resume or stop a campaign of one's own."""
    row = _known(request, slug)
    if action not in commands.ACTIONS:
        raise Http404(f"nothing is called {action}")
    if not commands.may_change(row, request.user):
        raise PermissionDenied
    commands.ACTIONS[action](row)
    return HttpResponseRedirect(reverse("campaign-progress", args=[slug]))


def _known(request: HttpRequest, slug: str) -> Campaign:
    found = selectors.campaign(slug, request.user)
    if found is None:
        raise Http404(f"no campaign {slug}")
    return found
