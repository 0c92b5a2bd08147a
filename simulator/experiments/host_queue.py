"""Round trips of pings beside bulk traffic of another VM of the host (Small is Better, Table 4)."""

from collections.abc import Callable, Mapping

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
from simulator.hypervisor.host_queue import (
    PACKET_BYTES,
    Queue,
    simulate_drop_tail,
    simulate_managed_queue,
)

Floats = NDArray[np.float64]
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9}
# Milliseconds, Tables 2 and 4.
PUBLISHED = {
    "idle": (0.217, 0.235, 0.250),
    "drop_tail": (16.83, 21.57, 21.73),
    "managed": (0.808, 1.21, 1.26),
    "segmented": (0.423, 0.609, 0.650),
}
LABELS = {
    "idle": "No bulk traffic",
    "drop_tail": "Drop-tail queue",
    "managed": "BQL and CoDel, 64 KB segments",
    "segmented": "BQL and CoDel, segmented early",
}
TOLERANCE = 0.25
# Shape of round trips without load: a constant and an exponential part, from the published row.
BASE_MS, SPREAD_MS = 0.2138, 0.0046


def _delays(c: Conditions, times_us: Floats, seed: int) -> Mapping[str, Callable[[], Floats]]:
    rate = c.number("link_gbps") * 125
    limit, segment = c.number("nic_bytes"), c.number("segment_bytes")
    interrupt = c.number("interrupt_us")
    n_packets = c.integer("queue_packets") + c.integer("ring_packets")
    return {
        "idle": lambda: np.zeros(len(times_us)),
        "drop_tail": lambda: simulate_drop_tail(rate, n_packets, 1e3 * BASE_MS, times_us, seed),
        "managed": lambda: simulate_managed_queue(
            Queue(rate, limit, segment, interrupt), times_us, seed
        ),
        "segmented": lambda: simulate_managed_queue(
            Queue(rate, limit, PACKET_BYTES, interrupt), times_us, seed
        ),
    }


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Percentiles of round trips in ms by state of the queue, and the number of pings."""
    random = np.random.default_rng(seed)
    n = c.integer("pings")
    found: dict[str, float] = {}
    gap_us = 1e3 * c.number("ping_ms")
    times_us = gap_us * (np.arange(n) + 1) + random.uniform(0, gap_us / 10, n)
    for state, delays in _delays(c, times_us, seed).items():
        rtt_ms = BASE_MS + random.exponential(SPREAD_MS, n) + delays() / 1e3
        for name, q in PERCENTILES.items():
            found[f"{state}_{name}"] = float(np.percentile(rtt_ms, q))
    return found, n * len(found) // len(PERCENTILES)


def run(conditions: Conditions) -> Run:
    """All states of the queue, over independent seeds."""
    rows, n_pings = run_seeds(conditions, run_once)
    published = {
        f"{state}_{name}": Published(value, relative=TOLERANCE)
        for state, values in PUBLISHED.items()
        for name, value in zip(PERCENTILES, values, strict=True)
    }
    results = summarise_all(rows, dict.fromkeys(published, "ms"), published)
    return Run(results, n_pings, (_chart(results),))


def _chart(results: tuple[Result, ...]) -> Mapping[str, object]:
    by_name = {row.name: row for row in results}
    rows = {LABELS[state]: by_name[f"{state}_p99"] for state in PUBLISHED}
    return result_bars("Round-trip time, p99", rows, is_logarithmic=True)


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"Managing the host’s queue cuts the p99 of pings from {v['drop_tail_p99']:.1f} ms to "
        f"{v['managed_p99']:.2f} ms; segmenting early cuts it to {v['segmented_p99']:.2f} ms"
    )


EXPERIMENT = Experiment(
    id="host-queue",
    title="Queues of a host’s network card",
    question="Why does a small packet wait behind a neighbour’s bulk traffic inside the host?",
    source="He et al., Small is Better, sections 3.3 and 5.3, Tables 2 and 4",
    parameters=(
        Parameter("pings", 10_000, "round-trip times measured per seed", low=100, high=50_000),
        Parameter("ping_ms", 10.0, "time between pings", unit="ms", low=0.1, high=100),
        Parameter("link_gbps", 1.0, "rate of the link", unit="Gb/s", low=0.1, high=400),
        Parameter(
            "nic_bytes", 37_500, "limit of the queue in the NIC", unit="B", low=1514, high=10**7
        ),
        Parameter(
            "segment_bytes", 65_536, "largest segment of a guest", unit="B", low=64, high=10**6
        ),
        Parameter(
            "interrupt_us",
            100.0,
            "time between completion interrupts",
            unit="µs",
            low=20,
            high=10**4,
        ),
        Parameter("queue_packets", 1_000, "packets of the drop-tail queue", low=1, high=10**6),
        Parameter("ring_packets", 512, "packets of the NIC's ring without BQL", low=0, high=10**5),
        Parameter("seeds", 5, "independent runs", low=1, high=100),
    ),
    run=run,
    meaning=(
        "A byte limit in the NIC removes nine tenths of the wait. What is left is the one segment "
        "of 64 KB already in front; segmenting before the queue removes that as well."
    ),
    leaves_out="CPU time of early segmentation, TCP dynamics of the managed queues, flow control.",
    headline=headline,
)
