"""Paths, distances and disjoint routes of a topology."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from simulator.topology.graph import Integers, Topology

# Sources of a distance distribution; all switches of topologies up to this size.
MAX_SOURCES = 500


def count_shortest_paths(adjacency: csr_matrix, source: int) -> tuple[list[int], NDArray[np.int64]]:
    """Number of shortest paths from ``source`` to every node, and the hops to each.

    Counted on the directed graph of nodes by distance: the count of a node is the sum of those of
    its neighbours that are one hop nearer.
    """
    n = adjacency.shape[0]
    unit = csr_matrix(
        (np.ones(len(adjacency.indices)), adjacency.indices, adjacency.indptr), shape=(n, n)
    )
    counts, hops = np.zeros(n), np.full(n, -1, np.int64)
    counts[source], hops[source], distance = 1, 0, 0
    frontier = counts.copy()
    while frontier.any():
        distance += 1
        found = unit @ frontier
        frontier = np.where(hops < 0, found, 0)
        hops[frontier > 0] = distance
        counts += frontier
    return [int(c) for c in counts], hops


def disjoint_paths(topology: Topology, first: int, second: int) -> int:
    """Largest number of paths between two nodes that share no cable (Menger, by maximum flow)."""
    unit = topology.adjacency.copy()
    unit.data[:] = 1
    return int(maximum_flow(unit, first, second).flow_value)


def capacity_between_halves(topology: Topology, failed: NDArray[np.bool_] | None = None) -> int:
    """Maximum flow from the first half of the hosts to the second, in units of a host cable.

    ``failed`` marks cables between switches that carry nothing, shape (n_links,).
    """
    n, half = topology.n_nodes, topology.n_hosts // 2
    keep = np.ones(len(topology.cables), bool)
    if failed is not None:
        keep[: len(topology.links)] = ~failed
    edges, capacity = topology.cables[keep], topology.all_capacities[keep]
    hosts = np.arange(2 * half)
    ends = np.where(hosts < half, n, n + 1)
    rows = np.concatenate([edges[:, 0], edges[:, 1], np.where(hosts < half, ends, hosts)])
    columns = np.concatenate([edges[:, 1], edges[:, 0], np.where(hosts < half, hosts, ends)])
    values = np.concatenate([capacity, capacity, np.full(2 * half, topology.n_hosts)])
    graph = csr_matrix((values.astype(np.int32), (rows, columns)), shape=(n + 2, n + 2))
    return int(maximum_flow(graph, n, n + 1).flow_value)


def switch_distances(topology: Topology, random: np.random.Generator) -> NDArray[np.float64]:
    """Hops between switches that hosts connect to, from at most ``MAX_SOURCES`` of them."""
    switches = np.unique(topology.host_links[:, 1])
    sources = switches
    if len(switches) > MAX_SOURCES:
        sources = random.choice(switches, MAX_SOURCES, replace=False)
    found = topology.distances(sources)[:, switches]
    others: NDArray[np.float64] = found[sources[:, None] != switches[None]]
    return others


def pods_of_hosts(topology: Topology) -> Integers:
    """The pod of each host's first switch, shape (n_hosts,)."""
    order = np.argsort(topology.host_links[:, 0], kind="stable")
    first = np.searchsorted(topology.host_links[order, 0], np.arange(topology.n_hosts))
    switches = topology.host_links[order[first], 1] - topology.n_hosts
    found: Integers = topology.pods[switches]
    return found
