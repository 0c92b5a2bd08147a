"""Interference of tenants: paper, simulation, and what this machine does, side by side.

``python -m benchmarks.simulator.interference [--rounds 5] [--cpu 0] [cpu disk network pings]``
needs root, CPU control groups, ``tc`` and network namespaces; what a machine does not allow is
named in its place. Each round is independent; intervals are those of Student's t at 95 %.
"""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Mapping

from benchmarks.simulator.interference import cpu, disk, network
from benchmarks.simulator.published import number, span
from simulator.experiments.declaration import summarise
from simulator.experiments.interference import CAPS, WEIGHTS
from simulator.experiments.registry import run_experiment

Figures = dict[str, float]
WIDTHS = (34, 14, 11, 11, 24)
# What the paper saw, by the names of the simulation; its disks and schedulers were of 2010.
PAPER = {
    "cpu_ratio_weight_1": 1.0,
    "cpu_ratio_weight_10": 1.33,
    **{f"cpu_share_cap_{cap}": float(cap) for cap in CAPS},
    "cpu_time_beside_busy": 2.0,
    "disk_throughput_change": -65.0,
    "disk_latency_change": 75.0,
    "game_idle_mean": 8.1,
    "game_idle_deviation": 10.2,
    "game_unshaped_timeouts": 100.0,
    "game_dedicated_mean": 23.6,
    "game_dedicated_deviation": 29.6,
    "game_dedicated_timeouts": 6.7,
    "game_shared_mean": 33.9,
    "game_shared_deviation": 16.9,
    "game_shared_timeouts": 1.7,
    "game_shared_minus_dedicated": 10.3,
}


def measure_cpu(options: argparse.Namespace, _: int) -> Figures:
    """Ratios by weight, shares by cap with and without a rival, and work beside a busy loop."""
    found = {}
    for ratio in WEIGHTS:
        found[f"cpu_ratio_weight_{ratio}"] = cpu.measure_weights(options.cpu, 2.0, ratio)
    for cap in CAPS:
        for name, rival in (("", True), ("_alone", False)):
            share = cpu.measure_cap(options.cpu, 1.0, cap / 100, rival)
            found[f"cpu_share_cap_{cap}{name}"] = 100 * share
    beside, alone = (cpu.measure_work(options.cpu, rival) for rival in (True, False))
    found["cpu_time_beside_busy"] = beside / alone
    return found


def measure_disk(options: argparse.Namespace, seed: int) -> Figures:
    """Changes in per cent beside one, two and four pairs of readers and writers."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    alone, found = disk.measure_disk(cpus, 0, 3, seed), {}
    for pairs in (1, 2, 4):
        beside = disk.measure_disk(cpus, pairs, 3, seed)
        change = {name: 100 * (beside[name] / alone[name] - 1) for name in alone}
        name = "" if pairs == 1 else f"_{pairs}_pairs"
        throughput = change["read_mb_s"], change["write_mb_s"]
        latency = change["small_read_ms"], change["small_write_ms"]
        found[f"disk_throughput_change{name}"] = statistics.fmean(throughput)
        found[f"disk_latency_change{name}"] = statistics.fmean(latency)
    return found


def measure_network(_: argparse.Namespace, __: int) -> Figures:
    """Pings of a game and rates of streams in each setup."""
    found = {}
    for setup in network.SETUPS:
        game = network.measure_game(setup, 1000, 60, 0.05)
        for name, value in zip(("mean", "deviation", "timeouts"), game.values(), strict=True):
            if value == value:  # NaN where no ping was answered
                found[f"game_{setup}_{name}"] = value
        for streams in (4, 8):
            row = network.measure_streams(setup, 10_000, streams, 3)
            for name, value in zip(("rate", "jitter"), row.values(), strict=True):
                found[f"streams_{streams}_{setup}_{name}"] = value
    return found


def measure_pings(_: argparse.Namespace, seed: int) -> Figures:
    """The difference of pings over shared and dedicated halves, in pairs."""
    differences = network.measure_differences(1000, 100, 0.02, seed)
    return {
        "game_shared_minus_dedicated": statistics.fmean(differences),
        "game_shared_minus_dedicated_median": statistics.median(differences),
    }


PARTS: Mapping[str, Callable[[argparse.Namespace, int], Figures]] = {
    "cpu": measure_cpu,
    "disk": measure_disk,
    "network": measure_network,
    "pings": measure_pings,
}


def print_row(*cells: str) -> None:
    """Print cells at fixed widths."""
    print("  ".join(cell.ljust(w) for cell, w in zip(cells, WIDTHS, strict=True)), flush=True)


def show(part: str, options: argparse.Namespace, simulated: Figures) -> None:
    """Measure a part in rounds, and print each figure beside paper and simulation."""
    try:
        rows = [PARTS[part](options, seed) for seed in range(1, options.rounds + 1)]
    except OSError as error:
        print(f"{part}: not measured, this machine does not allow it ({error})")
        return
    names = {name: None for row in rows for name in row}
    for name in names:
        values = [row[name] for row in rows if name in row]
        result = summarise(name, values)
        interval = list(result.interval) if result.interval else None
        cells = (PAPER.get(name), simulated.get(name), result.value)
        print_row(name, *map(number, cells), span(interval))


def main() -> int:
    """Measure the named parts, or all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all without any")
    parser.add_argument("--rounds", type=int, default=5, help="independent rounds")
    parser.add_argument("--cpu", type=int, default=0, help="CPU of the groups")
    options = parser.parse_args()
    outcome = run_experiment("interference", {}, seed=1)
    simulated = {row.name: row.value for row in outcome.run.results if row.value is not None}
    print(
        f"measured on {os.uname().release}, {options.rounds} rounds, load {os.getloadavg()[0]:.1f}"
    )
    print_row("figure", "paper", "simulated", "measured", "95 % interval")
    for part in options.parts or PARTS:
        show(part, options, simulated)
    return 0


if __name__ == "__main__":
    sys.exit(main())
