"""Build the instances of a pool from its reports, with verdict, truth and history.

An instance is its name. Calls name their servers as ``host:port``; the host is the instance.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from screening.agent_parts.verdict import BAD, GOOD, UNKNOWN
from screening.decision.ground_truth import Truth, find_truth
from screening.decision.selection import Candidate
from screening.decision.verdict import Marks, Verdict, find_verdict
from screening.report.parsing import CallTiming, Report
from screening.statistics.histograms import find_percentile_ms


@dataclass(frozen=True, slots=True)
class Instance:
    """One machine of a pool: its newest verdict, and the truth where its calls were timed."""

    name: str
    report: Report | None
    verdict: Verdict | None
    truth: Truth | None


def collect_instances(reports: Iterable[Report], marks: Marks | None = None) -> list[Instance]:
    """Every instance that reported sleeps or answered calls, by name."""
    newest: dict[str, Report] = {}
    calls: dict[str, list[CallTiming]] = {}
    for report in sorted(reports, key=lambda report: report.started_at):
        if report.cpus:
            newest[report.host.name] = report
        for call in report.network:
            calls.setdefault(find_server(call), []).append(call)
    return [
        _build_instance(name, newest.get(name), calls.get(name), marks)
        for name in sorted({*newest, *calls})
    ]


def find_server(call: CallTiming) -> str:
    """Name of the instance that was called."""
    return call.server.rpartition(":")[0].strip("[]") or call.server


def _build_instance(
    name: str, report: Report | None, calls: list[CallTiming] | None, marks: Marks | None
) -> Instance:
    verdict = find_verdict(report, marks) if report else None
    return Instance(name, report, verdict, find_truth(calls) if calls else None)


def build_candidates(instances: Sequence[Instance]) -> list[Candidate]:
    """What the choice of the best needs."""
    return [_build_candidate(instance) for instance in instances]


def _build_candidate(instance: Instance) -> Candidate:
    truth, verdict = instance.truth, instance.verdict
    confirmed = {GOOD: True, BAD: False}.get(truth.status if truth else UNKNOWN)
    surely = bool(truth and truth.sure)
    if verdict is None or verdict.rate is None:
        unknown = float("inf")
        return Candidate(instance.name, UNKNOWN, unknown, unknown, unknown, 0.0, confirmed, surely)
    return Candidate(
        instance.name,
        verdict.verdict,
        verdict.rate.per_100s,
        verdict.rate.high,
        verdict.p999_ms,
        verdict.chances[GOOD],
        confirmed,
        surely,
        verdict.sure,
        verdict.attribution.cause if verdict.attribution else "",
    )


def collect_cells(reports: Iterable[Report]) -> list[tuple[str, str, float]]:
    """Caller, server and p99.9 in milliseconds: cells of the heat map, the worst rate each."""
    cells: dict[tuple[str, str], float] = {}
    for report in reports:
        for call in report.network:
            key = (report.host.name, find_server(call))
            p999_ms = find_percentile_ms(call.histogram, 0.999)
            cells[key] = max(cells.get(key, 0.0), p999_ms)
    return [(*key, p999_ms) for key, p999_ms in cells.items()]


def collect_statuses(
    reports: Iterable[Report], marks: Marks | None = None
) -> dict[str, list[tuple[float, bool]]]:
    """Good or not over time per instance; runs with too little evidence are left out."""
    series: dict[str, list[tuple[float, bool]]] = {}
    for report in reports:
        verdict = find_verdict(report, marks)
        if verdict.verdict != UNKNOWN:
            points = series.setdefault(report.host.name, [])
            points.append((report.started_at, verdict.verdict == GOOD))
    return series


def collect_stall_times(reports: Iterable[Report]) -> list[float]:
    """When every kept stall ended, seconds since the epoch."""
    return sorted(
        report.started_at + stall.at_us / 1e6
        for report in reports
        for cpu in report.cpus
        for stall in cpu.stalls
    )
