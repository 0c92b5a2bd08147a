"""JSON documents of pools."""

import math
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest

from webapp.store.screening import selectors
from webapp.store.screening.selectors import InstanceRow, LogRow, PoolRow, ReportRow, TokenRow
from webapp.store.screening.views import ChoiceView, InstanceView

BASE = "/api/v1/screening"
INSTANCE_COLUMNS = (
    "id",
    "name",
    "machine",
    "verdict",
    "sure",
    "stalls",
    "seconds",
    "per_100s",
    "rate_low",
    "rate_high",
    "p999_ms",
    "good_chance",
    "cause",
    "truth",
    "truth_sure",
    "truth_p999_ms",
    "label",
    "n_reports",
    "first_seen_at",
    "last_seen_at",
)


def pool_json(row: PoolRow, request: HttpRequest, address: str = "") -> dict[str, Any]:
    """Return a pool; its share link is included for its owner only."""
    base = address or f"{BASE}/pools/{row.key}"
    document = asdict(row)
    for name in ("id", "findings", "revision", "analysed_revision", "share_secret"):
        document.pop(name)
    shared = f"/screening/shared/{row.share_secret}/" if row.share_secret else None
    return {
        **document,
        "is_analysed": row.is_analysed,
        "headlines": headlines(row),
        "share": request.build_absolute_uri(shared) if shared else None,
        "links": {
            "self": base,
            "instances": f"{base}/instances",
            "findings": f"{base}/findings",
            "choice": f"{base}/choice",
            **(
                {}
                if address
                else {
                    "reports": f"{base}/reports",
                    "logs": f"{base}/logs",
                    "page": f"/screening/pools/{row.key}/",
                }
            ),
        },
    }


def headlines(row: PoolRow) -> dict[str, str]:
    """Return the headline of each section, or the reason why it is missing."""
    return {
        name: str(own.get("headline") or own.get("reason") or "")
        for name, own in row.findings.items()
    }


def token_json(row: TokenRow) -> dict[str, Any]:
    """A token without its secret."""
    return asdict(row)


def instance_json(row: InstanceRow) -> dict[str, Any]:
    """A machine with its newest verdict."""
    return asdict(row)


def instance_cells(row: InstanceRow) -> list[Any]:
    """A machine as a row of a table."""
    values = (getattr(row, name) for name in INSTANCE_COLUMNS)
    return [value.isoformat() if hasattr(value, "isoformat") else value for value in values]


def report_json(row: ReportRow) -> dict[str, Any]:
    """A report without its histogram; ``GET …/reports/ID`` has all of it."""
    document = asdict(row)
    document.pop("id")
    return document


def view_json(view: InstanceView) -> dict[str, Any]:
    """A machine in detail; stalls as ``[at s, length ms, cause]``."""
    return plain(asdict(view))


def choice_json(view: ChoiceView) -> dict[str, Any]:
    """The best machines and what they cost."""
    return plain(asdict(view))


def plain(document: Any) -> Any:
    """Replace NaN and infinity by null, which JSON lacks."""
    if isinstance(document, dict):
        return {str(name): plain(value) for name, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [plain(value) for value in document]
    if isinstance(document, float) and not math.isfinite(document):
        return None
    return document


def log_json(row: LogRow) -> dict[str, Any]:
    """A log of another tool."""
    return plain(asdict(row))


def pool_etag(row: PoolRow) -> str:
    """A pool's entity tag."""
    return f'"{row.key}-{selectors.find_last_change(row)}"'
