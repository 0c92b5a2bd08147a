"""Reports of probes of a campaign: their declarations, and the rows of their tables."""

from typing import Any

from analysis.campaigns.probe_reports.probe_report import ProbeReport, Share, Statistic
from analysis.campaigns.probe_reports.registry import REPORT_BY_ID, REPORTS
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign

PREFIX = "probe-"
Row = dict[str, Any]


def list_reports(found: Campaign) -> list[ProbeReport]:
    """Return the reports with a table, in the order of their titles."""
    built = set(selectors.file_names(found))
    return [report for report in REPORTS if report.id in built]


def find_report(found: Campaign, name: str) -> ProbeReport | None:
    """Return the report of a name without its prefix, where the campaign has its table."""
    report = REPORT_BY_ID.get(f"{PREFIX}{name}")
    return report if report and selectors.has_table(found, report.id) else None


def leading_statistic(report: ProbeReport) -> str:
    """Return the name of the statistic that headlines are about."""
    return report.leading or report.statistics[0].name


def find_part(report: ProbeReport, name: str) -> Statistic | Share:
    """Return the statistic or share of a name, or the leading one."""
    parts = {part.name: part for part in report.parts}
    return parts.get(name) or parts[leading_statistic(report)]


def read_rows(found: Campaign, report: ProbeReport, equal: Row) -> list[Row]:
    """Return the rows of a report that have these values."""
    rows: list[Row] = selectors.read_table(found, report.id, None, equal).to_pylist()
    return rows
