"""Ping: round-trip times; the statistics of each pair are in the grid of latency."""

from analysis.campaigns.probe_reports.game_limit import LIMIT
from analysis.campaigns.probe_reports.probe_report import ProbeReport, Statistic

REPORT = ProbeReport(
    id="probe-ping",
    title="Ping",
    probes=("tcp-ping", "icmp-echo", "globalping-ping"),
    statistics=(Statistic("rtt", "ms"),),
    limits=(LIMIT,),
)
