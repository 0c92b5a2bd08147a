"""Quantiles beside those of scipy.stats, and chances at their ends."""

import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from screening.statistics.distributions import (
    find_beta_quantile,
    find_enough_chance,
    find_kruskal_chance,
    find_normal_quantile,
    list_binomial_chances,
)


@pytest.fixture(scope="module")
def stats():
    """Half a second to load, which no other process of the run pays."""
    return import_module("scipy.stats")


@pytest.mark.parametrize(("a", "b"), [(0.5, 9.5), (1, 1), (3.25, 40_000.75), (1e-3, 2), (0.1, 1)])
@pytest.mark.parametrize("level", [1e-6, 0.05, 0.5, 0.95, 1])
def test_beta(stats, a, b, level):
    assert find_beta_quantile(level, a, b) == pytest.approx(stats.beta.ppf(level, a, b), rel=1e-9)


def test_normal(stats):
    levels = np.linspace(0, 1, 101)
    assert find_normal_quantile(levels) == pytest.approx(stats.norm.ppf(levels), rel=1e-12)
    assert float(find_normal_quantile(0.99)) == pytest.approx(2.3263478740408408)


def test_binomial():
    assert list_binomial_chances(3, 0.5) == pytest.approx([1 / 8, 3 / 8, 3 / 8, 1 / 8])
    assert list_binomial_chances(2, 0.0).tolist() == [1, 0, 0]
    assert list_binomial_chances(0, 0.3).tolist() == [1]


def test_enough():
    # One success of one trial comes as often as the share's own mean.
    assert find_enough_chance(1, 1, 3.5, 6.5) == pytest.approx(0.35)
    assert find_enough_chance(3, 2, 3.5, 6.5) == 0
    assert find_enough_chance(0, 2, 3.5, 6.5) == 1


def test_ranks():
    # Of the twenty ways to deal six ranks to two groups, two are as far apart as this.
    apart = find_kruskal_chance([np.array([1.0, 2, 3]), np.array([4.0, 5, 6])])
    assert apart == pytest.approx(0.0495, abs=1e-4)
    assert find_kruskal_chance([np.ones(3), np.ones(4)]) == 1.0


def test_pages_start_without_the_library_of_distributions():
    modules = ("statistics.jitter", "payoff.simulation", "decision.selection", "payoff.surfaces")
    code = "import sys, " + ", ".join(f"screening.{module}" for module in modules)
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; print('scipy.stats' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "False"
