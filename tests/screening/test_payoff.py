"""Pay-off models against closed forms and against the paper's shape; jitter statistics."""

import time

import numpy as np
import pytest
from scipy import optimize

from core.errors import BadInput
from screening.agent_parts.histograms import find_slot
from screening.payoff.simulation import (
    FAN_OUTS,
    Workload,
    build_distributions,
    simulate_partition,
    simulate_sequential,
)
from screening.statistics.histograms import find_percentile_ms, merge, spread_ms
from screening.statistics.jitter import collect_series, compare, describe, profile

TRIALS = 400_000


@pytest.fixture(scope="module")
def pools():
    return build_distributions(Workload())


def test_sequential_is_flat_to_a_fifth_and_then_rises(pools):
    curve = simulate_sequential(*pools, shares=(0.0, 0.2, 0.5), trials=TRIALS)
    none, fifth, half = (point.p99_ms for point in curve.points)
    assert fifth <= 1.1 * none
    assert half >= 2 * fifth
    for point in curve.points:
        assert point.p99_interval[0] <= point.p99_ms <= point.p99_interval[1]
        assert point.p999_ms >= point.p99_ms


def test_avoiding_bad_nodes_gains_less_with_fan_out(pools):
    saved = []
    for fan_out in FAN_OUTS:
        before, after = simulate_partition(*pools, fan_out, (0.5, 0.125), TRIALS).points
        saved.append(1 - after.p999_ms / before.p999_ms)
    assert saved == sorted(saved, reverse=True)


@pytest.mark.parametrize("fan_out", [10, 40])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.25, 1.0])
def test_the_slowest_of_a_group_is_as_the_closed_form_says(pools, fan_out, share):
    good, bad = pools
    curve = simulate_partition(good, bad, fan_out, (share,), TRIALS)
    fewer = int(share * fan_out)
    part = share * fan_out - fewer

    def find_share(x):
        below = [np.searchsorted(pool, x, side="right") / len(pool) for pool in (good, bad)]
        sizes = ((fewer, 1 - part), (fewer + 1, part))
        return sum(w * below[0] ** (fan_out - n) * below[1] ** n for n, w in sizes if w) - 0.99

    exact = optimize.brentq(find_share, 0.1, 80)
    low, high = curve.points[0].p99_interval
    assert low * 0.99 <= exact <= high * 1.01


def test_a_tail_below_the_median_is_refused():
    with pytest.raises(BadInput):
        build_distributions(Workload(median_ms=2, p99_ms=1))


def test_two_million_trials_of_all_points_take_seconds(pools):
    start = time.process_time()
    simulate_sequential(*pools)
    for fan_out in FAN_OUTS:
        simulate_partition(*pools, fan_out)
    assert time.process_time() - start < 10


def test_histograms_keep_their_percentiles():
    pairs = merge([[(find_slot(100_000), 90)], [(find_slot(10_000_000), 10)]])
    assert find_percentile_ms(pairs, 0.9) == pytest.approx(0.1, rel=0.01)
    assert find_percentile_ms(pairs, 0.91) == pytest.approx(10, rel=0.01)
    data = spread_ms(pairs, 1000)
    assert (data < 1).sum() == 900
    assert np.all(np.diff(data) >= 0)


def test_jitter_by_hand():
    found = describe([10, 10, 10, 10, 20])
    assert (found.n, found.mean, found.p50, found.max_to_median) == (5, 12, 10, 2)
    assert found.deviation == pytest.approx(4.472, abs=0.001)
    assert found.variation == pytest.approx(0.3727, abs=0.0001)
    assert found.outside == pytest.approx(0.2)
    assert found.smoothed == pytest.approx(10 / 16)
    assert describe([5]).deviation == 0
    with pytest.raises(BadInput):
        describe([])


def test_a_daily_rhythm_is_found_when_planted_and_only_then():
    rng = np.random.default_rng(8)
    at = np.arange(0, 10 * 86_400, 300)
    flat = 10 + rng.standard_normal(len(at))
    busy = flat + 4 * ((at // 3600 % 24) == 20)
    assert profile(at, busy).p_value < 1e-6
    assert profile(at, flat).p_value > 0.001
    hours = profile(at, busy).hours
    assert len(hours) == 24
    assert max(hours, key=lambda hour: hour.median).hour == 20


def test_a_control_that_is_as_restless_is_no_reproach():
    rng = np.random.default_rng(9)
    noisy, calm = 100 + 20 * rng.standard_normal(300), 100 + 5 * rng.standard_normal(300)
    found = compare(noisy, calm)
    assert found.low < 4 < found.high
    assert found.low > 2
    assert compare(calm, calm[::-1]).low < 1 < compare(calm, calm[::-1]).high


def test_a_gap_of_the_battery_is_no_zero():
    rounds = [
        {"at": 1.0, "cpu_ms": 5, "disk_small_read_ms": [1, 2], "missing": {}},
        {"at": 2.0, "cpu_ms": 6, "missing": {"disk": "no space"}},
    ]
    found = collect_series(rounds)
    assert found["cpu_ms"] == [(1.0, 5), (2.0, 6)]
    assert found["disk_small_read_ms"] == [(1.0, 1), (1.0, 2)]
    assert "echo_32kb_ms" not in found
