"""Ports that schedule: priorities, token buckets, shared buffers, CoDel."""

import numpy as np
import pytest

from simulator.packets.networks import Speeds, fat_tree, graph_network, leaf_spine
from simulator.packets.settings import (
    Codel,
    Forwarding,
    PortSettings,
    Run,
    TokenBucket,
    Transport,
)
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import (
    ENDLESS_BYTES,
    create_flows,
    incast,
    join_flows,
    poisson_flows,
)
from tests.simulator.packets.networks import NO_LIMIT, OPEN_LOOP, dumbbell
from tests.simulator.packets.test_queueing import ONE_PACKET, SERVICE_S, assert_conserved


def test_the_upper_priority_waits_as_cobham_says():
    random = np.random.default_rng(3)
    n, load = 200_000, np.array([0.4, 0.3])
    starts = np.cumsum(random.exponential(SERVICE_S / load.sum(), n))
    upper = (random.random(n) < load[1] / load.sum()).astype(int)
    flows = create_flows(starts, 0, 1, 1250)
    flows.priorities[:] = upper
    network = graph_network(2, [(0, 1, 1e9, 0.0)])
    ports = PortSettings(queue_bytes=None, priorities=2, host_priorities=True)
    result = simulate_network(network, flows, OPEN_LOOP, ports, ONE_PACKET)
    waits = result.completion_s - SERVICE_S
    residual = load.sum() * SERVICE_S / 2
    expected = [residual / (1 - load[1]) / (1 - load.sum()), residual / (1 - load[1])]
    found = [waits[upper == level].mean() for level in (0, 1)]
    assert found == pytest.approx(expected, rel=0.03)
    # Work is conserved: the link is busy whenever packets wait.
    fifo = simulate_network(network, flows, OPEN_LOOP, NO_LIMIT, ONE_PACKET)
    assert fifo.duration_s == result.duration_s
    assert fifo.links.wait_s[0] == pytest.approx(result.links.wait_s[0], rel=1e-9)


@pytest.mark.parametrize("paths", ["ecmp", "spray"])
def test_a_scheduled_port_with_equal_packets_serves_in_order_of_arrival(paths):
    flows = poisson_flows(16, 300, 1e-4, np.full(300, 60_000), seed=3)
    same = {"queue_bytes": 20_000, "mark_above_bytes": 9_000}
    results = [
        simulate_network(fat_tree(4), flows, Transport(), ports, Run(forwarding=Forwarding(paths)))
        for ports in (PortSettings(**same), PortSettings(**same, priorities=2))
    ]
    for name in ("completion_s", "marked", "dropped", "sent"):
        first, second = (getattr(result, name) for result in results)
        assert np.array_equal(first, second), name
    assert results[0].dropped.sum() > 0
    assert results[0].marked.sum() > 0


def test_small_messages_are_tagged_and_pass_large_ones():
    network = leaf_spine(1, 1, 4, Speeds(1e9, 1e9, 1e-5))
    bulk = create_flows(0.0, [0, 1], 3, ENDLESS_BYTES)
    mice = create_flows(np.arange(1, 40) * 5e-3, 2, 3, 2_000)
    tails = {}
    for tagging in (None, TokenBucket(rate_bps=10e6, burst_bytes=30_000)):
        ports = PortSettings(queue_bytes=660_000, priorities=2, tagging=tagging)
        run = Run(duration_s=0.21, warm_up_s=0.02)
        result = simulate_network(
            network, join_flows([bulk, mice]), Transport("cubic", max_window=1024), ports, run
        )
        tails[tagging is not None] = result.completion_s[2:].max()
        assert result.goodput_bps[:2].sum() > 0.85e9
        assert_conserved(network, result)
    # Two packets, each of which waits for at most one packet of the bulk.
    assert tails[True] < 6 * 12e-6 + 3 * 1e-5 + 2e-5
    assert tails[False] > 10 * tails[True]


def test_a_pair_that_sends_too_much_loses_its_tag_until_the_next_check():
    network = leaf_spine(1, 1, 4, Speeds(1e9, 1e9, 0.0))
    # 45 packets at once are more than the burst of 30 kB, of which 20 packets conform.
    burst = create_flows(0.0, 0, 2, 1460 * 45)
    later = create_flows([0.05, 0.15], 0, 2, 1460)
    # Background of the lower priority that fills the port to host 2 at those times.
    starts = np.repeat([0.0, 0.0495, 0.1495], 2)
    other = create_flows(starts, [1, 3] * 3, 2, 1460 * 60)
    ports = PortSettings(
        queue_bytes=None, priorities=2, tagging=TokenBucket(10e6, 30_000, recheck_s=0.1)
    )
    flows = join_flows([burst, later, other])
    result = simulate_network(network, flows, OPEN_LOOP, ports, Run())
    alone = 2 * 12e-6
    # At 0.05 s the pair still has the lower priority, at 0.15 s it was checked again.
    assert result.completion_s[1] > 10 * alone
    assert result.completion_s[2] < 2 * alone


@pytest.mark.parametrize(("congested", "alpha"), [(1, 1.0), (3, 1.0), (2, 0.5)])
def test_congested_ports_share_a_buffer_by_the_dynamic_threshold(congested, alpha):
    buffer_bytes = 900_000
    network = leaf_spine(1, 1, 3 * congested, Speeds(10e9, 10e9, 1e-6))
    receivers = np.arange(congested)
    senders = congested + np.arange(2 * congested)
    flows = create_flows(0.0, senders, np.repeat(receivers, 2), 1460 * 4000)
    ports = PortSettings(queue_bytes=None, shared_buffer_bytes=buffer_bytes, shared_alpha=alpha)
    down = network.hosts + 2  # after one link up to the spine and one down from it
    run = Run(
        duration_s=4e-3,
        watched_links=tuple(down + receivers),
        sample_period_s=1e-5,
    )
    unpaced = Transport("open-loop", max_window=4096)
    result = simulate_network(network, flows, unpaced, ports, run)
    held = result.backlog_bytes[-50:].mean(axis=0)
    expected = alpha * buffer_bytes / (1 + congested * alpha)
    assert held == pytest.approx(np.full(congested, expected), rel=0.02)
    assert_conserved(network, result)


def simulate_ns3_validation(transport, rtt_s, duration_s, ports, **run):
    """The network of ns-3's tcp-validation example: 50 Mb/s between two faster links."""
    delay = rtt_s / 6
    network = graph_network(2, [(0, 2, 100e6, delay), (2, 3, 50e6, delay), (3, 1, 100e6, delay)])
    flows = create_flows(0.0, 0, 1, ENDLESS_BYTES)
    return simulate_network(network, flows, transport, ports, Run(duration_s=duration_s, **run))


WIDE_AREA = {"max_window": 4096, "minimum_timeout_s": 0.2, "initial_timeout_s": 1.0}


@pytest.mark.parametrize(
    ("rtt_s", "from_s", "to_s", "low", "high"),
    [(0.01, 5.6, 12.0, 48e6, 49e6), (0.08, 32.0, 40.0, 47.5e6, 48.5e6)],
)
def test_dctcp_has_the_throughput_that_ns3_publishes(rtt_s, from_s, to_s, low, high):
    # Marks above 1 ms at 50 Mb/s.
    ports = PortSettings(queue_bytes=None, mark_above_bytes=6_250)
    transport = Transport("dctcp", **WIDE_AREA)
    result = simulate_ns3_validation(transport, rtt_s, to_s, ports, warm_up_s=from_s)
    assert low < result.goodput_bps[0] < high


def test_cubic_with_codel_has_the_cycles_that_ns3_publishes():
    ports = PortSettings(queue_bytes=None, codel=Codel())
    result = simulate_ns3_validation(
        Transport("cubic", **WIDE_AREA),
        0.05,
        20.0,
        ports,
        watched_links=(2,),
        sample_period_s=0.01,
    )
    backlog = result.backlog_bytes[:, 0] / 1500
    high = np.flatnonzero(backlog[400:] > 20) / 100
    ends = high[np.append(np.diff(high) > 1, True)]
    # ns-3: maxima of the window of 236 segments at 14.28 s and 234 at 18.05 s. A cycle that begins
    # with two drops is longer.
    assert np.diff(ends).min() == pytest.approx(18.05 - 14.28, rel=0.15)
    in_flight = 50e6 * 0.05 / 8 / 1500 + backlog[400:].max()
    assert in_flight == pytest.approx(235, rel=0.03)
    assert result.timeouts[0] == 0


def test_codel_holds_the_delay_of_newreno_near_its_target():
    network = dumbbell(1, 100e6, 2e-3, edge_bps=1e9)
    flows = create_flows(0.0, 0, 1, ENDLESS_BYTES)
    transport = Transport("newreno", **WIDE_AREA)
    median = {}
    for name, ports in (
        ("codel", PortSettings(queue_bytes=None, codel=Codel())),
        ("marking", PortSettings(queue_bytes=None, codel=Codel(marks=True))),
        ("tail drop", PortSettings(queue_bytes=400_000)),
    ):
        ecn = Transport("newreno", ecn=name == "marking", **WIDE_AREA)
        run = Run(duration_s=6.0, warm_up_s=2.0, rtt_samples=5_000)
        result = simulate_network(network, flows, ecn, ports, run)
        median[name] = np.median(result.rtts[:, 2]) - 12e-3
        assert result.goodput_bps[0] > 0.8 * 100e6
        assert (result.links.discarded.sum() > 0) == (name == "codel")
        assert (result.links.marked.sum() > 0) == (name == "marking")
        assert_conserved(network, result)
    assert median["codel"] < 8e-3
    assert median["marking"] < 8e-3
    assert median["tail drop"] > 15e-3
    assert transport.markable is False


def test_dctcp_absorbs_an_incast_that_overflows_newreno():
    network = leaf_spine(1, 1, 33, Speeds(10e9, 10e9, 1e-6))
    flows = incast(range(1, 33), 0, 200_000, jitter_s=1e-5)
    results = {
        control: simulate_network(
            network,
            flows,
            Transport(control),
            PortSettings(queue_bytes=600_000, mark_above_bytes=97_500),
            Run(),
        )
        for control in ("dctcp", "newreno")
    }
    assert results["dctcp"].dropped.sum() == 0
    assert results["newreno"].dropped.sum() > 0
    assert results["dctcp"].completion_s.max() < results["newreno"].completion_s.max()
