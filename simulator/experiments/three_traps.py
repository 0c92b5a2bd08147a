"""Scheduler, host queue and switch in one path, with and without all three policies (Figure 5)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.experiments import host_queue, switch_priority, vm_scheduling
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
from simulator.hypervisor.credit_scheduler import simulate_credit_scheduler
from simulator.hypervisor.host_queue import PACKET_BYTES, Queue, simulate_managed_queue

Floats = NDArray[np.float64]
LABELS = {
    "idle": "No contention",
    "default": "Contention, default policies",
    "patched": "Contention, all three policies",
}
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9}
# Changes from the default to all three policies, in per cent, and the loss of large flows.
PUBLISHED = {
    "change_of_mean": Published(-40, absolute=20),
    "change_of_p99": Published(-56, absolute=20),
    "change_of_p99_9": Published(-90, absolute=10),
    "large_slowdown": Published(3, range=(-3, 3)),
}


def _select_parameters(experiment: Experiment, c: Conditions) -> Conditions:
    """Parameters of the experiment on one of the three causes, those of this one in their place."""
    own: dict[str, Any] = {
        p.name: c.values.get(p.name, p.default) for p in experiment.parameters if p.name != "seeds"
    }
    return Conditions(own, c.seed)


def _wait_for_cpu(c: Conditions, case: str, gaps_us: Floats, seed: int) -> tuple[Floats, Floats]:
    """Times at which responses leave their VM, and what each waited for its CPU, in µs."""
    scheduling = _select_parameters(vm_scheduling.EXPERIMENT, c)
    n_neighbours = 0 if case == "idle" else c.integer("neighbours")
    host = vm_scheduling.build_host(scheduling, case == "patched", n_neighbours)
    delays_us = simulate_credit_scheduler(host, gaps_us, seed).delays_us
    # On another core a VM runs at once.
    shares_core = np.random.default_rng([seed, 1]).random(len(gaps_us))
    alone_us = 1e3 * scheduling.number("service_ms")
    delays_us = np.where(100 * shares_core < c.number("shared_percent"), delays_us, alone_us)
    return np.cumsum(gaps_us + delays_us), delays_us


def _wait_in_host(c: Conditions, case: str, times_us: Floats, seed: int) -> Floats:
    """What each response waits for bulk traffic in the queue of its host, in µs."""
    if case == "idle":
        return np.zeros(len(times_us))
    queueing = _select_parameters(host_queue.EXPERIMENT, c)
    queue = Queue(
        queueing.number("link_gbps") * 125,
        queueing.number("nic_bytes"),
        PACKET_BYTES if case == "patched" else queueing.number("segment_bytes"),
        queueing.number("interrupt_us"),
    )
    return simulate_managed_queue(queue, times_us, seed)


def simulate_case(c: Conditions, case: str, seed: int) -> tuple[Floats, Floats, int]:
    """Completion times in ms of small and large responses, and the number of traversals."""
    random = np.random.default_rng(seed)
    gaps_us = random.exponential(1e3 * c.number("small_ms"), c.integer("requests"))
    times_us, for_cpu_us = _wait_for_cpu(c, case, gaps_us, seed)
    in_host_us = _wait_in_host(c, case, times_us, seed)
    starts_s = (times_us + in_host_us) / 1e6
    order = np.argsort(starts_s, kind="stable")
    load = 0.0 if case == "idle" else c.number("load_percent")
    small_ms, large_ms, traversals = switch_priority.complete_responses(
        _select_parameters(switch_priority.EXPERIMENT, c),
        load,
        case == "patched",
        starts_s[order],
        seed,
    )
    total_ms = np.empty(len(small_ms))
    total_ms[order] = small_ms
    return total_ms + (for_cpu_us + in_host_us) / 1e3, large_ms, traversals


def run_once(c: Conditions, seed: int) -> tuple[dict[str, float], int]:
    """Figures of one seed by case."""
    found: dict[str, float] = {}
    traversals = 0
    for case in LABELS:
        small_ms, large_ms, n = simulate_case(c, case, seed)
        traversals += n
        found[f"{case}_mean"] = float(small_ms.mean())
        for name, q in PERCENTILES.items():
            found[f"{case}_{name}"] = float(np.percentile(small_ms, q))
        if case != "idle":
            found[f"{case}_large_mean"] = float(large_ms.mean())
    for name in ("mean", *PERCENTILES):
        change = found[f"patched_{name}"] / found[f"default_{name}"] - 1
        found[f"change_of_{name}"] = 100 * change
    slowdown = found["patched_large_mean"] / found["default_large_mean"] - 1
    found["large_slowdown"] = 100 * slowdown
    return found, traversals


def run(conditions: Conditions) -> Run:
    """All cases, over independent seeds."""
    rows, traversals = run_seeds(conditions, run_once)
    results = summarise_all(rows, {name: _unit(name) for name in rows[0]}, PUBLISHED)
    by_name = {row.name: row for row in results}
    charts = tuple(
        result_bars(
            f"{title} of 2 KB responses",
            {text: by_name[f"{case}_{name}"] for case, text in LABELS.items()},
            is_logarithmic=True,
        )
        for name, title in (("p50", "Median"), ("p99", "p99"), ("p99_9", "p99.9"))
    )
    return Run(results, traversals, charts)


def _unit(name: str) -> str:
    return "%" if name.startswith("change") or name == "large_slowdown" else "ms"


def headline(v: Mapping[str, float]) -> str:
    """The finding of a run."""
    return (
        f"Short work first in scheduler, host and switch changes small responses by "
        f"{v['change_of_mean']:.0f}\u00a0% of the mean, {v['change_of_p99']:.0f}\u00a0% at p99 and "
        f"{v['change_of_p99_9']:.0f}\u00a0% at p99.9"
    )


EXPERIMENT = Experiment(
    id="three-traps",
    title="Scheduler, host queue and switch together",
    question="Which of the three waits sets which part of the tail?",
    source="He et al., Small is Better, section 5.1, Figures 4 and 5",
    parameters=(
        Parameter("requests", 20_000, "requests per seed", low=100, high=100_000),
        Parameter("small_ms", 5.0, "mean time between requests", unit="ms", low=0.1, high=1000),
        Parameter("load_percent", 40.0, "load of the client's link", unit="%", low=1, high=90),
        Parameter("neighbours", 1, "VMs that compute on the same core", low=1, high=16),
        Parameter(
            "shared_percent", 25.0, "requests that find them there", unit="%", low=0, high=100
        ),
        Parameter(
            "burst_ms",
            50.0,
            "CPU time of 100 operations of a neighbour",
            unit="ms",
            low=0.1,
            high=10_000,
        ),
        Parameter(
            "rate_limit_ms", 1.0, "shortest run before preemption", unit="ms", low=0, high=30
        ),
        Parameter(
            "nic_bytes", 37_500, "limit of the queue in the NIC", unit="B", low=1514, high=10**7
        ),
        Parameter(
            "segment_bytes", 65_536, "largest segment of a guest", unit="B", low=64, high=10**6
        ),
        Parameter(
            "buffer_kb", 660, "buffer of a port, per priority", unit="kB", low=3, high=100_000
        ),
        Parameter("seeds", 5, "independent runs", low=1, high=20),
    ),
    run=run,
    meaning=(
        "Host queue and switch raise the median and p99; the scheduler sets p99.9. A policy "
        "against one of them leaves the tail of the others."
    ),
    leaves_out="Queries wait for nothing on their way to the server; requests overlap nowhere.",
    headline=headline,
)
