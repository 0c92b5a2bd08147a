"""Confidence intervals that several subjects use."""

import math

# 95 % of a normal distribution lie within this many standard deviations of its mean.
DEVIATIONS_95 = 1.959964


def wilson_interval(share: float, effective: float, deviations: float) -> tuple[float, float]:
    """Return the Wilson score interval of a share at so many standard deviations (Wilson 1927).

    ``effective`` is the effective sample size. The interval stays within 0 and 1, and has a width
    for shares near either end.
    """
    share, z = min(1.0, max(0.0, share)), deviations
    middle = (share + z * z / (2 * effective)) / (1 + z * z / effective)
    spread = math.sqrt(share * (1 - share) / effective + z * z / (4 * effective * effective))
    width = z * spread / (1 + z * z / effective)
    return max(0.0, middle - width), min(1.0, middle + width)
