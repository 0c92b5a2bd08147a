"""The JSON shapes of ``packets``: accounts of files and tables of a report."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from analysis.traffic.report import TrafficReport
from analysis.traffic.tables import TRAFFIC_SPEC_BY_ID
from cartography.traffic.import_report import LogReport, TrafficCounts
from cartography.traffic.text_columns import HOUR_S
from core.providers import PROVIDERS


def import_document(
    name: str, accounts: Sequence[LogReport], report: TrafficReport
) -> dict[str, Any]:
    """The ``--json`` shape of ``packets import``."""
    return {
        "name": name,
        "logs": [_log(account, number, report) for number, account in enumerate(accounts)],
        "clouds": _clouds(accounts, report),
        "opened": _opened(report),
        **report_document(report),
    }


def report_document(report: TrafficReport) -> dict[str, Any]:
    """The tables of a report, with their notes and caveats."""
    quality = dict(report.quality)
    for edge in ("first_hour", "last_hour"):
        quality[edge] = _hour(quality[edge])
    tables = {}
    for table_id, table in report.tables.items():
        spec = TRAFFIC_SPEC_BY_ID[table_id]
        tables[table_id] = {
            **table.as_json(),
            "n": table.n,
            "title": spec.title,
            "headline": report.headlines[table_id],
            "source": spec.source,
            "method": spec_method(table_id),
        }
    return {"tables": tables, "quality": quality, "checks": report.checks}


def spec_method(table_id: str) -> str:
    """The page that documents how a table is made."""
    return f"docs/methods/traffic.md#{table_id}"


def _log(account: LogReport, number: int, report: TrafficReport) -> dict[str, Any]:
    clouds = account.clouds.total()
    if not account.has_connections:
        for provider, own in clouds.items():
            own.flows = report.log_flows.get((number, provider), 0)
    return {
        "path": account.path,
        "kind": "capture" if account.is_capture else "+".join(account.kinds) or None,
        "rows": account.rows,
        "rejected": account.tally.total,
        "reasons": account.tally.as_json(),
        "damage": account.damage or None,
        "without_time": account.without_time,
        "first_hour": _hour(account.first_hour),
        "last_hour": _hour(account.last_hour),
        "clouds": _sums(clouds),
        "corporate": _sums(account.corporate.total()),
        "elsewhere": account.elsewhere.total().get("", TrafficCounts()).as_json(),
    }


def _sums(sums: dict[str, TrafficCounts]) -> dict[str, Any]:
    return {name: sums[name].as_json() for name in PROVIDERS if name in sums}


def _clouds(accounts: Sequence[LogReport], report: TrafficReport) -> dict[str, Any]:
    """Rows of all logs; bytes and flows of the recorded connections, each counted once."""
    found, totals = {}, [account.clouds.total() for account in accounts]
    for provider in PROVIDERS:
        rows = sum(own[provider].rows for own in totals if provider in own)
        if rows:
            n_bytes, flows = report.totals.get(provider, (None, 0))
            found[provider] = {"rows": rows, "bytes": n_bytes, "flows": flows}
    return found


def _opened(report: TrafficReport) -> dict[str, Any]:
    """What the published tables count: flows that clients inside opened towards a cloud."""
    table = report.tables["traffic-clouds"]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {
        row["provider"]: {"bytes": row["bytes"], "flows": row["flows"]}
        for row in rows
        if row["flows"] and row["provider"] in PROVIDERS
    }


def _hour(hour: int | None) -> str | None:
    return None if hour is None else datetime.fromtimestamp(hour * HOUR_S, UTC).isoformat()
