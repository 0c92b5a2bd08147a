"""Algorithm 1, its doubt, its cause and the ground truth."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import special

from screening.agent_parts.causes import Stall, find_cause
from screening.agent_parts.histograms import find_slot
from screening.agent_parts.verdict import classify_cpus, place
from screening.decision import pools
from screening.decision.cause import attribute
from screening.decision.ground_truth import find_slow_callers, find_truth
from screening.decision.rate_interval import estimate_rate, find_interval
from screening.decision.selection import choose_best
from screening.decision.verdict import Marks, find_verdict
from screening.report.parsing import CallTiming, parse_report

NOW = 1_795_300_000.0


@pytest.mark.parametrize(
    ("stalls", "verdict"),
    [(0, "good"), (13, "good"), (14, "network-test"), (65, "network-test"), (66, "bad")],
)
def test_in_a_hundred_seconds_the_marks_are_the_papers(stalls, verdict):
    assert place(stalls, 100.0, 13, 65) == verdict


def test_a_short_run_is_not_judged_before_it_can_be():
    assert place(0, 1.0, 13, 65) == "not-enough"
    assert place(0, 10.0, 13, 65) == "good"
    assert place(1, 1.0, 13, 65) == "not-enough"
    assert place(10, 1.0, 13, 65) == "bad"
    assert place(3, 10.0, 13, 65) == "network-test"


def test_intervals_are_garwoods():
    assert find_interval(0, 0.95) == pytest.approx((0, 3.689), abs=0.001)
    assert find_interval(10, 0.95) == pytest.approx((4.795, 18.39), abs=0.01)


def draw_bursts(rng, seconds, per_100s, size):
    starts = rng.uniform(0, seconds, rng.poisson(per_100s / 100 * seconds / size))
    sizes = rng.geometric(1 / size, len(starts))
    pairs = zip(starts, sizes, strict=True)
    times = np.concatenate([[], *(start + rng.uniform(0, 0.4, n) for start, n in pairs)])
    return np.sort(times[times < seconds])


def test_the_interval_covers_bursty_stalls():
    rng = np.random.default_rng(5)
    hits = plain = 0
    for _ in range(400):
        times = draw_bursts(rng, 100, 60, 4)
        rate = estimate_rate(times, 100)
        hits += rate.low <= 60 <= rate.high
        low, high = find_interval(len(times), 0.9)
        plain += low <= 60 <= high
    # Poisson's interval covers far less than it says.
    assert plain / 400 < 0.65
    assert hits / 400 > 0.85


def test_single_stalls_keep_poissons_interval():
    rng = np.random.default_rng(6)
    spread = [estimate_rate(np.sort(rng.uniform(0, 100, 40)), 100).dispersion for _ in range(100)]
    assert np.median(spread) < 1.8


def make_report(sample, stalls, seconds=100.0, **cpu):
    document = json.loads(sample)
    base = document["cpus"][0]
    counts = {1000: 5}
    for _, length_us, *_ in stalls:
        slot = find_slot(length_us * 1000)
        counts[slot] = counts.get(slot, 0) + 1
    base |= {
        "seconds": seconds,
        "stalls": stalls,
        "stalls_10ms": len(stalls),
        "wakeups": len(stalls) + 5,
        "histogram": sorted(map(list, counts.items())),
        "p50_us": 120,
        "p99_us": 200,
        "p999_us": 9000,
        "max_us": 40_000,
        **cpu,
    }
    document["cpus"] = [base]
    document["seconds"] = seconds
    return parse_report(json.dumps(document).encode(), NOW)


def spread_stalls(count, *counters):
    return [[1000 * (i + 1), 20_000, *counters] for i in range(count)]


def test_a_verdict_names_its_cause_and_its_doubt(sample):
    bad = find_verdict(make_report(sample, spread_stalls(900, 100, 20_000, 0), steal_ms=18_000))
    assert (bad.verdict, bad.sure, bad.attribution.cause) == ("bad", True, "steal")
    assert any("18000 ms stolen" in reason for reason in bad.reasons)
    good = find_verdict(make_report(sample, []))
    assert (good.verdict, good.sure) == ("good", True)
    assert good.chances["good"] > 0.99
    edge = find_verdict(make_report(sample, [[10**6 * i, 11_000, 0, 0, 0] for i in range(1, 14)]))
    assert edge.verdict == "good"
    assert not edge.sure
    assert Marks(5, 10).place(13, 100) == "bad"


@pytest.mark.parametrize(
    ("stall", "cause"),
    [
        (Stall(1, 30_000, 29_900, 0, 0), "run delay"),
        (Stall(1, 30_000, 29_900, 0, 28_000), "quota"),
        (Stall(1, 30_000, 10, 30_000, 0), "steal"),
        # Ticks of 10 ms: one of them in 18 ms is all that can be seen.
        (Stall(1, 18_000, 10, 10_000, 0), "steal"),
        (Stall(1, 30_000, 10, 0, 0), "unexplained"),
        (Stall(1, 30_000, 29_000, 10_000, 0), "run delay"),
    ],
)
def test_the_cause_of_one_stall(stall, cause):
    assert find_cause(stall) == cause


def test_mixed_causes_are_told_apart(sample):
    stalls = [[1000, 20_000, 20_000, 0, 0], [2000, 20_000, 0, 20_000, 0], [3000, 20_000, 0, 0, 0]]
    report = make_report(sample, stalls)
    found = attribute(report.cpus[0], report.host)
    assert found.cause == "mixed"
    assert found.stalls == {"quota": 0, "run delay": 1, "steal": 1, "unexplained": 1}
    assert len(found.sentences) == 3


def test_the_agent_says_the_same_as_the_site(sample):
    report = make_report(sample, spread_stalls(40, 0, 0, 0))
    cpu = dataclasses.asdict(report.cpus[0]) | {"causes": {"unexplained": {"stalls": 40}}}
    assert classify_cpus([cpu])[0] == find_verdict(report).verdict == "network-test"


def make_calls(rate, calls, over, late_ms=20.0, lost=0):
    answered = calls - lost
    pairs = [(find_slot(600_000), answered - over)]
    pairs += [(find_slot(int(late_ms * 1e6)), over)] if over else []
    return CallTiming(
        "s", rate, 100, calls, answered, lost, 0, over, 600, 700, 800, 900, tuple(pairs)
    )


def test_truth_needs_all_rates_and_enough_calls():
    good = [make_calls(rate, 100_000, 5) for rate in (100, 200, 500)]
    assert (find_truth(good).status, find_truth(good).sure) == ("good", True)
    assert find_truth(good[:2]).status == "not-enough"
    assert find_truth([make_calls(100, 1000, 0), *good[1:]]).status == "not-enough"
    assert find_truth([make_calls(100, 1000, 200), *good[1:]]).status == "bad"
    assert find_truth([*good[:2], make_calls(500, 100_000, 5000)]).status == "bad"
    assert find_truth([*good[:2], make_calls(500, 100_000, 0, lost=400)]).status == "bad"
    near = [*good[:2], make_calls(500, 20_000, 19)]
    assert (find_truth(near).status, find_truth(near).sure) == ("good", False)
    assert "p99.9" in find_truth(good).reasons[0]


def test_callers_that_stall_themselves_are_found_and_callers_of_bad_servers_are_not():
    bad = {2, 3, 4}
    calls = {
        (caller, server): [make_calls(100, 10_000, 400 if {caller, server} & bad else 0)]
        for caller in range(6)
        for server in range(6)
        if caller != server
    }
    assert find_slow_callers(calls) == bad
    # Machine 0 called bad servers alone, and found what they are.
    some = {pair: own for pair, own in calls.items() if pair[0] != 0 or pair[1] in bad}
    assert find_slow_callers(some) == bad
    # Nobody has found one of them less slow, or there are too few servers.
    assert not find_slow_callers({p: own for p, own in calls.items() if p[0] in bad})
    assert not find_slow_callers({p: own for p, own in calls.items() if p[1] < 2})
    few = {pair: [make_calls(100, 200, 1)] for pair in calls}
    assert not find_slow_callers({**calls, **few})
    # One server of which too little is known decides nothing.
    one = {pair: few[pair] for pair in calls if pair[1] == 0}
    assert find_slow_callers({**calls, **one}) == bad
    # Stalls of the machine below all of them: no pair is fast, but some are slower than others.
    busy = {pair: [make_calls(100, 10_000, own[0].over_10ms + 8)] for pair, own in calls.items()}
    assert find_slow_callers(busy) == bad


def test_calls_in_one_stall_are_one_event():
    narrow = find_truth([make_calls(500, 100_000, 60, 11.0)], [500]).rates[0]
    wide = find_truth([make_calls(500, 100_000, 60, 60.0)], [500]).rates[0]
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    assert special.betaincinv(61, 100_000 - 60, 0.95) == pytest.approx(narrow.high, rel=0.1)


def test_a_pool_puts_sleeps_and_calls_together(sample):
    quiet = make_report(sample, [])
    loud = dataclasses.replace(
        make_report(sample, spread_stalls(900, 0, 0, 0)), started_at=2e9, host=quiet.host
    )
    calls = tuple(
        dataclasses.replace(make_calls(rate, 100_000, over), server=f"{name}:7420")
        for name, over in (("sample-1", 5), ("other", 5000))
        for rate in (100, 200, 500)
    )
    client = dataclasses.replace(quiet, cpus=(), network=calls)
    reports = [loud, quiet, client]
    other, one = pools.collect_instances(reports)
    assert (other.name, other.verdict, other.truth.status) == ("other", None, "bad")
    assert (one.name, one.verdict.verdict, one.truth.status) == ("sample-1", "bad", "good")
    candidates = pools.build_candidates([other, one])
    assert [c.name for c in choose_best(candidates, 1).chosen] == ["sample-1"]
    assert {(c, s) for c, s, _ in pools.collect_cells(reports)} == {
        ("sample-1", "sample-1"),
        ("sample-1", "other"),
    }
    statuses = pools.collect_statuses(reports)["sample-1"]
    assert sorted(statuses) == [(quiet.started_at, True), (2e9, False)]
    assert len(pools.collect_stall_times(reports)) == 900
