"""Jitter: a stream like a call's; its quality by the E-model of ITU-T G.107.

``R = 93.2 - Id - Ie_eff`` with ``Id = 0.024 d + 0.11 max(d - 177.3, 0)`` (Cole and Rosenbluth 2001)
and ``Ie_eff = 95 P / (P + 4.3)`` for G.711 without concealment (ITU-T G.113); ``P`` is the loss in
per cent. The delay ``d`` in ms is half the round-trip time, a packet of 20 ms and a playout buffer
of twice the jitter. Loss there and back counts as loss of one direction, so R is a lower estimate.
"""

from analysis.campaigns.probe_reports.probe_report import Limit, ProbeReport, Statistic, detail

_JITTER = detail("jitter_ms")
_MEDIAN = "list_aggregate(values, 'median')"
_DELAY = f"({_MEDIAN} / 2 + 20 + 2 * {_JITTER})"
_LOSS = "(100.0 * (sent - len(values)) / sent)"
_R = (
    f"93.2 - 0.024 * {_DELAY} - 0.11 * greatest({_DELAY} - 177.3, 0) "
    f"- 95 * {_LOSS} / ({_LOSS} + 4.3)"
)
REPORT = ProbeReport(
    id="probe-jitter",
    title="Jitter",
    probes=("jitter",),
    statistics=(
        Statistic("rtt", "ms", title="round-trip time"),
        Statistic("jitter", "ms", _JITTER),
        Statistic("loss", "%", f"CASE WHEN sent > 0 THEN {_LOSS} END"),
        Statistic("r_factor", "", f"CASE WHEN sent > 0 THEN {_R} END", higher_is_better=True),
    ),
    leading="jitter",
    limits=(
        Limit(
            use="calls",
            statistic="r_factor",
            bound=80,
            share=0.95,
            rule="95 % of streams have an R factor of 80 or more",
            source="ITU-T G.107 (R factor) and G.109: users satisfied",
            is_least=True,
        ),
    ),
)
