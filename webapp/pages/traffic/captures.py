"""Traffic captures: which there are, and the tables of one."""

from datetime import UTC, datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from core.errors import MissingData
from tasks.traffic import log_import
from tasks.traffic.uploads import list_visible, read_visible
from webapp.pages.traffic import uploads
from webapp.pages.ui import formatting
from webapp.pages.ui.table_page import report_grid
from webapp.store.models import TrafficUpload
from webapp.store.surveys import selectors
from webapp.store.surveys.selectors import ReportRow
from webapp.store.traffic import services


@never_cache
@require_GET
def captures(request: HttpRequest) -> HttpResponse:
    """Every capture that the reader may see, the newest first, and the reader's uploads."""
    own = {row.slug: row for row in services.uploads_of(request.user)}
    rows = [_line(log_import.read_report(n), own.get(n)) for n in list_visible(request.user)]
    imported = {row["name"] for row in rows}
    pending = [row for slug, row in own.items() if slug not in imported]
    context = {"section": "traffic", "rows": rows, "pending": pending}
    return render(request, "traffic/list.html", context)


def _line(document: dict[str, Any], row: TrafficUpload | None) -> dict[str, Any]:
    clouds = document["tables"]["traffic-clouds"]
    return {
        "name": document["name"],
        "title": row.name if row else document["name"],
        "is_own": row is not None,
        "world": document.get("world", ""),
        "headline": clouds["headline"],
        "flows": document["quality"]["flows"],
        "rows": sum(log["rows"] for log in document["logs"]),
        "first": _moment(document["quality"]["first_hour"]),
        "last": _moment(document["quality"]["last_hour"]),
    }


@never_cache
@require_GET
def capture(request: HttpRequest, name: str) -> HttpResponse:
    """One capture: its tables, the logs that it came from, and what could not be used."""
    row = services.find(name, request.user)
    if row is not None and row.state != row.State.FINISHED:
        return uploads.waiting_page(request, row)
    try:
        document = read_visible(name, request.user)
    except MissingData:
        raise Http404(f"no capture {name}") from None
    quality = document["quality"]
    # Where no log has sizes, columns of zeros would be taken for a finding.
    sized = quality["unsized"] < quality["flows"]
    found = [_section(key, table, sized) for key, table in document["tables"].items()]
    context = {
        "section": "traffic",
        "name": name,
        "title": row.name if row else name,
        "row": row,
        "document": document,
        "sections": found,
        "lead": found[0] if found else None,
        "first": _moment(quality["first_hour"]),
        "last": _moment(quality["last_hour"]),
        "sized": sized,
        "logs": [_log(log) for log in document["logs"]],
        "later": [t for t in document["range_tables"] if t["is_later"]],
    }
    return render(request, "traffic/capture.html", context)


def _section(table_id: str, table: dict[str, Any], sized: bool) -> dict[str, Any]:
    shown = [c for c in table["columns"] if sized or not c.startswith("bytes")]
    rows = [dict(zip(table["columns"], cells, strict=True)) for cells in table["rows"]]
    kept = [row for row in rows if row["flows"]]
    report = ReportRow(
        table_id=table_id,
        title=table["title"],
        columns=shown,
        rows=[[row[c] for c in shown] for row in kept],
        n=table["n"],
        headline=table["headline"],
        method=table["method"],
        source=table["source"],
        computed_at=datetime.fromtimestamp(0, UTC),
    )
    places = selectors.places((r["provider"], r["region"]) for r in kept if r.get("region"))
    return {
        "report": report,
        "grid": report_grid(report, "", places),
        "hidden": len(rows) - len(kept),
    }


def _log(log: dict[str, Any]) -> dict[str, Any]:
    reasons = ", ".join(_reason(why, own) for why, own in log["reasons"].items())
    # The path on the importer's machine is private.
    return {**log, "file": log["path"].rpartition("/")[2], "why": reasons}


def _reason(why: str, own: dict[str, Any]) -> str:
    """A reason with its number and the first lines of which it is one."""
    lines = ", ".join(formatting.count(line) for line in own["first_lines"])
    where = f" (line{'' if len(own['first_lines']) == 1 else 's'} {lines})" if lines else ""
    return f"{formatting.count(own['count'])} {why}{where}"


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
