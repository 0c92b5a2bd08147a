"""The round-trip time within which a first-person game is played without a loss of performance."""

from analysis.campaigns.probe_reports.probe_report import Limit

LIMIT = Limit(
    use="games",
    statistic="rtt",
    bound=100,
    share=0.95,
    rule="95 % of queries are answered within 100 ms",
    source="Claypool and Claypool, CACM 49(11), 2006: first-person games",
)
