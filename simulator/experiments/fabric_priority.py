"""Flows of heavy-tailed sizes on a three-level network, with and without priorities."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Parameter,
    Published,
    Result,
    Run,
    result_bars,
    run_seeds,
    summarise_all,
)
from simulator.packets.networks import Speeds, three_level
from simulator.packets.results import FlowResults
from simulator.packets.settings import PortSettings, TokenBucket, Transport
from simulator.packets.settings import Run as PacketRun
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import Flows, pareto_sizes, poisson_flows

Floats = NDArray[np.float64]
# 128 hosts: 4 pods of 4 edge and 4 aggregation switches, 8 hosts per edge switch, 8 core switches.
SHAPE, UP = (4, 4, 8), (4, 2)
HOSTS = 128
# Classes of flows by size in bytes: above the first and up to the second.
CLASSES = {
    "small": (0, 10_000),
    "medium": (10_000, 100_000),
    "large": (100_000, 10_000_000),
    "huge": (10_000_000, np.inf),
}
SHORT = ("small", "medium")
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9}
# Figure 7: the burst beside which p99 of flows up to 100 kB was least.
BURSTS_KB = (10, 30, 50, 100, 200)
# The same for the rate of the token bucket, beside a burst of 30 kB, which is the default.
RATES_MBPS = (5, 20, 40, 80)
# The text: both classes of small flows improve by 10 to 66 %, by 17 and 24 % at p99.9.
BAND = (-66, -10)
PUBLISHED = {
    f"change_of_{name}_{end}": Published(-38, range=BAND)
    for name in SHORT
    for end in PERCENTILES
    if end != "p99_9"
}
PUBLISHED["change_of_small_p99_9"] = Published(-17, range=BAND)
PUBLISHED["change_of_medium_p99_9"] = Published(-24, range=BAND)


def _flows(c: Conditions, seed: int) -> Flows:
    n = c.integer("flows")
    sizes = pareto_sizes(n, 1000 * c.number("mean_kb"), seed=seed)
    # Cut, not rescaled: the least size stays that of the paper, and the load is what it gives.
    sizes = np.minimum(sizes, c.integer("largest_kb") * 1000)
    return poisson_flows(HOSTS, n, 1e-3 * c.number("gap_ms"), sizes, seed)


def _simulate(
    c: Conditions, tagging: tuple[float, int] | None, flows: Flows, seed: int
) -> FlowResults:
    """Simulate without priorities, or with tags of a token bucket of (Mb/s, kB)."""
    speeds = Speeds(
        1e9 * c.number("host_gbps"),
        1e9 * c.number("fabric_gbps"),
        1e-6 * c.number("host_delay_us"),
        (1e-6 * c.number("edge_delay_us"), 1e-6 * c.number("core_delay_us")),
    )
    queue, bucket = c.integer("buffer_kb") * 1000, None
    if tagging is not None:
        bucket = TokenBucket(1e6 * tagging[0], tagging[1] * 1000, 0.1)
    ports = PortSettings(queue_bytes=queue, priorities=2 if bucket else 1, tagging=bucket)
    transport = Transport(
        "newreno",
        initial_window=c.integer("initial_packets"),
        max_window=c.integer("window_packets"),
        small_queue_bytes=c.integer("host_queue_kb") * 1000,
        minimum_timeout_s=0.2,
        initial_timeout_s=0.2,
    )
    return simulate_network(
        three_level(SHAPE, UP, speeds), flows, transport, ports, PacketRun(seed=seed)
    )


def _figures(times_ms: Floats, members: Mapping[str, NDArray[np.bool_]]) -> dict[str, float]:
    """Percentiles of both classes of small flows and of all small ones, and means by class."""
    found = {}
    for name in SHORT:
        for end, q in PERCENTILES.items():
            found[f"{name}_{end}"] = float(np.percentile(times_ms[members[name]], q))
    every = members["small"] | members["medium"]
    found["short_p99"] = float(np.percentile(times_ms[every], 99))
    for name, rows in members.items():
        if rows.any():
            found[f"{name}_mean"] = float(times_ms[rows].mean())
    return found


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed: completion times in ms, and changes by priorities in per cent."""
    flows = _flows(c, seed)
    sizes = flows.sizes_bytes
    members = {name: (sizes > low) & (sizes <= high) for name, (low, high) in CLASSES.items()}
    rate, burst_kb = c.number("rate_mbps"), c.integer("burst_kb")
    runs: dict[str, tuple[float, int] | None] = {"fifo": None, "priority": (rate, burst_kb)}
    runs |= {f"burst_{burst}": (rate, burst) for burst in BURSTS_KB}
    runs |= {f"rate_{mbps}": (mbps, burst_kb) for mbps in RATES_MBPS}
    access_bps = HOSTS * 1e9 * c.number("host_gbps")
    found = {"load": 100 * 8 * float(sizes.sum()) / (access_bps * float(flows.starts_s.max()))}
    traversals = 0
    by_run: dict[str, dict[str, float]] = {}
    for name, tagging in runs.items():
        result = _simulate(c, tagging, flows, seed)
        traversals += result.traversals
        by_run[name] = _figures(1e3 * result.completion_s, members)
    for figure, before in by_run["fifo"].items():
        found[f"fifo_{figure}"] = before
        found[f"priority_{figure}"] = by_run["priority"][figure]
        found[f"change_of_{figure}"] = 100 * (by_run["priority"][figure] / before - 1)
    for name in list(runs)[2:]:
        found[f"{name}_short_p99"] = by_run[name]["short_p99"]
        found[f"{name}_small_mean"] = by_run[name]["small_mean"]
    return found, traversals


def run(conditions: Conditions) -> Run:
    """Without and with priorities, and by burst, over independent seeds."""
    rows, traversals = run_seeds(conditions, run_once)
    # Some draws have no flow of the largest class.
    names = [name for name in rows[0] if all(name in row for row in rows)]
    results = summarise_all(rows, {name: _unit(name) for name in names}, PUBLISHED)
    results = (*results, _best_burst(results))
    by_name = {row.name: row for row in results}
    bars = {"one queue": by_name["fifo_short_p99"]}
    bars |= {f"burst {burst} kB": by_name[f"burst_{burst}_short_p99"] for burst in BURSTS_KB}
    rates = {f"rate {mbps} Mb/s": by_name[f"rate_{mbps}_short_p99"] for mbps in RATES_MBPS}
    charts = (
        result_bars("p99 of flows up to 100 kB by burst", bars),
        result_bars("p99 of flows up to 100 kB by tagging rate", rates),
    )
    return Run(results, traversals, charts)


def _best_burst(results: Sequence[Result]) -> Result:
    """The burst with the least p99 of flows up to 100 kB over all seeds."""
    ends = {row.name: row.value or 0.0 for row in results}
    best = min(BURSTS_KB, key=lambda burst: ends[f"burst_{burst}_short_p99"])
    return Result("best_burst", best, "kB", published=Published(100, range=(50, 200)))


def _unit(name: str) -> str:
    return "%" if name.startswith("change") or name == "load" else "ms"


def _signed(percent: float) -> str:
    """With a minus sign instead of a hyphen."""
    return f"{percent:.0f}".replace("-", "\u2212")


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"At a load of {v['load']:.0f}\u00a0%, two priorities change the p99 of flows up to "
        f"10\u00a0kB by {_signed(v['change_of_small_p99'])}\u00a0%, and their p99.9 by "
        f"{_signed(v['change_of_small_p99_9'])}\u00a0%"
    )


EXPERIMENT = Experiment(
    id="fabric-priority",
    title="Two priorities for heavy-tailed flows",
    question="Do priorities help where flows are of every size?",
    source="He et al., Small is Better, section 5.5, Table 6 and Figure 7",
    parameters=(
        Parameter("flows", 30_000, "flows per seed", low=100, high=500_000),
        Parameter(
            "gap_ms", 2.0, "mean time between flows of a host", unit="ms", low=0.1, high=1000
        ),
        Parameter("mean_kb", 100.0, "mean size", unit="kB", low=1, high=10_000),
        Parameter("largest_kb", 1_000_000, "largest size", unit="kB", low=100, high=1_000_000),
        Parameter("host_gbps", 1.0, "rate of hosts", unit="Gb/s", low=0.1, high=100),
        Parameter("fabric_gbps", 10.0, "rate between switches", unit="Gb/s", low=0.1, high=400),
        Parameter(
            "host_delay_us", 55.0, "delay of a host and its cable", unit="µs", low=0.1, high=10_000
        ),
        Parameter(
            "edge_delay_us", 14.2, "delay above an edge switch", unit="µs", low=0.1, high=10_000
        ),
        Parameter(
            "core_delay_us", 7.1, "delay below a core switch", unit="µs", low=0.1, high=10_000
        ),
        Parameter("initial_packets", 10, "window at the start of a flow", low=1, high=256),
        Parameter("window_packets", 1024, "largest window", low=256, high=4096),
        Parameter(
            "host_queue_kb",
            10,
            "bytes of TCP in the queue of a host",
            unit="kB",
            low=2,
            high=10_000,
        ),
        Parameter(
            "buffer_kb", 660, "buffer of a port, per priority", unit="kB", low=3, high=100_000
        ),
        Parameter("rate_mbps", 10.0, "tagging: rate", unit="Mb/s", low=0.1, high=10_000),
        Parameter("burst_kb", 30, "tagging: burst", unit="kB", low=2, high=10_000),
        Parameter("seeds", 5, "independent runs", low=1, high=20),
    ),
    run=run,
    meaning=(
        "Small flows gain where large ones queue; the burst decides which flows count as small."
    ),
    leaves_out="Queues of hosts; windows that a permanent connection keeps while it is idle.",
    headline=headline,
)
