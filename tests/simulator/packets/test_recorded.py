"""The recorded port of drawings, against the compiled ports."""

import numpy as np
import pytest

from simulator.packets.networks import graph_network
from simulator.packets.ports.recorded import SHORT, record_port
from simulator.packets.settings import PortSettings, Run, Transport
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import ENDLESS_BYTES, create_flows, join_flows

WINDOWS, SHORT_US = (7, 9), (103.0, 251.0, 263.0, 475.0)


@pytest.mark.parametrize("short_first", [True, False])
def test_short_packets_leave_when_those_of_the_compiled_port_do(short_first):
    # Hosts send at once: a bit per picosecond. The trip back has the delays of all cables.
    cables = [(host, 4, 8e12, 5e-6) for host in (0, 1, 2)] + [(4, 3, 1e9, 0.0)]
    network = graph_network(4, cables)
    bulk = create_flows(0.0, (0, 1), 3, ENDLESS_BYTES)
    bulk.transports[:] = (0, 1)
    # All are late by the delay of a cable.
    short = create_flows(np.array(SHORT_US) / 1e6, 2, 3, 1460, transport=2, priority=1)
    fixed = [Transport("fixed-window", initial_window=window) for window in WINDOWS]
    ports = PortSettings(queue_bytes=None, priorities=2 if short_first else 1)
    run = Run(duration_s=1e-3, reply_bytes=1)
    flows = join_flows([bulk, short])
    found = simulate_network(network, flows, [*fixed, Transport("open-loop")], ports, run)
    recorded = record_port(
        WINDOWS,
        SHORT_US,
        short_first=short_first,
        packet_us=12.0,
        # Data and its acknowledgement cross the cable of the host, the latter in 8 ns.
        trip_us=10.008,
        end_us=600,
    )
    left = [p.left_us - p.arrived_us for p in recorded if p.flow == SHORT]
    assert np.array(left) + 5 == pytest.approx(1e6 * found.completion_s[2:], abs=0.5)


def test_the_port_is_never_idle_while_packets_wait_and_serves_short_ones_first():
    passages = record_port((8, 8), (100.0,), short_first=True, packet_us=12, trip_us=30, end_us=400)
    for before, after in zip(passages, passages[1:], strict=False):
        assert after.sent_us == pytest.approx(max(before.left_us, after.arrived_us))
    (short,) = (p for p in passages if p.flow == SHORT)
    assert short.sent_us - short.arrived_us <= 12
