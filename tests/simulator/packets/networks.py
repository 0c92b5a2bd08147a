"""Small networks and runs that several tests share."""

import numpy as np

from simulator.packets import layout
from simulator.packets.networks import graph_network
from simulator.packets.settings import PortSettings, Run, Transport
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import create_flows

OPEN_LOOP = Transport("open-loop")
NO_LIMIT = PortSettings(queue_bytes=None)


def dumbbell(pairs, rate_bps=10e9, delay_s=5e-6, edge_bps=None):
    """Hosts 0 .. pairs - 1 send to pairs .. 2 pairs - 1 over one link, of number 4 * pairs."""
    left, right = 2 * pairs, 2 * pairs + 1
    edge = edge_bps or rate_bps
    cables = [(host, left, edge, delay_s) for host in range(pairs)]
    cables += [(right, host, edge, delay_s) for host in range(pairs, 2 * pairs)]
    return graph_network(2 * pairs, [*cables, (left, right, rate_bps, delay_s)])


def receivers(network):
    """The switch at the far end of each link, -1 for a host."""
    if network.kind == layout.EXPLICIT:
        return np.array([b - network.hosts if b >= network.hosts else -1 for _, b in network.ends])
    half = len(network.switches) // 2
    up, down = network.switches[:half], network.switches[half:]
    # Each link up has a link down at the mirrored level: its transmitter is where the first ends.
    ends = np.empty(2 * half, int)
    levels = _level_sizes(network)
    start, back = 0, 2 * half
    for size in levels:
        back -= size
        ends[start : start + size] = network.switches[back : back + size]
        ends[back : back + size] = network.switches[start : start + size]
        start += size
    assert len(up) == len(down) == sum(levels)
    return ends


def _level_sizes(network):
    if network.kind == layout.TWO_LEVEL:
        return [network.hosts, network.edges * network.uplinks]
    pods = network.edges // network.edges_per_pod
    edge_links = network.edges * network.uplinks
    return [network.hosts, edge_links, pods * network.uplinks * network.cores]


def simulate_pair(transport, *, packets=100, ports=NO_LIMIT, rate_bps=1e9, delay_s=1e-4, **run):
    """One flow over a dumbbell whose bottleneck has a tenth of the rate of the hosts."""
    network = dumbbell(1, rate_bps, delay_s, edge_bps=10 * rate_bps)
    flows = create_flows(0.0, 0, 1, 1460 * packets)
    return simulate_network(network, flows, transport, ports, Run(**run))
