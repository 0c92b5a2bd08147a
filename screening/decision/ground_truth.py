"""Decide from network tests whether an instance is good: p99.9 below 10 ms in all of them.

A stall delays all calls of its time, so calls of 10 ms or more are counted in clusters.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from screening.agent_parts.network import RATES
from screening.agent_parts.verdict import BAD, GOOD, UNKNOWN
from screening.report.parsing import CallTiming
from screening.statistics.distributions import find_beta_quantile
from screening.statistics.histograms import Pairs, find_middles_ms, find_percentile_ms, merge

LIMIT_MS = 10.0
SHARE = 0.001
# A caller that was slow to fewer servers may have met bad ones alone; and to fewer of them slower
# than another caller, servers with stalls that come and go.
FEWEST_SERVERS, FEWEST_SLOWER = 3, 2
# Ten calls are expected above p99.9 then.
FEWEST_CALLS = 10_000


@dataclass(frozen=True, slots=True)
class RateTruth:
    """One rate: ``over`` is the share of calls of 10 ms or more, with an interval."""

    rate: int
    calls: int
    lost: int
    p999_ms: float
    over: float
    low: float
    high: float
    status: str
    sure: bool


@dataclass(frozen=True, slots=True)
class Truth:
    """Good only when every rate is; one bad rate is enough to be bad."""

    status: str
    sure: bool
    rates: tuple[RateTruth, ...]
    reasons: tuple[str, ...]


def find_truth(calls: Sequence[CallTiming], rates: Iterable[int] = RATES) -> Truth:
    """Ground truth of one server from the calls that its clients made."""
    found = tuple(_find_rate_truth(rate, [c for c in calls if c.rate == rate]) for rate in rates)
    kinds = [each.status for each in found]
    status = BAD if BAD in kinds else UNKNOWN if UNKNOWN in kinds or not kinds else GOOD
    deciding = [each for each in found if each.status == status]
    sure = any(e.sure for e in deciding) if status == BAD else all(e.sure for e in deciding)
    return Truth(status, sure and status != UNKNOWN, found, tuple(map(_explain, found)))


def find_slow_callers(
    calls: Mapping[tuple[int, int], Sequence[CallTiming]],
) -> frozenset[int]:
    """Callers with stalls of their own, from the calls of each (caller, server).

    A stall of the caller delays its calls to all servers, and one of a server those of all its
    callers. A caller is slow if three of its servers or more are slow and none is fast, and two of
    them are less slow for another caller: all of that with certainty.
    """
    shares = {pair: _find_late_share(timings) for pair, timings in calls.items()}
    least: dict[int, float] = {}
    for (_, server), (_, high) in shares.items():
        least[server] = min(high, least.get(server, 1.0))
    late: dict[int, list[bool]] = {}
    for (caller, server), (low, _) in shares.items():
        if low > SHARE:
            late.setdefault(caller, []).append(least[server] < low)
    without_stalls = {caller for (caller, _), (_, high) in shares.items() if high < SHARE}
    return frozenset(
        caller
        for caller, is_slower in late.items()
        if len(is_slower) >= FEWEST_SERVERS
        and sum(is_slower) >= FEWEST_SLOWER
        and caller not in without_stalls
    )


def _find_late_share(timings: Sequence[CallTiming]) -> tuple[float, float]:
    """Interval of the share of late calls over all rates."""
    total = sum(call.calls for call in timings)
    if not total:
        return 0.0, 1.0
    over = sum(call.over_10ms + call.lost for call in timings)
    rate = sum(call.rate * call.calls for call in timings) / total
    return find_share_interval(over, total, find_cluster(_merge(timings), rate))


def _merge(timings: Iterable[CallTiming]) -> Pairs:
    return merge(call.histogram for call in timings)


def _find_rate_truth(rate: int, calls: list[CallTiming]) -> RateTruth:
    pairs = _merge(calls)
    total = sum(call.calls for call in calls)
    lost = sum(call.lost for call in calls)
    over = sum(call.over_10ms for call in calls) + lost
    if not total:
        return RateTruth(rate, 0, 0, float("nan"), float("nan"), 0.0, 1.0, UNKNOWN, False)
    low, high = find_share_interval(over, total, find_cluster(pairs, rate))
    status = BAD if over > SHARE * total else GOOD
    if total < FEWEST_CALLS and low <= SHARE:
        status = UNKNOWN
    p999 = find_percentile_ms(pairs, min(1.0, 0.999 * total / max(total - lost, 1)))
    sure = low > SHARE if status == BAD else high < SHARE
    return RateTruth(rate, total, lost, p999, over / total, low, high, status, sure)


def find_cluster(pairs: Pairs, rate: float) -> float:
    """Calls that one stall delays beyond 10 ms, from how far beyond they are."""
    if not pairs:
        return 1.0
    beyond = [
        (ms - LIMIT_MS, n)
        for ms, (_, n) in zip(find_middles_ms(pairs), pairs, strict=True)
        if ms >= LIMIT_MS
    ]
    count = sum(n for _, n in beyond)
    # A call that comes at a random moment of a stall waits half of it on average.
    mean_s = 2 * sum(ms * n for ms, n in beyond) / count / 1000 if count else 0.0
    return max(1.0, rate * mean_s)


def find_share_interval(over: int, total: int, cluster: float) -> tuple[float, float]:
    """Clopper and Pearson's 90 % interval of a share of clustered events."""
    events, trials = over / cluster, max(total / cluster, 1.0)
    low = find_beta_quantile(0.05, events, trials - events + 1) if events > 0 else 0.0
    high = find_beta_quantile(0.95, events + 1, trials - events) if events < trials else 1.0
    return low, high


def _explain(truth: RateTruth) -> str:
    if not truth.calls:
        return f"{truth.rate} calls per second: not measured"
    text = (
        f"{truth.rate} calls per second: p99.9 {truth.p999_ms:.1f} ms over {truth.calls:,} calls, "
        f"{100 * truth.over:.3f} % of 10 ms or more "
        f"({100 * truth.low:.3f} to {100 * truth.high:.3f} %)"
    )
    return text + (", not enough calls to tell" if truth.status == UNKNOWN else "")
