"""Short flows beside a concurrent stride and a shuffle, with windows enforced at the edge."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

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

HOSTS = 17
# A short flow goes from host i to host i + 8; a stride to i + 1, …, i + 4.
SHORT_STEP, SHORT_BYTES = 8, 16_000
STRIDE, SHUFFLE_FLOWS = 4, 2
SEGMENT_BYTES = 8960
LABELS = {"cubic": "CUBIC", "dctcp": "DCTCP", "edge": "Window enforced at the edge"}
PATTERNS = ("stride", "shuffle")
# Changes of the percentiles by the edge against CUBIC, in per cent; p99.9 by direction, since it
# is that of a few lost packets.
PUBLISHED = {
    "stride_edge_p50_change": Published(-76, range=(-90, -60)),
    "stride_edge_p99_9_change": Published(-93, range=(-100, -50)),
    "shuffle_edge_p50_change": Published(-71, range=(-90, -60)),
    "shuffle_edge_p99_9_change": Published(-73, range=(-100, -50)),
}
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9}


def build_star(c: Conditions) -> Network:
    """All hosts at one switch; they send 2 % faster than it does (see ``congestion-control``)."""
    rate, delay_s = 1e9 * c.number("link_gbps"), 1e-6 * c.number("delay_us")
    network = graph_network(HOSTS, [(host, HOSTS, rate, delay_s) for host in range(HOSTS)])
    rates = np.where(network.switches < 0, 1.02 * rate, rate)
    return replace(network, rates_bps=rates)


def choose_targets(pattern: str, random: np.random.Generator) -> tuple[NDArray[np.int64], ...]:
    """Sources and destinations of the bulk flows.

    A shuffle sends to all others in random order, two at a time: this is one moment of it.
    """
    hosts = np.arange(HOSTS)
    if pattern == "stride":
        steps = np.tile(np.arange(1, STRIDE + 1), HOSTS)
        sources = np.repeat(hosts, STRIDE)
        return sources, (sources + steps) % HOSTS
    others = [1 + random.choice(HOSTS - 1, SHUFFLE_FLOWS, replace=False) for _ in hosts]
    sources = np.repeat(hosts, SHUFFLE_FLOWS)
    return sources, (sources + np.concatenate(others)) % HOSTS


def _flows(c: Conditions, pattern: str, seconds: float, seed: int) -> tuple[Flows, int]:
    """Bulk flows of transport 0, then short ones of transport 1; and the number of the former."""
    random = np.random.default_rng([seed, PATTERNS.index(pattern)])
    sources, targets = choose_targets(pattern, random)
    starts = np.sort(random.uniform(0, 1e-3, len(sources)))
    bulk = create_flows(starts, sources, targets, ENDLESS_BYTES)
    n = round(seconds / (1e-3 * c.number("short_ms")))
    sources = np.repeat(np.arange(HOSTS), n)
    starts = random.uniform(seconds / 4, seconds, HOSTS * n)
    short = create_flows(starts, sources, (sources + SHORT_STEP) % HOSTS, SHORT_BYTES, transport=1)
    return join_flows([bulk, short]), len(bulk)


def _transports(c: Conditions, scheme: str) -> list[Transport]:
    bulk = Transport(
        "cubic" if scheme == "edge" else scheme,
        edge_window=scheme == "edge",
        max_window=2048,
        minimum_window=0.1 if scheme == "edge" else 2,
        small_queue_bytes=c.integer("host_queue_kb") * 1000,
        minimum_timeout_s=1e-3 * c.number("timeout_ms"),
        initial_timeout_s=1e-3 * c.number("timeout_ms"),
    )
    return [bulk, replace(bulk, small_queue_bytes=None)]


def simulate_pattern(
    c: Conditions, pattern: str, scheme: str, seed: int
) -> tuple[NDArray[np.float64], float, int]:
    """Completion times in ms of short flows, mean goodput of bulk in Gb/s, and traversals."""
    # Moments of a shuffle differ; a stride is the same at any time.
    n_moments = c.integer("moments") if pattern == "shuffle" else 1
    seconds = c.number("seconds") / n_moments
    times, rates, traversals = [], [], 0
    ports = PortSettings(
        queue_bytes=None,
        mark_above_bytes=None if scheme == "cubic" else c.integer("mark_kb") * 1000,
        shared_buffer_bytes=c.integer("buffer_mb") * 1_000_000,
    )
    for moment in range(n_moments):
        flows, n_bulk = _flows(c, pattern, seconds, 1000 * seed + moment)
        # The run continues for a while, so that short flows end.
        run = PacketRun(
            seed=seed,
            duration_s=seconds + 0.05,
            warm_up_s=seconds / 4,
            segment_bytes=SEGMENT_BYTES,
        )
        found = simulate_network(build_star(c), flows, _transports(c, scheme), ports, run)
        times.append(1e3 * found.completion_s[n_bulk:])
        rates.append(found.goodput_bps[:n_bulk].sum() / 1e9 / HOSTS)
        traversals += found.traversals
    return np.concatenate(times), float(np.mean(rates)), traversals


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Percentiles of short flows in ms by pattern and scheme, and changes against CUBIC."""
    found: dict[str, float] = {}
    traversals = 0
    for pattern in PATTERNS:
        for scheme in LABELS:
            times_ms, goodput, n = simulate_pattern(c, pattern, scheme, seed)
            traversals += n
            key = f"{pattern}_{scheme}"
            for name, q in PERCENTILES.items():
                found[f"{key}_{name}"] = float(np.nanpercentile(times_ms, q))
            found[f"{key}_goodput"] = goodput
            found[f"{key}_unfinished"] = 100 * float(np.isnan(times_ms).mean())
        for scheme in ("dctcp", "edge"):
            for name in PERCENTILES:
                cut = found[f"{pattern}_{scheme}_{name}"] / found[f"{pattern}_cubic_{name}"] - 1
                found[f"{pattern}_{scheme}_{name}_change"] = 100 * cut
    return found, traversals


def run(conditions: Conditions) -> Run:
    """Both patterns under each scheme, over independent seeds."""
    rows, traversals = run_seeds(conditions, run_once)
    results = summarise_all(rows, {name: _unit(name) for name in rows[0]}, PUBLISHED)
    by_name = {row.name: row for row in results}
    charts = tuple(
        result_bars(
            f"p99.9 of short flows beside a {pattern}",
            {text: by_name[f"{pattern}_{scheme}_p99_9"] for scheme, text in LABELS.items()},
            is_logarithmic=True,
        )
        for pattern in PATTERNS
    )
    return Run(results, traversals, charts)


def _unit(name: str) -> str:
    if name.endswith(("change", "unfinished")):
        return "%"
    return "Gb/s" if name.endswith("goodput") else "ms"


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"Beside a stride of bulk flows, windows enforced at the edge cut the median of short "
        f"flows from {v['stride_cubic_p50']:.2f}\u00a0ms to {v['stride_edge_p50']:.2f}\u00a0ms "
        f"and their p99.9 by {-v['stride_edge_p99_9_change']:.0f}\u00a0%"
    )


EXPERIMENT = Experiment(
    id="edge-short-flows",
    title="Short flows beside bulk, held at the edge",
    question="What do bulk flows of other guests cost a short one?",
    source="He, thesis proposal, section 5.1 (AC/DC); concurrent stride and shuffle",
    parameters=(
        Parameter("seconds", 0.4, "simulated time per pattern", unit="s", low=0.02, high=10),
        Parameter("moments", 4, "moments of a shuffle, that share this time", low=1, high=50),
        Parameter(
            "short_ms", 2.0, "mean time between short flows of a host", unit="ms", low=1, high=1000
        ),
        Parameter("link_gbps", 10.0, "rate of every cable", unit="Gb/s", low=0.1, high=100),
        Parameter(
            "delay_us", 11.5, "delay of a host and its cable", unit="µs", low=0.1, high=10_000
        ),
        Parameter("mark_kb", 90, "marking threshold of ports", unit="kB", low=3, high=100_000),
        Parameter("buffer_mb", 9, "shared buffer of the switch", unit="MB", low=1, high=1000),
        Parameter(
            "host_queue_kb", 128, "bulk in the queue of a host", unit="kB", low=9, high=100_000
        ),
        Parameter("timeout_ms", 10.0, "least retransmission time-out", unit="ms", low=1, high=1000),
        Parameter("seeds", 5, "independent runs", low=1, high=20),
    ),
    run=run,
    meaning=(
        "A short flow waits in the same port as the bulk flows of others. Holding their windows at "
        "the edge empties that port, without a change to any guest."
    ),
    leaves_out="CPU cost of the virtual switch; flow sizes of web search and data mining.",
    headline=headline,
)
