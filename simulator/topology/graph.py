"""A topology as arrays: hosts, switches, cables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Topology:
    """Hosts are numbered ``0 … n_hosts − 1``, switches follow.

    ``links`` has shape (n, 2): cables between switches. ``host_links`` has shape (m, 2): host and
    switch. ``levels`` has shape (n_switches,): 0 for switches that hosts connect to. ``pods`` has
    shape (n_switches,): the pod, rack group or block of a switch, -1 for those of the core.
    ``capacities`` has shape (n,): capacity of each of ``links`` in units of a host cable.
    """

    kind: str
    n_hosts: int
    links: Integers
    host_links: Integers
    levels: Integers
    pods: Integers
    capacities: Integers
    level_names: Sequence[str] = field(default=("switch",))

    @property
    def n_switches(self) -> int:
        return len(self.levels)

    @property
    def n_nodes(self) -> int:
        return self.n_hosts + self.n_switches

    @property
    def relays_by_hosts(self) -> bool:
        """Whether hosts forward for others, as in BCube, where no switch connects to another."""
        return len(self.links) == 0 and self.n_hosts > 0

    @cached_property
    def cables(self) -> Integers:
        """All cables, shape (n, 2)."""
        return np.vstack([self.links, self.host_links])

    @cached_property
    def all_capacities(self) -> Integers:
        return np.concatenate([self.capacities, np.ones(len(self.host_links), np.int64)])

    @cached_property
    def adjacency(self) -> csr_matrix:
        """Symmetric matrix over all nodes: capacity of each cable."""
        return adjacency(self.n_nodes, self.cables, self.all_capacities)

    @cached_property
    def switch_adjacency(self) -> csr_matrix:
        return adjacency(self.n_switches, self.links - self.n_hosts, self.capacities)

    def distances(self, nodes: Integers) -> NDArray[np.float64]:
        """Hops from each of ``nodes`` to every node, shape (len(nodes), n_nodes)."""
        found: NDArray[np.float64] = dijkstra(self.adjacency, unweighted=True, indices=nodes)
        return found


def adjacency(n_nodes: int, edges: Integers, capacities: Integers) -> csr_matrix:
    """The symmetric matrix of undirected edges; parallel ones add up."""
    rows = np.concatenate([edges[:, 0], edges[:, 1]])
    columns = np.concatenate([edges[:, 1], edges[:, 0]])
    values = np.concatenate([capacities, capacities]).astype(np.int32)
    return csr_matrix((values, (rows, columns)), shape=(n_nodes, n_nodes))
