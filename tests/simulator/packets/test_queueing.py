"""One link as a queue: laws that hold for any correct simulation of it."""

import heapq

import numpy as np
import pytest

from simulator.packets.networks import Speeds, graph_network, three_level
from simulator.packets.settings import Forwarding, PortSettings, Run
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import create_flows, poisson_flows
from tests.simulator.packets.networks import NO_LIMIT, OPEN_LOOP, receivers

# A large segment makes each flow one packet.
ONE_PACKET = Run(segment_bytes=200_000, header_bytes=0)
SERVICE_S = 1e-5
RATE_BPS = 1e9


def simulate_queue(load, sizes, seed, run=ONE_PACKET):
    """Poisson packets over one link of which the service of 1,250 bytes is 10 us."""
    network = graph_network(2, [(0, 1, RATE_BPS, 0.0)])
    random = np.random.default_rng([seed, 9])
    starts = np.cumsum(random.exponential(SERVICE_S / load, len(sizes)))
    flows = create_flows(starts, 0, 1, sizes)
    return simulate_network(network, flows, OPEN_LOOP, NO_LIMIT, run)


@pytest.mark.parametrize(
    ("law", "factor"), [("exponential", 1.0), ("constant", 0.5)], ids=["M/M/1", "M/D/1"]
)
def test_mean_wait_is_that_of_the_queue(law, factor):
    load, waits = 0.6, []
    for seed in range(4):
        sizes = np.full(100_000, 1250)
        if law == "exponential":
            drawn = np.random.default_rng(seed).exponential(1250, 100_000)
            sizes = np.maximum(np.rint(drawn), 1).astype(int)
        waits.append(simulate_queue(load, sizes, seed).links.wait_s[0])
    # Pollaczek and Khinchine.
    assert np.mean(waits) == pytest.approx(factor * SERVICE_S * load / (1 - load), rel=0.03)


def test_mean_number_is_rate_times_mean_time():
    sizes = np.full(20_000, 1250)
    run = Run(
        segment_bytes=2000,
        header_bytes=0,
        duration_s=0.4,
        watched_links=(0,),
        sample_period_s=1e-6,
    )
    result = simulate_queue(0.5, sizes, 3, run)
    in_system = result.backlog_bytes.mean() / 1250
    # Bytes of the packet in service count for what is left of it: half of it, on average.
    arrivals_per_s = result.links.accepted[0] / result.duration_s
    waiting = arrivals_per_s * result.links.wait_s[0]
    assert in_system == pytest.approx(waiting + result.links.busy[0] / 2, rel=0.01)


def simulate_with_heapq(starts_ps, sizes, routes, ps_per_byte, delay_ps):
    """Deliver one-packet flows over routes of FIFO links, by an independent event list."""
    busy, arrival = {}, {}
    events = [(start, -1, flow, 0) for flow, start in enumerate(starts_ps)]
    heapq.heapify(events)
    while events:
        now, _, flow, hop = heapq.heappop(events)
        if hop == len(routes[flow]):
            arrival[flow] = now
            continue
        link = routes[flow][hop]
        busy[link] = max(now, busy.get(link, 0)) + sizes[flow] * ps_per_byte
        heapq.heappush(events, (busy[link] + delay_ps, link, flow, hop + 1))
    return [arrival[flow] for flow in range(len(routes))]


def test_another_event_list_gives_the_same_times():
    cables = [(host, 6 + host % 2, 1e9, 1e-6) for host in range(6)]
    network = graph_network(6, [*cables, (6, 7, 1e9, 1e-6)])
    random = np.random.default_rng(5)
    n = 3000
    sources = random.integers(0, 6, n)
    targets = (sources + random.integers(1, 6, n)) % 6
    sizes = random.integers(64, 1500, n)
    # Starts on a coarse grid, so that many events are simultaneous.
    starts = np.sort(random.integers(0, 1000, n)) * 1e-5
    flows = create_flows(starts, sources, targets, sizes)
    result = simulate_network(network, flows, OPEN_LOOP, NO_LIMIT, ONE_PACKET)
    up, down = (lambda host: 2 * host), (lambda host: 2 * host + 1)
    routes = []
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        middle = [] if source % 2 == target % 2 else [12 + source % 2]
        routes.append([up(source), *middle, down(target)])
    starts_ps = np.rint(starts * 1e12).astype(int)
    arrivals = simulate_with_heapq(starts_ps.tolist(), sizes.tolist(), routes, 8000, 10**6)
    expected = (np.array(arrivals) - starts_ps) / 1e12
    assert np.array_equal(result.completion_s, expected)


def assert_conserved(network, result):
    """Packets are neither created nor lost between the two ends of a link, nor in a switch."""
    links = result.links
    assert np.array_equal(links.accepted, links.delivered + links.discarded + links.in_flight)
    ends = receivers(network)
    for switch in range(network.switches.max() + 1):
        offered = (links.accepted + links.dropped)[network.switches == switch].sum()
        assert offered == links.delivered[ends == switch].sum()
    sent = result.sent.sum()
    assert sent >= links.accepted[network.switches == -1].sum() / 2
    assert links.dropped.sum() + links.discarded.sum() == result.dropped.sum()


@pytest.mark.parametrize("paths", ["ecmp", "spray", "flowlet", "flowcell"])
def test_packets_are_conserved_at_each_link_and_switch(paths):
    network = three_level((2, 2, 2), (2, 2), Speeds(1e9, 1e9, 1e-6))
    flows = poisson_flows(8, 300, 2e-4, np.full(300, 30_000), seed=2)
    run = Run(forwarding=Forwarding(paths, flowcell_bytes=6000))
    ports = PortSettings(queue_bytes=15_000)
    result = simulate_network(network, flows, OPEN_LOOP, ports, run)
    assert result.dropped.sum() > 0
    assert_conserved(network, result)
    used = result.links.accepted[network.switches >= 4] > 0
    assert used.all()
    lost = result.dropped > 0
    assert np.array_equal(np.isnan(result.completion_s), lost)


def test_packets_of_one_path_are_not_reordered():
    network = three_level((2, 2, 2), (2, 2), Speeds(1e9, 1e9, 1e-6))
    flows = poisson_flows(8, 200, 2e-4, np.full(200, 30_000), seed=2)
    early = {
        paths: simulate_network(
            network, flows, OPEN_LOOP, NO_LIMIT, Run(forwarding=Forwarding(paths))
        ).early.sum()
        for paths in ("ecmp", "spray")
    }
    assert early["ecmp"] == 0
    assert early["spray"] > 0
