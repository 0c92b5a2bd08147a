"""Path stability: how often successive traceroutes of one pair and flow differ.

Prevalence is the share of traceroutes on the most frequent route of their ends and flow (Paxson,
"End-to-end routing behavior in the Internet", SIGCOMM 1996). The columns ``changed`` and
``prevalent`` are those of ``analysis.campaigns.routes.path_runs``.
"""

from analysis.campaigns.probe_reports.probe_report import ProbeReport, Share, Statistic

REPORT = ProbeReport(
    id="probe-traceroute",
    title="Path stability",
    needs="Paths are compared where there are two complete traceroutes of the same vantage point, "
    "target and flow.",
    probes=("traceroute",),
    # RIPE Atlas ends a traceroute without replies by one packet with a TTL of 255: the number of
    # hops of a target that answers it is not known.
    statistics=(Statistic("hops", "", "CASE WHEN values[1] < 255 THEN values[1] END"),),
    shares=(
        Share(
            "changed",
            "changed",
            "CASE WHEN changed IS NOT NULL THEN 1 END",
            title="share of changed paths",
        ),
        Share("prevalence", "prevalent", "1", higher_is_better=True, title="prevalence"),
        Share(
            "not_reached",
            "sent - coalesce(len(values), 0)",
            "sent",
            title="share of targets not reached",
        ),
    ),
    leading="changed",
    columns=("changed", "prevalent"),
)
