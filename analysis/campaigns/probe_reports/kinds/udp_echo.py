"""UDP echo: the round-trip times of single datagrams, and their loss."""

from analysis.campaigns.probe_reports.kinds.game_limit import LIMIT
from analysis.campaigns.probe_reports.probe_report import ProbeReport, Statistic

REPORT = ProbeReport(
    id="probe-udp-echo",
    title="UDP echo",
    probes=("udp-echo",),
    statistics=(Statistic("rtt", "ms", title="round-trip time"),),
    limits=(LIMIT,),
)
