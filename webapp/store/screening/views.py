"""What a page shows of a pool beyond its rows: the choice of the best, one machine in detail."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.errors import BadInput
from screening.agent_parts.causes import CAUSES, find_cause
from screening.agent_parts.histograms import find_bounds_ns
from screening.decision.selection import (
    OWN_CAUSES,
    Candidate,
    Choice,
    LaunchFactor,
    choose_best,
    estimate_factor,
)
from screening.report.parsing import CallTiming, CpuTiming, Report, parse_report
from screening.statistics.histograms import find_percentile_ms
from screening.statistics.jitter import Jitter, Profile, collect_series, describe, profile
from webapp.store.models import PoolReport
from webapp.store.screening import body_files
from webapp.store.screening.selectors import (
    BAD,
    GOOD,
    NETWORK_TEST,
    UNKNOWN,
    InstanceRow,
    PoolRow,
    ReportRow,
    list_instances,
    report_row,
)

# A body was checked when it arrived; its clock is not looked at again.
ANY_TIME = 4_102_444_800.0
_CAUSES = {
    "steal": "by a neighbour",
    "run delay": "by other work inside the machine",
    "quota": "by its own CPU quota",
    "mixed": "by several causes",
    "unexplained": "no counter of its kernel tells why",
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """One machine in a group of the choice; ``why`` is a sentence."""

    instance: InstanceRow
    why: str


@dataclass(frozen=True, slots=True)
class ChoiceView:
    """The best of a pool; ``factor`` is missing with a ``reason`` while nothing is called good.

    Every machine of the pool is in one of the five groups of
    :class:`screening.decision.selection.Choice`. ``expected_bad`` is how many of the chosen are
    expected to be bad after all.
    """

    wanted: int
    chosen: tuple[Chosen, ...]
    spare: tuple[Chosen, ...]
    terminate: tuple[Chosen, ...]
    measure_again: tuple[Chosen, ...]
    own_load: tuple[Chosen, ...]
    expected_bad: float
    missing: int
    called: int
    launched: int
    factor: LaunchFactor | None
    reason: str
    headline: str


@dataclass(frozen=True, slots=True)
class StallView:
    """One sleep of 10 ms or more, and what the kernel counted during it."""

    at_s: float
    length_ms: float
    cause: str
    run_delay_ms: float
    steal_ms: float
    throttled_ms: float


@dataclass(frozen=True, slots=True)
class CpuView:
    """One virtual CPU: figures, histogram as (low µs, high µs, count), its stalls and causes."""

    cpu: int
    figures: dict[str, Any]
    histogram: tuple[tuple[float, float, int], ...]
    stalls: tuple[StallView, ...]
    causes: dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class CallView:
    """Calls to one server at one rate; ``histogram`` as for a CPU."""

    caller: str
    server: str
    figures: dict[str, Any]
    histogram: tuple[tuple[float, float, int], ...]


@dataclass(frozen=True, slots=True)
class BatteryView:
    """One test of the battery: how much its values vary, and by which hour of the day."""

    name: str
    jitter: Jitter
    profile: Profile
    values: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class InstanceView:
    """One machine and one of its reports; without a report only its calls are known."""

    instance: InstanceRow
    report: ReportRow | None
    reports: tuple[ReportRow, ...]
    cpus: tuple[CpuView, ...]
    calls: tuple[CallView, ...]
    battery: tuple[BatteryView, ...]
    host: dict[str, Any]
    pressure_us: dict[str, dict[str, int]]
    causes: dict[str, str]


def choose(pool: PoolRow, wanted: int | None = None) -> ChoiceView:
    """Select the best ``wanted`` machines, by default the pool's number; raise ``BadInput``."""
    number = pool.wanted if wanted is None else wanted
    if not 1 <= number <= 100_000:
        raise BadInput("choose 1 to 100,000 machines", field="wanted")
    rows = {str(row.id): row for row in list_instances(pool)}
    choice = choose_best([_candidate(key, row) for key, row in rows.items()], number)
    judged = [row for row in rows.values() if row.verdict]
    called = sum(is_called_good(row) for row in judged)
    factor, reason = _factor(called, len(judged), number, pool.price)
    chosen, spare, terminate, again, own = (
        tuple(Chosen(rows[c.name], _why(c, rows[c.name])) for c in group)
        for group in (
            choice.chosen,
            choice.spare,
            choice.terminate,
            choice.measure_again,
            choice.own_load,
        )
    )
    return ChoiceView(
        number,
        chosen,
        spare,
        terminate,
        again,
        own,
        choice.expected_bad,
        choice.missing,
        called,
        len(judged),
        factor,
        reason,
        _headline(number, choice),
    )


def is_called_good(row: InstanceRow) -> bool:
    """Good by its sleeps and not refuted by calls, or confirmed by calls."""
    return row.truth == GOOD or (row.verdict == GOOD and row.truth != BAD)


def _candidate(key: str, row: InstanceRow) -> Candidate:
    def known(value: float | None) -> float:
        return float("inf") if value is None else value

    return Candidate(
        key,
        row.verdict or UNKNOWN,
        known(row.per_100s),
        known(row.rate_high),
        known(row.p999_ms),
        row.good_chance or 0.0,
        {GOOD: True, BAD: False}.get(row.truth),
        row.truth_sure,
        row.sure,
        row.cause,
        row.label,
    )


def _factor(called: int, launched: int, wanted: int, price: float) -> tuple[Any, str]:
    try:
        return estimate_factor(called, launched, wanted, price), ""
    except BadInput as error:
        return None, str(error)


def _why(candidate: Candidate, row: InstanceRow) -> str:
    if candidate.confirmed:
        tail = "" if row.truth_p999_ms is None else f", p99.9 {row.truth_p999_ms:.1f} ms"
        return f"network tests found it good{tail}"
    said = _describe_verdict(row)
    if row.per_100s is not None and row.verdict != UNKNOWN:
        said += f", {row.per_100s:.1f} stalls per 100 s"
    if row.label == GOOD and row.verdict != GOOD:
        said += "; you said that it is good"
    return said


def _describe_verdict(row: InstanceRow) -> str:
    doubt = "surely" if row.sure else "probably"
    slow = row.truth == BAD
    if row.verdict == GOOD:
        return "calls to it are slow, its own sleeps are not" if slow else f"{doubt} good"
    if row.verdict == BAD:
        return f"{doubt} bad, {_CAUSES.get(row.cause, 'cause unknown')}"
    if row.verdict != NETWORK_TEST:
        short = f"measured for {row.seconds:.0f} s, too short to tell"
        said = short if row.verdict else "has not measured itself yet"
        return said + ("; calls to it are slow" if slow else "")
    if row.cause in OWN_CAUSES:
        return f"between the thresholds, {_CAUSES[row.cause]}"
    if not slow:
        return "between the thresholds: a network test would tell"
    return (
        f"between the thresholds, found slow by network tests, "
        f"{_CAUSES.get(row.cause, 'cause unknown')}"
    )


def _headline(wanted: int, choice: Choice) -> str:
    chosen = len(choice.chosen)
    doubt = f"{choice.expected_bad:.1f}" if choice.expected_bad >= 0.05 else "none"
    are = "is" if chosen == 1 else "are"
    if chosen:
        some = f"The best {chosen}" if chosen == wanted else f"{chosen} of {wanted} wanted"
        text = f"{some} {are} found, {doubt} of them expected to be bad"
    else:
        text = f"None of {wanted} wanted is found yet" if wanted > 1 else "No machine is good yet"
    groups = (
        (choice.terminate, "to terminate"),
        (choice.measure_again, "to measure again"),
        (choice.own_load, "slowed by own load"),
    )
    rest = ", ".join(f"{len(group):,} {word}" for group, word in groups if group)
    return f"{text}; {rest}" if rest else text


def instance_view(
    pool: PoolRow, instance: InstanceRow, report_id: str = "", points: int = 200
) -> InstanceView | None:
    """A machine with one of its reports (the newest by default); None for an unknown report."""
    found = PoolReport.objects.filter(pool=pool.id, instance=instance.id)
    found = found.select_related("instance").order_by("-has_sleeps", "-started_at", "-id")
    shown = (found.filter(report_id=report_id) if report_id else found).first()
    if shown is None and report_id:
        return None
    rows = tuple(report_row(one) for one in found.order_by("-started_at", "-id")[:points])
    report = read_report(shown) if shown else None
    return InstanceView(
        instance=instance,
        report=report_row(shown) if shown else None,
        reports=rows,
        cpus=tuple(map(_cpu_view, report.cpus)) if report else (),
        calls=tuple(call_view(report.host.name, c) for c in report.network) if report else (),
        battery=tuple(_battery_views(report)) if report else (),
        host=_host(report) if report else instance.host,
        pressure_us=report.pressure_us if report else {},
        causes=dict(CAUSES),
    )


def _host(report: Report) -> dict[str, Any]:
    return asdict(report.host)


def read_report(row: PoolReport) -> Report:
    """A stored report; OSError or BadInput when its pack was lost or altered."""
    place = body_files.Place(row.pack, row.offset, row.length)
    return parse_report(body_files.read(row.pool_id, place), ANY_TIME)


def _cpu_view(cpu: CpuTiming) -> CpuView:
    stalls = tuple(
        StallView(
            stall.at_us / 1e6,
            stall.length_us / 1000,
            find_cause(stall),
            stall.run_delay_us / 1000,
            stall.steal_us / 1000,
            stall.throttled_us / 1000,
        )
        for stall in cpu.stalls
    )
    causes: dict[str, dict[str, float]] = {}
    for stall in stalls:
        entry = causes.setdefault(stall.cause, {"stalls": 0, "ms": 0.0})
        entry["stalls"] += 1
        entry["ms"] += stall.length_ms
    left_out = ("histogram", "stalls", "cpu")
    figures = {name: getattr(cpu, name) for name in cpu.__slots__ if name not in left_out}
    return CpuView(cpu.cpu, figures, _slots(cpu.histogram), stalls, causes)


def _slots(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[float, float, int], ...]:
    bounds = ((find_bounds_ns(slot), count) for slot, count in pairs)
    return tuple((low / 1000, high / 1000, count) for (low, high), count in bounds)


def call_view(caller: str, call: CallTiming) -> CallView:
    """Calls to one server as a page shows them."""
    left_out = ("histogram", "server")
    figures = {name: getattr(call, name) for name in call.__slots__ if name not in left_out}
    figures["p999_ms"] = find_percentile_ms(call.histogram, 0.999) if call.histogram else None
    return CallView(caller, call.server, figures, _slots(call.histogram))


def _battery_views(report: Report) -> list[BatteryView]:
    views = []
    for name, values in collect_series(report.battery).items():
        times, numbers = zip(*values, strict=True)
        views.append(BatteryView(name, describe(numbers), profile(times, numbers), tuple(values)))
    return views
