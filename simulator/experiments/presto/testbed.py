"""The testbed of Presto, packet by packet: network, transports, short flows, and their figures."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.experiments.declaration import Conditions, Parameter
from simulator.packets.networks import Network, Speeds, leaf_spine
from simulator.packets.results import FlowResults, join_subflows
from simulator.packets.settings import Forwarding, PortSettings, Transport
from simulator.packets.settings import Run as PacketRun
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import Flows, create_flows, split_subflows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
HOSTS, LEAVES, SPINES = 16, 4, 4
PER_LEAF = HOSTS // LEAVES
SHORT_BYTES, SEGMENT_BYTES, HEADER_BYTES = 50_000, 1448, 90
# Numbers of the transports: elephants, short flows, packets without acknowledgement.
BULK, SHORT, OPEN_LOOP = 0, 1, 2


def build_network(c: Conditions, scheme: str, n_remote: int = 0) -> Network:
    """Leaves and spines, or one switch; ``n_remote`` users are on one spine each.

    A remote user is the first host of a leaf of its own, which only its spine reaches.
    """
    rate, delay_s = 1e9 * c.number("link_gbps"), 1e-6 * c.number("delay_us")
    speeds = Speeds(rate, rate, delay_s)
    if scheme == "optimal":
        network = leaf_spine(1, 1, HOSTS + PER_LEAF * n_remote, speeds)
    else:
        network = leaf_spine(LEAVES + n_remote, SPINES, PER_LEAF, speeds)
        choices = {
            pair: [user]
            for user in range(n_remote)
            for leaf in range(LEAVES)
            for pair in ((leaf, LEAVES + user), (LEAVES + user, leaf))
        }
        network = network.with_choices(choices) if choices else network
    n = network.hosts
    # Hosts have most of the delay, switches that of their forwarding.
    delays = np.full(len(network.delays_s), 1e-6)
    delays[:n] = delays[-n:] = delay_s
    rates = network.rates_bps.copy()
    rates[:n] *= c.number("host_share")
    return replace(network, delays_s=delays, rates_bps=rates)


def _transports(c: Conditions, scheme: str) -> list[Transport]:
    """Transports with the time-outs of Linux 3.11, for elephants and for short flows; open loop.

    They are CUBIC, or the linked increases of MPTCP, the subflows of which share its buffer.
    """
    bulk = Transport(
        "cubic",
        max_window=c.integer("max_window"),
        resequencing=scheme == "presto",
        small_queue_bytes=c.integer("host_queue_kb") * 1000,
        tail_probe_s=0.01,
        undo_late=True,
        minimum_timeout_s=0.2,
        initial_timeout_s=0.2,
    )
    short = replace(bulk, small_queue_bytes=None)
    # The first short flow of a connection finds the window that earlier ones would have left.
    if "short_window" in c.values:
        short = replace(short, initial_window=c.integer("short_window"))
    if "threshold" in c.values:
        bulk = replace(bulk, initial_threshold=c.integer("threshold"))
    if scheme == "mptcp":
        window = c.integer("subflow_window")
        share = 1000 * c.integer("connection_kb") // (SEGMENT_BYTES * c.integer("subflows"))
        linked = replace(bulk, congestion_control="olia", max_window=max(share, window))
        bulk, short = linked, replace(linked, small_queue_bytes=None, initial_window=window)
    return [bulk, short, Transport("open-loop")]


def find_end(c: Conditions) -> float:
    """End of the measured time in seconds, after which no flow starts."""
    return c.number("warm_up") + c.number("seconds")


def simulate_testbed(
    c: Conditions, scheme: str, network: Network, flows: Flows, seed: int
) -> FlowResults:
    """Simulate the warm-up, the measured time, and the end of short flows.

    The flows of MPTCP are split into subflows, and their results are those of connections.
    """
    if scheme == "mptcp":
        flows = split_subflows(flows, _count_subflows(c, flows))
    found = simulate_network(
        network,
        flows,
        _transports(c, scheme),
        PortSettings(queue_bytes=None, shared_buffer_bytes=c.integer("buffer_mb") * 1_000_000),
        PacketRun(
            seed=seed,
            duration_s=find_end(c) + 0.05,
            warm_up_s=c.number("warm_up"),
            segment_bytes=SEGMENT_BYTES,
            header_bytes=HEADER_BYTES,
            # With receive offload a segment of many packets has one acknowledgement.
            reply_bytes=c.integer("reply_bytes"),
            forwarding=Forwarding("flowcell" if scheme == "presto" else "ecmp"),
        ),
        report=lambda progress: c.report(progress.share),
    )
    return join_subflows(found, flows.connections) if scheme == "mptcp" else found


def _count_subflows(c: Conditions, flows: Flows) -> Integers:
    """Count the subflows that carry each flow, shape (flows,).

    An elephant has all of them. MPTCP fills the window of one subflow after the other: a short flow
    has as many as its packets fill.
    """
    most = c.integer("subflows")
    filled = -(-flows.sizes_bytes // (SEGMENT_BYTES * c.integer("subflow_window")))
    counts = np.where(flows.transports == BULK, most, np.minimum(filled, most))
    return np.where(flows.transports == OPEN_LOOP, 1, counts).astype(np.int64)


def draw_short_flows(
    c: Conditions, pairs: tuple[Integers, Integers], size_bytes: int, seed: int
) -> Flows:
    """Short flows between pairs, at random times; those of a pair share a connection.

    ``early_percent`` of them begin in the warm-up, in which elephants leave slow start; without
    that parameter none do.
    """
    warm_s, end_s = c.number("warm_up"), find_end(c)
    spans, counts = [(warm_s, end_s)], [round(c.number("seconds") / (1e-3 * c.number("short_ms")))]
    if "early_percent" in c.values:
        share = c.number("early_percent") / 100
        spans.append((0.0, warm_s))
        counts.append(round(len(pairs[0]) * counts[0] * share / (1 - share)))
    random = np.random.default_rng([seed, 2])
    n = len(pairs[0])
    rows = [np.repeat(np.arange(n), counts[0]), *(random.integers(n, size=k) for k in counts[1:])]
    starts = [random.uniform(*span, len(of)) for span, of in zip(spans, rows, strict=True)]
    row = np.concatenate(rows)
    sources, targets = (ends[row] for ends in pairs)
    flows = create_flows(np.concatenate(starts), sources, targets, size_bytes, transport=SHORT)
    return replace(flows, sessions=row.astype(np.int32))


def find_times(c: Conditions, acknowledged_s: Floats, seed: int) -> Floats:
    """Times in ms from the start of flows to their answer, with the delay of the hosts.

    One that did not end is slower than any other.
    """
    times_ms = np.nan_to_num(1e3 * acknowledged_s, nan=1e3 * find_end(c))
    jitter_ms = 1e-3 * c.number("jitter_us")
    return times_ms + np.random.default_rng([seed, 3]).exponential(jitter_ms, len(times_ms))


def testbed_parameters(**defaults: float) -> tuple[Parameter, ...]:
    """Parameters of the testbed, some with a default of their own."""
    return tuple(replace(p, default=defaults.get(p.name, p.default)) for p in _PARAMETERS)


_PARAMETERS = (
    Parameter("seconds", 0.5, "measured time of a draw", unit="s", low=0.01, high=10),
    Parameter(
        "warm_up",
        0.4,
        "time before, in which slow start ends",
        unit="s",
        low=0.01,
        high=10,
    ),
    Parameter("draws", 1, "draws of paths per seed", low=1, high=50),
    Parameter(
        "short_ms", 5.0, "mean time between short flows of a host", unit="ms", low=1, high=1000
    ),
    Parameter(
        "short_window",
        36,
        "window of the first short flow of a connection",
        unit="packets",
        low=2,
        high=4096,
    ),
    Parameter("link_gbps", 10.0, "rate of every cable", unit="Gb/s", low=0.1, high=100),
    Parameter("host_share", 0.985, "rate of a host as a share of that", low=0.1, high=1),
    Parameter("delay_us", 50.0, "delay of a host and its cable", unit="µs", low=0.1, high=10_000),
    Parameter(
        "jitter_us", 95.0, "mean of the exponential delay of hosts", unit="µs", low=0, high=10_000
    ),
    Parameter("host_queue_kb", 32, "bulk in the queue of a host", unit="kB", low=2, high=100_000),
    Parameter("buffer_mb", 9, "shared buffer of a switch", unit="MB", low=1, high=1000),
    Parameter("max_window", 4096, "largest window", unit="packets", low=64, high=16_384),
    Parameter(
        "reply_bytes", 2, "acknowledgement bytes per data packet", unit="B", low=1, high=1000
    ),
    Parameter("seeds", 5, "independent runs", low=1, high=20),
)
# The published runs of 10 s include the start of the elephants.
EARLY = Parameter(
    "early_percent", 4.0, "short flows that begin in the warm-up", unit="%", low=0, high=50
)
SUBFLOWS = (
    Parameter("subflows", 8, "subflows of an MPTCP connection", low=1, high=64),
    # Twice rate times round-trip time (RFC 6182, 5.3).
    Parameter(
        "connection_kb", 500, "buffer of an MPTCP connection", unit="kB", low=20, high=100_000
    ),
    Parameter(
        "subflow_window",
        10,
        "window of a subflow that carries a short flow",
        unit="packets",
        low=2,
        high=4096,
    ),
)
