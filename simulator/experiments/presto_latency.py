"""Short flows beside a stride of elephants, packet by packet: ECMP, Presto, one switch."""

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
from simulator.packets.networks import Network, Speeds, leaf_spine
from simulator.packets.settings import Forwarding, PortSettings, Transport
from simulator.packets.settings import Run as PacketRun
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import create_flows, join_flows, stride

HOSTS, LEAVES, SPINES = 16, 4, 4
STEP, SHORT_BYTES = 8, 50_000
LABELS = {"ecmp": "ECMP", "presto": "Presto", "optimal": "One switch"}
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9}
# Milliseconds, in the order of PERCENTILES (Figure 5, stride); within a factor of 1.5.
PUBLISHED = {
    "ecmp": (0.83, 7.7, 11.0),
    "presto": (0.50, 1.07, 1.36),
    "optimal": (0.36, 0.81, 1.01),
}
FACTOR = 1.5
# Jitter of hosts is left out, which sets the tails of one switch.
NOT_SHOWN = {("optimal", "p99"), ("optimal", "p99_9"), ("ecmp", "p50")}
# Elephants in Gb/s (Figure 4, stride).
GOODPUT = {"ecmp": 5.32, "presto": 9.12, "optimal": 9.27}


def _network(c: Conditions, scheme: str) -> Network:
    rate, delay_s = 1e9 * c.number("link_gbps"), 1e-6 * c.number("delay_us")
    # Hosts have most of the delay, switches that of their forwarding.
    if scheme == "optimal":
        network = leaf_spine(1, 1, HOSTS, Speeds(rate, rate, delay_s))
    else:
        network = leaf_spine(LEAVES, SPINES, HOSTS // LEAVES, Speeds(rate, rate, delay_s))
    delays = np.full(len(network.delays_s), 1e-6)
    delays[:HOSTS] = delays[-HOSTS:] = delay_s
    rates = network.rates_bps.copy()
    rates[:HOSTS] *= c.number("host_share")
    return replace(network, delays_s=delays, rates_bps=rates)


def _transports(c: Conditions, scheme: str) -> list[Transport]:
    bulk = Transport(
        "cubic",
        max_window=c.integer("max_window"),
        resequencing=scheme == "presto",
        small_queue_bytes=c.integer("host_queue_kb") * 1000,
        tail_probe_s=0.01,
        minimum_timeout_s=0.2,
        initial_timeout_s=0.2,
    )
    return [bulk, replace(bulk, small_queue_bytes=None)]


def simulate_stride(
    c: Conditions, scheme: str, seed: int
) -> tuple[NDArray[np.float64], dict[str, float], int]:
    """Completion times in ms of short flows, figures of the elephants, and traversals."""
    random, seconds = np.random.default_rng(seed), c.number("seconds")
    elephants = stride(HOSTS, STEP)
    elephants.starts_s[:] = random.uniform(0, 1e-3, HOSTS)
    n = round(seconds / (1e-3 * c.number("short_ms")))
    sources = np.repeat(np.arange(HOSTS), n)
    starts = random.uniform(seconds / 4, seconds, HOSTS * n)
    short = create_flows(starts, sources, (sources + STEP) % HOSTS, SHORT_BYTES, transport=1)
    found = simulate_network(
        _network(c, scheme),
        join_flows([elephants, short]),
        _transports(c, scheme),
        PortSettings(queue_bytes=None, shared_buffer_bytes=c.integer("buffer_mb") * 1_000_000),
        PacketRun(
            seed=seed,
            duration_s=seconds + 0.05,
            warm_up_s=seconds / 4,
            segment_bytes=1448,
            header_bytes=90,
            # With receive offload a segment of many packets has one acknowledgement.
            reply_bytes=c.integer("reply_bytes"),
            forwarding=Forwarding("flowcell" if scheme == "presto" else "ecmp"),
        ),
    )
    figures = {
        "goodput": float(found.goodput_bps[:HOSTS].mean()) / 1e9,
        "resent": 100 * float(found.resent.sum() / found.sent.sum()),
        "unfinished": 100 * float(np.isnan(found.completion_s[HOSTS:]).mean()),
    }
    # The answer of the application comes back through an empty network.
    answer_ms = 2e-3 * c.number("delay_us")
    return 1e3 * found.completion_s[HOSTS:] + answer_ms, figures, found.traversals


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed by scheme, over several draws of paths."""
    found: dict[str, float] = {}
    traversals = 0
    for scheme in LABELS:
        times, rows = [], []
        for draw in range(c.integer("draws")):
            times_ms, figures, n = simulate_stride(c, scheme, 1000 * seed + draw)
            traversals += n
            times.append(times_ms)
            rows.append(figures)
        found |= {f"{scheme}_{name}": float(np.mean([r[name] for r in rows])) for name in rows[0]}
        # A flow that did not end is slower than any that did.
        pooled = np.nan_to_num(np.concatenate(times), nan=1e3 * c.number("seconds"))
        for name, q in PERCENTILES.items():
            found[f"{scheme}_{name}"] = float(np.percentile(pooled, q))
    for name in PERCENTILES:
        change = found[f"presto_{name}"] / found[f"ecmp_{name}"] - 1
        found[f"change_of_{name}"] = 100 * change
    return found, traversals


def run(conditions: Conditions) -> Run:
    """All schemes, over independent seeds."""
    rows, traversals = run_seeds(conditions, run_once)
    results = summarise_all(rows, {name: _unit(name) for name in rows[0]}, _published())
    by_name = {row.name: row for row in results}
    charts = tuple(
        result_bars(
            f"{title} of 50 KB flows beside a stride",
            {text: by_name[f"{scheme}_{name}"] for scheme, text in LABELS.items()},
            is_logarithmic=True,
        )
        for name, title in (("p50", "Median"), ("p99", "p99"), ("p99_9", "p99.9"))
    )
    return Run(results, traversals, charts)


def _published() -> dict[str, Published]:
    """Medians and tails that the model can show; see ``leaves_out`` for the others."""
    known = {
        f"{scheme}_{name}": Published(value, range=(value / FACTOR, value * FACTOR))
        for scheme, values in PUBLISHED.items()
        for name, value in zip(PERCENTILES, values, strict=True)
        if (scheme, name) not in NOT_SHOWN
    }
    known |= {
        f"{scheme}_goodput": Published(value, relative=0.05)
        for scheme, value in GOODPUT.items()
        if scheme != "ecmp"
    }
    for at, name in ((1, "p99"), (2, "p99_9")):
        value = 100 * (PUBLISHED["presto"][at] / PUBLISHED["ecmp"][at] - 1)
        known[f"change_of_{name}"] = Published(value, absolute=15)
    return known


def _unit(name: str) -> str:
    if name.startswith("change") or name.endswith(("resent", "unfinished")):
        return "%"
    return "Gb/s" if name.endswith("goodput") else "ms"


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
    parameters=(
        Parameter("seconds", 0.1, "simulated time of a draw", unit="s", low=0.02, high=10),
        Parameter("draws", 6, "draws of paths per seed", low=1, high=50),
        Parameter(
            "short_ms", 3.0, "mean time between short flows of a host", unit="ms", low=1, high=1000
        ),
        Parameter("link_gbps", 10.0, "rate of every cable", unit="Gb/s", low=0.1, high=100),
        Parameter("host_share", 0.985, "rate of a host by that", low=0.1, high=1),
        Parameter(
            "delay_us", 20.0, "delay of a host and its cable", unit="µs", low=0.1, high=10_000
        ),
        Parameter(
            "host_queue_kb", 32, "bulk in the queue of a host", unit="kB", low=2, high=100_000
        ),
        Parameter("buffer_mb", 9, "shared buffer of a switch", unit="MB", low=1, high=1000),
        Parameter("max_window", 4096, "largest window", unit="packets", low=64, high=16_384),
        Parameter("reply_bytes", 2, "acknowledgements per data packet", unit="B", low=1, high=1000),
        Parameter("seeds", 5, "independent runs", low=1, high=20),
    ),
    run=run,
    meaning=(
        "Where hashing puts two elephants on one path, short flows behind them wait for a full "
        "buffer at each hop. Equal shares of all paths keep every buffer short."
    ),
    leaves_out=(
        "MPTCP; jitter of hosts, which sets the tails of one switch; ECMP’s median is below the "
        "published one."
    ),
    headline=headline,
)
