from dataclasses import replace

import numpy as np
import pytest

from core.errors import BadInput
from simulator.packets.networks import Network, Speeds, fat_tree, graph_network, leaf_spine
from simulator.packets.settings import Forwarding, PortSettings, Run, Transport
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import (
    ENDLESS_BYTES,
    create_flows,
    incast,
    permutation,
    poisson_flows,
)
from tests.simulator.packets.networks import NO_LIMIT, dumbbell, simulate_pair
from tests.simulator.packets.test_queueing import assert_conserved

DCTCP_PORTS = PortSettings(queue_bytes=500_000, mark_above_bytes=97_500)


def test_a_flow_alone_ends_after_its_round_trips_and_its_bytes():
    # Windows of 10, 20, 40 and 30 packets, each sent one round trip after the one before.
    result = simulate_pair(Transport("newreno"), packets=100, rate_bps=100e9, delay_s=1e-3)
    assert result.completion_s[0] == pytest.approx(3 * 6e-3 + 3e-3, rel=0.01)
    assert result.resent[0] == 0


def test_long_flows_fill_the_bottleneck_and_share_it():
    # With hosts exactly as fast as the bottleneck some flows lock the others out.
    network = dumbbell(4, edge_bps=10.2e9)
    flows = create_flows(0.0, range(4), range(4, 8), ENDLESS_BYTES)
    run = Run(duration_s=0.03, warm_up_s=0.01, watched_links=(16,), sample_period_s=1e-5)
    result = simulate_network(network, flows, Transport("dctcp"), DCTCP_PORTS, run)
    shares = result.goodput_bps
    assert shares.sum() == pytest.approx(10e9 * 1460 / 1500, rel=0.01)
    assert shares.sum() ** 2 / (4 * (shares**2).sum()) > 0.98
    assert result.resent.sum() == 0
    # The queue has at most K packets and one more of each flow, and never runs empty.
    steady = result.backlog_bytes[1000:, 0] / 1500
    assert steady.max() <= 65 + 2 * 4
    assert steady.min() > 0


def test_dctcp_swings_and_marks_as_its_steady_state():
    # Alizadeh et al. (SIGCOMM 2010), section 3.3, for one flow: at a window W of the pipe and K the
    # share of marks is sqrt(2 / W), and the queue falls by W / 2 times that.
    packet, threshold, rate_bps, rtt_s = 1500, 20, 1e8, 10e-3
    result = simulate_network(
        dumbbell(1, rate_bps, rtt_s / 6, edge_bps=10 * rate_bps),
        create_flows(0.0, 0, 1, ENDLESS_BYTES),
        Transport("dctcp", max_window=1024),
        PortSettings(queue_bytes=None, mark_above_bytes=threshold * packet),
        Run(duration_s=8.0, watched_links=(4,), sample_period_s=1e-3),
    )
    window = rate_bps * rtt_s / 8 / packet + threshold
    share = np.sqrt(2 / window)
    marked = result.marked[0] / (result.sent[0] - result.resent[0])
    queue = result.backlog_bytes[3000:, 0] / packet
    assert marked == pytest.approx(share, rel=0.15)
    assert queue.max() == pytest.approx(threshold + 1, abs=1)
    assert np.ptp(queue) == pytest.approx(window * share / 2, abs=1.5)


@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_recoveries_differ_by_the_losses_of_a_window(lost):
    results = {}
    for recovery in ("reno", "newreno", "sack"):
        transport = Transport(
            "newreno",
            recovery,
            initial_window=20,
            initial_threshold=20,
            max_window=20,
            minimum_timeout_s=0.2,
            initial_timeout_s=0.2,
        )
        losses = tuple((0, 40 + 3 * i) for i in range(lost))
        results[recovery] = simulate_pair(transport, packets=300, losses=losses)
    times = {name: result.completion_s[0] for name, result in results.items()}
    assert all(result.dropped[0] == lost for result in results.values())
    assert results["sack"].resent[0] == results["newreno"].resent[0] == lost
    assert results["sack"].timeouts[0] == results["newreno"].timeouts[0] == 0
    if lost == 1:
        assert times["reno"] == times["newreno"]
    else:
        # Reno halves its window for each loss, or waits for the timer; NewReno needs a round trip
        # for each loss; with selective acknowledgements one round trip serves for all.
        assert times["sack"] < times["newreno"] < times["reno"]


def test_a_lost_last_packet_waits_for_the_timer():
    result = simulate_pair(Transport("newreno"), packets=5, losses=((0, 4), (0, 4), (0, 4)))
    assert result.timeouts[0] == 3
    assert 0.07 < result.completion_s[0] < 0.08  # 10, 20 and 40 ms


def test_cubic_returns_to_its_plateau_faster_than_newreno():
    ports = PortSettings(queue_bytes=300_000)
    goodput = {}
    for control in ("newreno", "cubic"):
        transport = Transport(control, max_window=4096, initial_timeout_s=1.0)
        result = simulate_pair(
            transport, packets=10**6, ports=ports, delay_s=1e-2, duration_s=4.0, warm_up_s=1.0
        )
        goodput[control] = result.goodput_bps[0]
    assert goodput["cubic"] > 1.2 * goodput["newreno"]


def scale_network(network, factor):
    names = ("kind", "hosts", "hosts_per_edge", "edges", "edges_per_pod", "uplinks", "cores")
    sizes = [getattr(network, name) for name in names]
    return Network(*sizes, network.rates_bps * factor, network.delays_s / factor, network.switches)


def test_double_rates_and_half_delays_halve_all_times_exactly():
    network = fat_tree(4, Speeds(10e9, 10e9, 2e-6))
    flows = poisson_flows(16, 400, 1e-4, np.full(400, 60_000), seed=3)
    even = np.rint(flows.starts_s * 1e11) / 1e11
    ports = PortSettings(queue_bytes=20_000, mark_above_bytes=9_000)
    times = []
    for factor in (1, 2):
        scaled = create_flows(even / factor, flows.sources, flows.destinations, flows.sizes_bytes)
        timeout = 1e-3 / factor
        transport = Transport(minimum_timeout_s=timeout, initial_timeout_s=timeout)
        run = Run(timer_tick_s=1e-5 / factor)
        result = simulate_network(scale_network(network, factor), scaled, transport, ports, run)
        times.append(np.rint(result.completion_s * 1e12))
        assert result.timeouts.sum() > 0
    assert np.array_equal(times[0], 2 * times[1])


def test_the_same_seed_gives_the_same_run_and_memory_does_not_grow():
    network = fat_tree(4)
    flows = permutation(16, seed=4)
    runs = [
        simulate_network(
            network, flows, Transport(), DCTCP_PORTS, Run(seed=seed, duration_s=duration)
        )
        for seed, duration in ((1, 2e-3), (1, 2e-3), (2, 2e-3), (1, 2e-2))
    ]
    assert np.array_equal(runs[0].bytes, runs[1].bytes)
    assert not np.array_equal(runs[0].bytes, runs[2].bytes)
    assert runs[3].memory_bytes == runs[0].memory_bytes
    assert runs[3].traversals > 8 * runs[0].traversals
    for result in runs:
        assert_conserved(network, result)


def test_slots_are_used_again_and_outgrown_arrays_replaced():
    network = fat_tree(4)
    many = incast(range(1, 16), 0, 3_000)
    flows = create_flows(
        np.repeat(np.arange(20) * 1e-3, 15),
        np.tile(many.sources, 20),
        0,
        3_000,
    )
    result = simulate_network(network, flows, Transport(), DCTCP_PORTS, Run())
    assert np.isfinite(result.completion_s).all()
    assert result.most_active == 15
    burst = create_flows(0.0, np.arange(6000) % 15 + 1, 0, 3_000)
    result = simulate_network(network, burst, Transport(), DCTCP_PORTS, Run())
    assert np.isfinite(result.completion_s).all()
    assert result.most_active == 6000
    assert result.resent.sum() > 0
    assert_conserved(network, result)


def test_a_report_can_cancel_the_run():
    class Cancelled(Exception):
        pass

    seen = []

    def report(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        simulate_network(
            fat_tree(4), permutation(16), Transport(), DCTCP_PORTS, Run(duration_s=1.0), report
        )
    assert [progress.events for progress in seen] == [0, 1_000_000, 2_000_000]
    assert 0 == seen[0].share < seen[1].share < seen[2].share < 1


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Transport("quic"), "congestion_control"),
        (lambda: Transport(max_window=1), "max_window"),
        (lambda: PortSettings(priorities=3), "priorities"),
        (lambda: Forwarding("best"), "paths"),
        (lambda: Run(duration_s=-1.0), "duration_s"),
        (lambda: fat_tree(5), "k"),
        (lambda: create_flows(0.0, 1, 1, 100), "destinations"),
        (lambda: fat_tree(4, Speeds(host_bps=7.7e12)).ps_per_byte, "rate"),
    ],
)
def test_bad_settings_name_the_field(make, field):
    with pytest.raises(BadInput) as error:
        make()
    assert error.value.field == field
    assert NO_LIMIT.queue_bytes is None


def test_windows_below_one_packet_hold_many_senders_below_a_queue_of_one_packet_each():
    n, run = 40, Run(duration_s=0.05, warm_up_s=0.02, rtt_samples=20_000, segment_bytes=8960)
    flows = incast(range(n), n, ENDLESS_BYTES, jitter_s=1e-3)
    cables = [*((host, n + 1, 10.2e9, 5e-6) for host in range(n)), (n + 1, n, 10e9, 5e-6)]
    network = graph_network(n + 1, cables)
    medians = {}
    for least in (0.1, 1):
        transport = Transport("cubic", edge_window=True, minimum_window=least)
        ports = PortSettings(queue_bytes=None, mark_above_bytes=90_000)
        result = simulate_network(network, flows, transport, ports, run)
        assert_conserved(network, result)
        assert result.goodput_bps.sum() > 0.95 * 10e9 * 8960 / 9000
        medians[least] = np.median(result.rtts[result.rtts[:, 0] > 0.02, 2])
    # Forty packets of 9,000 bytes take 288 µs; the base is 20 µs, the threshold 72 µs.
    assert medians[1] == pytest.approx(288e-6, rel=0.1)
    assert medians[0.1] < 0.6 * medians[1]


def test_a_flow_adds_nothing_to_a_host_queue_above_its_limit_and_keeps_the_link_busy():
    limit, run = 30_000, Run(duration_s=0.2, watched_links=(0,), sample_period_s=1e-5)
    network = graph_network(2, [(0, 2, 1e9, 1e-4), (2, 1, 1e9, 1e-4)])
    flows = create_flows(0.0, 0, 1, ENDLESS_BYTES)
    queues = {}
    for name, bytes_ in (("limited", limit), ("free", None)):
        transport = Transport("newreno", max_window=512, small_queue_bytes=bytes_)
        result = simulate_network(network, flows, transport, NO_LIMIT, run)
        assert result.links.busy[0] > 0.97
        queues[name] = result.backlog_bytes[:, 0].max()
    assert queues["limited"] <= limit + 2 * 1500
    assert queues["free"] > 10 * limit


def test_a_tail_probe_repairs_a_loss_without_a_timeout():
    # The last packet is lost: nothing after it shows that.
    losses, times = ((0, 11),), {}
    for probe in (0.01, None):
        transport = Transport(
            "newreno", tail_probe_s=probe, minimum_timeout_s=0.2, initial_timeout_s=0.2
        )
        result = simulate_pair(transport, packets=12, losses=losses)
        times[probe] = result.completion_s[0]
        assert result.timeouts[0] == (probe is None)
        assert result.resent[0] == 1
    assert 0.01 < times[0.01] < 0.02
    assert times[None] > 0.2


def test_a_tail_probe_sends_the_last_packet_which_shows_all_losses_before_it():
    # With the last packet received, one round trip repairs all of them; else each needs a probe.
    losses = tuple((0, number) for number in range(6, 12))
    transport = Transport(
        "newreno", tail_probe_s=0.01, minimum_timeout_s=0.2, initial_timeout_s=0.2
    )
    result = simulate_pair(transport, packets=12, losses=losses)
    assert result.timeouts[0] == 0
    assert result.completion_s[0] < 0.015


def test_a_flow_is_acknowledged_half_a_round_trip_after_its_last_byte():
    result = simulate_pair(Transport("newreno"), packets=8, delay_s=1e-3)
    # Three links back, and three transmissions of 40 bytes.
    assert result.acknowledged_s[0] - result.completion_s[0] == pytest.approx(3e-3, rel=0.01)
    cut = simulate_pair(Transport("newreno"), packets=8, delay_s=1e-3, duration_s=4e-3)
    assert np.isnan(cut.acknowledged_s[0])


def test_a_recovery_for_packets_that_were_only_late_is_undone():
    # Flowcells over paths of different delay arrive out of order, and none is lost.
    network = leaf_spine(2, 2, 1, Speeds(1e9, 1e9, 1e-5))
    delays = network.delays_s.copy()
    delays[3] = 3e-4
    flows = create_flows(0.0, 0, 1, 1460 * 4000)
    times = {}
    for undo in (False, True):
        result = simulate_network(
            replace(network, delays_s=delays),
            flows,
            Transport("newreno", initial_window=60, initial_threshold=60, undo_late=undo),
            NO_LIMIT,
            Run(forwarding=Forwarding("flowcell", flowcell_bytes=30_000)),
        )
        assert result.early[0] > 100
        assert result.resent[0] > 0
        assert result.dropped[0] == 0
        times[undo] = result.completion_s[0]
    # With the window restored, the flow keeps the link busy.
    assert times[True] == pytest.approx(4000 * 1500 * 8e-9, rel=0.1)
    assert times[False] > 1.2 * times[True]


def test_a_host_queue_and_a_least_window_out_of_range_are_refused():
    for given in (
        {"small_queue_bytes": 0},
        {"minimum_window": 0},
        {"undo_late": True, "recovery": "reno"},
    ):
        with pytest.raises(BadInput) as refused:
            Transport(**given)
        assert refused.value.field == next(iter(given))
