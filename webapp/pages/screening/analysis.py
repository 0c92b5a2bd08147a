"""Analyses of a pool: call times, calibration, persistence, time of day.

Each page shows one section of the analysis; one without data names what it needs.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from core.errors import BadInput
from tasks.screening.celery_tasks import change_pool
from webapp.pages.screening import analysis_plots as plots
from webapp.pages.screening.plots import draw_error_rates
from webapp.pages.screening.pool_access import PoolAccess, own_pool, pool_page
from webapp.store.screening import details
from webapp.store.screening.services import PoolSettings

# Machines that a heat map shows; the file of the findings has all.
MOST_NODES = 40
LIMIT_MS = 10.0
# Upper ends of the tones, milliseconds.
TONES = (2.0, 5.0, LIMIT_MS)
# HIGH follows LOW, as where the marks were calibrated.
HIGH_FACTOR = 5


def _section(access: PoolAccess, tab: str, name: str) -> dict[str, Any]:
    found = access.pool.findings.get(name) or {}
    reason = found.get("reason", "" if found else "A worker has not looked at this pool yet")
    return access.context(tab) | {"found": found, "reason": reason}


@pool_page
@require_GET
def heat(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """p99.9 of who calls whom, and whether machines or paths are to blame."""
    context = _section(access, "heat", "heatmap")
    if not context["reason"]:
        context |= _heat_map(context["found"])
    return render(request, "screening/heat.html", context)


def _heat_map(found: dict[str, Any]) -> dict[str, Any]:
    table, names, ids = found["p999_ms"], found["names"], found["ids"]
    columns = [[row[at] for row in table if row[at] is not None] for at in range(len(names))]
    medians = [sorted(column)[len(column) // 2] if column else 0.0 for column in columns]
    order = sorted(range(len(names)), key=lambda at: (-medians[at], names[at]))[:MOST_NODES]
    heads = [(ids[at], names[at], medians[at] >= LIMIT_MS) for at in order]
    rows = [
        (*heads[place], [(table[a][b], _tone(table[a][b]), a == b) for b in order])
        for place, a in enumerate(order)
    ]
    return {"heads": heads, "rows": rows, "left_out": len(names) - len(order), "tones": TONES}


def _tone(value: float | None) -> int:
    return 0 if value is None else 1 + sum(value >= end for end in TONES)


@pool_page
@require_GET
def calibrate(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """How errors follow the mark, on machines with a known truth."""
    context = _section(access, "calibrate", "calibration")
    found = context["found"]
    if not context["reason"]:
        context["plot"] = draw_error_rates(found, access.pool.low, found["chosen"]["low"])
        context["is_used"] = found["chosen"]["low"] == access.pool.low
    return render(request, "screening/calibrate.html", context)


@own_pool
@require_POST
def use_mark(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """Make the calibrated mark the pool's."""
    chosen = (access.pool.findings.get("calibration") or {}).get("chosen")
    try:
        if not chosen:
            raise BadInput("this pool has not been calibrated yet")
        low = float(chosen["low"])
        high = max(HIGH_FACTOR * low, low + 1)
        change_pool(access.pool, request.user, PoolSettings(low=low, high=high))
    except BadInput as error:
        context = access.context("calibrate") | {"problem": str(error)}
        return render(request, "screening/refused.html", context, status=422)
    return redirect(access.href("pool-calibrate"))


@pool_page
@require_GET
def history(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """How long verdicts last, and whether stalls return at a time of the day."""
    context = _section(access, "history", "persistence")
    nights = access.pool.findings.get("nights") or {}
    context |= {
        "nights": nights,
        "lasting": plots.draw_persistence(context["found"].get("distribution") or []),
        "day": plots.draw_time_of_day(details.count_by_minute(access.pool), nights),
        "causes": access.pool.findings.get("causes") or {},
    }
    return render(request, "screening/history.html", context)


@pool_page
@require_GET
def findings_file(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """All findings as JSON."""
    return JsonResponse({"pool": access.pool.name, "findings": access.pool.findings})
