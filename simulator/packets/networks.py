"""Networks: links with rates and delays, and how routes between hosts follow from their numbers.

``fat_tree``, ``three_level`` and ``leaf_spine`` compute routes; ``graph_network`` has any shape and
the shortest route for each flow.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from simulator.packets import layout
from simulator.packets.settings import check_range

Pair = tuple[int, int]
# Largest error of a rate if its bytes do not last a whole number of picoseconds.
_RATE_ERROR = 1e-3


@dataclass(frozen=True, slots=True)
class Speeds:
    """Rates of the links of hosts and of those between switches, and the delays of links.

    ``delay_s`` is that of each link; ``upper_delays_s`` replaces it from an edge switch up: one
    value per level.
    """

    host_bps: float = 10e9
    fabric_bps: float = 10e9
    delay_s: float = 1e-6
    upper_delays_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_range(self, "host_bps", 1e3, 8e12)
        check_range(self, "fabric_bps", 1e3, 8e12)
        check_range(self, "delay_s", 0, 10)
        if not all(0 <= delay <= 10 for delay in self.upper_delays_s):
            raise BadInput("delays are from 0 to 10 seconds", field="upper_delays_s")


@dataclass(frozen=True, slots=True)
class Network:
    """Links in the numbering of ``forwarding``: shape (links,) each, in bits/s and seconds.

    ``switches`` has the switch that transmits on a link, -1 for a host. ``choices`` restricts and
    weights the paths between two edge switches: flows are spread over the list, cells go round it.
    """

    kind: int
    hosts: int
    hosts_per_edge: int
    edges: int
    edges_per_pod: int
    uplinks: int
    cores: int
    rates_bps: NDArray[np.float64]
    delays_s: NDArray[np.float64]
    switches: NDArray[np.int32]
    choices: Mapping[Pair, Sequence[int]] = field(default_factory=dict)
    ends: tuple[Pair, ...] = ()

    @property
    def n_paths(self) -> int:
        """Paths between two edge switches, of different pods where there are pods."""
        return self.uplinks * max(self.cores, 1)

    @property
    def ps_per_byte(self) -> NDArray[np.int64]:
        """Whole picoseconds per byte of each link; raises ``BadInput`` if the error is large."""
        exact = 8 * layout.PS_PER_S / self.rates_bps
        whole = np.rint(exact).astype(np.int64)
        if np.any(np.abs(whole / exact - 1) > _RATE_ERROR):
            rate = self.rates_bps[np.argmax(np.abs(whole / exact - 1))]
            raise BadInput(f"{rate:g} bit/s is not a whole number of ps per byte", field="rate")
        return whole

    def with_choices(self, choices: Mapping[Pair, Sequence[int]]) -> "Network":
        """Return the network with other paths from one edge switch to another.

        Pairs that are not named keep all paths. Raises ``BadInput`` for a path that does not exist.
        """
        for pair, paths in choices.items():
            if not paths or not all(0 <= path < self.n_paths for path in paths):
                text = f"paths of {pair} are not numbers below {self.n_paths}"
                raise BadInput(text, field="choices")
        return replace(self, choices=dict(choices))


def fat_tree(k: int, speeds: Speeds | None = None) -> Network:
    """Build the fat-tree of switches with ``k`` ports: k**3/4 hosts (Al-Fares et al.)."""
    if k < 2 or k % 2:
        raise BadInput(f"{k} is not an even number from 2", field="k")
    return three_level((k, k // 2, k // 2), (k // 2, k // 2), speeds)


def three_level(
    shape: tuple[int, int, int], up: tuple[int, int], speeds: Speeds | None = None
) -> Network:
    """Build a network of pods.

    ``shape`` is (pods, edge switches per pod, hosts per edge switch), ``up`` is (aggregation
    switches per pod, core switches per aggregation switch). Raises ``BadInput``.
    """
    if min(*shape, *up) < 1:
        raise BadInput("all numbers have to be at least 1", field="shape")
    pods, edges_per_pod, hosts_per_edge = shape
    uplinks, cores = up
    edges = pods * edges_per_pod
    hosts = edges * hosts_per_edge
    edge = np.arange(edges)
    aggregation = edges + np.arange(pods * uplinks)
    core = edges + pods * uplinks + np.arange(uplinks * cores)
    below = (edge[:, None] // edges_per_pod * uplinks + np.arange(uplinks) + edges).ravel()
    transmitters = [
        np.full(hosts, layout.NONE),
        np.repeat(edge, uplinks),
        np.repeat(aggregation, cores),
        np.tile(core, pods),
        below,
        np.repeat(edge, hosts_per_edge),
    ]
    sizes = (hosts, hosts_per_edge, edges, edges_per_pod, uplinks, cores)
    return _with_links(layout.THREE_LEVEL, sizes, transmitters, speeds or Speeds())


def leaf_spine(
    leaves: int, spines: int, hosts_per_leaf: int, speeds: Speeds | None = None, parallel: int = 1
) -> Network:
    """Build a network of leaves, each with ``parallel`` links to each spine; raises ``BadInput``.

    Path p uses spine p modulo ``spines``.
    """
    if min(leaves, spines, hosts_per_leaf, parallel) < 1:
        raise BadInput("all numbers have to be at least 1", field="leaves")
    uplinks = spines * parallel
    hosts = leaves * hosts_per_leaf
    transmitters = [
        np.full(hosts, layout.NONE),
        np.repeat(np.arange(leaves), uplinks),
        np.tile(leaves + np.arange(uplinks) % spines, leaves),
        np.repeat(np.arange(leaves), hosts_per_leaf),
    ]
    sizes = (hosts, hosts_per_leaf, leaves, 1, uplinks, 0)
    return _with_links(layout.TWO_LEVEL, sizes, transmitters, speeds or Speeds())


def _with_links(
    kind: int,
    sizes: tuple[int, int, int, int, int, int],
    transmitters: list[NDArray[np.int64]],
    speeds: Speeds,
) -> Network:
    switches = np.concatenate(transmitters).astype(np.int32)
    hosts = sizes[0]
    rates = np.full(len(switches), float(speeds.fabric_bps))
    rates[:hosts] = rates[-hosts:] = speeds.host_bps
    delays = np.full(len(switches), float(speeds.delay_s))
    # Levels up and down mirror each other; the outermost one is that of the hosts.
    first, end = hosts, len(switches) - hosts
    upper = transmitters[1 : len(transmitters) // 2]
    for level, delay_s in zip(upper, speeds.upper_delays_s, strict=False):
        delays[first : first + len(level)] = delays[end - len(level) : end] = delay_s
        first, end = first + len(level), end - len(level)
    return Network(kind, *sizes, rates, delays, switches)


def graph_network(hosts: int, cables: Sequence[tuple[int, int, float, float]]) -> Network:
    """Build a network of any shape; each cable is (end, end, bits/s, delay in seconds).

    Nodes below ``hosts`` are hosts, the others switches. Cable i has the links 2i, from its first
    end to its second, and 2i + 1. Raises ``BadInput`` without hosts or cables.
    """
    if hosts < 2 or not cables:
        raise BadInput("a network has at least two hosts and a cable", field="cables")
    ends = [end for a, b, _, _ in cables for end in ((a, b), (b, a))]
    switches = np.array([layout.NONE if a < hosts else a - hosts for a, _ in ends], np.int32)
    rates = np.repeat([float(rate) for _, _, rate, _ in cables], 2)
    delays = np.repeat([float(delay) for _, _, _, delay in cables], 2)
    return Network(layout.EXPLICIT, hosts, 1, 0, 1, 0, 0, rates, delays, switches, ends=tuple(ends))


def find_routes(
    network: Network, sources: NDArray[np.int32], destinations: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Find the shortest route of each flow in both directions: shape (flows, 2, ROUTE_LENGTH).

    Raises ``BadInput`` if there is none, or if it has too many links.
    """
    routes = np.full((len(sources), 2, layout.ROUTE_LENGTH), layout.NONE, np.int32)
    found: dict[Pair, list[int]] = {}
    for row, pair in enumerate(zip(sources.tolist(), destinations.tolist(), strict=True)):
        for direction, ends in enumerate((pair, pair[::-1])):
            if ends not in found:
                found[ends] = _find_route(network, *ends)
            route = found[ends]
            routes[row, direction, : len(route)] = route
    return routes


def _find_route(network: Network, source: int, destination: int) -> list[int]:
    """Find the route with the fewest links; of equal ones, that with the smallest numbers."""
    reached: dict[int, list[int]] = {source: []}
    waiting = deque([source])
    while waiting and destination not in reached:
        node = waiting.popleft()
        for link, (start, end) in enumerate(network.ends):
            if start == node and end not in reached:
                reached[end] = [*reached[node], link]
                waiting.append(end)
    route = reached.get(destination)
    if not route or len(route) >= layout.ROUTE_LENGTH:
        text = f"no route of fewer than {layout.ROUTE_LENGTH} links"
        raise BadInput(f"{text} from {source} to {destination}", field="cables")
    return route
