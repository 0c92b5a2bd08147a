"""Short flows between racks beside traffic to remote users, which switches spread by hashing."""

from collections.abc import Mapping

import numpy as np

from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Parameter,
    Published,
    Run,
)
from simulator.experiments.presto.percentiles import TIMEOUT, published_changes, run_schemes
from simulator.experiments.presto.short_flows import draw_stride
from simulator.experiments.presto.testbed import (
    EARLY,
    HEADER_BYTES,
    HOSTS,
    OPEN_LOOP,
    PER_LEAF,
    SEGMENT_BYTES,
    SPINES,
    SUBFLOWS,
    Floats,
    build_network,
    find_end,
    find_times,
    simulate_testbed,
    testbed_parameters,
)
from simulator.packets.traffic import Flows, create_flows, join_flows

# Changes against ECMP in per cent at p50, p90, p99, p99.9 (Table 2).
CHANGES = {
    "mptcp": (-12, -73, -73),
    "presto": (-20, -79, -86, -87),
    "optimal": (-34, -83, -89, -91),
}
# Elephants in Gb/s (section 3.5).
GOODPUT = {"mptcp": 7.4, "presto": 8.2, "optimal": 8.9}
PUBLISHED = {
    **published_changes(CHANGES),
    "mptcp_p99_9": TIMEOUT,
    "mptcp_goodput": Published(GOODPUT["mptcp"], relative=0.10),
    "presto_goodput": Published(GOODPUT["presto"], relative=0.10),
    "optimal_goodput": Published(GOODPUT["optimal"], relative=0.05),
}


def draw_remote_packets(c: Conditions, scheme: str, seed: int) -> Flows:
    """Packets of all servers to remote users: flows of random sizes, each pair up to a rate.

    A server starts a flow to a random user every ``remote_ms`` on average.
    """
    random = np.random.default_rng([seed, 4])
    parts = []
    for server in range(HOSTS):
        for user in range(SPINES):
            # On one switch users are the hosts behind the servers.
            target = HOSTS + (PER_LEAF * user if scheme != "optimal" else user)
            times = _pace_packets(c, random)
            parts.append(create_flows(times, server, target, SEGMENT_BYTES, transport=OPEN_LOOP))
    return join_flows(parts)


def _pace_packets(c: Conditions, random: np.random.Generator) -> Floats:
    """Times in seconds of the packets of one server to one user."""
    end_s = find_end(c)
    gap_s = 8e-6 * (SEGMENT_BYTES + HEADER_BYTES) / c.number("remote_mbps")
    between_s = 1e-3 * c.number("remote_ms") * SPINES
    starts = np.cumsum(random.exponential(between_s, round(2 * end_s / between_s) + 10))
    sizes = random.exponential(1e3 * c.number("remote_kb"), len(starts))
    counts = np.maximum(np.rint(sizes / SEGMENT_BYTES), 1).astype(np.int64)
    # A flow waits for the end of the one before: ends[i] = max(starts[i], ends[i - 1]) + work[i].
    work = gap_s * counts
    done = np.cumsum(work)
    begins = np.maximum.accumulate(starts - (done - work)) + (done - work)
    firsts = np.repeat(np.cumsum(counts) - counts, counts)
    times: Floats = np.repeat(begins, counts) + gap_s * (np.arange(len(firsts)) - firsts)
    return times[times < end_s]


def simulate_cross_traffic(
    c: Conditions, scheme: str, seed: int
) -> tuple[Floats, dict[str, float], int]:
    """Times of short flows in ms, goodput of elephants and remote users, and traversals."""
    elephants, short = draw_stride(c, seed)
    remote = draw_remote_packets(c, scheme, seed)
    network = build_network(c, scheme, n_remote=SPINES)
    found = simulate_testbed(c, scheme, network, join_flows([elephants, short, remote]), seed)
    of_short = found.acknowledged_s[HOSTS : HOSTS + len(short)]
    figures = {
        "goodput": float(found.goodput_bps[:HOSTS].mean()) / 1e9,
        "remote_goodput": float(found.goodput_bps[-len(remote) :].sum()) / HOSTS / 1e9,
    }
    return find_times(c, of_short, seed), figures, found.traversals


def run(conditions: Conditions) -> Run:
    """All schemes, over independent draws."""
    title = "50 KB flows beside remote users"
    return run_schemes(conditions, simulate_cross_traffic, PUBLISHED, title)


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"Beside traffic to remote users, spraying flowcells changes the p99 of 50\u00a0KB flows "
        f"by {v['presto_change_of_p99']:.0f}\u00a0% against hashing, one switch by "
        f"{v['optimal_change_of_p99']:.0f}\u00a0%"
    )


EXPERIMENT = Experiment(
    id="presto-cross-traffic",
    title="Sprayed elephants beside remote users",
    question="Does spraying help when other traffic is spread by hashing?",
    source="He, thesis proposal, section 3.5 (Presto), Table 2",
    parameters=(
        *testbed_parameters(seconds=0.3),
        EARLY,
        *SUBFLOWS,
        Parameter(
            "remote_ms", 1.0, "mean time between remote flows", unit="ms", low=0.1, high=1000
        ),
        Parameter("remote_kb", 46.0, "mean size of a remote flow", unit="kB", low=1, high=10_000),
        Parameter(
            "remote_mbps",
            100.0,
            "limit from one server to one user",
            unit="Mb/s",
            low=1,
            high=1000,
        ),
    ),
    run=run,
    meaning=(
        "Traffic that leaves the data centre cannot be sprayed. Flowcells still keep the queues "
        "between racks short beside it."
    ),
    leaves_out="Losses and acknowledgements of remote flows, which are sent at a rate.",
    headline=headline,
)
