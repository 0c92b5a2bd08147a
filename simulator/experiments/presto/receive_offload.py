"""Throughput and CPU time of a receiver that merges packets, with and without reordering."""

from collections.abc import Mapping

import numpy as np

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
from simulator.hypervisor.receive_offload import (
    Receiver,
    Reception,
    arrive_over_paths,
    receive_packets,
)

LABELS = {
    "none": "No receive offload",
    "official": "One segment per flow",
    "reordering": "List of segments (Presto)",
}
ORDERS = ("in_order", "reordered")
# Goodput by line rate, of one switch; a receiver keeps up with a rate at which it drops less.
GOODPUT, DROPPED, STEPS = 0.93, 1e-3, 12
PUBLISHED = {
    "none_in_order_goodput": Published(6.4, range=(5.7, 7.1)),
    "official_in_order_goodput": Published(9.3, relative=0.05),
    "official_reordered_goodput": Published(4.6, relative=0.15),
    "reordering_in_order_goodput": Published(9.3, relative=0.05),
    "reordering_reordered_goodput": Published(9.3, relative=0.05),
}


def receive_at(c: Conditions, algorithm: str, order: str, rate_gbps: float, seed: int) -> Reception:
    """What a receiver does with packets that are sent at a rate."""
    spread_us = 0.0 if order == "in_order" else c.number("spread_us")
    arrivals = arrive_over_paths(
        c.integer("packets"), rate_gbps, c.integer("paths"), spread_us, seed
    )
    receiver = Receiver(
        c.number("packet_us"),
        c.number("segment_us"),
        c.number("disorder_us"),
        c.number("coalescing_us"),
    )
    return receive_packets(receiver, *arrivals, algorithm)


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed by algorithm and order of packets, and the number of packets."""
    found: dict[str, float] = {}
    for algorithm in LABELS:
        for order in ORDERS:
            rate, reception = _find_capacity(c, algorithm, order, seed)
            key = f"{algorithm}_{order}"
            found[f"{key}_goodput"] = GOODPUT * rate
            found[f"{key}_cpu"] = 100 * min(reception.busy, 1.0)
            found[f"{key}_segment"] = 1.5 * float(np.mean(reception.sizes))
            found[f"{key}_out_of_order"] = 100 * reception.out_of_order
    return found, c.integer("packets")


def _find_capacity(c: Conditions, algorithm: str, order: str, seed: int) -> tuple[float, Reception]:
    """The largest rate in Gb/s, up to that of the link, with which the receiver keeps up."""
    low, high = 0.0, c.number("link_gbps")
    reception = receive_at(c, algorithm, order, high, seed)
    if reception.dropped <= DROPPED:
        return high, reception
    for _ in range(STEPS):
        rate = (low + high) / 2
        tried = receive_at(c, algorithm, order, rate, seed)
        if tried.dropped <= DROPPED:
            low, reception = rate, tried
        else:
            high = rate
    return low, reception


def run(conditions: Conditions) -> Run:
    """All algorithms with packets in order and reordered, over independent seeds."""
    rows, n_packets = run_seeds(conditions, run_once)
    results = summarise_all(rows, {name: _unit(name) for name in rows[0]}, PUBLISHED)
    by_name = {row.name: row for row in results}
    charts = tuple(
        result_bars(
            title, {text: by_name[f"{key}_reordered_{figure}"] for key, text in LABELS.items()}
        )
        for figure, title in (("goodput", "Goodput, reordered"), ("cpu", "CPU time, reordered"))
    )
    return Run(results, n_packets, charts)


def _unit(name: str) -> str:
    if name.endswith("goodput"):
        return "Gb/s"
    return "kB" if name.endswith("segment") else "%"


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    one, several = (v[f"{name}_reordered_goodput"] for name in ("official", "reordering"))
    return (
        f"Of reordered flowcells a receiver takes {one:.1f}\u00a0Gb/s with one segment per flow, "
        f"{several:.1f}\u00a0Gb/s with a list of segments, at "
        f"{v['reordering_reordered_cpu']:.0f}\u00a0% of a CPU"
    )


EXPERIMENT = Experiment(
    id="receive-offload",
    title="Receive offload under reordering",
    question="What does reordering cost a receiver?",
    source="He, thesis proposal, sections 3.2.2 and 3.3.2 (Presto), algorithm 1",
    parameters=(
        Parameter("packets", 20_000, "packets per run", low=1000, high=200_000),
        Parameter("link_gbps", 10.0, "rate of the link", unit="Gb/s", low=0.1, high=100),
        Parameter("paths", 2, "paths of the flowcells", low=1, high=16),
        Parameter("spread_us", 100.0, "largest delay of a cell", unit="µs", low=0, high=10_000),
        Parameter("packet_us", 0.5, "CPU time per packet", unit="µs", low=0.01, high=100),
        Parameter("segment_us", 1.375, "CPU time per segment", unit="µs", low=0, high=100),
        Parameter(
            "disorder_us", 8.0, "CPU time per segment out of order", unit="µs", low=0, high=100
        ),
        Parameter("coalescing_us", 30.0, "delay of interrupts", unit="µs", low=1, high=1000),
        Parameter("seeds", 5, "independent runs", low=1, high=20),
    ),
    run=run,
    meaning=(
        "A packet that does not follow the last one ends a segment, and the stack works per "
        "segment. Keeping several segments of a flow until the gap closes restores both."
    ),
    leaves_out="The sender’s reaction to duplicates, caches, several queues of the card.",
    headline=headline,
)
