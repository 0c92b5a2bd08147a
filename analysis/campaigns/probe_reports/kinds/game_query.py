"""Game query: the answers of a game server to queries at one a second."""

from analysis.campaigns.probe_reports.kinds.game_limit import LIMIT
from analysis.campaigns.probe_reports.probe_report import ProbeReport, Statistic

REPORT = ProbeReport(
    id="probe-game-query",
    title="Game query",
    probes=("game-query",),
    statistics=(Statistic("rtt", "ms", title="round-trip time"),),
    limits=(LIMIT,),
)
