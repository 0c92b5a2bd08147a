"""Short flows beside a random bijection and a shuffle: ECMP, MPTCP, Presto, one switch."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Published,
    Run,
)
from simulator.experiments.presto.percentiles import (
    FACTOR,
    LABELS,
    TIMEOUT,
    percentile_charts,
    run_pooled,
    summarise_draws,
)
from simulator.experiments.presto.short_flows import simulate_short_flows
from simulator.experiments.presto.testbed import (
    EARLY,
    SHORT_BYTES,
    SUBFLOWS,
    Floats,
    draw_short_flows,
    testbed_parameters,
)
from simulator.experiments.presto.throughput import choose_pairs, draw_shuffle
from simulator.packets.traffic import ENDLESS_BYTES, create_flows

TITLES = {
    "bijection": "50 KB flows beside a random bijection",
    "shuffle": "50 KB flows beside a shuffle",
}
# The text to Figure 5, about p99.9: Presto within 350 us of one switch beside a bijection; ECMP
# some 11 ms, over 7.5 times as long as Presto; beside a shuffle all three within 10 %. MPTCP has
# time-outs beside both. Elephants in Gb/s: Figure 4.
PUBLISHED = {
    "bijection_ecmp_p99_9": Published(11.0, range=(11.0 / FACTOR, 11.0 * FACTOR)),
    "bijection_mptcp_p99_9": TIMEOUT,
    "bijection_presto_above_optimal_p99_9": Published(0.35, range=(-0.35, 0.35)),
    "bijection_ecmp_ratio_of_p99_9": Published(7.5, range=(7.5 / FACTOR, 1e4)),
    "bijection_mptcp_goodput": Published(7.10, relative=0.10),
    "bijection_presto_goodput": Published(9.05, relative=0.05),
    "bijection_optimal_goodput": Published(9.16, relative=0.05),
    "shuffle_mptcp_p99_9": TIMEOUT,
    "shuffle_ecmp_by_optimal_p99_9": Published(1.0, range=(1 / FACTOR, FACTOR)),
    "shuffle_presto_by_optimal_p99_9": Published(1.0, range=(1 / FACTOR, FACTOR)),
}


def simulate_workload(c: Conditions, case: str, seed: int) -> tuple[Floats, dict[str, float], int]:
    """Figures of a case, a workload and a scheme, as of ``simulate_short_flows``.

    Short flows are between the pairs of the elephants.
    """
    workload, scheme = case.split("_")
    random = np.random.default_rng(seed)
    pairs = draw_shuffle(random) if workload == "shuffle" else choose_pairs(workload, random)
    starts_s = random.uniform(0, 1e-3, len(pairs[0]))
    elephants = create_flows(starts_s, *pairs, ENDLESS_BYTES)
    short = draw_short_flows(c, pairs, SHORT_BYTES, seed)
    return simulate_short_flows(c, scheme, (elephants, short), seed)


def _compare(found: Mapping[str, Floats]) -> dict[str, Floats]:
    """Differences and ratios of p99.9 that the text states, with their resamples."""
    ecmp, _, presto, optimal = (found[f"bijection_{scheme}_p99_9"] for scheme in LABELS)
    compared = {
        "bijection_presto_above_optimal_p99_9": presto - optimal,
        "bijection_ecmp_ratio_of_p99_9": ecmp / presto,
    }
    for scheme in ("ecmp", "presto"):
        ratio = found[f"shuffle_{scheme}_p99_9"] / found["shuffle_optimal_p99_9"]
        compared[f"shuffle_{scheme}_by_optimal_p99_9"] = ratio
    return compared


def run(conditions: Conditions) -> Run:
    """Both workloads and all schemes, over independent draws."""
    cases = [f"{workload}_{scheme}" for workload in TITLES for scheme in LABELS]
    percentiles, figures, traversals = run_pooled(conditions, cases, simulate_workload)
    percentiles |= _compare(percentiles)
    results = summarise_draws(percentiles, figures, PUBLISHED)
    by_name = {row.name: row for row in results}
    charts = [
        chart
        for workload, title in TITLES.items()
        for chart in percentile_charts(by_name, title, f"{workload}_")
    ]
    return Run(results, traversals, tuple(charts))


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"Beside a random bijection, spraying flowcells changes the p99.9 of 50\u00a0KB flows from "
        f"{v['bijection_ecmp_p99_9']:.1f}\u00a0ms to {v['bijection_presto_p99_9']:.2f}\u00a0ms; "
        f"beside a shuffle, from {v['shuffle_ecmp_p99_9']:.1f}\u00a0ms to "
        f"{v['shuffle_presto_p99_9']:.1f}\u00a0ms"
    )


EXPERIMENT = Experiment(
    id="presto-workloads",
    title="Short flows beside a bijection and a shuffle",
    question="When does spraying elephants not help the short flows?",
    source="He, thesis proposal, section 3.5 (Presto), Figure 5, bijection and shuffle",
    parameters=(
        *testbed_parameters(seconds=0.25, warm_up=0.25),
        replace(EARLY, default=2.5),
        *SUBFLOWS,
    ),
    run=run,
    meaning=(
        "Where no receiver has two senders, equal shares of all paths keep every queue short. In "
        "a shuffle two elephants meet at a receiver: the queue before its cable is the same for "
        "every choice of paths."
    ),
    leaves_out=(
        "The changes of a shuffle in time: each draw is its state at a random moment, as through "
        "one switch. Bytes of MPTCP that wait for those of another subflow; faults of its "
        "implementation."
    ),
    headline=headline,
)
