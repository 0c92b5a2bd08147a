"""Schedules of an account: the list, a new one, and one with its time line."""

from typing import Any

from django.db.models import Prefetch
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.schedules import starting
from tasks.schedules.messages import TITLES
from webapp.pages.schedules.forms import FORMS, ScheduleForm, zones
from webapp.pages.surveys.domains import page_number
from webapp.pages.ui.access import signed_in
from webapp.store.models import Schedule, ScheduleEvent, ScheduleRun
from webapp.store.schedules import services, timing

SECTION = "schedules"
RUNS_PER_PAGE = 30
# Events of a run that its entry shows; all of them are in the API.
SHOWN_EVENTS = 100
KINDS = {"survey": "Survey", "campaign": "Campaign", "audit": "Audit"}


def describe(row: Schedule) -> str:
    """When a schedule is due, in words as far as there are some."""
    if row.interval_minutes is not None:
        hours, minutes = divmod(row.interval_minutes, 60)
        return f"every {hours} h" + (f" {minutes} min" if minutes else "")
    return f"{timing.explain(row.cron)} ({row.time_zone})"


@never_cache
@signed_in
@require_GET
def schedules(request: HttpRequest) -> HttpResponse:
    """Own schedules with their next due time and how the last run ended."""
    runs = ScheduleRun.objects.order_by("-due_at", "-id")
    rows = list(services.schedules_of(request.user).defer("request"))
    for row in rows:
        row.last_run = runs.filter(schedule=row).first()  # type: ignore[attr-defined]
        row.when = describe(row)  # type: ignore[attr-defined]
    context = {"section": SECTION, "tab": "schedules", "rows": rows, "kinds": KINDS}
    return render(request, "schedules/list.html", context)


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def new_schedule(request: HttpRequest) -> HttpResponse:
    """The form of a new schedule of one kind; sent, it makes the schedule."""
    kind = request.GET.get("kind", "audit")
    if kind not in FORMS:
        raise Http404("no such kind of schedule")
    # A domain's card leads here to have the domain watched.
    domain = request.GET.get("domains", "")[:300]
    initial = {"domains": domain, "name": f"Watch {domain}"} if domain else {}
    form = FORMS[kind](request.POST or None, initial=initial, user=request.user)  # type: ignore[call-arg]
    if request.method == "POST" and form.is_valid():
        row = _create(request, form)
        if row is not None:
            return redirect("schedule", key=row.slug)
    context = {
        "section": SECTION,
        "tab": "schedules",
        "form": form,
        "kind": kind,
        "kinds": KINDS,
        "zones": zones(),
    }
    return render(request, "schedules/new.html", context, status=422 if form.errors else 200)


def _create(request: HttpRequest, form: ScheduleForm) -> Schedule | None:
    """Create the schedule; None where the form has errors now."""
    try:
        asked = starting.check_request(form.kind, form.request, request.user)
        return services.create_schedule(
            request.user,
            form.cleaned_data["name"],
            (form.kind, asked),
            form.recurrence,
            timezone.now(),
        )
    except NephoscopeError as error:
        add_error(form, error)
    return None


def add_error(form: Any, error: NephoscopeError) -> None:
    """Show an error beside the field that it names."""
    field = (getattr(error, "field", None) or "").removeprefix("request.")
    field = "hours" if field == "interval_minutes" else field
    text = error.text if isinstance(error, BadInput) else str(error)
    form.add_error(field if field in form.fields else None, text[:1].upper() + text[1:] + ".")


def own_schedule(request: HttpRequest, key: str) -> Schedule:
    """The schedule of the account; raises ``Http404``."""
    row = services.find_schedule(key, request.user)
    if row is None:
        raise Http404("no such schedule")
    return row


@never_cache
@signed_in
@require_GET
def schedule(request: HttpRequest, key: str) -> HttpResponse:
    """One schedule with its time line of runs and changes."""
    return show_schedule(request, own_schedule(request, key))


def show_schedule(
    request: HttpRequest, row: Schedule, error: str = "", status: int = 200
) -> HttpResponse:
    """Render the page of a schedule, with what went wrong."""
    found = ScheduleEvent.objects.order_by("kind", "id")
    runs = row.runs.select_related("survey", "campaign", "audit", "previous")
    pages = max(1, -(-runs.count() // RUNS_PER_PAGE))
    page = min(page_number(request), pages)
    shown = runs.prefetch_related(Prefetch("events", found))
    context = {
        "section": SECTION,
        "tab": "schedules",
        "row": row,
        "when": describe(row),
        "upcoming": services.upcoming(row, 3),
        "runs": [_run(run) for run in shown[(page - 1) * RUNS_PER_PAGE : page * RUNS_PER_PAGE]],
        "pager": {"page": page, "pages": pages},
        "kind": KINDS[row.kind],
        "error": error,
    }
    return render(request, "schedules/schedule.html", context, status=status)


def _run(run: ScheduleRun) -> dict[str, Any]:
    found = list(run.events.all())
    counts = [(TITLES[kind], n) for kind, n in sorted(run.changes.items())]
    return {
        "row": run,
        "events": [{"row": e, "title": TITLES[e.kind]} for e in found[:SHOWN_EVENTS]],
        "n_more": max(0, len(found) - SHOWN_EVENTS),
        "counts": counts,
        "n_changes": sum(run.changes.values()),
    }


@signed_in
@require_POST
def change_schedule(request: HttpRequest, key: str, action: str) -> HttpResponse:
    """Pause, resume, run or delete a schedule."""
    row = own_schedule(request, key)
    now = timezone.now()
    if action == "delete":
        row.delete()
        return redirect("schedules")
    try:
        if action == "run":
            services.run_now(row, now)
        elif action in ("pause", "resume"):
            services.change_schedule(row, {"is_active": action == "resume"}, now)
        else:
            raise Http404("no such action")
    except BadInput as error:
        return show_schedule(request, row, str(error), 409)
    return redirect("schedule", key=row.slug)
