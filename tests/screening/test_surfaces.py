"""Percentiles solved at once beside those that are simulated point by point."""

import numpy as np
import pytest

from core.errors import BadInput
from screening.payoff.simulation import (
    Workload,
    build_distributions,
    simulate_partition,
    simulate_sequential,
)
from screening.payoff.surfaces import build_surface, compare, find_left_over, find_percentiles

SHARES = (0.0, 0.1, 0.25, 0.5)
TRIALS = 200_000


@pytest.fixture(scope="module")
def times():
    return build_distributions(Workload())


@pytest.fixture(scope="module")
def surface(times):
    return build_surface(*times)


@pytest.mark.parametrize("fan_out", [1, 10, 40])
def test_it_works(surface, times, fan_out):
    curve = (
        simulate_sequential(*times, SHARES, TRIALS)
        if fan_out == 1
        else simulate_partition(*times, fan_out, SHARES, TRIALS)
    )
    for percentile, values in (
        (0.99, [(p.p99_interval, p.p99_ms) for p in curve.points]),
        (0.999, [(p.p999_interval, p.p999_ms) for p in curve.points]),
    ):
        solved = find_percentiles(surface, fan_out, SHARES, percentile)
        for found, ((low, high), simulated) in zip(solved, values, strict=True):
            # The simulation's own interval holds nine of ten; three times its width holds all.
            assert abs(found - simulated) <= 3 * (high - low) + 0.02 * simulated


def test_more_calls_in_turn_take_longer(times):
    few, many = (find_percentiles(build_surface(*times, n), 1, [0.3], 0.99)[0] for n in (2, 20))
    assert many > few + 18 * 0.5


def test_the_slowest_of_one_good_node_has_its_own_percentile(times, surface):
    good, _ = times
    found = find_percentiles(surface, 10, [0.0], 0.99)[0]
    assert found == pytest.approx(np.quantile(good, 0.99 ** (1 / 10)), rel=1e-3)


def test_an_interval_covers_which_nodes_one_gets(surface):
    change = compare(surface, 10, 40, (0.5, 0.1), 0.99)
    assert change.before.low < change.before.value < change.before.high
    assert change.saved.low < change.saved.value < change.saved.high
    same = compare(surface, 10, 40, (0.0, 0.0), 0.99)
    assert (same.saved.low, same.saved.value, same.saved.high) == (0, 0, 0)


def test_launching_just_as_many_as_wanted_changes_nothing():
    assert find_left_over(0.4, 0.1, 0.3, 1.0) == pytest.approx(0.4)


def test_from_the_full_factor_on_only_errors_of_the_verdict_remain():
    called = 0.5 * 0.1 + 0.5 * 0.7
    assert find_left_over(0.5, 0.1, 0.3, 1 / called) == pytest.approx(0.125)
    assert find_left_over(0.5, 0.1, 0.3, 9) == pytest.approx(0.125)
    steps = [find_left_over(0.5, 0.1, 0.3, k) for k in np.linspace(1, 3, 9)]
    assert steps == sorted(steps, reverse=True)


def test_no_call_is_refused(times):
    with pytest.raises(BadInput):
        build_surface(*times, calls=0)
