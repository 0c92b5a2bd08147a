"""Figure 16 of a measurement campaign: the best set of each size, routed in two ways."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from tasks.campaigns import best_sets
from webapp.pages.campaigns.frame import frame_or_404
from webapp.pages.recommendations.curve import draw_curve
from webapp.store.campaigns import selectors


@require_GET
def best(request: HttpRequest, slug: str) -> HttpResponse:
    """The curve and its table; until a worker has solved it, that it is being solved."""
    frame = frame_or_404(request, slug)
    metric = frame.metric.id
    lead = best_sets.find(frame.row, metric)
    is_measured = selectors.has_table(frame.row, f"{metric}-rounds")
    solving = lead is None and is_measured and best_sets.submit(frame.row, metric)
    rows = [_row(row) for row in lead.dicts()] if lead else []
    asked = request.GET.get("k", "")
    sizes = [row["k"] for row in rows]
    chosen = int(asked) if asked.isdecimal() and int(asked) in sizes else min(3, len(rows))
    more = {
        "lead": lead,
        "rows": rows,
        "left_out": rows[0]["left_out"] if rows else 0,
        "all_proven": all(row["proven"] for row in rows),
        "solving": solving,
        "is_measured": is_measured,
        "curve": draw_curve(rows, chosen),
        "chosen": chosen,
        "unit": "ms" if metric == "latency" else "",
        "aim": "mean latency" if metric == "latency" else "mean throughput",
        "table_id": best_sets.table_id(metric),
    }
    status = 202 if solving else 200
    return render(request, "campaigns/best.html", frame.context(request, **more), status=status)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row with what the curve needs."""
    return {
        **row,
        "regions": str(row["regions"]).split("|"),
        "value": row["per_round"],
        "interval": [row["low"], row["high"]],
    }
