"""Small responses beside large ones at a switch port, with and without priorities (Table 5)."""

from collections.abc import Mapping

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
from simulator.packets.settings import PortSettings, TokenBucket, Transport
from simulator.packets.settings import Run as PacketRun
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import create_flows, join_flows

Floats = NDArray[np.float64]
CLIENT, SMALL_SERVER, LARGE_SERVERS = 0, 1, (2, 3)
SMALL_BYTES, LARGE_BYTES = 2_000, 10_000_000
LOADS = (20, 40, 60)
# Load in per cent times seconds between large queries at 1 Gb/s: 210 ms at 40 %.
LARGE_GAP = 8.4
# Milliseconds: p99 of 2 KB without and with priorities, mean of 10 MB without and with.
PUBLISHED = {
    20: (3.630, 0.357, 107.402, 109.809),
    40: (5.155, 0.441, 134.294, 138.002),
    60: (5.293, 0.514, 182.512, 187.316),
}
RATIO_FACTOR, MEAN_TOLERANCE = 1.5, 0.10


def build_access_link(c: Conditions) -> Network:
    """A client and three servers at one switch; a server sends at ``server_share`` of the link."""
    link_bps, delay_s = 1e9 * c.number("link_gbps"), 1e-6 * c.number("delay_us")
    server_bps = link_bps * c.number("server_share")
    switch = 1 + len(LARGE_SERVERS) + 1
    servers = [(host, switch, server_bps, delay_s) for host in (SMALL_SERVER, *LARGE_SERVERS)]
    return graph_network(switch, [(CLIENT, switch, link_bps, delay_s), *servers])


def _ports(c: Conditions, with_priorities: bool) -> PortSettings:
    queue = c.integer("buffer_kb") * 1000
    if not with_priorities:
        return PortSettings(queue_bytes=queue)
    bucket = TokenBucket(1e6 * c.number("rate_mbps"), c.integer("burst_kb") * 1000, 0.1)
    return PortSettings(queue_bytes=queue, priorities=2, tagging=bucket)


def complete_responses(
    c: Conditions, load: float, with_priorities: bool, small_starts_s: Floats, seed: int
) -> tuple[Floats, Floats, int]:
    """Completion times in ms of small and large responses, and the number of traversals.

    Small responses start at ``small_starts_s``, large ones as a Poisson process of that load in
    per cent, over the same time.
    """
    seconds = float(small_starts_s.max())
    random = np.random.default_rng([seed, round(load)])
    n_large = round(seconds * c.number("link_gbps") * load / LARGE_GAP)
    small = create_flows(small_starts_s, SMALL_SERVER, CLIENT, SMALL_BYTES)
    servers = random.choice(LARGE_SERVERS, n_large)
    large = create_flows(np.sort(random.uniform(0, seconds, n_large)), servers, CLIENT, LARGE_BYTES)
    transport = Transport(
        "cubic",
        max_window=2048,
        initial_threshold=c.integer("slow_start_packets"),
        minimum_timeout_s=0.2,
        initial_timeout_s=0.2,
    )
    found = simulate_network(
        build_access_link(c),
        join_flows([small, large]),
        transport,
        _ports(c, with_priorities),
        PacketRun(seed=seed),
    )
    # A query of one packet goes to the server before the response.
    query_ms = 1e3 * 2 * 1e-6 * c.number("delay_us")
    times_ms = 1e3 * found.completion_s + query_ms
    return times_ms[: len(small)], times_ms[len(small) :], found.traversals


def _draw_starts(c: Conditions, load: int, seed: int) -> Floats:
    """Times of small responses, a Poisson process of a given number."""
    random, seconds = np.random.default_rng([seed, load, 1]), c.number("seconds")
    n = round(seconds / (1e-3 * c.number("small_ms")))
    return np.sort(random.uniform(0, seconds, n))


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed by load."""
    figures: dict[str, float] = {}
    traversals = 0
    for load in LOADS:
        starts = _draw_starts(c, load, seed)
        for name, with_priorities in (("fifo", False), ("priority", True)):
            small, large, n = complete_responses(c, load, with_priorities, starts, seed)
            traversals += n
            figures[f"load_{load}_small_{name}_p99"] = float(np.percentile(small, 99))
            figures[f"load_{load}_large_{name}_mean"] = float(large.mean())
        figures[f"load_{load}_p99_ratio"] = (
            figures[f"load_{load}_small_fifo_p99"] / figures[f"load_{load}_small_priority_p99"]
        )
    return figures, traversals


def run(conditions: Conditions) -> Run:
    """All loads without and with priorities, over independent seeds."""
    rows, traversals = run_seeds(conditions, run_once)
    published = {}
    for load, (off, on, mean_off, mean_on) in PUBLISHED.items():
        accepted = (off / on / RATIO_FACTOR, off / on * RATIO_FACTOR)
        published[f"load_{load}_p99_ratio"] = Published(off / on, range=accepted)
        for name, mean in (("fifo", mean_off), ("priority", mean_on)):
            key = f"load_{load}_large_{name}_mean"
            published[key] = Published(mean, relative=MEAN_TOLERANCE)
    units = {name: "" if name.endswith("ratio") else "ms" for name in rows[0]}
    results = summarise_all(rows, units, published)
    by_name = {row.name: row for row in results}
    bars = {
        f"{load} %, {text}": by_name[f"load_{load}_small_{name}_p99"]
        for load in LOADS
        for name, text in (("fifo", "one queue"), ("priority", "priorities"))
    }
    return Run(results, traversals, (result_bars("p99 of 2 KB responses by load", bars),))


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"At 40\u00a0% load, serving small flows first at the switch cuts the p99 of 2\u00a0KB "
        f"responses from {v['load_40_small_fifo_p99']:.1f}\u00a0ms to "
        f"{v['load_40_small_priority_p99']:.2f}\u00a0ms"
    )


EXPERIMENT = Experiment(
    id="switch-priority",
    title="Small flows first at the switch",
    question="Why does a small response wait behind large ones at the switch?",
    source="He et al., Small is Better, sections 4.3 and 5.4, Table 5",
    parameters=(
        Parameter("seconds", 150.0, "simulated time per seed", unit="s", low=1, high=300),
        Parameter(
            "small_ms", 5.0, "mean time between small queries", unit="ms", low=0.1, high=1000
        ),
        Parameter("link_gbps", 1.0, "rate of the client's link", unit="Gb/s", low=0.1, high=100),
        Parameter("server_share", 0.98, "rate of a server's VM by that", low=0.1, high=1),
        Parameter(
            "delay_us", 85.0, "delay of each cable and host", unit="µs", low=0.1, high=10_000
        ),
        Parameter(
            "buffer_kb", 660, "buffer of a port, per priority", unit="kB", low=3, high=100_000
        ),
        Parameter(
            "rate_mbps",
            10.0,
            "tagging: rate of the token bucket",
            unit="Mb/s",
            low=0.1,
            high=10_000,
        ),
        Parameter(
            "burst_kb", 30, "tagging: burst of the token bucket", unit="kB", low=2, high=10_000
        ),
        Parameter(
            "slow_start_packets",
            100,
            "window at which slow start ends (HyStart)",
            low=10,
            high=2048,
        ),
        Parameter("seeds", 5, "independent runs", low=1, high=20),
    ),
    run=run,
    meaning=(
        "One large flow fills the buffer of the port that leads to the client, and every small "
        "response waits for all of it. With two priorities it waits for one packet."
    ),
    leaves_out="Jitter of hosts, which sets the published tails with priorities.",
    headline=headline,
)
