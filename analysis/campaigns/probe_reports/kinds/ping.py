"""Ping: round-trip times over TCP and ICMP."""

from analysis.campaigns.probe_reports.kinds.game_limit import LIMIT
from analysis.campaigns.probe_reports.probe_report import ProbeReport, Statistic

REPORT = ProbeReport(
    id="probe-ping",
    title="Ping",
    # Imported pings are named after their method: ``ping-icmp``, ``ping-tcp-ack``.
    probes=("tcp-ping", "icmp-echo", "globalping-ping", "ping-*"),
    statistics=(Statistic("rtt", "ms", title="round-trip time"),),
    limits=(LIMIT,),
    # The grid of latency has the statistics of pairs for campaigns of any size.
    max_runs=2_000_000,
)
