"""The list of all reports of probes: every module of ``kinds`` with a ``REPORT``."""

from importlib import import_module
from pkgutil import iter_modules

from analysis.campaigns.probe_reports import kinds
from analysis.campaigns.probe_reports.probe_report import ProbeReport


def _find_reports() -> tuple[ProbeReport, ...]:
    """Import the modules of ``kinds``; raise ``ValueError`` where two reports have one id."""
    found: dict[str, ProbeReport] = {}
    for module in iter_modules(kinds.__path__, f"{kinds.__name__}."):
        report = getattr(import_module(module.name), "REPORT", None)
        if report is None:
            continue
        if report.id in found:
            raise ValueError(f"two reports of probes are named {report.id!r}")
        found[report.id] = report
    return tuple(sorted(found.values(), key=lambda report: report.title.casefold()))


REPORTS: tuple[ProbeReport, ...] = _find_reports()
REPORT_BY_ID = {report.id: report for report in REPORTS}
