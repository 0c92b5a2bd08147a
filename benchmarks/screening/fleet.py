"""Proves the error rates of all decisions on pools with planted truth.

``python -m benchmarks.screening.fleet``
"""

import time

import numpy as np

from screening.decision.calibration import calibrate, measure
from screening.decision.heatmap import check_nodes
from screening.decision.rate_interval import estimate_rate
from screening.decision.selection import estimate_factor
from screening.statistics.persistence import check_persistence
from screening.statistics.simulated_pool import build_kinds, simulate_fleet
from screening.statistics.time_of_day import bin_stalls, detect_nightly
from tests.screening.test_pools import draw_days, draw_matrix, draw_statuses
from tests.screening.test_verdicts import draw_bursts

MARK = 13.0
ALPHA = 0.05


def show_errors() -> None:
    """False positives and negatives at the paper's mark, and the mark that calibration chooses."""
    for bad in (0.4, 0.5, 0.6, 0.7):
        rng = np.random.default_rng(1)
        fleet = simulate_fleet(100_000, build_kinds(bad), rng)
        point = measure(fleet.counts, fleet.good, MARK)
        small = [simulate_fleet(200, build_kinds(bad), rng) for _ in range(50)]
        found = [calibrate(pool.counts, pool.good) for pool in small]
        marks = [each.chosen.low for each in found]
        held = np.mean([each.held_out.false_positive for each in found])
        print(
            f"{100 * bad:.0f} % crowded, {100 * (1 - fleet.good.mean()):.1f} % bad: at {MARK:g} "
            f"false positive {point.false_positive:.3f}{words(point.false_positive_interval)}, "
            f"false negative {point.false_negative:.3f}{words(point.false_negative_interval)}, "
            f"effective {point.effective_false_negative:.3f}; "
            f"calibrated on 200: {np.median(marks):.0f} ({np.quantile(marks, 0.05):.0f} to "
            f"{np.quantile(marks, 0.95):.0f}), held-out false positive {held:.3f}"
        )


def words(interval: tuple[float, float]) -> str:
    """A 90 % interval in brackets."""
    low, high = interval
    return f" ({low:.3f} to {high:.3f})"


def show_intervals() -> None:
    """How often intervals hold the truth."""
    rng = np.random.default_rng(2)
    for size in (1, 2, 4, 8):
        rates = [estimate_rate(draw_bursts(rng, 100, 60, size), 100) for _ in range(1000)]
        held = np.mean([rate.low <= 60 <= rate.high for rate in rates])
        print(
            f"rate with bursts of {size}: the 90 % interval holds the truth in {100 * held:.1f} %"
        )
    for share in (0.28, 0.45):
        called = [max(int(rng.binomial(160, share)), 1) for _ in range(1000)]
        factors = [estimate_factor(each, 160, 40) for each in called]
        held = np.mean([factor.low <= 1 / share <= factor.high for factor in factors])
        enough = np.mean([rng.binomial(f.launches, share) >= 40 for f in factors])
        print(
            f"K at {share}: the 90 % interval holds it in {100 * held:.1f} %, "
            f"the launches give 40 in {100 * enough:.1f} %"
        )


def show_tests() -> None:
    """Power and false alarms of the permutation tests at 5 %."""
    rng = np.random.default_rng(3)
    for kind in ("node", "path", "nothing"):
        found = [check_nodes(draw_matrix(rng, kind), ALPHA, 199).property_of for _ in range(200)]
        shares = {name: found.count(name) / 2 for name in ("node", "path", "nothing")}
        print(f"heat map with {kind} planted, per cent: {shares}")
    for keep in (0.0, 0.2, 0.5):
        tests = [check_persistence(draw_statuses(rng, 20, 32, keep), 199, s) for s in range(400)]
        alarms = np.mean([test.p_value <= ALPHA for test in tests])
        print(f"persistence with {keep:g} kept from round to round: found in {100 * alarms:.1f} %")
    for night in (0, 10, 40):
        tables = [bin_stalls(draw_days(rng, night=night), 0, 14) for _ in range(200)]
        alarms = np.mean(
            [detect_nightly(table, ALPHA, 199, s).found for s, table in enumerate(tables)]
        )
        print(f"nightly with {night} stalls planted per night: found in {100 * alarms:.1f} %")


def main() -> None:
    """Print every table and the CPU time of all."""
    start = time.process_time()
    for show in (show_errors, show_intervals, show_tests):
        show()
    print(f"{time.process_time() - start:.1f} CPU s")


if __name__ == "__main__":
    main()
