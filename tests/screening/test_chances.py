"""Distributions beside those of scipy.stats."""

import numpy as np
import pytest
from scipy import stats

from screening.chances import (
    find_beta_quantile,
    find_enough_chance,
    find_kruskal_chance,
    find_normal_quantile,
    list_binomial_chances,
)

KEEPS_TIME = False


@pytest.mark.parametrize(("a", "b"), [(0.5, 9.5), (1, 1), (3.25, 40_000.75), (1e-3, 2), (0.1, 1)])
@pytest.mark.parametrize("level", [1e-6, 0.05, 0.5, 0.95, 1])
def test_beta(a, b, level):
    assert find_beta_quantile(level, a, b) == pytest.approx(stats.beta.ppf(level, a, b), rel=1e-9)


def test_normal():
    levels = np.linspace(0, 1, 101)
    assert find_normal_quantile(levels) == pytest.approx(stats.norm.ppf(levels), rel=1e-12)
    assert float(find_normal_quantile(0.99)) == pytest.approx(2.3263478740408408)


@pytest.mark.parametrize("share", [0, 1e-9, 0.2, 0.5, 0.999, 1])
@pytest.mark.parametrize("trials", [0, 1, 20, 1000])
def test_binomial(trials, share):
    known = stats.binom.pmf(np.arange(trials + 1), trials, share)
    assert list_binomial_chances(trials, share) == pytest.approx(known, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("called", "launched"), [(1, 1), (3, 40), (77, 100), (999, 1000)])
@pytest.mark.parametrize("wanted", [1, 7, 50])
def test_enough(called, launched, wanted):
    a, b = called + 0.5, launched - called + 0.5
    for trials in (wanted, wanted + 1, 3 * wanted, 1000):
        known = stats.betabinom(trials, a, b).sf(wanted - 1)
        assert find_enough_chance(wanted, trials, a, b) == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_kruskal(seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 30, random.integers(2, 7))
    # Small whole numbers have many ties.
    groups = [random.integers(0, 2 + 9 * seed, n) + random.integers(0, 2) for n in sizes]
    if np.ptp(np.concatenate(groups)):
        known = stats.kruskal(*groups).pvalue
        assert find_kruskal_chance(groups) == pytest.approx(known, rel=1e-9, abs=1e-12)


def test_equal_values_tell_nothing():
    assert find_kruskal_chance([np.ones(3), np.ones(4)]) == 1.0
