"""Topologies against enumeration, maximum flow and their published counts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadInput
from simulator.topology import builders, closed_forms, paths
from simulator.topology.bisection import bollobas, bound_bisection
from simulator.topology.faults import capacity_lost_by_level, convergence, remove_links
from simulator.topology.measurement import measure


def neighbours(topology):
    found = {}
    for a, b in topology.cables.tolist():
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)
    return found


def enumerate_paths(topology, first, last, n_hops):
    """All paths of ``n_hops``, one by one."""
    near, found = neighbours(topology), [[first]]
    for _ in range(n_hops):
        found = [p + [n] for p in found for n in near[p[-1]] if n not in p]
    return sum(p[-1] == last for p in found)


@pytest.mark.parametrize("k", [4, 8])
def test_paths_of_a_fat_tree_by_enumeration_and_its_bisection_by_maximum_flow(k):
    topology = builders.build_fat_tree(k)
    counts, hops = paths.count_shortest_paths(topology.adjacency, 0)
    other_pod, own_pod = topology.n_hosts - 1, k // 2
    assert hops[other_pod] == 6
    assert counts[other_pod] == k**2 // 4
    assert counts[own_pod] == k // 2
    if k == 4:
        assert enumerate_paths(topology, 0, other_pod, 6) == counts[other_pod]
    assert paths.capacity_between_halves(topology) == closed_forms.fat_tree(k)


@pytest.mark.parametrize(
    ("topology", "degree"),
    [
        (builders.build_fat_tree(6), 6),
        (builders.build_f10(6), 6),
        (builders.build_bcube(4, 1), 4),
        (builders.build_jellyfish(20, 9, 5, 3), 9),
    ],
    ids=lambda x: getattr(x, "kind", x),
)
def test_every_switch_uses_all_its_ports(topology, degree):
    used = np.bincount(topology.cables.ravel(), minlength=topology.n_nodes)
    assert set(used[topology.n_hosts :].tolist()) == {degree}


@given(st.integers(2, 4), st.integers(0, 2))
@settings(max_examples=9, deadline=None)
def test_bcube_by_its_digits(n, k):
    topology = builders.build_bcube(n, k)
    assert topology.n_hosts == n ** (k + 1)
    assert topology.n_switches == (k + 1) * n**k
    near = neighbours(topology)
    digits = [[h // n**level % n for level in range(k + 1)] for h in range(topology.n_hosts)]
    for a, b in itertools.combinations(range(topology.n_hosts), 2):
        differing = sum(x != y for x, y in zip(digits[a], digits[b], strict=True))
        assert bool(near[a] & near[b]) == (differing == 1)


def test_disjoint_paths_of_bcube_are_one_per_level():
    topology = builders.build_bcube(4, 2)
    assert paths.disjoint_paths(topology, 0, topology.n_hosts - 1) == 3


def test_neighbours_of_an_f10_core_switch_differ_by_the_type_of_their_pod():
    topology, k = builders.build_f10(4), 4
    core = topology.n_nodes - k * k // 4
    aggregation = [
        sorted(b for b in near if b >= core)
        for a, near in neighbours(topology).items()
        if topology.n_hosts + 8 <= a < core
    ]
    # Rows in pods of type A, columns in those of type B.
    assert aggregation[0] == [core, core + 1]
    assert [core, core + 2] in aggregation


def test_vl2_has_two_uplinks_of_each_rack_to_different_switches():
    topology = builders.build_vl2(8, 6)
    assert (topology.n_hosts, topology.n_switches) == (240, 12 + 6 + 4)
    up = topology.links[topology.levels[topology.links[:, 0] - topology.n_hosts] == 0]
    assert len(np.unique(up, axis=0)) == len(up) == 24


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=20, deadline=None)
def test_jellyfish_is_regular_without_loops_or_double_cables(seed):
    topology = builders.build_jellyfish(24, 8, 5, seed)
    assert len(np.unique(topology.links, axis=0)) == len(topology.links) == 60
    assert (topology.links[:, 0] < topology.links[:, 1]).all()


def test_bounds_of_a_bisection_enclose_the_least_cut_of_all_halves():
    topology = builders.build_jellyfish(12, 5, 3, 4)
    links = topology.links - topology.n_hosts
    least = min(
        int((np.isin(links[:, 0], half) != np.isin(links[:, 1], half)).sum())
        for half in itertools.combinations(range(12), 6)
    )
    bounds = bound_bisection(topology)
    assert bounds.low - 1e-9 <= least <= bounds.high


def test_bounds_of_random_graphs_are_near_the_bound_of_bollobas():
    bounds = bound_bisection(builders.build_jellyfish(80, 8, 6, 1))
    assert bounds.low < bollobas(80, 6) < bounds.high <= 60


def test_mean_distance_of_jellyfish_is_as_measured():
    hops = paths.switch_distances(
        builders.build_jellyfish(245, 24, 12, 1), np.random.default_rng(1)
    )
    assert hops.mean() == pytest.approx(2.49, abs=0.02)


def test_capacity_lost_by_one_switch_of_a_fat_tree():
    lost = capacity_lost_by_level(builders.build_fat_tree(8))
    assert lost == {"aggregation": pytest.approx(2 / 8), "core": pytest.approx(4 / 64)}


def test_failures_lose_nothing_at_zero_and_everything_at_most():
    topology = builders.build_fat_tree(4)
    connected, capacity = remove_links(topology, 0.0, 2, 1)
    assert connected.tolist() == capacity.tolist() == [1.0, 1.0]
    connected, capacity = remove_links(topology, 1.0, 1, 1)
    assert capacity.tolist() == [0.0]
    # Only the two hosts of each edge switch still reach each other.
    assert connected[0] == pytest.approx(1 / 15)


def test_the_failure_of_a_cable_is_announced_to_those_whose_routes_change():
    found = convergence(builders.build_leaf_spine(4, 3, 2), 4, 1)
    # Both ends, and the other leaves, which no longer reach that leaf by that spine.
    assert found.n_switches == 5


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: builders.build_fat_tree(5), "k"),
        (lambda: builders.build_fat_tree(0), "k"),
        (lambda: builders.build_vl2(5, 4), "d_a"),
        (lambda: builders.build_jellyfish(5, 6, 3, 1), "r"),
        (lambda: builders.build_jellyfish(8, 3, 4, 1), "r"),
        (lambda: builders.build_jupiter(4, 5, 2, 2), "spines"),
        (lambda: builders.build_bcube(4096, 6), "kind"),
    ],
)
def test_sizes_that_cannot_be_wired_are_refused_by_field(build, field):
    with pytest.raises(BadInput) as refused:
        build()
    assert refused.value.field == field


def test_metrics_of_a_leaf_spine():
    found = measure(builders.build_leaf_spine(4, 3, 2), closed_forms.leaf_spine(4, 3, 2), 0.1, 3, 1)
    assert (found.paths_between_pods, found.disjoint_paths, found.diameter) == (3, 3, 2)
    assert (found.n_hosts, found.n_links, found.bisection.high) == (8, 12, 4)
    assert found.hosts_cut_by_a_switch == 2
