"""Short flows of a measured mix of sizes between racks: ECMP, Presto, one switch."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Parameter,
    Published,
    Run,
    run_seeds,
    summarise_all,
    summarise_median,
)
from simulator.experiments.presto.percentiles import (
    percentile_charts,
    published_changes,
    run_draws,
    unit_of,
)
from simulator.experiments.presto.testbed import (
    BULK,
    HOSTS,
    PER_LEAF,
    SHORT,
    Floats,
    Integers,
    build_network,
    find_end,
    find_times,
    simulate_testbed,
    testbed_parameters,
)
from simulator.packets.traffic import Flows, create_flows

# Sizes in bytes and shares of flows up to them: read off Figure 2 of Greenberg et al., VL2
# (SIGCOMM 2009), of the cluster that Kandula et al. (IMC 2009) measured.
SIZES = (100, 1_500, 3_000, 10_000, 390_000, 3.1e6, 97e6, 1e9)
SHARES = (0.0, 0.5, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0)
# MPTCP is left out, as in the table.
SCHEMES = ("ecmp", "presto", "optimal")
SHORT_BELOW_BYTES, LARGE_ABOVE_BYTES = 100_000, 1_000_000
# Changes against ECMP in per cent at p50, p90, p99, p99.9 (Table 1).
CHANGES = {"presto": (-9, -32, -56, -60), "optimal": (-12, -34, -63, -61)}
PUBLISHED = {
    **published_changes(CHANGES),
    "presto_gain_of_goodput": Published(10, range=(10, 100)),
}


def draw_sizes(c: Conditions, n: int, random: np.random.Generator) -> Integers:
    """Sizes of ``n`` flows in bytes: the measured distribution, scaled and truncated."""
    logarithms = np.interp(random.random(n), SHARES, np.log(SIZES))
    sizes = np.minimum(c.number("scale") * np.exp(logarithms), 1e6 * c.number("largest_mb"))
    return np.rint(sizes).astype(np.int64)


def draw_flows(c: Conditions, seed: int) -> Flows:
    """Flows of all hosts to random hosts of other racks, at random times.

    Those of a pair use one connection, which each server has to every other.
    """
    random, end_s = np.random.default_rng([seed, 2]), find_end(c)
    n = max(round(HOSTS * end_s / (1e-3 * c.number("flow_ms"))), 1)
    sources = random.integers(HOSTS, size=n)
    rack = sources // PER_LEAF
    others = random.integers(HOSTS - PER_LEAF, size=n)
    targets = np.where(others < rack * PER_LEAF, others, others + PER_LEAF)
    starts = random.uniform(0, end_s, n)
    sizes = draw_sizes(c, n, random)
    transports = np.where(sizes < SHORT_BELOW_BYTES, SHORT, BULK)
    return replace(
        create_flows(starts, sources, targets, sizes),
        transports=transports.astype(np.int32),
        sessions=(HOSTS * sources + targets).astype(np.int32),
    )


def simulate_traces(c: Conditions, scheme: str, seed: int) -> tuple[Floats, dict[str, float], int]:
    """Times of short flows in ms, mean goodput of large ones, realised load, and traversals."""
    flows = draw_flows(c, seed)
    found = simulate_testbed(c, scheme, build_network(c, scheme), flows, seed)
    short = flows.sizes_bytes < SHORT_BELOW_BYTES
    large = (flows.sizes_bytes > LARGE_ABOVE_BYTES) & np.isfinite(found.acknowledged_s)
    rates = 8e-9 * flows.sizes_bytes[large] / found.acknowledged_s[large]
    figures = {
        "goodput": float(rates.mean()) if large.any() else 0.0,
        "load": 100 * found.realised_load,
        "unfinished": 100 * float(np.isnan(found.acknowledged_s[short]).mean()),
    }
    measured = short & (flows.starts_s >= c.number("warm_up"))
    times_ms = find_times(c, found.acknowledged_s[measured], seed)
    return times_ms, figures, found.traversals


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed by scheme, and the gain in goodput of large flows."""
    found, traversals = run_draws(c, seed, simulate_traces, SCHEMES)
    for scheme in ("presto", "optimal"):
        gain = found[f"{scheme}_goodput"] / max(found["ecmp_goodput"], 1e-9) - 1
        found[f"{scheme}_gain_of_goodput"] = 100 * gain
    return found, traversals


def run(conditions: Conditions) -> Run:
    """All schemes, medians over independent seeds: some have a time-out at p99.9, others none."""
    rows, traversals = run_seeds(conditions, run_once)
    units = {name: unit_of(name) for name in rows[0]}
    results = summarise_all(rows, units, PUBLISHED, summarise_median)
    by_name = {row.name: row for row in results}
    return Run(results, traversals, percentile_charts(by_name, "flows below 100 KB"))


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"Of a measured mix of sizes, spraying flowcells changes the p99 of flows below "
        f"100\u00a0KB by {v['presto_change_of_p99']:.0f}\u00a0% against hashing, and their median "
        f"by {v['presto_change_of_p50']:.0f}\u00a0%"
    )


_TESTBED = testbed_parameters(seconds=2.0, warm_up=0.1, seeds=10)
EXPERIMENT = Experiment(
    id="presto-traces",
    title="Sprayed flows of a measured mix of sizes",
    question="What does spraying gain where most flows are short and most bytes in few?",
    source="He, thesis proposal, section 3.5 (Presto), Table 1",
    parameters=(
        *(p for p in _TESTBED if p.name != "short_ms"),
        Parameter("flow_ms", 15.0, "mean time between flows of a host", unit="ms", low=2, high=1e4),
        Parameter("scale", 10.0, "factor of all sizes", low=0.1, high=100),
        Parameter(
            "threshold",
            2000,
            "slow-start threshold of open connections",
            unit="packets",
            low=2,
            high=16_384,
        ),
        Parameter("largest_mb", 100.0, "largest flow", unit="MB", low=1, high=1000),
    ),
    run=run,
    meaning=(
        "Most flows meet no large one, so the median hardly changes. Those that do wait behind it, "
        "unless its bytes are spread over all paths."
    ),
    leaves_out="Times between the flows of a server, which are drawn independently; larger flows.",
    headline=headline,
)
