"""What is said of whole pools, against pools whose truth was planted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.screening import nights
from core.errors import BadInput
from screening.agent_parts.verdict import LOW_PER_100S
from screening.decision.calibration import calibrate, measure
from screening.decision.heatmap import build_matrix, check_nodes
from screening.decision.selection import (
    Candidate,
    choose_best,
    compute_factor,
    estimate_factor,
    find_launches,
)
from screening.statistics.persistence import (
    check_persistence,
    describe,
    find_distribution,
    find_periods,
)
from screening.statistics.simulated_pool import build_kinds, simulate_fleet
from screening.statistics.status_errors import remove_errors
from screening.statistics.time_of_day import bin_stalls, detect_nightly

HOUR = 3600.0


@pytest.mark.parametrize("bad", [0.4, 0.5, 0.6, 0.7])
def test_errors_at_the_papers_mark(bad):
    fleet = simulate_fleet(20_000, build_kinds(bad), np.random.default_rng(1))
    assert 1 - fleet.good.mean() == pytest.approx(bad, abs=0.05)
    point = measure(fleet.counts, fleet.good, 13.0)
    assert point.false_positive < 0.1
    assert point.false_negative == pytest.approx(0.3, abs=0.05)
    assert point.effective_false_negative < 0.1


def test_a_calibration_finds_the_papers_mark_and_does_not_flatter_itself():
    fleet = simulate_fleet(2000, build_kinds(0.5), np.random.default_rng(2))
    found = calibrate(fleet.counts, fleet.good)
    assert 11 <= found.chosen.low <= 18
    assert found.chosen.false_positive <= 0.1
    assert found.held_out.false_positive == pytest.approx(0.1, abs=0.03)
    assert found.mark_interval[0] <= found.chosen.low <= found.mark_interval[1]
    falls = [point.false_negative for point in found.points]
    assert falls == sorted(falls, reverse=True)
    with pytest.raises(BadInput):
        calibrate(fleet.counts[:5], fleet.good[:5])


def test_k_of_the_paper():
    assert compute_factor(0.4, 0.3) == pytest.approx(3.57, abs=0.01)
    assert compute_factor(0.4, 0.0) == 2.5


def test_the_interval_of_k_holds_the_truth():
    rng = np.random.default_rng(3)
    share, hits, enough = 0.28, 0, 0
    for _ in range(200):
        called = max(int(rng.binomial(160, share)), 1)
        factor = estimate_factor(called, 160, 40, price=0.1)
        hits += factor.low <= 1 / share <= factor.high
        enough += rng.binomial(factor.launches, share) >= 40
    assert 0.85 <= hits / 200 <= 0.96
    assert enough / 200 >= 0.92
    assert find_launches(45, 160, 40) > 40 * 160 / 45
    with pytest.raises(BadInput):
        estimate_factor(0, 10, 4)


def test_the_best_are_chosen_and_the_bad_never():
    pool = [
        Candidate("a", "good", 5, 9, 1.0, 0.95),
        Candidate("b", "good", 2, 4, 1.0, 0.99),
        Candidate("c", "network-test", 30, 40, 9.0, 0.1),
        Candidate("d", "network-test", 40, 60, 9.0, 0.05, confirmed=True),
        Candidate("e", "bad", 500, 600, 30.0, 0.0),
        Candidate("f", "good", 1, 3, 0.9, 0.99, confirmed=False),
    ]
    choice = choose_best(pool, 2)
    assert [c.name for c in choice.chosen] == ["d", "b"]
    assert [c.name for c in choice.spare] == ["a"]
    assert {c.name for c in choice.measure_again} == {"c", "e", "f"}
    assert choice.expected_bad == pytest.approx(0.01)
    assert choose_best(pool, 6).missing == 3


CANDIDATES = st.lists(
    st.builds(
        Candidate,
        name=st.text(max_size=3),
        verdict=st.sampled_from(["good", "network-test", "bad", "not-enough"]),
        per_100s=st.floats(0, 1000) | st.just(math.inf),
        high=st.floats(0, 1000) | st.just(math.inf),
        p999_ms=st.floats(0, 100) | st.just(math.inf),
        good_chance=st.floats(0, 1),
        confirmed=st.sampled_from([None, True, False]),
        confirmed_surely=st.booleans(),
        sure=st.booleans(),
        cause=st.sampled_from(["", "steal", "run delay", "quota", "mixed", "unexplained"]),
        label=st.sampled_from(["", "good", "bad"]),
    ),
    max_size=12,
)


@given(CANDIDATES, st.integers(1, 12))
def test_only_what_neighbours_surely_slow_down_is_to_be_terminated(pool, wanted):
    choice = choose_best(pool, wanted)
    for one in choice.terminate:
        assert one.cause == "steal"
        assert one.verdict in ("bad", "network-test")
        assert one.sure if one.verdict == "bad" else one.confirmed_surely
        assert one.label != "good"
        assert not one.confirmed
    for one in (*choice.chosen, *choice.spare):
        assert one.confirmed or one.verdict == "good"
    groups = (choice.chosen, choice.spare, choice.terminate, choice.measure_again, choice.own_load)
    # Each candidate is in one group: nothing is lost, nothing is told twice.
    assert sorted(map(repr, (c for group in groups for c in group))) == sorted(map(repr, pool))
    assert len(choice.chosen) + choice.missing == wanted


def test_periods_are_weighted_by_time():
    series = {
        "steady": [(0, False), (100 * HOUR, False)],
        "daily": [(t * 24 * HOUR, t % 2 == 0) for t in range(6)],
        "restless": [(t * HOUR, t % 2 == 0) for t in range(81)],
    }
    found = describe(find_periods(series))
    assert found.hours == pytest.approx(100 + 120 + 80)
    assert found.unchanged == pytest.approx(100 / 300)
    assert found.at_most_daily == pytest.approx(220 / 300)
    assert found.changes == 5 + 80
    curve = find_distribution(find_periods(series))
    assert curve[-1][1] == pytest.approx(1.0)
    assert [hours for hours, _ in curve[:-1]] == sorted(hours for hours, _ in curve[:-1])


def test_errors_of_single_verdicts_are_no_changes_and_real_periods_stay():
    def kept(*lengths):
        statuses = [n % 2 == 0 for n, length in enumerate(lengths) for _ in range(length)]
        found = remove_errors({"a": [(t * HOUR, s) for t, s in enumerate(statuses)]})["a"]
        assert [at for at, _ in found] == [t * HOUR for t in range(len(statuses))]
        return [s for _, s in found] == statuses, len({s for _, s in found})

    assert kept(20, 2, 20) == (False, 1)
    assert kept(20, 3, 20) == (True, 2)
    assert kept(20, 20) == (True, 2)
    # Few verdicts say too little to be called errors.
    assert kept(5, 1, 5) == (True, 2)


def test_persistence_of_seven_nights_is_the_planted():
    rng = np.random.default_rng(7)
    good = nights.plant(150, rng)
    verdicts = nights.count(good, nights.draw_rates(good, rng), rng) < LOW_PER_100S
    planted = nights.shares_of(good)
    judged, _, high = nights.bootstrap(verdicts, rng)
    found, low, above = nights.bootstrap(nights.correct(verdicts), rng)
    # Errors break periods: of the verdicts as they are, far less time is without a change.
    assert high[0] < planted[0]
    assert all(a <= p <= b for a, p, b in zip(low, planted, above, strict=True))
    assert judged[0] < found[0]


def draw_statuses(rng, rounds, instances, keep):
    good = np.empty((rounds, instances), dtype=bool)
    good[0] = rng.random(instances) < 0.5
    for at in range(1, rounds):
        again = rng.random(instances) < keep
        good[at] = np.where(again, good[at - 1], rng.random(instances) < 0.5)
    return good


def test_persistence_is_found_when_planted_and_only_then():
    rng = np.random.default_rng(4)
    found = [check_persistence(draw_statuses(rng, 20, 32, 0.5), 99) for _ in range(20)]
    false = [check_persistence(draw_statuses(rng, 20, 32, 0.0), 99) for _ in range(60)]
    assert sum(test.p_value <= 0.05 for test in found) >= 19
    assert sum(test.p_value <= 0.05 for test in false) <= 8
    nights = draw_statuses(rng, 40, 32, 0.0)
    nights[::4] = False  # Every instance is bad every night: no memory of instances.
    assert check_persistence(nights, 99).p_value > 0.01


def draw_matrix(rng, kind, nodes=16):
    logs = np.log(3) + 0.25 * rng.standard_normal((nodes, nodes))
    bad = rng.random(nodes) < 0.5
    if kind == "node":
        logs[:, bad] += np.log(6)
    elif kind == "path":
        far = bad[:, None] != bad[None, :]
        logs = logs + np.log(6) * far
        logs[bad] += 0.5
        logs[:, bad] += 0.5
    return np.exp(logs)


def test_a_heat_map_tells_nodes_from_network():
    rng = np.random.default_rng(5)
    kinds = {
        kind: [check_nodes(draw_matrix(rng, kind), 0.05, 199).property_of for _ in range(12)]
        for kind in ("node", "path", "nothing")
    }
    assert kinds["node"].count("node") >= 11
    assert kinds["path"].count("node") <= 1
    assert kinds["nothing"].count("nothing") >= 10


def test_a_heat_map_with_gaps_names_the_bad_columns():
    rng = np.random.default_rng(6)
    matrix = np.exp(0.1 * rng.standard_normal((8, 8)))
    matrix[:, [2, 5]] = 30
    matrix[1, 4] = np.nan
    found = check_nodes(matrix, 0.05, 199)
    assert (found.property_of, found.bad) == ("node", (2, 5))
    assert found.column_variance > 10 * found.row_variance
    names, table = build_matrix([("b", "a", 1.0), ("a", "b", 2.0)])
    assert names == ["a", "b"]
    assert np.isnan(table[0, 0])
    with pytest.raises(BadInput):
        check_nodes(np.ones((2, 2)))


def draw_days(rng, days=14, night=0.0):
    times = []
    for day in range(days):
        bursts = rng.uniform(0, 86_400, rng.poisson(20))
        times += [day * 86_400 + start + x for start in bursts for x in rng.uniform(0, 60, 5)]
        times += list(day * 86_400 + 8 * HOUR + rng.uniform(0, 600, rng.poisson(night)))
    return times


def test_a_nightly_stall_is_found_when_planted_and_only_then():
    rng = np.random.default_rng(7)
    counts = bin_stalls(draw_days(rng, night=40), 0, 14)
    found = detect_nightly(counts, permutations=300)
    assert found.found
    assert (found.start_minute, found.end_minute) == (480, 490)
    assert found.days >= 12
    false = [
        detect_nightly(bin_stalls(draw_days(rng), 0, 14), 0.05, 99, seed).found
        for seed in range(40)
    ]
    assert sum(false) <= 6
    with pytest.raises(BadInput):
        detect_nightly(counts[:2])
