"""The change-point test: what it reports without any change, and what it finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.changes import change_points
from analysis.changes.change_points import find_change_point, find_changes, mean_ranks, thin
from analysis.changes.isps import changed_isps

N_SERIES = 2_000
ROUNDS, RUNS = 24, 4


def noise(kind, rng, size):
    """Latencies (ms) without any change."""
    if kind == "normal":
        return rng.normal(40, 2, size)
    if kind == "lognormal":
        return 20 + rng.lognormal(1, 1, size)
    if kind == "cauchy":
        return 40 + rng.standard_cauchy(size)
    correlation = 0.3
    values = rng.normal(size=size)
    for at in range(1, size[1]):
        fresh = np.sqrt(1 - correlation**2) * values[:, at]
        values[:, at] = correlation * values[:, at - 1] + fresh
    return 40 + 2 * values


@pytest.mark.parametrize("kind", ["normal", "lognormal", "cauchy", "correlated"])
def test_false_alarms_are_as_rare_as_stated(kind):
    rng = np.random.default_rng(20261123)
    series = noise(kind, rng, (N_SERIES, ROUNDS * RUNS))
    p_values = np.array([find_change_point(np.split(row, RUNS)).p_value for row in series])
    for rate in (0.05, 0.01):
        # Three standard errors of a simulation of this size.
        most = rate + 3 * np.sqrt(rate * (1 - rate) / N_SERIES)
        assert (p_values <= rate).mean() <= most, (kind, rate, (p_values <= rate).mean())


def test_runs_with_many_pairs_raise_few_alarms():
    """The stated rate is that of all pairs of a run together."""
    rng, n_runs, alarms = np.random.default_rng(5), 100, 0
    for _ in range(n_runs):
        series = noise("lognormal", rng, (40, ROUNDS * 3))
        alarms += bool(find_changes({n: np.split(row, 3) for n, row in enumerate(series)}))
    assert alarms <= 4  # 1 is expected; 5 or more have a probability of 0.4 %


def test_a_shift_is_found_and_dated():
    rng = np.random.default_rng(3)
    before, after = rng.normal(40, 2, (3, ROUNDS)), rng.normal(55, 2, (1, ROUNDS))
    quiet = {n: list(rng.normal(30, 2, (4, ROUNDS))) for n in range(200)}
    found = find_changes({"moved": [*before, *after], **quiet})
    assert list(found) == ["moved"]
    assert found["moved"].at == 3 * ROUNDS
    assert found["moved"].before_ms == pytest.approx(40, abs=1)
    assert found["moved"].after_ms == pytest.approx(55, abs=1)


def test_certain_shifts_that_do_not_matter_are_left_out():
    rng = np.random.default_rng(4)
    runs = [rng.normal(100 + 2 * (n > 1), 0.1, ROUNDS) for n in range(4)]
    assert find_change_point(runs).p_value < 1e-6
    assert find_changes({"small": runs}) == {}


@given(st.lists(st.floats(0.1, 1e4), min_size=12, max_size=60), st.floats(0.1, 1000))
def test_only_ranks_decide(values, factor):
    """The unit of the latencies changes nothing."""
    runs = np.array_split(np.array(values), 2)
    scaled = [run * 2.0 ** np.round(np.log2(factor)) for run in runs]
    one, other = find_change_point(runs), find_change_point(scaled)
    assert (one is None) == (other is None)
    if one is not None:
        assert (one.at, one.p_value) == (other.at, other.p_value)
        assert 0 <= one.p_value <= 1


def test_little_and_constant_data_decide_nothing():
    assert find_change_point([]) is None
    assert find_change_point([np.array([1.0, 9.0])]) is None
    assert find_change_point([np.full(24, 7.0), np.full(24, 7.0)]) is None
    assert len(thin(np.arange(1000.0))) == change_points.MAX_VALUES_PER_RUN
    assert len(thin(np.array([1.0, np.nan, 2.0]))) == 2


def test_isps_count_where_they_carry_a_share_of_routes():
    def rows(**routes):
        return [
            {"provider": "aws", "region": "r", "isp": int(isp[2:]), "routes": n}
            for isp, n in routes.items()
        ]

    assert changed_isps(rows(as1=50, as2=50), rows(as1=55, as2=40, as3=5)) == []
    [found] = changed_isps(rows(as1=50, as2=50), rows(as1=50, as3=50))
    assert (found.before, found.after) == (("AS1", "AS2"), ("AS1", "AS3"))
    assert changed_isps(rows(as1=5), rows(as2=5)) == []


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_equal_values_share_the_mean_of_their_ranks(values):
    below = [sum(other < value for other in values) for value in values]
    ranks = [low + (values.count(value) + 1) / 2 for low, value in zip(below, values, strict=True)]
    assert mean_ranks(np.array(values, float)).tolist() == ranks
