"""Max-min rates against linear programs, and transfers against conservation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from simulator.fluid.leaf_spine import LeafSpine
from simulator.fluid.max_min import complete_transfers, share_links


def by_programs(shares, capacities):
    """Raise the least rate as far as possible, fix the flows that cannot have more, repeat."""
    n = shares.shape[1]
    fixed = {}
    while len(fixed) < n:
        free = [f for f in range(n) if f not in fixed]
        room = capacities - sum((shares[:, f] * r for f, r in fixed.items()), np.zeros(len(shares)))
        # Every free flow gets at least the level; maximise it.
        weights = shares[:, free].sum(axis=1, keepdims=True)
        level = linprog([-1.0], A_ub=weights, b_ub=np.maximum(room, 0)).x[0]
        for f in list(free):
            # Whether this flow alone could have more while the others keep the level.
            rest = room - level * (weights[:, 0] - shares[:, f])
            most = linprog([-1.0], A_ub=shares[:, [f]], b_ub=np.maximum(rest, 0)).x[0]
            if most <= level * (1 + 1e-9) + 1e-9:
                fixed[f] = level
    return np.array([fixed[f] for f in range(n)])


@st.composite
def networks(draw):
    n_links, n_flows = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    share = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    shares = np.array(draw(st.lists(share, min_size=n_links * n_flows, max_size=n_links * n_flows)))
    shares = shares.reshape(n_links, n_flows)
    # Every flow crosses a link.
    shares[draw(st.integers(0, n_links - 1)), shares.sum(axis=0) == 0] = 1.0
    capacity = st.integers(1, 20)
    return shares, np.array(draw(st.lists(capacity, min_size=n_links, max_size=n_links)), float)


@given(networks())
@settings(max_examples=60, deadline=None)
def test_rates_equal_those_of_repeated_linear_programs(network):
    shares, capacities = network
    rates = share_links(shares, capacities)
    assert rates == pytest.approx(by_programs(shares, capacities), rel=1e-7, abs=1e-7)


@given(networks())
@settings(max_examples=100, deadline=None)
def test_no_link_is_overloaded_and_every_flow_has_a_bottleneck(network):
    shares, capacities = network
    rates = share_links(shares, capacities)
    load = shares @ rates
    assert (load <= capacities * (1 + 1e-9)).all()
    full = load >= capacities * (1 - 1e-6)
    for f, rate in enumerate(rates):
        crossing = full & (shares[:, f] > 0)
        # On some full link that the flow crosses, no other flow is faster.
        assert any(
            rate >= rates[shares[link] > 0].max() * (1 - 1e-6) for link in np.flatnonzero(crossing)
        )


def test_a_flow_without_a_link_is_refused():
    with pytest.raises(ValueError, match="crosses no link"):
        share_links(np.zeros((1, 1)), np.ones(1))


def test_doubled_capacities_halve_the_times_of_transfers():
    network, random = LeafSpine(2, 2, 2), np.random.default_rng(4)
    source, target = np.array([0, 0, 1, 2, 3]), np.array([2, 1, 3, 0, 0])
    shares = network.share_paths(source, target, np.full((5, 2), 0.5))
    queues = [[0, 1], [2], [3], [4]]
    capacities = random.uniform(1, 10, network.n_links)
    slow = complete_transfers(queues, shares, capacities, 3.0, 1)
    fast = complete_transfers(queues, shares, 2 * capacities, 3.0, 1)
    assert fast.ended_s == pytest.approx(slow.ended_s / 2)
    assert slow.started_s[1] == slow.ended_s[0]
    assert (slow.ended_s > slow.started_s).all()


def test_transfers_of_one_link_take_as_long_as_their_bytes():
    times = complete_transfers([[0, 1, 2]], np.ones((1, 3)), np.array([2.0]), 4.0, 2)
    assert times.ended_s.tolist() == pytest.approx([4.0, 4.0, 6.0])
