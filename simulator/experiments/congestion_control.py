"""Round trips and fairness of long flows by congestion control, also enforced at the edge."""

from collections.abc import Mapping, Sequence

import numpy as np

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Parameter,
    Published,
    Run,
    result_bars,
    run_seeds,
    summarise_all,
)
from simulator.packets.networks import Network, graph_network
from simulator.packets.settings import PortSettings, Transport
from simulator.packets.settings import Run as PacketRun
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import ENDLESS_BYTES, Flows, create_flows, join_flows

N_PAIRS, N_STAGES = 5, 4
SWITCH_DELAY_S = 1e-6
PING_BYTES, PING_GAP_S = 64, 2e-3
LABELS = {"cubic": "CUBIC", "dctcp": "DCTCP", "edge": "Window enforced at the edge"}
# Stacks of guests, all of which the edge holds to DCTCP.
MIXED = ("cubic", "newreno", "cubic", "newreno", "cubic")
PUBLISHED = {
    "dumbbell_cubic_rtt_p50": Published(3.232, range=(2.6, 3.9)),
    "dumbbell_cubic_rtt_p99": Published(3.641, relative=0.25),
    "dumbbell_dctcp_rtt_p50": Published(0.128, relative=0.25),
    "dumbbell_edge_rtt_p50": Published(0.1265, relative=0.25),
    "dumbbell_dctcp_fairness": Published(0.99, range=(0.98, 1.0)),
    "dumbbell_edge_fairness": Published(0.99, range=(0.98, 1.0)),
    "parking_lot_dctcp_fairness": Published(0.99, range=(0.98, 1.0)),
    "parking_lot_edge_fairness": Published(0.99, range=(0.98, 1.0)),
    "incast_dctcp_rtt_reduction": Published(-82, absolute=4),
    "incast_edge_rtt_reduction": Published(-97, range=(-100, -82)),
    "incast_dctcp_rtt_p99_9_reduction": Published(-94, absolute=4),
    "incast_edge_rtt_p99_9_reduction": Published(-98, absolute=4),
}


def _transports(scheme: str, n: int, c: Conditions) -> list[Transport]:
    """One transport per flow; the edge adds a DCTCP window to whatever the guest runs."""
    names = [MIXED[i % len(MIXED)] if scheme == "edge" else scheme for i in range(n)]
    return [
        Transport(
            name,
            edge_window=scheme == "edge",
            max_window=4096,
            minimum_window=0.1 if scheme == "edge" else 2,
            minimum_timeout_s=c.number("timeout_ms") / 1e3,
            initial_timeout_s=c.number("timeout_ms") / 1e3,
        )
        for name in names
    ]


def _ports(c: Conditions, scheme: str) -> PortSettings:
    mark = None if scheme == "cubic" else c.integer("mark_kb") * 1000
    return PortSettings(
        queue_bytes=None,
        mark_above_bytes=mark,
        shared_buffer_bytes=c.integer("buffer_mb") * 1_000_000,
    )


def _cables(
    c: Conditions, hosts: Sequence[tuple[int, int]], chain: Sequence[tuple[int, int]]
) -> list[tuple[int, int, float, float]]:
    """Cables of hosts and between switches.

    A sender on a cable as fast as the bottleneck would lock the others out of a full queue: its
    packets arrive exactly as others leave (Floyd and Jacobson, 1991). Hosts are faster by 2 %.
    """
    rate, delay_s = 1e9 * c.number("link_gbps"), 1e-6 * c.number("delay_us")
    return [
        *((a, b, 1.02 * rate, delay_s) for a, b in hosts),
        *((a, b, rate, SWITCH_DELAY_S) for a, b in chain),
    ]


def build_dumbbell(c: Conditions) -> tuple[Network, Flows]:
    """Five senders at one switch, five receivers at another."""
    left, right = 2 * N_PAIRS, 2 * N_PAIRS + 1
    pairs = [(i, left) for i in range(N_PAIRS)] + [(N_PAIRS + i, right) for i in range(N_PAIRS)]
    network = graph_network(2 * N_PAIRS, _cables(c, pairs, [(left, right)]))
    return network, _endless(np.arange(N_PAIRS), N_PAIRS + np.arange(N_PAIRS))


def build_chain(c: Conditions) -> tuple[Network, Flows]:
    """Senders that join one after the other along a chain of switches to the last one's hosts."""
    first = 2 * N_STAGES
    chain = [(first + i, first + i + 1) for i in range(N_STAGES)]
    hosts = [(i, first + i) for i in range(N_STAGES)]
    hosts += [(N_STAGES + i, first + N_STAGES) for i in range(N_STAGES)]
    network = graph_network(2 * N_STAGES, _cables(c, hosts, chain))
    return network, _endless(np.arange(N_STAGES), N_STAGES + np.arange(N_STAGES))


def build_incast(c: Conditions) -> tuple[Network, Flows]:
    """All senders and their one receiver at one switch."""
    n = c.integer("incast_senders")
    # The receiver is behind a separate switch with the bottleneck cable.
    hosts = [(i, n + 1) for i in range(n)] + [(n, n + 2)]
    network = graph_network(n + 1, _cables(c, hosts, [(n + 1, n + 2)]))
    return network, _endless(np.arange(n), np.full(n, n))


def _endless(sources: np.ndarray, targets: np.ndarray) -> Flows:
    flows = create_flows(0.0, sources, targets, ENDLESS_BYTES)
    flows.transports[:] = np.arange(len(sources))
    # Starts differ a little, so that flows are not in step.
    flows.starts_s[:] = 1e-4 * np.arange(len(sources))
    return flows


def _pings(flows: Flows, seconds: float, random: np.random.Generator) -> Flows:
    """Single packets beside each flow, that measure the round trip (as sockperf does)."""
    n = round(0.75 * seconds / PING_GAP_S)
    starts = random.uniform(seconds / 4, seconds, len(flows) * n)
    pings = create_flows(
        starts, np.repeat(flows.sources, n), np.repeat(flows.destinations, n), PING_BYTES
    )
    pings.transports[:] = np.repeat(flows.transports, n)
    return pings


def _measure(
    c: Conditions, scheme: str, built: tuple[Network, Flows], segment_bytes: int, seed: int
) -> tuple[dict[str, float], int]:
    """Round-trip percentiles in ms, Jain's index, mean goodput in Gb/s; and traversals."""
    network, flows = built
    n, random = len(flows), np.random.default_rng(seed)
    flows.starts_s[:] = np.sort(random.uniform(0, 1e-3, n))
    seconds = c.number("seconds")
    found = simulate_network(
        network,
        join_flows([flows, _pings(flows, seconds, random)]),
        _transports(scheme, n, c),
        _ports(c, scheme),
        PacketRun(
            seed=seed,
            # Pings that lost a packet end within some timeouts.
            duration_s=seconds + 0.05,
            warm_up_s=seconds / 4,
            segment_bytes=segment_bytes,
        ),
    )
    rtt_ms = np.nan_to_num(1e3 * found.acknowledged_s[n:], nan=1e3 * seconds)
    rates = found.goodput_bps[:n]
    figures = {
        "rtt_p50": float(np.percentile(rtt_ms, 50)),
        "rtt_p99": float(np.percentile(rtt_ms, 99)),
        "rtt_p99_9": float(np.percentile(rtt_ms, 99.9)),
        "fairness": float(rates.sum() ** 2 / (len(rates) * (rates**2).sum())),
        "goodput": float(rates.mean()) / 1e9,
        "load": 100 * float(found.links.busy.max()),
    }
    return figures, found.traversals


SCENES = {
    "dumbbell": (build_dumbbell, 1460),
    # The published 2.48 Gb/s per flow is above what packets of 1,500 bytes carry.
    "parking_lot": (build_chain, 8960),
    "incast": (build_incast, 8960),
}


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed by scene and scheme."""
    figures: dict[str, float] = {}
    traversals = 0
    for scene, (build, segment_bytes) in SCENES.items():
        for scheme in LABELS:
            found, n = _measure(c, scheme, build(c), segment_bytes, seed)
            traversals += n
            figures |= {f"{scene}_{scheme}_{name}": value for name, value in found.items()}
    for scheme in ("dctcp", "edge"):
        for end in ("rtt_p50", "rtt_p99_9"):
            cut = figures[f"incast_{scheme}_{end}"] / figures[f"incast_cubic_{end}"] - 1
            name = "rtt_reduction" if end == "rtt_p50" else "rtt_p99_9_reduction"
            figures[f"incast_{scheme}_{name}"] = 100 * cut
    return figures, traversals


def run(conditions: Conditions) -> Run:
    """Dumbbell, parking lot and incast under each scheme, over independent seeds."""
    rows, traversals = run_seeds(conditions, run_once)
    results = summarise_all(rows, {name: _unit(name) for name in rows[0]}, PUBLISHED)
    by_name = {row.name: row for row in results}
    bars = {text: by_name[f"dumbbell_{scheme}_rtt_p50"] for scheme, text in LABELS.items()}
    chart = result_bars("Median round-trip time, dumbbell", bars, is_logarithmic=True)
    return Run(results, traversals, (chart,))


def _unit(name: str) -> str:
    if name.endswith("reduction") or name.endswith("load"):
        return "%"
    if name.endswith("goodput"):
        return "Gb/s"
    return "" if name.endswith("fairness") else "ms"


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"A window enforced at the edge brings the median round-trip time of mixed stacks from "
        f"{v['dumbbell_cubic_rtt_p50']:.1f}\u00a0ms to {v['dumbbell_edge_rtt_p50']:.2f}\u00a0ms, "
        f"with a fairness of {v['dumbbell_edge_fairness']:.2f}"
    )


EXPERIMENT = Experiment(
    id="congestion-control",
    title="Congestion control at the edge",
    question="Can the host hold every guest’s stack to short queues?",
    source="He, thesis proposal, section 5.1 (AC/DC); dumbbell, parking lot, incast",
    parameters=(
        Parameter("seconds", 2.0, "simulated time per scene", unit="s", low=0.02, high=10),
        Parameter("link_gbps", 10.0, "rate of every cable", unit="Gb/s", low=0.1, high=100),
        Parameter(
            "delay_us", 11.5, "delay of a host and its cable", unit="µs", low=0.1, high=10_000
        ),
        Parameter("mark_kb", 90, "marking threshold of ports", unit="kB", low=3, high=100_000),
        Parameter("buffer_mb", 9, "shared buffer of a switch", unit="MB", low=1, high=1000),
        Parameter("timeout_ms", 10.0, "least retransmission time-out", unit="ms", low=1, high=1000),
        Parameter("incast_senders", 47, "senders of the incast", low=2, high=200),
        Parameter("seeds", 5, "independent runs", low=1, high=20),
    ),
    run=run,
    meaning=(
        "CUBIC fills whatever buffer a switch shares out. Marks, and a window that the host "
        "enforces, keep the queue near the marking threshold, whatever the guest runs."
    ),
    leaves_out="CPU cost of the virtual switch, short flows beside long ones, guests that cheat.",
    headline=headline,
)
