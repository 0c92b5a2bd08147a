"""Shares of good machines by group: counts, and intervals that cover the truth across pools."""

import random

import pytest

from core.statistics.intervals import DEVIATIONS_95, wilson_interval
from screening.statistics.good_shares import Machine, find_good_shares


def draw(rng, pools, size, share, rho, group="a"):
    """Draw machines of pools of which each has a share of its own (beta-binomial)."""
    scale = (1 - rho) / rho if rho else 0
    found = []
    for pool in range(pools):
        own = rng.betavariate(share * scale, (1 - share) * scale) if rho else share
        found += [
            Machine(f"p{pool}", group, rng.random() < own, rng.lognormvariate(0, 1))
            for _ in range(size)
        ]
    return found


def test_counts_and_order():
    machines = [Machine("p", "bad", False, 8.0), Machine("p", "bad", True, None)]
    machines += [Machine("q", "good", True, 0.2) for _ in range(9)]
    found = find_good_shares(machines)
    assert [(one.group, one.n, one.good, one.pools) for one in found.groups] == [
        ("good", 9, 9, 1),
        ("bad", 2, 1, 1),
    ]
    assert found.groups[1].p999_ms == 8.0
    assert found.correlation is None


def test_one_pool_each_has_wilsons_interval():
    machines = [Machine("p", "a", n < 7, None) for n in range(10)]
    found = find_good_shares(machines).groups[0]
    assert (found.low, found.high) == wilson_interval(0.7, 10, DEVIATIONS_95)
    assert found.p999_ms is None


def test_pools_that_differ_entirely_count_as_one_machine_each():
    machines = [
        Machine(f"p{pool}", "a", pool % 2 == 0, 1.0) for pool in range(8) for _ in range(20)
    ]
    found = find_good_shares(machines)
    assert found.correlation == pytest.approx(1.0)
    assert found.groups[0].effective == pytest.approx(8)


@pytest.mark.parametrize("rho", [0.0, 0.2])
def test_intervals_cover_the_truth_where_those_of_independent_machines_do_not(rho):
    rng, share, runs = random.Random(7), 0.7, 300
    covered = covered_plain = 0
    for _ in range(runs):
        machines = [m for g in "abcd" for m in draw(rng, 6, 15, share, rho, g)]
        for one in find_good_shares(machines).groups:
            covered += one.low <= share <= one.high
            low, high = wilson_interval(one.share, one.n, DEVIATIONS_95)
            covered_plain += low <= share <= high
    assert covered / (4 * runs) > 0.91
    if rho:
        assert covered_plain / (4 * runs) < 0.8


def test_the_median_of_jitter_is_in_its_interval():
    rng = random.Random(3)
    inside = 0
    for _ in range(200):
        one = find_good_shares(draw(rng, 5, 10, 0.5, 0.0)).groups[0]
        assert one.p999_low_ms <= one.p999_ms <= one.p999_high_ms
        inside += one.p999_low_ms <= 1.0 <= one.p999_high_ms
    assert inside > 180
