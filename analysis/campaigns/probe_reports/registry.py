"""The list of all reports of probes."""

from analysis.campaigns.probe_reports import (
    dns_latency,
    echo,
    game_query,
    http_timing,
    jitter,
    ping,
    throughput,
)
from analysis.campaigns.probe_reports.probe_report import ProbeReport

REPORTS: tuple[ProbeReport, ...] = (
    http_timing.REPORT,
    dns_latency.REPORT,
    echo.REPORT,
    game_query.REPORT,
    jitter.REPORT,
    ping.REPORT,
    throughput.REPORT,
)
# Probes of these reports have their statistics in the grids of latency and throughput.
IN_GRIDS = frozenset({ping.REPORT.id, throughput.REPORT.id})
