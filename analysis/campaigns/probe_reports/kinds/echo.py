"""Echo: 32 KB there and back over one TCP connection."""

from analysis.campaigns.probe_reports.probe_report import ProbeReport, Statistic

REPORT = ProbeReport(
    id="probe-echo",
    title="TCP echo",
    probes=("echo",),
    statistics=(Statistic("rtt", "ms", title="round-trip time"),),
)
