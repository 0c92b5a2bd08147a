"""Shifts of a pair's level: false alarms without any, and how soon planted ones are found.

``python -m benchmarks.probes.changes [--series N] [--labelled FOLDER]``. The folder holds gzipped
series ``epoch;rtt;cp`` of RIPE Atlas with marked change points (Shao and others 2017). Exits with
1 when a goal is missed: 1 false alarm in 1,000 days of a pair, and three rounds for nine of ten
shifts of 5, 10 and 20 ms.
"""

import argparse
import csv
import gzip
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from analysis.campaigns.tables.level_shifts import find_shifts

Floats = npt.NDArray[np.float64]
ROUNDS_A_DAY, DAYS = 96, 10
SHIFTS_MS = (5, 10, 20)
# A shift is dated right within so many rounds.
NEAR = 3


def main() -> int:
    """Print all figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=500, help="series of each kind")
    parser.add_argument("--labelled", type=Path, help="folder of series with marked changes")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    find_shifts(np.arange(100.0))  # compiled before anything is timed
    is_met = measure_false_alarms(rng, given.series) & measure_delays(rng, given.series)
    if given.labelled:
        compare_with_labels(given.labelled)
    return 0 if is_met else 1


def correlated(rng: np.random.Generator, correlation: float) -> Floats:
    """Normal noise of 2 ms with a lag-1 correlation."""
    values = rng.normal(size=ROUNDS_A_DAY * DAYS)
    for at in range(1, len(values)):
        fresh = np.sqrt(1 - correlation**2) * values[at]
        values[at] = correlation * values[at - 1] + fresh
    return 2 * values


def daily(rng: np.random.Generator, size_ms: float) -> Floats:
    """Normal noise of 1 ms on a course of so many ms over each day."""
    phase = np.arange(ROUNDS_A_DAY * DAYS) * 2 * np.pi / ROUNDS_A_DAY
    return rng.normal(size=len(phase)) + size_ms / 2 * np.sin(phase)


def evenings(rng: np.random.Generator) -> Floats:
    """Normal noise of 1 ms, and up to 6 ms more in four hours of each day."""
    hour = np.arange(ROUNDS_A_DAY * DAYS) % ROUNDS_A_DAY * 24 / ROUNDS_A_DAY
    return rng.normal(size=len(hour)) + 6 * np.clip(1 - np.abs(hour - 20) / 2, 0, 1)


NOISE: dict[str, Callable[[np.random.Generator], Floats]] = {
    "normal, sd 1 ms": lambda rng: rng.normal(0, 1, ROUNDS_A_DAY * DAYS),
    "log-normal, sigma 1": lambda rng: rng.lognormal(0, 1, ROUNDS_A_DAY * DAYS),
    "Cauchy": lambda rng: np.abs(rng.standard_cauchy(ROUNDS_A_DAY * DAYS)),
    "correlated, r = 0.3": lambda rng: correlated(rng, 0.3),
    "correlated, r = 0.6": lambda rng: correlated(rng, 0.6),
    "daily course of 8 ms": lambda rng: daily(rng, 8),
    "daily course of 3 ms": lambda rng: daily(rng, 3),
    "evening peak of 6 ms": evenings,
}
QUIET: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal, sd 0.5 ms": lambda rng, n: rng.normal(0, 0.5, n),
    "normal, sd 1 ms": lambda rng, n: rng.normal(0, 1, n),
    "log-normal, sigma 0.5": lambda rng, n: rng.lognormal(0, 0.5, n),
}


def measure_false_alarms(rng: np.random.Generator, series: int) -> bool:
    """Count shifts in series that have none; whether all kinds meet the goal."""
    print("noise | pair-days | false alarms | per 1,000 pair-days | CPU ms per 1,000 rounds")
    is_met = True
    for name, make in NOISE.items():
        made = [40 + make(rng) for _ in range(series)]
        start = time.process_time()
        alarms = sum(len(find_shifts(values)) for values in made)
        spent_ms = 1000 * (time.process_time() - start)
        days = series * DAYS
        rate, cost = 1000 * alarms / days, 1000 * spent_ms / (days * ROUNDS_A_DAY)
        print(f"{name} | {days:,} | {alarms} | {rate:.2f} | {cost:.2f}")
        is_met &= rate <= 1
    return is_met


def measure_delays(rng: np.random.Generator, series: int) -> bool:
    """Measure the rounds until planted shifts are found; whether their p90 meets the goal."""
    print("\nnoise | shift ms | found of | rounds until found: p50 | p90 | most | dated within 3")
    is_met = True
    for name, make in QUIET.items():
        for shift in SHIFTS_MS:
            delays = [delay for _ in range(series) if (delay := plant(rng, make, shift))]
            p50, p90, most = np.percentile(delays, (50, 90, 100))
            part = f"{len(delays)} of {series}"
            print(f"{name} | {shift} | {part} | {p50:.0f} | {p90:.0f} | {most:.0f} | {part}")
            is_met &= p90 <= 3
    return is_met


def plant(rng: np.random.Generator, make: Callable[..., Floats], shift: float) -> int:
    """Rounds until a shift in the third day is found; 0 where none near it is found."""
    series = 40 + make(rng, 4 * ROUNDS_A_DAY)
    at = 2 * ROUNDS_A_DAY + int(rng.integers(0, ROUNDS_A_DAY))
    series[at:] += shift
    near = [found for found in find_shifts(series) if abs(found.at - at) <= NEAR]
    return near[0].found - at + 1 if near else 0


def compare_with_labels(folder: Path) -> None:
    """Compare with the changes that people marked in real series."""
    print("\nseries | rounds | marked | reported | at a mark | marks found")
    for path in sorted(folder.glob("*.csv.gz")):
        with gzip.open(path, "rt") as lines:
            rows = [row for row in csv.DictReader(lines, delimiter=";") if float(row["rtt"]) > 0]
        marked = [at for at, row in enumerate(rows) if row["cp"] == "1"]
        found = [s.at for s in find_shifts(np.array([float(row["rtt"]) for row in rows]))]
        right = sum(any(abs(at - mark) <= NEAR for mark in marked) for at in found)
        hit = sum(any(abs(at - mark) <= NEAR for at in found) for mark in marked)
        print(f"{path.name} | {len(rows)} | {len(marked)} | {len(found)} | {right} | {hit}")


if __name__ == "__main__":
    sys.exit(main())
