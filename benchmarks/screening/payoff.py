"""Proves that all points of both pay-off figures, 2,000,000 trials each, take seconds.

``python -m benchmarks.screening.payoff``
"""

import time

from screening.payoff.simulation import (
    FAN_OUTS,
    TRIALS,
    Workload,
    build_distributions,
    simulate_partition,
    simulate_sequential,
)


def main() -> None:
    """Print the curves and what they cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    good, bad = build_distributions(Workload())
    curves = [simulate_sequential(good, bad)]
    curves += [simulate_partition(good, bad, fan_out) for fan_out in FAN_OUTS]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    for curve in curves:
        print(f"{curve.model}, fan-out {curve.fan_out}: bad share, p99, p99.9 in ms")
        for point in curve.points:
            low, high = point.p99_interval
            print(
                f"  {100 * point.bad_share:3.0f} %  {point.p99_ms:6.2f} ({low:.2f} to {high:.2f})"
                f"  {point.p999_ms:6.2f}"
            )
    print(
        f"{len(curves)} curves of {len(curves[0].points)} points, {TRIALS:,} trials each: "
        f"{wall:.1f} s, {cpu:.1f} CPU s"
    )


if __name__ == "__main__":
    main()
