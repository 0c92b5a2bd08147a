"""Traffic captures: which there are, and the tables of one."""

from datetime import UTC, datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from tasks.traffic import log_import
from webapp.pages.ui import formatting
from webapp.pages.ui.table_page import report_grid
from webapp.store.surveys import selectors
from webapp.store.surveys.selectors import ReportRow


@require_GET
def captures(request: HttpRequest) -> HttpResponse:
    """Every imported capture, the newest first."""
    rows = [_line(log_import.read_report(name)) for name in log_import.list_imports()]
    return render(request, "traffic/list.html", {"section": "traffic", "rows": rows})


def _line(document: dict[str, Any]) -> dict[str, Any]:
    clouds = document["tables"]["traffic-clouds"]
    return {
        "name": document["name"],
        "world": document.get("world", ""),
        "headline": clouds["headline"],
        "flows": document["quality"]["flows"],
        "rows": sum(log["rows"] for log in document["logs"]),
        "first": _moment(document["quality"]["first_hour"]),
        "last": _moment(document["quality"]["last_hour"]),
    }


@require_GET
def capture(request: HttpRequest, name: str) -> HttpResponse:
    """One capture: its tables, the logs that it came from, and what could not be used."""
    if name not in log_import.list_imports():
        raise Http404(f"no capture {name}")
    document = log_import.read_report(name)
    quality = document["quality"]
    # Where no log has sizes, columns of zeros would be taken for a finding.
    sized = quality["unsized"] < quality["flows"]
    found = [_section(key, table, sized) for key, table in document["tables"].items()]
    context = {
        "section": "traffic",
        "name": name,
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
    reasons = ", ".join(f"{formatting.count(n)} {why}" for why, n in log["reasons"].items())
    # The path on the importer's machine is private.
    return {**log, "file": log["path"].rpartition("/")[2], "why": reasons}


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
