"""Delay of requests to a VM beside one that computes (Small is Better, Table 3)."""

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
from simulator.hypervisor.credit_scheduler import Host, Schedule, simulate_credit_scheduler

PUBLISHED = {
    "default_p99_9": Published(29.64, relative=0.20),
    "preempt_p99_9": Published(1.35, relative=0.20),
    "cpu_cost": Published(-3.8, absolute=3.0),
}
UNITS = {
    "idle_p99_9": "ms",
    "default_p50": "ms",
    "default_p99": "ms",
    "default_p99_9": "ms",
    "preempt_p50": "ms",
    "preempt_p99": "ms",
    "preempt_p99_9": "ms",
    "tail_reduction": "%",
    "cpu_cost": "%",
    "more_preemptions": "%",
}
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9}


def build_host(c: Conditions, preempt_boost: bool, n_neighbours: int) -> Host:
    """The host of an experiment's parameters, with so many neighbours."""
    return Host(
        preempt_boost=preempt_boost,
        slice_us=1e3 * c.number("slice_ms"),
        rate_limit_us=1e3 * c.number("rate_limit_ms"),
        n_neighbours=n_neighbours,
        burst_us=1e3 * c.number("burst_ms"),
        sleep_us=1e3 * c.number("sleep_ms"),
        service_us=1e3 * c.number("service_ms"),
        refill_us=1e3 * c.number("refill_ms"),
    )


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed, and the number of events simulated."""
    random = np.random.default_rng(seed)
    network_us = 1e3 * c.number("network_ms")
    gaps_us = network_us + random.exponential(1e3 * c.number("think_ms"), c.integer("requests"))
    n = c.integer("neighbours")
    runs: dict[str, Schedule] = {
        "idle": simulate_credit_scheduler(build_host(c, False, 0), gaps_us, seed),
        "default": simulate_credit_scheduler(build_host(c, False, n), gaps_us, seed),
        "preempt": simulate_credit_scheduler(build_host(c, True, n), gaps_us, seed),
    }
    found = {
        f"{policy}_{name}": float(np.percentile(schedule.delays_us + network_us, q)) / 1e3
        for policy, schedule in runs.items()
        for name, q in PERCENTILES.items()
    }
    found["tail_reduction"] = 100 * (found["preempt_p99_9"] / found["default_p99_9"] - 1)
    default, preempt = runs["default"], runs["preempt"]
    work = [float(s.useful_us[1:].sum()) / s.duration_us for s in (default, preempt)]
    found["cpu_cost"] = 100 * (work[1] / work[0] - 1)
    rates = [s.n_preemptions / s.duration_us for s in (default, preempt)]
    found["more_preemptions"] = 100 * (rates[1] / rates[0] - 1) if rates[0] else 0.0
    return found, sum(schedule.n_events for schedule in runs.values())


def run(conditions: Conditions) -> Run:
    """Both policies and an idle neighbour, over independent seeds."""
    rows, n_events = run_seeds(conditions, run_once)
    results = summarise_all(rows, UNITS, PUBLISHED)
    by_name = {row.name: row for row in results}
    bars = {
        "Default scheduler": by_name["default_p99_9"],
        "BOOST preempts BOOST": by_name["preempt_p99_9"],
        "Idle neighbour": by_name["idle_p99_9"],
    }
    return Run(results, n_events, (result_bars("p99.9 of request times", bars),))


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    verb = "cuts" if v["preempt_p99_9"] < v["default_p99_9"] else "changes"
    return (
        f"Letting a woken VM preempt its neighbour {verb} the p99.9 of requests from "
        f"{v['default_p99_9']:.1f} ms to {v['preempt_p99_9']:.1f} ms, for "
        f"{-v['cpu_cost']:.1f} % of the neighbour’s CPU work"
    )


EXPERIMENT = Experiment(
    id="vm-scheduling",
    title="A woken VM behind its neighbour",
    question="Why does a small request wait 30 ms on a busy host?",
    source="He et al., Small is Better, sections 4.1 and 5.2, Table 3; Xen's credit scheduler",
    parameters=(
        Parameter("requests", 20_000, "requests per seed", low=100, high=200_000),
        Parameter("neighbours", 1, "VMs that compute on the same core", low=1, high=16),
        Parameter("slice_ms", 30.0, "time slice", unit="ms", low=1, high=100),
        Parameter(
            "rate_limit_ms", 1.0, "shortest run before preemption", unit="ms", low=0, high=30
        ),
        Parameter(
            "burst_ms",
            50.0,
            "CPU time of 100 operations of a neighbour",
            unit="ms",
            low=0.1,
            high=10_000,
        ),
        Parameter("sleep_ms", 1.0, "sleep of a neighbour after that", unit="ms", low=0, high=1000),
        Parameter("service_ms", 0.1, "CPU time of a request", unit="ms", low=0.001, high=100),
        Parameter(
            "think_ms",
            1.5,
            "mean time of the client between requests",
            unit="ms",
            low=0,
            high=10_000,
        ),
        Parameter(
            "network_ms", 0.22, "round-trip time of the network", unit="ms", low=0, high=1000
        ),
        Parameter(
            "refill_ms", 0.6, "time to fill the cache after preemption", unit="ms", low=0, high=10
        ),
        Parameter("seeds", 5, "independent runs", low=1, high=100),
    ),
    run=run,
    meaning=(
        "Under the credit scheduler a woken VM does not preempt another that woke shortly before. "
        "One line of policy removes the wait, for a few per cent of the neighbour's work. Look for "
        "this pattern where screening says that the neighbours of a machine cause its tail."
    ),
    leaves_out="Cores beyond one, migration, NUMA, the driver domain's own scheduling.",
    headline=headline,
)
