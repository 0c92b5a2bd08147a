"""Cost of cables on a floor plan of racks."""

import math

import numpy as np

from simulator.topology.graph import Topology

# Pitch of racks in a row and of rows with their aisles, and slack at both ends, in metres.
RACK_M, ROW_M, SLACK_M = 0.6, 2.4, 2.0


def cable_length_m(topology: Topology) -> float:
    """Total length of cables between switches, by right angles over a square floor.

    Every switch of hosts has its rack, pods next to each other; other switches of a pod are in its
    middle rack, those of no pod in the middle of the floor.
    """
    if not len(topology.links):
        return 0.0
    racks = np.flatnonzero(topology.levels == 0)
    order = racks[np.argsort(topology.pods[racks], kind="stable")]
    columns = max(1, math.ceil(math.sqrt(len(order) * ROW_M / RACK_M)))
    place = np.zeros((topology.n_switches, 2))
    index = np.arange(len(order))
    place[order] = np.stack([index % columns * RACK_M, index // columns * ROW_M], 1)
    middle = place[order].mean(axis=0)
    for switch in np.flatnonzero(topology.levels > 0):
        own = order[topology.pods[order] == topology.pods[switch]]
        place[switch] = place[own[len(own) // 2]] if len(own) else middle
    ends = place[topology.links - topology.n_hosts]
    return float((np.abs(ends[:, 0] - ends[:, 1]).sum(axis=1) + SLACK_M).sum())


def share_between_pods(topology: Topology) -> float:
    """Share of the cables between switches that leave a pod or rack."""
    pods = topology.pods[topology.links - topology.n_hosts]
    return float((pods[:, 0] != pods[:, 1]).mean()) if len(pods) else 0.0
