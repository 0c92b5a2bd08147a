"""The landing page of screening, on a labelled simulated fleet, and a log reader."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from core.errors import BadInput
from tasks.screening import simulated_fleet, uploaded_log
from webapp.pages.screening.plots import draw_error_rates, draw_percentiles, list_keys
from webapp.store.screening import selectors

MOST_CURVES = 8


@require_GET
def landing(request: HttpRequest) -> HttpResponse:
    """What screening answers, and the ways in."""
    found = simulated_fleet.simulate()
    calibration = found["calibration"]
    context = {
        "section": "screening",
        "tab": "landing",
        "fleet": found,
        "plot": draw_error_rates(
            {**calibration, "points": calibration["points"][:61]}, found["low"]
        ),
        "mine": selectors.list_pools(request.user)[:5] if request.user.is_authenticated else [],
    }
    return render(request, "screening/landing.html", context)


@require_http_methods(["GET", "POST"])
def read_log(request: HttpRequest) -> HttpResponse:
    """A log of another tool, read once and not kept."""
    context: dict[str, Any] = {"section": "screening", "tab": "logs"}
    context["most_mb"] = uploaded_log.MOST_BYTES // 1_000_000
    if request.method == "GET":
        return render(request, "screening/log.html", context)
    sent = request.FILES.get("log")
    try:
        if sent is None or sent.size is None:
            raise BadInput("choose a file")
        if sent.size > uploaded_log.MOST_BYTES:
            raise BadInput(f"a log has at most {context['most_mb']} MB here")
        rows = uploaded_log.summarise(bytes(sent.read()))
    except BadInput as error:
        return render(request, "screening/log.html", context | {"errors": [str(error)]}, status=422)
    context |= {"name": str(sent.name)[:120], "rows": rows, **_draw(rows)}
    return render(request, "screening/log.html", context)


def _draw(rows: list[dict[str, Any]]) -> dict[str, Any]:
    drawn = [(row["name"] or row["kind"], row["curve"]) for row in rows if row["curve"]]
    drawn = drawn[:MOST_CURVES]
    if not drawn:
        return {"plot": None}
    unit = "ms" if rows[0].get("in_ms") else rows[0]["unit"]
    return {
        "plot": draw_percentiles(drawn, unit),
        "keys": list_keys(drawn) if len(drawn) > 1 else [],
    }
