"""Throughput: the rate of whole objects."""

from analysis.campaigns.probe_reports.probe_report import Limit, ProbeReport, Statistic, detail

REPORT = ProbeReport(
    id="probe-throughput",
    title="Throughput",
    probes=("throughput",),
    statistics=(
        Statistic("rate", "B/s", higher_is_better=True),
        Statistic("first_byte", "ms", detail("first_byte_ms")),
    ),
    limits=(
        Limit(
            use="streams",
            statistic="rate",
            bound=125000,
            share=0.95,
            rule="95 % of transfers reach 1 Mbit/s",
            source="Barker and Shenoy, MMSys 2010: streams of 1 Mbit/s",
            is_least=True,
        ),
    ),
)
