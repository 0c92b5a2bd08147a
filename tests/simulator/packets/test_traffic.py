import numpy as np
import pytest

from core.errors import BadInput
from simulator.packets.traffic import (
    incast,
    pareto_sizes,
    permutation,
    poisson_flows,
    random_bijection,
    random_destinations,
    stride,
)


@pytest.mark.parametrize("seed", range(5))
def test_every_host_of_a_permutation_sends_and_receives_once(seed):
    for flows in (permutation(16, seed=seed), random_bijection(16, 4, seed=seed), stride(16, 4)):
        assert sorted(flows.sources) == sorted(flows.destinations) == list(range(16))
        assert (flows.sources != flows.destinations).all()
    assert np.array_equal(permutation(16, seed=seed).sources, permutation(16, seed=seed).sources)


@pytest.mark.parametrize("seed", range(5))
def test_some_patterns_leave_the_edge_switch(seed):
    for flows in (random_bijection(16, 4, seed=seed), random_destinations(16, 4, seed=seed)):
        assert (flows.sources // 4 != flows.destinations // 4).all()


def test_incast_and_poisson_starts():
    flows = incast(range(1, 48), 0, 1000, jitter_s=1e-3, seed=2)
    assert 0 <= flows.starts_s.min() < flows.starts_s.max() < 1e-3
    flows = poisson_flows(20, 40_000, 2e-3, np.full(40_000, 1000), seed=2)
    gaps = np.diff(flows.starts_s)
    assert gaps.mean() == pytest.approx(1e-4, rel=0.02)
    assert gaps.std() == pytest.approx(1e-4, rel=0.03)
    counts = np.bincount(flows.destinations, minlength=20)
    assert counts == pytest.approx(np.full(20, 2000), rel=0.1)


def test_capped_sizes_keep_their_mean_and_uncapped_ones_fall_short():
    capped = pareto_sizes(400_000, 100_000, largest_bytes=10_000_000, seed=3)
    assert capped.max() == 10_000_000
    assert capped.mean() == pytest.approx(100_000, rel=0.02)
    free = pareto_sizes(400_000, 100_000, seed=3)
    # The smallest size of the paper's distribution is 4.76 kB; most samples have half its mean.
    assert free.min() == pytest.approx(4_762, abs=1)
    assert free.mean() < 80_000


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: pareto_sizes(5, shape=1.0), "shape"),
        (lambda: pareto_sizes(5, largest_bytes=1000), "largest_bytes"),
        (lambda: random_bijection(4, 4), "hosts"),
        (lambda: poisson_flows(4, 3, 1.0, np.ones(2, int)), "sizes_bytes"),
    ],
)
def test_bad_values_name_the_field(make, field):
    with pytest.raises(BadInput) as error:
        make()
    assert error.value.field == field
