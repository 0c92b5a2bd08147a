"""All metrics of one topology."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.topology import bisection, faults, paths, wiring
from simulator.topology.bisection import Bisection
from simulator.topology.graph import Topology


@dataclass(frozen=True, slots=True)
class Survival:
    """Shares left after random failures of cables: means and standard errors over rounds."""

    pairs: tuple[float, float]
    capacity: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Metrics of a topology; those that a kind or size does not have are ``None``."""

    n_hosts: int
    n_switches: int
    n_links: int
    n_cables: int
    n_ports: int
    paths_between_pods: int | None
    paths_inside_pod: int | None
    disjoint_paths: int
    mean_distance: float
    diameter: int
    distance_counts: dict[int, int]
    bisection: Bisection
    cable_length_m: float
    share_between_pods: float
    hosts_cut_by_a_switch: int
    capacity_lost: dict[str, float]
    survival: Survival
    convergence: faults.Convergence | None


def measure(
    topology: Topology,
    exact_bisection: float | None,
    failed_share: float,
    n_rounds: int,
    seed: int,
    report: Callable[[float], None] = lambda share: None,
) -> Metrics:
    """Measure a topology; ``exact_bisection`` is the closed form where the wiring has one.

    ``report`` is called with the share of the work done.
    """
    between, inside = _pair_of_pods(topology)
    hops = paths.switch_distances(topology, np.random.default_rng(seed))
    reached = hops[np.isfinite(hops)]
    lengths, counts = np.unique(reached.astype(int), return_counts=True)
    known = exact_bisection
    bounds = (
        bisection.bound_bisection(topology)
        if known is None
        else Bisection(known, known, "closed form")
    )
    return Metrics(
        n_hosts=topology.n_hosts,
        n_switches=topology.n_switches,
        n_links=len(topology.links) or len(topology.host_links),
        n_cables=len(topology.cables),
        n_ports=2 * len(topology.links) + len(topology.host_links),
        paths_between_pods=_n_paths(topology, between),
        paths_inside_pod=_n_paths(topology, inside),
        disjoint_paths=_disjoint(topology, between),
        mean_distance=float(reached.mean()) if len(reached) else 0.0,
        diameter=int(reached.max(initial=0)),
        distance_counts=dict(zip(lengths.tolist(), counts.tolist(), strict=True)),
        bisection=bounds,
        cable_length_m=wiring.cable_length_m(topology),
        share_between_pods=wiring.share_between_pods(topology),
        hosts_cut_by_a_switch=faults.hosts_cut_by_a_switch(topology),
        capacity_lost=faults.capacity_lost_by_level(topology),
        survival=_survival(topology, failed_share, n_rounds, seed, report),
        convergence=faults.convergence(topology, 8, seed),
    )


def _pair_of_pods(topology: Topology) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Two hosts of different pods, as far as possible; two of one pod at different switches."""
    if topology.relays_by_hosts:
        # The last host differs from the first in every digit.
        return (0, topology.n_hosts - 1), None
    pods = paths.pods_of_hosts(topology)
    hops = topology.distances(np.array([0]))[0, : topology.n_hosts]
    other = np.flatnonzero(pods != pods[0])
    far = int(other[np.argmax(hops[other])]) if len(other) else topology.n_hosts - 1
    near = np.flatnonzero((pods == pods[0]) & (hops > 2))
    return (0, far), (0, int(near[0])) if len(near) else None


def _n_paths(topology: Topology, pair: tuple[int, int] | None) -> int | None:
    if pair is None:
        return None
    counts, _ = paths.count_shortest_paths(topology.adjacency, pair[0])
    return counts[pair[1]]


def _disjoint(topology: Topology, pair: tuple[int, int]) -> int:
    """Between the switches of two hosts; between the hosts where these have several cables."""
    if topology.relays_by_hosts:
        return paths.disjoint_paths(topology, *pair)
    switch = dict(zip(*topology.host_links.T.tolist(), strict=True))
    return paths.disjoint_paths(topology, switch[pair[0]], switch[pair[1]])


def _survival(
    topology: Topology, share: float, n_rounds: int, seed: int, report: Callable[[float], None]
) -> Survival:
    pairs, capacity = faults.remove_links(
        topology, share, n_rounds, seed, lambda part: report(0.5 + 0.5 * part)
    )
    return Survival(_mean(pairs), None if capacity is None else _mean(capacity))


def _mean(values: np.ndarray) -> tuple[float, float]:
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.mean()), spread / math.sqrt(len(values))
