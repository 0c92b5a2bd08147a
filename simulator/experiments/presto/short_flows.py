"""Short flows beside a stride of elephants, packet by packet: ECMP, Presto, one switch."""

from collections.abc import Mapping

import numpy as np

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Published,
    Run,
)
from simulator.experiments.presto.percentiles import FACTOR, TIMEOUT, run_schemes
from simulator.experiments.presto.testbed import (
    EARLY,
    HOSTS,
    SHORT_BYTES,
    SUBFLOWS,
    Floats,
    build_network,
    draw_short_flows,
    find_times,
    simulate_testbed,
    testbed_parameters,
)
from simulator.packets.traffic import Flows, join_flows, stride

STEP = 8
# Milliseconds of p50, p99, p99.9 (Figure 5, stride); within a factor of 1.5.
PUBLISHED = {
    "ecmp": (0.83, 7.7, 11.0),
    "presto": (0.50, 1.07, 1.36),
    "optimal": (0.36, 0.81, 1.01),
}
FIGURES = ("p50", "p99", "p99_9")
# Elephants in Gb/s (Figure 4, stride).
GOODPUT = {"mptcp": 7.40, "presto": 9.12, "optimal": 9.27}
# Accepted relative difference; that of MPTCP depends on losses, as ECMP's does.
GOODPUT_WITHIN = {"mptcp": 0.10, "presto": 0.05, "optimal": 0.05}


def draw_stride(c: Conditions, seed: int) -> tuple[Flows, Flows]:
    """The elephants of a stride, and the short flows between the same pairs."""
    elephants = stride(HOSTS, STEP)
    elephants.starts_s[:] = np.random.default_rng(seed).uniform(0, 1e-3, HOSTS)
    hosts = np.arange(HOSTS)
    pairs = (hosts, (hosts + STEP) % HOSTS)
    return elephants, draw_short_flows(c, pairs, SHORT_BYTES, seed)


def simulate_stride(c: Conditions, scheme: str, seed: int) -> tuple[Floats, dict[str, float], int]:
    """Figures of a scheme beside a stride, as of ``simulate_short_flows``."""
    return simulate_short_flows(c, scheme, draw_stride(c, seed), seed)


def simulate_short_flows(
    c: Conditions, scheme: str, parts: tuple[Flows, Flows], seed: int
) -> tuple[Floats, dict[str, float], int]:
    """Completion times in ms of short flows, figures of the elephants, and traversals.

    ``parts`` are the elephants and the short flows.
    """
    n = len(parts[0])
    found = simulate_testbed(c, scheme, build_network(c, scheme), join_flows(parts), seed)
    figures = {
        "goodput": float(found.goodput_bps[:n].mean()) / 1e9,
        "resent": 100 * float(found.resent.sum() / found.sent.sum()),
        "unfinished": 100 * float(np.isnan(found.acknowledged_s[n:]).mean()),
    }
    times_ms = find_times(c, found.acknowledged_s[n:], seed)
    return times_ms, figures, found.traversals


def run(conditions: Conditions) -> Run:
    """All schemes, over independent draws."""
    return run_schemes(conditions, simulate_stride, _published(), "50 KB flows beside a stride")


def _published() -> dict[str, Published]:
    """Medians, tails and throughputs; ECMP's throughput is that of losses and unfair windows."""
    known = {
        f"{scheme}_{name}": Published(value, range=(value / FACTOR, value * FACTOR))
        for scheme, values in PUBLISHED.items()
        for name, value in zip(FIGURES, values, strict=True)
    }
    known |= {
        f"{scheme}_goodput": Published(value, relative=GOODPUT_WITHIN[scheme])
        for scheme, value in GOODPUT.items()
    }
    known["mptcp_p99_9"] = TIMEOUT
    for at, name in ((1, "p99"), (2, "p99_9")):
        value = 100 * (PUBLISHED["presto"][at] / PUBLISHED["ecmp"][at] - 1)
        known[f"presto_change_of_{name}"] = Published(value, absolute=15)
    return known


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"Beside a stride of elephants, spraying flowcells changes the p99.9 of 50\u00a0KB flows "
        f"from {v['ecmp_p99_9']:.1f}\u00a0ms to {v['presto_p99_9']:.2f}\u00a0ms, where one "
        f"switch has {v['optimal_p99_9']:.2f}\u00a0ms"
    )


EXPERIMENT = Experiment(
    id="presto-latency",
    title="Short flows beside sprayed elephants",
    question="What does hashing elephants onto paths cost the short flows between them?",
    source="He, thesis proposal, section 3.5 (Presto), Figure 5",
    parameters=(*testbed_parameters(), EARLY, *SUBFLOWS),
    run=run,
    meaning=(
        "Where hashing puts two elephants on one path, short flows behind them wait for a full "
        "buffer at each hop. Equal shares of all paths keep every buffer short."
    ),
    leaves_out="The CPU time of hosts, other than as a random delay.",
    headline=headline,
)
