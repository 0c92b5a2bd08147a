"""Packet traversals per CPU second on the 128-host fat-tree, beside htsim and the bare heap.

``python -m benchmarks.simulator.speed [--htsim PROGRAM] [--rounds N] [--ms MS]``. PROGRAM is a
build of htsim (Broadcom/csg-htsim) as the folder's README describes; without it, that comparison is
left out. Ends with 1 where a goal is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from simulator.packets.heap import create_heap, fill, hold
from simulator.packets.networks import fat_tree
from simulator.packets.results import FlowResults
from simulator.packets.settings import PortSettings, Run, TokenBucket, Transport
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import Flows, pareto_sizes, permutation, poisson_flows

# As htsim's ECN queues: 100 packets, marks above 15; links of 1 us.
QUEUE = {"queue_bytes": 150_000, "mark_above_bytes": 22_500}
PORTS = {
    "FIFO": PortSettings(**QUEUE),
    "two priorities": PortSettings(**QUEUE, priorities=2, tagging=TokenBucket()),
}
NETWORK = fat_tree(8)
HEAP_ENTRIES, HEAP_STEPS = 700, 20_000_000
LARGEST_FLOW_BYTES = 10_000_000
# Goals: times htsim, share of the heap rate, CPU seconds, loss of rate from 10**3 to 10**5 flows.
FIFO_GOAL, PRIORITY_GOAL, HEAP_GOAL, CPU_GOAL_S, FALL_GOAL = 2.5, 1.7, 0.27, 20.0, 0.2


def main() -> int:
    """Measure in turns, print, compare with the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--htsim", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ms", type=float, default=20.0, help="simulated time of a permutation")
    args = parser.parse_args()
    print(f"compilation, once per installation: {measure_compilation():.0f} CPU s")
    contenders = list_contenders(args.htsim, args.ms)
    for measure in contenders.values():
        measure(1)
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for seed in range(1, args.rounds + 1):
        for name, measure in contenders.items():
            rates[name].append(measure(seed))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, values in rates.items():
        low, high = min(values) / 1e6, max(values) / 1e6
        print(f"{name}: {medians[name] / 1e6:.2f} M/s ({low:.2f} to {high:.2f})")
    passed = [compare(medians, name, goal) for name, goal in GOALS.items()]
    passed += [check_flows(), check_memory()]
    return 0 if all(passed) else 1


GOALS = {
    ("FIFO", "htsim"): FIFO_GOAL,
    ("two priorities", "htsim"): PRIORITY_GOAL,
    ("FIFO", "heap"): HEAP_GOAL,
}


def list_contenders(htsim: Path | None, ms: float) -> dict[str, Callable[[int], float]]:
    """Return functions of the seed that give a rate: traversals, or heap operations, per second."""

    def rate_of(name: str) -> Callable[[int], float]:
        return lambda seed: traversal_rate(simulate(permutation(128, seed=seed), name, seed, ms))

    found: dict[str, Callable[[int], float]] = {name: rate_of(name) for name in PORTS}
    found["heap"] = lambda seed: measure_heap()
    if htsim is None or not htsim.is_file():
        print(f"htsim: no program at {htsim}, left out" if htsim else "htsim: left out (--htsim)")
    else:
        found["htsim"] = lambda seed: measure_htsim(htsim, seed, ms)
    return found


def simulate(flows: Flows, ports: str, seed: int, ms: float | None) -> FlowResults:
    """Flows with DCTCP over the fat-tree, for a time or until all have ended."""
    run = Run(seed=seed, duration_s=None if ms is None else ms / 1000)
    return simulate_network(NETWORK, flows, Transport("dctcp"), PORTS[ports], run)


def traversal_rate(result: FlowResults) -> float:
    """Packets that crossed a link per CPU second of the event loop."""
    return result.traversals / result.cpu_s


def measure_heap() -> float:
    """Operations per second of the bare heap in the hold model."""
    heap = create_heap(HEAP_ENTRIES)
    fill(heap, np.arange(HEAP_ENTRIES) * 7919 % 1_000_003, 17)
    began = time.process_time()
    hold(heap, HEAP_ENTRIES, 17, HEAP_STEPS)
    return HEAP_STEPS / (time.process_time() - began)


def measure_htsim(program: Path, seed: int, ms: float) -> float:
    """Traversals per CPU second of htsim's DCTCP permutation; the set-up is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program.resolve(), "-o", f"{folder}/log", "-end", str(ms), "-seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    measured = json.loads(line)
    return float(measured["traversals"] / measured["cpu_s"])


def measure_compilation() -> float:
    """CPU seconds of a first run with nothing compiled before."""
    code = (
        "import time; from benchmarks.simulator.speed import *;"
        "simulate(permutation(128, 1000), 'FIFO', 1, None); print(time.process_time())"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def compare(medians: dict[str, float], names: tuple[str, str], goal: float) -> bool:
    """Print one ratio beside its goal."""
    first, second = names
    if second not in medians:
        return True
    ratio = medians[first] / medians[second]
    print(f"{first} / {second}: {ratio:.2f} (goal {goal})")
    return ratio >= goal


def check_flows() -> bool:
    """Poisson arrivals at 40 % load with DCTCP: cost and rate by the number of flows."""
    rates = {}
    for n in (1_000, 10_000, 100_000):
        sizes = pareto_sizes(n, largest_bytes=LARGEST_FLOW_BYTES, seed=1)
        flows = poisson_flows(NETWORK.hosts, n, 0.2e-3, sizes, seed=1)
        result = simulate(flows, "FIFO", 1, None)
        rates[n] = traversal_rate(result)
        assert np.isfinite(result.completion_s).all()
        print(
            f"{n:,} flows: {result.cpu_s:.1f} CPU s, {rates[n] / 1e6:.2f} M/s, "
            f"realised load {result.realised_load:.2f}, at most {result.most_active} at once, "
            f"{result.memory_bytes / 2**20:.0f} MiB"
        )
    fall = 1 - rates[100_000] / rates[1_000]
    print(f"rate from 1,000 to 100,000 flows: {-fall:+.0%} (goal at least {-FALL_GOAL:.0%})")
    return result.cpu_s <= CPU_GOAL_S and fall <= FALL_GOAL


def check_memory() -> bool:
    """Memory does not depend on simulated time."""
    flows = permutation(128, seed=1)
    sizes = [simulate(flows, "FIFO", 1, ms).memory_bytes for ms in (5.0, 50.0)]
    print(f"memory after 5 and 50 ms: {sizes[0] / 2**20:.1f} and {sizes[1] / 2**20:.1f} MiB")
    return sizes[0] == sizes[1]


if __name__ == "__main__":
    sys.exit(main())
