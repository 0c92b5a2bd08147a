"""Round trips of Presto after a cable fails: before, with fast failover, with new weights."""

from collections.abc import Mapping

import numpy as np

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Published,
    Run,
    result_bars,
    run_seeds,
    summarise_all,
)
from simulator.experiments.presto.percentiles import pool_draws, unit_of
from simulator.experiments.presto.testbed import (
    HOSTS,
    LEAVES,
    Floats,
    build_network,
    draw_short_flows,
    find_times,
    simulate_testbed,
    testbed_parameters,
)
from simulator.experiments.presto.throughput import STAGES_PUBLISHED, choose_pairs
from simulator.packets.networks import Network
from simulator.packets.traffic import ENDLESS_BYTES, create_flows, join_flows

# Spines that flowcells of the leaf without its cable to the first use in turn, by stage; fast
# failover moves the share of the lost path to the next one.
STAGES: Mapping[str, tuple[int, ...]] = {
    "symmetry": (0, 1, 2, 3),
    "failover": (1, 1, 2, 3),
    "weighted": (1, 2, 3),
}
LABELS = {"symmetry": "Symmetry", "failover": "Fast failover", "weighted": "New weights"}
PING_BYTES = 64
# The text to Figure 7 gives the direction: round-trip times are larger in both later stages.
LARGER = Published(1.0, range=(1.0, 1e4))
PUBLISHED = {
    "failover_mean_ratio": LARGER,
    "weighted_mean_ratio": LARGER,
    **{
        f"{stage}_goodput": Published(value, relative=0.10)
        for stage, value in zip(STAGES, STAGES_PUBLISHED["bijection"], strict=True)
    },
}


def restrict_paths(network: Network, stage: str) -> Network:
    """Let the first leaf, and all others towards it, use the paths of a stage."""
    paths = list(STAGES[stage])
    others = range(1, LEAVES)
    pairs = [pair for leaf in others for pair in ((0, leaf), (leaf, 0))]
    return network.with_choices(dict.fromkeys(pairs, paths))


def simulate_stage(c: Conditions, stage: str, seed: int) -> tuple[Floats, dict[str, float], int]:
    """Round trips of single packets in ms, mean goodput of elephants in Gb/s, and traversals."""
    random = np.random.default_rng(seed)
    pairs = choose_pairs("bijection", random)
    elephants = create_flows(random.uniform(0, 1e-3, HOSTS), *pairs, ENDLESS_BYTES)
    flows = join_flows([elephants, draw_short_flows(c, pairs, PING_BYTES, seed)])
    network = restrict_paths(build_network(c, "presto"), stage)
    found = simulate_testbed(c, "presto", network, flows, seed)
    goodput = float(found.goodput_bps[:HOSTS].mean()) / 1e9
    return (
        find_times(c, found.acknowledged_s[HOSTS:], seed),
        {"goodput": goodput},
        found.traversals,
    )


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed by stage, over several draws of pairs."""
    found: dict[str, float] = {}
    traversals = 0
    for i, stage in enumerate(STAGES):
        times_ms, figures, n = pool_draws(c.part(i, len(STAGES)), stage, seed, simulate_stage)
        found |= {**figures, f"{stage}_mean": float(times_ms.mean())}
        traversals += n
    for stage in ("failover", "weighted"):
        found[f"{stage}_mean_ratio"] = found[f"{stage}_mean"] / found["symmetry_mean"]
    return found, traversals


def run(conditions: Conditions) -> Run:
    """All stages, over independent seeds."""
    rows, traversals = run_seeds(conditions, run_once)
    units = {name: unit_of(name) for name in rows[0]}
    results = summarise_all(rows, units, PUBLISHED)
    by_name = {row.name: row for row in results}
    charts = tuple(
        result_bars(
            title,
            {text: by_name[f"{stage}_{figure}"] for stage, text in LABELS.items()},
            is_logarithmic=figure != "goodput",
        )
        for figure, title in (
            ("p50", "Median round-trip time"),
            ("p90", "p90 of round-trip times"),
            ("goodput", "Mean goodput"),
        )
    )
    return Run(results, traversals, charts)


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        "After a cable fails, the mean round-trip time grows from "
        f"{v['symmetry_mean']:.2f}\u00a0ms to {v['failover_mean']:.2f}\u00a0ms with fast failover, "
        f"{v['weighted_mean']:.2f}\u00a0ms "
        f"with new weights, and throughput falls from {v['symmetry_goodput']:.1f} to "
        f"{v['failover_goodput']:.1f} and {v['weighted_goodput']:.1f}\u00a0Gb/s"
    )


EXPERIMENT = Experiment(
    id="presto-failures",
    title="Sprayed elephants after a cable fails",
    question="What does a failed cable cost, and what do new weights give back?",
    source="He, thesis proposal, section 3.5 (Presto), Figures 6 and 7, random bijection",
    parameters=tuple(
        p for p in testbed_parameters(seconds=0.2, warm_up=0.2) if p.name != "short_window"
    ),
    run=run,
    meaning=(
        "A leaf with three of four uplinks cannot carry all of its hosts: queues fill. Failover "
        "puts two shares on one path; weights spread the loss over the three that are left."
    ),
    leaves_out="The change from one stage to the next; other workloads (see presto).",
    headline=headline,
)
