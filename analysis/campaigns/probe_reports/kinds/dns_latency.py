"""Resolver: the time of one DNS question."""

from analysis.campaigns.probe_reports.probe_report import ProbeReport, Statistic

REPORT = ProbeReport(
    id="probe-resolver",
    title="Resolver",
    probes=("resolver",),
    statistics=(Statistic("rtt", "ms", title="round-trip time"),),
)
