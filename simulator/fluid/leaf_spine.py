"""Routes over a leaf–spine network as shares of links."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LeafSpine:
    """``n_leaves`` leaves of ``per_leaf`` hosts, each with a cable to every one of ``n_spines``.

    Rows of shares: cables from hosts, cables to hosts, leaf to spine, spine to leaf.
    """

    n_leaves: int = 4
    n_spines: int = 4
    per_leaf: int = 4

    @property
    def n_hosts(self) -> int:
        return self.n_leaves * self.per_leaf

    @property
    def n_links(self) -> int:
        return 2 * self.n_hosts + 2 * self.n_leaves * self.n_spines

    def leaf(self, hosts: Integers) -> Integers:
        return hosts // self.per_leaf

    def share_paths(self, source: Integers, target: Integers, weights: Floats) -> Floats:
        """Shares of flows that send ``weights`` (n_flows, n_spines) over each spine."""
        n = len(source)
        shares, flows = np.zeros((self.n_links, n)), np.arange(n)
        shares[source, flows] = 1
        shares[self.n_hosts + target, flows] = 1
        remote = self.leaf(source) != self.leaf(target)
        up = 2 * self.n_hosts + self.leaf(source) * self.n_spines
        down = 2 * self.n_hosts + (self.n_leaves + self.leaf(target)) * self.n_spines
        for spine in range(self.n_spines):
            shares[(up + spine)[remote], flows[remote]] = weights[remote, spine]
            shares[(down + spine)[remote], flows[remote]] = weights[remote, spine]
        return shares

    def share_one_switch(self, source: Integers, target: Integers) -> Floats:
        """Shares of flows where all hosts are on one non-blocking switch."""
        return self.share_paths(source, target, np.zeros((len(source), self.n_spines)))
