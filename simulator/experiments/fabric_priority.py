"""Flows of heavy-tailed sizes on a three-level network, with and without priorities."""

from collections.abc import Mapping, Sequence

import numpy as np

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

# 128 hosts: 8 pods of 2 edge and 2 aggregation switches, 8 hosts per edge switch, 8 core switches.
SHAPE, UP = (8, 2, 8), (2, 4)
HOSTS = 128
SMALL_BYTES = 10_000
# Figure 7: the burst beside which the mean of all flows was least.
BURSTS_KB = (10, 30, 50, 100, 200)
# The same for the rate of the token bucket, beside a burst of 30 kB, which is the default.
RATES_MBPS = (5, 20, 40, 80)


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
        1e9 * c.number("host_gbps"), 1e9 * c.number("fabric_gbps"), 1e-6 * c.number("delay_us")
    )
    queue, bucket = c.integer("buffer_kb") * 1000, None
    if tagging is not None:
        bucket = TokenBucket(1e6 * tagging[0], tagging[1] * 1000, 0.1)
    ports = PortSettings(queue_bytes=queue, priorities=2 if bucket else 1, tagging=bucket)
    transport = Transport("newreno", max_window=1024, minimum_timeout_s=0.2, initial_timeout_s=0.2)
    return simulate_network(
        three_level(SHAPE, UP, speeds), flows, transport, ports, PacketRun(seed=seed)
    )


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed: completion times in ms, and changes by priorities in per cent."""
    flows = _flows(c, seed)
    small = flows.sizes_bytes <= SMALL_BYTES
    found: dict[str, float] = {}
    traversals = 0
    rate, burst_kb = c.number("rate_mbps"), c.integer("burst_kb")
    runs: dict[str, tuple[float, int] | None] = {"fifo": None, "priority": (rate, burst_kb)}
    runs |= {f"burst_{burst}": (rate, burst) for burst in BURSTS_KB}
    runs |= {f"rate_{mbps}": (mbps, burst_kb) for mbps in RATES_MBPS}
    for name, tagging in runs.items():
        result = _simulate(c, tagging, flows, seed)
        traversals += result.traversals
        times_ms = 1e3 * result.completion_s
        found[f"{name}_small_mean"] = float(times_ms[small].mean())
        found[f"{name}_small_p99"] = float(np.percentile(times_ms[small], 99))
        found[f"{name}_small_p99_9"] = float(np.percentile(times_ms[small], 99.9))
        found[f"{name}_mean"] = float(times_ms.mean())
        if name == "fifo":
            found["load"] = 100 * result.realised_load
    for figure in ("small_mean", "small_p99", "small_p99_9", "mean"):
        change = found[f"priority_{figure}"] / found[f"fifo_{figure}"] - 1
        found[f"change_of_{figure}"] = 100 * change
    return found, traversals


def run(conditions: Conditions) -> Run:
    """Without and with priorities, and by burst, over independent seeds."""
    rows, traversals = run_seeds(conditions, run_once)
    # The text: small flows improve by 10 to 66 %, by 17 % at p99.9.
    published = {
        "change_of_small_mean": Published(-38, range=(-66, -10)),
        "change_of_small_p99": Published(-38, range=(-66, -10)),
        "change_of_small_p99_9": Published(-17, range=(-66, -10)),
    }
    results = summarise_all(rows, {name: _unit(name) for name in rows[0]}, published)
    results = (*results, _best_burst(results))
    by_name = {row.name: row for row in results}
    bars = {"one queue": by_name["fifo_small_mean"]}
    bars |= {f"burst {burst} kB": by_name[f"burst_{burst}_small_mean"] for burst in BURSTS_KB}
    rates = {f"rate {mbps} Mb/s": by_name[f"rate_{mbps}_small_p99"] for mbps in RATES_MBPS}
    charts = (
        result_bars("Mean completion of flows up to 10 kB", bars),
        result_bars("p99 of flows up to 10 kB by tagging rate", rates),
    )
    return Run(results, traversals, charts)


def _best_burst(results: Sequence[Result]) -> Result:
    """The burst with the least mean of small flows over all seeds."""
    means = {row.name: row.value or 0.0 for row in results}
    best = min(BURSTS_KB, key=lambda burst: means[f"burst_{burst}_small_mean"])
    return Result("best_burst", best, "kB", published=Published(100, range=(50, 200)))


def _unit(name: str) -> str:
    return "%" if name.startswith("change") or name == "load" else "ms"


def _signed(percent: float) -> str:
    """With a minus sign instead of a hyphen."""
    return f"{percent:.0f}".replace("-", "\u2212")


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"At a realised load of {v['load']:.0f}\u00a0%, two priorities change the mean completion "
        f"of small flows by {_signed(v['change_of_small_mean'])}\u00a0%, and their p99.9 by "
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
        Parameter("largest_kb", 10_000, "largest size", unit="kB", low=100, high=1_000_000),
        Parameter("host_gbps", 1.0, "rate of hosts", unit="Gb/s", low=0.1, high=100),
        Parameter("fabric_gbps", 10.0, "rate between switches", unit="Gb/s", low=0.1, high=400),
        Parameter("delay_us", 18.0, "delay of each cable", unit="µs", low=0.1, high=10_000),
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
    leaves_out="Delays of hosts; sizes above the largest, so that the load is below the nominal.",
    headline=headline,
)
