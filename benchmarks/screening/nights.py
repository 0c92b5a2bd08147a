"""Seven nights of simulated machines: persistence as hourly verdicts show it, beside the planted.

``python -m benchmarks.screening.nights [--machines N] [--seed S]``. Each machine is good or bad in
periods that are planted; every hour the agent counts the stalls of 100 s and gives a verdict. Exits
with 1 if a planted share is outside of the 95 % bootstrap interval over machines.
"""

import argparse
import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from screening.agent_parts.verdict import LOW_PER_100S
from screening.decision.calibration import find_interval
from screening.statistics.persistence import HOUR_S, describe, find_periods
from screening.statistics.simulated_pool import CROWDED, QUIET, count_stalls
from screening.statistics.status_errors import remove_errors

HOURS = 7 * 24
# Share of machines, and hours of each of their periods: the paper saw a half unchanged, 60 % of
# time in periods of a day or more and 75 % in those of twelve hours or more.
PLANTED = ((0.5, HOURS), (0.1, 28), (0.15, 14), (0.25, 7))
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def main() -> int:
    """Print all figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=400)
    parser.add_argument("--seed", type=int, default=2013)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    good = plant(given.machines, rng)
    rate = draw_rates(good, rng)
    planted = shares_of(good)
    print(f"{given.machines} machines, {HOURS} hours; planted {words(planted)}")
    # Statuses by the threshold without noise: a neighbour that causes fewer stalls is never seen,
    # and its machine does not seem to change.
    print(f"by true rates and the threshold: {words(shares_of(rate < LOW_PER_100S))}")
    verdicts = count(good, rate, rng) < LOW_PER_100S
    for name, called in (("as judged", verdicts), ("without errors", correct(verdicts))):
        found, low, high = bootstrap(called, rng)
        inside = [a <= p <= b for a, p, b in zip(low, planted, high, strict=True)]
        print(
            f"{name}: {', '.join(errors(called, good))}; persistence {words(found)}, "
            f"95 % {words(low)} to {words(high)}: {sum(inside)} of 3 inside"
        )
    return 0 if all(inside) else 1


def correct(verdicts: Flags) -> Flags:
    """Statuses without the errors of single verdicts, as pages show them."""
    series = {
        str(i): [(float(t), bool(v)) for t, v in enumerate(row)] for i, row in enumerate(verdicts)
    }
    return np.array([[status for _, status in row] for row in remove_errors(series).values()])


def plant(machines: int, rng: np.random.Generator) -> Flags:
    """True statuses (n_machines, HOURS); periods alternate, from a random status and hour on."""
    lengths = rng.choice([hours for _, hours in PLANTED], machines, p=[p for p, _ in PLANTED])
    hours = np.arange(HOURS)
    starts = rng.integers(0, lengths)[:, None] * (lengths < HOURS)[:, None]
    number = (hours + starts) // lengths[:, None]
    return np.asarray((number + rng.integers(0, 2, machines)[:, None]) % 2 == 0)


def draw_rates(good: Flags, rng: np.random.Generator) -> Floats:
    """Stalls per 100 s (n_machines, HOURS); a machine keeps the rate of its status."""
    rates = [
        kind.per_100s * np.exp(kind.spread * rng.standard_normal(len(good)))
        for kind in (QUIET, CROWDED)
    ]
    return np.where(good, rates[0][:, None], rates[1][:, None])


def count(good: Flags, rate: Floats, rng: np.random.Generator) -> Floats:
    """Stalls that the agent counts each hour."""
    burst = np.where(good, QUIET.burst, CROWDED.burst)
    return count_stalls(rate, burst, rng)


def shares_of(good: Flags) -> tuple[float, float, float]:
    """Shares of time in periods of the whole week, of a day and of twelve hours or more."""
    series = {
        str(i): [(hour * HOUR_S, bool(status)) for hour, status in enumerate(row)]
        for i, row in enumerate(good)
    }
    found = describe(find_periods(series))
    return found.unchanged, found.at_most_daily, found.at_most_12_hourly


def bootstrap(called: Flags, rng: np.random.Generator) -> tuple[tuple[float, ...], ...]:
    """The shares, and the ends of their 95 % intervals over machines."""
    # The shares are means of those of machines, which have equal hours.
    each = np.array([shares_of(row[None]) for row in called])
    picked = rng.integers(0, len(each), (1_000, len(each)))
    low, high = np.quantile(each[picked].mean(axis=1), (0.025, 0.975), axis=0)
    return tuple(each.mean(axis=0)), tuple(low), tuple(high)


def errors(called: Flags, good: Flags) -> Iterator[str]:
    """False positives and negatives of all hours, with 95 % intervals over machines."""
    for name, wrong, whole in (
        ("false positive", called & ~good, ~good),
        ("false negative", ~called & good, good),
    ):
        # Hours of a machine are alike: a machine with a majority of wrong ones counts once.
        share = wrong.sum() / whole.sum()
        n = int(whole.any(axis=1).sum())
        low, high = find_interval(round(share * n), n, 0.95)
        yield f"{name} {share:.3f} ({low:.3f} to {high:.3f})"


def words(shares: tuple[float, ...]) -> str:
    """``0.50 / 0.61 / 0.75``."""
    return " / ".join(f"{share:.2f}" for share in shares)


if __name__ == "__main__":
    sys.exit(main())
