"""Subflows of a connection, with windows linked as by OLIA, and connections that are kept open."""

from dataclasses import replace

import numpy as np
import pytest

from core.errors import BadInput
from simulator.packets.networks import Speeds, leaf_spine
from simulator.packets.results import join_subflows
from simulator.packets.settings import PortSettings, Run, Transport
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import (
    ENDLESS_BYTES,
    create_flows,
    join_flows,
    poisson_flows,
    split_subflows,
)
from tests.simulator.packets.networks import NO_LIMIT, dumbbell

BULK = {"initial_window": 2, "max_window": 1024}
OLIA, NEWRENO = Transport("olia", **BULK), Transport("newreno", **BULK)
LINKED, SINGLE = 0, 1


def test_subflows_carry_all_bytes_in_shares_that_differ_by_one():
    flows = create_flows([0.0, 1.0], [0, 1], [2, 3], [10, 7])
    split = split_subflows(flows, [4, 1])
    assert split.sizes_bytes.tolist() == [3, 3, 2, 2, 7]
    assert split.connections.tolist() == [0, 0, 0, 0, 1]
    assert join_flows([split, split, flows]).connections.tolist() == [
        *(0, 0, 0, 0, 1),
        *(2, 2, 2, 2, 3),
        *(-1, -1),
    ]
    with pytest.raises(BadInput) as refused:
        split_subflows(flows, 8)
    assert refused.value.field == "counts"


def test_sessions_keep_different_numbers_and_each_subflow_has_its_own():
    flows = replace(create_flows([0.0, 1.0, 2.0], 0, 1, 10), sessions=np.array([0, -1, 0], "i4"))
    assert join_flows([flows, flows]).sessions.tolist() == [0, -1, 0, 1, -1, 1]
    split = split_subflows(flows, [2, 1, 3])
    assert split.sessions.tolist() == [0, 1, -1, 0, 1, 2]


def test_a_flow_begins_with_the_window_that_the_last_one_of_its_session_ended_with():
    # Round trips of 6 ms. Windows of 10, 20, 40 and 30 packets of 80; then of 80 and 20 of 90.
    flows = create_flows([0.0, 0.1, 0.2, 0.3], 0, 1, 100 * 1460)
    network, transport = dumbbell(1, 100e9, 1e-3), Transport("newreno")
    found = {}
    for sessions in ([0, 0, 0, -1], [0, 1, 0, 1]):
        numbered = replace(flows, sessions=np.array(sessions, "i4"))
        result = simulate_network(network, numbered, transport, NO_LIMIT, Run())
        found[tuple(sessions)] = np.rint(1e3 * result.completion_s).tolist()
    assert found == {(0, 0, 0, -1): [21, 9, 9, 21], (0, 1, 0, 1): [21, 21, 9, 9]}


def test_a_loss_is_remembered_by_the_next_flows_of_the_session():
    flows = create_flows([0.0, 0.1, 0.2], 0, 1, 36 * 1460)
    transport = Transport("cubic", initial_window=36, initial_timeout_s=1.0)
    run = Run(losses=((0, 10),))
    found = {}
    for session in (-1, 0):
        numbered = replace(flows, sessions=np.full(3, session, "i4"))
        result = simulate_network(dumbbell(1, 100e9, 1e-3), numbered, transport, NO_LIMIT, run)
        assert result.resent.tolist() == [1, 0, 0]
        found[session] = np.rint(1e3 * result.completion_s).tolist()
    # The loss costs a round trip, and leaves 25 of the 36 packets that else need one.
    assert found == {-1: [9, 3, 3], 0: [9, 9, 9]}


def test_a_connection_ends_with_its_last_subflow():
    network = leaf_spine(2, 2, 2, Speeds(1e9, 1e9, 1e-5))
    sizes = np.random.default_rng(1).integers(20_000, 300_000, 300)
    flows = split_subflows(poisson_flows(4, 300, 2e-3, sizes), 3)
    found = simulate_network(network, flows, OLIA, PortSettings(queue_bytes=20_000), Run())
    assert found.resent.sum() > 0
    assert np.isfinite(found.acknowledged_s).all()
    joined = join_subflows(found, flows.connections)
    by_flow = found.acknowledged_s.reshape(-1, 3)
    assert np.array_equal(joined.acknowledged_s, by_flow.max(axis=1))
    assert np.array_equal(joined.bytes, sizes)
    assert joined.sent.sum() == found.sent.sum()


def share_bottleneck(transport, n):
    """Goodput in Mb/s of a connection of n subflows, and of one flow, over one cable."""
    network = dumbbell(2, 100e6, 1e-3, edge_bps=1e9)
    connection = split_subflows(create_flows(0.0, 0, 2, ENDLESS_BYTES, transport=LINKED), n)
    flows = join_flows([connection, create_flows(0.1, 1, 3, ENDLESS_BYTES, transport=SINGLE)])
    ports, run = PortSettings(queue_bytes=120_000), Run(duration_s=20.0, warm_up_s=5.0)
    found = simulate_network(network, flows, [transport, NEWRENO], ports, run)
    rates = found.goodput_bps / 1e6
    return rates[:n].sum(), rates[n]


def test_linked_subflows_share_a_cable_like_one_flow_where_others_share_it_like_many():
    linked, beside_linked = share_bottleneck(OLIA, 4)
    free, beside_free = share_bottleneck(NEWRENO, 4)
    assert linked + beside_linked == pytest.approx(96, abs=3)
    assert linked < 2 * beside_linked
    assert free > 3 * beside_free


def test_one_subflow_is_a_flow_of_newreno():
    # With one path the linked increase is one packet per round trip.
    network = dumbbell(1, 100e6, 1e-3)
    flows = split_subflows(create_flows(0.0, 0, 1, 30_000_000), 1)
    ports = PortSettings(queue_bytes=60_000)
    times = [
        simulate_network(network, flows, transport, ports, Run()).completion_s[0]
        for transport in (OLIA, NEWRENO)
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-3)


def rate_beside(transport):
    """Goodput in Mb/s of a connection over two spines, and of two flows over the first of them."""
    network = leaf_spine(3, 2, 4, Speeds(1e9, 100e6, 1e-3)).with_choices({(0, 2): [0], (2, 0): [0]})
    connection = split_subflows(create_flows(0.0, 0, 4, ENDLESS_BYTES, transport=LINKED), 8)
    others = create_flows([0.1, 0.2], [1, 2], [8, 9], ENDLESS_BYTES, transport=SINGLE)
    ports, run = PortSettings(queue_bytes=120_000), Run(duration_s=20.0, warm_up_s=5.0)
    flows = join_flows([connection, others])
    found = simulate_network(network, flows, [transport, NEWRENO], ports, run)
    rates = found.goodput_bps / 1e6
    return rates[:8].sum(), rates[8:].sum()


def test_a_connection_leaves_the_path_of_others_where_it_has_a_free_one():
    linked, beside_linked = rate_beside(OLIA)
    free, beside_free = rate_beside(NEWRENO)
    assert linked > 90
    assert free > 90
    assert beside_linked > 1.3 * beside_free
