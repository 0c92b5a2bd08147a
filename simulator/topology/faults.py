"""What is lost when switches and cables fail, and how far the failure has to be announced."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, dijkstra

from simulator.topology.graph import Topology, adjacency
from simulator.topology.paths import capacity_between_halves

# Larger graphs get no maximum flow per removal, and no search for the switches to update.
MAX_FLOW_CABLES = 2_000
MAX_ROUTED_SWITCHES = 400


@dataclass(frozen=True, slots=True)
class Convergence:
    """After the failure of one cable: switches with changed next hops, and the farthest of them."""

    n_switches: float
    n_hops: float


def hosts_cut_by_a_switch(topology: Topology) -> int:
    """Largest number of hosts that lose every cable with one switch."""
    hosts, degree = np.unique(topology.host_links[:, 0], return_counts=True)
    single = np.isin(topology.host_links[:, 0], hosts[degree == 1])
    if not single.any():
        return 0
    return int(np.unique(topology.host_links[single, 1], return_counts=True)[1].max())


def capacity_lost_by_level(topology: Topology) -> dict[str, float]:
    """Share of the capacity below a level that one of its switches carries, by level above 0.

    Within the pod for switches that belong to one.
    """
    levels = np.concatenate([np.full(topology.n_hosts, -1), topology.levels])
    lower, upper = np.sort(levels[topology.links], axis=1).T if len(topology.links) else ((), ())
    shares = {}
    for level in range(1, int(topology.levels.max()) + 1):
        switches = np.flatnonzero(topology.levels == level)
        below = np.asarray(upper) == level
        below &= np.asarray(lower) < level
        ends = topology.links[below] - topology.n_hosts
        top = np.where(topology.levels[ends[:, 0]] == level, ends[:, 0], ends[:, 1])
        carried = np.bincount(top, topology.capacities[below], topology.n_switches)[switches]
        pods = topology.pods[switches]
        total = sum(carried[pods == pods[0]]) if pods[0] >= 0 else carried.sum()
        shares[topology.level_names[level]] = float(carried[0] / total) if total else 0.0
    return shares


def remove_links(
    topology: Topology,
    share: float,
    n_rounds: int,
    seed: int,
    report: Callable[[float], None] = lambda share: None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Share of host pairs connected, and of capacity between halves left, after random failures.

    ``share`` of the cables between switches fail (of hosts where hosts relay), ``n_rounds`` times.
    Topologies compare on the same ``seed``. Capacity is ``None`` above ``MAX_FLOW_CABLES``.
    ``report`` is called with the share of rounds done.
    """
    random = np.random.default_rng(seed)
    edges = topology.cables if topology.relays_by_hosts else topology.links
    fixed = topology.host_links[:0] if topology.relays_by_hosts else topology.host_links
    n_failed = round(share * len(edges))
    with_flow = len(topology.cables) <= MAX_FLOW_CABLES and not topology.relays_by_hosts
    whole = capacity_between_halves(topology) if with_flow else 0
    connected, capacity = [], []
    for i in range(n_rounds):
        report(i / n_rounds)
        failed = np.zeros(len(edges), bool)
        failed[random.choice(len(edges), n_failed, replace=False)] = True
        left = np.vstack([edges[~failed], fixed])
        graph = adjacency(topology.n_nodes, left, np.ones(len(left), np.int64))
        labels = connected_components(graph, directed=False)[1][: topology.n_hosts]
        sizes = np.unique(labels, return_counts=True)[1].astype(float)
        n = topology.n_hosts
        connected.append(float((sizes * (sizes - 1)).sum() / (n * (n - 1))))
        if with_flow:
            capacity.append(capacity_between_halves(topology, failed) / whole)
    return np.array(connected), np.array(capacity) if with_flow else None


def convergence(topology: Topology, n_failures: int, seed: int) -> Convergence | None:
    """Means over random failures of one cable; ``None`` above ``MAX_ROUTED_SWITCHES``.

    Routes are all shortest paths to the switches of hosts, as with OSPF and ECMP.
    """
    n = topology.n_switches
    if n > MAX_ROUTED_SWITCHES or not len(topology.links):
        return None
    random = np.random.default_rng(seed)
    links = topology.links - topology.n_hosts
    targets = np.unique(topology.host_links[:, 1]) - topology.n_hosts
    before, hops = _next_hops(links, n, targets)
    counts, farthest = [], []
    for failed in random.choice(len(links), min(n_failures, len(links)), replace=False):
        after, _ = _next_hops(np.delete(links, failed, axis=0), n, targets)
        changed = np.array([not np.array_equal(before[s], after[s]) for s in range(n)])
        counts.append(changed.sum())
        ends = links[failed]
        farthest.append(np.minimum(hops[ends[0]], hops[ends[1]])[changed].max(initial=0))
    return Convergence(float(np.mean(counts)), float(np.mean(farthest)))


def _next_hops(
    links: NDArray[np.int64], n: int, targets: NDArray[np.int64]
) -> tuple[list[NDArray[np.bool_]], NDArray[np.float64]]:
    """For each switch, whether each switch is a next hop to each target; and all distances."""
    graph = adjacency(n, links, np.ones(len(links), np.int64))
    hops = dijkstra(graph, unweighted=True)
    near = graph.toarray() > 0
    to_target = hops[:, targets]
    rows = [near[s][:, None] & (to_target == to_target[s] - 1) for s in range(n)]
    return rows, hops
